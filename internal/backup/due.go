// SPDX-License-Identifier: Apache-2.0

package backup

import (
	"time"
)

// Times tells the next time after one; zero is never.
type Times interface {
	Next(after time.Time) time.Time
}

// Every is a fixed time between two.
type Every time.Duration

// Next implements Times.
func (e Every) Next(after time.Time) time.Time { return after.Add(time.Duration(e)) }

// Schedules say when backups of a database are taken; nil is never.
type Schedules struct {
	Full, Differential, Log Times
	// CopyOnly says that full backups are copies, so that differentials have no base.
	CopyOnly bool
}

// Due is a backup that is to be taken.
type Due struct {
	Kind Kind
	// Since is when it was due; the zero time is at once, as nothing restores the database without it.
	Since time.Time
	// Reason for people.
	Reason string
}

// Data is the full or differential backup of one database that is due, by the backups that are known of it. One that
// was due several times is due once.
func (s Schedules) Data(known []Set, now time.Time) *Due {
	full := newest(known, func(x Set) bool { return x.Kind == Full })
	switch {
	case s.Full == nil:
		return nil
	case full == nil:
		return &Due{Kind: Full, Reason: "there is none yet"}
	case !s.CopyOnly && full.CopyOnly && newest(known, func(x Set) bool { return x.Kind == Full && !x.CopyOnly }) == nil &&
		s.Differential != nil:
		return &Due{Kind: Full, Reason: "differentials need one that is no copy"}
	case broken(known):
		return &Due{Kind: Full, Reason: "the backups of the log do not go on from any that is there"}
	}
	if at := s.Full.Next(full.Begun); due(at, now) {
		return &Due{Kind: Full, Since: at, Reason: "by its schedule"}
	}
	if s.Differential == nil || s.CopyOnly {
		return nil
	}
	base := newest(known, func(x Set) bool { return x.Kind == Full && !x.CopyOnly })
	if base == nil {
		return nil
	}
	last := newest(known, func(x Set) bool { return x.Kind == Differential && x.BaseID == base.ID })
	from := base.Begun
	if last != nil {
		from = later(from, last.Begun)
	}
	if at := s.Differential.Next(from); due(at, now) {
		return &Due{Kind: Differential, Since: at, Reason: "by its schedule"}
	}
	return nil
}

// LogBackup is the backup of the log that is due. There is none before a full backup: nothing could be restored with
// it, and the engine refuses it (4214).
func (s Schedules) LogBackup(known []Set, now time.Time) *Due {
	if newest(known, func(x Set) bool { return x.Kind == Full }) == nil {
		return nil
	}
	return s.LogUnseen(known, now)
}

// LogUnseen is the backup of the log that is due while nobody can look which full backups there are: the log must not
// fill meanwhile.
func (s Schedules) LogUnseen(known []Set, now time.Time) *Due {
	if s.Log == nil {
		return nil
	}
	last := newest(known, func(x Set) bool { return x.Kind == Log })
	if last == nil {
		return &Due{Kind: Log, Reason: "there is none yet"}
	}
	if at := s.Log.Next(last.Begun); due(at, now) {
		return &Due{Kind: Log, Since: at, Reason: "by its schedule"}
	}
	return nil
}

func due(at, now time.Time) bool { return !at.IsZero() && !at.After(now) }

// broken says whether the newest backup of the log is in no chain: after a forced failover, say, or when one between
// was lost.
func broken(known []Set) bool {
	last := newest(known, func(x Set) bool { return x.Kind == Log })
	if last == nil {
		return false
	}
	if full := newest(known, func(x Set) bool { return x.Kind == Full }); full != nil && full.Begun.After(last.Finished) {
		return false
	}
	chain, missing := restoring(known, Target{})
	return missing != "" || chain.Until.Before(last.end())
}

// newest is the one that began last of those that can be read.
func newest(sets []Set, is func(Set) bool) *Set {
	var found *Set
	for i, s := range sets {
		if !s.Damaged && is(s) && (found == nil || s.Begun.After(found.Begun)) {
			found = &sets[i]
		}
	}
	return found
}
