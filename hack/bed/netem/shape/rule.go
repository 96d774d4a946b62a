// SPDX-License-Identifier: Apache-2.0

// Package shape decides what happens to a frame on an emulated link: when it
// is released, how often, whether it is lost or damaged. It is a pure function
// of the frame's arrival time, its length and a random source; it never reads
// a clock and never touches the network.
//
// The model is that of Linux' sch_netem (tc-netem(8)): loss, then duplication,
// then delay with uniform jitter, then serialisation at a rate.
package shape

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Rule says what a link does to the frames that enter it, in one direction.
// The zero Rule changes nothing.
type Rule struct {
	// Delay is added to every frame, from 0 to MaxDelay.
	Delay time.Duration `json:"delay,omitempty"`
	// Jitter spreads the delay evenly over Delay-Jitter to Delay+Jitter, from
	// 0 to MaxDelay. What would leave before it arrives leaves at once. Frames
	// may overtake each other, as with netem.
	Jitter time.Duration `json:"jitter,omitempty"`
	// Loss is the share of frames dropped at random, 0 to 1.
	Loss float64 `json:"loss,omitempty"`
	// Duplicate is the share of frames sent twice, 0 to 1.
	Duplicate float64 `json:"duplicate,omitempty"`
	// Corrupt is the share of frames in which one bit is flipped, 0 to 1.
	Corrupt float64 `json:"corrupt,omitempty"`
	// Reorder is the share of frames released at once while the others wait
	// for Delay, 0 to 1. It needs a Delay.
	Reorder float64 `json:"reorder,omitempty"`
	// Gap lets only every Gap-th frame be a candidate for Reorder; 0 and 1
	// mean every frame.
	Gap int `json:"gap,omitempty"`
	// Rate is the speed of the link in bit/s, 0 for no limit, else MinRate to
	// MaxRate.
	Rate float64 `json:"rate,omitempty"`
	// Buffer is what may wait for a link with a Rate, in bytes; frames beyond
	// it are dropped. 0 takes DefaultBuffer.
	Buffer int64 `json:"buffer,omitempty"`
	// Burst is what a link with a Rate lets pass at once after a pause, in
	// bytes, as a token bucket does.
	Burst int64 `json:"burst,omitempty"`
	// Limit is the number of frames that may be under way, 0 for no limit.
	Limit int `json:"limit,omitempty"`
	// LossCorrelation and DelayCorrelation, 0 to 1, tie each random value to
	// the one before it (tc-netem(8), "correlation").
	LossCorrelation  float64 `json:"lossCorrelation,omitempty"`
	DelayCorrelation float64 `json:"delayCorrelation,omitempty"`
	// Cut drops every frame, queued ones included.
	Cut bool `json:"cut,omitempty"`
}

// Validate reports every value of the rule that is out of its range.
func (r Rule) Validate() error {
	var errs []error
	if r.Delay < 0 || r.Delay > MaxDelay {
		errs = append(errs, fmt.Errorf("delay %s is outside 0 to %s", r.Delay, MaxDelay))
	}
	if r.Jitter < 0 || r.Jitter > MaxDelay {
		errs = append(errs, fmt.Errorf("jitter %s is outside 0 to %s", r.Jitter, MaxDelay))
	}
	for _, share := range []struct {
		name  string
		value float64
	}{
		{"loss", r.Loss}, {"duplicate", r.Duplicate}, {"corrupt", r.Corrupt}, {"reorder", r.Reorder},
		{"loss correlation", r.LossCorrelation}, {"delay correlation", r.DelayCorrelation},
	} {
		if !(share.value >= 0 && share.value <= 1) {
			errs = append(errs, fmt.Errorf("%s %v is outside 0%% to 100%%", share.name, share.value))
		}
	}
	if r.Reorder > 0 && r.Delay == 0 {
		errs = append(errs, errors.New("reorder needs a delay: without one there is nothing to overtake"))
	}
	if r.Rate != 0 && !(r.Rate >= MinRate && r.Rate <= MaxRate) {
		errs = append(errs, fmt.Errorf("rate %v bit/s is outside %s to %s", r.Rate, FormatRate(MinRate), FormatRate(MaxRate)))
	}
	if r.Gap < 0 || r.Limit < 0 || r.Buffer < 0 || r.Burst < 0 {
		errs = append(errs, errors.New("gap, limit, buffer and burst must not be negative"))
	}
	return errors.Join(errs...)
}

// JitterWithinDelay refuses a jitter that would be cut off at one side, so
// that the mean were not the delay.
func (r Rule) JitterWithinDelay() error {
	if r.Jitter > r.Delay {
		return fmt.Errorf(
			"jitter %s is larger than the delay %s: give at most the delay",
			FormatDelay(r.Jitter),
			FormatDelay(r.Delay),
		)
	}
	return nil
}

// Transparent tells whether the rule leaves every frame as it is.
func (r Rule) Transparent() bool {
	return !r.Cut && r.Delay == 0 && r.Jitter == 0 && r.Loss == 0 && r.Duplicate == 0 && r.Corrupt == 0 && r.Rate == 0 &&
		r.Limit == 0
}

// PerPacket tells whether the rule draws a random value per packet on the
// wire, so that offloaded super-frames of many packets must be cut up first.
func (r Rule) PerPacket() bool {
	return r.Loss > 0 || r.Duplicate > 0 || r.Corrupt > 0 || r.Reorder > 0
}

// bufferSpan is how long a link's default buffer takes to drain where the
// delay is short; routers are commonly sized for a round trip of this order.
const bufferSpan = 50 * time.Millisecond

// minBuffer holds four offloaded super-frames of 64 KiB.
const minBuffer = 256 << 10

// DefaultBuffer is the size in bytes of the queue before a link with a Rate
// when the rule names none: one bandwidth-delay product of the round trip
// (twice Delay, at least 50 ms), at least 256 KiB.
func (r Rule) DefaultBuffer() int64 {
	span := max(2*r.Delay, bufferSpan)
	return max(minBuffer, int64(r.Rate/8*span.Seconds()))
}

// String writes the rule in the words of the netem command's flags.
func (r Rule) String() string {
	if r.Cut {
		return "cut"
	}
	var words []string
	add := func(name, value string) { words = append(words, name+" "+value) }
	if r.Delay > 0 {
		add("delay", FormatDelay(r.Delay))
	}
	if r.Jitter > 0 {
		add("jitter", FormatDelay(r.Jitter))
	}
	for _, share := range []struct {
		name  string
		value float64
	}{{"loss", r.Loss}, {"duplicate", r.Duplicate}, {"corrupt", r.Corrupt}, {"reorder", r.Reorder}} {
		if share.value > 0 {
			add(share.name, FormatPercent(share.value))
		}
	}
	if r.Rate > 0 {
		add("rate", FormatRate(r.Rate))
	}
	if len(words) == 0 {
		return "direct"
	}
	return strings.Join(words, " ")
}
