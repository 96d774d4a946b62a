// SPDX-License-Identifier: Apache-2.0

package ballot

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

// Which timings are safe: each bound holds up to the very moment.
func TestWhichTimingsAreSafe(t *testing.T) {
	g := NewWithT(t)
	sound := Timings{Expiry: 10 * time.Second, Renew: time.Second, APITimeout: time.Second, AgentRestart: 2 * time.Second,
		Acknowledge: 1500 * time.Millisecond, WriteLease: 6 * time.Second, Overrun: time.Second,
		Kill: 500 * time.Millisecond}
	g.Expect(sound.Check()).To(Succeed())
	for name, c := range map[string]struct {
		change func(*Timings)
		says   string
	}{
		"as long as the votes":  {func(t *Timings) { t.Expiry = 9 * time.Second }, ""},
		"longer than the votes": {func(t *Timings) { t.Expiry = 9*time.Second - 1 }, "vote expiry"},
		"longer by the overrun": {func(t *Timings) { t.Overrun = 2*time.Second + 1 }, "vote expiry"},
		"longer by the kill":    {func(t *Timings) { t.Kill = 1500*time.Millisecond + 1 }, "vote expiry"},
		"longer by drift":       {func(t *Timings) { t.Expiry, t.Drift = 9*time.Second, 0.01 }, "vote expiry"},
		"no lease":              {func(t *Timings) { t.WriteLease = 0 }, "whole seconds"},
		"a lease below 0":       {func(t *Timings) { t.WriteLease = -time.Second }, "whole seconds"},
		"a part of a second":    {func(t *Timings) { t.WriteLease += time.Millisecond }, "whole seconds"},
		"a restart as long as the lease": {
			func(t *Timings) { t.AgentRestart = 3500 * time.Millisecond }, "less than the write lease",
		},
		"a restart just below it":         {func(t *Timings) { t.AgentRestart = 3500*time.Millisecond - 1 }, ""},
		"a time-out as long as the bound": {func(t *Timings) { t.APITimeout = 1500 * time.Millisecond }, "API time-out"},
		"a time-out just below it":        {func(t *Timings) { t.APITimeout = 1500*time.Millisecond - 1 }, ""},
	} {
		timings := sound
		c.change(&timings)
		if c.says == "" {
			g.Expect(timings.Check()).To(Succeed(), name)
		} else {
			g.Expect(timings.Check()).To(MatchError(ContainSubstring(c.says)), name)
		}
	}
}

// A new group's votes outlive an engine that acts on the end of its lease as late as Microsoft's agent allows for.
func TestTheTimingsOfANewGroup(t *testing.T) {
	g := NewWithT(t)
	fresh := NewGroup()
	g.Expect(fresh.Check()).To(Succeed())
	g.Expect(fresh.Overrun).To(Equal(5 * time.Second))
	g.Expect(fresh.Tolerates()).To(Equal(5860 * time.Millisecond))
	g.Expect(fresh.Expiry).To(BeNumerically(">=", fresh.LeastExpiry()))
	same := DefaultTimings()
	same.Expiry, same.Overrun = fresh.Expiry, fresh.Overrun
	g.Expect(fresh).To(Equal(same), "nothing else differs")
	g.Expect(DefaultTimings().Tolerates()).To(Equal(1900 * time.Millisecond))
	fresh.Failover, fresh.Offline = time.Minute, time.Minute
	g.Expect(fresh.Safety()).To(Equal(NewGroup()))
}

// What the timings bound, to the nanosecond.
func TestWhatTimingsBound(t *testing.T) {
	g := NewWithT(t)
	timings := DefaultTimings()
	g.Expect(timings).To(Equal(Timings{Expiry: 10 * time.Second, Renew: time.Second, APITimeout: time.Second,
		AgentRestart: 2 * time.Second, Acknowledge: 1500 * time.Millisecond, WriteLease: 6 * time.Second,
		Overrun: time.Second, Kill: 500 * time.Millisecond, Drift: 0.01}))
	g.Expect(timings.HolderBound()).To(Equal(9900 * time.Millisecond))
	g.Expect(timings.SuspectAfter()).To(Equal(10100 * time.Millisecond))
	g.Expect(timings.FailoverWithin()).To(Equal(15 * time.Second))
	timings.Failover = time.Minute
	g.Expect(timings.FailoverWithin()).To(Equal(time.Minute))
	g.Expect(timings.OfflineWithin()).To(Equal(15 * time.Second))
	timings.Offline = 2 * time.Second
	g.Expect(timings.OfflineWithin()).To(Equal(2 * time.Second))
	g.Expect(timings.BegunWithin()).To(Equal(3*time.Second), "BecomeWithin is longer")
	timings.Acknowledge = 4 * time.Second
	g.Expect(timings.BegunWithin()).To(Equal(4 * time.Second))
}

// The least expiry is the first tenth of a second with which the timings are safe.
func TestTheLeastExpiryIsSafe(t *testing.T) {
	for drift, least := range map[float64]time.Duration{0: 9 * time.Second, 0.01: 9100 * time.Millisecond,
		0.1: 10 * time.Second} {
		g := NewWithT(t)
		timings := DefaultTimings()
		timings.Drift = drift
		g.Expect(timings.LeastExpiry()).To(Equal(least), "drift %v", drift)
		timings.Expiry = least
		g.Expect(timings.Check()).To(Succeed(), "drift %v", drift)
		timings.Expiry -= 100 * time.Millisecond
		g.Expect(timings.Check()).To(MatchError(ContainSubstring("vote expiry")), "drift %v", drift)
	}
	longer := DefaultTimings()
	longer.Acknowledge, longer.WriteLease, longer.Overrun, longer.Kill, longer.Drift = 2*time.Second, 20*time.Second,
		3*time.Second, 4*time.Second, 0
	NewWithT(t).Expect(longer.LeastExpiry()).To(Equal(29 * time.Second))
}
