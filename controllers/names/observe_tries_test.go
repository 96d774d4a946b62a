// SPDX-License-Identifier: Apache-2.0

package names

import (
	"context"
	"net"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/sites"
)

var nodePorts = map[string]int32{"tds": 31433, "mirroring": 31022, "agent": 31443, "election": 31444}

// A site that is led to a server by another way stays there until its load balancer has been found to forward; one that
// is led nowhere has nothing to lose.
func TestALoadBalancerIsTriedFirst(t *testing.T) {
	gone := balanced(ip("192.0.2.7"))
	gone.nodePorts, gone.address, gone.nodeAddress = nodePorts, "", ""
	byNode := balanced(ip("192.0.2.7"))
	byNode.exposure, byNode.nodePorts = v1alpha1.ExposureNodePort, nodePorts
	now := func(open bool) *serverView {
		v := balanced(ip("192.0.2.7"))
		v.nodePorts = nodePorts
		v.opened = func(v1alpha1.SiteName, *serverView) bool { return open }
		return v
	}
	alone := now(false)
	alone.nodePorts = nil
	moved := now(false)
	moved.nodeAddress = "10.100.0.13"
	for what, c := range map[string]struct {
		before, now *serverView
		leads       []string
		stays       bool
	}{
		"ports of nodes, untried":            {byNode, now(false), []string{"10.100.0.12:31433"}, true},
		"ports of nodes, and it forwards":    {byNode, now(true), []string{"192.0.2.7:1433"}, false},
		"ports of a node that was left":      {byNode, moved, []string{"10.100.0.13:31433"}, true},
		"a flat network, untried":            {view("tukwila", "10.101.0.7"), now(false), []string{"10.101.0.7:1433"}, true},
		"nothing, untried":                   {nil, now(false), []string{"10.100.0.12:31433"}, true},
		"nothing, as its pod is made anew":   {gone, now(false), []string{"10.100.0.12:31433"}, true},
		"nothing, and no ports of nodes":     {nil, alone, []string{"192.0.2.7:1433"}, false},
		"another load balancer's, untried":   {balanced(ip("192.0.2.6")), alone, []string{"192.0.2.7:1433"}, false},
		"the load balancer's, by a new try":  {balanced(ip("192.0.2.7")), alone, []string{"192.0.2.7:1433"}, false},
		"it, while ports of nodes are open":  {now(true), now(false), []string{"192.0.2.7:1433"}, false},
		"another server's by the same nodes": {other(byNode), now(false), []string{"10.100.0.12:31433"}, true},
	} {
		t.Run(what, func(t *testing.T) {
			g := NewWithT(t)
			has, listeners := cluster{}, cluster{}
			group := &groupView{namespace: "web", name: "content", listener: v1alpha1.Listener{Name: "content", Port: 1433}}
			labels := ownLabels("web", v1alpha1.LabelGroup, "content")
			for _, v := range []*serverView{c.before, c.now} {
				if v == nil {
					continue
				}
				steps, _ := plan("dublin", serverNames("web", v, "dublin"), ownerLabels, has)
				has.carryOut(steps, len(steps))
				group.primary, group.readable = v, []*serverView{v}
				steps, _ = plan("dublin", groupNames(group, "dublin"), labels, listeners)
				listeners.carryOut(steps, len(steps))
			}
			g.Expect(has.leads("tukpub-0")).To(Equal(c.leads))
			g.Expect(listeners.leads("content")).To(Equal(c.leads), "the listener")
			g.Expect(listeners.leads("content-ro")).To(Equal(c.leads), "its readers")
			w := Observed{Desired: tukpub(), names: func(at v1alpha1.SiteName) []name { return serverNames("web", c.now, at) },
				views: []*siteView{{name: "dublin", member: &sites.Member{}, has: has}}}
			p := planNames(w.Desired, w)
			g.Expect(p.Steps).To(BeEmpty(), "a second plan finds nothing to do")
			said := reconcile.Noted[noted](p).condition(w)
			g.Expect(said.Reason == v1alpha1.ReasonLoadBalancerPending).To(Equal(c.stays), said.Message)
		})
	}
}

// other is another server in its place, on the same node with other ports.
func other(v *serverView) *serverView {
	o := *v
	o.nodePorts = map[string]int32{"tds": 32433, "mirroring": 32022, "agent": 32443, "election": 32444}
	return &o
}

// A try compares the ways: what does not answer by the former one either says nothing of the load balancer.
func TestWhatATryFinds(t *testing.T) {
	balanced := []endpoint{{address: "192.0.2.7"}, {address: "192.0.2.8"}}
	former := []endpoint{{address: "10.101.0.7"}, {address: "10.100.0.12", targets: nodePorts}}
	for name, c := range map[string]struct {
		answers []string
		finds   found
	}{
		"the agent":                          {[]string{"192.0.2.7:8443", "192.0.2.8:8443", "10.100.0.12:31443"}, forwards},
		"the agent, at one address of two":   {[]string{"192.0.2.7:8443", "10.100.0.12:31443"}, worse},
		"the agent by the former way":        {[]string{"10.100.0.12:31443", "10.100.0.12:31433"}, worse},
		"the engine, where no agent answers": {[]string{"192.0.2.7:1433", "192.0.2.8:1433", "10.100.0.12:31433"}, forwards},
		"the engine by the former way":       {[]string{"10.101.0.7:1433"}, worse},
		"nothing by either":                  {nil, neither},
	} {
		t.Run(name, func(t *testing.T) {
			tries := &tries{pause: time.Microsecond, connects: func(_ context.Context, address string) bool {
				return slices.Contains(c.answers, address)
			}}
			NewWithT(t).Expect(tries.try(t.Context(), balanced, former)).To(Equal(c.finds))
		})
	}
}

// That a load balancer forwards is found once, in the background.
func TestATryIsRemembered(t *testing.T) {
	g := NewWithT(t)
	asked := make(chan string, 64)
	answer := make(chan bool)
	tries := &tries{pause: time.Microsecond, connects: func(_ context.Context, address string) bool {
		asked <- address
		return <-answer
	}}
	v := balanced(ip("192.0.2.7"))
	v.now, v.opened = noon, tries.opened("web")
	g.Expect(tries.source().Start(t.Context(), nil)).To(Succeed())
	g.Expect(v.untried("dublin")).To(Equal([]string{"10.101.0.7:1433"}))
	g.Expect(v.untried("tukwila")).To(BeEmpty(), "at home its pod is reached")
	g.Consistently(asked).ShouldNot(Receive(), "its pod is not ready")
	v.ready = true
	g.Expect(v.untried("dublin")).To(Equal([]string{"10.101.0.7:1433"}))
	g.Eventually(asked).Should(Receive(Equal("192.0.2.7:8443")))
	answer <- true
	g.Eventually(func() []string { return v.untried("dublin") }).Should(BeEmpty())
	for after := range 100 {
		v.now = noon.Add(time.Duration(after) * forgetAfter)
		g.Expect(v.untried("dublin")).To(BeEmpty())
	}
	g.Expect(asked).To(BeEmpty())
}

// That nobody answered by any way counts until somebody does.
func TestSilenceIsTriedAgain(t *testing.T) {
	g := NewWithT(t)
	var former atomic.Bool
	tries := &tries{pause: time.Microsecond, connects: func(_ context.Context, address string) bool {
		return former.Load() && address == "10.101.0.7:8443"
	}}
	v := balanced(ip("192.0.2.7"))
	v.now, v.ready, v.opened = noon, true, tries.opened("web")
	g.Expect(tries.source().Start(t.Context(), nil)).To(Succeed())
	g.Eventually(func() []string { return v.untried("dublin") }).Should(BeEmpty())
	former.Store(true)
	v.now = noon.Add(tryAgain)
	g.Eventually(func() []string { return v.untried("dublin") }).Should(Equal([]string{"10.101.0.7:1433"}))
}

// A proxy takes a connection and closes it when nothing is behind.
func TestAConnectionHasToStay(t *testing.T) {
	for name, stays := range map[string]bool{"it stays": true, "it is closed": false} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			at, err := net.Listen("tcp", "127.0.0.1:0")
			g.Expect(err).NotTo(HaveOccurred())
			defer at.Close()
			held := make(chan net.Conn, 1)
			go func() {
				c, err := at.Accept()
				if err == nil && !stays {
					err = c.Close()
				}
				if err == nil {
					held <- c
				}
			}()
			g.Expect(connects(t.Context(), at.Addr().String())).To(Equal(stays))
			g.Eventually(held).Should(Receive())
		})
	}
	nobody, err := net.Listen("tcp", "127.0.0.1:0")
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	NewWithT(t).Expect(nobody.Close()).To(Succeed())
	NewWithT(t).Expect(connects(t.Context(), nobody.Addr().String())).To(BeFalse())
}

// The manager leaves it to a site that tries, and waits a while for one that does not, or not any more.
func TestTheManagerWaitsForALoadBalancer(t *testing.T) {
	g := NewWithT(t)
	d := &delays{}
	site := &siteView{name: "dublin", keeps: true, declares: true}
	v := balanced(ip("192.0.2.7"))
	v.opened = d.opened("web", []*siteView{site})
	untried := func(after time.Duration) bool {
		v.now = noon.Add(after)
		return len(v.untried("dublin")) > 0
	}
	g.Expect(untried(0)).To(BeTrue())
	g.Expect(untried(time.Hour)).To(BeTrue(), "the site tries")
	site.keeps = false
	g.Expect(untried(time.Hour + openAfter - time.Second)).To(BeTrue())
	g.Expect(untried(time.Hour + openAfter)).To(BeFalse())
}
