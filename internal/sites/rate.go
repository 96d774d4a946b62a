// SPDX-License-Identifier: Apache-2.0

package sites

import (
	"context"
	"sync/atomic"

	"golang.org/x/time/rate"
	"k8s.io/client-go/util/flowcontrol"
)

// Rate is how many requests a second one API server is sent at most, in bursts of twice as many. It follows what is
// declared while clients use it: one that was fixed when the manager began would bound how much can be declared. All
// clients of the API server share it; by themselves they would have one for each kind of object.
type Rate struct {
	// Least is what it is while little is declared.
	Least float64
	// PerServer and PerGroup are what one look at each takes, over the time between two.
	PerServer, PerGroup float64

	declared atomic.Pointer[float64]
}

// NewHubRate is what the manager may ask of the hub's API server.
func NewHubRate() *Rate { return &Rate{Least: 200, PerServer: 2, PerGroup: 4} }

// NewSiteRate is what the manager may ask of the API server of a site, all servers and groups being there.
func NewSiteRate() *Rate { return &Rate{Least: 100, PerServer: 2, PerGroup: 6} }

// Fix sets it to so many requests a second, whatever is declared.
func (r *Rate) Fix(qps float64) { r.Least, r.PerServer, r.PerGroup = qps, 0, 0 }

// Declare says how much is declared.
func (r *Rate) Declare(servers, groups int) {
	now := r.Least + r.PerServer*float64(servers) + r.PerGroup*float64(groups)
	r.declared.Store(&now)
}

// QPS is how many requests a second there may be now.
func (r *Rate) QPS() float64 {
	if now := r.declared.Load(); now != nil {
		return *now
	}
	return r.Least
}

// Limiter is the rate as one client keeps it. Clients that share a limiter share the rate.
func (r *Rate) Limiter() flowcontrol.RateLimiter {
	return &limiter{of: r, bucket: rate.NewLimiter(rate.Limit(r.QPS()), burst(r.QPS()))}
}

func burst(qps float64) int { return max(1, int(2*qps)) }

type limiter struct {
	of     *Rate
	bucket *rate.Limiter
}

// follow takes over a rate that has changed.
func (l *limiter) follow() {
	if now := l.of.QPS(); float64(l.bucket.Limit()) != now {
		l.bucket.SetLimit(rate.Limit(now))
		l.bucket.SetBurst(burst(now))
	}
}

// TryAccept takes a request if there may be one now.
func (l *limiter) TryAccept() bool {
	l.follow()
	return l.bucket.Allow()
}

// Accept waits until there may be a request.
func (l *limiter) Accept() { _ = l.Wait(context.Background()) }

// Wait waits until there may be a request, or ctx ends.
func (l *limiter) Wait(ctx context.Context) error {
	l.follow()
	return l.bucket.Wait(ctx)
}

// Stop does nothing.
func (l *limiter) Stop() {}

// QPS is how many requests a second there may be.
func (l *limiter) QPS() float32 { return float32(l.of.QPS()) }
