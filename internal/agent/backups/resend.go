// SPDX-License-Identifier: Apache-2.0

package backups

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// clear removes what a store has of a set that is to be sent again: a description beside new files, or the mark of the
// old ones, would say what is not so. That the store has it is taken back first, so that a crash in between ends in
// another sending.
func (r *runner) clear(ctx context.Context, c *catalog, s Send) error {
	if s.Damaged == nil {
		return nil
	}
	if err := r.mine(ctx, c); err != nil {
		return err
	}
	if err := r.sets.lost(s.Own, r.place(c.name)); err != nil {
		return err
	}
	if err := remove(ctx, c.store, Remove{Store: c.name, Set: s.Damaged}, r.now()); err != nil {
		return err
	}
	c.change(s.ID, func(Kept) *Kept { return nil })
	return nil
}

// lost notes that the store at a place does not have a set any more.
func (l *local) lost(o Own, place string) error {
	there, err := l.noteIn(o, func(in map[string]time.Time) { delete(in, place) })
	if err == nil && !there {
		err = errors.New("the backup volume does not have it any more")
	}
	if err != nil {
		return fmt.Errorf("note that the %s is not stored: %w", o.Set, err)
	}
	return nil
}
