// SPDX-License-Identifier: Apache-2.0

//go:build integration

package join_test

import (
	"bytes"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/sites"
	"geosql.dev/operator/internal/sites/join"
	"geosql.dev/operator/test/support/apiserver"
)

func cluster(a *apiserver.Server) join.Cluster {
	return join.Cluster{Config: a.Config, Client: a.Client}
}

// credentials are those that the hub holds for a site.
func credentials(t *testing.T, hub *apiserver.Server, site string) *rest.Config {
	t.Helper()
	g := NewWithT(t)
	var secret corev1.Secret
	g.Expect(hub.Client.Get(t.Context(), client.ObjectKey{Namespace: sites.OperatorNamespace, Name: site}, &secret)).
		To(Succeed())
	cfg, err := sites.LoadKubeconfig(secret.Data[sites.KubeconfigKey])
	g.Expect(err).NotTo(HaveOccurred())
	return cfg
}

func asOperator(t *testing.T, cfg *rest.Config) client.Client {
	t.Helper()
	c, err := client.New(cfg, client.Options{Scheme: apiserver.Scheme})
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return c
}

// TestJoin joins a real API server to another, and takes it out again.
func TestJoin(t *testing.T) {
	hub, member := apiserver.StartHub(t), apiserver.StartMember(t)
	ctx := t.Context()
	request := func(namespaces ...string) (join.Request, *bytes.Buffer) {
		out := &bytes.Buffer{}
		quincy := cluster(member)
		return join.Request{Name: "quincy", Member: &quincy, Hub: cluster(hub), Out: out,
			Spec: v1alpha1.SiteSpec{AllowedNamespaces: namespaces}}, out
	}

	t.Run("a dry run changes nothing", func(t *testing.T) {
		g := NewWithT(t)
		r, out := request("web")
		r.DryRun = true
		_, err := join.Join(ctx, r)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(out.String()).To(ContainSubstring("would be created"))
		g.Expect(apierrors.IsNotFound(member.Client.Get(ctx, client.ObjectKey{Name: "web"}, &corev1.Namespace{}))).
			To(BeTrue())
		g.Expect(apierrors.IsNotFound(hub.Client.Get(ctx, client.ObjectKey{Name: "quincy"}, &v1alpha1.Site{}))).To(BeTrue())
	})

	t.Run("joined with the rights that the manager needs and no others", func(t *testing.T) {
		g := NewWithT(t)
		r, _ := request("web")
		r.Spec.Region = "us-west"
		g.Expect(member.Client.Create(ctx,
			&storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "fast"}, Provisioner: "none"})).
			To(Succeed())
		g.Expect(join.ParseStorageClass(&r.Spec.StorageClasses, "all=fast")).To(Succeed())
		link, err := join.ParseLink("dublin=146ms/1Gbit")
		g.Expect(err).NotTo(HaveOccurred())
		r.Spec.Links = []v1alpha1.SiteLink{link}
		expires, err := join.Join(ctx, r)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(expires).To(BeTemporally(">", time.Now().Add(time.Hour)))
		rights(t, asOperator(t, credentials(t, hub, "quincy")))
	})

	t.Run("the manager's caches fill with these rights", func(t *testing.T) { engages(t, hub) })

	t.Run("the manager renews its token with these rights", func(t *testing.T) {
		g := NewWithT(t)
		before := credentials(t, hub, "quincy")
		token, ok := sites.ReadToken(before.BearerToken)
		g.Expect(ok).To(BeTrue())
		g.Expect(token.Account).To(Equal(sites.Account))
		g.Expect(token.RenewalDue(token.Issued.Add(token.Expires.Sub(token.Issued) / 2))).To(BeFalse())
		g.Expect(token.RenewalDue(token.Expires.Add(-token.Expires.Sub(token.Issued) / 4))).To(BeTrue())
		var s v1alpha1.Site
		g.Expect(hub.Client.Get(ctx, client.ObjectKey{Name: "quincy"}, &s)).To(Succeed())
		g.Expect(token.Expires.Sub(token.Issued)).To(BeNumerically("~", sites.MaxTokenLife, time.Minute))
		renew := func(by *rest.Config) error {
			c := asOperator(t, by)
			return sites.RenewToken(ctx, hub.Client, sites.OperatorNamespace, &s, sites.TokenUse{Reader: c, Writer: c})
		}
		g.Eventually(func() error { return renew(before) }, "60s", "1s").Should(Succeed(), "the rights come a moment later")
		after := credentials(t, hub, "quincy")
		g.Expect(after.BearerToken).NotTo(Equal(before.BearerToken))
		for _, cfg := range []*rest.Config{before, after} {
			g.Expect(asOperator(t, cfg).List(ctx, &corev1.NodeList{})).To(Succeed(), "old and new are good")
		}
		renewed, ok := sites.ReadToken(after.BearerToken)
		g.Expect(ok).To(BeTrue())
		g.Expect(renewed.Expires.Sub(renewed.Issued)).To(Equal(token.Expires.Sub(token.Issued)))
		g.Expect(renewed.Secret.Name).NotTo(Equal(token.Secret.Name))

		revoke(t, hub, &s, token, renewed)
		g.Eventually(func() bool {
			return apierrors.IsUnauthorized(asOperator(t, before).List(ctx, &corev1.NodeList{}))
		}, "60s", "500ms").Should(BeTrue(), "the old one is revoked")
		g.Expect(asOperator(t, after).List(ctx, &corev1.NodeList{})).To(Succeed())
		g.Expect(renew(after)).To(Succeed())
		again, _ := sites.ReadToken(credentials(t, hub, "quincy").BearerToken)
		g.Expect(again.Secret.Name).To(Equal(token.Secret.Name), "they take turns")
		g.Expect(renew(after)).To(Succeed(), "one that ended before the new token was read")
	})

	t.Run("the account gets no other by its rights", func(t *testing.T) {
		bounds(t, asOperator(t, credentials(t, hub, "quincy")), member.Client)
	})

	t.Run("again: nothing is said, all is kept, the credentials are new", func(t *testing.T) {
		g := NewWithT(t)
		before := credentials(t, hub, "quincy").BearerToken
		r, out := request()
		_, err := join.Join(ctx, r)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(out.String()).To(ContainSubstring("Role web/geosql-operator-site: unchanged"))
		g.Expect(credentials(t, hub, "quincy").BearerToken).NotTo(Equal(before))
		old := rest.CopyConfig(credentials(t, hub, "quincy"))
		old.BearerToken = before
		g.Eventually(func() bool {
			return apierrors.IsUnauthorized(asOperator(t, old).List(ctx, &corev1.NodeList{}))
		}, "60s", "500ms").Should(BeTrue(), "the one before is revoked")
		var s v1alpha1.Site
		g.Expect(hub.Client.Get(ctx, client.ObjectKey{Name: "quincy"}, &s)).To(Succeed())
		g.Expect(s.Spec.Region).To(Equal("us-west"))
		g.Expect(s.Spec.StorageClasses.Log).To(Equal("fast"))
		g.Expect(s.Spec.Links).To(HaveLen(1))
		g.Expect(s.Spec.AllowedNamespaces).To(Equal([]string{"web"}))
	})

	t.Run("drills when they are granted, and as long", func(t *testing.T) { drills(t, hub, member, request) })

	t.Run("another namespace besides the first", func(t *testing.T) {
		g := NewWithT(t)
		r, _ := request()
		r.AddNamespaces = []string{"demo", "web"}
		_, err := join.Join(ctx, r)
		g.Expect(err).NotTo(HaveOccurred())
		var s v1alpha1.Site
		g.Expect(hub.Client.Get(ctx, client.ObjectKey{Name: "quincy"}, &s)).To(Succeed())
		g.Expect(s.Spec.AllowedNamespaces).To(Equal([]string{"web", "demo"}))
		c := asOperator(t, credentials(t, hub, "quincy"))
		for _, ns := range s.Spec.AllowedNamespaces {
			g.Eventually(func() error { return c.List(ctx, &appsv1.StatefulSetList{}, client.InNamespace(ns)) }, "60s").
				Should(Succeed(), ns)
		}
	})

	t.Run("another namespace in place of the first", func(t *testing.T) {
		g := NewWithT(t)
		r, _ := request("shop")
		_, err := join.Join(ctx, r)
		g.Expect(err).NotTo(HaveOccurred())
		c := asOperator(t, credentials(t, hub, "quincy"))
		g.Eventually(func() error { return c.List(ctx, &appsv1.StatefulSetList{}, client.InNamespace("shop")) }, "60s").
			Should(Succeed())
		g.Eventually(func() bool {
			return apierrors.IsForbidden(c.List(ctx, &appsv1.StatefulSetList{}, client.InNamespace("web")))
		}, "60s").Should(BeTrue())
	})

	t.Run("the hub itself, once", func(t *testing.T) {
		g := NewWithT(t)
		out := &bytes.Buffer{}
		r := join.Request{
			Name: "dublin",
			Hub:  cluster(hub),
			Out:  out,
			Spec: v1alpha1.SiteSpec{AllowedNamespaces: []string{"web"}},
		}
		expires, err := join.Join(ctx, r)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(expires).To(BeZero())
		r.Name = "quincy"
		_, err = join.Join(ctx, r)
		g.Expect(err).To(MatchError(ContainSubstring("site quincy exists and is another cluster")))
	})

	t.Run("taken over by another hub, and back", func(t *testing.T) { taken(t, hub, member) })

	t.Run("names of what is not declared", func(t *testing.T) { prunes(t, hub, member) })

	t.Run("taken out", func(t *testing.T) {
		g := NewWithT(t)
		c := asOperator(t, credentials(t, hub, "quincy"))
		r, _ := request()
		g.Expect(join.Leave(ctx, r, 10*time.Second)).To(Succeed())
		g.Expect(apierrors.IsNotFound(hub.Client.Get(ctx, client.ObjectKey{Name: "quincy"}, &v1alpha1.Site{}))).To(BeTrue())
		g.Expect(apierrors.IsNotFound(hub.Client.Get(ctx,
			client.ObjectKey{Namespace: sites.OperatorNamespace, Name: "quincy"}, &corev1.Secret{}))).
			To(BeTrue())
		g.Eventually(func() bool { return apierrors.IsUnauthorized(c.List(ctx, &corev1.NodeList{})) }, "60s").Should(BeTrue())
		g.Expect(member.Client.Get(ctx, client.ObjectKey{Name: "shop"}, &corev1.Namespace{})).To(Succeed(), "namespaces stay")
		g.Expect(apierrors.IsNotFound(member.Client.Get(ctx,
			client.ObjectKey{Namespace: "shop", Name: sites.OwnerLease}, &coordinationv1.Lease{}))).
			To(BeTrue(), "another hub may join it")
		nothingLeft(t, member.Client)
		g.Expect(join.Leave(ctx, r, time.Second)).To(MatchError("no Site quincy; there are: dublin"), "again")
	})
}

// rights tries what the account may and may not do.
func rights(t *testing.T, c client.Client) {
	g, ctx := NewWithT(t), t.Context()
	meta := func(ns, name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: ns, Name: name} }
	pod := func(ns string) *corev1.Pod {
		return &corev1.Pod{
			ObjectMeta: meta(ns, "p"),
			Spec: corev1.PodSpec{
				AutomountServiceAccountToken: ptr.To(false),
				Containers:                   []corev1.Container{{Name: "c", Image: "i"}},
			},
		}
	}
	for _, list := range []client.ObjectList{&corev1.NodeList{}, &corev1.PersistentVolumeList{}} {
		g.Expect(c.List(ctx, list)).To(Succeed())
	}
	allowed := []client.Object{
		&corev1.Secret{ObjectMeta: meta("web", "s")},
		&corev1.ConfigMap{ObjectMeta: meta("web", "c")},
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "a", Labels: sites.OwnLabels()}},
	}
	for _, obj := range allowed {
		g.Expect(c.Create(ctx, obj)).To(Succeed(), "%T", obj)
		g.Expect(c.Delete(ctx, obj)).To(Succeed(), "%T", obj)
	}
	forbidden := []client.Object{
		&corev1.Secret{ObjectMeta: meta("default", "s")},
		&corev1.ConfigMap{ObjectMeta: meta(sites.OperatorNamespace, "c")},
		&corev1.Namespace{ObjectMeta: meta("", "n")},
		pod("web"), // the clients of drills
		pod("default"),
	}
	for _, obj := range forbidden {
		err := c.Create(ctx, obj)
		g.Expect(apierrors.IsForbidden(err)).To(BeTrue(), "%T: %v", obj, err)
	}
	for verb, may := range map[string]bool{"get": true, "create": true, "patch": true, "delete": true, "list": false,
		"update": false} {
		review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
			ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: "web", Verb: verb,
				Group: sites.CertManagerGroup, Resource: "certificates"}}}
		g.Expect(c.Create(ctx, review)).To(Succeed())
		g.Expect(review.Status.Allowed).To(Equal(may), "%s Certificates", verb)
	}
	g.Expect(apierrors.IsForbidden(c.List(ctx, &corev1.SecretList{}))).To(BeTrue(), "secrets of all namespaces")
	g.Expect(apierrors.IsForbidden(c.List(ctx, &corev1.SecretList{}, client.InNamespace("kube-system")))).To(BeTrue())
}

// engages runs a provider with the credentials that Join left in the hub.
func engages(t *testing.T, hub *apiserver.Server) {
	g := NewWithT(t)
	provider := sites.NewProvider(sites.Options{Namespace: sites.OperatorNamespace, Heartbeat: 200 * time.Millisecond})
	ctx := t.Context()
	defer apiserver.Run(t, apiserver.NewManager(t, hub.ManagerConfig(t), provider, apiserver.HubOptions()))()
	g.Eventually(func() error { _, err := provider.Member("quincy"); return err }, "60s", "100ms").Should(Succeed())
	member, err := provider.Member("quincy")
	g.Expect(err).NotTo(HaveOccurred())
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "x-0"},
		Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 1433}}},
	}
	g.Expect(member.Apply(ctx, service)).To(Succeed())
	g.Eventually(func() error { return member.Client.Get(ctx, client.ObjectKeyFromObject(service), &corev1.Service{}) },
		"60s").
		Should(Succeed())
	g.Expect(member.Client.Delete(ctx, service)).To(Succeed())
}

// TestParse reads what people write.
func TestParse(t *testing.T) {
	g := NewWithT(t)
	var classes v1alpha1.VolumeClasses
	for _, text := range []string{"all=fast", "backup=capacity"} {
		g.Expect(join.ParseStorageClass(&classes, text)).To(Succeed())
	}
	g.Expect(classes).To(Equal(v1alpha1.VolumeClasses{Data: "fast", Log: "fast", TempDB: "fast", Backup: "capacity",
		Agent: "fast"}))
	g.Expect(join.ParseStorageClass(&classes, "swap=fast")).
		To(MatchError(ContainSubstring("use data, log, tempdb, backup, agent or all")))
	g.Expect(join.ParseStorageClass(&classes, "data")).To(MatchError(ContainSubstring("ROLE=CLASS")))
	for _, text := range []string{"dublin", "dublin=", "=5ms", "dublin=fast", "dublin=-5ms"} {
		_, err := join.ParseLink(text)
		g.Expect(err).To(MatchError(ContainSubstring("SITE=ROUNDTRIP")), text)
	}
}

// drills grants and takes away what drills need. The rights are looked at where they lie, and tried by who has them.
func drills(t *testing.T, hub, member *apiserver.Server, request func(...string) (join.Request, *bytes.Buffer)) {
	g, ctx := NewWithT(t), t.Context()
	again := func(drills *bool, namespaces ...string) string {
		r, out := request()
		r.Drills, r.AddNamespaces = drills, namespaces
		_, err := join.Join(ctx, r)
		g.Expect(err).NotTo(HaveOccurred())
		return out.String()
	}
	may := func(namespace string) func() bool {
		c := asOperator(t, credentials(t, hub, "quincy"))
		return func() bool {
			for _, right := range []authorizationv1.ResourceAttributes{
				{Namespace: namespace, Verb: "create", Resource: "pods"},
				{Namespace: namespace, Verb: "create", Resource: "pods", Subresource: "exec"},
				{Namespace: namespace, Verb: "create", Group: sites.ChaosGroup, Resource: "networkchaos"},
				{Namespace: sites.ChaosNamespace, Verb: "get", Group: "apps", Resource: "daemonsets", Name: sites.ChaosDaemons},
			} {
				review := &authorizationv1.SelfSubjectAccessReview{
					Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &right},
				}
				g.Expect(c.Create(ctx, review)).To(Succeed())
				if !review.Status.Allowed {
					return false
				}
			}
			return true
		}
	}
	g.Expect(may("web")()).To(BeFalse())
	g.Expect(again(nil)).To(ContainSubstring("drills: not granted"))
	g.Expect(again(ptr.To(true), "web")).To(ContainSubstring("drills: granted\n"))
	g.Eventually(may("web"), "60s", "200ms").Should(BeTrue())
	g.Expect(again(nil, "more")).To(ContainSubstring("drills: granted before, and kept"))
	g.Eventually(may("more"), "60s", "200ms").Should(BeTrue(), "in a namespace that came later")
	g.Expect(again(ptr.To(false))).To(ContainSubstring("drills: not granted"))
	for _, ns := range []string{"web", "more"} {
		g.Eventually(may(ns), "60s", "200ms").Should(BeFalse())
		g.Expect(apierrors.IsNotFound(member.Client.Get(ctx, client.ObjectKey{Namespace: ns, Name: sites.DrillsRole},
			&rbacv1.Role{}))).
			To(BeTrue())
	}
	g.Expect(again(nil)).To(ContainSubstring("drills: not granted"))

	// A site of an earlier release has them in its one Role.
	var role rbacv1.Role
	g.Expect(member.Client.Get(ctx, client.ObjectKey{Namespace: "web", Name: sites.SiteRole}, &role)).To(Succeed())
	role.Rules = append(role.Rules, sites.DrillRules()...)
	g.Expect(member.Client.Update(ctx, &role)).To(Succeed())
	g.Expect(again(nil)).To(ContainSubstring("drills: granted before, and kept"))
	g.Eventually(may("web"), "60s", "200ms").Should(BeTrue())
	r, _ := request("web")
	_, err := join.Join(ctx, r)
	g.Expect(err).NotTo(HaveOccurred())
}
