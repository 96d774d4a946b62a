// SPDX-License-Identifier: Apache-2.0

//go:build integration

package names_test

import (
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"
	authenticationv1 "k8s.io/api/authentication/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/controllers/names"
	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/election/votes"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/sites"
	"geosql.dev/operator/internal/sites/join"
	"geosql.dev/operator/test/support/apiserver"
)

const (
	patient = 3 * time.Minute
	often   = 50 * time.Millisecond
	// bound is within which a pod that restarted with another address is reachable under its name again.
	bound = 5 * time.Second
	// silent is how long a site has not answered of which nothing is known.
	silent = 4 * time.Second
)

// apart is a hub, two sites joined with the rights that `site join` grants, and Quincy's own process.
type apart struct {
	hub, tukwila, quincy *apiserver.Server
	stopManager          func()
}

func newApart(t *testing.T) *apart {
	t.Helper()
	log.SetLogger(logr.Discard())
	if testing.Verbose() {
		log.SetLogger(zap.New(zap.UseDevMode(true)))
	}
	a := &apart{hub: apiserver.StartHub(t), tukwila: apiserver.StartMember(t), quincy: apiserver.StartMember(t)}
	for name, at := range map[string]*apiserver.Server{"tukwila": a.tukwila, "quincy": a.quincy} {
		// Where an API server of a busy machine does not answer within a call's time, the command is given again.
		NewWithT(t).Eventually(func() error {
			_, err := join.Join(t.Context(), join.Request{Name: name, Out: io.Discard,
				Member: &join.Cluster{
					Config: at.Config,
					Client: at.Client,
				}, Hub: join.Cluster{Config: a.hub.Config, Client: a.hub.Client},
				Spec: v1alpha1.SiteSpec{AllowedNamespaces: []string{"web"}}})
			return err
		}, patient, often).Should(Succeed())
	}
	a.stopManager = a.startManager(t)
	a.startSite(t, "quincy", a.quincy)
	return a
}

// quick are the times of a provider in tests. A site that answers must not be taken for silent since this machine is
// busy.
func quick(o sites.Options) sites.Options {
	o.Heartbeat, o.UnknownAfter, o.ProbeTimeout, o.CallTimeout = 300*time.Millisecond, silent, 3*time.Second, 5*time.Second
	return o
}

func (a *apart) startManager(t *testing.T) func() {
	t.Helper()
	g := NewWithT(t)
	provider := sites.NewProvider(quick(sites.Options{Namespace: sites.OperatorNamespace}))
	mgr := apiserver.NewManager(t, a.hub.ManagerConfig(t), provider, apiserver.HubOptions())
	g.Expect(names.SetupWithManager(mgr, provider)).To(Succeed())
	return apiserver.Run(t, mgr)
}

// asAccount is the configuration of a ServiceAccount, without the administrator's rights.
func asAccount(t *testing.T, at *apiserver.Server, namespace, name string) *rest.Config {
	t.Helper()
	token := &authenticationv1.TokenRequest{}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	NewWithT(t).Expect(at.Client.SubResource("token").Create(t.Context(), account, token)).To(Succeed())
	cfg := rest.AnonymousClientConfig(at.Config)
	cfg.BearerToken = token.Status.Token
	return cfg
}

func (a *apart) startSite(t *testing.T, name string, at *apiserver.Server) {
	t.Helper()
	g := NewWithT(t)
	cfg := asAccount(t, at, sites.OperatorNamespace, sites.SiteAccount)
	own, err := client.New(cfg, client.Options{Scheme: apiserver.Scheme})
	g.Expect(err).NotTo(HaveOccurred())
	namespaces, err := names.ReadNamespaces(t.Context(), own, sites.OperatorNamespace)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(namespaces).To(Equal([]string{"web"}))
	source := names.SiteSource{Self: v1alpha1.SiteName(name), Config: cfg, Client: own, Namespaces: namespaces}
	provider := sites.NewProvider(
		quick(source.SiteOptions(sites.Options{Namespace: sites.OperatorNamespace, Scheme: apiserver.Scheme})),
	)
	options := apiserver.HubOptions()
	options.Cache, options.Client = cache.Options{ReaderFailOnMissingInformer: true}, client.Options{}
	mgr := apiserver.NewManager(t, cfg, provider, options)
	g.Expect(names.SetupSite(mgr, provider, source.Self)).To(Succeed())
	apiserver.Run(t, mgr)
}

func declare(t *testing.T, hub *apiserver.Server, name, site string,
	change ...func(*v1alpha1.SQLServer),
) *v1alpha1.SQLServer {
	t.Helper()
	volume := &v1alpha1.Volume{Size: resource.MustParse("1Gi")}
	s := &v1alpha1.SQLServer{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: name}, Spec: v1alpha1.SQLServerSpec{
		Site: v1alpha1.SiteName(site), AcceptEULA: true, Edition: "Developer", Image: "mssql:1",
		Storage: &v1alpha1.ServerStorage{Data: volume, Log: volume, TempDB: volume, Backup: volume}}}
	for _, how := range change {
		how(s)
	}
	NewWithT(t).Expect(hub.Client.Create(t.Context(), s)).To(Succeed())
	return s
}

// place makes the server's pod at a site, in place of the one that is there.
func place(t *testing.T, at *apiserver.Server, server, address string) {
	t.Helper()
	g := NewWithT(t)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: server + "-0", Labels: map[string]string{
		v1alpha1.LabelManagedBy: v1alpha1.ManagedBy, v1alpha1.LabelServer: server, v1alpha1.LabelNamespace: "web"}},
		Spec: corev1.PodSpec{NodeName: "n", Containers: []corev1.Container{{Name: "mssql", Image: "mssql:1"}}}}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "default"}}
	g.Expect(client.IgnoreAlreadyExists(at.Client.Create(t.Context(), account))).To(Succeed())
	g.Expect(client.IgnoreNotFound(at.Client.Delete(t.Context(), pod.DeepCopy(), client.GracePeriodSeconds(0)))).
		To(Succeed())
	g.Expect(at.Client.Create(t.Context(), pod)).To(Succeed())
	pod.Status = corev1.PodStatus{Phase: corev1.PodRunning, PodIP: address, PodIPs: []corev1.PodIP{{IP: address}},
		Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}}
	g.Expect(at.Client.Status().Update(t.Context(), pod)).To(Succeed())
}

// remove takes the server's pod away at once.
func remove(t *testing.T, at *apiserver.Server, server string) {
	t.Helper()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: server + "-0"}}
	NewWithT(t).Expect(at.Client.Delete(t.Context(), pod, client.GracePeriodSeconds(0))).To(Succeed())
}

// leads is where a name leads at a site.
func leads(t *testing.T, at *apiserver.Server, service string) func() string {
	return func() string {
		if err := at.Client.Get(t.Context(), client.ObjectKey{Namespace: "web", Name: service},
			&corev1.Service{}); err != nil {
			return err.Error()
		}
		var list discoveryv1.EndpointSliceList
		if err := at.Client.List(t.Context(), &list, client.InNamespace("web"),
			client.MatchingLabels{discoveryv1.LabelServiceName: service}); err != nil {
			return err.Error()
		}
		text := ""
		for _, s := range list.Items {
			for _, e := range s.Endpoints {
				text += e.Addresses[0]
			}
		}
		return text
	}
}

// vote writes a group's vote at a voter as agents do.
func vote(t *testing.T, at *apiserver.Server, group, holder string, term int64) {
	t.Helper()
	voteAs(t, at, group, holder, term, votes.StateHeld)
}

func voteAs(t *testing.T, at *apiserver.Server, group, holder string, term int64, state votes.State) {
	t.Helper()
	g := NewWithT(t)
	lease := votes.NewLease("web", group, holder, votes.Configuration{})
	lease.Labels = map[string]string{
		v1alpha1.LabelManagedBy: v1alpha1.ManagedBy,
		v1alpha1.LabelGroup:     group,
		v1alpha1.LabelNamespace: "web",
	}
	lease.Annotations["geosql.dev/vote-state"] = string(state)
	lease.Spec.HolderIdentity, lease.Spec.LeaseTransitions = ptr.To(holder+"/pod/engine/nonce"), ptr.To(int32(term))
	var have coordinationv1.Lease
	if err := at.Client.Get(t.Context(), client.ObjectKeyFromObject(lease), &have); err == nil {
		lease.ResourceVersion = have.ResourceVersion
		g.Expect(at.Client.Update(t.Context(), lease)).To(Succeed())
		return
	}
	g.Expect(at.Client.Create(t.Context(), lease)).To(Succeed())
}

// release gives a group's vote at a voter back as an agent does that was primary.
func release(t *testing.T, at *apiserver.Server, group string) {
	t.Helper()
	g := NewWithT(t)
	var lease coordinationv1.Lease
	g.Expect(at.Client.Get(t.Context(), client.ObjectKey{Namespace: "web", Name: votes.LeaseName(group)}, &lease)).
		To(Succeed())
	lease.Annotations["geosql.dev/vote-state"] = string(votes.StateReleased)
	g.Expect(at.Client.Update(t.Context(), &lease)).To(Succeed())
}

// A site keeps the names of servers and listeners itself: what there is the hub has told it, where it is the other
// sites say. The hub's API server and its manager may both be gone.
func TestASiteWithoutTheHub(t *testing.T) {
	g := NewWithT(t)
	a := newApart(t)
	declare(t, a.hub, "tukpub", "tukwila")
	declare(t, a.hub, "quisec", "quincy")
	group := &v1alpha1.AvailabilityGroup{
		ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "content"},
		Spec: v1alpha1.AvailabilityGroupSpec{
			Replicas: []v1alpha1.Replica{{Server: "tukpub", AvailabilityMode: v1alpha1.SynchronousCommit, Readable: true},
				{Server: "quisec", AvailabilityMode: v1alpha1.SynchronousCommit, Readable: true},
				{Server: "dubcfg", AvailabilityMode: v1alpha1.ConfigurationOnly}},
			Databases: []v1alpha1.Database{{Name: "Content"}},
			Voters:    []v1alpha1.SiteName{"tukwila", "quincy", "dublin"}, InitialPrimary: "tukpub"},
	}
	g.Expect(a.hub.Client.Create(t.Context(), group)).To(Succeed())
	before := client.MergeFrom(group.DeepCopy()) // the manager writes to it, too
	group.Status.Primary = "tukpub"
	for _, site := range []string{"tukwila", "quincy", "dublin"} {
		group.Status.Voters = append(group.Status.Voters, v1alpha1.VoterStatus{Site: site, State: "Held"})
	}
	g.Expect(a.hub.Client.Status().Patch(t.Context(), group, before)).To(Succeed())
	for _, at := range []*apiserver.Server{a.tukwila, a.quincy} {
		vote(t, at, "content", "tukpub-0", 3)
	}
	place(t, a.tukwila, "tukpub", "10.101.0.7")
	place(t, a.quincy, "quisec", "10.102.0.9")
	g.Eventually(leads(t, a.quincy, "tukpub-0"), patient, often).Should(Equal("10.101.0.7"))
	g.Eventually(leads(t, a.quincy, "content"), patient, often).Should(Equal("10.101.0.7"))
	peers := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: orders.PeersObject}}
	var told corev1.ConfigMap
	g.Eventually(func(g Gomega) {
		g.Expect(a.quincy.Client.Get(t.Context(), client.ObjectKeyFromObject(peers), peers)).To(Succeed())
		g.Expect(peers.Data).To(HaveKey("site.tukwila"))
		g.Expect(a.quincy.Client.Get(t.Context(), client.ObjectKey{Namespace: "web", Name: orders.NamesObject}, &told)).
			To(Succeed())
		g.Expect(told.Data[orders.NamesKey]).
			To(And(ContainSubstring("tukpub"), ContainSubstring(`"voters":["tukwila","quincy","dublin"]`)))
	}, patient, often).Should(Succeed())
	rightsOfAPeer(t, a, peers)

	a.stopManager()
	a.hub.Wire.Cut()
	// Tukwila's credentials are taken up within sourceEvery; what comes then is followed within the bound.
	place(t, a.tukwila, "tukpub", "10.101.0.8")
	g.Eventually(leads(t, a.quincy, "tukpub-0"), patient, often).Should(Equal("10.101.0.8"))
	quickest := patient
	for i := range 3 {
		address := fmt.Sprint("10.101.1.", i)
		began := time.Now()
		place(t, a.tukwila, "tukpub", address)
		g.Eventually(leads(t, a.quincy, "tukpub-0"), patient, often).Should(Equal(address))
		g.Eventually(leads(t, a.quincy, "content"), patient, often).Should(Equal(address))
		took := time.Since(began)
		quickest = min(quickest, took)
		t.Logf("a new address was followed after %v", took.Round(time.Millisecond))
	}
	g.Expect(quickest).To(BeNumerically("<", bound), "others may have been held up by what else this machine does")

	t.Run("a name that somebody removes is made again", func(t *testing.T) {
		g := NewWithT(t)
		g.Expect(a.quincy.Client.Delete(t.Context(),
			&corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "tukpub-0"}})).
			To(Succeed())
		g.Eventually(leads(t, a.quincy, "tukpub-0"), patient, often).Should(Equal("10.101.1.2"))
	})

	t.Run("the listener follows the votes of a majority", func(t *testing.T) {
		g := NewWithT(t)
		vote(t, a.tukwila, "content", "quisec-0", 4)
		g.Consistently(leads(t, a.quincy, "content"), time.Second, often).Should(Equal("10.101.1.2"), "one vote of three")
		vote(t, a.quincy, "content", "quisec-0", 4)
		g.Eventually(leads(t, a.quincy, "content"), patient, often).Should(Equal("10.102.0.9"))
		g.Eventually(leads(t, a.quincy, "content-ro"), patient, often).
			Should(Equal("10.101.1.2"), "the former primary is read")
	})

	t.Run("between two primaries the listener leads to no pod that is gone", func(t *testing.T) {
		g := NewWithT(t)
		for _, at := range []*apiserver.Server{a.tukwila, a.quincy} {
			release(t, at, "content")
		}
		g.Consistently(leads(t, a.quincy, "content"), time.Second, often).Should(Equal("10.102.0.9"), "a pod that is there")
		remove(t, a.quincy, "quisec")
		g.Eventually(leads(t, a.quincy, "content"), patient, often).Should(BeEmpty())
		place(t, a.quincy, "quisec", "10.102.0.9")
		for _, at := range []*apiserver.Server{a.tukwila, a.quincy} {
			vote(t, at, "content", "quisec-0", 5)
		}
		g.Eventually(leads(t, a.quincy, "content"), patient, often).Should(Equal("10.102.0.9"))
	})

	t.Run("a site that is silent keeps its last address until it answers", func(t *testing.T) {
		g := NewWithT(t)
		a.tukwila.Wire.Cut()
		g.Consistently(leads(t, a.quincy, "tukpub-0"), 2*silent, often).Should(Equal("10.101.1.2"))
		a.tukwila.Wire.Mend()
		place(t, a.tukwila, "tukpub", "10.101.2.1")
		g.Eventually(leads(t, a.quincy, "tukpub-0"), patient, often).Should(Equal("10.101.2.1"))
	})

	t.Run("a listener leads to no silent site once another has the votes", func(t *testing.T) {
		g := NewWithT(t)
		for _, at := range []*apiserver.Server{a.tukwila, a.quincy} {
			vote(t, at, "content", "tukpub-0", 6)
		}
		g.Eventually(leads(t, a.quincy, "content"), patient, often).Should(Equal("10.101.2.1"))
		for _, at := range []*apiserver.Server{a.tukwila, a.quincy} {
			voteAs(t, at, "content", "quisec-0", 7, votes.StateClaimed)
		}
		g.Consistently(leads(t, a.quincy, "content"), 2*time.Second, often).
			Should(Equal("10.101.2.1"), "its site answers, and so does its pod")
		a.tukwila.Wire.Cut()
		g.Eventually(leads(t, a.quincy, "content"), patient, often).Should(BeEmpty())
		g.Expect(leads(t, a.quincy, "tukpub-0")()).To(Equal("10.101.2.1"), "a server's own name keeps it")
		a.tukwila.Wire.Mend()
		for _, at := range []*apiserver.Server{a.tukwila, a.quincy} {
			vote(t, at, "content", "quisec-0", 7)
		}
		g.Eventually(leads(t, a.quincy, "content"), patient, often).Should(Equal("10.102.0.9"))
	})

	t.Run("tokens are renewed without the hub", func(t *testing.T) {
		g := NewWithT(t)
		g.Expect(a.quincy.Client.Get(t.Context(), client.ObjectKeyFromObject(peers), peers)).To(Succeed())
		all, errs := orders.Peers(peers.Data)
		g.Expect(errs).To(BeEmpty())
		old := all["tukwila"]
		old.Issued = time.Now().Add(-6 * 24 * time.Hour)
		old.Expires = time.Now().Add(24 * time.Hour)
		value, err := old.Encode()
		g.Expect(err).NotTo(HaveOccurred())
		peers.Data["site.tukwila"] = value
		g.Expect(a.quincy.Client.Update(t.Context(), peers)).To(Succeed())
		g.Eventually(func(g Gomega) {
			g.Expect(a.quincy.Client.Get(t.Context(), client.ObjectKeyFromObject(peers), peers)).To(Succeed())
			all, _ := orders.Peers(peers.Data)
			g.Expect(all["tukwila"].Token).NotTo(Equal(old.Token))
			g.Expect(all["tukwila"].Left(time.Now())).To(BeNumerically(">", 0.9))
		}, patient, often).Should(Succeed())
		place(t, a.tukwila, "tukpub", "10.101.3.1")
		g.Eventually(leads(t, a.quincy, "tukpub-0"), patient, often).Should(Equal("10.101.3.1"))
	})

	t.Run("a hub that was made anew takes nothing away", func(t *testing.T) { testRebuilt(t, a, group) })

	t.Run("the hub is back: what is deleted goes at every site and stays away", func(t *testing.T) {
		g := NewWithT(t)
		a.hub.Wire.Mend()
		a.startManager(t)
		var s v1alpha1.SQLServer
		g.Eventually(func() error {
			return a.hub.Client.Get(t.Context(), client.ObjectKey{Namespace: "web", Name: "tukpub"}, &s)
		}, patient, often).Should(Succeed())
		g.Expect(reconcile.SetFinalizer(t.Context(), a.hub.Client, &s, v1alpha1.Finalizer, true)).To(Succeed())
		g.Expect(a.hub.Client.Delete(t.Context(), &s)).To(Succeed())
		g.Consistently(leads(t, a.quincy, "tukpub-0"), 3*time.Second, often).
			Should(Equal("10.101.3.1"), "a group may need it: its deletion waits")
		place(t, a.tukwila, "tukpub", "10.101.3.2")
		g.Eventually(leads(t, a.quincy, "tukpub-0"), patient, often).Should(Equal("10.101.3.2"), "and is followed")
		g.Eventually(func() error {
			if err := a.hub.Client.Get(t.Context(), client.ObjectKeyFromObject(&s), &s); err != nil {
				return err
			}
			return reconcile.SetFinalizer(t.Context(), a.hub.Client, &s, v1alpha1.Finalizer, false)
		}, patient, often).Should(Succeed())
		g.Eventually(func() bool {
			return apierrors.IsNotFound(a.hub.Client.Get(t.Context(), client.ObjectKeyFromObject(&s), &s))
		}, patient, often).Should(BeTrue(), "the finalizer goes")
		g.Consistently(leads(t, a.quincy, "tukpub-0"), 3*time.Second, often).Should(ContainSubstring("not found"))
	})
}

// rightsOfAPeer are to read pods, Services and Leases of the namespace, and nothing else.
func rightsOfAPeer(t *testing.T, a *apart, peers *corev1.Secret) {
	t.Helper()
	g := NewWithT(t)
	all, errs := orders.Peers(peers.Data)
	g.Expect(errs).To(BeEmpty())
	peer := all["tukwila"]
	c, err := client.New(&rest.Config{Host: peer.Server, BearerToken: peer.Token,
		TLSClientConfig: rest.TLSClientConfig{
			CAData:     peer.CA,
			ServerName: peer.TLSServerName,
		}}, client.Options{Scheme: apiserver.Scheme})
	g.Expect(err).NotTo(HaveOccurred())
	for _, list := range []client.ObjectList{&corev1.PodList{}, &corev1.ServiceList{}, &coordinationv1.LeaseList{}} {
		g.Expect(c.List(t.Context(), list, client.InNamespace("web"))).To(Succeed())
		g.Expect(apierrors.IsForbidden(c.List(t.Context(), list))).To(BeTrue(), "%T of all namespaces", list)
	}
	for _, list := range []client.ObjectList{&corev1.SecretList{}, &corev1.ConfigMapList{}} {
		g.Expect(apierrors.IsForbidden(c.List(t.Context(), list, client.InNamespace("web")))).To(BeTrue(), "%T", list)
	}
	err = c.Delete(t.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "tukpub-0"}})
	g.Expect(apierrors.IsForbidden(err)).To(BeTrue())
}
