// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/sites"
	"geosql.dev/operator/test/e2e/bed"
)

// While the hub is cut off from everybody, its API server and its manager with it, a pod that restarts with another
// address is reachable under its name at the other site again within the bound: the sites keep their names themselves.
func TestNamesWithoutTheHub(t *testing.T) {
	turn := groupB.Disturbs(t, 7, 60)
	g := NewWithT(t)
	gt := inTurn(t, groupB)
	b := gt.b
	turn.Alone()
	b.ResetWan(t)
	for _, site := range b.Sites {
		var process appsv1.Deployment
		g.Expect(site.Client.Get(t.Context(), client.ObjectKey{Namespace: sites.OperatorNamespace, Name: sites.SiteAccount},
			&process)).
			To(Succeed(), "at %s", site.Name)
		g.Expect(process.Status.ReadyReplicas).To(Equal(int32(2)), "at %s", site.Name)
	}
	server := gt.servers["tukwila"]
	waitForServer(t, b, server, time.Minute)
	quincy := b.Site("quincy")
	bed.Wait(
		t,
		"Quincy was told of the server and of Tukwila",
		time.Minute,
		func(ctx context.Context) (bool, string, error) {
			var told corev1.ConfigMap
			var peers corev1.Secret
			if err := quincy.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: orders.NamesObject},
				&told); err != nil {
				return false, err.Error(), client.IgnoreNotFound(err)
			}
			if err := quincy.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: orders.PeersObject},
				&peers); err != nil {
				return false, err.Error(), client.IgnoreNotFound(err)
			}
			names, err := orders.DecodeNames(told.Data)
			named := false
			for _, s := range names.Servers {
				named = named || s.Name == server.Name
			}
			return named &&
					len(peers.Data[orders.PeerKey("tukwila")]) > 0, fmt.Sprintf(
					"named %v, peers %d",
					named,
					len(peers.Data),
				), err
		},
	)
	connector := connectorFrom(t, b, shellAt(t, quincy, namespace))
	g.Expect(open(t, connector, server, credentials.RoleAgent, "master").Ping(t.Context())).To(Succeed())

	waitForSite(t, b, "tukwila", answering, time.Minute)
	waitForSite(t, b, "quincy", answering, time.Minute)
	for _, site := range []string{"tukwila", "quincy"} {
		b.Wan(t, "cut", site, "dublin")
	}
	waitForSite(t, b, "tukwila", unreachable, time.Minute)
	waitForSite(t, b, "quincy", unreachable, time.Minute)
	restarts := 1
	if inAll() {
		restarts = 3
	}
	for range restarts {
		old, err := podOf(t.Context(), b.Site("tukwila"), server)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(b.Site("tukwila").Client.Delete(t.Context(), old)).To(Succeed())
		delay := followed(t, b, server, old, "quincy")
		t.Logf("without the hub the name led to the new pod at Quincy %.1f s after it had an address", delay.Seconds())
		g.Expect(delay).To(BeNumerically("<", 5*time.Second))
	}
	bed.Wait(
		t,
		"the server answers at Quincy under its name",
		time.Minute,
		func(ctx context.Context) (bool, string, error) {
			err := open(t, connector, server, credentials.RoleAgent, "master").Ping(ctx)
			return err == nil, fmt.Sprint(err), nil
		},
	)

	for _, site := range []string{"tukwila", "quincy"} {
		b.Wan(t, "heal", site, "dublin")
	}
	waitForSite(t, b, "tukwila", answering, time.Minute)
	waitForSite(t, b, "quincy", answering, time.Minute)
	waitForServer(t, b, server, time.Minute)
}
