// SPDX-License-Identifier: Apache-2.0

package sites

import (
	"errors"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"
	k8stesting "k8s.io/client-go/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	clientfake "sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/cluster"

	"geosql.dev/operator/api/v1alpha1"
)

func ownerLease(o Owner) *coordinationv1.Lease {
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "web"}}
	o.Write(lease)
	return lease
}

// The first hub that comes has a site, and a later one only with a higher epoch, which a person gave it.
func TestAHubClaimsASite(t *testing.T) {
	former, rebuilt := Owner{"former", 1}, Owner{"rebuilt", 1}
	for name, c := range map[string]struct {
		there   *coordinationv1.Lease
		claims  Owner
		owner   Owner
		refused bool
	}{
		"nobody's":                         {nil, former, former, false},
		"its own":                          {ownerLease(former), former, former, false},
		"another hub's":                    {ownerLease(former), rebuilt, former, true},
		"another hub's, and taken over":    {ownerLease(former), Owner{"rebuilt", 2}, Owner{"rebuilt", 2}, false},
		"taken over by another":            {ownerLease(Owner{"rebuilt", 2}), former, Owner{"rebuilt", 2}, true},
		"taken over by a copy of the hub":  {ownerLease(Owner{"former", 2}), former, Owner{"former", 2}, true},
		"a Lease in which nobody is named": {ownerLease(Owner{}), former, former, false},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			clients := fake.NewClientset()
			if c.there != nil {
				clients = fake.NewClientset(c.there)
			}
			leases := clients.CoordinationV1().Leases("web")
			err := c.claims.Claim(t.Context(), leases, "quincy", "web")
			var other *OtherHubError
			g.Expect(errors.As(err, &other)).To(Equal(c.refused), "%v", err)
			if !c.refused {
				g.Expect(err).NotTo(HaveOccurred())
			}
			got, err := leases.Get(t.Context(), OwnerLease, metav1.GetOptions{})
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(ReadOwner(got)).To(Equal(c.owner))
			g.Expect(got.Labels).To(HaveKeyWithValue("app.kubernetes.io/managed-by", "geosql-operator"))
		})
	}
}

// A Lease that lost its label is reported as deleted by the watch, which selects by it: a claim that left it so would
// end all writes.
func TestAClaimRestoresTheLabel(t *testing.T) {
	g := NewWithT(t)
	self := Owner{"former", 1}
	lease := ownerLease(self)
	lease.Labels = nil
	leases := fake.NewClientset(lease).CoordinationV1().Leases("web")
	g.Expect(self.Claim(t.Context(), leases, "quincy", "web")).To(Succeed())
	got, err := leases.Get(t.Context(), OwnerLease, metav1.GetOptions{})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(got.Labels).To(HaveKeyWithValue("app.kubernetes.io/managed-by", "geosql-operator"))
	g.Expect(ReadOwner(got)).To(Equal(self))
}

// A namespace that is being deleted takes no Lease; the others are claimed.
func TestANamespaceThatIsBeingDeletedIsNotClaimed(t *testing.T) {
	g := NewWithT(t)
	clients := fake.NewClientset()
	clients.PrependReactor("create", "leases", func(a k8stesting.Action) (bool, runtime.Object, error) {
		if a.GetNamespace() != "going" {
			return false, nil, nil
		}
		err := apierrors.NewForbidden(coordinationv1.Resource("leases"), OwnerLease, errors.New("being terminated"))
		err.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
		return true, nil, err
	})
	o := &ownership{site: "quincy", self: Owner{"former", 1}, namespaces: []string{"going", "web"}}
	g.Expect(o.claim(t.Context(), clients)).To(Succeed())
	_, err := clients.CoordinationV1().Leases("web").Get(t.Context(), OwnerLease, metav1.GetOptions{})
	g.Expect(err).NotTo(HaveOccurred())
}

// Nothing is written once the watch has said that the site is another hub's, and none while the watch may be old.
func TestNothingIsWrittenAtAnotherHubsSite(t *testing.T) {
	g, ctx := NewWithT(t), t.Context()
	var silent error
	self := Owner{"former", 1}
	o := &ownership{site: "quincy", self: self, namespaces: []string{"web", "shop"}, changed: make(chan struct{}, 1),
		against: map[string]error{}, current: func() error { return silent }}
	c := ownedClient{clientfake.NewClientBuilder().Build(), o}
	secret := func(namespace string) *corev1.Secret {
		return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "tukpub-certificate"}}
	}
	g.Expect(c.Create(ctx, secret("web"))).To(Succeed())
	g.Expect(o.moves()).NotTo(Receive())

	o.see("web", nil)
	g.Expect(o.moves()).To(Receive())
	var unclaimed *UnclaimedError
	g.Expect(errors.As(c.Delete(ctx, secret("web")), &unclaimed)).To(BeTrue(), "nobody's for the moment")
	g.Expect(c.Create(ctx, secret("shop"))).To(Succeed(), "its Lease is there")
	o.see("web", ownerLease(self))
	g.Expect(c.Update(ctx, secret("web"))).To(Succeed())

	o.see("web", ownerLease(Owner{"rebuilt", 2}))
	g.Expect(o.moves()).To(Receive())
	var other *OtherHubError
	for what, err := range map[string]error{
		"create": c.Create(ctx, secret("shop")), "update": c.Update(ctx, secret("web")),
		"delete": c.Delete(ctx, secret("web")), "status": c.Status().Update(ctx, secret("web")),
		"token": c.SubResource("token").Create(ctx, secret("web"), secret("web")),
		"all":   c.DeleteAllOf(ctx, secret("web")),
		"apply": Apply(ctx, c, secret("web")),
	} {
		g.Expect(errors.As(err, &other)).To(BeTrue(), "%s: %v", what, err)
		g.Expect(other.Owner).To(Equal(Owner{"rebuilt", 2}))
	}
	g.Expect(c.Get(ctx, client.ObjectKeyFromObject(secret("web")), secret("web"))).To(Succeed(), "it may be read")

	o.see("web", ownerLease(self))
	silent = &UnreachableError{Site: "quincy", Since: time.Now(), Cause: errors.New("no route to host")}
	g.Expect(IsUnreachable(c.Delete(ctx, secret("web")))).To(BeTrue(), "what the watch said is old")
	silent = nil
	g.Expect(c.Delete(ctx, secret("web"))).To(Succeed())
}

// The hub that took a site over ended the credentials of the one before: that says still whose the site is.
func TestASiteStaysAnotherHubsWithoutCredentials(t *testing.T) {
	g := NewWithT(t)
	p := NewProvider(Options{Namespace: "geosql-system"})
	run := newEngagement(p, &v1alpha1.Site{ObjectMeta: metav1.ObjectMeta{Name: "quincy"}}, nil, "")
	p.runs["quincy"] = run
	cause := func() error {
		h, _ := p.Health("quincy")
		return h.Cause
	}
	denied := &CredentialsError{Site: "quincy", Cause: errors.New("Unauthorized")}
	run.failed(denied)
	g.Expect(cause()).To(MatchError(denied), "nobody is known to have taken it")
	taken := &OtherHubError{Site: "quincy", Namespace: "web", Owner: Owner{"rebuilt", 2}, Self: Owner{"former", 1}}
	run.failed(taken)
	run.failed(denied)
	g.Expect(cause()).To(MatchError(taken))
	silent := errors.New("no route to host")
	run.failed(silent)
	g.Expect(cause()).To(MatchError(silent))
	g.Expect(p.OtherHub("quincy")).To(MatchError(taken))
	run.failed(denied)
	g.Expect(cause()).To(MatchError(taken))
	cl, err := cluster.New(&rest.Config{Host: "127.0.0.1:1"},
		func(o *cluster.Options) { o.MapperProvider = staticMapper })
	g.Expect(err).NotTo(HaveOccurred())
	run.engaged(cl, answer{}, nil)
	g.Expect(p.OtherHub("quincy")).To(Succeed())
}
