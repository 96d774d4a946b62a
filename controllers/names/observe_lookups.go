// SPDX-License-Identifier: Apache-2.0

package names

import (
	"context"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/source"
	mcreconcile "sigs.k8s.io/multicluster-runtime/pkg/reconcile"
)

// asking puts questions to the network in the background: what waits for it must not keep listeners from following a
// failover. A new answer brings back those that have asked.
type asking[A any] struct {
	mu sync.Mutex
	// life ends with the process's work: questions outlive the reconciliation that puts them. queue is that of the
	// controller that asks. Nothing is asked before the controller has started.
	life  context.Context
	queue workqueue.TypedRateLimitingInterface[mcreconcile.Request]
	known map[string]*asked[A]
}

// asked is a question with the last answer to it, nil before there is one.
type asked[A any] struct {
	last  *A
	put   time.Time
	used  time.Time
	under bool
	who   map[types.NamespacedName]bool
}

// source lets new answers wake the controller.
func (q *asking[A]) source() source.TypedSource[mcreconcile.Request] {
	return source.TypedFunc[mcreconcile.Request](
		func(ctx context.Context, queue workqueue.TypedRateLimitingInterface[mcreconcile.Request]) error {
			q.mu.Lock()
			defer q.mu.Unlock()
			q.life, q.queue = ctx, queue
			return nil
		})
}

// question is what is asked, for whom, when the last answer is too old, and which answers are the same.
type question[A any] struct {
	text  string
	who   types.NamespacedName
	again func(*A) time.Duration
	ask   func(ctx context.Context, before *A) A
	same  func(a, b A) bool
}

// of returns the last answer at once, and asks again when that is due.
func (q *asking[A]) of(x question[A], now time.Time) *A {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.known == nil {
		q.known = map[string]*asked[A]{}
	}
	for text, k := range q.known {
		if !k.under && now.Sub(k.used) > forgetAfter {
			delete(q.known, text)
		}
	}
	k := q.known[x.text]
	if k == nil {
		k = &asked[A]{who: map[types.NamespacedName]bool{}}
		q.known[x.text] = k
	}
	k.who[x.who], k.used = true, now
	if q.life != nil && !k.under && (k.last == nil || now.Sub(k.put) >= x.again(k.last)) {
		k.put, k.under = now, true
		go q.put(q.life, x, k, k.last)
	}
	return k.last
}

func (q *asking[A]) put(life context.Context, x question[A], k *asked[A], before *A) {
	a := x.ask(life, before)
	q.mu.Lock()
	defer q.mu.Unlock()
	k.under = false
	if life.Err() != nil {
		// Nobody has said anything: it was not waited for.
		return
	}
	k.last = &a
	if q.queue == nil || before != nil && x.same(*before, a) {
		return
	}
	for who := range k.who {
		q.queue.Add(mcreconcile.Request{Request: ctrl.Request{NamespacedName: who}})
	}
	clear(k.who)
}

// answer is what the DNS said of a hostname; no addresses when it said nothing, since silent without a break.
type answer struct {
	addresses  []string
	at, silent time.Time
}

// resolver gives all of an answer or nothing: of one whose half was lost, the other half would look like all.
var resolver = &net.Resolver{PreferGo: true, StrictErrors: true}

// lookups ask the DNS, and remember what it said for a while.
type lookups struct {
	// ask is that of resolver unless a test sets another.
	ask func(ctx context.Context, network, host string) ([]netip.Addr, error)
	asking[answer]
}

// lookUp asks the DNS what the load balancer's hostname means when that is due. left says that the home site's own
// process does that: two processes with different resolvers must not write down in turns what each was told.
func (v *serverView) lookUp(l *lookups, who types.NamespacedName, now time.Time, left bool) {
	host := hostnameOf(v.balancer)
	if host == "" {
		return
	}
	if r := recorded(v.balancer); left && r != nil && now.Sub(r.At) < leftToSite {
		return
	}
	// Many a resolver fails for the family that a name has no address of.
	network := "ip4"
	switch {
	case v.address == "":
		network = "ip"
	case isIPv6(v.address):
		network = "ip6"
	}
	v.looked = l.of(question[answer]{
		text: network + " " + host, who: who,
		again: func(a *answer) time.Duration {
			if len(a.addresses) == 0 {
				return lookUpAgain
			}
			return lookUpEvery
		},
		ask:  func(ctx context.Context, before *answer) answer { return l.resolve(ctx, network, host, now, before) },
		same: func(a, b answer) bool { return slices.Equal(a.addresses, b.addresses) },
	}, now)
	if v.looked != nil && now.Sub(v.looked.at) > leftToSite {
		// Another process has asked meanwhile, or nobody has.
		v.looked = nil
	}
}

func (l *lookups) resolve(ctx context.Context, network, host string, now time.Time, before *answer) answer {
	ask := l.ask
	if ask == nil {
		ask = resolver.LookupNetIP
	}
	ctx, cancel := context.WithTimeout(ctx, lookUpTimeout)
	defer cancel()
	// With the dot at its end the name is whole: no search domain of the pod is tried.
	found, err := ask(ctx, network, strings.TrimSuffix(host, ".")+".")
	a := answer{at: now}
	for _, address := range found {
		if address = address.Unmap(); err == nil && usable(address) {
			a.addresses = append(a.addresses, address.String())
		}
	}
	slices.Sort(a.addresses)
	a.addresses = slices.Compact(a.addresses)
	a.addresses = a.addresses[:min(len(a.addresses), maxResolved)]
	if len(a.addresses) == 0 {
		if a.silent = now; before != nil && len(before.addresses) == 0 && now.Sub(before.at) <= leftToSite {
			a.silent = before.silent
		}
	}
	return a
}
