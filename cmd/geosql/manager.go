// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/admission"
	"geosql.dev/operator/internal/link"
	"geosql.dev/operator/internal/metrics"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/reconcile/confirmed"
	"geosql.dev/operator/internal/sites"
)

// managerFlags are the flags of `geosql manager`.
type managerFlags struct {
	namespace      string
	image          string
	metricsAddress string
	healthAddress  string
	webhookPort    int
	webhookService string
	metricsService string
	leaderElect    bool
	load           load
	// electing reaches the hub for the election of a leader.
	electing *rest.Config
	verbose  bool
}

func newManagerCommand() *cobra.Command {
	f := &managerFlags{}
	cmd := &cobra.Command{
		Use:   "manager",
		Short: "Reconcile the objects of the hub",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := ctrl.GetConfig()
			if err != nil {
				return fmt.Errorf("finding the hub's API server (in-cluster, or KUBECONFIG): %w", err)
			}
			return runManager(cmd.Context(), cfg, f)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(
		&f.namespace,
		"namespace",
		os.Getenv("POD_NAMESPACE"),
		"namespace of the operator, with the sites' kubeconfig Secrets and the CA",
	)
	flags.StringVar(
		&f.image,
		"image",
		os.Getenv("OPERATOR_IMAGE"),
		"image of the operator, for the agent beside every engine",
	)
	flags.StringVar(
		&f.metricsAddress,
		"metrics-address",
		":8443",
		"address of the HTTPS metrics server, 0 for none; readers need the right to get /metrics",
	)
	flags.StringVar(&f.healthAddress, "health-address", ":8081", "address of /healthz and /readyz")
	flags.IntVar(&f.webhookPort, "webhook-port", 9443, "port of the admission webhooks, 0 for none")
	flags.StringVar(
		&f.webhookService,
		"webhook-service",
		"geosql-operator-webhook",
		"Service of the admission webhooks, in the operator's namespace",
	)
	flags.StringVar(
		&f.metricsService,
		"metrics-service",
		"geosql-operator-metrics",
		"Service of the metrics, in the operator's namespace",
	)
	flags.BoolVar(&f.leaderElect, "leader-elect", true, "let one of several managers work at a time")
	f.load.addFlags(flags)
	flags.BoolVar(&f.verbose, "verbose", false, "log more, for people")
	return cmd
}

// serves tells whether somebody asks the manager by HTTPS.
func (f *managerFlags) serves() bool { return f.webhookPort != 0 || f.metricsAddress != "0" }

// hubScheme has the kinds that the manager reads and writes, in the hub and at sites.
func hubScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(v1alpha1.AddToScheme(scheme))
	return scheme
}

func runManager(ctx context.Context, cfg *rest.Config, f *managerFlags) error {
	ctrl.SetLogger(zap.New(zap.UseDevMode(f.verbose)))
	if f.namespace == "" {
		return fmt.Errorf("the operator's namespace is not known: set POD_NAMESPACE or --namespace")
	}
	hubClock := sites.NewClock()
	cfg = rest.CopyConfig(cfg)
	cfg.Wrap(hubClock.Wrap)
	serving := admission.NewServing(admission.ServingOptions{Namespace: f.namespace, Service: f.webhookService,
		MetricsService: f.metricsService, Clock: hubClock})
	hubRate, siteRate := f.load.rates()
	// The election of a leader does not wait behind all other requests.
	f.electing = rest.CopyConfig(cfg)
	cfg.RateLimiter = hubRate.Limiter()
	provider := sites.NewProvider(sites.Options{Namespace: f.namespace, Rate: siteRate})
	mgr, err := sites.NewManager(cfg, provider, managerOptions(f, serving))
	if err != nil {
		return err
	}
	local := mgr.GetLocalManager()
	if err := provider.SetupWithManager(local); err != nil {
		return err
	}
	connector := mssql.NewConnector(mssql.Options{
		Access: mssql.SecretAccess{Reader: local.GetAPIReader()}, AccessFor: mssql.AccessFor,
		SilentFor: mssql.SilentFor,
		Check: func(ctx context.Context, namespace string, server v1alpha1.ServerName) error {
			return provider.CheckServer(ctx, local.GetClient(), namespace, server)
		}})
	defer connector.Close()
	if err := local.Add(follow{local.GetClient(), []*sites.Rate{hubRate, siteRate}}); err != nil {
		return fmt.Errorf("adding what lets the rates follow what is declared: %w", err)
	}
	statuses, err := confirmed.NewKeeper(local, f.namespace)
	if err != nil {
		return err
	}
	if err := addControllers(environment{Manager: mgr, Sites: provider, Connector: connector, Confirmed: statuses,
		Namespace: f.namespace, Image: f.image, HubClock: hubClock,
		Heard: &link.Heard{}}); err != nil {
		return err
	}
	authorities := authorities{reader: local.GetCache(), namespace: f.namespace}
	ctrlmetrics.Registry.MustRegister(metrics.NewObjects(local.GetClient(), mgr.Elected(), statuses,
		provider.Watching, authorities.expire))
	if f.serves() {
		if err := serving.SetupWithManager(local); err != nil {
			return err
		}
	}
	if f.webhookPort != 0 {
		if err := admission.Register(local); err != nil {
			return err
		}
		if err := local.AddReadyzCheck("webhook", local.GetWebhookServer().StartedChecker()); err != nil {
			return err
		}
	}
	if err := local.AddHealthzCheck("ping", healthz.Ping); err != nil {
		return err
	}
	if err := local.AddReadyzCheck("ping", healthz.Ping); err != nil {
		return err
	}
	if err := mgr.Start(ctx); err != nil {
		return fmt.Errorf("running the manager: %w", err)
	}
	return nil
}

func managerOptions(f *managerFlags, serving *admission.Serving) manager.Options {
	grace := 20 * time.Second
	options := manager.Options{
		Scheme:                        hubScheme(),
		HealthProbeBindAddress:        f.healthAddress,
		LeaderElection:                f.leaderElect,
		LeaderElectionID:              "geosql-operator",
		LeaderElectionNamespace:       f.namespace,
		LeaderElectionConfig:          f.electing,
		LeaderElectionReleaseOnCancel: true,
		GracefulShutdownTimeout:       &grace,
		Metrics: metricsserver.Options{
			BindAddress:    f.metricsAddress,
			SecureServing:  true,
			FilterProvider: authorizeMetrics,
			TLSOpts:        serving.TLSOptions(),
		},
		Controller: config.Controller{MaxConcurrentReconciles: f.load.workers},
		Cache:      sites.HubCache(f.namespace),
		Client:     sites.HubClient(),
	}
	if f.webhookPort != 0 {
		options.WebhookServer = webhook.NewServer(webhook.Options{Port: f.webhookPort, TLSOpts: serving.TLSOptions()})
	}
	return options
}
