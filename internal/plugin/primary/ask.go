// SPDX-License-Identifier: Apache-2.0

package primary

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/election/requests"
	"geosql.dev/operator/internal/election/votes"
	"geosql.dev/operator/internal/plugin/cli"
	"geosql.dev/operator/internal/reconcile/confirmed"
)

// ask finds out whom to ask, and does.
func (f *requestFlags) ask(cmd *cobra.Command, w wish) error {
	cluster, namespace, err := f.Open()
	if err != nil {
		return err
	}
	a := asking{cmd: cmd, cluster: cluster, namespace: namespace, wish: w, flags: f}
	return a.run(cmd.Context())
}

// asking is one request on its way.
type asking struct {
	cmd       *cobra.Command
	cluster   client.Client
	namespace string
	wish      wish
	flags     *requestFlags
}

func (a *asking) say(format string, args ...any) {
	fmt.Fprintf(a.cmd.OutOrStdout(), format+"\n", args...)
}

func (a *asking) run(ctx context.Context) error {
	group, err := a.group(ctx)
	if err != nil {
		return err
	}
	vote := requests.Vote{Err: votes.ErrAbsent}
	if group == nil || a.flags.direct {
		read, cancel := context.WithTimeout(ctx, cli.ReadTimeout)
		vote = requests.Read(read, a.cluster, a.namespace, string(a.wish.spec.Group))
		cancel()
		if vote.Err != nil {
			return a.noVote(vote.Err)
		}
		if vote.Record.Term == 0 {
			a.say("note: the Lease here has never had a vote. Once there is the group agents read nothing at such a site: " +
				"name another voter in --context")
		}
	}
	if group != nil {
		switch p := requests.Check(group, a.wish.spec, time.Now()); {
		case p.Verdict == requests.Refuse && p.Seen.IsZero():
			return fmt.Errorf("refused, nothing was changed: %s (%s)", p.Message, p.Reason)
		case p.Verdict != requests.Go:
			// What the status saw may be over: the operator goes by what it sees after the request was made.
			a.say("note: %s (%s)", p.Message, p.Reason)
		}
	}
	if err := a.fence(group, vote); err != nil {
		return err
	}
	if err := a.inTerm(group, vote); err != nil {
		return err
	}
	if err := a.confirm(ctx, group); err != nil {
		return err
	}
	if vote.Err == nil {
		return a.onLease(ctx, vote)
	}
	return a.onHub(ctx, group)
}

// group is the AvailabilityGroup if this cluster is the hub, nil when it is another site.
func (a *asking) group(ctx context.Context) (*v1alpha1.AvailabilityGroup, error) {
	var group v1alpha1.AvailabilityGroup
	var missing *cli.MissingError
	err := cli.Find(ctx, a.cluster, &group, a.namespace, string(a.wish.spec.Group))
	switch {
	case err == nil:
		// What cannot be read is unconfirmed.
		statuses, _ := confirmed.Read(ctx, a.cluster, a.namespace)
		return statuses.Of(&group), nil
	case meta.IsNoMatchError(err):
		return nil, nil
	case a.flags.direct && (errors.As(err, &missing) || apierrors.IsForbidden(err)):
		return nil, nil
	case errors.As(err, &missing):
		return nil, a.undeclared(ctx, missing)
	}
	return nil, fmt.Errorf("%w; if the hub is away, name in --context a site that is a voter of the group", err)
}

// undeclared refuses what is asked of a group that the hub does not declare. Its Lease may have remained: it stays at a
// site that votes no more, and after a group that is gone, and nobody carries out what is written there.
func (a *asking) undeclared(ctx context.Context, missing *cli.MissingError) error {
	ctx, cancel := context.WithTimeout(ctx, cli.ReadTimeout)
	defer cancel()
	if vote := requests.Read(ctx, a.cluster, a.namespace, missing.Name); vote.Err != nil {
		return fmt.Errorf("refused, nothing was changed: %w", missing)
	}
	return fmt.Errorf(
		"refused, nothing was changed: %w. Lease %s is there all the same: a group of that name has left it, "+
			"or its servers run on and the hub has lost the object. For the latter --direct writes the request on it",
		missing,
		votes.LeaseName(missing.Name),
	)
}

func (a *asking) noVote(err error) error {
	if errors.Is(err, votes.ErrAbsent) {
		return fmt.Errorf("this cluster has neither AvailabilityGroup %s nor its Lease %s in namespace %s: name in "+
			"--context the hub, or a site that is a voter of the group, and in -n its namespace",
			a.wish.spec.Group, votes.LeaseName(string(a.wish.spec.Group)), a.namespace)
	}
	return err
}

// fence turns a person's word about a server into the identity that the votes name. A word about anybody else than the
// holder is a mistake.
func (a *asking) fence(group *v1alpha1.AvailabilityGroup, vote requests.Vote) error {
	word := a.wish.fenced
	if word == "" {
		return nil
	}
	var holders []string
	if vote.Err == nil {
		holders = append(holders, vote.Record.Holder.String())
	} else if group != nil {
		holders = heldBy(group)
	}
	for _, identity := range holders {
		holder, err := votes.ParseHolder(identity)
		if err != nil || holder.Server == "" {
			continue
		}
		if given, err := votes.ParseHolder(word); err == nil && given.SameRun(holder) ||
			requests.SameServer(word, holder.Server) {
			a.wish.spec.FencedHolder = identity
			return nil
		}
	}
	if len(holders) == 0 {
		return fmt.Errorf("the votes name no holder: there is nobody to be fenced")
	}
	return fmt.Errorf("--confirm-fenced %s: the votes are held by %s, not by that", word, holders[0])
}

// inTerm says in which term the request was decided on: after an election meanwhile it would mean something else. At a
// site that is the term that the vote there shows.
func (a *asking) inTerm(group *v1alpha1.AvailabilityGroup, vote requests.Vote) error {
	spec, term := &a.wish.spec, vote.Record.Term
	switch {
	case spec.Kind != v1alpha1.FailoverSwitchover && !requests.MayLose(*spec):
		return nil
	case vote.Err != nil:
		term = group.Status.Term
	case spec.Kind == v1alpha1.FailoverSwitchover:
		return nil
	}
	if term > 0 {
		spec.ExpectedTerm = ptr.To(term)
		return nil
	}
	if vote.Err != nil && requests.MayLose(*spec) {
		return fmt.Errorf("refused, nothing was changed: the status of group %s tells no term yet, and what may cost "+
			"acknowledged writes has to say in which one it was decided on. Wait until the operator has read the votes, or ask "+
			"a voter with --direct", spec.Group)
	}
	return nil
}

// heldBy is who holds the votes by the group's status, as identities: whoever a majority names, or else those of the
// newest term. The votes of an older one name somebody who is not the holder any more.
func heldBy(group *v1alpha1.AvailabilityGroup) (holders []string) {
	voting := votes.Configuration{}
	records := map[string]votes.Record{}
	for _, v := range group.Status.Voters {
		voting.Voters = append(voting.Voters, v.Site)
		if holder, err := votes.ParseHolder(v.HolderIdentity + "/-"); err == nil && v.HolderIdentity != "" {
			records[v.Site] = votes.Record{Term: v.Term, State: votes.State(v.State), Holder: holder}
		}
	}
	leading, _ := voting.Leading(records)
	for _, site := range voting.Voters {
		if r, known := records[site]; known && r.Term == leading.Term {
			holders = append(holders, r.Holder.String())
		}
	}
	return holders
}

// confirm shows what would be lost, and wants a person's word for it.
func (a *asking) confirm(ctx context.Context, group *v1alpha1.AvailabilityGroup) error {
	spec, question := a.wish.spec, ""
	switch {
	case spec.AllowDataLoss:
		a.sayLoss(group)
		question = "Acknowledged writes may be lost."
	case spec.FencedHolder != "":
		question = fmt.Sprintf("You say that %s can write no more. If that is wrong, acknowledged writes may be lost.",
			spec.FencedHolder)
	case spec.Kind == v1alpha1.FailoverRejoin:
		question = fmt.Sprintf("What %s alone has is undone.", spec.To)
	case len(spec.Databases) > 0:
		question = fmt.Sprintf("The copies on %s of these databases are given up: %v.", spec.To, spec.Databases)
	case spec.Kind == v1alpha1.FailoverReseed:
		question = fmt.Sprintf(
			"The copies of the group's databases on %s that are stale, or all if it is quarantined, are given up.",
			spec.To,
		)
	}
	if question == "" || a.wish.yes {
		return nil
	}
	a.say("%s Type the group's name to go on (--yes leaves this question out):", question)
	return cli.Confirmed(ctx, a.cmd, string(spec.Group))
}
