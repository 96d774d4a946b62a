// SPDX-License-Identifier: Apache-2.0

//go:build integration

package apiserver

import (
	"context"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	mcmanager "sigs.k8s.io/multicluster-runtime/pkg/manager"

	"geosql.dev/operator/internal/sites"
)

// HubOptions are those of geosql's manager at the hub, but for its servers and the election of a leader. A name of a
// controller may be used again: several tests of one process have one each.
func HubOptions() manager.Options {
	return manager.Options{
		Scheme:     Scheme,
		Metrics:    metricsserver.Options{BindAddress: "0"},
		Controller: config.Controller{SkipNameValidation: ptr.To(true)},
		Cache:      sites.HubCache(sites.OperatorNamespace),
		Client:     sites.HubClient(),
		// On a busy machine what is under way takes longer to end than the default of 30 s.
		GracefulShutdownTimeout: ptr.To(2 * time.Minute),
	}
}

// NewManager makes a manager for the provider's sites, and the provider known to it.
func NewManager(t testing.TB, cfg *rest.Config, provider *sites.Provider, options manager.Options) mcmanager.Manager {
	t.Helper()
	mgr, err := sites.NewManager(cfg, provider, options)
	if err != nil {
		t.Fatalf("making a manager: %v", err)
	}
	if err := provider.SetupWithManager(mgr.GetLocalManager()); err != nil {
		t.Fatalf("giving the manager its sites: %v", err)
	}
	return mgr
}

// Run starts the manager. It has stopped when the test has ended, or when stop returns.
func Run(t testing.TB, mgr mcmanager.Manager) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := mgr.Start(ctx); err != nil {
			t.Errorf("the manager ended with an error: %v", err)
		}
	}()
	stop = func() {
		cancel()
		<-done
	}
	t.Cleanup(stop)
	return stop
}
