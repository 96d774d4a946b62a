// SPDX-License-Identifier: Apache-2.0

package publication

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/reconcile/conditions"
	"geosql.dev/operator/internal/replication"
)

// A log reader that is to set up subscribers that begin without a snapshot has the right for that for an hour at most.
// Its time is recorded (status.logReaderRight) before it is given, and is what tells the other Publications of the
// database, which share the log reader, that somebody needs it. See right.go.

// awaitsLogReader tells that a Subscription waits for the log reader before it is registered.
func awaitsLogReader(s *v1alpha1.Subscription) bool {
	ready := meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionReady)
	return s.DeletionTimestamp == nil && ready != nil && ready.Reason == v1alpha1.ReasonWaitingForLogReader
}

// dataIsThere tells that a subscriber is subscribed without a copy to what it lacks: the log reader sets it up.
func (o Observed) dataIsThere(d Desired, who lacking) bool {
	return !d.scheduled() && !o.copiesTo(d, who.receiver)
}

// subscribesKept tells that subscribers are about to be subscribed without a copy to articles that came after them
// (planSubscribers).
func subscribesKept(d Desired, o Observed) bool {
	if o.Database.Publication == nil {
		return false
	}
	all := o.lacking()
	held := slices.ContainsFunc(all, func(who lacking) bool { return stands(d, o, who) })
	return slices.ContainsFunc(all, func(who lacking) bool {
		return o.dataIsThere(d, who) && (!held || !who.pull && !stands(d, o, who))
	})
}

// lacksReader tells that a subscriber cannot be subscribed yet: the log reader would fail, and deliver to nobody.
func lacksReader(d Desired, o Observed, who lacking) bool {
	return o.dataIsThere(d, who) && !foreignLogReader(d, o) && !d.System.SetsUp(o.LogReaderJob)
}

// planLowered takes the right back where nobody needs it, or its time is over, and starts the log reader again. It
// comes before everything that may wait for a person or a server: the distributor's answer is all that it takes. That
// it is to be started is known by the record, which is there before the right is taken.
func planLowered(d Desired, o Observed, p *replication.Plan) bool {
	have, job := d.Publication.Status.LogReaderRight, o.LogReaderJob
	if d.scheduled() || foreignLogReader(d, o) || setsUp(d, o) {
		return true
	}
	switch {
	case d.System.SetsUp(job) && d.PasswordsErr != nil:
		return true
	case d.System.SetsUp(job) && have == nil:
		p.Note = recording{}
		return p.Settle(conditions.InProgress(v1alpha1.ReasonConfiguring, fmt.Sprintf(
			"that the right to set subscribers up is taken from the log reader of %s is being recorded", d.database())))
	case d.System.SetsUp(job):
		lower(d, o, p)
	case have != nil && !goesWithout(d, o) && !job.Running:
		p.StartJob(d.System.Server, logReaderJob(d, o).Name)
		return p.Proceed("the log reader of %s is being started", d.database())
	}
	return p.Proceed("%s", beingSetUp(d, o))
}

// lower has the log reader run without the right, once it has stopped and is started again. While its profile is not
// declared it keeps what it has of it.
func lower(d Desired, o Observed, p *replication.Plan) {
	without := d.System.LogReaderCommand(o.original(d), d.database(), d.LogReaderProfile, false)
	if d.LogReaderProfile == nil && d.Publication.Spec.LogReaderProfile != "" {
		without = d.System.LogReaderCommandLike(o.original(d), d.database(), o.LogReaderJob.Command)
	}
	p.TakeSetUp(d.System, logReaderJob(d, o).Name, without, o.LogReaderJob)
}

// planRaised records that the log reader is about to be given the right, and then makes the login for it.
func planRaised(d Desired, o Observed, p *replication.Plan) bool {
	if loginConflicts(d, o) && !d.yields() && (needs(d, o) || failsWithout(d, o)) {
		return p.SetUpLogin(d.System, o.At.SetUpLogin)
	}
	if !setsUp(d, o) {
		return true
	}
	if len(d.Claims) == 0 && !d.Publication.Status.LogReaderRight.Held() {
		p.Note = recording{}
		return p.Settle(conditions.InProgress(v1alpha1.ReasonConfiguring, fmt.Sprintf(
			"that the log reader of %s is given the right to set subscribers up is being recorded", d.database())))
	}
	return p.SetUpLogin(d.System, o.At.SetUpLogin)
}

// loginConflicts tells that the login of the right's name is somebody else's: nobody can be given it.
func loginConflicts(d Desired, o Observed) bool {
	return o.At.SetUpLogin != nil && !bytes.Equal(o.At.SetUpLogin.SID, d.System.SetUpSID)
}

// recording notes that a plan is nothing but what its report writes.
type recording struct{}

// planSetUpFailed says that the right was of no avail.
func planSetUpFailed(d Desired, o Observed, p *replication.Plan) bool {
	if !needsInVain(d, o) {
		return true
	}
	who := "the log reader fails for want of it: " + failure(o)
	if len(d.Awaiting) > 0 {
		who = "these Subscriptions still wait for it: " + strings.Join(d.Awaiting, ", ")
	} else if subscribesKept(d, o) {
		who = "subscribers wait for new articles"
	}
	return p.Settle(conditions.Stalled(v1alpha1.ReasonSetUpFailed, fmt.Sprintf(
		"the log reader of %s had the right to set up who begins without a snapshot for %s, and %s. It was taken back. Mend "+
			"what keeps them, then set spec.suspend of the Publication to true and to false again: it is given for another "+
			"hour; or end the Subscriptions. docs/runbooks/replication.md has more", d.database(), setUpFor, who)))
}

// failure is what the log reader said last of its failure.
func failure(o Observed) string {
	if o.At.LogReader == nil {
		return ""
	}
	return o.At.LogReader.FailureMessage
}

// planYield is the plan of a suspended Publication: it gives the right back, which nobody else would take from it.
func planYield(d Desired, o Observed) reconcile.Plan {
	var p replication.Plan
	planTakenBack(d, o, &p)
	return p.Plan
}

// planTakenBack takes the right back from a log reader whose Publication does nothing more for it, and has it run on
// without: false until that is so. Whatever reclaimPolicy says, a login in sysadmin is not left behind.
func planTakenBack(d Desired, o Observed, p *replication.Plan) bool {
	have, job := d.Publication.Status.LogReaderRight, o.LogReaderJob
	has := d.System.SetsUp(job)
	if have == nil && (!has || d.scheduled()) {
		return true
	}
	if d.nowhere() {
		p.Leave("a login in sysadmin at its distributor, if the log reader of %s has it: these are not declared: %s",
			d.database(), strings.Join(d.Missing, ", "))
		return true
	}
	if why := o.gone(d, d.System.Server); why != "" {
		p.Leave("on %s login %s, if the log reader of %s has it: in sysadmin (%s)", d.System.Host(), d.System.SetUpLogin,
			d.database(), why)
		return true
	}
	outcome, answers := replication.Usable(d.System.Server, o.Servers[d.System.Server])
	switch err := o.unread(d); {
	case !answers:
		return p.Await(outcome, d.System.NotRetained())
	case err != nil:
		return p.Await(replication.Unanswered(err, ""), d.System.NotRetained())
	case job == nil || foreignLogReader(d, o) || len(d.Claims) > 0:
		return true
	case has && d.PasswordsErr != nil:
		return p.Await(replication.Unanswered(d.PasswordsErr, ""), d.System.NotRetained())
	case has:
		lower(d, o, p)
	case goesWithout(d, o):
		return true
	case !job.Running:
		p.StartJob(d.System.Server, logReaderJob(d, o).Name)
	case have.Ended != nil && o.Now.Sub(have.Ended.Time) >= stopsWithin:
		p.StopJob(d.System.Server, logReaderJob(d, o).Name)
	}
	outcome = conditions.InProgress(v1alpha1.ReasonDeleting, "the right to set subscribers up, with login "+
		d.System.SetUpLogin+" in sysadmin, is being taken back from the log reader of "+d.database())
	return p.Await(outcome, d.System.NotRetained())
}

// stopsWithin is how long a job is given to stop before it is told again.
const stopsWithin = 15 * time.Second

// unread is why the distributor did not tell of the log reader, nil when it did.
func (o Observed) unread(d Desired) error {
	if _, err := replication.NoDistribution(d.System, o.Servers, d.Publisher); err != nil {
		return err
	}
	return o.AtErr
}

// holdsRight says how the deletion of a Publication goes on whose log reader may have the right; empty for another one.
func holdsRight(p *v1alpha1.Publication) string {
	if p.Status.LogReaderRight == nil {
		return ""
	}
	return "reclaimPolicy Retain does not leave a login in sysadmin, which its log reader may have: it is taken back first"
}

// beingSetUp says what is done with the log reader.
func beingSetUp(d Desired, o Observed) string {
	const base = "the log reader of %s is being set up"
	now, then := d.System.SetsUp(o.LogReaderJob), setsUp(d, o)
	switch {
	case then && !now:
		return fmt.Sprintf(base+" with login %s, in sysadmin on %s, until it has set up who begins without a snapshot",
			d.database(), d.System.SetUpLogin, d.System.Host())
	case now && !then:
		return fmt.Sprintf(base+" without login %s, which is in sysadmin on %s: nobody needs it, or its hour is over",
			d.database(), d.System.SetUpLogin, d.System.Host())
	}
	return fmt.Sprintf(base, d.database())
}

// raised says that the log reader has the right now, as the end of a sentence; empty when it has not.
func raised(d Desired, o Observed) string {
	if !d.System.SetsUp(o.LogReaderJob) {
		return ""
	}
	return fmt.Sprintf("; its log reader runs with login %s, in sysadmin on %s, until it has set up who begins without a "+
		"snapshot", d.System.SetUpLogin, d.System.Host())
}

// unseen says that nobody knows whether the log reader has the right still, as the end of a sentence; empty when that
// is known, or no record tells of one.
func unseen(d Desired, o Observed) string {
	if d.Publication.Status.LogReaderRight == nil || rightKnown(d, o) {
		return ""
	}
	return fmt.Sprintf("; whether the log reader of %s has the right to set subscribers up still, by a login in "+
		"sysadmin, is not known", d.database())
}

// lacksRight are the errors of a log reader that sets subscribers up and is no sysadmin: by sp_MSsetupnosyncsubwith-
// lsnatdist (21089), by what that calls (14126), and by the engine itself (229).
var lacksRight = []string{"21089", "14126", "229"}

// failing tells that the log reader's newest run fails, or begins again after it did.
func failing(o Observed) bool {
	a := o.At.LogReader
	return a != nil && (a.Failure == mssql.RunRetrying || a.Failure == mssql.RunFailed)
}

// failsWithout tells that something is to be set up, and that the log reader fails for want of the right, as its own
// newest error says: it delivers to nobody meanwhile.
func failsWithout(d Desired, o Observed) bool {
	return o.Pending > 0 && failing(o) && !d.System.SetsUp(o.LogReaderJob) &&
		replication.FailsOf(o.At.LogReader, lacksRight...) != ""
}
