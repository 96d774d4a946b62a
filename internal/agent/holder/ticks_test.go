// SPDX-License-Identifier: Apache-2.0

package holder

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/election/ballot"
)

// A deadline is told by the engine's count of milliseconds, too, once that was seen to go as the agent's own clock.
func TestTheEnginesCountIsReliedOnOnceItGoesAsOurs(t *testing.T) {
	g := NewWithT(t)
	e := &sqlEngine{}
	in := func(d time.Duration) int64 { return e.until(time.Now().Add(d)).Ticks }
	g.Expect(in(time.Second)).To(BeZero(), "nothing was read")
	boot := ballot.BootClock{}.Now()
	e.count(ticks{count: 5_000_000, at: boot - 20*time.Second})
	g.Expect(in(time.Second)).To(BeZero(), "it was read once")
	e.count(ticks{count: 5_010_000, at: boot - 10*time.Second})
	g.Expect(in(time.Second)).To(BeNumerically("~", 5_021_000, 500))
	e.count(ticks{count: 5_010_000, at: boot - 5*time.Second})
	g.Expect(in(time.Second)).To(BeZero(), "it stands still")
	e.count(ticks{count: 5_014_000, at: boot - time.Second})
	g.Expect(in(-3 * time.Second)).To(BeNumerically("~", 5_012_000, 500))
	e.count(ticks{count: 14_000, at: boot})
	g.Expect(in(time.Second)).To(BeZero(), "the machine was started anew")
}
