// SPDX-License-Identifier: Apache-2.0

package shape

import "time"

// Source gives uniform random values in [0, 1); *math/rand/v2.Rand is one.
type Source interface {
	Float64() float64
}

// Verdict is what a link does to one frame.
type Verdict struct {
	// Drop is true when the frame is lost; the other fields mean nothing then.
	Drop bool
	// Due is when the frame leaves, in the nanoseconds of the caller's clock.
	Due int64
	// Copies is how often it leaves: 1, or 2 for a duplicated frame.
	Copies int
	// Corrupt asks the caller to flip one bit.
	Corrupt bool
}

// Stage is one link with its memory: the time its last frame leaves and the
// state of its correlated random values. It is not safe for concurrent use.
type Stage struct {
	rule Rule
	// busy is when the link with a Rate has serialised all it accepted.
	busy       int64
	lossState  float64
	delayState float64
	sinceGap   int
}

// NewStage returns a link that follows the rule.
func NewStage(rule Rule) *Stage { return &Stage{rule: rule} }

// Rule returns the rule in force.
func (s *Stage) Rule() Rule { return s.rule }

// Change puts another rule in force for the frames to come. What the link has
// accepted stays accepted: a slower rule starts behind it. Where the rate
// limit is taken away or the link gets faster, the old backlog is forgotten.
func (s *Stage) Change(rule Rule) {
	if rule.Rate == 0 || rule.Rate > s.rule.Rate {
		s.busy = 0
	}
	s.rule = rule
}

// Arrive decides about a frame that enters the link at now, wire bytes long
// once it is segmented, while underway frames of the link wait to be released.
func (s *Stage) Arrive(now int64, wire, underway int, random Source) Verdict {
	r := &s.rule
	if r.Cut || r.Limit > 0 && underway >= r.Limit {
		return Verdict{Drop: true}
	}
	if r.Loss > 0 && correlated(r.LossCorrelation, &s.lossState, random) < r.Loss {
		return Verdict{Drop: true}
	}
	verdict := Verdict{Copies: 1}
	if r.Duplicate > 0 && random.Float64() < r.Duplicate {
		verdict.Copies = 2
	}
	if r.Corrupt > 0 && random.Float64() < r.Corrupt {
		verdict.Corrupt = true
	}
	leaves, accepted := s.serialise(now, wire*verdict.Copies)
	if !accepted {
		return Verdict{Drop: true}
	}
	verdict.Due = leaves + s.latency(random)
	return verdict
}

// serialise puts the frame on a link of the rule's rate, behind what is there
// already. Propagation comes after it, so that the rate holds whatever the
// delay and its jitter are.
func (s *Stage) serialise(now int64, wire int) (leaves int64, accepted bool) {
	if s.rule.Rate <= 0 {
		return now, true
	}
	// After a pause the link is ahead by as much time as a burst takes.
	ahead := int64(float64(s.rule.Burst) * 8e9 / s.rule.Rate)
	start := max(now-ahead, s.busy)
	buffer := s.rule.Buffer
	if buffer == 0 {
		buffer = s.rule.DefaultBuffer()
	}
	waiting := float64(max(start-now, 0)) * s.rule.Rate / 8e9
	// An idle link takes any frame, else a small buffer would never pass a
	// super-frame at all.
	if start > now && waiting+float64(wire) > float64(buffer) {
		return 0, false
	}
	s.busy = start + int64(float64(wire)*8e9/s.rule.Rate)
	return max(s.busy, now), true
}

func (s *Stage) latency(random Source) int64 {
	r := &s.rule
	if r.Reorder > 0 {
		s.sinceGap++
		if s.sinceGap >= max(r.Gap, 1) && random.Float64() < r.Reorder {
			s.sinceGap = 0
			return 0
		}
	}
	delay := r.Delay
	if r.Jitter > 0 {
		spread := 2*correlated(r.DelayCorrelation, &s.delayState, random) - 1
		delay += time.Duration(spread * float64(r.Jitter))
	}
	return int64(max(delay, 0))
}

// correlated draws a value in [0, 1) that depends on the one before it by rho,
// as get_crandom of sch_netem.c does.
func correlated(rho float64, state *float64, random Source) float64 {
	value := random.Float64()
	if rho == 0 {
		return value
	}
	*state = (1-rho)*value + rho**state
	return *state
}
