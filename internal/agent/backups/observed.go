// SPDX-License-Identifier: Apache-2.0

package backups

import (
	"time"

	"geosql.dev/operator/internal/backup"
	"geosql.dev/operator/internal/mssql"
)

// Observed is what is known for one policy: of the engine beside this sidecar, of the sets on its backup volume, and of
// those in the stores.
type Observed struct {
	// Begun is since when this sidecar has looked, Now when this was read.
	Begun, Now time.Time
	// Sources are the engine's databases.
	Sources []mssql.BackupSource
	// Own are the sets on the backup volume; Unread says that it could not be looked through yet.
	Own    []Own
	Unread bool
	// Stores are the policy's.
	Stores []Stored
}

// Own is a set on this server's backup volume.
type Own struct {
	backup.Description
	// In are the stores that got it, each since when by this server's clock.
	In map[string]time.Time
}

// Stored is what a store has of the policy's target.
type Stored struct {
	// Name of the store.
	Name string
	// Listed is when all of it was last listed; zero while it never was.
	Listed time.Time
	// Owner says whose the target's folder is; nil while it is nobody's.
	Owner *backup.Owner
	// Sets that are whole, by their descriptions.
	Sets []Kept
	// Leftovers are folders of sets without a description.
	Leftovers []Leftover
	// Unreadable says which descriptions are not as they were written.
	Unreadable []string
	// Err is why it could not be listed the last time.
	Err error
}

// Leftover is a folder in a store that has no description: what is left of a set, or what is there of one on its way.
type Leftover struct {
	Folder string
	// Touched is when something of it was last stored, an upload that is not complete included, by the store's clock; zero
	// where the store does not say it.
	Touched time.Time
}

// Kept is a set in a store.
type Kept struct {
	backup.Description
	// Verified says that its files were read back from the store as they were written; Damaged that they were not.
	Verified, Damaged bool
	// Checked is when that was found, by the store's clock; zero where it was not.
	Checked time.Time
	// Described is when its description was stored, by the store's clock; zero where the store does not say it.
	Described time.Time
	// CheckedFor is the request for which this sidecar has read it back; empty for none.
	CheckedFor string
}

// in is what is known with one of the stores alone.
func (o *Observed) in(store string) *Observed {
	one := *o
	one.Stores = nil
	for _, s := range o.Stores {
		if s.Name == store {
			one.Stores = append(one.Stores, s)
		}
	}
	return &one
}

// all are the sets that are known from anywhere; one that several places have is there several times.
func (o *Observed) all() []backup.Description {
	all := descriptions(o.Own)
	for _, s := range o.Stores {
		for _, k := range s.Sets {
			d := k.Description
			d.Damaged = k.Damaged
			all = append(all, d)
		}
	}
	return all
}

// listed says that the volume and every store have told what they have: only then is a backup that nobody knows of
// none.
func (o *Observed) listed() bool {
	if o.Unread {
		return false
	}
	for _, s := range o.Stores {
		if s.Listed.IsZero() {
			return false
		}
	}
	return true
}

// told says that the volume and a store have told what they have, and that each other one has too, or does not answer.
// All sets go to all stores: one that tells of no full backup needs one, whatever another has.
func (o *Observed) told() bool {
	told := len(o.Stores) == 0
	for _, s := range o.Stores {
		if s.Listed.IsZero() && s.Err == nil {
			return false
		}
		told = told || !s.Listed.IsZero()
	}
	return told && !o.Unread
}

// known are all sets of a database, from everywhere. One that some place has whole counts, though another has it
// damaged.
func (o *Observed) known(of backup.Identity) []backup.Set {
	sets := map[string]backup.Set{}
	note := func(s backup.Set, damaged bool) {
		if s.Identity() != of {
			return
		}
		s.Damaged = damaged
		if before, there := sets[s.ID]; !there || before.Damaged {
			sets[s.ID] = s
		}
	}
	for _, own := range o.Own {
		note(own.Set, false)
	}
	for _, store := range o.Stores {
		for _, kept := range store.Sets {
			note(kept.Set, kept.Damaged)
		}
	}
	all := make([]backup.Set, 0, len(sets))
	for _, s := range sets {
		all = append(all, s)
	}
	return all
}
