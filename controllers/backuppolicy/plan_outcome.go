// SPDX-License-Identifier: Apache-2.0

package backuppolicy

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/reconcile/conditions"
	"geosql.dev/operator/internal/schedule"
)

// grace is how long after two times the time between log backups a database counts as late: a backup takes time, and
// goes to a store, which is listed from time to time. It is also how far the clocks of servers may be apart.
const grace = 2 * time.Minute

// outcome is what the sidecars say.
func outcome(d Desired, o Observed) conditions.Outcome {
	silent, failing, spoken := spoken(d, o)
	if !spoken {
		return conditions.Unknown(v1alpha1.ReasonBackupUnknown, "no server says what is backed up: "+
			strings.Join(silent, "; "))
	}
	if failing = append(failing, shut(d, o)...); len(failing) > 0 {
		return conditions.InProgress(v1alpha1.ReasonBackupFailing, strings.Join(failing, "; "))
	}
	if lacks := lacking(d, o); lacks != "" {
		return conditions.InProgress(v1alpha1.ReasonReferenceMissing, lacks)
	}
	if !listed(d, o) {
		return conditions.Unknown(v1alpha1.ReasonBackupUnknown, "no server has listed a store yet since it began to carry "+
			"the policy out as it is now; what was known before stays in the status")
	}
	databases, since := merged(d, o), o.Now
	var none, late, ahead []string
	for _, name := range o.covered(d) {
		newest := databases[strings.ToLower(string(name))].newest()
		shown := fmt.Sprintf("%s (%s)", name, newest.UTC().Format(time.RFC3339))
		switch {
		case newest.IsZero():
			none = append(none, string(name))
			continue
		case newest.After(o.Now.Add(grace)):
			ahead = append(ahead, shown)
		case d.late(newest, o.Now, o.model(name).Recovery != simple):
			late = append(late, shown)
		}
		if newest.Before(since) {
			since = newest
		}
	}
	switch {
	case len(ahead) > 0:
		return conditions.InProgress(v1alpha1.ReasonBackupFailing, "what is known of backups ends in the future, so that "+
			"nobody knows how old they are: "+strings.Join(ahead, ", ")+". The clock of a server is wrong, or was")
	case len(none) > 0:
		return conditions.InProgress(v1alpha1.ReasonBackupPreparing, "nothing restores "+strings.Join(none, ", ")+
			" yet: the first full backup is due")
	case len(late) > 0:
		return conditions.InProgress(v1alpha1.ReasonBackupLate, "the newest moment to which they can be restored is too "+
			"old: "+strings.Join(late, ", "))
	}
	if damaged := damages(d, o, databases); len(damaged) > 0 {
		return conditions.InProgress(v1alpha1.ReasonBackupDamaged, strings.Join(damaged, "; ")+
			". It ends when the retention, or somebody, has removed them; the databases can be restored to "+
			since.UTC().Format(time.RFC3339)+" or later")
	}
	return conditions.Ready(v1alpha1.ReasonBackedUp, "every database can be restored to "+
		since.UTC().Format(time.RFC3339)+" or later"+aside(silent))
}

// lacking says which databases the policy names and the target does not have, as far as its primary has spoken, or that
// it has none; empty where it lacks nothing.
func lacking(d Desired, o Observed) string {
	if says, err := o.Servers[d.Primary].Says.Get(); err != nil || says == nil {
		return ""
	}
	covered := o.covered(d)
	var names []string
	for _, name := range d.Policy.Spec.Databases {
		same := func(n v1alpha1.DatabaseName) bool { return strings.EqualFold(string(n), string(name)) }
		if !slices.ContainsFunc(covered, same) {
			names = append(names, string(name))
		}
	}
	switch {
	case len(names) > 0:
		return "the target has no database " + strings.Join(names, ", ") + ": mend databases, or declare it there"
	case len(covered) == 0:
		return "the target has no database yet"
	}
	return ""
}

// listed says that some server knows what a store has, or that there is none: until one does, since the sidecars or
// their orders are new, what they tell of databases is what lies on their own volumes.
func listed(d Desired, o Observed) bool {
	told := false
	for _, name := range d.Servers {
		says, err := o.Servers[name].Says.Get()
		if err != nil || says == nil {
			continue
		}
		for _, s := range says.Stores {
			if told = true; !s.Listed.IsZero() {
				return true
			}
		}
	}
	return !told
}

// simple is the recovery model without backups of the log.
const simple = "SIMPLE"

// spoken are the servers that say nothing, with why, and what fails at the others.
func spoken(d Desired, o Observed) (silent, failing []string, spoken bool) {
	for _, name := range d.Servers {
		says, err := o.Servers[name].Says.Get()
		host := credentials.HostName(name)
		switch {
		case err != nil:
			silent = append(silent, fmt.Sprintf("%s (%v)", host, err))
			continue
		case says == nil:
			silent = append(silent, host+" (it has not heard of the policy yet)")
			continue
		case says.Refused != "":
			failing = append(failing, host+": "+says.Refused)
		}
		spoken = true
		for _, step := range sortedKeys(says.Failing) {
			failing = append(failing, fmt.Sprintf("%s cannot %s: %s", host, step, says.Failing[step]))
		}
	}
	return silent, failing, spoken
}

// maxUnreadable is how many descriptions are quoted that are not as they were written.
const maxUnreadable = 3

// damages are the backups that stores do not give back as they were written: what they had restores nothing, whatever
// was taken since.
func damages(d Desired, o Observed, databases map[string]*database) (all []string) {
	for _, key := range sortedKeys(databases) {
		if x := databases[key]; x.Damaged > 0 {
			all = append(all, fmt.Sprintf("%d backups of %s were not given back as they were written", x.Damaged, x.Name))
		}
	}
	unreadable := map[string]bool{}
	for _, name := range d.Servers {
		says, err := o.Servers[name].Says.Get()
		if err != nil || says == nil {
			continue
		}
		for _, s := range says.Stores {
			for _, one := range s.Unreadable {
				unreadable[one] = true
			}
		}
	}
	if len(unreadable) > 0 {
		quoted := sortedKeys(unreadable)
		all = append(all, fmt.Sprintf("%d descriptions of backups cannot be used: %s", len(quoted),
			strings.Join(quoted[:min(len(quoted), maxUnreadable)], "; ")))
	}
	return all
}

// shut are the databases that can have no user of the agents.
func shut(d Desired, o Observed) (all []string) {
	for _, database := range o.covered(d) {
		user, err := o.Users[database].Get()
		if err == nil && o.model(database).ReadOnly && !admits(user) {
			all = append(all, fmt.Sprintf("%s is read-only and has no user of the agents with the role %s: make it "+
				"READ_WRITE for a moment", database, backupOperator))
		}
	}
	return all
}

func aside(silent []string) string {
	if len(silent) == 0 {
		return ""
	}
	return "; not heard of: " + strings.Join(silent, "; ")
}

// late says whether the newest moment that can be restored is too old: older than twice the time between two backups
// that lead on. Those are the ones of the log, where there are any.
func (d Desired) late(newest, now time.Time, logged bool) bool {
	if d.Order.LogEvery > 0 && logged {
		return now.Sub(newest) > 2*d.Order.LogEvery+grace
	}
	missed := d.next(d.next(newest))
	return !missed.IsZero() && now.After(missed.Add(grace))
}

// next is when a full or differential backup is due after a time; zero is never.
func (d Desired) next(after time.Time) (at time.Time) {
	if after.IsZero() {
		return at
	}
	for _, t := range []orders.BackupTimes{d.Order.Full, d.Order.Differential} {
		s, err := schedule.Parse(t.Schedule, t.TimeZone)
		if t.Schedule == "" || err != nil {
			continue // the sidecars refuse one that is none, and say so
		}
		if next := s.Next(after); !next.IsZero() && (at.IsZero() || next.Before(at)) {
			at = next
		}
	}
	return at
}
