// SPDX-License-Identifier: Apache-2.0

//go:build integration

package join_test

import (
	"bytes"
	"errors"
	"testing"

	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/election/votes"
	"geosql.dev/operator/internal/sites"
	"geosql.dev/operator/internal/sites/join"
	"geosql.dev/operator/internal/sites/told"
	"geosql.dev/operator/test/support/apiserver"
)

// prunes leaves at a site names of what the hub declares, of what it does not declare and lives there, and of what is
// gone. Only the last go, and only with consent.
func prunes(t *testing.T, hub, member *apiserver.Server) {
	g, ctx := NewWithT(t), t.Context()
	put := func(objects ...client.Object) {
		for _, obj := range objects {
			g.Expect(member.Client.Create(ctx, obj)).To(Succeed())
		}
	}
	service := func(name, label, owner string) *corev1.Service {
		meta := told.Meta("shop", name)
		meta.Labels[v1alpha1.LabelNamespace], meta.Labels[label] = "shop", owner
		return &corev1.Service{ObjectMeta: meta, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 1433}}}}
	}
	keys, err := orders.Names{
		Sites:   []orders.NamedSite{{Name: "quincy"}, {Name: "gone"}},
		Servers: []orders.NamedServer{{Name: "lives", Site: "quincy"}, {Name: "old", Site: "gone"}},
		Groups:  []orders.NamedGroup{{Name: "votes", Listener: "votes"}, {Name: "former", Listener: "former"}},
	}.Keys()
	g.Expect(err).NotTo(HaveOccurred())
	data, err := orders.NamesData(keys)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(sites.Apply(ctx, member.Client,
		&corev1.ConfigMap{ObjectMeta: told.Meta("shop", orders.NamesObject), Data: data})).To(Succeed(), "as it is made")
	put(&corev1.Secret{ObjectMeta: told.Meta("shop", orders.PeersObject),
		Data: map[string][]byte{orders.PeerKey("gone"): []byte("{}"), orders.PeerKey("dublin"): []byte("{}")}},
		service("old-0", v1alpha1.LabelServer, "old"), service("lives-0", v1alpha1.LabelServer, "lives"),
		service("former", v1alpha1.LabelGroup, "former"),
		&corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "stranger"},
			Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}},
		&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "lives-0"},
			Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "mssql", Image: "none"}}}},
		&coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: votes.LeaseName("votes")}})
	there := func(name string) bool {
		err := member.Client.Get(ctx, client.ObjectKey{Namespace: "shop", Name: name}, &corev1.Service{})
		g.Expect(client.IgnoreNotFound(err)).NotTo(HaveOccurred())
		return !apierrors.IsNotFound(err)
	}
	prune := func(at *apiserver.Server, dryRun bool, answer error) (string, error) {
		out, to := &bytes.Buffer{}, cluster(member)
		err := join.Prune(ctx, join.Request{Name: "quincy", Member: &to, Hub: cluster(at), Out: out, DryRun: dryRun},
			func() error { return answer })
		return out.String(), err
	}
	out, err := prune(hub, true, errors.New("asked in a dry run"))
	g.Expect(err).NotTo(HaveOccurred())
	for _, line := range []string{"key server.old: not declared", "key group.former: not declared",
		"key site.gone: not declared", "Service shop/old-0: of server.old", "Service shop/former: of group.former",
		"server.lives in namespace shop is not declared, and its names stay: pod lives-0",
		"group.votes in namespace shop is not declared, and its names stay"} {
		g.Expect(out).To(ContainSubstring(line))
	}
	g.Expect(out).NotTo(Or(ContainSubstring("stranger"), ContainSubstring("key site.quincy"),
		ContainSubstring("key site.dublin")))
	_, err = prune(hub, false, errors.New("not confirmed"))
	g.Expect(err).To(MatchError("not confirmed"))
	g.Expect(there("old-0")).To(BeTrue())

	_, err = prune(hub, false, nil)
	g.Expect(err).NotTo(HaveOccurred())
	for name, stays := range map[string]bool{"old-0": false, "former": false, "lives-0": true, "stranger": true} {
		g.Expect(there(name)).To(Equal(stays), name)
	}
	left, err := told.Read(ctx, member.Client, "shop")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(left.Keys).To(And(HaveLen(3), HaveKey("site.quincy"), HaveKey("server.lives"), HaveKey("group.votes")))
	var peers corev1.Secret
	g.Expect(member.Client.Get(ctx, client.ObjectKey{Namespace: "shop", Name: orders.PeersObject}, &peers)).To(Succeed())
	g.Expect(peers.Data).To(And(HaveLen(1), HaveKey(orders.PeerKey("dublin"))))
	out, err = prune(hub, false, errors.New("there is nothing to ask for"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(out).To(ContainSubstring("nothing to take away"))

	// The site is another hub's.
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: sites.OwnerLease}}
	g.Expect(member.Client.Get(ctx, client.ObjectKeyFromObject(lease), lease)).To(Succeed())
	own := sites.ReadOwner(lease)
	sites.Owner{Hub: "another", Epoch: own.Epoch + 1}.Write(lease)
	g.Expect(member.Client.Update(ctx, lease)).To(Succeed())
	_, err = prune(hub, false, nil)
	g.Expect(err).To(MatchError(ContainSubstring("is another hub's")))
	own.Write(lease)
	g.Expect(member.Client.Update(ctx, lease)).To(Succeed())
}
