// SPDX-License-Identifier: Apache-2.0

package backups

import (
	"slices"
	"strings"
	"time"

	"geosql.dev/operator/internal/backup"
)

// status is what a policy's runner knows.
func (r *runner) status() Status {
	o := r.observed()
	s := Status{Policy: r.order.Policy, Databases: r.databases(o), Answers: r.answers(o)}
	s.Past, s.PastWhole = r.past(o)
	for _, store := range o.Stores {
		one := StoreStatus{Name: store.Name, Listed: store.Listed, Unreadable: store.Unreadable}
		if store.Owner != nil && !r.owns(store) {
			one.OtherHub = store.Owner
		}
		if store.Err != nil {
			one.Error = store.Err.Error()
		}
		one.Verification = r.left(store)
		s.Stores = append(s.Stores, one)
	}
	for _, t := range r.engine.goingOn() {
		if r.covers(t.Database) {
			s.Taking = append(s.Taking, TakingStatus{Database: t.Database, Kind: t.Kind, Since: t.Since})
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, set := range r.sending {
		s.Sending = append(s.Sending, SendingStatus{Store: set.Store, Database: set.Database, Kind: set.Kind,
			Bytes: set.Bytes, Of: set.Of})
	}
	slices.SortFunc(s.Sending, func(a, b SendingStatus) int {
		return strings.Compare(a.Store+string(a.Kind), b.Store+string(b.Kind))
	})
	s.Failing = r.failing()
	return s
}

// left is what of a store is to be read back for a request.
func (r *runner) left(s Stored) *VerificationStatus {
	if r.order.Verification == nil || s.Listed.IsZero() {
		return nil
	}
	v := &VerificationStatus{Request: r.order.Verification.Request}
	for _, k := range s.Sets {
		if k.Damaged {
			v.Damaged++
		}
		if r.checkedBefore(k) {
			v.Left++
			v.LeftBytes += k.Stored()
		}
	}
	return v
}

// answers are the sets that answer what the order asks for, by request; of several to one the first that ended.
func (r *runner) answers(o *Observed) []Answer {
	var all []Answer
	for _, asked := range r.order.Requests {
		var best *Answer
		note := func(d backup.Description) *Answer {
			if d.Request != asked.ID {
				return nil
			}
			if best == nil || d.ID != best.ID && d.Finished.Before(best.Finished) {
				best = &Answer{Description: d}
			}
			if best.ID != d.ID {
				return nil
			}
			return best
		}
		for _, own := range o.Own {
			note(own.Description)
		}
		for _, s := range o.Stores {
			for _, k := range s.Sets {
				if a := note(k.Description); a != nil {
					a.In = append(a.In, AnswerPlace{s.Name, k.Verified && !k.Damaged, k.Damaged})
				}
			}
		}
		if best != nil {
			all = append(all, *best)
		}
	}
	return all
}

// databases tells of each database what restores it: what the stores have, since the server's own volume may be lost
// with the server. Of several stores the best counts.
func (r *runner) databases(o *Observed) []DatabaseStatus {
	found := map[backup.Identity]*DatabaseStatus{}
	for _, s := range r.sources(o) {
		found[backup.IdentityOf(s.Family, s.Database)] = &DatabaseStatus{Name: s.Database, Family: s.Family, Here: true}
	}
	places := [][]backup.Description{descriptions(o.Own)}
	if len(o.Stores) > 0 {
		places = nil
	}
	for _, s := range o.Stores {
		places = append(places, keptDescriptions(s.Sets, r.order.Verify))
	}
	for _, place := range places {
		for of, sets := range backup.ByDatabase(place) {
			if found[of] == nil {
				found[of] = &DatabaseStatus{Name: sets[len(sets)-1].Database, Family: sets[0].Family}
			}
			found[of].better(backup.Windows(backup.Sets(sets)))
		}
	}
	var all []DatabaseStatus
	for of, d := range found {
		for _, store := range o.Stores {
			d.Stores = append(d.Stores, store.of(of))
		}
		r.count(of, d, o)
		all = append(all, *d)
	}
	slices.SortFunc(all, func(a, b DatabaseStatus) int {
		return strings.Compare(strings.ToLower(a.Name)+a.Family, strings.ToLower(b.Name)+b.Family)
	})
	return all
}

// of says what a store restores of a database by what was read back from it: what was not may be anything.
func (s Stored) of(database backup.Identity) StoredDatabase {
	d := StoredDatabase{Store: s.Name}
	var sets []backup.Set
	for _, k := range s.Sets {
		if k.Identity() != database {
			continue
		}
		set := k.Set
		set.Damaged = k.Damaged || !k.Verified
		sets = append(sets, set)
		if k.Damaged && k.Finished.After(d.Damaged) {
			d.Damaged = k.Finished
		}
	}
	d.Verified, _ = backup.Newest(sets)
	return d
}

// better takes the windows of a place that restores a newer point.
func (d *DatabaseStatus) better(windows []backup.Window) {
	end := func(w []backup.Window) time.Time {
		if len(w) == 0 {
			return time.Time{}
		}
		return w[len(w)-1].To
	}
	if d.Windows == nil || end(windows).After(end(d.Windows)) {
		d.Windows = windows
	}
}

func (r *runner) count(of backup.Identity, d *DatabaseStatus, o *Observed) {
	seen := map[string]bool{}
	note := func(one backup.Description) {
		if one.Identity() != of || seen[one.ID] {
			return
		}
		seen[one.ID] = true
		d.Sets++
		d.Bytes += one.Stored()
		into := map[backup.Kind]*time.Time{backup.Full: &d.Full, backup.Differential: &d.Differential, backup.Log: &d.Log}
		if at := into[one.Kind]; one.Finished.After(*at) {
			*at = one.Finished
		}
	}
	for _, s := range o.Stores {
		for _, k := range s.Sets {
			note(k.Description)
			switch {
			case k.Identity() != of:
			case k.Damaged:
				d.Damaged++
			case !k.Verified:
				d.Unverified++
			}
		}
	}
	for _, own := range o.Own {
		note(own.Description)
		for _, s := range r.order.Stores {
			if own.Identity() == of && own.In[s.Name].IsZero() {
				d.Waiting++
				d.WaitingBytes += own.Stored()
				break
			}
		}
	}
}
