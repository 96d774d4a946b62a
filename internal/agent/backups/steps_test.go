// SPDX-License-Identifier: Apache-2.0

package backups

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

func TestAStepThatFailedPausesAndEnds(t *testing.T) {
	g := NewWithT(t)
	now := noon
	s := newSteps(slog.New(slog.DiscardHandler), func() time.Time { return now })
	times := 0
	fails := func() error { times++; return errors.New("away") }
	s.try("logs", "take", fails)
	s.try("logs", "take", fails)
	g.Expect(times).To(Equal(1))
	now = now.Add(pauseLeast)
	s.try("logs", "take", fails)
	now = now.Add(pauseLeast)
	s.try("logs", "take", fails)
	g.Expect(times).To(Equal(2), "the pause doubles")
	g.Expect(s.failures()).To(HaveKeyWithValue("take", MatchError("away")))

	s.only("data", "other")
	s.only("logs")
	g.Expect(s.failures()).To(HaveLen(1), "its pause is not over")
	now = now.Add(pauseMost)
	s.only("logs", "take")
	s.only("data")
	g.Expect(s.failures()).To(HaveLen(1), "it is still to be done")
	s.try("logs", "take", func() error { return fmt.Errorf("%w: the full", errBusy) })
	g.Expect(s.failures()).To(HaveLen(1), "that it waits says nothing")
	s.only("logs")
	g.Expect(s.failures()).To(BeEmpty(), "nobody asks for it any more")

	s.try("logs", "take", fails)
	now = now.Add(pauseMost)
	s.try("logs", "take", func() error { return nil })
	g.Expect(s.failures()).To(BeEmpty())
	s.try("logs", "take", func() error { return context.Canceled })
	g.Expect(s.failures()).To(BeEmpty())
}

// One errand that fails holds up no other, and is tried again behind those that never failed.
func TestAnErrandThatFailsHoldsUpNoOther(t *testing.T) {
	g := NewWithT(t)
	now := noon
	s := newSteps(slog.New(slog.DiscardHandler), func() time.Time { return now })
	var did []string
	bad := map[string]bool{"a": true, "b": true}
	var all []errand
	for _, what := range []string{"a", "b", "c", "d"} {
		all = append(all, errand{what: what, do: func() error {
			did = append(did, what)
			if bad[what] {
				return errors.New("unreadable")
			}
			return nil
		}})
	}
	s.each(t.Context(), "send", nil, all)
	g.Expect(did).To(Equal([]string{"a", "b", "c", "d"}))
	g.Expect(s.failures()).To(HaveKeyWithValue("a", MatchError(And(ContainSubstring("unreadable"),
		ContainSubstring("with 1 more")))))
	g.Expect(s.failures()).To(HaveLen(1), "a backlog has thousands")
	did = nil
	s.each(t.Context(), "send", nil, all)
	g.Expect(did).To(Equal([]string{"c", "d"}), "those that failed pause")
	did, now = nil, now.Add(pauseMost)
	bad["a"] = false
	s.each(t.Context(), "send", nil, all)
	g.Expect(did).To(Equal([]string{"c", "d", "a", "b"}))
	now = now.Add(pauseMost)
	s.each(t.Context(), "send", nil, nil)
	g.Expect(s.failures()).To(BeEmpty())
}
