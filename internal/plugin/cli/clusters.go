// SPDX-License-Identifier: Apache-2.0

// Package cli is what the plugin's commands have in common: which cluster is meant, clients and manifests, and what is
// said to the person who asks.
package cli

import (
	"fmt"
	"net/http"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/sites/join"
)

const (
	// ReadTimeout bounds the reading of one snapshot.
	ReadTimeout = 20 * time.Second
	// PollEvery is how often --wait looks.
	PollEvery = 300 * time.Millisecond
)

// scheme has the kinds that the plugin reads and writes.
var scheme = func() *runtime.Scheme {
	s := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(s))
	utilruntime.Must(v1alpha1.AddToScheme(s))
	return s
}()

// OpenCluster makes a client for a context of the kubeconfig; the current context when it is empty.
func OpenCluster(kubeconfig, context string) (join.Cluster, error) {
	cfg, err := kubeconfigLoader(kubeconfig, context).ClientConfig()
	if err != nil {
		if context == "" {
			return join.Cluster{}, fmt.Errorf("reading the current context of the kubeconfig: %w", err)
		}
		return join.Cluster{}, fmt.Errorf("reading context %q of the kubeconfig: %w", context, err)
	}
	return newCluster(cfg)
}

func kubeconfigLoader(kubeconfig, context string) clientcmd.ClientConfig {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = kubeconfig
	overrides := &clientcmd.ConfigOverrides{CurrentContext: context}
	return clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, overrides)
}

func newCluster(cfg *rest.Config) (join.Cluster, error) {
	cfg.QPS, cfg.Burst = 50, 100
	httpClient, err := rest.HTTPClientFor(cfg)
	if err != nil {
		return join.Cluster{}, fmt.Errorf("connecting to %s: %w", cfg.Host, err)
	}
	c, err := newClient(cfg, httpClient)
	if err != nil {
		return join.Cluster{}, fmt.Errorf("connecting to %s: %w", cfg.Host, err)
	}
	return join.Cluster{Config: cfg, Client: c}, nil
}

// discoveryTimeout bounds a question about which kinds a cluster knows, which no caller's context ends: nobody waits
// for minutes to hear that a cluster is silent.
const discoveryTimeout = 8 * time.Second

func newClient(cfg *rest.Config, httpClient *http.Client) (client.Client, error) {
	asking := rest.CopyConfig(cfg)
	asking.Timeout = discoveryTimeout
	bounded, err := rest.HTTPClientFor(asking)
	if err != nil {
		return nil, err
	}
	mapper, err := apiutil.NewDynamicRESTMapper(asking, bounded)
	if err != nil {
		return nil, err
	}
	return client.New(cfg, client.Options{Scheme: scheme, HTTPClient: httpClient, Mapper: mapper})
}
