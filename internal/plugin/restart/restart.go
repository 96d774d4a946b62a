// SPDX-License-Identifier: Apache-2.0

// Package restart has the commands that ask for restarts and updates of servers.
package restart

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/plugin/cli"
	"geosql.dev/operator/internal/reconcile"
)

// NewCommand makes `kubectl geosql restart`.
func NewCommand() *cobra.Command {
	f := &cli.HubFlags{}
	cmd := &cobra.Command{
		Use:   "restart SERVER...",
		Short: "Restart servers, each in its turn",
		Long: `Asks for a restart of the servers' pods, by the annotation ` + v1alpha1.RestartAnnotation + ` of their SQLServers.

Servers of a group restart one at a time, and only while its other replicas are well: the secondaries first, then the
primary, which hands over before. Until its turn comes a server serves on, and its condition RestartPending says what it
waits for. A server of no group restarts at once, and nobody serves in its place meanwhile.`,
		Example: `  kubectl geosql restart tukpub -n web
  kubectl geosql restart tukpub quisec dubcfg -n web`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			hub, namespace, err := f.Open()
			if err != nil {
				return err
			}
			return run(cmd, hub, namespace, args, v1alpha1.RestartAnnotation)
		},
	}
	f.Add(cmd)
	return cmd
}

// NewUpdateCommand makes `kubectl geosql update`.
func NewUpdateCommand() *cobra.Command {
	f := &cli.HubFlags{}
	cmd := &cobra.Command{
		Use:   "update SERVER...",
		Short: "Update servers to the image that they declare, each in its turn",
		Long: `Asks for an update of the servers' engines, by the annotation ` + v1alpha1.UpdateAnnotation + ` of their SQLServers.

A server takes the image that it declares, though its updatePolicy is OnRequest and no maintenance window is open; of a
tag, the image that it names by now. One that is declared by the digest that runs stays as it is. Servers of a group
update one at a time: those with asynchronous copies first, then the other secondaries, then the primary, which hands
over before. Name all of them. The condition ImageCurrent says how far they are.

A tag is looked up by the node where the pod starts: with imagePullPolicy IfNotPresent one that has an image by that tag
keeps what it has, and asks no registry. Use Always for a tag that moves, or declare the digest.`,
		Example: `  kubectl geosql update tukpub quisec dubcfg -n web`,
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			hub, namespace, err := f.Open()
			if err != nil {
				return err
			}
			return run(cmd, hub, namespace, args, v1alpha1.UpdateAnnotation)
		},
	}
	f.Add(cmd)
	return cmd
}

// run writes an annotation for all of the servers or, where one cannot be asked for, for none.
func run(cmd *cobra.Command, hub client.Client, namespace string, names []string, annotation string) error {
	ctx, cancel := context.WithTimeout(cmd.Context(), cli.ReadTimeout)
	defer cancel()
	var servers []*v1alpha1.SQLServer
	for _, name := range names {
		s, err := find(ctx, hub, client.ObjectKey{Namespace: namespace, Name: name})
		if err != nil {
			return fmt.Errorf("refused, nothing was changed: %w", err)
		}
		servers = append(servers, s)
	}
	at := time.Now().UTC().Format(time.RFC3339Nano)
	for _, s := range servers {
		before := client.MergeFrom(s.DeepCopy())
		if s.Annotations == nil {
			s.Annotations = map[string]string{}
		}
		s.Annotations[annotation] = at
		if err := hub.Patch(ctx, s, before); err != nil {
			return cli.Unsure(fmt.Errorf("annotate SQLServer %s in the hub: %w", s.Name, err),
				fmt.Sprintf("kubectl get sqlserver -n %s %s -o yaml", s.Namespace, s.Name))
		}
		what := "a restart"
		if annotation == v1alpha1.UpdateAnnotation {
			what = "an update to " + s.Spec.Image
		}
		fmt.Fprintf(cmd.OutOrStdout(), "sqlserver.geosql.dev/%s: %s is asked for\n", s.Name, what)
	}
	return nil
}

// find reads a SQLServer that can be restarted.
func find(ctx context.Context, hub client.Client, key client.ObjectKey) (*v1alpha1.SQLServer, error) {
	var s v1alpha1.SQLServer
	if err := hub.Get(ctx, key, &s); err != nil {
		return nil, fmt.Errorf("read SQLServer %s in the hub: %w", key, err)
	}
	if s.DeletionTimestamp != nil {
		return nil, fmt.Errorf("SQLServer %s is being deleted", key.Name)
	}
	why, err := reconcile.Suspension(ctx, hub, &s)
	if err == nil && why != "" {
		err = fmt.Errorf("SQLServer %s is suspended: %s", key.Name, why)
	}
	return &s, err
}
