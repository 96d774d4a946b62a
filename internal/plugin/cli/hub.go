// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// HubFlags say where the hub is and which objects are meant.
type HubFlags struct {
	kubeconfig, context string
	// Namespace that --namespace names, empty unless it is given.
	Namespace string
	// AllNamespaces is set by --all-namespaces.
	AllNamespaces bool
	// Config is that of the cluster that Open opened.
	Config *rest.Config
}

// Add adds --kubeconfig, --context and --namespace to a command.
func (f *HubFlags) Add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.kubeconfig, "kubeconfig", "", "kubeconfig file; KUBECONFIG or ~/.kube/config unless given")
	flags.StringVar(&f.context, "context", "", "context of the hub; the current one unless given")
	flags.StringVarP(&f.Namespace, "namespace", "n", "", "namespace of the objects; the context's unless given")
}

// AddAllNamespaces adds --all-namespaces to a command.
func (f *HubFlags) AddAllNamespaces(cmd *cobra.Command) {
	cmd.Flags().BoolVarP(&f.AllNamespaces, "all-namespaces", "A", false, "objects of all namespaces")
}

// Context is the one that --context names, empty for the current one.
func (f *HubFlags) Context() string { return f.context }

// Ask asks the hub something within ReadTimeout.
func (f *HubFlags) Ask(cmd *cobra.Command,
	do func(ctx context.Context, hub client.Client, namespace string) error) error {
	hub, namespace, err := f.Open()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), ReadTimeout)
	defer cancel()
	return do(ctx, hub, namespace)
}

// Open returns a client of the hub, and the namespace that is meant: none for all.
func (f *HubFlags) Open() (client.Client, string, error) {
	hub, err := OpenCluster(f.kubeconfig, f.context)
	if err != nil {
		return nil, "", err
	}
	f.Config = hub.Config
	switch {
	case f.AllNamespaces:
		return hub.Client, "", nil
	case f.Namespace != "":
		return hub.Client, f.Namespace, nil
	}
	namespace, _, err := kubeconfigLoader(f.kubeconfig, f.context).Namespace()
	if err != nil {
		return nil, "", fmt.Errorf("reading the namespace of the kubeconfig's context: %w", err)
	}
	return hub.Client, namespace, nil
}
