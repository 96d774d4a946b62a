// SPDX-License-Identifier: Apache-2.0

package join_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/sites"
	"geosql.dev/operator/internal/sites/join"
)

// inMemory is a cluster whose namespace kube-system has this UID.
func inMemory(t *testing.T, uid types.UID, objects ...client.Object) join.Cluster {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1alpha1.AddToScheme} {
		NewWithT(t).Expect(add(scheme)).To(Succeed())
	}
	objects = append(objects, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "kube-system", UID: uid}})
	return join.Cluster{
		Config: &rest.Config{Host: "https://member:6443"},
		Client: fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithInterceptorFuncs(identified).Build(),
	}
}

// identified gives what is read a UID, as API servers do.
var identified = interceptor.Funcs{
	Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object,
		options ...client.GetOption) error {
		err := c.Get(ctx, key, obj, options...)
		if err == nil && obj.GetUID() == "" {
			obj.SetUID(types.UID("of " + key.String()))
		}
		return err
	},
}

func siteOf(name, uid string) *v1alpha1.Site {
	return &v1alpha1.Site{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: v1alpha1.SiteStatus{ClusterUID: uid},
		Spec: v1alpha1.SiteSpec{
			AllowedNamespaces:   []string{"web"},
			KubeconfigSecretRef: &v1alpha1.SecretReference{Name: name},
		}}
}

// What cannot be is refused before anything is planned: names, classes and clusters.
func TestWhatCannotBeJoinedIsNotPlanned(t *testing.T) {
	for what, c := range map[string]struct {
		change  func(*join.Request)
		sites   []client.Object
		refused string
	}{
		"all is well": {change: func(*join.Request) {}},
		"a name that is none": {change: func(r *join.Request) { r.Name = "Bad_Name" },
			refused: `"Bad_Name" is no name of a site`},
		"a namespace that is none": {change: func(r *join.Request) { r.AddNamespaces = []string{"Web"} },
			refused: `"Web" is no name of a namespace`},
		"a link to no name": {change: func(r *join.Request) { r.Spec.Links = []v1alpha1.SiteLink{{To: "Dublin"}} },
			refused: `"Dublin" is no name of a site`},
		"a link to itself": {change: func(r *join.Request) { r.Spec.Links = []v1alpha1.SiteLink{{To: "quincy"}} },
			refused: "not to itself"},
		"an exposure that is none": {change: func(r *join.Request) { r.Spec.Exposure.Type = "Elsewhere" },
			refused: "use one of [FlatNetwork NodePort LoadBalancer]"},
		"load balancers": {change: func(r *join.Request) { r.Spec.Exposure.Type = v1alpha1.ExposureLoadBalancer }},
		"a class that is not there": {change: func(r *join.Request) { r.Spec.StorageClasses.Data = "nosuch" },
			refused: "has no storage class nosuch; it has: fast"},
		"the hub's cluster": {change: func(r *join.Request) { r.Member = &r.Hub }, refused: "join it with --hub"},
		"another site's cluster": {change: func(*join.Request) {}, sites: []client.Object{siteOf("tukwila", "member")},
			refused: "this cluster is site tukwila already"},
		"another cluster than it was": {change: func(*join.Request) {}, sites: []client.Object{siteOf("quincy", "former")},
			refused: "say with --new-cluster"},
		"a cluster that was made anew": {change: func(r *join.Request) { r.NewCluster = true },
			sites: []client.Object{siteOf("quincy", "former")}},
		"the same cluster": {change: func(*join.Request) {},
			sites: []client.Object{siteOf("quincy", "member"), siteOf("tukwila", "another")}},
	} {
		t.Run(what, func(t *testing.T) {
			g := NewWithT(t)
			member, out := inMemory(
				t,
				"member",
				&storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "fast"}},
			), &bytes.Buffer{}
			hub := inMemory(t, "hub", c.sites...)
			hub.Config.Host = "https://hub:6443"
			r := join.Request{Name: "quincy", Member: &member, Hub: hub, Out: out, DryRun: true,
				Spec: v1alpha1.SiteSpec{AllowedNamespaces: []string{"web"}, StorageClasses: v1alpha1.VolumeClasses{Log: "fast"}}}
			c.change(&r)
			_, err := join.Join(t.Context(), r)
			if c.refused == "" {
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(out.String()).To(ContainSubstring("Site quincy: would be"))
				return
			}
			g.Expect(err).To(MatchError(ContainSubstring(c.refused)))
			g.Expect(out.String()).To(BeEmpty(), "nothing is planned")
		})
	}
}

// A site that is not there is said, and the account of another site is left alone; what an interrupted attempt has left
// goes.
func TestLeavingWhatIsThere(t *testing.T) {
	account := func(site string) *corev1.ServiceAccount {
		return &corev1.ServiceAccount{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: sites.OperatorNamespace,
				Name:      sites.Account,
				Labels:    map[string]string{v1alpha1.LabelSite: site},
			},
		}
	}
	leave := func(hub join.Cluster, member *join.Cluster) error {
		return join.Leave(
			t.Context(),
			join.Request{Name: "quincy", Member: member, Hub: hub, Out: &bytes.Buffer{}},
			time.Minute,
		)
	}
	g := NewWithT(t)
	g.Expect(leave(inMemory(t, "hub", siteOf("tukwila", "other")), nil)).
		To(MatchError("no Site quincy; there are: tukwila"))
	tukwila := inMemory(t, "tukwila", account("tukwila"))
	g.Expect(leave(inMemory(t, "hub", siteOf("quincy", "member")), &tukwila)).
		To(MatchError(ContainSubstring("was joined as site tukwila: name the context of site quincy")))
	g.Expect(tukwila.Client.Get(t.Context(), client.ObjectKeyFromObject(account("")), account(""))).To(Succeed())

	quincy := inMemory(t, "member", account("quincy"))
	g.Expect(leave(inMemory(t, "hub"), &quincy)).To(Succeed(), "the Site went before")
	g.Expect(quincy.Client.Get(t.Context(), client.ObjectKeyFromObject(account("")), account(""))).NotTo(Succeed())
	g.Expect(leave(inMemory(t, "hub"), &quincy)).To(MatchError(ContainSubstring("no Site quincy")))
}

// Rights are taken away at the site's own cluster and at no other, whichever context was named: in a hub they would be
// the manager's.
func TestNobodyElsesRightsAreTakenAway(t *testing.T) {
	account := func(labels map[string]string) *corev1.ServiceAccount {
		return &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: sites.OperatorNamespace,
			Name: sites.Account, Labels: labels}}
	}
	chart := account(map[string]string{v1alpha1.LabelManagedBy: "Helm"})
	own := account(map[string]string{v1alpha1.LabelSite: "quincy"})
	isHub := siteOf("quincy", "hub")
	isHub.Spec.KubeconfigSecretRef = nil
	for what, c := range map[string]struct {
		declared []client.Object
		uid      types.UID
		there    []client.Object
		refused  string
	}{
		"the hub's own cluster": {[]client.Object{siteOf("quincy", "member")}, "hub", []client.Object{chart},
			"the hub's own cluster"},
		"the hub's own cluster, of a site that nobody knows": {[]client.Object{siteOf("quincy", "")}, "hub",
			[]client.Object{chart}, "the hub's own cluster"},
		"a cluster for the hub": {[]client.Object{isHub}, "member", []client.Object{own}, "is the hub itself"},
		"a site of that name of another hub": {[]client.Object{siteOf("quincy", "member")}, "another",
			[]client.Object{own}, "kube-system has UID member there, and another here"},
		"a site that another hub has": {[]client.Object{siteOf("quincy", "member")}, "member",
			[]client.Object{own, ownerLease("shop", sites.Owner{Hub: "former", Epoch: 1})}, "a site of hub former"},
		"a site that another copy of the hub has": {[]client.Object{siteOf("quincy", "member")}, "member",
			[]client.Object{own, ownerLease("shop", sites.Owner{Hub: "hub", Epoch: 2})}, "a site of hub hub"},
		"what an interrupted attempt left, and another hub has": {nil, "member",
			[]client.Object{own, ownerLease("shop", sites.Owner{Hub: "former", Epoch: 1})}, "a site of hub former"},
		"what an interrupted attempt left, and another copy of the hub has": {nil, "member",
			[]client.Object{own, ownerLease("shop", sites.Owner{Hub: "hub", Epoch: 2})}, "a site of hub hub (epoch 2)"},
		"another hub": {[]client.Object{siteOf("quincy", "")}, "member", []client.Object{chart}, "nobody joined"},
		"another site without an account": {[]client.Object{siteOf("quincy", ""), siteOf("tukwila", "member")}, "member",
			[]client.Object{&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: sites.SiteRole}}},
			"is site tukwila"},
	} {
		t.Run(what, func(t *testing.T) {
			g, out := NewWithT(t), &bytes.Buffer{}
			hub, member := inMemory(t, "hub", c.declared...), inMemory(t, c.uid, copies(c.there)...)
			err := join.Leave(t.Context(), join.Request{Name: "quincy", Member: &member, Hub: hub, Out: out}, time.Minute)
			g.Expect(err).To(MatchError(ContainSubstring(c.refused)))
			g.Expect(out.String()).To(BeEmpty(), "nothing was taken away")
			for _, obj := range c.there {
				g.Expect(member.Client.Get(t.Context(), client.ObjectKeyFromObject(obj), copies([]client.Object{obj})[0])).
					To(Succeed())
			}
			for _, obj := range c.declared {
				g.Expect(hub.Client.Get(t.Context(), client.ObjectKeyFromObject(obj), &v1alpha1.Site{})).To(Succeed())
			}
		})
	}
}

// copies are the objects anew: a client in memory keeps what it is given.
func copies(objects []client.Object) []client.Object {
	var all []client.Object
	for _, obj := range objects {
		all = append(all, obj.DeepCopyObject().(client.Object))
	}
	return all
}

// A cluster that has a manager of its own keeps that one's account when it is no site any more.
func TestTheAccountOfTheMembersOwnManagerStays(t *testing.T) {
	g := NewWithT(t)
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: sites.OperatorNamespace,
		Name: sites.Account, Labels: map[string]string{v1alpha1.LabelSite: "quincy", v1alpha1.LabelManagedBy: "Helm"}}}
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: sites.SiteRole}}
	hub, member := inMemory(t, "hub", siteOf("quincy", "member")), inMemory(t, "member", account, role)
	g.Expect(join.Leave(t.Context(), join.Request{Name: "quincy", Member: &member, Hub: hub, Out: &bytes.Buffer{}},
		time.Minute)).To(Succeed())
	g.Expect(member.Client.Get(t.Context(), client.ObjectKeyFromObject(account), account)).To(Succeed())
	g.Expect(member.Client.Get(t.Context(), client.ObjectKeyFromObject(role), role)).NotTo(Succeed(), "rights go")
}

// Whoever leaves a site without naming its cluster is told what stays there, and that it may be another hub's by now.
func TestWhatIsLeftAtTheMemberIsSaid(t *testing.T) {
	g, out := NewWithT(t), &bytes.Buffer{}
	hub := inMemory(t, "hub", siteOf("quincy", "member"))
	g.Expect(join.Leave(t.Context(), join.Request{Name: "quincy", Hub: hub, Out: out}, time.Minute)).To(Succeed())
	g.Expect(out.String()).To(ContainSubstring("its account and rights are left: unless another hub has the site by " +
		"now, name its cluster (--context) to remove them too"))
}

// A hub's own site takes no claim of another copy of the hub along.
func TestClaimsOfACopyOfTheHubStay(t *testing.T) {
	g := NewWithT(t)
	isHub := siteOf("dublin", "hub")
	isHub.Spec.KubeconfigSecretRef = nil
	of := func(ns string, epoch int32) client.Object {
		return ownerLease(ns, sites.Owner{Hub: "hub", Epoch: epoch})
	}
	hub := inMemory(t, "hub", isHub, of("web", 1), of("shop", 2))
	g.Expect(join.Leave(t.Context(), join.Request{Name: "dublin", Hub: hub, Out: &bytes.Buffer{}}, time.Minute)).
		To(Succeed())
	g.Expect(hub.Client.Get(t.Context(), client.ObjectKeyFromObject(of("shop", 2)), of("shop", 2))).To(Succeed())
	g.Expect(hub.Client.Get(t.Context(), client.ObjectKeyFromObject(of("web", 1)), of("web", 1))).NotTo(Succeed())
}

// A leave that was interrupted, at whichever deletion, is ended by the next one: nothing is left that nobody finds.
func TestAnInterruptedLeaveIsFinished(t *testing.T) {
	left := func(g Gomega, member join.Cluster) (all []string) {
		for _, list := range []client.ObjectList{&corev1.ServiceAccountList{}, &corev1.SecretList{},
			&admissionv1.ValidatingAdmissionPolicyList{}, &admissionv1.ValidatingAdmissionPolicyBindingList{},
			&rbacv1.ClusterRoleList{}, &coordinationv1.LeaseList{}} {
			g.Expect(member.Client.List(t.Context(), list)).To(Succeed())
			g.Expect(meta.EachListItem(list, func(obj runtime.Object) error {
				all = append(all, fmt.Sprintf("%T %s", obj, obj.(client.Object).GetName()))
				return nil
			})).To(Succeed())
		}
		return all
	}
	for interrupted := 1; ; interrupted++ {
		g, deletions, fails := NewWithT(t), 0, interrupted
		member := inMemory(t, "member", joinedObjects()...)
		whole := member.Client
		member.Client = interceptor.NewClient(whole.(client.WithWatch), interceptor.Funcs{
			Delete: func(ctx context.Context, c client.WithWatch, obj client.Object, options ...client.DeleteOption) error {
				if deletions++; deletions == fails {
					return errors.New("cut off")
				}
				return c.Delete(ctx, obj, options...)
			}})
		hub := inMemory(t, "hub", siteOf("quincy", "member"))
		leave := func() error {
			return join.Leave(t.Context(), join.Request{Name: "quincy", Member: &member, Hub: hub, Out: &bytes.Buffer{}},
				time.Minute)
		}
		err := leave()
		if deletions < interrupted {
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(interrupted).To(BeNumerically(">", 6), "all were tried")
			return
		}
		g.Expect(err).To(MatchError(ContainSubstring("cut off")))
		g.Expect(leave()).To(Succeed(), "cut off at deletion %d", interrupted)
		g.Expect(left(g, member)).To(BeEmpty(), "cut off at deletion %d", interrupted)
	}
}

// joinedObjects are some of each kind that a join makes at a member.
func joinedObjects() []client.Object {
	in := func(name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: sites.OperatorNamespace, Name: name,
			Labels: map[string]string{v1alpha1.LabelSite: "quincy"}}
	}
	all := []client.Object{&corev1.ServiceAccount{ObjectMeta: in(sites.Account)},
		&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: sites.SiteRole}},
		&admissionv1.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: sites.SiteRole}},
		&admissionv1.ValidatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: sites.SiteRole}},
		ownerLease("web", sites.Owner{Hub: "hub", Epoch: 1})}
	for _, name := range sites.TokenSecrets() {
		all = append(all, &corev1.Secret{ObjectMeta: in(name)})
	}
	return all
}
