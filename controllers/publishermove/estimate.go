// SPDX-License-Identifier: Apache-2.0

package publishermove

import (
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/reconcile/conditions"
	"geosql.dev/operator/internal/replication"
)

// longestSummary is what the status takes.
const longestSummary = 2048

// Values of MoveEstimate.NewestFrom.
const (
	fromDistributor = "Distributor"
	fromStatus      = "Status"
	fromSubscriber  = "Subscriber"
)

// estimates tells that the estimate is made, or made anew: when all that it needs is known, once in a while until it is
// approved, and when something else is so than it says.
func (d Desired) estimates(o Observed) bool {
	if e := d.Move.Status.Estimate; d.drained() || d.approved() ||
		e != nil && o.Now.Sub(e.Time.Time) < estimateFor && e.Lossless == o.lossless() {
		return false
	}
	return d.estimable(o)
}

// estimable tells that all that an estimate needs is known.
func (d Desired) estimable(o Observed) bool {
	var p replication.Plan
	return reconcile.Through(&p, d, o, planReferences, planPublisherFenced, planSuccessor, planNothingLost)
}

// lossless tells that a former publisher that lives takes no writes by its own word, and has nothing that the new one
// lacks.
func (o Observed) lossless() bool {
	return o.ReadOnly != "" && o.Comparison != nil && o.Comparison.Equal
}

// estimate sums up what is known of the copies. What nobody saw before the publisher was gone cannot be in it.
func estimate(d Desired, o Observed) *v1alpha1.MoveEstimate {
	e := &v1alpha1.MoveEstimate{Time: metav1.NewTime(o.Now).Rfc3339Copy()}
	var best *v1alpha1.ReplicatedTransaction
	for _, s := range d.Subscriptions {
		one := evidence(d, o, s)
		if later(one.Last, best) {
			best = one.Last
		}
		e.Subscribers = append(e.Subscribers, one)
	}
	e.Best = bestCopy(d, e.Subscribers)
	e.Newest, e.NewestFrom = best, fromSubscriber
	if known := d.Publication.Status.Newest; !later(best, known) && known != nil {
		e.Newest, e.NewestFrom = known, fromStatus
	}
	if o.Old.Asked {
		if now := replication.Transaction(o.Old.At.Newest, o.Old.At.NewestTime, o.Now); now != nil && !later(e.Newest, now) {
			e.Newest, e.NewestFrom = now, fromDistributor
		}
		if n, ok := o.Old.Pending[d.targetSubscription()]; ok {
			e.Deliverable = &n
		}
	}
	if e.Newest == nil {
		e.NewestFrom = ""
	}
	e.Lossless = o.lossless()
	e.Lacks = lacks(d, o)
	e.Summary = conditions.Shorten(summary(d, o, e)+lacking(d, o, e.Lacks), longestSummary)
	return e
}

// bestCopy is the server with the newest transaction, among those whose content nothing speaks against; among all when
// something speaks against every one. Of several with the same it is the one that is to publish.
func bestCopy(d Desired, all []v1alpha1.MoveEvidence) v1alpha1.ServerName {
	for _, doubtful := range []bool{false, true} {
		var best *v1alpha1.MoveEvidence
		for i := range all {
			one := &all[i]
			if one.Last == nil || doubts(*one) != doubtful {
				continue
			}
			if best == nil || later(one.Last, best.Last) || one.Last.Transaction == best.Last.Transaction &&
				string(one.Subscription) == d.targetSubscription() {
				best = one
			}
		}
		if best != nil {
			return best.Server
		}
	}
	return ""
}

// doubts tells that something is known to be missing or otherwise in a copy, whatever was delivered to it.
func doubts(e v1alpha1.MoveEvidence) bool {
	return e.Skips != "" || e.Content == v1alpha1.ContentDiffers
}

// evidence is what is known of one copy, by the server itself or else by status.
func evidence(d Desired, o Observed, s v1alpha1.Subscription) v1alpha1.MoveEvidence {
	c := o.Copies[s.Name]
	one := v1alpha1.MoveEvidence{
		Subscription: v1alpha1.ObjectName(s.Name),
		Server:       s.Spec.Subscriber.Server,
		Answers:      c.Err == nil,
		Rows:         c.Rows,
	}
	if c.Here != nil {
		one.Last = replication.Transaction(c.Here.Last, c.Here.Time, o.Now)
	}
	one.Skips = d.skips(s)
	one.Content, one.Compared = content(d, o, s)
	if l := s.Status.Latency; l != nil && one.Skips == "" {
		one.CompleteUntil = l.PostedAt
	}
	if n, ok := o.Old.Pending[s.Name]; ok && o.Old.Asked {
		one.PendingCommands = &n
	}
	return one
}

// later tells that a transaction is later than another; nil is none. Numbers of one log have one length, in upper case.
func later(a, b *v1alpha1.ReplicatedTransaction) bool {
	return a != nil && (b == nil || a.Transaction > b.Transaction)
}

// summary says in words what the figures mean.
func summary(d Desired, o Observed, e *v1alpha1.MoveEstimate) string {
	to := credentials.HostName(d.Move.Spec.To)
	var own v1alpha1.MoveEvidence
	for _, s := range e.Subscribers {
		if string(s.Subscription) == d.targetSubscription() {
			own = s
		}
	}
	if c := o.Comparison; e.Lossless {
		what := "Nothing that is published"
		if len(e.Lacks) > 0 {
			what = "No published row"
		}
		return fmt.Sprintf(
			"%s is lost: the database of %s is read-only, and %s has the same %d rows in every article, %s.",
			what, credentials.HostName(o.ReadOnly), to, c.Rows, c.Words(),
		)
	}
	var parts []string
	say := func(format string, args ...any) { parts = append(parts, fmt.Sprintf(format, args...)) }
	switch {
	case own.CompleteUntil != nil:
		say("What was committed until %s was delivered to %s, and of what came later what its last transaction shows.",
			moment(own.CompleteUntil), to)
	case own.Skips != "":
		say("Nothing tells until when %s is complete: its agent skips errors, or has.", to)
	default:
		say("No tracer token tells until when %s is complete.", to)
	}
	switch {
	case own.Last == nil:
		say("It has applied no transaction of the former publisher.")
	case e.Newest == nil || !later(e.Newest, own.Last):
		say("The newest transaction that is known to have been replicated (%s) was delivered to it.", own.Last.Transaction)
	case e.Deliverable != nil && *e.Deliverable > 0:
		say("The former distributor has %d commands for it, which are delivered first: after that everything that was "+
			"replicated was delivered to it.", *e.Deliverable)
	case e.Deliverable != nil:
		say("The former distributor has no command for it: everything that was replicated was delivered to it.")
	default:
		say(
			"It lacks transactions that were replicated: it has %s (%s), and %s (%s) is known from the %s. They are lost.",
			own.Last.Transaction, moment(own.Last.Time), e.Newest.Transaction, moment(e.Newest.Time),
			strings.ToLower(e.NewestFrom),
		)
	}
	say("%s", contents(own, to))
	switch best := credentials.HostName(e.Best); {
	case e.Best == "" || e.Best == d.Move.Spec.To:
	case doubts(own):
		say("Nothing speaks against the copy of %s: look there first.", best)
	case e.Deliverable == nil:
		say("More was delivered to %s: move there to lose less.", best)
	}
	if counts := rowCounts(e.Subscribers); counts != "" {
		say("The copies have different numbers of rows: %s.", counts)
	}
	if e.Newest != nil && e.Newest.Seen != nil {
		say(
			"What %s committed after %s and had not replicated is lost, and nobody can tell how much that is.",
			d.From.Name, moment(lastKnown(e, own)),
		)
	} else {
		say("Nobody can tell what %s had committed and not replicated; it is lost.", d.From.Name)
	}
	return strings.Join(parts, " ")
}

// lastKnown is when replication was last known to go on.
func lastKnown(e *v1alpha1.MoveEstimate, own v1alpha1.MoveEvidence) *metav1.Time {
	if own.CompleteUntil != nil && (e.Newest.Time == nil || own.CompleteUntil.After(e.Newest.Time.Time)) {
		return own.CompleteUntil
	}
	return e.Newest.Time
}

func moment(t *metav1.Time) string {
	if t == nil {
		return "an unknown time"
	}
	return t.UTC().Format(time.RFC3339)
}

// steps says what would be done, in words: the plans of a world in which each step has been carried out. What the
// controllers of Publications and Subscriptions do then follows from what is declared.
func steps(d Desired, o Observed) []string {
	var lines []string
	if n, ok := o.Old.Pending[d.targetSubscription()]; ok && n > 0 && !d.Move.Spec.SkipUndelivered {
		to, from := credentials.HostName(d.Move.Spec.To), d.FromSystem.Host()
		lines = append(lines, fmt.Sprintf("wait until %s has the %d commands that %s has for it", to, n, from))
	}
	var p replication.Plan
	planNote(d, o, &p)
	planStop(d, o, &p)
	planDeclare(d, o, &p)
	if s := d.target(); s != nil {
		if s.Spec.ReclaimPolicy == v1alpha1.ReclaimDelete {
			p.Add(EndSubscription{Subscription: s.Name, Topology: topology(d, s)})
		}
		ended := d
		ended.Subscriptions = nil
		var last replication.Plan
		planDeclare(withTarget(ended, *s), o, &last)
		p.Steps = append(p.Steps, last.Steps...)
	}
	for _, s := range p.Steps {
		lines = append(lines, s.Describe())
	}
	for _, s := range d.others() {
		const others = "Subscription %s: end what it has of the former publisher, compare its tables, and register it " +
			"without a copy if they are equal, else with a snapshot"
		lines = append(lines, fmt.Sprintf(others, s.Name))
	}
	return lines
}

// withTarget is the world after the new publisher's Subscription has ended.
func withTarget(d Desired, s v1alpha1.Subscription) Desired {
	d.Move = d.Move.DeepCopy()
	d.Move.Status.ToSubscription, d.Move.Status.ToDatabase = v1alpha1.ObjectName(s.Name), s.Spec.Database
	return d
}
