// SPDX-License-Identifier: Apache-2.0

package names

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"geosql.dev/operator/api/v1alpha1"
)

// cluster is what a site has, and what becomes of it when steps are carried out.
type cluster map[string]published

// carryOut does to a cluster what apply does at a site, up to a number of steps.
func (c cluster) carryOut(steps []step, limit int) {
	for i, s := range steps {
		if i == limit {
			return
		}
		switch obj := s.object.(type) {
		case *corev1.Service:
			at := c[obj.Name]
			at.service = obj.DeepCopy()
			if s.kind == deleteObject {
				at.service = nil
			}
			c[obj.Name] = at
		case *discoveryv1.EndpointSlice:
			at := c[obj.Labels[discoveryv1.LabelServiceName]]
			at.slices = slices.DeleteFunc(slices.Clone(at.slices),
				func(e discoveryv1.EndpointSlice) bool { return e.Name == obj.Name })
			if s.kind == applyObject {
				at.slices = append(at.slices, *obj.DeepCopy())
			}
			c[obj.Labels[discoveryv1.LabelServiceName]] = at
		}
	}
}

// leads returns the addresses and TDS ports behind a name.
func (c cluster) leads(service string) []string {
	var to []string
	for _, s := range c[service].slices {
		for _, e := range s.Endpoints {
			to = append(to, fmt.Sprintf("%s:%d", e.Addresses[0], *s.Ports[0].Port))
		}
	}
	return to
}

func view(home v1alpha1.SiteName, address string) *serverView {
	return &serverView{name: "tukpub", home: home, known: true, address: address, exposure: v1alpha1.ExposureFlatNetwork}
}

var ownerLabels = ownLabels("web", v1alpha1.LabelServer, "tukpub")

func TestPlanOfAServer(t *testing.T) {
	nodePort := view("tukwila", "10.101.0.7")
	nodePort.exposure, nodePort.nodeAddress = v1alpha1.ExposureNodePort, "10.100.0.12"
	nodePort.nodePorts = map[string]int32{"tds": 31433, "mirroring": 31022, "agent": 31443}
	unassigned := view("tukwila", "10.101.0.7")
	unassigned.exposure = v1alpha1.ExposureNodePort
	unknown := view("tukwila", "")
	unknown.known = false
	for _, c := range []struct {
		name   string
		server *serverView
		at     v1alpha1.SiteName
		// before is the address that was published.
		before string
		leads  []string
		// selector says that the Service has one.
		selector bool
		services []string
	}{
		{"at home by selector", view("tukwila", "10.101.0.7"), "tukwila", "", nil, true, []string{"tukpub-0"}},
		{"elsewhere by address", view("tukwila", "10.101.0.7"), "dublin", "", []string{"10.101.0.7:1433"}, false,
			[]string{"tukpub-0"}},
		{"a new address", view("tukwila", "10.101.0.8"), "dublin", "10.101.0.7", []string{"10.101.0.8:1433"}, false,
			[]string{"tukpub-0"}},
		{"no pod: connections are refused at once", view("tukwila", ""), "dublin", "10.101.0.7", nil, false,
			[]string{"tukpub-0"}},
		{"not known: what was published stays", unknown, "dublin", "10.101.0.7", []string{"10.101.0.7:1433"}, false,
			[]string{"tukpub-0"}},
		{"by node port", nodePort, "dublin", "", []string{"10.100.0.12:31433"}, false, []string{"tukpub-0"}},
		{"by node port, at home", nodePort, "tukwila", "", nil, true, []string{"tukpub-0", "tukpub-0-node"}},
		{"node ports not assigned yet", unassigned, "dublin", "", nil, false, []string{"tukpub-0"}},
		{"an IPv6 address", view("tukwila", "fd00::7"), "dublin", "10.101.0.7", []string{"fd00::7:1433"}, false,
			[]string{"tukpub-0"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := NewWithT(t)
			has := cluster{}
			if c.before != "" {
				steps, _ := plan(c.at, serverNames("web", view("tukwila", c.before), c.at), ownerLabels, has)
				has.carryOut(steps, len(steps))
			}
			steps, conflicts := plan(c.at, serverNames("web", c.server, c.at), ownerLabels, has)
			g.Expect(conflicts).To(BeEmpty())
			for _, s := range steps {
				g.Expect(s.reason).NotTo(BeEmpty())
			}
			has.carryOut(steps, len(steps))
			g.Expect(has.leads("tukpub-0")).To(Equal(c.leads))
			g.Expect(has["tukpub-0"].service.Spec.Selector != nil).To(Equal(c.selector))
			g.Expect(slices.Sorted(maps.Keys(has))).To(Equal(c.services))
			again, _ := plan(c.at, serverNames("web", c.server, c.at), ownerLabels, has)
			g.Expect(again).To(BeEmpty(), "a second plan finds nothing to do")
		})
	}
}

func TestPlanLeavesForeignServicesAlone(t *testing.T) {
	for whose, labels := range map[string]map[string]string{
		"a stranger's":        {"app": "web"},
		"another server's":    ownLabels("web", v1alpha1.LabelServer, "other"),
		"another namespace's": ownLabels("shop", v1alpha1.LabelServer, "tukpub"),
	} {
		t.Run(whose, func(t *testing.T) {
			g := NewWithT(t)
			has := cluster{
				"tukpub-0": {
					service: &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "tukpub-0", Labels: labels}},
				},
			}
			for _, want := range [][]name{serverNames("web", view("tukwila", "10.101.0.7"), "dublin"), nil} {
				steps, conflicts := plan("dublin", want, ownerLabels, has)
				g.Expect(steps).To(BeEmpty())
				g.Expect(conflicts).To(HaveLen(len(want)))
			}
		})
	}
}

func TestPlanOfAListener(t *testing.T) {
	g := NewWithT(t)
	labels := ownLabels("web", v1alpha1.LabelGroup, "content")
	group := &groupView{namespace: "web", name: "content", listener: v1alpha1.Listener{Name: "content", Port: 1533},
		primary: view("tukwila", "10.101.0.7"), readable: []*serverView{view("quincy", "10.102.0.5")}}
	has := cluster{}
	steps, _ := plan("dublin", groupNames(group, "dublin"), labels, has)
	has.carryOut(steps, len(steps))
	g.Expect(has.leads("content")).To(Equal([]string{"10.101.0.7:1433"}))
	g.Expect(has.leads("content-ro")).To(Equal([]string{"10.102.0.5:1433"}))
	g.Expect(has["content"].service.Spec.Ports[0].Port).To(BeEquivalentTo(1533), "clients use the listener's port")

	group.primary, group.readable = nil, nil
	steps, _ = plan("dublin", groupNames(group, "dublin"), labels, has)
	has.carryOut(steps, len(steps))
	g.Expect(has.leads("content")).To(Equal([]string{"10.101.0.7:1433"}), "nobody is known to be primary")
	g.Expect(has.leads("content-ro")).To(BeEmpty())

	group.listener.Name, group.primary = "renamed", view("quincy", "10.102.0.5")
	steps, _ = plan("dublin", groupNames(group, "dublin"), labels, has)
	has.carryOut(steps, len(steps))
	g.Expect(has["content"].service).To(BeNil(), "the old name goes")
	g.Expect(has.leads("content")).To(BeEmpty())
	g.Expect(has.leads("renamed")).To(Equal([]string{"10.102.0.5:1433"}))
}

// While nobody is known to be primary, the listener keeps its last address unless that is of a pod that is no more, or
// at a silent site while another has the votes: what is sent there may vanish without a word, and a connection that
// hangs outlives the election.
func TestPlanOfAListenerWithoutAPrimary(t *testing.T) {
	silent, doubtful := view("tukwila", ""), view("tukwila", "10.101.0.7")
	silent.known, silent.silent = false, true
	doubtful.silent = true
	quisec := view("quincy", "10.102.0.5")
	quisec.name = "quisec"
	behindNodes := view("tukwila", "10.101.0.7")
	behindNodes.exposure, behindNodes.nodeAddress = v1alpha1.ExposureNodePort, "10.100.0.12"
	behindNodes.nodePorts = map[string]int32{"tds": 31433, "mirroring": 31022, "agent": 31443}
	for _, c := range []struct {
		name     string
		before   *serverView
		servers  []*serverView
		claimant v1alpha1.ServerName
		leads    []string
	}{
		{"the pod is there", view("tukwila", "10.101.0.7"),
			[]*serverView{view("tukwila", "10.101.0.7"), view("quincy", "10.102.0.5")}, "", []string{"10.101.0.7:1433"}},
		{"the pod is another one's that will be primary", view("tukwila", "10.101.0.7"),
			[]*serverView{view("tukwila", ""), view("quincy", "10.101.0.7")}, "", []string{"10.101.0.7:1433"}},
		{"the pod is no more: connections are refused at once", view("tukwila", "10.101.0.7"),
			[]*serverView{view("tukwila", ""), view("quincy", "10.102.0.5")}, "", nil},
		{"the pod has another address", view("tukwila", "10.101.0.7"),
			[]*serverView{view("tukwila", "10.101.0.8"), view("quincy", "10.102.0.5")}, "", nil},
		{"its site does not answer", view("tukwila", "10.101.0.7"), []*serverView{silent, view("quincy", "10.102.0.5")}, "",
			[]string{"10.101.0.7:1433"}},
		{"no server is known", view("tukwila", "10.101.0.7"), nil, "", []string{"10.101.0.7:1433"}},
		{"by a node's port", behindNodes, []*serverView{behindNodes}, "", []string{"10.100.0.12:31433"}},
		{"another has the votes, the site answers: a pod there refuses at once", view("tukwila", "10.101.0.7"),
			[]*serverView{view("tukwila", "10.101.0.7"), quisec}, "quisec", []string{"10.101.0.7:1433"}},
		{"another has the votes, the site has not answered lately", view("tukwila", "10.101.0.7"),
			[]*serverView{doubtful, quisec}, "quisec", nil},
		{"another has the votes, the site is silent", view("tukwila", "10.101.0.7"), []*serverView{silent, quisec}, "quisec",
			nil},
		{"it has the votes again itself", view("tukwila", "10.101.0.7"), []*serverView{doubtful, quisec}, "tukpub",
			[]string{"10.101.0.7:1433"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := NewWithT(t)
			labels := ownLabels("web", v1alpha1.LabelGroup, "content")
			group := &groupView{
				namespace: "web",
				name:      "content",
				listener:  v1alpha1.Listener{Name: "content", Port: 1433},
				primary:   c.before,
			}
			has := cluster{}
			steps, _ := plan("dublin", groupNames(group, "dublin"), labels, has)
			has.carryOut(steps, len(steps))
			group.primary, group.servers, group.claimant = nil, c.servers, c.claimant
			steps, _ = plan("dublin", groupNames(group, "dublin"), labels, has)
			has.carryOut(steps, len(steps))
			g.Expect(has.leads("content")).To(Equal(c.leads))
			again, _ := plan("dublin", groupNames(group, "dublin"), labels, has)
			g.Expect(again).To(BeEmpty(), "a second plan finds nothing to do")
			group.primary = view("quincy", "10.102.0.5")
			steps, _ = plan("dublin", groupNames(group, "dublin"), labels, has)
			has.carryOut(steps, len(steps))
			g.Expect(has.leads("content")).To(Equal([]string{"10.102.0.5:1433"}))
		})
	}
}

// A server whose copy is written to beside the group is behind no listener, whatever else is known; it is again once
// that copy is gone.
func TestNoListenerLeadsOutsideOfTheGroup(t *testing.T) {
	unknown := view("quincy", "")
	unknown.known = false
	for name, change := range map[string]func(*groupView){
		"nobody is primary": func(g *groupView) { g.primary = nil },
		"nobody is primary, and a server is unknown": func(g *groupView) {
			g.primary, g.servers = nil,
				[]*serverView{view("tukwila", "10.101.0.7"), unknown}
		},
		"it is what was primary last": func(*groupView) {},
		"it would be read as a secondary": func(g *groupView) {
			g.primary = view("quincy", "10.102.0.5")
			g.primary.name = "quisec"
			g.readable = []*serverView{view("tukwila", "10.101.0.7")}
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			labels := ownLabels("web", v1alpha1.LabelGroup, "content")
			group := &groupView{
				namespace: "web",
				name:      "content",
				listener:  v1alpha1.Listener{Name: "content", Port: 1433},
				primary:   view("tukwila", "10.101.0.7"),
			}
			has := cluster{}
			carryOut := func() {
				steps, _ := plan("dublin", groupNames(group, "dublin"), labels, has)
				has.carryOut(steps, len(steps))
			}
			carryOut()
			change(group)
			group.bar([]*serverView{view("tukwila", "10.101.0.7")})
			carryOut()
			g.Expect(append(has.leads("content"), has.leads("content-ro")...)).NotTo(ContainElement("10.101.0.7:1433"))
			again, _ := plan("dublin", groupNames(group, "dublin"), labels, has)
			g.Expect(again).To(BeEmpty(), "a second plan finds nothing to do")
			group.primary = view("tukwila", "10.101.0.7")
			group.bar(nil)
			carryOut()
			g.Expect(has.leads("content")).To(Equal([]string{"10.101.0.7:1433"}))
		})
	}
}

// What the hub tells the sites names the servers that stand outside, and the status tells that of servers.
func TestSitesAreToldWhoStandsOutside(t *testing.T) {
	g := NewWithT(t)
	group := &v1alpha1.AvailabilityGroup{}
	group.Name = "content"
	group.Spec.Replicas = []v1alpha1.Replica{{Server: "tukpub"}, {Server: "quisec"}}
	group.Status.Replicas = []v1alpha1.ReplicaStatus{
		{Server: "tukpub-0", Outside: []string{"Content"}},
		{Server: "quisec-0"},
	}
	g.Expect(namedGroup(group).Outside).To(Equal([]string{"tukpub"}))
}

// Whatever happened before and wherever the operator died, the next plan ends in the same state, and a plan that was
// carried out leaves nothing to do.
func TestPlanConverges(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		states := rapid.Custom(func(t *rapid.T) *serverView {
			v := view("tukwila", rapid.SampledFrom([]string{"", "10.101.0.7", "10.101.0.8", "fd00::7"}).Draw(t, "address"))
			switch rapid.SampledFrom([]string{"pod", "node port", "load balancer"}).Draw(t, "exposure") {
			case "node port":
				v.exposure, v.nodeAddress = v1alpha1.ExposureNodePort, "10.100.0.12"
				v.nodePorts = map[string]int32{"tds": 31433, "mirroring": 31022, "agent": 31443}
			case "load balancer":
				address := rapid.SampledFrom([]string{"192.0.2.7", "192.0.2.8", "2001:db8::7"}).Draw(t, "balancer")
				pod := v.address
				if isIPv6(pod) {
					// One of the other family is awaited: what led to the pod stays, and is history.
					address = "2001:db8::7"
				} else if isIPv6(address) {
					address = "192.0.2.7"
				}
				v = balanced(ip(address))
				v.address = pod
			}
			return v
		})
		at := rapid.SampledFrom([]v1alpha1.SiteName{"tukwila", "dublin"}).Draw(t, "at")
		has, clean := cluster{}, cluster{}
		for _, v := range rapid.SliceOfN(states, 1, 6).Draw(t, "history") {
			steps, _ := plan(at, serverNames("web", v, at), ownerLabels, has)
			has.carryOut(steps, rapid.IntRange(0, len(steps)).Draw(t, "died after"))
		}
		last := states.Draw(t, "last")
		for _, c := range []cluster{has, clean} {
			steps, _ := plan(at, serverNames("web", last, at), ownerLabels, c)
			c.carryOut(steps, len(steps))
			if again, _ := plan(at, serverNames("web", last, at), ownerLabels, c); len(again) != 0 {
				t.Fatalf("a second plan has %d steps: %s", len(again), again[0].reason)
			}
		}
		if fmt.Sprint(has.leads("tukpub-0")) != fmt.Sprint(clean.leads("tukpub-0")) {
			t.Fatalf("leads to %v, with a clean start to %v", has.leads("tukpub-0"), clean.leads("tukpub-0"))
		}
	})
}

// A node Service of an earlier release opens no port for elections: the server is reached all the same, and nobody is
// led to another port of the node.
func TestTheElectionsNodePortMayBeMissing(t *testing.T) {
	g := NewWithT(t)
	server := view("tukwila", "10.101.0.7")
	server.exposure, server.nodeAddress = v1alpha1.ExposureNodePort, "10.100.0.12"
	targets := func() map[string]int32 {
		ports := map[string]int32{}
		for _, s := range serverNames("web", server, "dublin")[0].makeSlices() {
			for _, p := range s.Ports {
				ports[*p.Name] = *p.Port
			}
		}
		return ports
	}
	server.nodePorts = map[string]int32{"tds": 31433, "mirroring": 31022, "agent": 31443}
	g.Expect(targets()).To(Equal(server.nodePorts))
	server.nodePorts = map[string]int32{"tds": 31433, "mirroring": 31022, "agent": 31443, "election": 31444}
	g.Expect(targets()).To(Equal(server.nodePorts))
	server.nodePorts = map[string]int32{"tds": 31433, "mirroring": 31022}
	g.Expect(server.reach("dublin")).To(BeEmpty(), "the others are needed")
	server.exposure = v1alpha1.ExposureFlatNetwork
	g.Expect(targets()).To(HaveKeyWithValue("election", int32(8444)))
}
