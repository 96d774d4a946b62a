// SPDX-License-Identifier: Apache-2.0

package backups

import (
	"maps"
	"slices"
	"strings"
	"time"

	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/backup"
	"geosql.dev/operator/internal/mssql"
)

// leftFor is how long nothing comes to a set without a description before it goes: one that is being uploaded has none
// yet, however long that takes.
const leftFor = 24 * time.Hour

// youngFor is how long a set stays whatever the retention says.
const youngFor = 24 * time.Hour

// Send is a set that a store lacks.
type Send struct {
	Own
	Store string
	// Damaged is what the store has of it, which goes first; nil for nothing.
	Damaged *Kept
	// Again says that the store had got it.
	Again bool
}

// planSends are the sets that stores lack, the oldest first: what comes later restores nothing without them. A store
// that was not listed gets them all the same: a file that is there stays as it is. A set that a store has damaged, or
// does not have any more though the retention needs it, is sent again after what was never sent: it may be the store
// that damages or loses whatever it gets. A store in which the folder is not known to be this
// hub's gets nothing.
func (p planner) planSends(o *Observed) []Send {
	var all []Send
	for _, s := range p.order.Stores {
		if !p.ownsStore(o, s.Name) {
			continue
		}
		kept := o.kept(s.Name)
		gone := p.gone(o, s.Name)
		for _, own := range o.Own {
			switch k := kept[own.ID]; {
			case k != nil && k.Damaged:
				all = append(all, Send{Own: own, Store: s.Name, Damaged: k, Again: true})
			case own.In[s.Name].IsZero():
				all = append(all, Send{Own: own, Store: s.Name})
			case gone[own.ID] == goneNeeded:
				all = append(all, Send{Own: own, Store: s.Name, Again: true})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b Send) int {
		if a.Again != b.Again {
			if a.Again {
				return 1
			}
			return -1
		}
		return a.Finished.Compare(b.Finished)
	})
	return all
}

// planForget are the own sets whose files may go from the backup volume: those that every store of the policy has, as
// its list shows, whole as far as anybody has looked, and read back where the policy asks for it. Until then the own
// one may be the only one that is good. One that is gone from a store goes too where the retention has no need of it:
// whoever removes for all may do so before the list of whoever sent it shows it. Where there is no store, those that
// the retention has no need of.
func (p planner) planForget(o *Observed) []Own {
	var all []Own
	if len(p.order.Stores) > 0 {
		kept, gone := map[string]map[string]*Kept{}, map[string]map[string]absence{}
		for _, s := range p.order.Stores {
			kept[s.Name], gone[s.Name] = o.kept(s.Name), p.gone(o, s.Name)
		}
		for _, own := range o.Own {
			lacks := func(s orders.BackupStore) bool {
				k := kept[s.Name][own.ID]
				switch {
				case !p.ownsStore(o, s.Name): // who has it removes what this one keeps
					return true
				case gone[s.Name][own.ID] == goneNeedless:
					return false
				}
				return own.In[s.Name].IsZero() || k == nil || k.Damaged || p.order.Verify && !k.Verified
			}
			if !slices.ContainsFunc(p.order.Stores, lacks) {
				all = append(all, own)
			}
		}
		return all
	}
	needed := p.needed(descriptions(o.Own), o.Now)
	for _, own := range o.Own {
		if needed[own.ID] == "" {
			all = append(all, own)
		}
	}
	return all
}

// absence is what the retention has to say of a set that a store got and does not have any more.
type absence string

const (
	goneNeeded   absence = "GoneNeeded"
	goneNeedless absence = "GoneNeedless"
)

// gone are the own sets, by their IDs, that a store got before its last list was begun, which does not show them. Which
// of them are needed is asked as if it had them all.
func (p planner) gone(o *Observed, store string) map[string]absence {
	all := map[string]absence{}
	for _, s := range o.Stores {
		if s.Name != store || s.Listed.IsZero() {
			continue
		}
		kept, sets := o.kept(store), keptDescriptions(s.Sets, p.order.Verify)
		for _, own := range o.Own {
			if kept[own.ID] != nil {
				continue
			}
			d := own.Description
			if at := own.In[store]; !at.IsZero() && s.Listed.After(at) {
				all[own.ID] = goneNeeded
			} else {
				d.Unverified = true // it waits to be sent
			}
			sets = append(sets, d)
		}
		if len(all) == 0 {
			continue
		}
		needed := p.needed(sets, o.Now)
		for id := range all {
			if needed[id] == "" {
				all[id] = goneNeedless
			}
		}
	}
	return all
}

// kept are the sets that a store's list shows, by their IDs.
func (o *Observed) kept(store string) map[string]*Kept {
	all := map[string]*Kept{}
	for _, s := range o.Stores {
		for i := range s.Sets {
			if s.Name == store {
				all[s.Sets[i].ID] = &s.Sets[i]
			}
		}
	}
	return all
}

// Remove is what goes from a store: a set, or what is left of one.
type Remove struct {
	Store string
	// Set to be removed; nil for Leftover, the folder of a set that was never whole.
	Set      *Kept
	Leftover string
}

// folder that goes.
func (r Remove) folder() string {
	if r.Set != nil {
		return r.Set.Folder()
	}
	return r.Leftover
}

// planRemovals are what may go from the stores. It goes by a store's own list, which has to be whole and newer than a
// set that is about to be sent: what is not known to be there makes nothing needless. What waits here to be sent needs
// what it will go on from. Where the folder is not this hub's nothing goes. One server does it for all: the primary of
// the group.
func (p planner) planRemovals(o *Observed) []Remove {
	if !p.leads(o) {
		return nil
	}
	var all []Remove
	for _, s := range o.Stores {
		if s.Listed.IsZero() || s.Err != nil || !p.owns(s) {
			continue
		}
		needed := p.needed(append(keptDescriptions(s.Sets, p.order.Verify), o.waiting(s.Name)...), o.Now)
		for i := range s.Sets {
			if needed[s.Sets[i].ID] == "" {
				all = append(all, Remove{Store: s.Name, Set: &s.Sets[i]})
			}
		}
		for _, left := range s.Leftovers {
			_, ofSet := backup.FolderTime(left.Folder)
			if ofSet && !left.Touched.IsZero() && o.Now.Sub(left.Touched) > leftFor && !o.owns(left.Folder) {
				all = append(all, Remove{Store: s.Name, Leftover: left.Folder})
			}
		}
	}
	return all
}

// waiting are the own sets that a store does not show yet, or not whole. Whether they ever come is not known.
func (o *Observed) waiting(store string) []backup.Description {
	kept := o.kept(store)
	var all []backup.Description
	for _, own := range o.Own {
		if k := kept[own.ID]; k == nil || k.Damaged {
			d := own.Description
			d.Unverified = true
			all = append(all, d)
		}
	}
	return all
}

// owns says that this server has the set of a folder.
func (o *Observed) owns(folder string) bool {
	return slices.ContainsFunc(o.Own, func(own Own) bool { return own.Folder() == folder })
}

// leads says whether this server removes for all: the primary, of whichever database, or a server alone.
func (p planner) leads(o *Observed) bool {
	return slices.ContainsFunc(p.sources(o), func(s mssql.BackupSource) bool { return s.Primary || s.Group == "" })
}

// needed says of each set that is not to go, by its ID, what it is kept for.
func (p planner) needed(all []backup.Description, now time.Time) map[string]string {
	return neededFor(all, backup.Retention{Age: p.order.KeepAge, Fulls: p.order.KeepFulls}, now)
}

// Needed says of each set of a store that is not to go, by its ID, what it is kept for, for people. With verify a set
// that was not read back makes nothing needless. What is not in it may be removed.
func Needed(kept []Kept, keep backup.Retention, verify bool, now time.Time) map[string]string {
	return neededFor(keptDescriptions(kept, verify), keep, now)
}

// neededFor goes by each database by itself. A set of a kind of database that the policy no longer covers goes by the
// same retention.
func neededFor(all []backup.Description, keep backup.Retention, now time.Time) map[string]string {
	keep.Young = youngFor
	why := map[string]string{}
	for _, sets := range backup.ByDatabase(all) {
		maps.Copy(why, backup.Needed(backup.Sets(sets), keep, now))
	}
	return why
}

func descriptions(own []Own) []backup.Description {
	var all []backup.Description
	for _, o := range own {
		all = append(all, o.Description)
	}
	return all
}

func keptDescriptions(kept []Kept, verify bool) []backup.Description {
	var all []backup.Description
	for _, k := range kept {
		d := k.Description
		d.Damaged = k.Damaged
		d.Unverified = verify && !k.Verified && !k.Damaged
		all = append(all, d)
	}
	return all
}

// planChecks are the sets of the stores whose files are to be read back, the newest first: what restores the newest
// point matters most. Whoever took a set checks it; the one that leads checks those that nobody has checked for long.
func (p planner) planChecks(o *Observed, server string) []Check {
	if !p.order.Verify {
		return nil
	}
	leads := p.leads(o)
	var all []Check
	for _, s := range o.Stores {
		if !p.owns(s) {
			continue
		}
		for _, kept := range s.Sets {
			mine := strings.EqualFold(kept.Server, server) || leads && o.Now.Sub(kept.Finished) > checkPatience
			if !kept.Verified && !kept.Damaged && mine {
				all = append(all, Check{kept, s.Name})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b Check) int { return b.Finished.Compare(a.Finished) })
	return all
}

// planChecksAgain are the sets that were not read back since a person has asked for it, the newest first. The server
// that leads does it for all.
func (p planner) planChecksAgain(o *Observed) []Check {
	if p.order.Verification == nil || !p.leads(o) {
		return nil
	}
	var all []Check
	for _, s := range o.Stores {
		if !p.owns(s) {
			continue
		}
		for _, kept := range s.Sets {
			if p.checkedBefore(kept) {
				all = append(all, Check{kept, s.Name})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b Check) int { return b.Finished.Compare(a.Finished) })
	return all
}

// checkedBefore says that a set was read back before a person asked that all are, or not at all. One that this sidecar
// has read back for that request was, whatever the clocks of the store and of the person say.
func (p planner) checkedBefore(k Kept) bool {
	v := p.order.Verification
	return v != nil && k.CheckedFor != v.Request && k.Checked.Before(v.Since) && !k.Finished.After(v.Since)
}

// checkPatience is after which time the leading server checks what another took.
const checkPatience = time.Hour

// Check is a set of a store that is to be read back.
type Check struct {
	Kept
	Store string
}
