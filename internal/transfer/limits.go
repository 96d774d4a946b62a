// SPDX-License-Identifier: Apache-2.0

package transfer

import (
	"context"
	"sync"

	"golang.org/x/time/rate"
)

// Compression says when the source compresses chunks.
type Compression string

const (
	// Auto compresses while that brings bytes sooner: not what does not shrink, and not where the link takes bytes faster
	// than the processor packs them.
	Auto Compression = "Auto"
	// Always compresses every chunk that shrinks.
	Always Compression = "Always"
	// Never compresses nothing.
	Never Compression = "Never"
)

const (
	// DefaultWorkers and MaxWorkers are how many streams a sidecar receives at the same time, and how many chunks it reads
	// and packs for those to whom it sends. Each takes up to 10 MiB of a sidecar's 256 MiB.
	DefaultWorkers = 4
	MaxWorkers     = 8
	// maxStreams are how many streams a sidecar sends at the same time: each has a chunk on its way, up to 4 MiB.
	maxStreams = 12
	// readers are how many read whole files at the same time, for what is in them.
	readers = 2
	// burst is what may come at once under a rate, in bytes; readers take no more in one go.
	burst = 32 << 10
)

// Settings of the transfers of a sidecar.
type Settings struct {
	// Workers are the streams at the same time, 1 to MaxWorkers; DefaultWorkers when it is 0.
	Workers int `json:"workers,omitempty"`
	// MaxRate bounds what all transfers together receive, in bytes per second as they come over the link; 0 for no bound.
	MaxRate int64 `json:"maxRate,omitempty"`
	// Compression of what is received; Auto when it is empty.
	Compression Compression `json:"compression,omitempty"`
}

// Staging bounds what a sidecar keeps of files that it receives, or has received.
type Staging struct {
	// Quota is what it may take, in bytes; 0 for no bound.
	Quota int64 `json:"quota,omitempty"`
	// High and Low are parts of it in percent: above High what nobody needs is removed, until it takes Low.
	High int `json:"high,omitempty"`
	Low  int `json:"low,omitempty"`
}

// Watermarks are High and Low in bytes.
func (s Staging) Watermarks() (high, low int64) {
	part := func(percent int) int64 { return s.Quota/100*int64(percent) + s.Quota%100*int64(percent)/100 }
	return part(s.High), part(s.Low)
}

// Strictest are the settings that hold where several were told: for the moment in which they change.
func Strictest(all []Settings) Settings {
	var s Settings
	for i, one := range all {
		if i == 0 {
			s = one
			continue
		}
		s.Workers = least(s.Workers, one.Workers)
		s.MaxRate = least(s.MaxRate, one.MaxRate)
		if s.Compression != one.Compression {
			s.Compression = Auto
		}
	}
	return s
}

// least is the smaller of two bounds, of which 0 is none.
func least[T int | int64](a, b T) T {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// Limits hold over all transfers of a sidecar: one for what it receives, one for what it sends.
type Limits struct {
	gate gate
	// disk is for who looks through files on this side.
	disk gate
	rate *rate.Limiter

	mu          sync.Mutex
	compression Compression
}

// NewLimits are those of the defaults.
func NewLimits() *Limits {
	l := &Limits{rate: rate.NewLimiter(rate.Inf, burst)}
	l.disk.resize(readers)
	l.Set(Settings{})
	return l
}

// Set replaces the settings. What is under way goes on; the rate holds at once.
func (l *Limits) Set(s Settings) {
	if s.Workers <= 0 {
		s.Workers = DefaultWorkers
	}
	l.gate.resize(min(s.Workers, MaxWorkers))
	bound := rate.Inf
	if s.MaxRate > 0 {
		bound = rate.Limit(s.MaxRate)
	}
	if l.rate.Limit() != bound {
		l.rate.SetLimit(bound)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.compression = s.Compression
	if l.compression == "" {
		l.compression = Auto
	}
}

// Enter waits for a worker for who, a source: the one that holds the fewest is next. Leave gives it back.
func (l *Limits) Enter(ctx context.Context, who string) error { return l.gate.enter(ctx, who) }

// Leave gives a worker of who back.
func (l *Limits) Leave(who string) { l.gate.leave(who) }

// Reading does what reads whole files on this side for who, a source, when it is its turn. It is not asked for from
// within another turn.
func (l *Limits) Reading(ctx context.Context, who string, do func() error) error {
	if err := l.disk.enter(ctx, who); err != nil {
		return err
	}
	defer l.disk.leave(who)
	return do()
}

// Wait holds up who has received n bytes, at most 32 KiB, until the rate allows more.
func (l *Limits) Wait(ctx context.Context, n int) error { return l.rate.WaitN(ctx, n) }

// how the source is to compress.
func (l *Limits) how() Compression {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.compression
}
