// SPDX-License-Identifier: Apache-2.0

package reconcile_test

import (
	"context"
	"errors"
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/reconcile"
)

// A step that takes something away is carried out only where all was read that makes it safe; else the plan fails
// there, and says why, so that no deletion takes itself for done.
func TestWithoutEvidenceNothingIsTakenAway(t *testing.T) {
	silent := errors.New("no answer from quisec-0")
	for name, c := range map[string]struct {
		seen reconcile.Evidence
		err  string
	}{
		"all was read":            {reconcile.Seen("it is empty", nil, nil), ""},
		"one did not answer":      {reconcile.Seen("it is empty", nil, silent), silent.Error()},
		"nobody has asked":        {reconcile.Evidence{}, "it was not read"},
		"what was seen is unsaid": {reconcile.Seen("", nil), "it was not read"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			var p reconcile.Plan
			p.Destroy(c.seen, word("drop it"))
			p.Add(word("next"))
			var done []string
			err := reconcile.InOrder(t.Context(), p.Steps, func(_ context.Context, s reconcile.Step) error {
				done = append(done, s.Describe())
				return nil
			})
			if c.err == "" {
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(done).To(Equal([]string{"drop it", "next"}))
				return
			}
			g.Expect(err).To(MatchError(And(ContainSubstring("drop it"), ContainSubstring(c.err))))
			g.Expect(done).To(BeEmpty())
		})
	}
}
