// SPDX-License-Identifier: Apache-2.0

package fault_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/drill"
	"geosql.dev/operator/internal/drill/fault"
)

// world is three servers at three sites; Tukwila has the primary.
func world() fault.World {
	server := func(name v1alpha1.ServerName, site v1alpha1.SiteName, address string, services ...string) fault.Server {
		return fault.Server{Name: name, Site: site, Addresses: []string{address},
			Services: map[v1alpha1.SiteName]string{"tukwila": services[0], "quincy": services[1], "dublin": services[2]}}
	}
	site := func(api, local, client string) fault.Site {
		return fault.Site{
			APIServers: []string{api + ":6443"},
			LocalAPI:   []string{local},
			Clients:    []fault.Client{{Pod: "d-clients", Address: client}},
		}
	}
	return fault.World{
		Namespace: "web", Drill: "d", RunID: "7", Group: "content",
		Servers: map[v1alpha1.ServerName]fault.Server{
			"tukpub": server("tukpub", "tukwila", "10.1.0.1", "10.11.0.1", "10.12.0.1", "10.13.0.1"),
			"quisec": server("quisec", "quincy", "10.2.0.1", "10.11.0.2", "10.12.0.2", "10.13.0.2"),
			"dubcfg": server("dubcfg", "dublin", "10.3.0.1", "10.11.0.3", "10.12.0.3", "10.13.0.3"),
		},
		Sites: map[v1alpha1.SiteName]fault.Site{
			"tukwila": site(
				"172.18.0.1",
				"10.11.0.100",
				"10.1.0.9",
			), "quincy": site("172.18.0.2", "10.12.0.100", "10.2.0.9"), "dublin": site("172.18.0.3", "10.13.0.100", "10.3.0.9"),
		},
		Roles: map[v1alpha1.FaultRole]v1alpha1.ServerName{v1alpha1.RolePrimary: "tukpub", v1alpha1.RoleSecondary: "quisec"},
	}
}

func lasting(d time.Duration) *metav1.Duration { return &metav1.Duration{Duration: d} }

func role(r v1alpha1.FaultRole) *v1alpha1.FaultPlace { return &v1alpha1.FaultPlace{Role: r} }

func one(f v1alpha1.DrillFault) drill.Occurrence {
	f.Name = "f"
	return drill.Expand([]v1alpha1.DrillFault{f})[0]
}

func field(o fault.Object, path ...string) any {
	v, _, _ := unstructured.NestedFieldNoCopy(o.Object, append([]string{"spec"}, path...)...)
	return v
}

// A link's fault names a server by its ClusterIP at the site of the pod that sends, and by its pod's own address: a
// packet has either. What a place receives is delayed where it is sent.
func TestLatencyOnALinkNamesBothAddresses(t *testing.T) {
	g := NewWithT(t)
	r, err := fault.Resolve(
		world(),
		one(
			v1alpha1.DrillFault{
				Kind:     v1alpha1.FaultNetwork,
				Duration: lasting(20 * time.Second),
				Where:    role(v1alpha1.RolePrimary),
				Peer:     role(v1alpha1.RoleSecondary),
				Network:  &v1alpha1.NetworkFault{Latency: lasting(200 * time.Millisecond), Loss: 2},
			},
		),
	)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(r.Targets).To(Equal([]string{"tukpub", "quisec"}))
	g.Expect(r.Isolated).To(BeEmpty())
	g.Expect(r.Objects).To(HaveLen(2))
	for i, want := range []struct {
		site      v1alpha1.SiteName
		pod       string
		addresses []any
	}{{"tukwila", "tukpub-0", []any{"10.11.0.2", "10.2.0.1"}}, {"quincy", "quisec-0", []any{"10.1.0.1", "10.12.0.1"}}} {
		o := r.Objects[i]
		g.Expect(o.Site).To(Equal(want.site))
		g.Expect(o.GetKind()).To(Equal("NetworkChaos"))
		g.Expect(o.GetNamespace()).To(Equal("web"))
		g.Expect(field(o, "selector", "pods", "web")).To(Equal([]any{want.pod}))
		g.Expect(field(o, "externalTargets")).To(ConsistOf(want.addresses...))
		g.Expect(field(o, "direction")).To(Equal("to"))
		g.Expect(field(o, "action")).To(Equal("netem"))
		g.Expect(field(o, "delay", "latency")).To(Equal("200ms"))
		g.Expect(field(o, "loss", "loss")).To(Equal("2"))
		g.Expect(field(o, "duration")).To(Equal("30s"), "should nobody take it back, it ends by itself soon after")
		g.Expect(o.GetLabels()).To(HaveKeyWithValue(v1alpha1.LabelDrill, "d"))
		g.Expect(o.GetLabels()).To(HaveKeyWithValue(v1alpha1.LabelDrillRun, "7"))
	}
	g.Expect(r.Objects[0].GetName()).NotTo(Equal(r.Objects[1].GetName()))
	g.Expect(r.Probes).
		To(ConsistOf(
			fault.Probe{From: "tukpub", To: "quisec-0:1433"},
			fault.Probe{From: "quisec", To: "tukpub-0:1433"},
			fault.Probe{
				From: "tukpub",
				To:   "quisec-0:8443",
				Send: 512 << 10,
			},
			fault.Probe{From: "quisec", To: "tukpub-0:8443", Send: 512 << 10},
		))
}

// Should the operator and the hub be gone, every object ends by itself: with its fault, and at the latest with the
// drill's limit. What is done at once needs no end.
func TestEveryObjectEndsByItself(t *testing.T) {
	where, lasts := role(v1alpha1.RolePrimary), lasting(10*time.Minute)
	for name, f := range map[string]v1alpha1.DrillFault{
		"network": {Kind: v1alpha1.FaultNetwork, Where: where,
			Network: &v1alpha1.NetworkFault{Latency: lasting(time.Second), Rate: "1mbps"}},
		"partition":   {Kind: v1alpha1.FaultPartition, Where: &v1alpha1.FaultPlace{Site: "tukwila"}},
		"pod failure": {Kind: v1alpha1.FaultPodFailure, Where: where},
		"processors":  {Kind: v1alpha1.FaultCPUStress, Where: where},
		"memory":      {Kind: v1alpha1.FaultMemoryStress, Where: where, Memory: &v1alpha1.MemoryFault{Size: "1GB"}},
		"disk": {Kind: v1alpha1.FaultDiskDelay, Where: where,
			Disk: &v1alpha1.DiskFault{Volume: "data", Delay: *lasting(time.Second)}},
		"clock": {Kind: v1alpha1.FaultClockOffset, Where: where, ClockOffset: lasting(time.Hour)},
		"literal": {Kind: v1alpha1.FaultChaosMesh,
			ChaosMesh: &v1alpha1.LiteralChaos{Site: "tukwila", Kind: "PodChaos",
				Spec: runtime.RawExtension{Raw: []byte(
					`{"action":"pod-failure","duration":"100h","selector":{"labelSelectors":{"a":"b"}}}`)}}},
	} {
		t.Run(name, func(t *testing.T) {
			f.Duration = lasts
			for left, most := range map[time.Duration]time.Duration{0: 10*time.Minute + 10*time.Second,
				time.Hour: 10*time.Minute + 10*time.Second, time.Minute: 70 * time.Second} {
				g := NewWithT(t)
				w := world()
				w.Left = left
				r, err := fault.Resolve(w, one(f))
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(r.Objects).NotTo(BeEmpty())
				for _, o := range r.Objects {
					text, _, _ := unstructured.NestedString(o.Object, "spec", "duration")
					d, err := time.ParseDuration(text)
					g.Expect(err).NotTo(HaveOccurred(), "%s %s has duration %q", o.GetKind(), o.GetName(), text)
					g.Expect(d).To(And(BeNumerically(">", 0), BeNumerically("<=", most)), "%s with %s left", o.GetKind(), left)
				}
			}
		})
	}
}

// One way concerns one end's packets.
func TestOneWay(t *testing.T) {
	for direction, pod := range map[v1alpha1.FaultDirection]string{v1alpha1.DirectionTo: "tukpub-0",
		v1alpha1.DirectionFrom: "quisec-0"} {
		for _, kind := range []v1alpha1.DrillFaultKind{v1alpha1.FaultNetwork, v1alpha1.FaultPartition} {
			g := NewWithT(t)
			f := v1alpha1.DrillFault{
				Kind:      kind,
				Duration:  lasting(time.Second),
				Where:     role(v1alpha1.RolePrimary),
				Peer:      role(v1alpha1.RoleSecondary),
				Direction: direction,
			}
			if kind == v1alpha1.FaultNetwork {
				f.Network = &v1alpha1.NetworkFault{Latency: lasting(time.Second)}
			}
			r, err := fault.Resolve(world(), one(f))
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(r.Objects).To(HaveLen(1))
			g.Expect(field(r.Objects[0], "selector", "pods", "web")).To(Equal([]any{pod}))
			g.Expect(field(r.Objects[0], "direction")).To(Equal("to"))
		}
	}
}

// A lost site takes its clients along, answers nobody, and its API server answers nobody outside. What remains inside
// does.
func TestALostSite(t *testing.T) {
	g := NewWithT(t)
	r, err := fault.Resolve(
		world(),
		one(
			v1alpha1.DrillFault{
				Kind:     v1alpha1.FaultPartition,
				Duration: lasting(time.Minute),
				Where:    &v1alpha1.FaultPlace{Site: "tukwila"},
			},
		),
	)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(r.Isolated).To(Equal([]string{"tukwila"}))
	bySite := map[v1alpha1.SiteName]fault.Object{}
	for _, o := range r.Objects {
		bySite[o.Site] = o
		g.Expect(field(o, "action")).To(Equal("partition"))
		g.Expect(field(o, "direction")).To(Equal("both"))
	}
	g.Expect(bySite).To(HaveLen(3))
	g.Expect(field(bySite["tukwila"], "selector", "pods", "web")).To(ConsistOf("tukpub-0", "d-clients"))
	g.Expect(field(bySite["tukwila"], "externalTargets")).To(ConsistOf(
		"10.2.0.1", "10.11.0.2", "10.3.0.1", "10.11.0.3", "172.18.0.2", "172.18.0.3", "10.2.0.9", "10.3.0.9"))
	g.Expect(field(bySite["tukwila"], "externalTargets")).
		NotTo(ContainElement("10.11.0.100"), "its own API server is inside")
	g.Expect(field(bySite["quincy"], "selector", "pods", "web")).To(ConsistOf("quisec-0", "d-clients"))
	g.Expect(field(bySite["quincy"], "externalTargets")).To(ConsistOf("10.1.0.1", "10.12.0.1", "172.18.0.1", "10.1.0.9"))
	g.Expect(r.Probes).To(ContainElement(fault.Probe{From: "dubcfg", To: "172.18.0.1:6443"}))
}

// A site of which every packet is lost is as isolated as one that is partitioned; of a part of them it is not.
func TestTotalLossIsolates(t *testing.T) {
	for loss, want := range map[int32][]string{100: {"tukwila"}, 99: nil} {
		g := NewWithT(t)
		f := v1alpha1.DrillFault{Kind: v1alpha1.FaultNetwork, Duration: lasting(time.Minute),
			Network: &v1alpha1.NetworkFault{Loss: loss}, Where: &v1alpha1.FaultPlace{Site: "tukwila"}}
		r, err := fault.Resolve(world(), one(f))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(r.Isolated).To(Equal(want))
		f.Peer = role(v1alpha1.RoleSecondary)
		r, err = fault.Resolve(world(), one(f))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(r.Isolated).To(BeEmpty(), "other ways are open")
	}
}

// Of more ways than can be probed every server has one, and no more figures come of them than a status has room for.
func TestEveryServerIsProbed(t *testing.T) {
	for name, network := range map[string]*v1alpha1.NetworkFault{"partition": nil, "loss": {Loss: 10}} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			w := world()
			for i := range 3 {
				for _, site := range []v1alpha1.SiteName{"tukwila", "quincy"} {
					name := v1alpha1.ServerName(fmt.Sprintf("%s%d", site, i))
					w.Servers[name] = fault.Server{Name: name, Site: site}
				}
			}
			f := v1alpha1.DrillFault{Kind: v1alpha1.FaultPartition, Duration: lasting(time.Minute),
				Where: &v1alpha1.FaultPlace{Site: "tukwila"}}
			if network != nil {
				f.Kind, f.Network = v1alpha1.FaultNetwork, network
			}
			r, err := fault.Resolve(w, one(f))
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(len(r.Probes)).To(And(BeNumerically(">", 6), BeNumerically("<=", 16)))
			seen := map[string]bool{}
			for _, p := range r.Probes {
				if strings.HasSuffix(p.To, ":6443") {
					continue // the API server of the site
				}
				g.Expect(w.Servers[p.From].Site == "tukwila").NotTo(Equal(strings.HasPrefix(p.To, "tuk")), "%s to %s", p.From, p.To)
				seen[string(p.From)] = true
				seen[strings.Split(p.To, "-0:")[0]] = true
			}
			for server := range w.Servers {
				g.Expect(seen).To(HaveKey(string(server)))
			}
		})
	}
}

// Bandwidth is an action of its own beside delay and loss.
func TestBandwidthBesideLatency(t *testing.T) {
	g := NewWithT(t)
	r, err := fault.Resolve(
		world(),
		one(
			v1alpha1.DrillFault{
				Kind:      v1alpha1.FaultNetwork,
				Duration:  lasting(time.Second),
				Where:     role(v1alpha1.RolePrimary),
				Peer:      role(v1alpha1.RoleSecondary),
				Direction: v1alpha1.DirectionTo,
				Network:   &v1alpha1.NetworkFault{Latency: lasting(time.Second), Rate: "1mbps"},
			},
		),
	)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(r.Objects).To(HaveLen(2))
	g.Expect(field(r.Objects[0], "action")).To(Equal("netem"))
	g.Expect(field(r.Objects[1], "action")).To(Equal("bandwidth"))
	g.Expect(field(r.Objects[1], "bandwidth", "rate")).To(Equal("1mbps"))
}

// Roles are those of the moment; who is not there cannot be struck.
func TestRolesOfTheMoment(t *testing.T) {
	g := NewWithT(t)
	w := world()
	w.Roles[v1alpha1.RolePrimary] = "quisec"
	kill := one(v1alpha1.DrillFault{Kind: v1alpha1.FaultPodKill, Where: role(v1alpha1.RolePrimary)})
	r, err := fault.Resolve(w, kill)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(r.Objects).To(HaveLen(1))
	g.Expect(r.Objects[0].Site).To(Equal(v1alpha1.SiteName("quincy")))
	g.Expect(field(r.Objects[0], "duration")).To(BeNil())
	g.Expect(r.Struck).To(Equal([]v1alpha1.ServerName{"quisec"}))
	delete(w.Roles, v1alpha1.RolePrimary)
	_, err = fault.Resolve(w, kill)
	g.Expect(err).To(MatchError(ContainSubstring("nobody is Primary")))
}

// A failover that may lose data is decided on in a term, and is for no other.
func TestAFailoverThatMayLoseNamesItsTerm(t *testing.T) {
	g := NewWithT(t)
	forced := one(v1alpha1.DrillFault{Kind: v1alpha1.FaultFailover, To: "quisec", AllowDataLoss: true})
	w := world()
	_, err := fault.Resolve(w, forced)
	g.Expect(err).To(MatchError(ContainSubstring("tells no term")))
	w.Term = 7
	r, err := fault.Resolve(w, forced)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(r.Objects[0].Object["spec"]).
		To(And(HaveKeyWithValue("expectedTerm", int64(7)), HaveKeyWithValue("allowDataLoss", true)))
}

// A switchover goes to the first secondary, in the hub, and not to who is primary already.
func TestSwitchover(t *testing.T) {
	g := NewWithT(t)
	r, err := fault.Resolve(world(), one(v1alpha1.DrillFault{Kind: v1alpha1.FaultSwitchover}))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(r.Objects).To(HaveLen(1))
	g.Expect(r.Objects[0].Site).To(BeEmpty())
	g.Expect(field(r.Objects[0], "to")).To(Equal("quisec"))
	g.Expect(field(r.Objects[0], "group")).To(Equal("content"))
	_, err = fault.Resolve(world(), one(v1alpha1.DrillFault{Kind: v1alpha1.FaultSwitchover, To: "tukpub"}))
	g.Expect(err).To(MatchError(ContainSubstring("primary already")))
}

// What is given literally ends by itself, and strikes servers of the target alone.
func TestLiteral(t *testing.T) {
	for text, refused := range map[string]string{
		`{"action":"delay","selector":{"labelSelectors":{"a":"b"}},"duration":"10s"}`:                             "",
		`{"action":"delay","selector":{"labelSelectors":{"a":"b"}}}`:                                              "duration",
		`{"action":"delay","selector":{"namespaces":["kube-system"]},"duration":"10s"}`:                           "selector.namespaces",
		`{"action":"delay","selector":{},"target":{"selector":{"pods":{"x":["y"]}}},"duration":"10s"}`:            "selector.pods",
		`{"action":"delay","duration":"10s"}`:                                                                     "selector",
		`{"action":"delay","selector":{"labelSelectors":{"a":"b"}},"duration":"10s","remoteCluster":"elsewhere"}`: "remoteCluster",
	} {
		g := NewWithT(t)
		l := &v1alpha1.LiteralChaos{Site: "quincy", Kind: "NetworkChaos", Spec: runtime.RawExtension{Raw: []byte(text)}}
		r, err := fault.Resolve(world(), one(v1alpha1.DrillFault{Kind: v1alpha1.FaultChaosMesh, ChaosMesh: l}))
		if refused != "" {
			g.Expect(err).To(MatchError(ContainSubstring(refused)), text)
			continue
		}
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(field(r.Objects[0], "selector", "namespaces")).To(Equal([]any{"web"}))
		g.Expect(field(r.Objects[0], "selector", "expressionSelectors")).
			To(Equal([]any{map[string]any{"key": v1alpha1.LabelServer, "operator": "In",
				"values": []any{"dubcfg", "quisec", "tukpub"}}}))
	}
}
