// SPDX-License-Identifier: Apache-2.0

package subscription

import (
	"path"
	"strings"

	"geosql.dev/operator/api/v1alpha1"
)

// What was restored goes without a person's word only while it is known that nobody has written it. The engine does
// not tell that of a database that is READ_ONLY now. But whatever is written comes into the log first: while that ends
// where it did when the attempt's copy was seen READ_ONLY first, nothing was. The status keeps the place; where it was
// lost, or the copy was seen to take writes, a person is asked.

// written is what the status tells in place of where the log ends once a copy was seen to take writes.
const written = "written"

// restoredName names what the subscriber's database was restored of, as markedBy does; empty while that is not known.
func (o Observed) restoredName(d Desired) string {
	places, _ := o.Backup.Places.Get()
	if !o.restoredOf(d, "") {
		return ""
	}
	_, of, _ := strings.Cut(path.Base(places.Files[0]), d.mark(""))
	return of[:max(0, strings.LastIndex(of, "-"))]
}

// unwrittenNow is what the status would tell of the copy as it is READ_ONLY now; empty while that is not known.
func (o Observed) unwrittenNow(d Desired) string {
	name := o.restoredName(d)
	end, err := o.Backup.LogEnd.Get()
	if name == "" || err != nil || end == "" || !o.sealed(d) {
		return ""
	}
	return name + " " + end
}

// takesWrites tells that the subscriber's database was seen so.
func (o Observed) takesWrites(d Desired) bool {
	at := o.Servers[d.Subscriber].State
	if at == nil {
		return false
	}
	database := at.Database(d.database())
	return database != nil && database.State == "ONLINE" && !database.ReadOnly
}

// unwritten is what status tells of what was restored, and nobody has written. It is noted once for a set, while the
// attempt goes on: a copy that was given to people is never one again.
func unwritten(d Desired, o Observed) string {
	have, name := "", o.restoredName(d)
	if c := d.Subscription.Status.Copy; c != nil {
		have = c.Unwritten
	}
	switch {
	case d.Publication != nil && !d.fromBackup(), len(o.registrations(d)) > 0:
		return ""
	case name == "":
		return have
	case o.takesWrites(d):
		return name + " " + written
	case strings.HasPrefix(have, name+" "):
		return have
	}
	if r := o.order(d); r != nil && o.restoredSet(d, r) {
		return o.unwrittenNow(d)
	}
	return have
}

// withUnwritten has a copy's status tell it.
func withUnwritten(d Desired, o Observed, s *v1alpha1.SubscriptionCopy) *v1alpha1.SubscriptionCopy {
	if s == nil || s.Unwritten == unwritten(d, o) {
		return s
	}
	s = s.DeepCopy()
	s.Unwritten = unwritten(d, o)
	return s
}
