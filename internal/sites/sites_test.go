// SPDX-License-Identifier: Apache-2.0

//go:build integration

package sites_test

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/controllers/names"
	"geosql.dev/operator/controllers/site"
	"geosql.dev/operator/internal/link"
	"geosql.dev/operator/internal/reconcile/confirmed"
	"geosql.dev/operator/internal/sites"
	"geosql.dev/operator/test/support/apiserver"
)

const operatorNamespace = "geosql-system"

// patient is long enough for a busy machine, and longer than a new manager leaves what was reported as it is.
const patient = 3 * time.Minute

// fleet is a hub with a running manager and two other clusters.
type fleet struct {
	hub, tukwila, quincy *apiserver.Server
	provider             *sites.Provider
	// heard is what agents have measured.
	heard link.Heard
}

func startFleet(t *testing.T) *fleet {
	t.Helper()
	ctrl.SetLogger(zap.New(zap.WriteTo(logWriter{t}), zap.UseDevMode(true)))
	f := &fleet{hub: apiserver.StartHub(t), tukwila: apiserver.StartMember(t), quincy: apiserver.StartMember(t)}
	f.hub.Namespace(t, operatorNamespace)
	f.provider = sites.NewProvider(sites.Options{Namespace: operatorNamespace,
		Heartbeat: 300 * time.Millisecond, UnknownAfter: 5 * time.Second, ProbeTimeout: time.Second,
		CallTimeout: 3 * time.Second, SyncTimeout: 10 * time.Second})
	mgr := apiserver.NewManager(t, f.hub.ManagerConfig(t), f.provider, apiserver.HubOptions())
	g := NewWithT(t)
	statuses, err := confirmed.NewKeeper(mgr.GetLocalManager(), operatorNamespace)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(site.SetupWithManager(mgr, f.provider, statuses, &f.heard)).To(Succeed())
	g.Expect(names.SetupWithManager(mgr, f.provider)).To(Succeed())
	apiserver.Run(t, mgr)
	return f
}

type logWriter struct{ t *testing.T }

func (w logWriter) Write(p []byte) (int, error) {
	if testing.Verbose() {
		_, _ = testOutput.Write(p)
	}
	return len(p), nil
}

// siteReady returns the condition Ready of a Site.
func (f *fleet) siteReady(ctx context.Context, name string) func() metav1.Condition {
	return func() metav1.Condition {
		var s v1alpha1.Site
		if err := f.hub.Client.Get(ctx, client.ObjectKey{Name: name}, &s); err != nil {
			return metav1.Condition{Message: err.Error()}
		}
		if c := meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionReady); c != nil {
			return *c
		}
		return metav1.Condition{}
	}
}

func (f *fleet) namesReady(
	ctx context.Context,
	obj client.Object,
	of func() []metav1.Condition,
) func() metav1.Condition {
	return func() metav1.Condition {
		if err := f.hub.Client.Get(ctx, client.ObjectKeyFromObject(obj), obj); err != nil {
			return metav1.Condition{Message: err.Error()}
		}
		if c := meta.FindStatusCondition(of(), v1alpha1.ConditionNamesReady); c != nil {
			return *c
		}
		return metav1.Condition{}
	}
}

func be(status metav1.ConditionStatus, reason string) gomegaMatcher {
	return And(HaveField("Status", status), HaveField("Reason", reason))
}

// makePod makes or remakes a server's pod with an address, as StatefulSet controller and kubelet would.
func makePod(t *testing.T, at *apiserver.Server, server, address string) {
	t.Helper()
	makePodOn(t, at, server, address, "")
}

// makePodOn is makePod on a node of that internal address.
func makePodOn(t *testing.T, at *apiserver.Server, server, address, node string) {
	t.Helper()
	g := NewWithT(t)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: server + "-0", Labels: map[string]string{
		v1alpha1.LabelManagedBy: v1alpha1.ManagedBy, v1alpha1.LabelServer: server, v1alpha1.LabelNamespace: "web"}},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "mssql", Image: "none"}}}}
	err := at.Client.Delete(t.Context(), pod.DeepCopy(), client.GracePeriodSeconds(0))
	g.Expect(client.IgnoreNotFound(err)).To(Succeed())
	g.Eventually(func() error { return at.Client.Create(t.Context(), pod) }, patient).Should(Succeed())
	pod.Status = corev1.PodStatus{Phase: corev1.PodRunning, PodIP: address, PodIPs: []corev1.PodIP{{IP: address}}}
	if node != "" {
		pod.Spec.NodeName = "n1"
		pod.Status.HostIP, pod.Status.HostIPs = node, []corev1.HostIP{{IP: node}}
	}
	g.Expect(at.Client.Status().Update(t.Context(), pod)).To(Succeed())
}

func newServer(name, siteName string) *v1alpha1.SQLServer {
	return &v1alpha1.SQLServer{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: name}, Spec: v1alpha1.SQLServerSpec{
		Site: v1alpha1.SiteName(siteName), AcceptEULA: true, Edition: "Developer", Image: "engine",
		Storage: &v1alpha1.ServerStorage{
			Data:   volume("1Gi"),
			Log:    volume("1Gi"),
			TempDB: volume("1Gi"),
			Backup: volume("1Gi"),
		}}}
}

// addresses returns what a Service's slices lead to at a cluster.
func addresses(ctx context.Context, at *apiserver.Server, service string) func() []string {
	return func() []string {
		var list discoveryv1.EndpointSliceList
		if err := at.Client.List(ctx, &list, client.InNamespace("web"),
			client.MatchingLabels{discoveryv1.LabelServiceName: service}); err != nil {
			return []string{err.Error()}
		}
		found := []string{}
		for _, s := range list.Items {
			for _, e := range s.Endpoints {
				found = append(found, e.Addresses...)
			}
		}
		return found
	}
}

// TestSites takes a fleet through what happens to sites. The steps build on each other, since API servers are
// expensive to start.
func TestSites(t *testing.T) {
	f := startFleet(t)
	ctx := t.Context()
	f.tukwila.Wire.Cut() // dead at the start
	f.tukwila.Join(t, f.hub, operatorNamespace, "tukwila", "web")
	f.hub.JoinHub(t, "dublin", "web")
	f.hub.Namespace(t, "web")

	t.Run("a site that is dead at the start holds up no other", func(t *testing.T) {
		g := NewWithT(t)
		g.Eventually(f.siteReady(ctx, "dublin"), patient).Should(be(metav1.ConditionTrue, v1alpha1.ReasonSiteReady))
		g.Eventually(f.siteReady(ctx, "tukwila"), patient).
			Should(be(metav1.ConditionUnknown, v1alpha1.ReasonSiteUnreachable))
		_, err := f.provider.Member("tukwila")
		g.Expect(sites.IsUnreachable(err)).To(BeTrue(), "%v", err)
		_, err = f.provider.Member("nowhere")
		g.Expect(err).To(MatchError(sites.ErrUnknownSite))
	})

	server := newServer("tukpub", "tukwila")
	conditionsOf := func() []metav1.Condition { return server.Status.Conditions }
	t.Run("its names are unknown, not wrong", func(t *testing.T) {
		g := NewWithT(t)
		g.Expect(f.hub.Client.Create(ctx, server)).To(Succeed())
		g.Eventually(f.namesReady(ctx, server, conditionsOf), patient).
			Should(be(metav1.ConditionUnknown, v1alpha1.ReasonNamesPartial))
	})

	t.Run("it is engaged when it answers, and names follow the pod's address", func(t *testing.T) {
		g := NewWithT(t)
		makePod(t, f.tukwila, "tukpub", "10.101.0.7")
		f.tukwila.Wire.Mend()
		g.Eventually(f.siteReady(ctx, "tukwila"), patient).Should(be(metav1.ConditionTrue, v1alpha1.ReasonSiteReady))
		g.Eventually(addresses(ctx, f.hub, "tukpub-0"), patient).Should(ConsistOf("10.101.0.7"))
		g.Eventually(f.namesReady(ctx, server, conditionsOf), patient).
			Should(be(metav1.ConditionTrue, v1alpha1.ReasonNamesPublished))
		var home corev1.Service
		g.Expect(f.tukwila.Client.Get(ctx, client.ObjectKey{Namespace: "web", Name: "tukpub-0"}, &home)).To(Succeed())
		g.Expect(home.Spec.Selector).
			To(Equal(map[string]string{v1alpha1.LabelServer: "tukpub", v1alpha1.LabelNamespace: "web"}))
		g.Expect(home.Spec.ClusterIP).NotTo(Equal("None"))
		g.Expect(home.Spec.PublishNotReadyAddresses).To(BeTrue())
		makePod(t, f.tukwila, "tukpub", "10.101.0.8")
		g.Eventually(addresses(ctx, f.hub, "tukpub-0"), patient, "50ms").Should(ConsistOf("10.101.0.8"))
	})

	t.Run("links are reported as agents measure them", func(t *testing.T) { linksAreReported(t, f) })

	t.Run("a listener follows the primary and its readers the readable secondaries", func(t *testing.T) {
		testListener(t, f)
	})

	t.Run("while a site is cut off another is added and the others go on", func(t *testing.T) {
		g := NewWithT(t)
		f.tukwila.Wire.Cut()
		g.Eventually(f.siteReady(ctx, "tukwila"), patient).
			Should(be(metav1.ConditionUnknown, v1alpha1.ReasonSiteUnreachable))
		f.quincy.Join(t, f.hub, operatorNamespace, "quincy", "web")
		g.Eventually(f.siteReady(ctx, "quincy"), patient).Should(be(metav1.ConditionTrue, v1alpha1.ReasonSiteReady))
		second := newServer("quisec", "quincy")
		g.Expect(f.hub.Client.Create(ctx, second)).To(Succeed())
		makePod(t, f.quincy, "quisec", "10.102.0.5")
		g.Eventually(addresses(ctx, f.hub, "quisec-0"), patient).Should(ConsistOf("10.102.0.5"))
		g.Expect(addresses(ctx, f.hub, "tukpub-0")()).
			To(ConsistOf("10.101.0.8"), "an address that cannot be checked stays published")
		makePod(t, f.tukwila, "tukpub", "10.101.0.9")
		f.tukwila.Wire.Mend()
		g.Eventually(addresses(ctx, f.quincy, "tukpub-0"), patient).Should(ConsistOf("10.101.0.9"))
		g.Eventually(addresses(ctx, f.tukwila, "quisec-0"), patient).Should(ConsistOf("10.102.0.5"))
	})

	t.Run("connections of before a short silence are not waited for", func(t *testing.T) {
		g := NewWithT(t)
		read := func() error {
			member, err := f.provider.Member("tukwila")
			if err != nil {
				return err
			}
			return member.APIReader.Get(ctx, client.ObjectKey{Namespace: "web", Name: "tukpub-0"}, &corev1.Pod{})
		}
		silent := func() error { h, _ := f.provider.Health("tukwila"); return h.Cause }
		g.Eventually(read, patient).Should(Succeed())
		f.tukwila.Wire.Cut()
		g.Eventually(silent, patient, "10ms").ShouldNot(Succeed())
		f.tukwila.Wire.MendForNew()
		g.Eventually(silent, patient).Should(Succeed())
		// A connection that is waited for is given up after three quarters of a minute without an answer.
		g.Eventually(read, "20s").Should(Succeed())
	})

	t.Run("a foreign Service of a server's name is reported and left alone", func(t *testing.T) {
		testForeignService(t, f)
	})
	t.Run("a site whose pods are reached by node ports", func(t *testing.T) { testNodePort(t, f) })
	t.Run("a changed Site is never unknown meanwhile", func(t *testing.T) { testHandOver(t, f) })
	t.Run("two Sites that are one cluster", func(t *testing.T) {
		g := NewWithT(t)
		f.quincy.Join(t, f.hub, operatorNamespace, "quincy-again", "web")
		g.Eventually(f.siteReady(ctx, "quincy-again"), patient).
			Should(be(metav1.ConditionFalse, v1alpha1.ReasonDuplicateCluster))
		g.Expect(f.siteReady(ctx, "quincy")()).To(be(metav1.ConditionTrue, v1alpha1.ReasonSiteReady))
		g.Expect(f.hub.Client.Delete(ctx, &v1alpha1.Site{ObjectMeta: metav1.ObjectMeta{Name: "quincy-again"}})).To(Succeed())
	})
	t.Run("another cluster that answers in a site's place", func(t *testing.T) { testOtherCluster(t, f) })
	t.Run("kubeconfigs that cannot be used", func(t *testing.T) { testKubeconfigs(t, f) })
	t.Run("a namespace that is missing, and then is there", func(t *testing.T) {
		g := NewWithT(t)
		var s v1alpha1.Site
		g.Expect(f.hub.Client.Get(ctx, client.ObjectKey{Name: "quincy"}, &s)).To(Succeed())
		before := client.MergeFrom(s.DeepCopy())
		s.Spec.AllowedNamespaces = []string{"web", "later"}
		g.Expect(f.hub.Client.Patch(ctx, &s, before)).To(Succeed())
		g.Eventually(f.siteReady(ctx, "quincy"), patient).Should(be(metav1.ConditionFalse, v1alpha1.ReasonNamespaceMissing))
		member, err := f.provider.Member("quincy")
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(member.CheckNamespace("web")).To(Succeed())
		g.Expect(member.CheckNamespace("later")).To(MatchError(ContainSubstring("does not exist there")))
		g.Expect(sites.IsNamespaceGone(member.CheckNamespace("later"))).To(BeTrue())
		g.Expect(sites.IsNamespaceGone(member.CheckNamespace("other"))).To(BeFalse(), "nobody has looked")
		g.Expect(member.CheckNamespace("other")).To(MatchError(ContainSubstring("allowed are web, later")))
		f.quincy.Namespace(t, "later")
		g.Eventually(f.siteReady(ctx, "quincy"), patient).Should(be(metav1.ConditionTrue, v1alpha1.ReasonSiteReady))
	})
	t.Run("a Site with servers is not removed until they are gone, and takes their names along", func(t *testing.T) {
		g := NewWithT(t)
		quincy := &v1alpha1.Site{ObjectMeta: metav1.ObjectMeta{Name: "quincy"}}
		g.Expect(f.hub.Client.Delete(ctx, quincy)).To(Succeed())
		g.Eventually(f.siteReady(ctx, "quincy"), patient).Should(be(metav1.ConditionFalse, v1alpha1.ReasonDeleting))
		g.Expect(f.hub.Client.Delete(ctx, newServer("quisec", "quincy"))).To(Succeed())
		g.Eventually(func() bool {
			return apierrors.IsNotFound(f.hub.Client.Get(ctx, client.ObjectKeyFromObject(quincy), quincy))
		}, patient).Should(BeTrue())
		for _, at := range []*apiserver.Server{f.hub, f.tukwila, f.quincy} {
			var gone corev1.Service
			g.Expect(apierrors.IsNotFound(at.Client.Get(ctx, client.ObjectKey{Namespace: "web", Name: "quisec-0"}, &gone))).
				To(BeTrue(), at.String())
		}
		g.Eventually(func() error { _, err := f.provider.Member("quincy"); return err }, patient).
			Should(MatchError(sites.ErrUnknownSite))
	})
	t.Run("a site declared lost releases what waits for it", func(t *testing.T) {
		g := NewWithT(t)
		f.tukwila.Wire.Cut()
		g.Eventually(f.siteReady(ctx, "tukwila"), patient).
			Should(be(metav1.ConditionUnknown, v1alpha1.ReasonSiteUnreachable))
		g.Expect(f.hub.Client.Delete(ctx, newServer("tukpub", "tukwila"))).To(Succeed())
		key := client.ObjectKey{Namespace: "web", Name: "tukpub"}
		g.Consistently(func() error { return f.hub.Client.Get(ctx, key, &v1alpha1.SQLServer{}) }, "2s", "200ms").
			Should(Succeed())
		var s v1alpha1.Site
		g.Expect(f.hub.Client.Get(ctx, client.ObjectKey{Name: "tukwila"}, &s)).To(Succeed())
		before := client.MergeFrom(s.DeepCopy())
		s.Spec.Lifecycle = v1alpha1.SiteLost
		g.Expect(f.hub.Client.Patch(ctx, &s, before)).To(Succeed())
		g.Eventually(f.siteReady(ctx, "tukwila"), patient).Should(be(metav1.ConditionFalse, v1alpha1.ReasonSiteLost))
		g.Eventually(func() bool {
			return apierrors.IsNotFound(f.hub.Client.Get(ctx, key, &v1alpha1.SQLServer{}))
		}, patient).Should(BeTrue())
		_, err := f.provider.Member("tukwila")
		g.Expect(err).To(MatchError(sites.ErrSiteLost))
	})
}
