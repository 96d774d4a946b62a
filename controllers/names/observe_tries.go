// SPDX-License-Identifier: Apache-2.0

package names

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql/credentials"
)

const (
	// tryTimeout bounds one connection, tryPause is between two rounds of them, of which there are tryRounds before it is
	// looked again whether there is still something to try.
	tryTimeout = 2 * time.Second
	tryPause   = 3 * time.Second
	tryRounds  = 10
	// tryStill is how long a connection has to stay: a proxy takes it, and closes it when nothing is behind.
	tryStill = time.Second
	// tryNothing is after how many rounds without an answer by either way the load balancer is no worse than what is left.
	tryNothing = 3
	// tryAgain is when it is tried again after nobody answered.
	tryAgain = time.Minute
	// openAfter is after how long the manager leads a site whose own process is not there to a load balancer untried.
	// Clouds take up to five minutes to forward.
	openAfter = 5 * time.Minute
)

// untried are the former ways to the server, which a site that is led there keeps while it has not been found that the
// load balancer forwards: that has an address before it does.
func (v *serverView) untried(from v1alpha1.SiteName) []string {
	if from == v.home || v.exposure != v1alpha1.ExposureLoadBalancer || v.opened == nil || len(v.declared(from)) == 0 ||
		v.opened(from, v) {
		return nil
	}
	return endpointKeys(v.former())
}

// trial is a server that is reached by its former ways, as far as a name leads there, until its declared one has been
// found to forward.
type trial struct{ declared, former []endpoint }

// lead has a name lead from a site to a server.
func (n *name) lead(from v1alpha1.SiteName, v *serverView) {
	if len(v.untried(from)) > 0 {
		n.trials = append(n.trials, trial{v.declared(from), v.former()})
		return
	}
	n.endpoints = append(n.endpoints, v.reach(from)...)
}

// trying is a server's load balancer at the addresses that it has.
func (v *serverView) trying(namespace string) string {
	return fmt.Sprintf("%s/%s %s", namespace, v.name, strings.Join(endpointKeys(v.balanced()), " "))
}

// tries find out, at a site, whether load balancers of other sites forward. The home's own try would not tell: its
// nodes short-cut the way to a load balancer's address, or do not get back in by it.
type tries struct {
	// connects is connects unless a test sets another; pause is tryPause.
	connects func(ctx context.Context, address string) bool
	pause    time.Duration
	asking[found]
}

// found is what a try finds.
type found int

const (
	worse    found = iota // a former way answers, and the load balancer does not
	neither               // nobody answers by any way
	forwards              // the load balancer forwards
)

func (f found) opens() bool { return f != worse }

// opened tells whether a server's load balancer has been found to forward from this site.
func (t *tries) opened(namespace string) func(v1alpha1.SiteName, *serverView) bool {
	return func(_ v1alpha1.SiteName, v *serverView) bool {
		balanced, former := v.balanced(), v.former()
		if v.hasNodePorts() {
			// Its pod's address may be another's here.
			former = slices.DeleteFunc(former, func(e endpoint) bool { return e.targets == nil })
		}
		if !v.ready {
			// That nobody answers says nothing before the server is there.
			return false
		}
		last := t.of(question[found]{
			text: v.trying(namespace) + " " + strings.Join(endpointKeys(former), " "),
			who:  types.NamespacedName{Name: namespace},
			again: func(last *found) time.Duration {
				switch *last {
				case forwards:
					return math.MaxInt64
				case neither:
					return tryAgain
				}
				return 0
			},
			ask:  func(ctx context.Context, _ *found) found { return t.try(ctx, balanced, former) },
			same: func(a, b found) bool { return a.opens() == b.opens() },
		}, v.now)
		return last != nil && last.opens()
	}
}

// try tells whether a load balancer forwards what the former ways do: a policy may keep this process from a port by
// either of them. The agent's port is tried first, for the engine writes down who connects and says nothing.
func (t *tries) try(ctx context.Context, balanced, former []endpoint) found {
	dial, pause := connects, tryPause
	if t.connects != nil {
		dial, pause = t.connects, t.pause
	}
	open := func(e endpoint, p port) bool { return dial(ctx, e.at(p)) }
	nothing := 0
	for range tryRounds {
		answers := false
		for _, p := range []port{{"agent", credentials.AgentPort, credentials.AgentPort}, {portTDS, PortTDS, PortTDS}} {
			if !slices.ContainsFunc(balanced, func(e endpoint) bool { return !open(e, p) }) {
				return forwards
			}
			if answers = slices.ContainsFunc(former, func(e endpoint) bool { return open(e, p) }); answers {
				break
			}
		}
		if nothing++; answers {
			nothing = 0
		}
		if nothing == tryNothing {
			return neither
		}
		select {
		case <-ctx.Done():
			return worse
		case <-time.After(pause):
		}
	}
	return worse
}

// at is where a port is at an endpoint.
func (e endpoint) at(p port) string {
	target := p.target
	if e.targets != nil {
		target = e.targets[p.name]
	}
	return net.JoinHostPort(e.address, strconv.Itoa(int(target)))
}

// connects tells that somebody takes a connection, and keeps it.
func connects(ctx context.Context, address string) bool {
	c, err := (&net.Dialer{Timeout: tryTimeout}).DialContext(ctx, "tcp", address)
	if err != nil {
		return false
	}
	defer func() { _ = c.Close() }()
	if c.SetReadDeadline(time.Now().Add(tryStill)) != nil {
		return false
	}
	_, err = c.Read(make([]byte, 1))
	return err == nil || errors.Is(err, os.ErrDeadlineExceeded)
}

// delays are since when the manager has seen load balancers at their addresses, for sites that cannot try them.
type delays struct {
	mu    sync.Mutex
	since map[string]time.Time
}

// opened tells whether a site is led to a server's load balancer. A site whose own process is there tries it: either
// way is right until it has. Such a process that goes may have found that nothing is forwarded: the delay begins anew.
func (d *delays) opened(namespace string, views []*siteView) func(v1alpha1.SiteName, *serverView) bool {
	return func(from v1alpha1.SiteName, v *serverView) bool {
		tried := slices.ContainsFunc(views, func(s *siteView) bool { return s.name == from && s.keeps && s.declares })
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.since == nil {
			d.since = map[string]time.Time{}
		}
		key := string(from) + " " + v.trying(namespace)
		if since, known := d.since[key]; known && !tried {
			return v.now.Sub(since) >= openAfter
		}
		d.since[key] = v.now
		return false
	}
}
