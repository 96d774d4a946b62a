// SPDX-License-Identifier: Apache-2.0

package sites_test

import (
	"context"
	"net/http"
	"runtime"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache/informertest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	ctrlreconcile "sigs.k8s.io/controller-runtime/pkg/reconcile"
	mcbuilder "sigs.k8s.io/multicluster-runtime/pkg/builder"
	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"
	mcreconcile "sigs.k8s.io/multicluster-runtime/pkg/reconcile"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/sites"
)

// flaps is how often the site is engaged anew.
const flaps = 200

// knownCluster is a cluster whose caches are filled.
type knownCluster struct {
	cluster.Cluster
	cache cache.Cache
}

func (c knownCluster) GetCache() cache.Cache { return c.cache }

// A controller whose site falls silent and returns, again and again, has no more goroutines in the end than after the
// first time.
func TestASiteThatFlapsLeavesNoGoroutine(t *testing.T) {
	g := NewWithT(t)
	provider := sites.NewProvider(sites.Options{Namespace: "geosql-system", Source: noSites{}})
	mgr, err := sites.NewManager(&rest.Config{Host: "127.0.0.1:1"}, provider, manager.Options{
		Scheme: scheme.Scheme, Metrics: metricsserver.Options{BindAddress: "0"},
		MapperProvider: func(*rest.Config, *http.Client) (meta.RESTMapper, error) {
			return meta.NewDefaultRESTMapper(nil), nil
		},
	})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(provider.SetupWithManager(mgr.GetLocalManager())).To(Succeed())
	builder := mcbuilder.ControllerManagedBy(mgr).Named("flapping").
		WithOptions(controller.TypedOptions[mcreconcile.Request]{SkipNameValidation: ptr.To(true)})
	kinds := []client.Object{&corev1.Pod{}, &corev1.Secret{}, &corev1.Service{}, &corev1.Node{}, &corev1.ConfigMap{}}
	for _, kind := range kinds {
		builder = builder.Watches(kind, sites.EnqueueOwner(v1alpha1.LabelServer))
	}
	g.Expect(builder.Complete(ctrlreconcile.TypedFunc[mcreconcile.Request](
		func(context.Context, mcreconcile.Request) (ctrlreconcile.Result, error) {
			return ctrlreconcile.Result{}, nil
		},
	))).To(Succeed())
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	defer func() {
		cancel()
		g.Eventually(ended, time.Minute).Should(Receive())
	}()
	g.Eventually(mgr.Elected(), time.Minute).Should(BeClosed())

	running := func() int { return provider.Watching()["tukwila"] }
	flap := func() {
		engagement, end := context.WithCancel(ctx)
		site := knownCluster{cache: &informertest.FakeInformers{Scheme: scheme.Scheme}}
		g.Expect(mgr.Engage(engagement, multicluster.ClusterName("tukwila"), site)).To(Succeed())
		g.Eventually(running, time.Minute, time.Millisecond).Should(Equal(len(kinds)))
		end()
		g.Eventually(running, time.Minute, time.Millisecond).Should(BeZero())
	}
	flap()
	before := runtime.NumGoroutine()
	for range flaps {
		flap()
	}
	g.Eventually(runtime.NumGoroutine, time.Minute).Should(BeNumerically("<", before+flaps/4),
		"one goroutine an engagement would be %d more than the %d before", flaps, before)
}

// noSites declares none.
type noSites struct{}

func (noSites) Sites(context.Context) ([]sites.Declared, error) { return nil, nil }

func (noSites) Watch(context.Context, func()) (func(), error) { return func() {}, nil }
