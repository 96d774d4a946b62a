// SPDX-License-Identifier: Apache-2.0

package publication

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/reconcile/conditions"
	"geosql.dev/operator/internal/replication"
	"geosql.dev/operator/internal/schedule"
	"geosql.dev/operator/internal/tsql"
)

// A publication of type Snapshot is copied by a schedule. The snapshot agent's job has none of its own: it is started
// here. What a run is for is not written down: it is due when a time of the schedule has passed since the newest whole
// snapshot was begun, so a manager that ends between two steps, or is away for long, makes up for it once.

const (
	// sameRun is by how much a run that this process has started may seem to have been begun too early.
	sameRun = 2 * time.Second
	// behindFor is how long a run that is due waits for subscribers who are still being given the snapshot before it: a
	// newer one would begin their way anew, and where that is longer than from one time to the next they would get none.
	behindFor = 24 * time.Hour
)

// scheduled tells that the publication is copied by a schedule, and not streamed.
func (d Desired) scheduled() bool { return d.Publication.Spec.Scheduled() }

// times of the schedule.
func times(p *v1alpha1.Publication) (*schedule.Schedule, error) {
	if !p.Spec.Scheduled() {
		return nil, nil
	}
	t, err := schedule.Parse(p.Spec.Schedule, p.Spec.TimeZone)
	if err != nil {
		return nil, fmt.Errorf("spec.schedule: %w", err)
	}
	return &t, nil
}

// asks is the schedule as status has it.
func (d Desired) asks() string {
	if d.Publication.Spec.TimeZone == "" {
		return d.Publication.Spec.Schedule
	}
	return d.Publication.Spec.Schedule + " " + d.Publication.Spec.TimeZone
}

// since is the time after which the schedule asks for a snapshot: the newest one's beginning, and not before the
// schedule was declared as it is. Another schedule does not ask for what it would have asked for yesterday.
func (d Desired) since(o Observed) time.Time {
	have := d.Publication.Status.Schedule
	if have == nil || have.Asks != d.asks() || have.Since == nil {
		return o.Now
	}
	if began := d.began(o).Add(sameRun); began.After(have.Since.Time) {
		return began
	}
	return have.Since.Time
}

// began is when the newest whole snapshot was begun, zero before the first: as the distributor tells, or as status has
// it, for the distributor's history is cleaned up, and may come back from a backup. A time to come is a wrong clock's.
func (d Desired) began(o Observed) time.Time {
	told := o.At.SnapshotBegan
	if have := d.Publication.Status.Schedule; have != nil && have.Last != nil && !have.Last.After(o.Now) &&
		have.Last.Sub(told) > sameRun {
		return have.Last.Time
	}
	return told
}

// due is the first time of the schedule for which there is no snapshot, zero when there is none. It does not say that
// one may be made now.
func (d Desired) due(o Observed) time.Time {
	if d.Times == nil {
		return time.Time{}
	}
	if next := d.Times.Next(d.since(o)); !next.IsZero() && !next.After(o.Now) {
		return next
	}
	return time.Time{}
}

// behind are the Subscriptions that are still being given the newest snapshot.
func (d Desired) behind() []string {
	var all []string
	for i := range d.Subscriptions {
		s := &d.Subscriptions[i]
		given := s.Status.Phase == phaseMirroring || s.Status.Phase == phaseInitializing
		if given && s.DeletionTimestamp == nil && !d.rests(s) {
			all = append(all, s.Name)
		}
	}
	slices.Sort(all)
	return all
}

// Phases of a Subscription in which it is being given a snapshot.
const (
	phaseMirroring    = "Mirroring"
	phaseInitializing = "Initializing"
)

// subscribed tells that somebody subscribes, and copied that somebody has a copy, or is being given it.
func (o Observed) subscribed() bool {
	return o.Database.Publication != nil && len(o.Database.Publication.Subscriptions) > 0
}

func (o Observed) copied() bool {
	return slices.ContainsFunc(o.Database.Publication.Subscriptions,
		func(s mssql.ArticleSubscription) bool { return s.Status != mssql.SubscriptionWaiting })
}

// run tells that a run of the schedule is to begin, or goes on. Nobody is given a snapshot for which there is nobody.
func (d Desired) run(o Observed) bool {
	due := d.due(o)
	return !due.IsZero() && o.subscribed() && (len(d.behind()) == 0 || o.Now.Sub(due) >= behindFor)
}

// asked tells that somebody has asked for a new copy since the newest snapshot was begun, and waits for it.
func (d Desired) asked(o Observed) bool {
	return slices.ContainsFunc(o.Database.Publication.Subscriptions, func(s mssql.ArticleSubscription) bool {
		declared := d.declares(s)
		if s.Status != mssql.SubscriptionWaiting || declared == nil || declared.Status.Reinitialization == nil {
			return false
		}
		at := declared.Status.Reinitialization.Time
		return at != nil && !d.began(o).After(at.Time)
	})
}

// mayReplace tells that subscribers' tables may be replaced now, as a snapshot does with those of all of them: by the
// schedule, because somebody asked, or because nobody has a copy yet. What is streamed has its own rules.
func (d Desired) mayReplace(o Observed) bool {
	return !d.scheduled() || o.Database.Publication == nil || !o.copied() || d.run(o) || d.asked(o)
}

// planSchedule ends the plan when nobody can read the schedule, or something is asked for that keeps copies.
func planSchedule(d Desired, _ Observed, p *replication.Plan) bool {
	switch {
	case !d.scheduled():
		return true
	case d.TimesErr != nil:
		return p.Settle(conditions.Stalled(v1alpha1.ReasonScheduleInvalid, d.TimesErr.Error()))
	case d.Publication.Annotations[v1alpha1.RebuildAnnotation] == v1alpha1.RebuildCompare:
		return p.Settle(conditions.Stalled(v1alpha1.ReasonNotSupported, fmt.Sprintf(
			"annotation %s is %s, and type Snapshot keeps no copy: each snapshot replaces it. Set it to true, or take it away",
			v1alpha1.RebuildAnnotation, v1alpha1.RebuildCompare)))
	}
	return true
}

// snapshotGoesOn tells that a snapshot was being made when the distributor was asked. Its job was asked for later: when
// that does not run, the snapshot is whole, and the next look sees it. A history that ends so for longer than a look
// takes is of an agent that was cut off.
func (o Observed) snapshotGoesOn() bool {
	at := o.At.Snapshot
	return at != nil && (at.Status == mssql.RunStarted || at.Status == mssql.RunInProgress) && at.Age < waitingPause
}

// planType ends the plan when the publication that is there is of the other type, as one that was retained is, and a
// person has made: subscribers live by it, and no type becomes another.
func planType(d Desired, o Observed, p *replication.Plan) bool {
	have := o.Database.Publication
	if have == nil || have.Scheduled == d.scheduled() {
		return true
	}
	there, want := v1alpha1.PublicationTransactional, v1alpha1.PublicationSnapshot
	if have.Scheduled {
		there, want = want, there
	}
	return p.Settle(conditions.Stalled(v1alpha1.ReasonPublicationConflict, fmt.Sprintf(
		"database %[1]s has a publication %[2]s of type %[3]s, and type %[4]s is declared: it is left as it is. Delete this "+
			"Publication with reclaimPolicy Retain, and declare it with type %[3]s to keep what is there, or choose another "+
			"name", d.database(), d.name(), there, want)))
}

// planRun marks the subscribers that a run is to give a new copy: the documents have a distribution agent bring a new
// snapshot to those alone. That they wait is what starts the snapshot agent (planSnapshot), also when this process ends
// in between. A Subscription that is suspended is left out. A snapshot that somebody has started meanwhile ends first.
func planRun(d Desired, o Observed, p *replication.Plan) bool {
	if !d.scheduled() || !d.run(o) || o.SnapshotJob == nil || o.SnapshotJob.Running || o.snapshotGoesOn() {
		return true
	}
	done := map[receiver]bool{}
	for _, s := range o.Database.Publication.Subscriptions {
		who := receiver{s.Subscriber, s.Database, s.Pull}
		if done[who] || s.Status == mssql.SubscriptionWaiting || s.DataWasThere || d.rests(d.declares(s)) {
			continue
		}
		done[who] = true
		p.Execute(o.primary(d), d.database(), tsql.ReinitializeSubscription(tsql.Subscription{
			Publication: d.name(), Subscriber: s.Subscriber, Database: s.Database, Pull: s.Pull}))
	}
	return d.serving(o, p,
		p.Proceed("the snapshot of %s that was due at %s is begun", d.name(), d.due(o).UTC().Format(time.RFC3339)))
}

// serving lets a publication that is copied by a schedule stay Ready for its newest snapshot while another is begun.
func (d Desired) serving(o Observed, p *replication.Plan, goesOn bool) bool {
	if !goesOn && d.scheduled() && o.At.LastSnapshot != "" && p.Outcome.Reason == v1alpha1.ReasonConfiguring {
		p.Outcome.Ready = metav1.ConditionTrue
	}
	return goesOn
}

// planScheduled says what is so of a publication that is copied by a schedule, when nothing is left to do. What it is
// Ready for is the newest snapshot, also while another one is being made.
func planScheduled(d Desired, o Observed, p *replication.Plan) bool {
	at := o.At.Snapshot
	failed := at != nil && at.Status == mssql.RunFailed && o.SnapshotJob != nil && !o.SnapshotJob.Running
	switch {
	case failed && (&replication.Failure{For: at.FailingFor}).Lasts():
		return p.Settle(conditions.Stalled(v1alpha1.ReasonSnapshotFailed, fmt.Sprintf(
			"the snapshot agent has been started again and again for %s: %s. Mend what it says; docs/runbooks/replication.md "+
				"has more", at.FailingFor.Truncate(time.Minute), at.Message)))
	case failed:
		return p.Settle(conditions.InProgress(
			v1alpha1.ReasonSnapshotFailed, "the snapshot agent failed and is started again: "+at.Message))
	case o.At.LastSnapshot == "" && !o.copied():
		return p.Settle(conditions.InProgress(v1alpha1.ReasonSnapshotRunning, "the first snapshot is being made"))
	}
	if !planNeeded(d, o, p) || !planUnread(d, o, p) || !planCompression(d, o, p) {
		return false
	}
	p.Outcome = conditions.Ready(v1alpha1.ReasonPublished, fmt.Sprintf(
		"%d articles of %s are copied through %s by the schedule %s; %s", len(o.Database.Publication.Articles), d.database(),
		d.System.Host(), d.asks(), d.nextRun(o)))
	return true
}

// nextRun says when the next snapshot is made, or what it waits for.
func (d Desired) nextRun(o Observed) string {
	text, due := "", d.due(o)
	switch behind := d.behind(); {
	case !o.subscribed():
		text = "nobody subscribes, and no snapshot is made by it meanwhile"
	case o.SnapshotJob != nil && o.SnapshotJob.Running:
		text = "a snapshot is being made"
	case !due.IsZero() && !d.run(o):
		text = fmt.Sprintf("the snapshot that was due at %s waits, a day at most, until these have the one before: %s",
			due.UTC().Format(time.RFC3339), strings.Join(behind, ", "))
	case !due.IsZero():
		text = "the snapshot that was due at " + due.UTC().Format(time.RFC3339) + " is to be made"
	default:
		text = "the next snapshot is due at " + d.Times.Next(d.since(o)).UTC().Format(time.RFC3339)
	}
	if tables := waiting(d, o); len(tables) > 0 {
		text += ", and so are the changes that are declared of " + strings.Join(tables, ", ")
	}
	return text
}

// scheduleStatus says when the tables are copied, nil of what is streamed.
func scheduleStatus(d Desired, o Observed) *v1alpha1.PublicationSchedule {
	if d.Times == nil {
		return nil
	}
	s := d.Publication.Status.Schedule.DeepCopy()
	if s == nil || s.Asks != d.asks() || s.Since == nil {
		now := metav1.NewTime(o.Now).Rfc3339Copy()
		s = &v1alpha1.PublicationSchedule{Asks: d.asks(), Since: &now}
	}
	if began := d.began(o); !began.IsZero() && (s.Last == nil || began.Sub(s.Last.Time).Abs() > sameRun) {
		// It is known to a second: a status that follows each reading would change at every look.
		at := metav1.NewTime(began).Rfc3339Copy()
		s.Last = &at
	}
	s.Next = nil
	if next := d.Times.Next(d.since(o)); !next.IsZero() && o.subscribed() {
		at := metav1.NewTime(next).Rfc3339Copy()
		s.Next = &at
	}
	return s
}
