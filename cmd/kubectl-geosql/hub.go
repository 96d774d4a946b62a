// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// hubFlags say where the hub is and which objects are meant.
type hubFlags struct {
	kubeconfig, context, namespace string
	allNamespaces                  bool
	// config is that of the cluster that open opened.
	config *rest.Config
}

func (f *hubFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.kubeconfig, "kubeconfig", "", "kubeconfig file; KUBECONFIG or ~/.kube/config unless given")
	flags.StringVar(&f.context, "context", "", "context of the hub; the current one unless given")
	flags.StringVarP(&f.namespace, "namespace", "n", "", "namespace of the objects; the context's unless given")
}

func (f *hubFlags) addAllNamespaces(cmd *cobra.Command) {
	cmd.Flags().BoolVarP(&f.allNamespaces, "all-namespaces", "A", false, "objects of all namespaces")
}

// ask asks the hub something within readTimeout.
func (f *hubFlags) ask(cmd *cobra.Command, do func(ctx context.Context, hub client.Client, namespace string) error) error {
	hub, namespace, err := f.open()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), readTimeout)
	defer cancel()
	return do(ctx, hub, namespace)
}

// open returns a client of the hub, and the namespace that is meant: none for all.
func (f *hubFlags) open() (client.Client, string, error) {
	hub, err := openCluster(f.kubeconfig, f.context)
	if err != nil {
		return nil, "", err
	}
	f.config = hub.Config
	switch {
	case f.allNamespaces:
		return hub.Client, "", nil
	case f.namespace != "":
		return hub.Client, f.namespace, nil
	}
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = f.kubeconfig
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: f.context})
	namespace, _, err := loader.Namespace()
	if err != nil {
		return nil, "", fmt.Errorf("reading the namespace of the kubeconfig's context: %w", err)
	}
	return hub.Client, namespace, nil
}

// openFile opens a file, or standard input for "-".
func openFile(cmd *cobra.Command, name string) (io.ReadCloser, error) {
	if name == "-" {
		return io.NopCloser(cmd.InOrStdin()), nil
	}
	file, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("reading manifests: %w", err)
	}
	return file, nil
}
