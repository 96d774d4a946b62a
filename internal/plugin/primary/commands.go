// SPDX-License-Identifier: Apache-2.0

// Package primary has the commands that ask something of a group's election: where its primary is to be, and what
// becomes of a former one.
package primary

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/plugin/cli"
)

// requestFlags are what the commands have in common that ask something of a group's election.
type requestFlags struct {
	cli.HubFlags
	direct, wait, replace bool
	timeout               time.Duration
	expires               time.Duration
}

const help = `

With the hub's context this creates a Failover, which the operator hands to the agents. With another context, or with
--direct, it writes the request on the group's Lease in that cluster, where the agents read it without hub and operator.
That cluster has to be a site that is a voter of the group. One that waits there unanswered is not replaced unless
--replace is given. A request that cannot succeed is refused before anything is touched; the agents check it again by
what they see.`

func (f *requestFlags) add(cmd *cobra.Command) {
	f.HubFlags.Add(cmd)
	flags := cmd.Flags()
	flags.Lookup("context").Usage =
		"context of the hub, or of a site that is a voter of the group; the current one unless given"
	flags.BoolVar(&f.direct, "direct", false,
		"write the request on the Lease of the context's cluster, whether it is the hub or not")
	flags.BoolVar(&f.replace, "replace", false,
		"take the place of another request that waits on the Lease unanswered; refused unless given")
	flags.BoolVar(&f.wait, "wait", false, "wait for the end, and fail unless it did what was asked")
	flags.DurationVar(&f.timeout, "timeout", 2*time.Minute, "how long --wait waits")
	flags.DurationVar(&f.expires, "expires", 2*time.Minute, "how long the request may wait for somebody to begin with it")
}

// newCommand makes a command that asks for one kind of thing. SERVER is an argument or a flag of the command's own.
func newCommand(f *requestFlags, cmd *cobra.Command, wish func(args []string) wish) *cobra.Command {
	cmd.Long += help
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if f.expires < 10*time.Second || f.expires > 24*time.Hour {
			return fmt.Errorf("--expires must be between 10s and 24h")
		}
		group, err := cli.ObjectName(args[0], "AvailabilityGroup")
		if err != nil {
			return err
		}
		w := wish(args)
		w.spec.Group, w.spec.Expires = v1alpha1.ObjectName(group), &metav1.Duration{Duration: f.expires}
		return f.ask(cmd, w)
	}
	f.add(cmd)
	return cmd
}

// wish is what somebody wants, and whether it was confirmed.
type wish struct {
	spec v1alpha1.FailoverSpec
	// fenced is the server, or the holder's identity, that a person says is fenced.
	fenced string
	yes    bool
}

// NewSwitchoverCommand makes `kubectl geosql switchover`.
func NewSwitchoverCommand() *cobra.Command {
	f, to := &requestFlags{}, ""
	cmd := newCommand(f, &cobra.Command{
		Use:   "switchover GROUP --to SERVER",
		Short: "Make another replica primary without losing anything, or refuse",
		Long: `Moves the primary of an availability group to another synchronous replica: the old primary is taken OFFLINE
first, so that nobody writes in between. It is refused, with the reason, unless every database of the target is
synchronized.`,
		Example: `  kubectl geosql switchover content --to quisec --wait -n web
  kubectl geosql switchover content --to quisec --context quincy-admin -n web   # the hub is away`,
		Args: cobra.ExactArgs(1),
	}, func([]string) wish {
		return wish{spec: v1alpha1.FailoverSpec{Kind: v1alpha1.FailoverSwitchover, To: cli.ServerName(to)}}
	})
	cmd.Flags().StringVar(&to, "to", "", "the server that becomes primary")
	_ = cmd.MarkFlagRequired("to")
	return cmd
}

// NewFailoverCommand makes `kubectl geosql failover`.
func NewFailoverCommand() *cobra.Command {
	f, to, fenced := &requestFlags{}, "", ""
	var lossy, yes bool
	cmd := newCommand(f, &cobra.Command{
		Use:   "failover GROUP",
		Short: "Make another replica primary although the primary is gone",
		Long: `Promotes the best replica, or the one that --to names, when the primary is gone.

Without --allow-data-loss it loses no acknowledged write, or does not happen. With --allow-data-loss a replica may be
promoted that lacks acknowledged writes: what would be lost is shown first, as far as it is known, and has to be
confirmed. The former primary is then kept apart, readable for salvage, until somebody says rejoin or reseed.

The agents wait until the votes of the former primary have expired, unless its end is proved. --confirm-fenced leaves
that wait out. It is a person's word that the former primary can write no more: its machine is off, or cut off from
everybody. A wrong word may cost acknowledged writes.`,
		Example: `  kubectl geosql failover content --wait -n web
  kubectl geosql failover content --to quisec --allow-data-loss --confirm-fenced tukpub-0 -n web`,
		Args: cobra.ExactArgs(1),
	}, func([]string) wish {
		return wish{fenced: fenced, yes: yes,
			spec: v1alpha1.FailoverSpec{Kind: v1alpha1.FailoverFailover, To: cli.ServerName(to), AllowDataLoss: lossy}}
	})
	flags := cmd.Flags()
	flags.StringVar(&to, "to", "", "the server that becomes primary; the best one unless given")
	flags.BoolVar(&lossy, "allow-data-loss", false,
		"promote a replica that may lack acknowledged writes, if there is no other way")
	flags.StringVar(&fenced, "confirm-fenced", "",
		"the server, or its whole identity as the votes name it, that is confirmed to be fenced")
	flags.BoolVar(&yes, "yes", false, "do not ask for confirmation")
	return cmd
}

// NewPauseCommand makes `kubectl geosql pause`.
func NewPauseCommand() *cobra.Command {
	return newGroupCommand(
		"pause",
		v1alpha1.FailoverPause,
		"Forbid automatic elections of a group",
		`Forbids the agents to begin an election by themselves, as before work on the network. The primary goes on serving,
and switchover and failover work. It lasts until resume.`,
	)
}

// NewResumeCommand makes `kubectl geosql resume`.
func NewResumeCommand() *cobra.Command {
	return newGroupCommand("resume", v1alpha1.FailoverResume, "Allow automatic elections of a group again",
		`Ends a pause.`)
}

func newGroupCommand(name string, kind v1alpha1.FailoverKind, short, long string) *cobra.Command {
	return newCommand(&requestFlags{}, &cobra.Command{
		Use: name + " GROUP", Short: short, Long: long, Args: cobra.ExactArgs(1),
		Example: "  kubectl geosql " + name + " content -n web",
	}, func([]string) wish { return wish{spec: v1alpha1.FailoverSpec{Kind: kind}} })
}

// NewRejoinCommand makes `kubectl geosql rejoin`.
func NewRejoinCommand() *cobra.Command {
	return newReplicaCommand(
		"rejoin",
		v1alpha1.FailoverRejoin,
		"Let a former primary follow again, giving up what it alone has",
		`Releases a former primary that was kept apart after a failover with data loss: what it alone has is undone, and it
follows the present primary. Copy what is worth saving first: it is readable until then, and nowhere afterwards.`,
	)
}

// NewReseedCommand makes `kubectl geosql reseed`.
func NewReseedCommand() *cobra.Command {
	var databases []string
	cmd := newReplicaCommand(
		"reseed",
		v1alpha1.FailoverReseed,
		"Seed a replica's stale databases anew from the primary",
		`Gives up a replica's copies of the group's databases that are of no use as they are, and lets the primary seed them
anew: those that take no log, those that were left outside of the group, or all of a former primary whose log cannot be
undone. --database names them. A copy that stands outside of the group and does not wait for log (RESTORING) is not
given up: nobody knows what was written there. Copy what is worth saving first.`,
		func(w *wish) {
			for _, name := range databases {
				w.spec.Databases = append(w.spec.Databases, v1alpha1.DatabaseName(name))
			}
		},
	)
	cmd.Flags().
		StringSliceVar(&databases, "database", nil, "a database to seed anew; may be repeated (default: every stale one)")
	return cmd
}

func newReplicaCommand(
	name string,
	kind v1alpha1.FailoverKind,
	short, long string,
	more ...func(*wish),
) *cobra.Command {
	yes := false
	cmd := newCommand(&requestFlags{}, &cobra.Command{
		Use: name + " GROUP SERVER", Short: short, Long: long, Args: cobra.ExactArgs(2),
		Example: "  kubectl geosql " + name + " content tukpub -n web",
	}, func(args []string) wish {
		w := wish{yes: yes, spec: v1alpha1.FailoverSpec{Kind: kind, To: cli.ServerName(args[1])}}
		for _, add := range more {
			add(&w)
		}
		return w
	})
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask for confirmation")
	return cmd
}
