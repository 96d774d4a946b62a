// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	mcmanager "sigs.k8s.io/multicluster-runtime/pkg/manager"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/sites"
	"geosql.dev/operator/test/e2e/bed"
)

// anotherHub is a manager of another hub with the credentials of this one's, for as long as the test lasts.
func anotherHub(t *testing.T, b *bed.Bed) *sites.Provider {
	t.Helper()
	g := NewWithT(t)
	provider := sites.NewProvider(sites.Options{Namespace: sites.OperatorNamespace, Hub: "another"})
	mgr, err := mcmanager.New(b.Hub().Config, provider, manager.Options{Scheme: operatorScheme(),
		Metrics: metricsserver.Options{BindAddress: "0"}, Cache: sites.HubCache(sites.OperatorNamespace),
		Client: sites.HubClient()})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(provider.SetupWithManager(mgr.GetLocalManager())).To(Succeed())
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the other hub's manager: %v", err)
		}
	})
	return provider
}

// A site is one hub's: the manager of another one gets no way to write there, and when another hub takes the site over,
// this one writes nothing until a person takes it back.
func TestASiteIsOneHubs(t *testing.T) {
	turn := groupB.Disturbs(t, 5, 60)
	g, ctx := NewWithT(t), t.Context()
	gt := inTurn(t, groupB)
	b := gt.b
	turn.Alone()
	quincy, server := b.Site("quincy"), gt.servers["quincy"]
	waitForSite(t, b, quincy.Name, answering, time.Minute)
	waitForServer(t, b, server, 2*time.Minute)
	hub, err := sites.HubUID(ctx, b.Hub().Client)
	g.Expect(err).NotTo(HaveOccurred())
	var lease coordinationv1.Lease
	read := func() sites.Owner {
		g.Expect(quincy.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: sites.OwnerLease}, &lease)).To(Succeed())
		return sites.ReadOwner(&lease)
	}
	own := read()
	g.Expect(own.Hub).To(Equal(hub))

	provider := anotherHub(t, b)
	for _, site := range b.Sites {
		bed.Wait(t, "another hub's manager is stopped at "+site.Name, time.Minute,
			func(context.Context) (bool, string, error) {
				health, _ := provider.Health(v1alpha1.SiteName(site.Name))
				var other *sites.OtherHubError
				return errors.As(health.Cause, &other), fmt.Sprint(health.Cause), nil
			})
		_, err := provider.Member(v1alpha1.SiteName(site.Name))
		g.Expect(err).To(MatchError(ContainSubstring(hub)), "it names the hub that has the site")
	}
	g.Expect(read()).To(Equal(own))
	waitForSite(t, b, quincy.Name, answering, time.Minute)

	budget := &policyv1.PodDisruptionBudget{}
	key := client.ObjectKey{Namespace: namespace, Name: server.Name}
	bed.Wait(t, "the group's server may not be evicted", time.Minute, func(ctx context.Context) (bool, string, error) {
		err := quincy.Client.Get(ctx, key, budget)
		return err == nil, fmt.Sprint(err), client.IgnoreNotFound(err)
	})

	// Another hub takes the site over, as `site join --take-over` does there.
	sites.Owner{Hub: "another", Epoch: own.Epoch + 1}.Write(&lease)
	g.Expect(quincy.Client.Update(ctx, &lease)).To(Succeed())
	t.Cleanup(func() {
		if t.Failed() {
			_, _ = tryRejoin(t, b, quincy.Name, "--take-over")
		}
	})
	waitForSite(t, b, quincy.Name, "False "+v1alpha1.ReasonOtherHub, time.Minute)
	g.Expect(quincy.Client.Delete(ctx, budget)).To(Succeed())
	said, err := tryRejoin(t, b, quincy.Name)
	g.Expect(err).To(HaveOccurred(), "its credentials are not renewed from here either")
	g.Expect(said).To(ContainSubstring("--take-over"))
	bed.Wait(t, "the server's condition says that nothing is known of it", time.Minute,
		func(ctx context.Context) (bool, string, error) {
			if err := b.Hub().Client.Get(ctx, client.ObjectKeyFromObject(server), server); err != nil {
				return false, "", err
			}
			ready, text := describeServer(server)
			return !ready, text, nil
		})
	g.Expect(apierrors.IsNotFound(quincy.Client.Get(ctx, key, budget))).To(BeTrue(), "nothing was made there")

	rejoin(t, b, quincy.Name, "--take-over")
	g.Expect(read()).To(Equal(sites.Owner{Hub: hub, Epoch: own.Epoch + 2}))
	waitForSite(t, b, quincy.Name, answering, time.Minute)
	bed.Wait(t, "what was missing is made again", 2*time.Minute, func(ctx context.Context) (bool, string, error) {
		err := quincy.Client.Get(ctx, key, budget)
		return err == nil, fmt.Sprint(err), client.IgnoreNotFound(err)
	})
	waitForServer(t, b, server, 2*time.Minute)
}
