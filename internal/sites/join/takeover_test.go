// SPDX-License-Identifier: Apache-2.0

package join_test

import (
	"bytes"
	"testing"

	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/sites"
	"geosql.dev/operator/internal/sites/join"
)

// ownerLease names whose a namespace of a member is.
func ownerLease(namespace string, owner sites.Owner) *coordinationv1.Lease {
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: namespace}}
	owner.Write(lease)
	return lease
}

// A hub with other namespaces would take the account, the cluster's rights and the Roles from the hub that has the site.
func TestAHubWithOtherNamespacesAsks(t *testing.T) {
	g, ctx := NewWithT(t), t.Context()
	lease := ownerLease("shop", sites.Owner{Hub: "former", Epoch: 1})
	member, hub := inMemory(t, "member", lease), inMemory(t, "rebuilt")
	hub.Config.Host = "https://hub:6443"
	joins := func(takeOver bool) (string, error) {
		out := &bytes.Buffer{}
		_, err := join.Join(ctx, join.Request{Name: "quincy", Member: &member, Hub: hub, Out: out, TakeOver: takeOver,
			Spec: v1alpha1.SiteSpec{AllowedNamespaces: []string{"web"}}})
		return out.String(), err
	}
	out, err := joins(false)
	g.Expect(err).To(MatchError(And(ContainSubstring("Lease shop/hub.geosql.dev"), ContainSubstring("--take-over"))))
	g.Expect(out).To(BeEmpty(), "nothing was changed")

	_, err = joins(true)
	g.Expect(err).NotTo(HaveOccurred())
	for _, ns := range []string{"shop", "web"} {
		var now coordinationv1.Lease
		g.Expect(member.Client.Get(ctx, client.ObjectKey{Namespace: ns, Name: sites.OwnerLease}, &now)).To(Succeed(), ns)
		g.Expect(sites.ReadOwner(&now)).To(Equal(sites.Owner{Hub: "rebuilt", Epoch: 2}), ns)
	}
	_, err = joins(false)
	g.Expect(err).NotTo(HaveOccurred(), "it is its own")
}
