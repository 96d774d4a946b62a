// SPDX-License-Identifier: Apache-2.0

package publication

import (
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/replication"
)

// The time of the right, as status has it (status.logReaderRight):
//
//	absent        nobody needs it, and the log reader runs without.
//	since         somebody needs it: the log reader is given it, or has it. While what keeps it from that lasts, since
//	              follows the time.
//	since, ended  its hour is over, and somebody needs it still: nobody is given it again for that.
//	ended         nobody of the publication needs it any more. What is left to set up (left) is not given it again;
//	              whoever begins to need it is. One whose hour is over comes to this at the earliest some minutes later
//	              while somebody is not registered.

// A subscriber may be registered in the moment when its right ends, by who saw that the log reader still had it. The
// log reader fails then, at more than was left: it is given the right for another hour.

// A right that is held is kept while somebody who begins without a copy is not registered, whatever that waits for by
// now: it comes back to the log reader, which would be stopped and started each time.

// setUpFor is how long a log reader has the right to set subscribers up at most. What is left then does not wait for
// it: the log reader has passed over the log, or what is listed is from before.
const setUpFor = time.Hour

// countsAgain is how old since becomes before the right was given: then the hour is counted from now on.
const countsAgain = 5 * time.Minute

// forgets is how long after its hour a right is not given again to those who are not registered still, whatever they
// wait for then: it may be the right once more.
const forgets = 5 * time.Minute

// yields tells that the right is not to be had, because the Publication does nothing more for it.
func (d Desired) yields() bool {
	return d.Publication.DeletionTimestamp != nil || d.Suspended != "" || d.Ending
}

// lacks tells that nothing is done for the Publication, since something is missing that it names.
func (d Desired) lacks() bool { return len(d.Missing) > 0 && d.Publication.DeletionTimestamp == nil }

// looksForRight tells that the distributor is asked for the right alone: it ends also while something is missing.
func (d Desired) looksForRight() bool {
	return d.lacks() && !d.nowhere() && d.Publication.Status.LogReaderRight != nil
}

// formerSystem is the system of a Distributor that is not declared, where a log reader may have the right by it: by the
// server that status has. Nothing but the right is looked for there. It has no server where nobody knows that.
func formerSystem(p *v1alpha1.Publication) replication.System {
	host, _, _ := strings.Cut(p.Status.DistributionFork, " ")
	server, ours := replication.ServerOf(host)
	if p.DeletionTimestamp != nil || p.Status.LogReaderRight == nil || host == "" || !ours {
		return replication.System{}
	}
	return replication.SystemOf(&v1alpha1.Distributor{
		ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: string(p.Spec.Distributor)},
		Spec:       v1alpha1.DistributorSpec{Server: server},
	})
}

// setsUp tells that the database's log reader is to have the right: somebody of this publication needs it, or of
// another one of the database. All Publications of the database come to the same, by what each has recorded for
// itself.
func setsUp(d Desired, o Observed) bool {
	if foreignLogReader(d, o) {
		return false
	}
	return len(d.Claims) > 0 || !d.scheduled() && !d.yields() && right(d, o).Held()
}

// claims tells that a Publication needs the right for the log reader at a time, by its own record.
func claims(p *v1alpha1.Publication, now time.Time) bool {
	r := p.Status.LogReaderRight
	return p.DeletionTimestamp == nil && !p.Spec.Scheduled() && r.Held() && now.Sub(r.Since.Time) < setUpFor
}

// needs tells that somebody of this publication needs the right before anything of it is done.
func needs(d Desired, o Observed) bool { return len(d.Awaiting) > 0 || subscribesKept(d, o) }

// beginsKept tells that a Subscription is declared which begins without a copy, or may, and is not registered, as far
// as anybody knows. What it waits for now changes from look to look.
func beginsKept(d Desired, o Observed) bool {
	return !d.scheduled() && slices.ContainsFunc(d.Subscriptions, func(s v1alpha1.Subscription) bool {
		return s.DeletionTimestamp == nil && !d.rests(&s) && !o.registered(&s) &&
			(!d.copies(&s) || replication.Compares(d.Publication, &s))
	})
}

// registered tells that the published database knows the subscriber of a Subscription.
func (o Observed) registered(declared *v1alpha1.Subscription) bool {
	return o.Database.Publication != nil &&
		slices.ContainsFunc(o.Database.Publication.Subscriptions, func(s mssql.ArticleSubscription) bool {
			return subscribes(declared, s)
		})
}

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
	switch {
	case !rightKnown(d, o):
		return have
	case d.scheduled() || foreignLogReader(d, o):
		return nil
	case d.yields() || loginConflicts(d, o):
		return yielded(d, o)
	case !have.Held():
		return withoutRight(d, o)
	}
	now := metav1.NewTime(o.Now).Rfc3339Copy()
	needed := needs(d, o) || failsWithout(d, o) || beginsKept(d, o)
	switch {
	case !needed && neverGiven(d, o):
		return nil
	case !needed && (o.Pending == 0 || !d.System.SetsUp(o.LogReaderJob)):
		return &v1alpha1.LogReaderRight{Ended: &now, Left: o.Pending}
	case neverGiven(d, o) && o.Now.Sub(have.Since.Time) >= countsAgain:
		return &v1alpha1.LogReaderRight{Since: &now}
	case o.Now.Sub(have.Since.Time) >= setUpFor:
		return &v1alpha1.LogReaderRight{Since: have.Since, Ended: &now, Left: o.Pending}
	}
	return have
}

// rightKnown tells that the distributor has told of the log reader.
func rightKnown(d Desired, o Observed) bool {
	_, answers := replication.Usable(d.System.Server, o.Servers[d.System.Server])
	return answers && o.AtErr == nil && (o.At.Original != "" || o.LogReaderJob != nil)
}

// neverGiven tells that there is nothing to take back of a right that is recorded: the log reader runs without, in a
// run from before that was recorded, or is not to run. One that was stopped has lost the right perhaps, and is to be
// started; one that was started since may have it, until it has stopped.
func neverGiven(d Desired, o Observed) bool {
	job, have := o.LogReaderJob, d.Publication.Status.LogReaderRight
	switch {
	case !have.Held() || d.System.SetsUp(job):
		return false
	case job == nil || !job.Enabled:
		return true
	}
	// The server tells how long a job runs in whole seconds, up to one too many.
	return job.Running && o.Now.Add(-job.Started).Before(have.Since.Add(-time.Second))
}

// withoutRight is the record of one that has no right: it begins anew, or what is left of the former one.
func withoutRight(d Desired, o Observed) *v1alpha1.LogReaderRight {
	have, now := d.Publication.Status.LogReaderRight, metav1.NewTime(o.Now).Rfc3339Copy()
	needed, fails := needs(d, o), failsWithout(d, o)
	begun := &v1alpha1.LogReaderRight{Since: &now}
	switch {
	case have == nil && (needed || fails):
		return begun
	case have == nil && d.System.SetsUp(o.LogReaderJob):
		return &v1alpha1.LogReaderRight{Ended: &now, Left: o.Pending}
	case have == nil:
		return nil
	case have.Since == nil && needed, fails && o.Pending > have.Left:
		return begun
	case have.Since == nil && !fails && o.Pending == 0 && goesWithout(d, o):
		return nil
	}
	still := have.DeepCopy()
	still.Left = min(still.Left, o.Pending)
	if have.Since != nil && !needed && (o.Now.Sub(have.Ended.Time) >= forgets || !beginsKept(d, o)) {
		still.Since = nil
	}
	return still
}

// yielded is the record of a Publication that does nothing more, or cannot give the right: absent once the log reader
// runs without.
func yielded(d Desired, o Observed) *v1alpha1.LogReaderRight {
	have, now := d.Publication.Status.LogReaderRight, metav1.NewTime(o.Now).Rfc3339Copy()
	has := d.System.SetsUp(o.LogReaderJob)
	switch {
	case len(d.Claims) > 0 || have == nil && !has || neverGiven(d, o):
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
