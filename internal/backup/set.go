// SPDX-License-Identifier: Apache-2.0

// Package backup knows what backup sets mean together: which of them restore a database to a moment (Chain), between
// which moments it can be restored at all (Windows), and which are kept, and what for (Needed). It knows no engine, no
// store and no clock; positions in the log and identities are those that RESTORE HEADERONLY shows.
package backup

import (
	"fmt"
	"strings"
	"time"
)

// Kind of a backup set.
type Kind string

const (
	// Full is a backup of the whole database.
	Full Kind = "Full"
	// Differential has what was changed since the full backup that is its base.
	Differential Kind = "Differential"
	// Log has the log since the log backup before it.
	Log Kind = "Log"
)

// LSN is a log sequence number as SQL Server shows it, numeric(25,0); empty is none.
type LSN string

// Compare is -1, 0 or 1 as the position is before, at or behind another. None is before all.
func (l LSN) Compare(other LSN) int {
	a, b := strings.TrimLeft(string(l), "0"), strings.TrimLeft(string(other), "0")
	if len(a) != len(b) {
		if len(a) < len(b) {
			return -1
		}
		return 1
	}
	return strings.Compare(a, b)
}

// Set is one backup set. Names and meanings of the positions are those of RESTORE HEADERONLY
// (docs/t-sql/statements/restore-statements-headeronly-transact-sql.md).
type Set struct {
	// ID is the set's BackupSetGUID, which no other set has.
	ID string `json:"id"`
	// Kind is Full, Differential or Log.
	Kind Kind `json:"kind"`
	// Database is its name; Family its FamilyGUID: a database that was made anew under the name has another. One that is
	// restored keeps it, under whatever name, so that several databases may have the same; see Identity.
	Database string `json:"database"`
	Family   string `json:"family"`
	// CopyOnly says that it is no base of a differential, and ended no log chain.
	CopyOnly bool `json:"copyOnly,omitempty"`
	// FirstLSN is the oldest position that it has, LastLSN the one after its last. A full or differential backup is
	// restored to LastLSN.
	FirstLSN LSN `json:"firstLSN"`
	LastLSN  LSN `json:"lastLSN"`
	// BaseID is, of a differential, the ID of the full backup that it needs (DifferentialBaseGUID).
	BaseID string `json:"baseID,omitempty"`
	// FirstFork and Fork are the recovery forks in which the set begins and ends (FirstRecoveryForkID, RecoveryForkID). A
	// database gets another at a forced failover and at each recovery of a restored one; ForkLSN is where they part.
	FirstFork string `json:"firstFork,omitempty"`
	Fork      string `json:"fork"`
	ForkLSN   LSN    `json:"forkLSN,omitempty"`
	// Begun and Finished are when it was taken.
	Begun    time.Time `json:"begun"`
	Finished time.Time `json:"finished"`
	// Until is, of a log backup, the newest moment to which it restores (last_valid_restore_time). Every commit until then
	// that the server had is in it.
	Until time.Time `json:"until,omitzero"`
	// BulkLogged says, of a log backup, that it has changes which were logged in bulk: a restore cannot stop within it.
	BulkLogged bool `json:"bulkLogged,omitempty"`
	// Damaged says that a reading of it did not give what was written: it restores nothing.
	Damaged bool `json:"-"`
	// Unverified says that it was not read back yet from where it ought to be.
	Unverified bool `json:"-"`
}

// Identity tells databases apart whose backups make no chain with each other: by family, and within it by name. It can
// be compared.
type Identity struct{ family, database string }

// IdentityOf is that of a database; letters of its name in upper and lower case are the same.
func IdentityOf(family, database string) Identity { return Identity{family, strings.ToLower(database)} }

// Identity of the database that the set is of.
func (s Set) Identity() Identity { return IdentityOf(s.Family, s.Database) }

// end is the newest moment to which a set alone takes a database that has what it needs.
func (s Set) end() time.Time {
	if s.Kind == Log && !s.Until.IsZero() {
		return s.Until
	}
	if s.Kind == Log {
		return s.Begun
	}
	return s.Finished
}

// String names a set for people.
func (s Set) String() string {
	return fmt.Sprintf("%s backup of %s of %s", strings.ToLower(string(s.Kind)), s.Database,
		s.Finished.UTC().Format(time.RFC3339))
}

// position is where in the log a database is.
type position struct {
	lsn  LSN
	fork string
	// logged says that a log backup led there.
	logged bool
}

// after is where a database is once a set is restored over it.
func (s Set) after() position { return position{s.LastLSN, s.Fork, s.Kind == Log} }

// forkAt is the fork to which a position in a log backup belongs.
func (s Set) forkAt(at LSN) string {
	if s.FirstFork == "" || s.ForkLSN == "" || at.Compare(s.ForkLSN) > 0 {
		return s.Fork
	}
	return s.FirstFork
}

// idle says that a log backup has nothing: nobody wrote since the one before it.
func (s Set) idle() bool { return s.Kind == Log && s.FirstLSN.Compare(s.LastLSN) == 0 }

// continues says whether a log backup can be restored over a database at a position and takes it further. Behind
// another log backup it begins exactly where that ended: one that begins before was taken of another history of the
// log, by a primary whose last writes its successor does not have.
func (s Set) continues(at position) bool {
	begins := s.FirstLSN.Compare(at.lsn)
	return s.Kind == Log && !s.Damaged && (begins == 0 || begins < 0 && !at.logged) && s.LastLSN.Compare(at.lsn) > 0 &&
		s.forkAt(at.lsn) == at.fork
}
