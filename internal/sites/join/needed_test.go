// SPDX-License-Identifier: Apache-2.0

package join_test

import (
	"bytes"
	"testing"

	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/election/votes"
	"geosql.dev/operator/internal/sites/join"
	"geosql.dev/operator/internal/sites/told"
)

// A group that stays keeps all that its listener needs: its servers wherever they run, the sites of those, and its
// voters, with what the site was told of their API servers.
func TestPruningKeepsWhatAGroupThatStaysNames(t *testing.T) {
	g, ctx := NewWithT(t), t.Context()
	keys, err := orders.Names{
		Sites: []orders.NamedSite{{Name: "quincy"}, {Name: "tukwila"}, {Name: "dublin"}, {Name: "gone"}},
		Servers: []orders.NamedServer{{Name: "tukpub", Site: "tukwila"}, {Name: "quisec", Site: "quincy"},
			{Name: "old", Site: "gone"}},
		Groups: []orders.NamedGroup{
			{Name: "sales", Listener: "sales", Voters: []string{"quincy", "tukwila", "dublin"},
				Servers: []string{"quisec"}, Primary: "tukpub"},
			{Name: "former", Listener: "former", Voters: []string{"gone"}, Servers: []string{"old"}},
		},
	}.Keys()
	g.Expect(err).NotTo(HaveOccurred())
	data, err := orders.NamesData(keys)
	g.Expect(err).NotTo(HaveOccurred())
	peers := map[string][]byte{}
	for _, site := range []string{"tukwila", "dublin", "gone"} {
		peers[orders.PeerKey(site)] = []byte("{}")
	}
	member := inMemory(t, "member", &corev1.ConfigMap{ObjectMeta: told.Meta("web", orders.NamesObject), Data: data},
		&corev1.Secret{ObjectMeta: told.Meta("web", orders.PeersObject), Data: peers},
		&coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: votes.LeaseName("sales")}})
	hub, out := inMemory(t, "hub", siteOf("quincy", "member")), &bytes.Buffer{}
	g.Expect(join.Prune(ctx, join.Request{Name: "quincy", Member: &member, Hub: hub, Out: out, DryRun: true}, nil)).
		To(Succeed())
	for _, key := range []string{"group.former", "server.old", "site.gone", orders.PeerKey("gone")} {
		g.Expect(out.String()).To(ContainSubstring("key " + key + ": not declared"))
	}
	for _, key := range []string{"group.sales", "server.tukpub", "server.quisec", "site.tukwila", "site.dublin",
		orders.PeerKey("tukwila"), orders.PeerKey("dublin")} {
		g.Expect(out.String()).NotTo(ContainSubstring("key " + key + ":"))
	}
	g.Expect(out.String()).To(ContainSubstring("server.tukpub in namespace web is not declared, and its names stay: " +
		"group sales names it"))
}
