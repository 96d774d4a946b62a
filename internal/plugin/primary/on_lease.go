// SPDX-License-Identifier: Apache-2.0

package primary

import (
	"cmp"
	"context"
	"fmt"
	"os/user"
	"time"

	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/utils/ptr"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/election/requests"
	"geosql.dev/operator/internal/election/votes"
	"geosql.dev/operator/internal/plugin/cli"
)

// onLease writes the request on the group's Lease at this site, and follows the answer with --wait.
func (a *asking) onLease(ctx context.Context, vote requests.Vote) error {
	spec := a.wish.spec
	if waiting := pending(vote, time.Now()); waiting != nil {
		if a.same(*waiting) {
			a.say(
				"request %s by %s, which asks for the same, waits there already: no other is written",
				waiting.ID,
				by(*waiting),
			)
			return a.await(ctx, *waiting)
		}
		if !a.flags.replace {
			return fmt.Errorf(
				"refused, nothing was changed: %s by %s waits on Lease %s/%s and expires at %s; with --replace this "+
					"request takes its place, and agents that have not begun with it carry it out no more",
				describeRequest(*waiting),
				by(*waiting),
				a.namespace,
				votes.LeaseName(string(spec.Group)),
				waiting.Expires().UTC().Format(time.RFC3339),
			)
		}
		a.say("note: this takes the place of %s by %s, which nobody has answered", describeRequest(*waiting), by(*waiting))
	}
	r := requests.Asked(spec)
	r.ID, r.By = string(uuid.NewUUID()), caller()
	r.Issued, r.ExpiresSeconds = requests.Votes{vote}.Issue(time.Now().UTC()), int(spec.Expires.Duration/time.Second)
	write, cancel := context.WithTimeout(ctx, cli.ReadTimeout)
	defer cancel()
	if err := requests.Write(write, a.cluster, a.cluster, a.namespace, string(spec.Group), r); err != nil {
		return cli.Unsure(err, a.annotation("request"))
	}
	a.say("request %s is written on Lease %s/%s: %s", r.ID, a.namespace, votes.LeaseName(string(spec.Group)),
		describeWish(spec))
	return a.await(ctx, r)
}

// annotation says how to look at one of the Lease.
func (a *asking) annotation(name string) string {
	return fmt.Sprintf("kubectl get lease -n %s %s -o jsonpath='{.metadata.annotations.geosql\\.dev/%s}'", a.namespace,
		votes.LeaseName(string(a.wish.spec.Group)), name)
}

// await follows the answer with --wait, and says where it will be without.
func (a *asking) await(ctx context.Context, r votes.Request) error {
	if !a.flags.wait {
		a.say("see what becomes of it: %s", a.annotation("answer"))
		return nil
	}
	return a.followAnswer(ctx, r)
}

// unknownAfter its expiry a request that was begun with and never ended is nobody's any more.
const unknownAfter = 2 * time.Minute

// pending is the request on a vote that somebody may still begin with or has begun with; nil for none.
func pending(vote requests.Vote, now time.Time) *votes.Request {
	r := vote.Request
	if r == nil {
		return nil
	}
	all := requests.Votes{vote}
	switch answer := all.Answer(r.ID); {
	case answer != nil && answer.Final(), answer == nil && r.Expired(now), now.After(r.Expires().Add(unknownAfter)),
		all.Overtaken(r.ID, r.Issued):
		return nil
	}
	return r
}

// same tells that a request asks for what is asked now.
func (a *asking) same(r votes.Request) bool {
	spec := a.wish.spec
	return string(r.Kind) == string(spec.Kind) && r.To == toServer(spec.To) && r.AllowDataLoss == spec.AllowDataLoss &&
		r.FencedHolder == spec.FencedHolder && r.ExpectedTerm == ptr.Deref(spec.ExpectedTerm, 0)
}

func describeRequest(r votes.Request) string {
	text := string(r.Kind)
	if r.To != "" {
		text += " to " + r.To
	}
	if r.AllowDataLoss {
		text += ", data loss allowed,"
	}
	return text + " of " + r.Issued.UTC().Format(time.RFC3339)
}

// by is who made a request.
func by(r votes.Request) string {
	if r.Failover != "" {
		return "Failover " + r.Failover
	}
	return cmp.Or(r.By, "somebody")
}

// caller names who asks, for people who read the Lease.
func caller() string {
	if u, err := user.Current(); err == nil {
		return "kubectl geosql, " + u.Username
	}
	return "kubectl geosql"
}

// followAnswer says what the agents answer until the answer is final.
func (a *asking) followAnswer(ctx context.Context, r votes.Request) error {
	ctx, cancel := context.WithTimeout(ctx, a.flags.timeout)
	defer cancel()
	said := ""
	for {
		read, done := context.WithTimeout(ctx, cli.ReadTimeout)
		votes := requests.Votes{requests.Read(read, a.cluster, a.namespace, string(a.wish.spec.Group))}
		done()
		text := "no agent has answered yet"
		if votes[0].Err != nil {
			text = votes[0].Err.Error()
		}
		if answer := votes.Answer(r.ID); answer != nil {
			if answer.Final() {
				return a.sayAnswer(votes, r.ID, answer)
			}
			text = fmt.Sprintf("%s by %s: %s", answer.Outcome, cmp.Or(answer.By, "-"), cmp.Or(answer.Message, answer.Reason))
		}
		if text != said && ctx.Err() == nil {
			a.say("%s", text)
			said = text
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("no final answer %s: %s. The request stands until it expires. Do agents of the group reach "+
				"this site? Another voter may be asked with another --context", cli.Overdue(ctx, a.flags.timeout), said)
		case <-time.After(cli.PollEvery):
		}
	}
}

func (a *asking) sayAnswer(told requests.Votes, id string, answer *votes.Answer) error {
	if t := told.TimelineOf(id); t != nil {
		a.sayTimeline(t.From, t.To, t.Term, &v1alpha1.FailoverTimeline{
			Suspected: t.Suspected, Claimed: t.Claimed, Fenced: t.Fenced,
			Promoted: t.Promoted, FirstWrite: t.FirstWrite, AllSynchronized: t.AllSynchronized})
	}
	text := cmp.Or(answer.Message, answer.Reason)
	if answer.Outcome != votes.OutcomeDone {
		return fmt.Errorf("%s: %s (%s)", answer.Outcome, text, answer.Reason)
	}
	a.say("%s: %s", answer.Outcome, text)
	return nil
}
