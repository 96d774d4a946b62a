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
