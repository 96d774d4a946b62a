// SPDX-License-Identifier: Apache-2.0

//go:build integration

package join_test

import (
	"bytes"
	"context"
	"errors"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/sites"
	"geosql.dev/operator/internal/sites/join"
	"geosql.dev/operator/test/support/apiserver"
)

// Wherever taking the rights of drills away is interrupted, the next command does not grant them again, and leaves
// nothing of them behind.
func TestDrillsStayTakenAway(t *testing.T) {
	g, ctx := NewWithT(t), t.Context()
	hub := fake.NewClientBuilder().WithScheme(apiserver.Scheme).WithInterceptorFuncs(identified).WithObjects(
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: metav1.NamespaceSystem, UID: "the cluster"}}).Build()
	joined := func(c client.Client, drills *bool) (string, error) {
		out := &bytes.Buffer{}
		_, err := join.Join(
			ctx,
			join.Request{
				Name:   "dublin",
				Hub:    join.Cluster{Config: &rest.Config{Host: "https://hub"}, Client: c},
				Out:    out,
				Drills: drills,
				Spec:   v1alpha1.SiteSpec{AllowedNamespaces: []string{"web", "more"}},
			},
		)
		return out.String(), err
	}
	left := func() (names []string) {
		for _, list := range []client.ObjectList{&rbacv1.RoleList{}, &rbacv1.RoleBindingList{}, &rbacv1.ClusterRoleList{},
			&rbacv1.ClusterRoleBindingList{}} {
			g.Expect(hub.List(ctx, list)).To(Succeed())
			g.Expect(meta.EachListItem(list, func(object runtime.Object) error {
				if o := object.(client.Object); o.GetName() == sites.DrillsRole {
					names = append(names, o.GetNamespace())
				}
				return nil
			})).To(Succeed())
		}
		return names
	}
	interruptions := 0
	for interrupted := true; interrupted; {
		g.Expect(joined(hub, ptr.To(true))).To(ContainSubstring("drills: granted\n"))
		g.Expect(joined(hub, nil)).To(ContainSubstring("drills: granted before, and kept"))
		g.Expect(left()).To(ConsistOf("", "", "web", "web", "more", "more"))
		_, err := joined(&dying{Client: hub, deletes: interruptions + 1}, ptr.To(false))
		if interrupted = err != nil; interrupted {
			interruptions++
			g.Expect(err).To(MatchError(ContainSubstring("interrupted")))
			g.Expect(left()).To(HaveLen(6 - interruptions))
		}
		g.Expect(joined(hub, nil)).
			To(ContainSubstring("drills: not granted"), "interrupted after %d deletions", interruptions)
		g.Expect(left()).To(BeEmpty(), "interrupted after %d deletions", interruptions)
	}
	g.Expect(interruptions).To(Equal(5), "of six deletions the first was always done")
}

// dying is a client that is gone after some deletions.
type dying struct {
	client.Client
	deletes int
}

func (d *dying) Delete(ctx context.Context, obj client.Object, options ...client.DeleteOption) error {
	if d.deletes == 0 {
		return errors.New("interrupted")
	}
	d.deletes--
	return d.Client.Delete(ctx, obj, options...)
}
