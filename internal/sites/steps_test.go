// SPDX-License-Identifier: Apache-2.0

//go:build integration

package sites_test

import (
	"os"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/sites"
	"geosql.dev/operator/test/support/apiserver"
)

type gomegaMatcher = types.GomegaMatcher

var testOutput = os.Stdout

func volume(size string) *v1alpha1.Volume { return &v1alpha1.Volume{Size: resource.MustParse(size)} }

func testListener(t *testing.T, f *fleet) {
	g, ctx := NewWithT(t), t.Context()
	for server, siteName := range map[string]string{"dubsec": "dublin", "dubthird": "dublin"} {
		g.Expect(f.hub.Client.Create(ctx, newServer(server, siteName))).To(Succeed())
	}
	makePod(t, f.hub, "dubsec", "10.103.0.4")
	makePod(t, f.hub, "dubthird", "10.103.0.5")
	group := &v1alpha1.AvailabilityGroup{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "content"},
		Spec: v1alpha1.AvailabilityGroupSpec{InitialPrimary: "tukpub", Replicas: []v1alpha1.Replica{
			{Server: "tukpub", AvailabilityMode: v1alpha1.SynchronousCommit, Readable: true},
			{Server: "dubsec", AvailabilityMode: v1alpha1.SynchronousCommit, Readable: true},
			{Server: "dubthird", AvailabilityMode: v1alpha1.SynchronousCommit}}}}
	g.Expect(f.hub.Client.Create(ctx, group)).To(Succeed())
	of := func() []metav1.Condition { return group.Status.Conditions }
	g.Eventually(f.namesReady(ctx, group, of), patient).Should(be(metav1.ConditionFalse, v1alpha1.ReasonNoAddress))
	roles := func(primary string, readable ...string) {
		g.Eventually(func() error {
			if err := f.hub.Client.Get(ctx, client.ObjectKeyFromObject(group), group); err != nil {
				return err
			}
			group.Status.Primary = primary
			group.Status.Replicas = nil
			for _, s := range []string{"tukpub", "dubsec", "dubthird"} {
				role := "SECONDARY"
				if s == primary {
					role = "PRIMARY"
				}
				group.Status.Replicas = append(group.Status.Replicas, v1alpha1.ReplicaStatus{Server: s, Role: role})
			}
			return f.hub.Client.Status().Update(ctx, group)
		}, patient).Should(Succeed())
		for _, at := range []*apiserver.Server{f.hub, f.tukwila} {
			want := map[string]string{"tukpub": "10.101.0.8", "dubsec": "10.103.0.4"}
			g.Eventually(addresses(ctx, at, "content"), patient).Should(ConsistOf(want[primary]))
			var readers []any
			for _, s := range readable {
				readers = append(readers, want[s])
			}
			g.Eventually(addresses(ctx, at, "content-ro"), patient).Should(ConsistOf(readers...))
		}
	}
	roles("tukpub", "dubsec")
	g.Eventually(f.namesReady(ctx, group, of), patient).Should(be(metav1.ConditionTrue, v1alpha1.ReasonNamesPublished))
	roles("dubsec", "tukpub")
	// Nobody is primary: the listener keeps its address.
	g.Expect(f.hub.Client.Get(ctx, client.ObjectKeyFromObject(group), group)).To(Succeed())
	group.Status.Primary = ""
	g.Expect(f.hub.Client.Status().Update(ctx, group)).To(Succeed())
	g.Eventually(f.namesReady(ctx, group, of), patient).Should(be(metav1.ConditionFalse, v1alpha1.ReasonNoAddress))
	g.Expect(addresses(ctx, f.tukwila, "content")()).To(ConsistOf("10.103.0.4"))
	// Deleted: its names go, the servers' stay.
	g.Expect(f.hub.Client.Delete(ctx, group)).To(Succeed())
	for _, at := range []*apiserver.Server{f.hub, f.tukwila} {
		for _, service := range []string{"content", "content-ro"} {
			g.Eventually(func() error {
				return at.Client.Get(ctx, client.ObjectKey{Namespace: "web", Name: service}, &corev1.Service{})
			}, patient).Should(MatchError(ContainSubstring("not found")))
		}
		g.Expect(at.Client.Get(ctx, client.ObjectKey{Namespace: "web", Name: "dubsec-0"}, &corev1.Service{})).To(Succeed())
	}
	for _, server := range []string{"dubsec", "dubthird"} {
		g.Expect(f.hub.Client.Delete(ctx, newServer(server, "dublin"))).To(Succeed())
	}
}

func testForeignService(t *testing.T, f *fleet) {
	g, ctx := NewWithT(t), t.Context()
	foreign := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "taken-0", Labels: map[string]string{"app": "other"}},
		Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}, Selector: map[string]string{"app": "other"}},
	}
	g.Expect(f.quincy.Client.Create(ctx, foreign)).To(Succeed())
	server := newServer("taken", "tukwila")
	g.Expect(f.hub.Client.Create(ctx, server)).To(Succeed())
	of := func() []metav1.Condition { return server.Status.Conditions }
	g.Eventually(f.namesReady(ctx, server, of), patient).Should(And(
		be(metav1.ConditionFalse, v1alpha1.ReasonNamesConflict),
		HaveField("Message", ContainSubstring("Service web/taken-0 at site quincy"))))
	g.Expect(f.quincy.Client.Get(ctx, client.ObjectKeyFromObject(foreign), foreign)).To(Succeed())
	g.Expect(foreign.Spec.Selector).To(Equal(map[string]string{"app": "other"}))
	g.Expect(foreign.Labels).To(Equal(map[string]string{"app": "other"}))
	// At the other sites the name is made; when the stranger goes, here too.
	g.Expect(f.hub.Client.Get(ctx, client.ObjectKey{Namespace: "web", Name: "taken-0"}, &corev1.Service{})).To(Succeed())
	g.Expect(f.quincy.Client.Delete(ctx, foreign)).To(Succeed())
	g.Eventually(f.namesReady(ctx, server, of), patient).Should(HaveField("Reason", v1alpha1.ReasonNoAddress))
	g.Expect(f.hub.Client.Delete(ctx, server)).To(Succeed())
}

func testKubeconfigs(t *testing.T, f *fleet) {
	g, ctx := NewWithT(t), t.Context()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: operatorNamespace, Name: "odd"}}
	odd := &v1alpha1.Site{ObjectMeta: metav1.ObjectMeta{Name: "odd"}, Spec: v1alpha1.SiteSpec{
		KubeconfigSecretRef: &v1alpha1.SecretReference{Name: "odd"}, AllowedNamespaces: []string{"web"}}}
	g.Expect(f.hub.Client.Create(ctx, odd)).To(Succeed())
	g.Eventually(f.siteReady(ctx, "odd"), patient).
		Should(And(be(metav1.ConditionFalse, v1alpha1.ReasonKubeconfigInvalid),
			HaveField("Message", ContainSubstring("the Secret does not exist"))))
	put := func(kubeconfig string) {
		t.Helper()
		secret.Data = map[string][]byte{"kubeconfig": []byte(kubeconfig)}
		if secret.ResourceVersion == "" {
			g.Expect(f.hub.Client.Create(ctx, secret)).To(Succeed())
			return
		}
		g.Expect(f.hub.Client.Update(ctx, secret)).To(Succeed())
	}
	put("{")
	g.Eventually(f.siteReady(ctx, "odd"), patient).
		Should(And(be(metav1.ConditionFalse, v1alpha1.ReasonKubeconfigInvalid),
			HaveField("Message", ContainSubstring("no kubeconfig"))))
	// Nobody listens there.
	nowhere := rest.CopyConfig(f.quincy.Config)
	nowhere.Host = "https://127.0.0.1:1"
	put(string(apiserver.Kubeconfig(nowhere)))
	g.Eventually(f.siteReady(ctx, "odd"), patient).Should(be(metav1.ConditionUnknown, v1alpha1.ReasonSiteUnreachable))
	// A server that is somebody else's.
	stranger := rest.CopyConfig(f.quincy.Config)
	stranger.CAData = f.tukwila.Config.CAData
	put(string(apiserver.Kubeconfig(stranger)))
	g.Eventually(f.siteReady(ctx, "odd"), patient).Should(HaveField("Message", ContainSubstring("certificate")))
	// A token without rights, and one that ends while it is used.
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "nobody"}}
	g.Expect(f.quincy.Client.Create(ctx, account)).To(Succeed())
	seconds := int64(600)
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &seconds}}
	g.Expect(f.quincy.Client.SubResource("token").Create(ctx, account, request)).To(Succeed())
	withToken := func(token string) string {
		cfg := rest.CopyConfig(f.quincy.Config)
		cfg.CertData, cfg.KeyData, cfg.BearerToken = nil, nil, token
		return string(apiserver.Kubeconfig(cfg))
	}
	put(withToken(request.Status.Token))
	g.Eventually(f.siteReady(ctx, "odd"), patient).
		Should(And(be(metav1.ConditionFalse, v1alpha1.ReasonCredentialsDenied),
			HaveField("Message", ContainSubstring("forbidden"))))
	g.Eventually(func() *metav1.Time {
		_ = f.hub.Client.Get(ctx, client.ObjectKeyFromObject(odd), odd)
		return odd.Status.CredentialsExpire
	}, patient).Should(HaveField("Time", BeTemporally("~", time.Now().Add(10*time.Minute), time.Minute)))
	// The account is deleted: its token ends at once, as an expired one does.
	g.Expect(f.quincy.Client.Delete(ctx, account)).To(Succeed())
	g.Eventually(f.siteReady(ctx, "odd"), patient).
		Should(And(
			be(metav1.ConditionFalse, v1alpha1.ReasonCredentialsDenied),
			HaveField(
				"Message",
				And(ContainSubstring("asked for the client to provide credentials"), ContainSubstring("site join odd")),
			),
		))
	g.Expect(f.hub.Client.Delete(ctx, odd)).To(Succeed())
}

// testNodePort lets quincy be reached by node ports and then as a flat network again.
func testNodePort(t *testing.T, f *fleet) {
	g, ctx := NewWithT(t), t.Context()
	expose := func(how v1alpha1.ExposureType) {
		var s v1alpha1.Site
		g.Expect(f.hub.Client.Get(ctx, client.ObjectKey{Name: "quincy"}, &s)).To(Succeed())
		before := client.MergeFrom(s.DeepCopy()) // an update would meet the heartbeats' writes of the status
		s.Spec.Exposure.Type = how
		g.Expect(f.hub.Client.Patch(ctx, &s, before)).To(Succeed())
	}
	expose(v1alpha1.ExposureNodePort)
	makePodOn(t, f.quincy, "quisec", "10.102.0.6", "10.100.0.21")
	g.Eventually(addresses(ctx, f.hub, "quisec-0"), patient).Should(ConsistOf("10.100.0.21"))
	var service corev1.Service
	key := client.ObjectKey{Namespace: "web", Name: "quisec-0-node"}
	g.Expect(f.quincy.Client.Get(ctx, key, &service)).To(Succeed())
	var list discoveryv1.EndpointSliceList
	g.Eventually(func() ([]discoveryv1.EndpointSlice, error) {
		err := f.hub.Client.List(
			ctx,
			&list,
			client.InNamespace("web"),
			client.MatchingLabels{discoveryv1.LabelServiceName: "quisec-0"},
		)
		return list.Items, err
	}, patient).Should(HaveLen(1), "the slice of the former way goes after the new one has come")
	for i, p := range service.Spec.Ports {
		g.Expect(p.NodePort).NotTo(BeZero())
		g.Expect(*list.Items[0].Ports[i].Port).To(Equal(p.NodePort), "the number is hidden in the slice")
	}
	expose(v1alpha1.ExposureFlatNetwork)
	g.Eventually(addresses(ctx, f.hub, "quisec-0"), patient).Should(ConsistOf("10.102.0.6"))
	g.Eventually(func() error { return f.quincy.Client.Get(ctx, key, &service) }, patient).
		Should(MatchError(ContainSubstring("not found")))
}

// testHandOver changes a Site's spec, which engages it anew, and asks for the member all the time.
func testHandOver(t *testing.T, f *fleet) {
	g, ctx := NewWithT(t), t.Context()
	var s v1alpha1.Site
	g.Expect(f.hub.Client.Get(ctx, client.ObjectKey{Name: "quincy"}, &s)).To(Succeed())
	before := client.MergeFrom(s.DeepCopy())
	s.Spec.Region = "elsewhere"
	g.Expect(f.hub.Client.Patch(ctx, &s, before)).To(Succeed())
	g.Eventually(func() string {
		member, err := f.provider.Member("quincy")
		if err != nil {
			t.Errorf("the site was unknown: %v", err)
			return "elsewhere"
		}
		return member.Site.Spec.Region
	}, patient, "1ms").Should(Equal("elsewhere"))
}

// A kubeconfig that leads to another cluster is not followed there: the Site says so, keeps what it was, and is used
// again once the kubeconfig is right. So it is with a Site that names its cluster, as a join writes it, and with one of
// which only the status knows it.
func testOtherCluster(t *testing.T, f *fleet) {
	g, ctx := NewWithT(t), t.Context()
	var site v1alpha1.Site
	key := client.ObjectKey{Name: "quincy"}
	g.Expect(f.hub.Client.Get(ctx, key, &site)).To(Succeed())
	was := site.Status.ClusterUID
	g.Expect(was).NotTo(BeEmpty())
	secret := func(name string) *corev1.Secret {
		s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: operatorNamespace, Name: name}}
		g.Expect(f.hub.Client.Get(ctx, client.ObjectKeyFromObject(s), s)).To(Succeed())
		return s
	}
	right, wrong := secret("quincy").Data, secret("tukwila").Data
	put := func(data map[string][]byte) {
		s := secret("quincy")
		s.Data = data
		g.Expect(f.hub.Client.Update(ctx, s)).To(Succeed())
	}
	for _, named := range []bool{false, true} {
		if named {
			before := client.MergeFrom(site.DeepCopy())
			site.Spec.ClusterUID = was
			g.Expect(f.hub.Client.Patch(ctx, &site, before)).To(Succeed())
			g.Eventually(f.siteReady(ctx, "quincy"), patient).Should(be(metav1.ConditionTrue, v1alpha1.ReasonSiteReady))
		}
		put(wrong)
		g.Eventually(f.siteReady(ctx, "quincy"), patient).Should(be(metav1.ConditionFalse, v1alpha1.ReasonOtherCluster))
		_, err := f.provider.Member("quincy")
		g.Expect(sites.IsUnreachable(err)).To(BeTrue(), "%v", err)
		g.Expect(f.hub.Client.Get(ctx, key, &site)).To(Succeed())
		g.Expect(site.Status.ClusterUID).To(Equal(was))
		put(right)
		g.Eventually(f.siteReady(ctx, "quincy"), patient).Should(be(metav1.ConditionTrue, v1alpha1.ReasonSiteReady))
	}
}
