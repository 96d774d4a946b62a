// SPDX-License-Identifier: Apache-2.0

package sqlserver

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/reconcile"
)

// place is a Site with its ranges; the hub is dublin.
func place(name string, ranges ...string) v1alpha1.Site {
	s := v1alpha1.Site{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.SiteSpec{SourceRanges: ranges}}
	if name != "dublin" {
		s.Spec.KubeconfigSecretRef = &v1alpha1.SecretReference{Name: name}
	}
	return s
}

func at(name string, site v1alpha1.SiteName) v1alpha1.SQLServer {
	return v1alpha1.SQLServer{
		ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: name}, Spec: v1alpha1.SQLServerSpec{Site: site}}
}

// world is a group over three sites; a distributor in tukwila feeds a subscriber in dublin from it.
func world() Surroundings {
	return Surroundings{
		Groups: []v1alpha1.AvailabilityGroup{groupOf("tuk", "tukpub", "tukrep", "quipub")},
		Servers: []v1alpha1.SQLServer{at("tukpub", "tukwila"), at("tukrep", "tukwila"), at("quipub", "quincy"),
			at("tukdist", "tukwila"), at("dubsub", "dublin"), at("other", "dublin")},
		Sites: []v1alpha1.Site{place("tukwila", "10.101.0.0/16"), place("quincy", "10.102.0.0/16"),
			place("dublin", "10.103.0.0/16")},
		Distributors: []v1alpha1.Distributor{{ObjectMeta: metav1.ObjectMeta{Name: "dist"},
			Spec: v1alpha1.DistributorSpec{Server: "tukdist"}}},
		Publications: []v1alpha1.Publication{{ObjectMeta: metav1.ObjectMeta{Name: "pub"}, Spec: v1alpha1.PublicationSpec{
			Distributor: "dist", Publisher: v1alpha1.ServerOrGroup{AvailabilityGroup: "tuk"}}}},
		Subscriptions: []v1alpha1.Subscription{{ObjectMeta: metav1.ObjectMeta{Name: "sub"}, Spec: v1alpha1.SubscriptionSpec{
			Publication: "pub", Subscriber: v1alpha1.ServerOrGroup{Server: "dubsub"}}}},
	}
}

// pod is who knocks: its namespace and labels in tukwila's cluster, or an address from elsewhere.
type knock struct {
	namespace string
	labels    map[string]string
	range_    string
}

func (k knock) passes(t *testing.T, rules []networkingv1.NetworkPolicyIngressRule, port int32) bool {
	t.Helper()
	for _, r := range rules {
		for _, p := range r.Ports {
			if p.Port.IntVal != port || *p.Protocol != corev1.ProtocolTCP {
				continue
			}
			if len(r.From) == 0 {
				return true
			}
			for _, from := range r.From {
				if from.IPBlock != nil {
					if from.IPBlock.CIDR == k.range_ {
						return true
					}
					continue
				}
				if k.range_ == "" && k.selected(t, from) {
					return true
				}
			}
		}
	}
	return false
}

func (k knock) selected(t *testing.T, from networkingv1.NetworkPolicyPeer) bool {
	t.Helper()
	matches := func(selector *metav1.LabelSelector, has map[string]string) bool {
		s, err := metav1.LabelSelectorAsSelector(selector)
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		return s.Matches(labels.Set(has))
	}
	if from.NamespaceSelector == nil {
		if k.namespace != "web" {
			return false
		}
	} else if !matches(from.NamespaceSelector, map[string]string{corev1.LabelMetadataName: k.namespace}) {
		return false
	}
	return from.PodSelector == nil || matches(from.PodSelector, k.labels)
}

var (
	stranger = knock{namespace: "shop", labels: map[string]string{"app": "shop"}}
	same     = knock{namespace: "web", labels: map[string]string{"app": "shop"}}
	tukwila  = knock{range_: "10.101.0.0/16"}
	quincy   = knock{range_: "10.102.0.0/16"}
	dublin   = knock{range_: "10.103.0.0/16"}
	drill    = knock{namespace: "web", labels: map[string]string{v1alpha1.LabelDrill: "monday"}}
	manager  = knock{namespace: "geosql-system", labels: map[string]string{labelName: managerName}}
)

func ofServer(name string) knock {
	return knock{namespace: "web", labels: map[string]string{
		v1alpha1.LabelServer: name, v1alpha1.LabelNamespace: "web", v1alpha1.LabelManagedBy: v1alpha1.ManagedBy}}
}

func TestWhoMayConnectToAServer(t *testing.T) {
	type way struct {
		who  knock
		port int32
	}
	clients := func(s *v1alpha1.SQLServer) {
		s.Spec.Network = &v1alpha1.ServerNetwork{Clients: []v1alpha1.NetworkClient{
			{NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: "shop"}}},
			{CIDR: "192.168.7.0/24"},
		}, Scrapers: []v1alpha1.NetworkClient{
			{NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: "monitoring"}}}}}
	}
	for _, tc := range []struct {
		name   string
		change func(s *v1alpha1.SQLServer, around *Surroundings)
		in     []way
		out    []way
		gaps   []string
	}{
		{
			name: "peers at both sites, and the manager in the hub",
			in: []way{{ofServer("tukrep"), 5022}, {quincy, 5022}, {ofServer("tukrep"), 8443}, {quincy, 8443}, {dublin, 8443},
				{ofServer("tukdist"), 8443}, {ofServer("tukpub"), 8443}, {stranger, 1433}, {dublin, 1433},
				{ofServer("tukrep"), 8444}, {quincy, 8444}},
			out: []way{{stranger, 5022}, {same, 5022}, {ofServer("tukdist"), 5022}, {dublin, 5022}, {stranger, 8443},
				{same, 8443}, {drill, 8443}, {drill, 5022}, {stranger, 8444}, {ofServer("tukdist"), 8444}, {dublin, 8444}},
		},
		{
			name: "a distributor replicates and mirrors nothing",
			change: func(s *v1alpha1.SQLServer, _ *Surroundings) {
				s.Name = "tukdist"
			},
			in:  []way{{ofServer("tukpub"), 8443}, {quincy, 8443}, {dublin, 8443}},
			out: []way{{ofServer("tukpub"), 5022}, {quincy, 5022}, {dublin, 5022}, {stranger, 8443}, {ofServer("tukpub"), 8444}},
		},
		{
			name: "a server that nobody names is open to the manager alone",
			change: func(s *v1alpha1.SQLServer, around *Surroundings) {
				s.Name, s.Spec.Site = "other", "dublin"
				around.Publications = nil
			},
			in:  []way{{manager, 8443}, {stranger, 1433}},
			out: []way{{stranger, 8443}, {quincy, 8443}, {stranger, 5022}, {ofServer("dubsub"), 8443}},
		},
		{
			name: "to a server that keeps a store every other one of the namespace sends backups, to its sidecar alone",
			change: func(s *v1alpha1.SQLServer, around *Surroundings) {
				clients(s)
				s.Name, s.Spec.Site, s.Spec.Network.Scrapers = "other", "dublin", nil
				around.Publications = nil
				around.Stores = []v1alpha1.BackupStore{{Spec: v1alpha1.BackupStoreSpec{
					Volume: &v1alpha1.ServerVolume{Server: "other"}}}}
			},
			in:  []way{{tukwila, 8443}, {quincy, 8443}, {ofServer("dubsub"), 8443}},
			out: []way{{tukwila, 1433}, {quincy, 5022}, {ofServer("dubsub"), 1433}, {same, 8443}, {stranger, 8443}},
		},
		{
			name:   "clients shut out others",
			change: func(s *v1alpha1.SQLServer, _ *Surroundings) { clients(s) },
			in: []way{{stranger, 1433}, {knock{range_: "192.168.7.0/24"}, 1433}, {ofServer("tukdist"), 1433},
				{quincy, 1433}, {dublin, 1433}, {drill, 1433}, {ofServer("tukpub"), 1433},
				{knock{namespace: "monitoring"}, 8443}},
			out: []way{{knock{namespace: "monitoring"}, 1433}, {same, 1433}, {knock{namespace: "kube-system"}, 1433},
				{stranger, 5022}, {stranger, 8443},
				{knock{range_: "192.168.7.0/24"}, 5022}},
		},
		{
			name: "a partner's site without ranges leaves open what it needs, and says so",
			change: func(s *v1alpha1.SQLServer, around *Surroundings) {
				clients(s)
				around.Sites[1].Spec.SourceRanges = nil
			},
			in: []way{{quincy, 5022}, {quincy, 8443}, {quincy, 8444}, {quincy, 1433}, {stranger, 5022}},
			gaps: []string{"1433 (clients): sourceRanges of Site quincy",
				"5022 (mirroring endpoint): sourceRanges of Site quincy",
				"8443 (agent): sourceRanges of Site quincy",
				"8444 (elections): sourceRanges of Site quincy"},
		},
		{
			name: "a publisher that its distributor names has no publication yet",
			change: func(s *v1alpha1.SQLServer, around *Surroundings) {
				s.Name, s.Spec.Site = "tukdist", "tukwila"
				around.Publications = nil
				around.Distributors[0].Spec.Publishers = []v1alpha1.ServerOrGroup{{AvailabilityGroup: "tuk"}, {Server: "dubsub"}}
				clients(s)
			},
			in: []way{{ofServer("tukpub"), 1433}, {quincy, 1433}, {dublin, 1433}},
		},
		{
			name: "publishers do not replicate with each other",
			change: func(s *v1alpha1.SQLServer, around *Surroundings) {
				s.Name, s.Spec.Site = "other", "dublin"
				around.Publications = nil
				around.Distributors[0].Spec.Publishers = []v1alpha1.ServerOrGroup{{AvailabilityGroup: "tuk"}, {Server: "other"}}
				clients(s)
			},
			in:  []way{{tukwila, 1433}},
			out: []way{{quincy, 1433}},
		},
		{
			name: "a publication moves, whose subscription has ended",
			change: func(s *v1alpha1.SQLServer, around *Surroundings) {
				s.Name, s.Spec.Site = "dubsub", "dublin"
				around.Subscriptions = nil
				around.Moves = []v1alpha1.PublisherMove{{Spec: v1alpha1.PublisherMoveSpec{Publication: "pub", To: "dubsub"}}}
				clients(s)
			},
			in: []way{{tukwila, 1433}, {quincy, 1433}},
		},
		{
			name: "a publication moves to another distributor",
			change: func(s *v1alpha1.SQLServer, around *Surroundings) {
				s.Name, s.Spec.Site = "quidist", "quincy"
				around.Servers = append(around.Servers, at("quidist", "quincy"))
				around.Distributors = append(around.Distributors, v1alpha1.Distributor{
					ObjectMeta: metav1.ObjectMeta{Name: "next"}, Spec: v1alpha1.DistributorSpec{Server: "quidist",
						Publishers: []v1alpha1.ServerOrGroup{{Server: "quidist"}}}})
				around.Moves = []v1alpha1.PublisherMove{{Spec: v1alpha1.PublisherMoveSpec{Publication: "pub", To: "dubsub",
					Distributor: "next"}}}
				clients(s)
			},
			in: []way{{tukwila, 1433}, {dublin, 1433}},
		},
		{
			name: "a move that is over counts no more",
			change: func(s *v1alpha1.SQLServer, around *Surroundings) {
				s.Name, s.Spec.Site = "dubsub", "dublin"
				around.Subscriptions = nil
				around.Moves = []v1alpha1.PublisherMove{{Spec: v1alpha1.PublisherMoveSpec{Publication: "pub", To: "dubsub"},
					Status: v1alpha1.PublisherMoveStatus{Phase: v1alpha1.MoveCompleted}}}
				clients(s)
			},
			out: []way{{tukwila, 1433}, {quincy, 1433}},
		},
		{
			name: "a hub that is no Site leaves the agent open",
			change: func(_ *v1alpha1.SQLServer, around *Surroundings) {
				around.Sites = around.Sites[:2]
				around.Subscriptions = nil
			},
			in:   []way{{dublin, 8443}},
			out:  []way{{dublin, 5022}},
			gaps: []string{"8443 (agent): a Site that is the hub, with sourceRanges"},
		},
		{
			name: "a partner that is not declared yet may be anywhere",
			change: func(_ *v1alpha1.SQLServer, around *Surroundings) {
				around.Groups[0] = groupOf("tuk", "tukpub", "tukrep", "later")
			},
			in: []way{{quincy, 5022}},
			gaps: []string{"5022 (mirroring endpoint): the SQLServer later, a peer",
				"8443 (agent): the SQLServer later, a peer",
				"8444 (elections): the SQLServer later, a peer"},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g := NewWithT(t)
			s, around := server(), world()
			if tc.change != nil {
				tc.change(s, &around)
			}
			d := declared(s, around)
			d.Network.Manager = "geosql-system"
			rules, gaps := ingress(d, Observed{})
			for _, w := range tc.in {
				g.Expect(w.who.passes(t, rules, w.port)).To(BeTrue(), "%+v to %d", w.who, w.port)
			}
			for _, w := range tc.out {
				g.Expect(w.who.passes(t, rules, w.port)).To(BeFalse(), "%+v to %d", w.who, w.port)
			}
			var said []string
			for _, gap := range gaps {
				said = append(said, gap.port+": "+strings.Join(gap.missing, ", "))
			}
			g.Expect(said).To(Equal(tc.gaps))
		})
	}
}

// running is a server of the world above that runs.
func running(t *testing.T, change func(*v1alpha1.SQLServer)) *environ {
	t.Helper()
	s := server()
	if change != nil {
		change(s)
	}
	e := newEnviron(t, declared(s, world()))
	p, _ := e.settle(t, 100)
	NewWithT(t).Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonRunning), "%+v", p.Outcome)
	return e
}

func described(p reconcile.Plan) (steps []string) {
	for _, s := range p.All() {
		steps = append(steps, s.Describe())
	}
	return steps
}

// A new server's policy is there before its pod, and a release that brings policies changes nothing at a server that an
// earlier one began.
func TestNewServersHaveAPolicyAndFormerOnesKeepNone(t *testing.T) {
	g := NewWithT(t)
	e := newEnviron(t, declared(server(), world()))
	_, done := e.settle(t, 1)
	policy, set := -1, -1
	for i, step := range done {
		if strings.HasPrefix(step, "apply NetworkPolicy tukpub") && policy < 0 {
			policy = i
		}
		if strings.HasPrefix(step, "apply StatefulSet") && set < 0 {
			set = i
		}
	}
	g.Expect(policy).To(And(BeNumerically(">=", 0), BeNumerically("<", set)), "%q", done)
	g.Expect(networkCondition(e.d, e.o, nil).Reason).To(Equal(v1alpha1.ReasonPeersOnly))

	// Of an earlier release: nothing says how it was begun, and it has no policy.
	e.o.Policy = nil
	delete(e.o.StatefulSet.Annotations, annotationNetwork)
	e.o.StatefulSet = stamp(statefulSet(e.d, e.o, must(decide(e.d, e.o))))
	g.Expect(e.o.StatefulSet.Annotations).NotTo(HaveKey(annotationNetwork))
	g.Expect(described(plan(e.d, e.o))).To(BeEmpty())
	g.Expect(networkCondition(e.d, e.o, nil).Reason).To(Equal(v1alpha1.ReasonNotManaged))

	// Its pod is what counts, should its StatefulSet be made again around it.
	e.o.StatefulSet = nil
	g.Expect(policyMode(e.d, e.o)).To(Equal(v1alpha1.NetworkPolicyNone))
	e.o.Pod = nil
	g.Expect(policyMode(e.d, e.o)).To(Equal(v1alpha1.NetworkPolicyManaged))
}

func TestAPersonsWordAboutThePolicyCounts(t *testing.T) {
	g := NewWithT(t)
	e := running(t, func(s *v1alpha1.SQLServer) {
		s.Spec.Network = &v1alpha1.ServerNetwork{NetworkPolicy: v1alpha1.NetworkPolicyNone}
	})
	g.Expect(e.o.Policy).To(BeNil())
	c := networkCondition(e.d, e.o, nil)
	g.Expect([]string{string(c.Status), c.Reason}).To(Equal([]string{"False", v1alpha1.ReasonNotManaged}))

	pod := e.o.Pod.UID
	e.d.Server.Spec.Network.NetworkPolicy = v1alpha1.NetworkPolicyManaged
	_, done := e.settle(t, 100)
	g.Expect(done).To(ContainElement(HavePrefix("apply NetworkPolicy tukpub")))
	g.Expect(e.o.Pod.UID).To(Equal(pod), "no pod is restarted for it")
	g.Expect(networkCondition(e.d, e.o, nil).Status).To(Equal(metav1.ConditionTrue))

	e.d.Server.Spec.Network.NetworkPolicy = v1alpha1.NetworkPolicyNone
	_, done = e.settle(t, 1)
	g.Expect(done).To(ContainElement("delete NetworkPolicy tukpub: networkPolicy is None"))
	g.Expect(e.o.StatefulSet.Annotations).NotTo(HaveKey(annotationNetwork))
	g.Expect(e.o.Pod.UID).To(Equal(pod))
}

// What opens comes at once; what closes waits until the engine says that it trusts nobody else.
func TestThePolicyOpensBeforeItCloses(t *testing.T) {
	g := NewWithT(t)
	e := running(t, nil)
	newcomer := knock{range_: "10.104.0.0/16"}
	around := world()
	around.Groups[0] = groupOf("tuk", "tukpub", "tukrep", "fargo")
	around.Servers = append(around.Servers, at("fargo", "fargo"))
	around.Sites = append(around.Sites, place("fargo", "10.104.0.0/16"))
	around.Publications = nil
	e.d = declared(server(), around)
	login := credentials.PartnerLogin("quipub")
	e.o.Engine.Logins[login] = mssql.Login{SID: credentials.SID("web", login)}
	e.o.Engine.Partners = reconcile.Asked(mssql.Partners{Hosts: []string{"quipub-0"}}, nil)

	e.o.Engine.Err = &mssql.Error{Class: mssql.Unreachable}
	p := plan(e.d, e.o)
	g.Expect(described(p)).To(ContainElement(HavePrefix("apply NetworkPolicy tukpub")), "an engine is not asked first")
	_, _ = e.settle(t, 100)
	g.Expect(newcomer.passes(t, e.o.Policy.Spec.Ingress, mirroringPort)).To(BeTrue())
	g.Expect(quincy.passes(t, e.o.Policy.Spec.Ingress, mirroringPort)).To(BeTrue(), "nobody knows whether it is one yet")

	e.o.Engine.Err = nil
	_, _ = e.settle(t, 100)
	g.Expect(quincy.passes(t, e.o.Policy.Spec.Ingress, mirroringPort)).To(BeTrue(), "the engine trusts it yet")
	g.Expect(dublin.passes(t, e.o.Policy.Spec.Ingress, mirroringPort)).To(BeFalse())

	delete(e.o.Engine.Logins, login)
	_, done := e.settle(t, 100)
	g.Expect(done).NotTo(BeEmpty())
	g.Expect(quincy.passes(t, e.o.Policy.Spec.Ingress, mirroringPort)).To(BeFalse())
	g.Expect(newcomer.passes(t, e.o.Policy.Spec.Ingress, mirroringPort)).To(BeTrue())
	g.Expect(networkCondition(e.d, e.o, nil).Reason).To(Equal(v1alpha1.ReasonPeersOnly))
}

// A policy that comes to a server which runs would shut out partners that no object names any more: the engine is asked
// first.
func TestTheFirstPolicyWaitsForTheEngine(t *testing.T) {
	g := NewWithT(t)
	e := running(t, nil)
	e.o.Policy = nil
	around := world()
	around.Groups, around.Publications = nil, nil
	e.d = declared(server(), around)
	login := credentials.PartnerLogin("quipub")
	e.o.Engine.Logins[login] = mssql.Login{SID: credentials.SID("web", login)}
	e.o.Engine.Groups = []string{"kept"}
	answering := e.o.Engine
	e.o.Engine = Engine{Asked: true, Err: &mssql.Error{Class: mssql.Unreachable}}
	g.Expect(described(plan(e.d, e.o))).NotTo(ContainElement(ContainSubstring("NetworkPolicy")))
	g.Expect(networkCondition(e.d, e.o, nil).Reason).To(Equal(v1alpha1.ReasonPolicyPending))

	e.o.Engine = answering
	_, done := e.settle(t, 100)
	g.Expect(done).To(ContainElement(HavePrefix("apply NetworkPolicy tukpub")))
	g.Expect(quincy.passes(t, e.o.Policy.Spec.Ingress, mirroringPort)).To(BeTrue(), "the group that it hosts goes on")
	g.Expect(stranger.passes(t, e.o.Policy.Spec.Ingress, mirroringPort)).To(BeFalse())
}

func TestSomebodyElsesPolicyIsLeftAlone(t *testing.T) {
	g := NewWithT(t)
	e := running(t, nil)
	e.o.Policy.Labels = map[string]string{"app": "web"}
	p := plan(e.d, e.o)
	g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonObjectConflict))
	g.Expect(p.Outcome.Message).To(ContainSubstring("NetworkPolicy tukpub"))
	g.Expect(described(p)).To(BeEmpty())

	e.d.Server.Spec.Network = &v1alpha1.ServerNetwork{NetworkPolicy: v1alpha1.NetworkPolicyNone}
	g.Expect(described(plan(e.d, e.o))).NotTo(ContainElement(HavePrefix("delete NetworkPolicy")))
}

func TestCredentialsOfAnEarlierReleaseAreTold(t *testing.T) {
	g := NewWithT(t)
	e := running(t, nil)
	e.o.Policy, e.o.PolicyDenied = nil, true
	g.Expect(described(plan(e.d, e.o))).To(BeEmpty())
	g.Expect(networkCondition(e.d, e.o, nil).Message).To(ContainSubstring("geosql site join tukwila"))
}

// A policy that the site's API server does not take is told, and holds up nothing.
func TestAPolicyThatCannotBeWrittenIsTold(t *testing.T) {
	g := NewWithT(t)
	e := running(t, nil)
	e.o.Policy = nil
	p := plan(e.d, e.o)
	g.Expect(p.Steps).To(BeEmpty())
	g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonRunning))
	failed := fmt.Errorf("apply NetworkPolicy tukpub: %w", asUnwritten(errors.New("exceeded quota")))
	c := networkCondition(e.d, e.o, &reconcile.AsideFailed{Err: failed})
	g.Expect(c.Reason).To(Equal(v1alpha1.ReasonPolicyPending))
	g.Expect(c.Message).To(ContainSubstring("exceeded quota"))
}

// What anybody changes by hand is put back.
func TestAPolicyThatSomebodyChangedIsPutBack(t *testing.T) {
	g := NewWithT(t)
	e := running(t, nil)
	e.o.Policy.Spec.Ingress = append(e.o.Policy.Spec.Ingress, networkingv1.NetworkPolicyIngressRule{})
	_, done := e.settle(t, 100)
	g.Expect(done).To(ContainElement(HavePrefix("apply NetworkPolicy tukpub")))
	g.Expect(e.o.Policy.Spec.Ingress).To(HaveLen(4))
}
