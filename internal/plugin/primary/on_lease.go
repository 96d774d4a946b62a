// SPDX-License-Identifier: Apache-2.0

package primary

import (
	"cmp"
	"context"
	"fmt"
	"os/user"
	"time"

	"k8s.io/apimachinery/pkg/util/uuid"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/election"
	"geosql.dev/operator/internal/election/requests"
	"geosql.dev/operator/internal/plugin/cli"
)

// onLease writes the request on the group's Lease at this site, and follows the answer with --wait.
func (a *asking) onLease(ctx context.Context, vote requests.Vote) error {
	spec := a.wish.spec
	r := requests.Asked(spec)
	r.ID, r.By = string(uuid.NewUUID()), caller()
	r.Issued, r.ExpiresSeconds = requests.Votes{vote}.Issue(time.Now().UTC()), int(spec.Expires.Duration/time.Second)
	write, cancel := context.WithTimeout(ctx, cli.ReadTimeout)
	defer cancel()
	annotation := func(name string) string {
		return fmt.Sprintf("kubectl get lease -n %s %s -o jsonpath='{.metadata.annotations.geosql\\.dev/%s}'", a.namespace,
			election.LeaseName(string(spec.Group)), name)
	}
	if err := requests.Write(write, a.cluster, a.cluster, a.namespace, string(spec.Group), r); err != nil {
		return cli.Unsure(err, annotation("request"))
	}
	a.say("request %s is written on Lease %s/%s: %s", r.ID, a.namespace, election.LeaseName(string(spec.Group)),
		describeWish(spec))
	if !a.flags.wait {
		a.say("see what becomes of it: %s", annotation("answer"))
		return nil
	}
	return a.followAnswer(ctx, r)
}

// caller names who asks, for people who read the Lease.
func caller() string {
	if u, err := user.Current(); err == nil {
		return "kubectl geosql, " + u.Username
	}
	return "kubectl geosql"
}

// followAnswer says what the agents answer until the answer is final.
func (a *asking) followAnswer(ctx context.Context, r election.Request) error {
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

func (a *asking) sayAnswer(votes requests.Votes, id string, answer *election.Answer) error {
	if t := votes.TimelineOf(id); t != nil {
		a.sayTimeline(t.From, t.To, t.Term, &v1alpha1.FailoverTimeline{
			Suspected: t.Suspected, Claimed: t.Claimed, Fenced: t.Fenced,
			Promoted: t.Promoted, FirstWrite: t.FirstWrite, AllSynchronized: t.AllSynchronized})
	}
	text := cmp.Or(answer.Message, answer.Reason)
	if answer.Outcome != election.OutcomeDone {
		return fmt.Errorf("%s: %s (%s)", answer.Outcome, text, answer.Reason)
	}
	a.say("%s: %s", answer.Outcome, text)
	return nil
}
