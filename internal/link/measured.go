// SPDX-License-Identifier: Apache-2.0

package link

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"geosql.dev/operator/api/v1alpha1"
)

// MeasuredFor is how long a round trip counts after it was measured. What is older says nothing of the link.
const MeasuredFor = 10 * time.Minute

// Slower tells whether a measured round trip is clearly over the declared one: from a quarter and 10 ms over it on, and
// then until it is no more than an eighth, or 5 ms, over it. Below that it may be the machines that take the time.
func Slower(declared, measured time.Duration, was bool) bool {
	if declared <= 0 || measured <= 0 {
		return false
	}
	over := measured - declared
	if was {
		return over > max(declared/8, 5*time.Millisecond)
	}
	return over > max(declared/4, 10*time.Millisecond)
}

// Narrow tells whether a window is clearly too small for one connection to fill the link: from less than three quarters
// of what is on its way then on, and until it is nine tenths. What no buffer holds that is set is not asked for:
// several connections fill such a link.
func (l Link) Narrow(window int64, was bool) bool {
	product := float64(min(l.Product(), MostWindow))
	if window <= 0 || product <= 0 {
		return false
	}
	if was {
		return float64(window) < 0.9*product
	}
	return float64(window) < 0.75*product
}

// Stream is what bounds one connection over the link that nothing makes wait, and how many bits a second it carries
// then. A window of 0 bounds nothing.
func (l Link) Stream(window int64) (Bound, float64) {
	wide, roundTrip := BitsPerSecond(l.Bandwidth), l.RoundTrip.Seconds()
	if wide <= 0 || roundTrip <= 0 {
		return BoundUnknown, 0
	}
	if carried := float64(window) * 8 / roundTrip; window > 0 && carried < wide {
		return BoundWindow, carried
	}
	return BoundBandwidth, wide
}

// Measured is a round trip to another site that a server's agent has measured.
type Measured struct {
	To v1alpha1.SiteName
	// Peer is the server there.
	Peer      v1alpha1.ServerName
	RoundTrip time.Duration
	At        time.Time
}

// Heard is what servers' agents have measured, as this manager has last heard it. A nil one has heard nothing. It is
// safe for concurrent use.
type Heard struct {
	mu  sync.Mutex
	all map[types.NamespacedName][]Measured
}

// Note keeps what a server's agent says now; nothing is an answer, too: what it measured before counts no more.
func (h *Heard) Note(server types.NamespacedName, measured []Measured) {
	if h == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.all == nil {
		h.all = map[types.NamespacedName][]Measured{}
	}
	h.all[server] = measured
}

// Of is what a server's agent said last, and whether it was heard at all.
func (h *Heard) Of(server types.NamespacedName) (measured []Measured, heard bool) {
	if h == nil {
		return nil, false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	measured, heard = h.all[server]
	return measured, heard
}

// Forget is for a server that is no more.
func (h *Heard) Forget(server types.NamespacedName) {
	if h == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.all, server)
}
