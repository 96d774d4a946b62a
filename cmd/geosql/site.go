// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/controllers/names"
	"geosql.dev/operator/internal/sites"
)

// siteFlags are the flags of `geosql site`.
type siteFlags struct {
	name          string
	namespace     string
	healthAddress string
	leaderElect   bool
	verbose       bool
}

func newSiteCommand() *cobra.Command {
	f := &siteFlags{}
	cmd := &cobra.Command{
		Use:   "site",
		Short: "Keep the names of servers and listeners right at this site, also without the hub",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := ctrl.GetConfig()
			if err != nil {
				return fmt.Errorf("finding the site's API server (in-cluster, or KUBECONFIG): %w", err)
			}
			ctrl.SetLogger(zap.New(zap.UseDevMode(f.verbose)))
			return runSite(cmd.Context(), cfg, f)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.name, "site", os.Getenv("SITE_NAME"), "name of the Site that this cluster is")
	flags.StringVar(&f.namespace, "namespace", os.Getenv("POD_NAMESPACE"), "namespace of the operator at this site")
	flags.StringVar(&f.healthAddress, "health-address", ":8081", "address of /healthz and /readyz")
	flags.BoolVar(&f.leaderElect, "leader-elect", true, "let one of several replicas work at a time")
	flags.BoolVar(&f.verbose, "verbose", false, "log more, for people")
	return cmd
}

// errNamespaces ends the process when the site is allowed other namespaces than before: it is started again with them.
var errNamespaces = errors.New("the site's namespaces have changed")

func runSite(ctx context.Context, cfg *rest.Config, f *siteFlags) error {
	if f.name == "" || f.namespace == "" {
		return fmt.Errorf(
			"the site's name or the operator's namespace is not known: set --site and --namespace, or SITE_NAME and " +
				"POD_NAMESPACE",
		)
	}
	scheme := hubScheme()
	own, err := client.New(cfg, client.Options{Scheme: scheme})
	if err != nil {
		return fmt.Errorf("making a client of the site's API server: %w", err)
	}
	namespaces, err := names.ReadNamespaces(ctx, own, f.namespace)
	if err != nil {
		return err
	}
	source := names.SiteSource{Self: v1alpha1.SiteName(f.name), Config: cfg, Client: own, Namespaces: namespaces}
	provider := sites.NewProvider(source.SiteOptions(sites.Options{Namespace: f.namespace, Scheme: scheme}))
	mgr, err := sites.NewManager(cfg, provider, siteManagerOptions(f))
	if err != nil {
		return err
	}
	local := mgr.GetLocalManager()
	if err := provider.SetupWithManager(local); err != nil {
		return err
	}
	if err := names.SetupSite(mgr, provider, source.Self); err != nil {
		return err
	}
	for _, add := range []func(string, healthz.Checker) error{local.AddHealthzCheck, local.AddReadyzCheck} {
		if err := add("ping", healthz.Ping); err != nil {
			return err
		}
	}
	if err := local.Add(namespacesWatch{own, f.namespace, namespaces}); err != nil {
		return err
	}
	if err := mgr.Start(ctx); err != nil && !errors.Is(err, errNamespaces) {
		return fmt.Errorf("running the site's process: %w", err)
	}
	return nil
}

func siteManagerOptions(f *siteFlags) manager.Options {
	grace := 5 * time.Second
	// Shorter than the defaults: while the leader is gone nobody keeps the names.
	lease, renew, retry := 10*time.Second, 7*time.Second, 1500*time.Millisecond
	return manager.Options{
		Scheme:                        hubScheme(),
		HealthProbeBindAddress:        f.healthAddress,
		LeaderElection:                f.leaderElect,
		LeaderElectionID:              sites.SiteAccount,
		LeaderElectionNamespace:       f.namespace,
		LeaderElectionReleaseOnCancel: true,
		LeaseDuration:                 &lease,
		RenewDeadline:                 &renew,
		RetryPeriod:                   &retry,
		GracefulShutdownTimeout:       &grace,
		Metrics:                       metricsserver.Options{BindAddress: "0"},
		// Everything is read through the sites' own caches.
		Cache: cache.Options{ReaderFailOnMissingInformer: true},
	}
}

// namespacesWatch ends the process when the site is allowed other namespaces.
type namespacesWatch struct {
	client    client.Reader
	namespace string
	have      []string
}

// NeedLeaderElection is false: replicas that stand by must know the namespaces too.
func (namespacesWatch) NeedLeaderElection() bool { return false }

// Start looks until ctx ends.
func (w namespacesWatch) Start(ctx context.Context) error {
	ticker := time.NewTicker(10 * time.Second)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		if now, err := names.ReadNamespaces(ctx, w.client, w.namespace); err == nil && !slices.Equal(now, w.have) {
			return errNamespaces
		}
	}
}
