// SPDX-License-Identifier: Apache-2.0

//go:build integration

package check

import (
	"bytes"
	"testing"

	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/sites"
	"geosql.dev/operator/internal/sites/join"
	"geosql.dev/operator/test/support/apiserver"
)

// What `site join` makes at an API server is what the check looks for, with drills and without; a role that somebody
// changed is found, and so is one that is not bound.
func TestWhatJoiningMakesIsWell(t *testing.T) {
	g, ctx := NewWithT(t), t.Context()
	hub, member := apiserver.StartHub(t), apiserver.StartMember(t)
	at := join.Cluster{Config: member.Config, Client: member.Client}
	inHub := join.Cluster{Config: hub.Config, Client: hub.Client}
	one := func(check string) Finding {
		r := Request{Hub: inHub, Member: &at, Names: []string{"quincy"}, OperatorNamespace: sites.OperatorNamespace,
			Said: v1alpha1.SiteSpec{AllowedNamespaces: []string{"web"}}}
		o, err := r.observe(ctx)
		g.Expect(err).NotTo(HaveOccurred())
		for _, f := range o.judge() {
			if f.Check == check {
				return f
			}
		}
		return Finding{}
	}
	g.Expect(one("rights")).To(And(HaveField("Level", OK), HaveField("Says", "you may join it")))
	g.Expect(one("version")).To(HaveField("Level", OK))
	g.Expect(one("clock")).To(HaveField("Level", OK), "both run on this machine")
	g.Expect(one("nodes")).To(HaveField("Level", Problem), "an API server alone has none")

	for _, drills := range []bool{false, true} {
		_, err := join.Join(ctx, join.Request{Name: "quincy", Member: &at, Hub: inHub, Out: &bytes.Buffer{},
			Drills: &drills, Spec: v1alpha1.SiteSpec{AllowedNamespaces: []string{"web"}}})
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(one("rights")).To(And(HaveField("Level", OK), HaveField("Says", ContainSubstring("of this release"))))
		g.Expect(one("namespace")).To(HaveField("Level", OK))
	}
	g.Expect(one("drills")).To(HaveField("Level", Warning), "granted without Chaos Mesh")

	var role rbacv1.Role
	g.Expect(member.Client.Get(ctx, client.ObjectKey{Namespace: "web", Name: sites.SiteRole}, &role)).To(Succeed())
	role.Rules = role.Rules[1:]
	g.Expect(member.Client.Update(ctx, &role)).To(Succeed())
	g.Expect(one("rights")).To(And(HaveField("Level", Warning), HaveField("Says", ContainSubstring("Role web/"))))
	g.Expect(member.Client.Delete(ctx, &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: sites.SiteRole}})).
		To(Succeed())
	g.Expect(one("rights")).To(And(HaveField("Level", Problem), HaveField("Says", ContainSubstring("ClusterRole"))))
}
