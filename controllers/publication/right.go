// SPDX-License-Identifier: Apache-2.0

package publication

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/replication"
)

// The time of the right, as status has it (status.logReaderRight):
//
//	absent        nobody needs it, and the log reader runs without.
//	since         somebody needs it: the log reader is given it, or has it.
//	since, ended  its hour is over, and somebody needs it still: nobody is given it again for that.
//	ended         nobody of the publication needs it any more. What is left to set up is not given it again; whoever
//	              begins to need it is.

// setUpFor is how long a log reader has the right to set subscribers up at most. What is left then does not wait for
// it: the log reader has passed over the log, or what is listed is from before.
const setUpFor = time.Hour

// yields tells that the right is not to be had, because the Publication does nothing more for it.
func (d Desired) yields() bool {
	return d.Publication.DeletionTimestamp != nil || d.Suspended != "" || d.Ending
}

// setsUp tells that the database's log reader is to have the right: somebody of this publication needs it, or of
// another one of the database. All Publications of the database come to the same, by what each has recorded for
// itself.
func setsUp(d Desired, o Observed) bool {
	if d.scheduled() || foreignLogReader(d, o) {
		return false
	}
	return len(d.Claims) > 0 || !d.yields() && right(d, o).Held()
}

// claims tells that a Publication needs the right for the log reader at a time, by its own record.
func claims(p *v1alpha1.Publication, now time.Time) bool {
	r := p.Status.LogReaderRight
	return p.DeletionTimestamp == nil && !p.Spec.Scheduled() && r.Held() && now.Sub(r.Since.Time) < setUpFor
}

// needs tells that somebody of this publication needs the right before anything of it is done.
func needs(d Desired, o Observed) bool { return len(d.Awaiting) > 0 || subscribesKept(d, o) }

// needsInVain tells that somebody needs the right whose hour is over.
func needsInVain(d Desired, o Observed) bool {
	r := right(d, o)
	if d.scheduled() || foreignLogReader(d, o) || d.yields() || r == nil || r.Ended == nil {
		return false
	}
	return r.Since != nil && needs(d, o) || failsWithout(d, o)
}

// right is the time of the right, for status.
func right(d Desired, o Observed) *v1alpha1.LogReaderRight {
	have := d.Publication.Status.LogReaderRight
	_, answers := replication.Usable(d.System.Server, o.Servers[d.System.Server])
	known := answers && o.AtErr == nil && (o.At.Original != "" || o.LogReaderJob != nil)
	switch {
	case !known:
		return have
	case d.scheduled() || foreignLogReader(d, o):
		return nil
	case d.yields():
		return yielded(d, o)
	case loginConflicts(d, o):
		return nil
	case !have.Held():
		return withoutRight(d, o)
	}
	now := metav1.NewTime(o.Now).Rfc3339Copy()
	needed := needs(d, o) || failsWithout(d, o)
	switch {
	case !needed && o.At.Pending == 0:
		return &v1alpha1.LogReaderRight{Ended: &now}
	case !needed && !d.System.SetsUp(o.LogReaderJob):
		return nil
	case o.Now.Sub(have.Since.Time) >= setUpFor:
		return &v1alpha1.LogReaderRight{Since: have.Since, Ended: &now}
	}
	return have
}

// withoutRight is the record of one that has no right: it begins anew, or what is left of the former one.
func withoutRight(d Desired, o Observed) *v1alpha1.LogReaderRight {
	have, now := d.Publication.Status.LogReaderRight, metav1.NewTime(o.Now).Rfc3339Copy()
	needed, fails := needs(d, o), failsWithout(d, o)
	begun := &v1alpha1.LogReaderRight{Since: &now}
	switch {
	case have == nil && (needed || fails):
		return begun
	case have == nil:
		return nil
	case have.Since == nil && needed:
		return begun
	case have.Since != nil && !needed:
		return &v1alpha1.LogReaderRight{Ended: have.Ended}
	case have.Since == nil && !fails && o.At.Pending == 0 && goesWithout(d, o):
		return nil
	}
	return have
}

// yielded is the record of a Publication that does nothing more: absent once the log reader runs without the right.
func yielded(d Desired, o Observed) *v1alpha1.LogReaderRight {
	have, now := d.Publication.Status.LogReaderRight, metav1.NewTime(o.Now).Rfc3339Copy()
	has := d.System.SetsUp(o.LogReaderJob)
	switch {
	case len(d.Claims) > 0 || have == nil && !has:
		return nil
	case has || have.Ended == nil:
		return &v1alpha1.LogReaderRight{Ended: &now}
	case goesWithout(d, o):
		return nil
	}
	return have
}

// goesWithout tells that the log reader runs without the right, in a run that was begun since that was taken back, or
// that nobody need start it: it is disabled, or SQL Server Agent is down, which starts it itself.
func goesWithout(d Desired, o Observed) bool {
	job, have := o.LogReaderJob, d.Publication.Status.LogReaderRight
	if job == nil || !job.Enabled {
		return true
	}
	if d.System.SetsUp(job) {
		return false
	}
	state := o.Servers[d.System.Server].State
	if state != nil && state.AgentDown || have == nil {
		return true
	}
	return job.Running && have.Ended != nil && !o.Now.Add(-job.Started).Before(have.Ended.Time)
}
