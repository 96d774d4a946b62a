// SPDX-License-Identifier: Apache-2.0

// Package restart has the command that asks for restarts of servers.
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
			return run(cmd, hub, namespace, args)
		},
	}
	f.Add(cmd)
	return cmd
}

// run asks for all of the servers or, where one cannot be asked for, for none.
func run(cmd *cobra.Command, hub client.Client, namespace string, names []string) error {
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
		s.Annotations[v1alpha1.RestartAnnotation] = at
		if err := hub.Patch(ctx, s, before); err != nil {
			return cli.Unsure(fmt.Errorf("annotate SQLServer %s in the hub: %w", s.Name, err),
				fmt.Sprintf("kubectl get sqlserver -n %s %s -o yaml", s.Namespace, s.Name))
		}
		fmt.Fprintf(cmd.OutOrStdout(), "sqlserver.geosql.dev/%s: a restart is asked for\n", s.Name)
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
