// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/sites"
	"geosql.dev/operator/test/e2e/bed"
)

// Servers of a group are open to each other's sites, and a stranger's pod reaches neither their mirroring endpoints nor
// their agents, though it may log in.
func TestServersLetInTheirPeersAlone(t *testing.T) {
	groupA.Beside(t, 8, 30)
	gt := inTurn(t, groupA)
	for _, site := range groupSites {
		g := NewWithT(t)
		server, stranger := gt.servers[site], shellAt(t, gt.b.Site(site), namespace)
		awaitRestricted(t, gt.b, server)
		host := credentials.HostName(v1alpha1.ServerName(server.Name))
		for port, ends := range map[int32]string{
			1433: "", 5022: refused, credentials.AgentPort: refused, credentials.ElectionPort: refused} {
			g.Expect(connects(t, stranger, host, port)()).To(Equal(ends), "%s from a stranger at %s, port %d", host, site, port)
		}
		for _, other := range groupSites {
			if other == site {
				continue
			}
			// Of another site its range is known and no more: the engine and the agent ask who it is.
			peer := shellAt(t, gt.b.Site(other), namespace)
			for _, port := range []int32{1433, 5022, credentials.AgentPort, credentials.ElectionPort} {
				g.Expect(connects(t, peer, host, port)()).To(BeEmpty(), "%s from the site of its peer, %s, port %d", host, other,
					port)
			}
		}
	}
}

// spec.network.clients shuts everybody else out of the engine, at the server's site and at others.
func TestClientsShutOutOthers(t *testing.T) {
	serverInQuincy.Beside(t, 9, 30)
	g := NewWithT(t)
	server := serverInQuincy.Get(t)
	b := bed.Open(t, client.Options{Scheme: operatorScheme()})
	stranger, abroad := shellAt(t, b.Site("quincy"), namespace), shellAt(t, b.Site("tukwila"), namespace)
	name := fmt.Sprintf("admitted-%x", time.Now().UnixNano()&0xffffff)
	admitted := b.Site("quincy").StartShell(t, b.Site("quincy").ShellPod(t, namespace, name, "exec sleep infinity"))
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		g.Expect(client.IgnoreNotFound(b.Site("quincy").Client.Delete(ctx, admitted.Pod))).To(Succeed())
	})
	awaitRestricted(t, b, server)
	host := credentials.HostName(v1alpha1.ServerName(server.Name))
	for _, from := range []*bed.Shell{stranger, abroad, admitted} {
		g.Expect(connects(t, from, host, 1433)()).To(BeEmpty(), "without clients everybody may, from %s", from.Site.Name)
	}
	g.Expect(connects(t, abroad, host, credentials.AgentPort)()).To(Equal(refused), "nobody at Tukwila is its peer")
	hub := shellAt(t, b.Hub(), namespace)
	g.Expect(connects(t, hub, host, credentials.AgentPort)()).To(BeEmpty(), "the manager is there")
	declare := func(network *v1alpha1.ServerNetwork) {
		before := client.MergeFrom(server.DeepCopy())
		server.Spec.Network = network
		g.Expect(b.Hub().Client.Patch(context.Background(), server, before)).To(Succeed())
	}
	t.Cleanup(func() { declare(nil) })
	declare(&v1alpha1.ServerNetwork{Clients: []v1alpha1.NetworkClient{
		{PodSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}}}}})
	for from, ends := range map[*bed.Shell]string{stranger: refused, abroad: refused, admitted: ""} {
		g.Eventually(connects(t, from, host, 1433)).WithTimeout(time.Minute).Should(Equal(ends), "from %s in %s",
			from.Pod.Name, from.Site.Name)
	}
	waitForServer(t, b, server, time.Minute)
}

// awaitRestricted waits until a server's NetworkPolicy is as it should be.
func awaitRestricted(t *testing.T, b *bed.Bed, server *v1alpha1.SQLServer) {
	t.Helper()
	bed.Wait(t, server.Name+" is open to its peers alone", time.Minute, func(ctx context.Context) (bool, string, error) {
		err := b.Hub().Client.Get(ctx, client.ObjectKeyFromObject(server), server)
		c := meta.FindStatusCondition(server.Status.Conditions, v1alpha1.ConditionNetworkRestricted)
		if err != nil || c == nil {
			return false, "", err
		}
		return c.Status == metav1.ConditionTrue, c.Reason + ": " + c.Message, nil
	})
}

// The manager is open to API servers and to who scrapes its metrics, and to nobody else.
func TestNobodyElseConnectsToTheManager(t *testing.T) {
	bed.Beside(t, 10)
	g := NewWithT(t)
	b := bed.Open(t, client.Options{Scheme: operatorScheme()})
	var pods corev1.PodList
	g.Expect(b.Hub().Client.List(t.Context(), &pods, client.InNamespace(sites.OperatorNamespace),
		client.MatchingLabels{"app.kubernetes.io/name": "geosql-operator"})).To(Succeed())
	g.Expect(pods.Items).NotTo(BeEmpty())
	stranger := shellAt(t, b.Hub(), namespace)
	for port, ends := range map[int32]string{9443: "", 8443: "", 8081: refused} {
		g.Expect(connects(t, stranger, pods.Items[0].Status.PodIP, port)()).To(Equal(ends), "port %d", port)
	}
}
