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

const (
	// ahead is how far the clocks of two servers are apart at most. A set that was begun later than so far from now was
	// taken by a clock that was wrong: it says nothing about when the next is due, or none would be until then.
	ahead = 5 * time.Minute
	// holeGrace is how long a hole in the log is one that will be filled: the set between is on the volume of another
	// server, and on its way. Log backups are small, and an interval of the longest usual is waited for.
	holeGrace = 15 * time.Minute
)

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
	full := newest(known, now, isFull)
	base := newest(known, now, func(x Set) bool { return isFull(x) && !x.CopyOnly })
	switch {
	case s.Full == nil:
		return nil
	case full == nil:
		return &Due{Kind: Full, Reason: "there is none yet"}
	case !s.CopyOnly && base == nil && s.Differential != nil:
		return &Due{Kind: Full, Reason: "differentials need one that is no copy"}
	}
	if since := hole(known, now); !since.IsZero() && due(since.Add(holeGrace), now) {
		return &Due{Kind: Full, Since: since.Add(holeGrace), Reason: "the backups of the log do not go on from any that is " +
			"there"}
	}
	if at := s.Full.Next(full.Begun); due(at, now) {
		return &Due{Kind: Full, Since: at, Reason: "by its schedule"}
	}
	if s.Differential == nil || s.CopyOnly {
		return nil
	}
	return s.differential(known, *base, now)
}

// differential is the one that is due after a base, the newest that is there. The engine's own base may be another: one
// that somebody else took, that is damaged, or that lies at a server which is away. What it would take then restores
// nothing, however often: a full backup is due.
func (s Schedules) differential(known []Set, base Set, now time.Time) *Due {
	last := newest(known, now, func(x Set) bool { return x.Kind == Differential })
	from := base.Begun
	if last != nil && last.Begun.After(base.Begun) {
		if last.BaseID != base.ID {
			return &Due{Kind: Full, Since: last.Finished, Reason: "differentials are of a base that is not there"}
		}
		from = last.Begun
	}
	if at := s.Differential.Next(from); due(at, now) {
		return &Due{Kind: Differential, Since: at, Reason: "by its schedule"}
	}
	return nil
}

// LogBackup is the backup of the log that is due. There is none before a full backup: nothing could be restored with
// it, and the engine refuses it (4214).
func (s Schedules) LogBackup(known []Set, now time.Time) *Due {
	if newest(known, now, isFull) == nil {
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
	last := newest(known, now, func(x Set) bool { return x.Kind == Log })
	if last == nil {
		return &Due{Kind: Log, Reason: "there is none yet"}
	}
	if at := s.Log.Next(last.Begun); due(at, now) {
		return &Due{Kind: Log, Since: at, Reason: "by its schedule"}
	}
	return nil
}

func due(at, now time.Time) bool { return !at.IsZero() && !at.After(now) }

func isFull(s Set) bool { return s.Kind == Full }

// newest is the one that began last of those that can be read, and that were not begun ahead of now.
func newest(sets []Set, now time.Time, is func(Set) bool) *Set {
	var found *Set
	for i, s := range sets {
		if !s.Damaged && !s.Begun.After(now.Add(ahead)) && is(s) && (found == nil || s.Begun.After(found.Begun)) {
			found = &sets[i]
		}
	}
	return found
}
