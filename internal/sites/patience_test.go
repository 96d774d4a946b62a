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

// TestWhoIsAskedInVainIsNotAskedByEachObject: at a silent site one object waits for an engine or the API server, and
// the others do not for a while; who answers, and whoever else is there, is asked.
func TestWhoIsAskedInVainIsNotAskedByEachObject(t *testing.T) {
	patience := Patience{Answering: 10 * time.Second, Silent: 4 * time.Second}
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		var v vain
		heartbeatFails := true
		silent := func() bool { return heartbeatFails }
		ask := func(of string, answersAfter time.Duration) (waited time.Duration, err error) {
			begin := time.Now()
			ctx, cancel := v.wait(t.Context(), vainly{"dublin", of}, patience, silent)
			defer cancel()
			select {
			case <-ctx.Done():
				return time.Since(begin), Explain(ctx, context.Cause(ctx))
			case <-time.After(answersAfter):
				return time.Since(begin), nil
			}
		}
		waited, err := ask("tukpub-0", time.Hour)
		g.Expect(err).To(MatchError(ErrSilent))
		g.Expect(waited).To(Equal(patience.Silent))
		for range 20 {
			waited, err = ask("tukpub-0", time.Hour)
			g.Expect(err).To(MatchError(ErrSilent))
			g.Expect(waited).To(BeZero(), "another object has asked it in vain a moment ago")
		}
		waited, err = ask("quisec-0", time.Second)
		g.Expect(err).NotTo(HaveOccurred(), "another engine there answers, although the API server does not")
		g.Expect(waited).To(Equal(time.Second))

		time.Sleep(askAgain)
		waited, err = ask("tukpub-0", time.Second)
		g.Expect(err).NotTo(HaveOccurred(), "it is asked from time to time, and answers now")
		g.Expect(waited).To(Equal(time.Second))
		_, err = ask("tukpub-0", time.Second)
		g.Expect(err).NotTo(HaveOccurred())

		_, err = ask("tukpub-0", time.Hour)
		g.Expect(err).To(MatchError(ErrSilent))
		heartbeatFails = false
		_, err = ask("tukpub-0", time.Second)
		g.Expect(err).NotTo(HaveOccurred(), "a site that is back is asked at once")
	})
}
