// SPDX-License-Identifier: Apache-2.0

package backups

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"geosql.dev/operator/internal/backup/store"
)

// errand is one of many that a lane has to do, each a step of its own.
type errand struct {
	what string
	// folder in the store that it concerns; empty where no store has part.
	folder string
	do     func() error
}

// each does the errands of a lane. One that fails holds up no other: it is tried again after its pause, behind those
// that did not fail. While the store does not answer nothing is tried there, and the lane is what fails. Whether it
// answers is told by a list of the errand's folder, not by the error: one object that cannot be read, or written, fails
// in as many ways as a store that is away.
func (s *steps) each(ctx context.Context, lane string, in *store.Store, all []errand) {
	asked := []string{}
	for _, e := range all {
		asked = append(asked, e.what)
	}
	if len(all) > 0 {
		asked = append(asked, lane)
	}
	s.only(lane, asked...)
	for _, e := range s.failedLast(all) {
		if ctx.Err() != nil {
			return
		}
		s.try(lane, lane, func() error {
			away := errBusy // it says nothing as long as nothing was asked
			s.tryErrand(lane, e.what, func() error {
				err := e.do()
				if away = nil; err == nil || in == nil || ctx.Err() != nil {
					return err
				}
				if _, none := in.List(ctx, e.folder+"/"); none != nil {
					away = errors.Join(fmt.Errorf("%s: %w", e.what, err), none)
					return errBusy
				}
				return err
			})
			return away
		})
	}
}

// tryErrand is try for one of many of a lane.
func (s *steps) tryErrand(lane, what string, do func() error) {
	s.try(lane, what, do)
	s.mu.Lock()
	defer s.mu.Unlock()
	if f, failed := s.failing[what]; failed {
		f.Errand = true
		s.failing[what] = f
	}
}

// failedLast are the errands with those behind that failed the last time, the fewest times first.
func (s *steps) failedLast(all []errand) []errand {
	s.mu.Lock()
	defer s.mu.Unlock()
	times := map[string]int{}
	for _, e := range all {
		times[e.what] = s.failing[e.what].Times
	}
	sorted := slices.Clone(all)
	slices.SortStableFunc(sorted, func(a, b errand) int { return times[a.what] - times[b.what] })
	return sorted
}
