// SPDX-License-Identifier: Apache-2.0

package subscription

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/reconcile/conditions"
	"geosql.dev/operator/internal/replication"
)

// replacesKept tells that a person lets a copy that differs be replaced: Compare asks for that, and did when the copy
// was kept. Of an article that was added to such a copy later nobody has said so, and a backup replaces nothing.
func replacesKept(d Desired) bool {
	s := d.Subscription.Status.Initialization
	return d.agrees() || s.Compared && len(s.ValidatedArticles) == 0 && !d.fromBackup()
}

// agrees tells that tables which a comparison finds different may be replaced.
func (d Desired) agrees() bool { return replication.Agrees(d.Publication, d.Subscription) }

// differs tells that tables of which nobody knew were found different, and stayed so after all that was on its way then
// has come. The same words are no evidence: a table that is only updated has as many rows as before, and others of them
// on their way. With the same rows at both ends nothing was written since, as far as can be seen, and nothing came.
func differs(d Desired, o Observed) bool {
	s := d.Subscription.Status.Initialization
	return o.logIsRead(d) && o.Comparison != nil && o.Comparison.Steady && !o.Comparison.Equal &&
		s.Differs == limit(o.Comparison.Difference) && s.DiffersDigest == o.Comparison.Digest &&
		s.DiffersSince != nil &&
		o.Now.Sub(s.DiffersSince.Time) >= differsFor &&
		o.arrivedSince(s.DiffersSince.Time)
}

// arrivedSince tells that a tracer token which was posted after a moment has come to the subscriber, by both queues:
// the log reader's and the distributor's.
func (o Observed) arrivedSince(moment time.Time) bool {
	return slices.ContainsFunc(o.Tokens, func(t Token) bool {
		return t.Latency.Overall != nil && o.postedAfter(t, moment)
	})
}

// postedAfter tells that a tracer token was posted after a moment of the manager's clock, whatever the publisher's
// says. What was committed before it comes before it: a log reader that was started anew, or reads a long log, runs and
// has brought nothing yet, and then nothing is pending at the distributor.
func (o Observed) postedAfter(t Token, moment time.Time) bool {
	return t.Age >= 0 && o.Now.Add(-t.Age).After(moment)
}

// onItsWay is for how long tokens have been on their way which were posted after a moment; zero when none was. One from
// before it that has not come either holds them up since the moment, at least.
func (o Observed) onItsWay(moment time.Time) time.Duration {
	if len(o.Tokens) == 0 || !o.postedAfter(o.Tokens[0], moment) || o.arrivedSince(moment) {
		return 0
	}
	var oldest time.Duration
	for _, t := range o.Tokens {
		if t.Latency.Overall == nil {
			oldest = max(oldest, t.Age)
		}
	}
	return min(oldest, o.Now.Sub(moment))
}

// awaitsArrival tells that a difference stands for which a new copy is made once a token that was posted since has
// come.
func (o Observed) awaitsArrival(d Desired) bool {
	s := d.Subscription.Status.Initialization
	return s != nil && s.DiffersDigest != "" && s.DiffersSince != nil && replacesKept(d) &&
		!o.arrivedSince(s.DiffersSince.Time)
}

// awaitsToken tells that a difference was found since the newest token was posted, which shows nothing of it.
func (o Observed) awaitsToken(d Desired) bool {
	return len(o.unproved(d)) > 0 && o.awaitsArrival(d) && (len(o.Tokens) == 0 ||
		!o.postedAfter(o.Tokens[0], d.Subscription.Status.Initialization.DiffersSince.Time))
}

// planProved says that the copy of an article is not known to be the publisher's.
func planProved(d Desired, o Observed, p *replication.Plan) bool {
	unproved := slices.Sorted(maps.Keys(o.unproved(d)))
	if len(unproved) == 0 {
		return true
	}
	which := fmt.Sprintf(
		"%d articles were registered without a copy and not found equal to the publisher's since (%s)",
		len(unproved),
		strings.Join(unproved[:min(len(unproved), mostNamed)], ", "),
	)
	s := d.Subscription.Status.Initialization
	if s == nil {
		s = &v1alpha1.SubscriptionInitialization{}
	}
	unequal, same := lasts(o, s.UnequalSince), lasts(o, s.DiffersSince)
	// The last comparison has found another difference than the one before it.
	changed := s.DiffersSince != nil && s.UnequalSince != nil && s.LastCompared != nil &&
		s.DiffersSince.Sub(s.UnequalSince.Time) >= validateFor && !s.LastCompared.After(s.DiffersSince.Time)
	switch {
	case s.Differs != "" && !replacesKept(d) && (same >= differsFor || unequal >= validateFor):
		return p.Settle(conditions.Stalled(v1alpha1.ReasonCopyDiffers, fmt.Sprintf(
			"%s: %s. Make them equal, or have all its tables replaced by a new copy, %s; %s, or by setting "+
				"spec.initialization.method of the Subscription to %s, which keeps them where all have become equal",
			which,
			s.Differs,
			d.cost(),
			d.ask(),
			v1alpha1.InitializeCompare,
		)))
	case s.DiffersDigest == "" && unequal >= validateFor:
		return p.Settle(conditions.Stalled(v1alpha1.ReasonValidating, fmt.Sprintf(
			"%s, because they changed each time: let nobody write there for as long as it takes to read them three times, or "+
				"have them replaced by a new copy, %s; %s",
			which,
			d.cost(),
			d.ask(),
		)))
	case changed:
		return p.Settle(conditions.Stalled(v1alpha1.ReasonValidating, fmt.Sprintf("%s: %s, which was another difference "+
			"each time, for %s. Let nobody write there until they are found equal, or have them replaced by a new copy, %s; %s",
			which, s.Differs, unequal.Truncate(time.Minute), d.cost(), d.ask())))
	case s.DiffersDigest != "" && replacesKept(d) && same >= differsFor:
		return p.Settle(standing(d, o, which, same))
	}
	waits := which + ": they are compared when nothing is pending" + pends(o)
	return p.Settle(conditions.InProgress(v1alpha1.ReasonValidating, waits))
}

// lasts is for how long something is so; not at all when it is not.
func lasts(o Observed, since *metav1.Time) time.Duration {
	if since == nil {
		return 0
	}
	return o.Now.Sub(since.Time)
}

// standing says what a difference waits for before a new copy is made for it. A person is asked when what is waited for
// does not come; how long it was not even on its way is no evidence of that.
func standing(d Desired, o Observed, which string, same time.Duration) conditions.Outcome {
	s := d.Subscription.Status.Initialization
	if !o.awaitsArrival(d) {
		text := fmt.Sprintf("%s: %s. All that was on its way then has come: they are replaced by a new copy, %s, if they "+
			"are the same when they are compared once more, when nothing is pending%s", which, s.Differs, d.cost(), pends(o))
		if same >= 2*validateFor {
			return conditions.Stalled(v1alpha1.ReasonValidating, text)
		}
		return conditions.InProgress(v1alpha1.ReasonValidating, text)
	}
	text := fmt.Sprintf("%s: %s. They are replaced by a new copy, %s, once a tracer token that was posted since then "+
		"has come, behind all that was on its way", which, s.Differs, d.cost())
	waits := ""
	switch way := o.onItsWay(s.DiffersSince.Time); {
	case way >= validateFor:
		waits = fmt.Sprintf("None has for %s: see to what keeps it", way.Truncate(time.Minute))
	case o.TokensErr != nil:
		text += fmt.Sprintf("; the tokens cannot be read: %v", o.TokensErr)
		if same >= validateFor {
			waits = "See to that"
		}
	case way == 0 && same >= 2*validateFor:
		waits = "None that was posted since is known to the distributor: see to what keeps it"
	}
	if waits == "" {
		return conditions.InProgress(v1alpha1.ReasonValidating, text)
	}
	return conditions.Stalled(v1alpha1.ReasonValidating,
		fmt.Sprintf("%s. %s; a new copy is made at once if %s", text, waits, d.ask()))
}

// pends says what is pending now, as the end of a sentence.
func pends(o Observed) string {
	switch {
	case o.Pending == nil && o.Counted.stands(o.Now):
		return fmt.Sprintf("; counting takes %s, and how much is, is counted again at %s",
			o.Counted.Took.Truncate(time.Second), o.Counted.again().UTC().Format(time.RFC3339))
	case o.Pending == nil:
		return "; how much is, the distributor does not say now"
	case *o.Pending > 0:
		return fmt.Sprintf("; %d commands are. If that never ends, let nobody write at the publisher for a while", *o.Pending)
	}
	return ""
}
