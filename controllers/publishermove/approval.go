// SPDX-License-Identifier: Apache-2.0

package publishermove

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/reconcile/conditions"
)

// longestWorse is what the status takes.
const longestWorse = 1024

// approved tells that a person has approved the estimate of the status.
func (d Desired) approved() bool { return approved(d.Move) }

func approved(m *v1alpha1.PublisherMove) bool {
	e := m.Status.Estimate
	if !m.Spec.Approved || e == nil {
		return false
	}
	if m.Spec.ApprovedEstimate != "" {
		return m.Spec.ApprovedEstimate == e.Digest
	}
	return !e.AfterApproval
}

// next is the estimate of now after the one of the status: it keeps that one's digest unless something is worse.
func next(d Desired, o Observed) *v1alpha1.MoveEstimate {
	e, before := estimate(d, o), d.Move.Status.Estimate
	if before != nil && before.Digest != "" {
		worse := worsened(d, before, e)
		if worse == "" {
			e.Digest, e.Worse, e.AfterApproval = before.Digest, before.Worse, before.AfterApproval
			return e
		}
		if d.approved() {
			e.Worse = conditions.Shorten(worse, longestWorse)
		}
	}
	e.AfterApproval = d.Move.Spec.Approved
	content, err := json.Marshal(e)
	if err != nil {
		// An estimate is plain data.
		panic(fmt.Sprintf("encode an estimate: %v", err))
	}
	sum := sha256.Sum256(content)
	e.Digest = hex.EncodeToString(sum[:8])
	return e
}

// worse is what is worse now than in the estimate that was approved, empty when nothing is or nothing was begun to be
// carried out.
func (d Desired) worse(o Observed) string {
	before := d.Move.Status.Estimate
	if d.drained() || !d.approved() || before.Digest == "" {
		return ""
	}
	return worsened(d, before, estimate(d, o))
}

// worsened says what an estimate has that is worse than in the one before, empty when nothing is. What was not asked
// now is not worse: the stages of the plan wait for it.
func worsened(d Desired, before, now *v1alpha1.MoveEstimate) string {
	var all []string
	say := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	if before.Lossless && !now.Lossless {
		say("the rows of the former publisher and of %s are not known to be equal any more",
			credentials.HostName(d.Move.Spec.To))
	}
	all = append(all, lacksMore(before.Lacks, now.Lacks)...)
	own, had := evidenceOf(d, now), evidenceOf(d, before)
	undelivered := now.Deliverable == nil && before.Deliverable == nil
	switch {
	case own.Answers && later(had.Last, own.Last):
		say("the copy has gone back from transaction %s", had.Last.Transaction)
	case own.Answers && undelivered && later(now.Newest, own.Last) && later(now.Newest, before.Newest):
		say("a newer transaction is known that the copy lacks, %s", now.Newest.Transaction)
	case before.Deliverable != nil && *before.Deliverable > 0 && now.Deliverable == nil &&
		(now.Newest == nil || later(now.Newest, own.Last)):
		say("the former distributor does not say any more what it has: %d commands were to be delivered first, and "+
			"may be lost",
			*before.Deliverable)
	}
	for _, one := range now.Subscribers {
		i := slices.IndexFunc(before.Subscribers,
			func(x v1alpha1.MoveEvidence) bool { return x.Subscription == one.Subscription })
		switch {
		case i < 0:
			say("Subscription %s has come, and its copy is replaced unless it is equal", one.Subscription)
		case one.Content == v1alpha1.ContentDiffers && before.Subscribers[i].Content != v1alpha1.ContentDiffers:
			say("the rows of Subscription %s differ", one.Subscription)
		case one.Skips != "" && before.Subscribers[i].Skips == "":
			say("the agent of Subscription %s skips errors", one.Subscription)
		}
	}
	return strings.Join(all, "; ")
}

// evidenceOf is what an estimate has of the copy that is to publish.
func evidenceOf(d Desired, e *v1alpha1.MoveEstimate) v1alpha1.MoveEvidence {
	for _, one := range e.Subscribers {
		if string(one.Subscription) == d.targetSubscription() {
			return one
		}
	}
	return v1alpha1.MoveEvidence{}
}

// unapproved says what a person has to do about an estimate that is not approved.
func unapproved(d Desired) string {
	e := d.Move.Status.Estimate
	switch {
	case !d.Move.Spec.Approved:
		return "read status.estimate and status.steps, and set spec.approved to go on"
	case e.Worse != "":
		return fmt.Sprintf("since the approval it is worse: %s. Read status.estimate again, and set "+
			"spec.approvedEstimate to its digest, %s, to go on", e.Worse, e.Digest)
	case d.Move.Spec.ApprovedEstimate != "":
		return fmt.Sprintf("spec.approvedEstimate names another estimate than the one of now: read status.estimate, and set "+
			"it to its digest, %s, to go on", e.Digest)
	}
	return fmt.Sprintf("spec.approved was set before there was an estimate, and is about none: read status.estimate, and "+
		"set spec.approvedEstimate to its digest, %s, to go on", e.Digest)
}
