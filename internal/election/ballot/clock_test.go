// SPDX-License-Identifier: Apache-2.0

package ballot_test

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/election/ballot"
)

// The machine's clock goes on while somebody sleeps, and a sleep ends with its context.
func TestTheClockOfTheMachine(t *testing.T) {
	g := NewWithT(t)
	var clock ballot.BootClock
	before := clock.Now()
	g.Expect(before).To(BeNumerically(">", 0))
	g.Expect(clock.Sleep(t.Context(), time.Millisecond)).To(Succeed())
	g.Expect(clock.Now()).To(BeNumerically(">=", before+time.Millisecond))
	ended, end := context.WithCancel(t.Context())
	end()
	g.Expect(clock.Sleep(ended, time.Hour)).To(MatchError(context.Canceled))
	g.Expect(clock.Wall()).To(BeTemporally("~", time.Now(), time.Minute))
}
