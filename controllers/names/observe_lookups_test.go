// SPDX-License-Identifier: Apache-2.0

package names

import (
	"context"
	"errors"
	"net/netip"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	mcreconcile "sigs.k8s.io/multicluster-runtime/pkg/reconcile"
)

var asker = types.NamespacedName{Namespace: "web", Name: "tukpub"}

// dns answers when it is let to, with what it is given; nothing is no answer.
type dns struct {
	asked   chan string
	answers chan []string
}

func (d dns) lookups() *lookups {
	return &lookups{ask: func(_ context.Context, _, host string) ([]netip.Addr, error) {
		d.asked <- host
		var all []netip.Addr
		for _, text := range <-d.answers {
			all = append(all, netip.MustParseAddr(text))
		}
		if len(all) == 0 {
			return nil, errors.New("no such host")
		}
		return all, nil
	}}
}

// started has the questions of a controller that has begun; ends ends it.
func started(t *testing.T, l *lookups) (queue workqueue.TypedRateLimitingInterface[mcreconcile.Request], ends func()) {
	t.Helper()
	queue = workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[mcreconcile.Request]())
	ctx, ends := context.WithCancel(t.Context())
	NewWithT(t).Expect(l.source().Start(ctx, queue)).To(Succeed())
	t.Cleanup(queue.ShutDown)
	return queue, ends
}

// The DNS is asked for addresses of the pod's family: for the other one many a resolver fails.
func TestTheDNSIsAskedForAFamily(t *testing.T) {
	for pod, c := range map[string]struct{ network, means string }{
		"10.101.0.7": {"ip4", "192.0.2.8"}, "2001:db8:1::7": {"ip6", "2001:db8::8"}, "": {"ip", "192.0.2.8"}} {
		t.Run(c.network, func(t *testing.T) {
			g := NewWithT(t)
			l := &lookups{ask: func(_ context.Context, network, _ string) ([]netip.Addr, error) {
				if network != c.network {
					return nil, errors.New("server misbehaving")
				}
				return []netip.Addr{netip.MustParseAddr(c.means)}, nil
			}}
			started(t, l)
			v := balanced(corev1.LoadBalancerIngress{Hostname: "a.elb.example.com"})
			v.address = pod
			g.Eventually(func() []string {
				if v.lookUp(l, asker, noon, false); v.looked == nil {
					return nil
				}
				return v.looked.addresses
			}).Should(Equal([]string{c.means}))
		})
	}
}

// The DNS is asked in the background, once a minute, and what does not belong into a slice is no answer. Nobody asks
// for what the home site's own process has asked lately.
func TestTheDNSIsAsked(t *testing.T) {
	g := NewWithT(t)
	d := dns{make(chan string, 8), make(chan []string, 8)}
	l := d.lookups()
	queue, _ := started(t, l)
	ask := func(v *serverView, after time.Duration, left bool) *answer {
		v.looked = nil
		v.lookUp(l, asker, noon.Add(after), left)
		return v.looked
	}
	both := []string{"192.0.2.8", "192.0.2.9"}
	v := balanced(corev1.LoadBalancerIngress{Hostname: "a.elb.example.com"})
	g.Expect(ask(v, 0, true)).To(BeNil(), "nobody waits for an answer")
	g.Eventually(d.asked).Should(Receive(Equal("a.elb.example.com.")))
	g.Expect(ask(v, time.Hour, true)).To(BeNil(), "one question at a time")
	d.answers <- []string{"192.0.2.9", "127.0.0.1", "::ffff:192.0.2.8", "192.0.2.9"}
	g.Eventually(queue.Len).Should(Equal(1), "the answer brings back who asked")
	g.Expect(ask(v, lookUpEvery-time.Second, false).addresses).To(Equal(both))
	g.Expect(d.asked).To(BeEmpty())
	// Silence: the last answer is known as long as there is no other.
	g.Expect(ask(v, lookUpEvery, false).addresses).To(Equal(both))
	g.Eventually(d.asked).Should(Receive())
	d.answers <- nil
	silent := func(after time.Duration) func() time.Time {
		return func() time.Time {
			if a := ask(v, after, false); a != nil {
				return a.silent
			}
			return time.Time{}
		}
	}
	g.Eventually(silent(lookUpEvery)).Should(Equal(noon.Add(lookUpEvery)))
	ask(v, lookUpEvery+lookUpAgain, false)
	g.Eventually(d.asked).Should(Receive())
	d.answers <- nil
	g.Eventually(func() time.Time { return ask(v, lookUpEvery+lookUpAgain, false).at }).
		Should(Equal(noon.Add(lookUpEvery + lookUpAgain)))
	g.Expect(silent(lookUpEvery+lookUpAgain)()).To(Equal(noon.Add(lookUpEvery)), "since the first that was not answered")
	later := lookUpEvery + lookUpAgain + 2*leftToSite
	g.Expect(ask(v, later, false)).To(BeNil(), "an old answer is none")
	g.Eventually(d.asked).Should(Receive())
	d.answers <- nil
	g.Eventually(silent(later)).Should(Equal(noon.Add(later)), "nobody has asked meanwhile")
	v.said(noon, both...).written()
	g.Expect(ask(v, leftToSite-time.Second, true)).To(BeNil(), "it is left to the site")
	g.Expect(d.asked).To(BeEmpty())
	ask(v, later+leftToSite, true)
	g.Eventually(d.asked).Should(Receive())
	d.answers <- both
	g.Expect(ask(balanced(ip("192.0.2.7")), time.Hour, false)).To(BeNil(), "an address needs no DNS")
}

// What was asked when the work ended is no answer.
func TestNoAnswerIsLeftOfWhatEnds(t *testing.T) {
	g := NewWithT(t)
	asked := make(chan struct{})
	var returned atomic.Bool
	l := &lookups{ask: func(ctx context.Context, _, _ string) ([]netip.Addr, error) {
		if !returned.Load() {
			asked <- struct{}{}
		}
		<-ctx.Done()
		returned.Store(true)
		return nil, ctx.Err()
	}}
	_, ends := started(t, l)
	v := balanced(corev1.LoadBalancerIngress{Hostname: "a.elb.example.com"})
	v.lookUp(l, asker, noon, false)
	g.Eventually(asked).Should(Receive())
	ends()
	g.Eventually(returned.Load).Should(BeTrue())
	g.Consistently(func() *answer {
		v.lookUp(l, asker, noon, false)
		return v.looked
	}).Should(BeNil())
}
