// SPDX-License-Identifier: Apache-2.0

package sites

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"
)

// TestPatience: a site that answers gets all the time, one that is silent little, and one that falls silent meanwhile
// no more.
func TestPatience(t *testing.T) {
	patience := Patience{Answering: 10 * time.Second, Silent: 3 * time.Second}
	never := time.Hour
	for name, c := range map[string]struct {
		silentFrom, within time.Duration
		early              bool
	}{
		"answers":                {silentFrom: never, within: 10 * time.Second},
		"silent from before":     {silentFrom: 0, within: 3 * time.Second, early: true},
		"falls silent meanwhile": {silentFrom: 6 * time.Second, within: 6*time.Second + lookAtHealth, early: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g, begin := NewWithT(t), time.Now()
				ctx, cancel := patience.wait(t.Context(), func() bool { return time.Since(begin) >= c.silentFrom })
				defer cancel()
				<-ctx.Done()
				g.Expect(time.Since(begin)).To(BeNumerically("<=", c.within))
				if !c.early {
					g.Expect(time.Since(begin)).To(Equal(c.within))
				}
				failed := errors.New("no answer")
				g.Expect(errors.Is(Explain(ctx, failed), ErrSilent)).To(Equal(c.early))
				g.Expect(Explain(ctx, failed)).To(MatchError(failed))
				g.Expect(Explain(ctx, nil)).To(Succeed())
			})
		})
	}
}

// TestPatienceOfCaller: a wait that its caller ends leaves nothing behind and gives no reason of its own.
func TestPatienceOfCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		ctx, cancel := Patience{Answering: time.Minute, Silent: time.Second}.wait(t.Context(), func() bool { return false })
		cancel()
		g.Expect(context.Cause(ctx)).To(MatchError(context.Canceled))
	})
}
