// SPDX-License-Identifier: Apache-2.0

package mssql

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"
)

// The first full backup of a large database takes hours: it is cut off where it gets no further alone.
func TestAStatementGoesOnAsLongAsItMoves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, begun, l := NewWithT(t), time.Now(), newLasting()
		defer l.end()
		lasts := func(d time.Duration) func(context.Context) error {
			return func(ctx context.Context) error {
				select {
				case <-time.After(d):
					return nil
				case <-ctx.Done():
					return ctx.Err()
				}
			}
		}
		moves := func(context.Context) string { return fmt.Sprint(time.Since(begun) / (20 * time.Minute)) }
		stays := func(context.Context) string { return "[0]" }
		w := work{owner: "a"}
		r := l.start(w, lasts(7*time.Hour), moves)
		<-r.done
		g.Expect(l.take(w, r)).To(Succeed())
		at := time.Now()
		r = l.start(w, lasts(7*time.Hour), stays)
		<-r.done
		g.Expect(l.take(w, r)).To(MatchError(context.DeadlineExceeded))
		g.Expect(time.Since(at)).To(BeNumerically("~", stillFor, time.Minute))
	})
}
