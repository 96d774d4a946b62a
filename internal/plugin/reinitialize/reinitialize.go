// SPDX-License-Identifier: Apache-2.0

// Package reinitialize has the command that asks for a new copy of a subscriber's tables.
package reinitialize

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/plugin/cli"
	"geosql.dev/operator/internal/replication"
)

type flags struct {
	cli.HubFlags
	dryRun, yes bool
}

// NewCommand makes `kubectl geosql reinitialize`.
func NewCommand() *cobra.Command {
	f := &flags{}
	cmd := &cobra.Command{
		Use:   "reinitialize SUBSCRIPTION",
		Short: "Give a subscriber a new copy of the tables that it has",
		Long: `Asks for a new copy of a subscription's tables: the one that condition ReinitializationNeeded waits for, or, if
nothing waits, one of all articles. A snapshot is made at the publisher, goes to the subscriber's site, and replaces the
tables there, with whatever somebody has written into them. What it costs is shown before anything is asked; --dry-run
ends there.

The request is carried out once. A change of an article's columns or filter gives every subscriber of it a new copy: it
is made once it is asked for at each of them. Where spec.reinitialization is Automatic nothing needs to be asked for.`,
		Example: `  kubectl geosql reinitialize dublin --dry-run -n web
  kubectl geosql reinitialize dublin -n web`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			hub, namespace, err := f.Open()
			if err != nil {
				return err
			}
			return run(cmd, hub, client.ObjectKey{Namespace: namespace, Name: args[0]}, f)
		},
	}
	f.Add(cmd)
	cmd.Flags().BoolVar(&f.dryRun, "dry-run", false, "show what would be replaced and what it costs, and change nothing")
	cmd.Flags().BoolVar(&f.yes, "yes", false, "do not ask for confirmation")
	return cmd
}

func run(cmd *cobra.Command, hub client.Client, key client.ObjectKey, f *flags) error {
	ctx := cmd.Context()
	s, p, err := read(ctx, hub, key)
	if err != nil {
		return err
	}
	if open := replication.Request(p, s); open != "" {
		say(cmd, "a new copy was asked for before, and is under way: %s", state(s))
		return nil
	}
	if !p.Copies(s) && p.Status.NeededReinitialization == nil {
		how := fmt.Sprintf("bring the data to %s by yourself", s.Spec.Subscriber.Server)
		if p.InitializationOf(s) == v1alpha1.InitializeBackup {
			how = fmt.Sprintf("delete the Subscription with reclaimPolicy Delete and declare it again with the annotation "+
				"%s=true, to begin with a new backup", v1alpha1.AdoptAnnotation)
		}
		return fmt.Errorf("refused, nothing was changed: %s has initialization %s: no copy is made; %s",
			replication.NoCopies(p, s), p.InitializationOf(s), how)
	}
	sayWhat(cmd, s, p, readRoute(cmd, hub, s, p))
	if f.dryRun {
		say(cmd, "Nothing was changed.")
		return nil
	}
	if !f.yes {
		say(
			cmd,
			"What the subscriber's tables have is replaced. Type the subscription's name to go on (--yes leaves this "+
				"question out):",
		)
		if err := cli.Confirmed(ctx, cmd, s.Name); err != nil {
			return err
		}
	}
	if err := ask(ctx, hub, s, p); err != nil {
		return err
	}
	say(cmd, "subscription.geosql.dev/%s: a new copy is asked for", s.Name)
	say(cmd, "see how far it is: kubectl get subscription -n %s %s -o wide", s.Namespace, s.Name)
	return nil
}

// read finds the Subscription and its Publication.
func read(
	ctx context.Context,
	hub client.Client,
	key client.ObjectKey,
) (*v1alpha1.Subscription, *v1alpha1.Publication, error) {
	ctx, cancel := context.WithTimeout(ctx, cli.ReadTimeout)
	defer cancel()
	var s v1alpha1.Subscription
	if err := hub.Get(ctx, key, &s); err != nil {
		return nil, nil, fmt.Errorf("read Subscription %s in the hub: %w", key, err)
	}
	if s.DeletionTimestamp != nil {
		return nil, nil, errors.New("refused, nothing was changed: the Subscription is being deleted")
	}
	var p v1alpha1.Publication
	of := client.ObjectKey{Namespace: s.Namespace, Name: string(s.Spec.Publication)}
	if err := hub.Get(ctx, of, &p); err != nil {
		return nil, nil, fmt.Errorf("read Publication %s in the hub: %w", of, err)
	}
	return &s, &p, nil
}

// sayWhat shows what would be replaced, why, and what it costs.
func sayWhat(cmd *cobra.Command, s *v1alpha1.Subscription, p *v1alpha1.Publication, route replication.Route) {
	say(cmd, "Subscription %s: %s", s.Name, state(s))
	if c := s.Status.Copy; c != nil && c.Phase != v1alpha1.CopyDone && c.Brought != nil {
		say(cmd, "A person brings the files of snapshot %s: a new copy takes another one, and what differs there is to be "+
			"brought again.", c.Snapshot)
	}
	at := fmt.Sprintf("database %s on %s-0", s.Spec.Database, s.Spec.Subscriber.Server)
	if n := p.Status.NeededReinitialization; n != nil && !copiesAll(s, p) {
		var all v1alpha1.CopySize
		for _, t := range n.Tables {
			say(cmd, "%s in %s is replaced: %s; %s", t.Table, at, replication.Cost(t.Rows, t.Bytes), t.Reason)
			all.Rows, all.Bytes = all.Rows+t.Rows, all.Bytes+t.Bytes
		}
		say(cmd, "What it costs here: %s.", replication.PriceTo(p, s, &all, len(n.Tables), route))
		var others []string
		for _, name := range n.WaitingFor {
			if name != s.Name {
				others = append(others, name)
			}
		}
		if len(others) > 0 {
			say(cmd, "It is made once it is asked for at these, too: %s", strings.Join(others, ", "))
		}
		return
	}
	var tables []string
	for _, a := range p.Spec.Articles {
		tables = append(tables, a.Table)
	}
	say(cmd, "All tables of the articles in %s are replaced: %s", at, strings.Join(tables, ", "))
	say(cmd, "What a copy costs: %s.", replication.PriceTo(p, s, p.Status.Size, len(p.Spec.Articles), route))
	if size := p.Status.Size; size != nil {
		say(cmd, "The publisher measured it at %s.", cli.Moment(size.Measured))
	}
}

// readRoute finds the way of the copy. Whoever may not read what it takes is told so, and may ask all the same.
func readRoute(
	cmd *cobra.Command, hub client.Client, s *v1alpha1.Subscription, p *v1alpha1.Publication,
) replication.Route {
	ctx, cancel := context.WithTimeout(cmd.Context(), cli.ReadTimeout)
	defer cancel()
	route, err := replication.RouteTo(ctx, hub, p, s)
	if err != nil {
		say(cmd, "Over which link it goes is not known: %v", err)
	}
	return route
}

// copiesAll tells that a request brings a copy of all articles, whatever the Publication waits for: to a subscriber
// that was registered without a copy, or with a backup, which gets none with the change of an article, and to one that
// was given up.
func copiesAll(s *v1alpha1.Subscription, p *v1alpha1.Publication) bool {
	i := s.Status.Initialization
	ready := v1alpha1.ReadyAsSeen(s.Status.Conditions)
	return p.Copies(s) &&
		(i != nil && i.Method == v1alpha1.InitializeReplicationSupportOnly || replication.BackupBrought(s) ||
			ready != nil && ready.Reason == v1alpha1.ReasonSubscriptionInactive)
}

func state(s *v1alpha1.Subscription) string {
	ready := meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionReady)
	if ready == nil {
		return "the operator has said nothing of it yet"
	}
	return fmt.Sprintf("%s: %s", ready.Reason, ready.Message)
}

// ask writes the request, with the object's UID: it asks for nothing of one that is declared anew. What was shown is
// for the articles as they were read: a change of them that comes meanwhile is not asked for.
func ask(ctx context.Context, hub client.Client, s *v1alpha1.Subscription, p *v1alpha1.Publication) error {
	ctx, cancel := context.WithTimeout(ctx, cli.ReadTimeout)
	defer cancel()
	before := client.MergeFrom(s.DeepCopy())
	if s.Annotations == nil {
		s.Annotations = map[string]string{}
	}
	s.Annotations[v1alpha1.ReinitializeAnnotation] = replication.NewRequest(p, s,
		time.Now().UTC().Format("20060102T150405.000000000Z"))
	if err := hub.Patch(ctx, s, before); err != nil {
		return cli.Unsure(fmt.Errorf("annotate Subscription %s in the hub: %w", s.Name, err),
			fmt.Sprintf("kubectl get subscription -n %s %s -o yaml", s.Namespace, s.Name))
	}
	return nil
}

func say(cmd *cobra.Command, format string, args ...any) {
	fmt.Fprintf(cmd.OutOrStdout(), format+"\n", args...)
}
