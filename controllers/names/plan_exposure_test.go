// SPDX-License-Identifier: Apache-2.0

package names

import (
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/sites"
)

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// balanced is tukpub at Tukwila behind a load balancer, of which the cloud said this.
func balanced(ingress ...corev1.LoadBalancerIngress) *serverView {
	v := view("tukwila", "10.101.0.7")
	v.exposure, v.nodeAddress = v1alpha1.ExposureLoadBalancer, "10.100.0.12"
	v.balancer = serverNames("web", v, "tukwila")[1].makeService()
	v.balancer.CreationTimestamp = metav1.NewTime(noon)
	v.balancer.Status.LoadBalancer.Ingress = ingress
	return v
}

func ip(address string) corev1.LoadBalancerIngress { return corev1.LoadBalancerIngress{IP: address} }

// said is the load balancer's hostname with what the DNS said of it at a time.
func (v *serverView) said(at time.Time, addresses ...string) *serverView {
	v.looked = &answer{addresses: addresses, at: at, silent: at}
	return v
}

// written is the server after its home has written down what was resolved.
func (v *serverView) written() *serverView {
	status := v.balancer.Status
	v.balancer = serverNames("web", v, "tukwila")[1].makeService()
	v.balancer.Status, v.looked = status, nil
	return v
}

// Another site leads to what the load balancer has, and to nothing else of it.
func TestPlanOfAServerBehindALoadBalancer(t *testing.T) {
	named := corev1.LoadBalancerIngress{Hostname: "a.elb.example.com"}
	half := ip("192.0.2.7")
	half.Ports = []corev1.PortStatus{{Port: 5022, Protocol: corev1.ProtocolTCP, Error: ptr.To("example.com/Refused")}}
	podless := balanced(ip("192.0.2.7"))
	podless.address = ""
	another := balanced(ip("192.0.2.7"))
	another.balancerSpec = &v1alpha1.LoadBalancerExposure{Class: "example.com/internal"}
	going := balanced(ip("192.0.2.7"))
	going.balancerSpec, going.balancer.DeletionTimestamp = another.balancerSpec, &metav1.Time{Time: noon}
	forgotten := balanced(named).said(noon, "192.0.2.8").written()
	forgotten.now = noon.Add(resolvedAtMost + time.Second)
	portless := balanced(ip("192.0.2.7"))
	portless.balancer.Spec.Ports = portless.balancer.Spec.Ports[:1]
	none := balanced()
	none.balancer = nil
	for name, c := range map[string]struct {
		server *serverView
		leads  []string
	}{
		"an address": {balanced(ip("192.0.2.7")), []string{"192.0.2.7:1433"}},
		"one in each zone": {balanced(ip("192.0.2.9"), ip("192.0.2.7")),
			[]string{"192.0.2.7:1433", "192.0.2.9:1433"}},
		"of the family of the pod": {balanced(ip("2001:db8::7"), ip("192.0.2.7")), []string{"192.0.2.7:1433"}},
		"of the other family":      {balanced(ip("2001:db8::7")), nil},
		"a hostname that was resolved": {balanced(named).said(noon, "192.0.2.8", "192.0.2.9").written(),
			[]string{"192.0.2.8:1433", "192.0.2.9:1433"}},
		"a hostname that was not":                        {balanced(named), nil},
		"no Service yet":                                 {none, nil},
		"no address yet":                                 {balanced(), nil},
		"a port that is not forwarded":                   {balanced(half), nil},
		"a Service that lacks ports":                     {portless, nil},
		"one of another class serves yet":                {another, []string{"192.0.2.7:1433"}},
		"one of another class that goes":                 {going, nil},
		"a hostname that nobody has confirmed for a day": {forgotten, nil},
		"an address that no slice may have":              {balanced(ip("169.254.0.7")), nil},
		"no pod":                                         {podless, nil},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			has := cluster{}
			steps, _ := plan("dublin", serverNames("web", c.server, "dublin"), ownerLabels, has)
			has.carryOut(steps, len(steps))
			g.Expect(has.leads("tukpub-0")).To(Equal(c.leads))
			for _, s := range has["tukpub-0"].slices {
				g.Expect(s.Ports).To(HaveLen(len(serverPorts)), "all ports or none")
			}
			again, _ := plan("dublin", serverNames("web", c.server, "dublin"), ownerLabels, has)
			g.Expect(again).To(BeEmpty(), "a second plan finds nothing to do")
		})
	}
}

// Where the server was reached before, it is reached until its load balancer has an address, and no longer.
func TestALoadBalancerIsAwaited(t *testing.T) {
	byNode := balanced(ip("192.0.2.7"))
	byNode.exposure = v1alpha1.ExposureNodePort
	byNode.nodePorts = map[string]int32{"tds": 31433, "mirroring": 31022, "agent": 31443, "election": 31444}
	waiting := func(change func(*serverView)) *serverView {
		v := balanced()
		v.nodePorts = byNode.nodePorts
		change(v)
		return v
	}
	back := balanced(ip("192.0.2.7"))
	back.exposure = v1alpha1.ExposureNodePort
	for name, c := range map[string]struct {
		before, now *serverView
		leads       []string
	}{
		"ports of nodes serve on": {byNode, waiting(func(*serverView) {}), []string{"10.100.0.12:31433"}},
		"also when the pod is at another node": {byNode, waiting(func(v *serverView) { v.nodeAddress = "10.100.0.13" }),
			[]string{"10.100.0.13:31433"}},
		"a flat network serves on": {view("tukwila", "10.101.0.7"), balanced(),
			[]string{"10.101.0.7:1433"}},
		"until the pod is another": {view("tukwila", "10.101.0.6"), balanced(), nil},
		"an address that was lost": {balanced(ip("192.0.2.7")), balanced(), nil},
		"another address": {balanced(ip("192.0.2.7")), balanced(ip("192.0.2.8")),
			[]string{"192.0.2.8:1433"}},
		"back to ports of nodes, which are not open yet": {balanced(ip("192.0.2.7")), back, []string{"192.0.2.7:1433"}},
		"back to ports of nodes":                         {balanced(ip("192.0.2.7")), byNode, []string{"10.100.0.12:31433"}},
		"the home is silent": {balanced(ip("192.0.2.7")), &serverView{name: "tukpub", home: "tukwila"},
			[]string{"192.0.2.7:1433"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			has, listeners := cluster{}, cluster{}
			group := &groupView{namespace: "web", name: "content", listener: v1alpha1.Listener{Name: "content", Port: 1433}}
			labels := ownLabels("web", v1alpha1.LabelGroup, "content")
			for _, v := range []*serverView{c.before, c.now} {
				steps, _ := plan("dublin", serverNames("web", v, "dublin"), ownerLabels, has)
				has.carryOut(steps, len(steps))
				group.primary, group.readable = v, []*serverView{v}
				steps, _ = plan("dublin", groupNames(group, "dublin"), labels, listeners)
				listeners.carryOut(steps, len(steps))
			}
			g.Expect(has.leads("tukpub-0")).To(Equal(c.leads))
			g.Expect(listeners.leads("content")).To(Equal(c.leads), "the listener")
			g.Expect(listeners.leads("content-ro")).To(Equal(c.leads), "its readers")
			again, _ := plan("dublin", serverNames("web", c.now, "dublin"), ownerLabels, has)
			g.Expect(again).To(BeEmpty(), "a second plan finds nothing to do")
		})
	}
}

// Where pods of two sites may have the same address, a listener that awaits a load balancer does not stay at the former
// primary for its having the address of the new one's pod.
func TestAListenerIsKeptFromTheFormerPrimary(t *testing.T) {
	g := NewWithT(t)
	was := balanced(ip("192.0.2.71"))
	was.home, was.name = "quincy", "quisec"
	is := balanced()
	group := &groupView{namespace: "web", name: "content", listener: v1alpha1.Listener{Name: "content", Port: 1433},
		primary: was, readable: []*serverView{is}, others: []*serverView{was, is}}
	has := cluster{}
	carryOut := func() {
		steps, _ := plan("quincy", groupNames(group, "quincy"), ownLabels("web", v1alpha1.LabelGroup, "content"), has)
		has.carryOut(steps, len(steps))
	}
	carryOut()
	g.Expect(has.leads("content")).To(Equal([]string{"10.101.0.7:1433"}), "the pod at the site itself")
	group.primary, group.readable = is, []*serverView{was}
	carryOut()
	g.Expect(has.leads("content")).To(BeEmpty())
	g.Expect(has.leads("content-ro")).To(Equal([]string{"10.101.0.7:1433"}))
	// And a reader's name not at the new primary.
	group.primary, group.readable = was, []*serverView{is}
	carryOut()
	g.Expect(has.leads("content-ro")).To(BeEmpty())
}

// Addresses of two families stand in a slice each.
func TestReadersOfTwoFamilies(t *testing.T) {
	g := NewWithT(t)
	old, newer := view("tukwila", "10.101.0.7"), view("quincy", "2001:db8::7")
	group := &groupView{namespace: "web", name: "content", listener: v1alpha1.Listener{Name: "content", Port: 1433},
		readable: []*serverView{newer, old}}
	has := cluster{}
	steps, _ := plan("dublin", groupNames(group, "dublin"), ownLabels("web", v1alpha1.LabelGroup, "content"), has)
	has.carryOut(steps, len(steps))
	families := map[discoveryv1.AddressType]string{}
	for _, s := range has["content-ro"].slices {
		g.Expect(s.Endpoints).To(HaveLen(1))
		families[s.AddressType] = s.Endpoints[0].Addresses[0]
	}
	g.Expect(families).To(Equal(map[discoveryv1.AddressType]string{
		discoveryv1.AddressTypeIPv4: "10.101.0.7", discoveryv1.AddressTypeIPv6: "2001:db8::7"}))
}

// The Service is as it is declared; what the cloud writes into it stays, and what is declared no more goes.
func TestTheServiceOfALoadBalancer(t *testing.T) {
	declared := &v1alpha1.LoadBalancerExposure{
		Annotations: map[string]string{"example.com/internal": "true", "example.com/pool": "wan"},
		Class:       "example.com/nlb", SourceRanges: []string{"10.102.0.0/16"},
	}
	server := balanced()
	server.balancerSpec, server.balancer = declared, nil
	made := serverNames("web", server, "tukwila")[1].makeService()
	g := NewWithT(t)
	g.Expect(made.Name).To(Equal("tukpub-0-lb"))
	g.Expect(made.Spec.Type).To(Equal(corev1.ServiceTypeLoadBalancer))
	g.Expect(made.Spec.LoadBalancerClass).To(HaveValue(Equal("example.com/nlb")))
	g.Expect(made.Spec.LoadBalancerSourceRanges).To(Equal(declared.SourceRanges))
	g.Expect(made.Spec.ExternalTrafficPolicy).To(Equal(corev1.ServiceExternalTrafficPolicyLocal))
	for name, c := range map[string]struct {
		at       func(*corev1.Service)
		declared func(*v1alpha1.LoadBalancerExposure)
		differs  bool
	}{
		"as it was made":         {},
		"annotated by the cloud": {at: func(s *corev1.Service) { s.Annotations["example.com/id"] = "lb-7" }},
		"another value of ours": {at: func(s *corev1.Service) {
			s.Annotations["example.com/pool"] = "lan"
		}, differs: true},
		"an annotation that was ours": {declared: func(d *v1alpha1.LoadBalancerExposure) {
			delete(d.Annotations, "example.com/pool")
		}, differs: true},
		"other ranges": {declared: func(d *v1alpha1.LoadBalancerExposure) {
			d.SourceRanges = nil
		}, differs: true},
		"another policy": {at: func(s *corev1.Service) {
			s.Spec.ExternalTrafficPolicy = corev1.ServiceExternalTrafficPolicyCluster
		}, differs: true},
		"ranges that somebody else changed": {at: func(s *corev1.Service) {
			s.Spec.LoadBalancerSourceRanges = []string{"0.0.0.0/0"}
		}, differs: true},
		"ranges of somebody else, where none were declared": {at: func(s *corev1.Service) {
			delete(s.Annotations, rangedKey)
			s.Spec.LoadBalancerSourceRanges = []string{"10.103.0.0/16"}
		}, declared: func(d *v1alpha1.LoadBalancerExposure) { d.SourceRanges = nil }},
		"another class, until it is made anew": {declared: func(d *v1alpha1.LoadBalancerExposure) {
			*d = v1alpha1.LoadBalancerExposure{Class: "example.com/other"}
		}},
		"a class that the cluster gave": {declared: func(d *v1alpha1.LoadBalancerExposure) { d.Class = "" }},
	} {
		t.Run(name, func(t *testing.T) {
			at, d := made.DeepCopy(), declared.DeepCopy()
			if c.at != nil {
				c.at(at)
			}
			if c.declared != nil {
				c.declared(d)
			}
			v := balanced()
			v.balancerSpec, v.balancer = d, at
			want := serverNames("web", v, "tukwila")[1]
			g := NewWithT(t)
			g.Expect(len(planService(&want, at)) > 0).To(Equal(c.differs))
			g.Expect(want.makeService().Spec.LoadBalancerClass).To(Equal(at.Spec.LoadBalancerClass),
				"Kubernetes refuses another class, and all that comes with it")
		})
	}
}

// What a hostname means is written down where the server runs, again now and then, and holds for a while when the DNS
// says nothing any more.
func TestWhatAHostnameMeans(t *testing.T) {
	const host = "a.elb.example.com"
	named := func() *serverView { return balanced(corev1.LoadBalancerIngress{Hostname: host}) }
	had := func() *serverView { return named().said(noon, "192.0.2.8").written() }
	renamed := had()
	renamed.balancer.Status.LoadBalancer.Ingress[0].Hostname = "b.elb.example.com"
	addressed := had()
	addressed.balancer.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{ip("192.0.2.7")}
	at := func(addresses ...string) func(time.Time) *resolution {
		return func(at time.Time) *resolution { return &resolution{host, addresses, at} }
	}
	old := func(time.Time) *resolution { return &resolution{host, []string{"192.0.2.8"}, noon} }
	for name, c := range map[string]struct {
		server *serverView
		after  time.Duration
		said   []string
		asked  bool
		means  func(time.Time) *resolution
		silent time.Duration
	}{
		"the first answer":                            {named(), 0, []string{"192.0.2.8"}, true, at("192.0.2.8"), 0},
		"no answer yet":                               {named(), 0, nil, true, nil, 0},
		"the DNS was not asked":                       {had(), time.Hour, nil, false, old, 0},
		"the same answer":                             {had(), time.Minute, []string{"192.0.2.8"}, true, old, 0},
		"the same answer, to be noted":                {had(), confirmEvery, []string{"192.0.2.8"}, true, at("192.0.2.8"), 0},
		"another answer":                              {had(), time.Second, []string{"192.0.2.9"}, true, at("192.0.2.9"), 0},
		"the DNS is silent":                           {had(), time.Hour, nil, true, old, resolvedValid - time.Second},
		"another process has been told":               {had(), time.Minute, nil, true, old, 4 * resolvedValid},
		"the DNS was silent too long":                 {had(), time.Hour, nil, true, nil, resolvedValid},
		"first silence after an outage of everything": {had(), 5 * time.Hour, nil, true, old, 0},
		"another name":                                {renamed, time.Second, nil, false, nil, 0},
		"addresses in its place":                      {addressed, time.Second, nil, false, nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			now := noon.Add(c.after)
			c.server.now = now
			if c.asked {
				c.server.said(now, c.said...)
				c.server.looked.silent = now.Add(-c.silent)
			}
			if c.means == nil {
				g.Expect(c.server.resolved()).To(BeNil())
				return
			}
			g.Expect(c.server.resolved()).To(Equal(c.means(now)))
		})
	}
}

// fleetOf is the server's home with these Services, and Dublin where its name leads to these addresses.
func fleetOf(v *serverView, opened []*corev1.Service, leads *serverView) Observed {
	w := Observed{Desired: tukpub(), now: noon, nodeAddress: "10.100.0.12"}
	home := &siteView{name: "tukwila", member: &sites.Member{}, has: map[string]published{}}
	for _, s := range opened {
		home.has[s.Name] = published{service: s}
	}
	dublin := cluster{}
	if leads != nil {
		steps, _ := plan("dublin", serverNames("web", leads, "dublin"), ownerLabels, dublin)
		dublin.carryOut(steps, len(steps))
	}
	away := &siteView{name: "dublin", member: &sites.Member{}, has: dublin, leads: dublin["tukpub-0"].slices}
	w.views = []*siteView{away, home}
	if v != nil {
		w.names = func(at v1alpha1.SiteName) []name { return serverNames("web", v, at) }
	}
	return w
}

// What opened a server to other sites goes once none of them leads there, or may.
func TestWhatOpenedAServerGoesLast(t *testing.T) {
	behind := balanced(ip("192.0.2.7"))
	byNode := balanced(ip("192.0.2.7"))
	byNode.exposure = v1alpha1.ExposureNodePort
	byNode.nodePorts = map[string]int32{"tds": 31433, "mirroring": 31022, "agent": 31443, "election": 31444}
	node := serverNames("web", byNode, "tukwila")[1].makeService()
	for i, p := range node.Spec.Ports {
		node.Spec.Ports[i].NodePort = byNode.nodePorts[p.Name]
	}
	another := balanced(ip("192.0.2.7"))
	another.balancerSpec = &v1alpha1.LoadBalancerExposure{Class: "example.com/internal"}
	onNode, going := balanced(ip("10.100.0.12")), balanced(ip("192.0.2.7"))
	going.balancer.DeletionTimestamp = &metav1.Time{Time: noon}
	rests := func(w Observed) Observed {
		w.suspended = true
		return w
	}
	silent := func(w Observed) Observed {
		w.views[0].member, w.views[0].err = nil, &sites.UnreachableError{Site: "dublin"}
		return w
	}
	gone := func(w Observed) Observed {
		w.views[0].member, w.views[0].err = nil, &sites.NamespaceError{Site: "dublin", Namespace: "web", Gone: true}
		return w
	}
	for name, c := range map[string]struct {
		w             Observed
		service       string
		closes, waits bool
		says          string
	}{
		"the node's ports, while a site leads there": {fleetOf(behind, []*corev1.Service{node, behind.balancer}, byNode),
			node.Name, false, true, ""},
		"the node's ports": {fleetOf(behind, []*corev1.Service{node, behind.balancer}, behind), node.Name, true, false, ""},
		"the load balancer, while a site leads there": {fleetOf(byNode, []*corev1.Service{node, behind.balancer}, behind),
			behind.balancer.Name, false, true, ""},
		"the load balancer": {fleetOf(byNode, []*corev1.Service{node, behind.balancer}, byNode), behind.balancer.Name,
			true, false, ""},
		"while a site is silent": {silent(fleetOf(byNode, []*corev1.Service{behind.balancer}, nil)), behind.balancer.Name,
			false, true, ""},
		"a site without the namespace": {gone(fleetOf(byNode, []*corev1.Service{behind.balancer}, nil)),
			behind.balancer.Name, true, false, ""},
		"a class that changed, while a site leads there": {fleetOf(another, []*corev1.Service{behind.balancer}, behind),
			behind.balancer.Name, true, false, ""},
		"a class that changed, while a site is silent": {silent(fleetOf(another, []*corev1.Service{behind.balancer}, nil)),
			behind.balancer.Name, false, true, ""},
		"a class that changed, of a server that is suspended": {rests(fleetOf(another, []*corev1.Service{behind.balancer},
			behind)), behind.balancer.Name, false, false, ""},
		"the load balancer, whose address is the node's": {fleetOf(byNode, []*corev1.Service{node, onNode.balancer}, byNode),
			behind.balancer.Name, true, false, ""},
		"a class that changed": {fleetOf(another, []*corev1.Service{behind.balancer}, nil), behind.balancer.Name,
			true, false, ""},
		"what is declared": {fleetOf(behind, []*corev1.Service{behind.balancer}, nil), behind.balancer.Name,
			false, false, ""},
		"of a server that goes, while a site leads there": {fleetOf(nil, []*corev1.Service{behind.balancer}, behind),
			behind.balancer.Name, false, true, "stays: names at dublin lead there, or may"},
		"of a server that goes, whose load balancer goes slowly": {fleetOf(nil, []*corev1.Service{going.balancer}, nil),
			behind.balancer.Name, false, true, "is being deleted"},
		"of a server that goes": {fleetOf(nil, []*corev1.Service{behind.balancer}, nil), behind.balancer.Name,
			true, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			p := planNames(c.w.Desired, c.w)
			closes := slices.ContainsFunc(p.Steps, func(s reconcile.Step) bool {
				x, ok := s.(siteStep)
				return ok && x.kind == deleteObject && x.object.GetName() == c.service
			})
			g.Expect(closes).To(Equal(c.closes))
			n := reconcile.Noted[noted](p)
			g.Expect(len(n.waits) > 0).To(Equal(c.waits))
			g.Expect(slices.ContainsFunc(p.Steps, func(s reconcile.Step) bool {
				x, ok := s.(siteStep)
				return ok && x.kind == applyObject && x.object.GetName() == "tukpub-0-lb" && c.service == "tukpub-0-lb"
			})).To(BeFalse(), "one of another class is not written over")
			if c.w.names == nil && c.waits {
				c.w.object.SetDeletionTimestamp(&metav1.Time{Time: noon})
				p := planRelease(c.w.Desired, c.w)
				g.Expect(p.Done).To(BeFalse())
				said := reconcile.Noted[noted](p).condition(c.w)
				g.Expect(said.Status).To(Equal(metav1.ConditionFalse))
				g.Expect(said.Reason).To(Equal(v1alpha1.ReasonLoadBalancerPending))
				g.Expect(said.Message).To(ContainSubstring("Service web/" + c.service + " at site tukwila " + c.says))
			}
		})
	}
}

// The condition says which Service waits, and since when, in words that stay the same while it does.
func TestWhichServiceWaits(t *testing.T) {
	none := balanced()
	none.balancer = nil
	later := noon.Add(time.Hour)
	going := balanced(ip("192.0.2.7"))
	going.balancer.DeletionTimestamp = &metav1.Time{Time: noon}
	was := func(status metav1.ConditionStatus, since time.Time) *metav1.Condition {
		return &metav1.Condition{Status: status, LastTransitionTime: metav1.NewTime(since)}
	}
	for name, c := range map[string]struct {
		server *serverView
		before *metav1.Condition
		says   string
	}{
		"there is none yet": {none, nil, "Service web/tukpub-0-lb at site tukwila does not exist yet"},
		"since it was made": {balanced(), was(metav1.ConditionFalse, noon.Add(-time.Hour)),
			"since 2026-11-30T12:00:00Z"},
		"it has lost its address": {balanced(), was(metav1.ConditionTrue, noon), "since 2026-11-30T13:00:00Z"},
		"it lost it before": {balanced(), was(metav1.ConditionFalse, noon.Add(time.Minute)),
			"since 2026-11-30T12:01:00Z"},
		"a hostname": {balanced(corev1.LoadBalancerIngress{Hostname: "a.elb.example.com"}), nil,
			"since 2026-11-30T12:00:00Z for an address behind its load balancer's hostname a.elb.example.com"},
		"it goes": {going, nil, "Service web/tukpub-0-lb at site tukwila is being deleted"},
		"one of the other family": {balanced(ip("2001:db8::7")), nil,
			"for an address of the family of its pod's (10.101.0.7): its load balancer has 2001:db8::7"},
		"it has one":     {balanced(ip("192.0.2.7")), nil, ""},
		"a node's ports": {view("tukwila", "10.101.0.7"), nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			says := c.server.awaited("web", c.before, later)
			g.Expect(says == "").To(Equal(c.says == ""))
			g.Expect(says).To(ContainSubstring(c.says))
			w := Observed{Desired: tukpub(), awaited: says}
			reason := v1alpha1.ReasonLoadBalancerPending
			if says == "" {
				reason = v1alpha1.ReasonNamesPublished
			}
			g.Expect(noted{}.condition(w).Reason).To(Equal(reason))
		})
	}
}
