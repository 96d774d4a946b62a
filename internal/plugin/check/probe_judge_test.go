// SPDX-License-Identifier: Apache-2.0

package check

import (
	"errors"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/link"
	"geosql.dev/operator/internal/sites/reach"
)

// wellAt is what an end finds at which nothing is wrong.
func wellAt(host string) *reach.Answer {
	a := &reach.Answer{
		Names:   []reach.Name{{Name: "kubernetes.default.svc", Addresses: []string{"10.202.0.1"}, Took: time.Millisecond}},
		Connect: []reach.Port{{To: "api.example:6443"}},
		Closed:  []reach.Port{{To: host + ":1434", Failure: reach.Refused, Error: "refused"}},
		Way: &reach.Way{To: host + ":1433", RoundTrip: 146 * time.Millisecond, Connections: 9, Interface: 1500, Path: 1500,
			Segment: 1448,
			There:   reach.Transfer{Bytes: reach.DefaultBytes, Took: 600 * time.Millisecond},
			Back:    reach.Transfer{Bytes: reach.DefaultBytes, Took: 600 * time.Millisecond}},
	}
	for _, port := range []string{":1433", ":5022", ":8443", ":8444"} {
		a.Ports = append(a.Ports, reach.Port{To: host + port})
	}
	return a
}

// probed is a probe between two sites at which nothing is wrong: quincy at 10.102.0.5, dublin at 10.103.0.5.
func probed() *probing {
	at := func(name string, ranges string) end {
		return end{target: target{name: name, site: v1alpha1.SiteSpec{AllowedNamespaces: []string{"web"},
			SourceRanges: []string{ranges}}}, namespace: "web"}
	}
	return &probing{name: "r1", container: container{image: "registry.example/geosql:1"},
		ends:  [2]end{at("quincy", "10.102.0.0/16"), at("dublin", "10.103.0.0/16")},
		link:  link.Link{From: "quincy", To: "dublin", RoundTrip: 146 * time.Millisecond, Bandwidth: "1Gbit"},
		found: [2]read[*reach.Answer]{{is: wellAt("10.103.0.5")}, {is: wellAt("10.102.0.5")}}}
}

func fail(ports []reach.Port, how reach.Failure, which ...int) {
	for _, i := range which {
		ports[i].Failure, ports[i].Error = how, "as it was said"
	}
}

// Each finding of a probe comes from one fault of a way at which nothing is wrong otherwise, at the site that has to
// change something, and says what.
func TestEachFaultOfTheWayIsFound(t *testing.T) {
	all := []int{0, 1, 2, 3}
	for what, c := range map[string]struct {
		fault        func(p *probing, quincy, dublin *reach.Answer)
		check        string
		level        Level
		says, change string
	}{
		"nothing": {fault: func(*probing, *reach.Answer, *reach.Answer) {}},
		"no DNS": {func(_ *probing, quincy, _ *reach.Answer) { quincy.Names[0].Error = "no such host" }, "dns", Problem,
			"do not resolve kubernetes.default.svc: no such host", "cluster's DNS"},
		"an API server without a name": {func(_ *probing, quincy, _ *reach.Answer) {
			fail(quincy.Connect, reach.NoName, 0)
		}, "api-server", Problem, "do not connect to that of dublin", "DNS of quincy"},
		"an API server behind a wall": {func(_ *probing, quincy, _ *reach.Answer) {
			fail(quincy.Connect, reach.Silent, 0)
		}, "api-server", Problem, "do not connect to that of dublin", "--kubeconfig-server"},
		"a port that a policy drops": {func(_ *probing, quincy, _ *reach.Answer) {
			fail(quincy.Ports, reach.Silent, 1)
		}, "reach", Problem, "to those of dublin get no answer at ports 5022: as it was said", "source ranges of quincy " +
			"(10.102.0.0/16)"},
		"all ports, and the way back is open": {func(_ *probing, quincy, _ *reach.Answer) {
			fail(quincy.Ports, reach.Refused, all...)
			quincy.Way = nil
		}, "reach", Problem, "are turned away at ports 1433, 5022, 8443, 8444", "open these ports"},
		"node ports": {func(p *probing, quincy, _ *reach.Answer) {
			p.ends[1].site.Exposure.Type = v1alpha1.ExposureNodePort
			fail(quincy.Ports, reach.Silent, 0)
		}, "reach", Problem, "at ports 1433 (10.103.0.5:1433)", "30000 to 32767"},
		"no route": {func(_ *probing, quincy, _ *reach.Answer) { fail(quincy.Ports, reach.NoWay, all...) }, "reach", Problem,
			"find no way", "--exposure NodePort"},
		"somebody else's address": {func(_ *probing, quincy, _ *reach.Answer) {
			fail(quincy.Ports, reach.Another, all...)
		}, "reach", Problem, "find something else", "ranges of pods differ"},
		"another error": {func(_ *probing, quincy, _ *reach.Answer) { fail(quincy.Ports, reach.Other, 2) }, "reach", Problem,
			"fail at ports 8443", "firewalls"},
		"a longer way than declared": {func(_ *probing, quincy, _ *reach.Answer) {
			quincy.Way.RoundTrip = 250 * time.Millisecond
		}, "round-trip", Warning, "250ms to dublin, more than the 146ms", "--link dublin=250ms/1Gbit"},
		"a shorter way than declared": {func(_ *probing, quincy, _ *reach.Answer) {
			quincy.Way.RoundTrip = 900 * time.Microsecond
		}, "round-trip", Warning, "900µs to dublin, less than", "--link dublin=900µs/1Gbit"},
		"connections that are lost": {func(_ *probing, quincy, _ *reach.Answer) { quincy.Way.Lost = 2 }, "round-trip",
			Warning, "2 of 11 connections", "loses packets"},
		"no connection more": {func(_ *probing, quincy, _ *reach.Answer) { quincy.Way.Connections = 0 }, "round-trip",
			Unknown, "none of the connections", ""},
		"full packets do not arrive": {func(_ *probing, quincy, _ *reach.Answer) {
			quincy.Way.There = reach.Transfer{Bytes: reach.DefaultBytes, Failure: reach.Silent, Error: "i/o timeout"}
		}, "packets", Problem, "65536 bytes do not arrive there: packets of 1500 bytes are lost on the way: i/o timeout",
			"fragmentation needed"},
		"full packets do not come back": {func(_ *probing, _, dublin *reach.Answer) {
			dublin.Way.Back = reach.Transfer{Bytes: reach.DefaultBytes, Failure: reach.Silent, Error: "i/o timeout"}
		}, "packets", Problem, "65536 bytes do not arrive there", "MSS"},
		"a path that is narrower than the interface": {func(_ *probing, quincy, _ *reach.Answer) {
			quincy.Way.Path = 1400
		}, "packets", Warning, "takes packets of 1400 bytes, its pods send 1500", "an MTU of 1400"},
		"less bandwidth than declared": {func(_ *probing, quincy, dublin *reach.Answer) {
			quincy.Way.There.Took, dublin.Way.Back.Took = 9*time.Second, 8*time.Second
		}, "packets", Warning, "65536 bytes took 8s to dublin", "declare less"},
		"a pod that cannot be made": {func(p *probing, _, _ *reach.Answer) {
			p.found[0] = read[*reach.Answer]{err: errors.New("exceeded quota")}
		}, "probe", Unknown, "could not be probed because exceeded quota", "registry.example/geosql:1"},
	} {
		t.Run(what, func(t *testing.T) {
			g := NewWithT(t)
			p := probed()
			c.fault(p, p.found[0].is, p.found[1].is)
			found := p.judge()
			if c.check == "" {
				g.Expect(bad(found)).To(BeEmpty())
				for _, check := range []string{"dns", "api-server", "reach", "round-trip", "packets"} {
					for _, site := range []string{"quincy", "dublin"} {
						g.Expect(found).To(ContainElement(And(HaveField("Cluster", site), HaveField("Check", check))))
					}
				}
				return
			}
			g.Expect(bad(found)).To(ConsistOf(And(HaveField("Cluster", "quincy"), HaveField("Check", c.check),
				HaveField("Level", c.level), HaveField("Says", ContainSubstring(c.says)),
				HaveField("Change", ContainSubstring(c.change)))))
		})
	}
}

// A site whose pod did not run says nothing of the way, and nobody says that there is one.
func TestNothingIsWellThatWasNotProbed(t *testing.T) {
	g := NewWithT(t)
	p := probed()
	p.found[1] = read[*reach.Answer]{err: errors.New("ImagePullBackOff")}
	p.found[0].is.Ports, p.found[0].is.Closed, p.found[0].is.Way = nil, nil, nil
	found := p.judge()
	g.Expect(bad(found)).To(ConsistOf(And(HaveField("Cluster", "dublin"), HaveField("Check", "probe"))))
	g.Expect(found).NotTo(ContainElement(HaveField("Check", BeElementOf("reach", "round-trip", "packets"))))
	g.Expect(verdict(found, true)).NotTo(Succeed())
}

// A port that a policy shuts and that somebody reaches says that policies are not enforced, at the site of the port.
func TestPoliciesThatAreNotEnforcedAreFound(t *testing.T) {
	g := NewWithT(t)
	p := probed()
	p.found[0].is.Closed[0] = reach.Port{To: "10.103.0.5:1434"}
	g.Expect(bad(p.judge())).To(ConsistOf(And(HaveField("Cluster", "dublin"), HaveField("Check", "network-policies"),
		HaveField("Level", Warning), HaveField("Says", ContainSubstring("10.103.0.5:1434 was reached")),
		HaveField("Change", ContainSubstring("nft_queue")))))
}

// Without a declared link nothing is compared.
func TestALinkThatIsNotDeclared(t *testing.T) {
	g := NewWithT(t)
	p := probed()
	p.link = link.Link{}
	p.found[0].is.Way.There.Took = 9 * time.Second
	found := p.judge()
	g.Expect(bad(found)).To(BeEmpty())
	g.Expect(found).To(ContainElement(And(HaveField("Check", "round-trip"), HaveField("Says",
		ContainSubstring("no link declares one")))))
	g.Expect(transferWithin(link.Link{})).To(Equal(10 * time.Second))
	slow := link.Link{RoundTrip: time.Second, Bandwidth: "64kbit"}
	g.Expect(transferWithin(slow)).To(Equal(30*time.Second), "it is bounded")
}

// Why a pod does not run is told, and what does not mend by waiting is not awaited.
func TestWhyAPodDoesNotRun(t *testing.T) {
	pod := func(state corev1.ContainerState) *corev1.Pod {
		return &corev1.Pod{Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{State: state}}}}
	}
	waits := func(reason string) *corev1.Pod {
		return pod(corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: "said"}})
	}
	unscheduled := &corev1.Pod{Status: corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodScheduled,
		Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: "0/1 nodes are available"}}}}
	for what, c := range map[string]struct {
		pod      *corev1.Pod
		why      string
		hopeless bool
	}{
		"no pull":            {waits("ImagePullBackOff"), "ImagePullBackOff: said", true},
		"a pull that failed": {waits("ErrImagePull"), "ErrImagePull: said", false},
		"it is made":         {waits("ContainerCreating"), "kubelet", false},
		"no node":            {unscheduled, "0/1 nodes are available", false},
		"an image of another release": {pod(corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1,
			Reason: "Error"}}), "exit code 1", true},
		"ended by its deadline": {&corev1.Pod{Status: corev1.PodStatus{Phase: corev1.PodFailed,
			Reason: "DeadlineExceeded"}}, "DeadlineExceeded", true},
	} {
		t.Run(what, func(t *testing.T) {
			g := NewWithT(t)
			why, hopeless := waiting(c.pod)
			g.Expect(why).To(ContainSubstring(c.why))
			g.Expect(hopeless).To(Equal(c.hopeless))
		})
	}
}

// What an interrupted run left is taken away by another one, which leaves alone who is at work.
func TestWhichPodsWereLeft(t *testing.T) {
	g := NewWithT(t)
	now := time.Now()
	pod := func(age time.Duration, phase corev1.PodPhase) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(now.Add(-age))},
			Status: corev1.PodStatus{Phase: phase}}
	}
	g.Expect(left(pod(time.Minute, corev1.PodRunning), now)).To(BeFalse())
	g.Expect(left(pod(time.Minute, corev1.PodFailed), now)).To(BeTrue())
	g.Expect(left(pod(time.Minute, corev1.PodSucceeded), now)).To(BeTrue())
	g.Expect(left(pod(probeLife+time.Second, corev1.PodPending), now)).To(BeTrue())
}
