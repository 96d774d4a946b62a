// SPDX-License-Identifier: Apache-2.0

// Package move has the command that moves publishing to a subscriber's server.
package move

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/plugin/cli"
	"geosql.dev/operator/internal/reconcile"
)

// estimatePatience is for an estimate that compares all rows of a publisher that lives: three readings, for which the
// operator gives ten minutes each.
const estimatePatience = 40 * time.Minute

// moveFlags are those of move-publisher.
type moveFlags struct {
	cli.HubFlags
	to, distributor       string
	fenced, lacking       []string
	skip, yes             bool
	dryRun, estimate      bool
	wait                  bool
	patience, waitTimeout time.Duration
}

// NewCommand makes `kubectl geosql move-publisher`.
func NewCommand() *cobra.Command {
	f := &moveFlags{}
	cmd := &cobra.Command{
		Use:   "move-publisher PUBLICATION --to SERVER",
		Short: "Publish from a subscriber's server, after the publisher was lost or made read-only",
		Long: `Makes the server of one of the publication's subscribers its publisher. Inside an availability group this is
not needed: publishing goes where the primary goes.

Nothing is changed before the estimate was shown and confirmed: the newest transaction of each copy, until when each
copy is complete, and what the distributor still has and delivers first. --estimate ends
after it: for it the operator is asked by a PublisherMove that is not approved, and is deleted at the end. --dry-run
writes nothing anywhere: it only checks what the names stand for.

If the publisher is lost, it has to be silent, and either the lifecycle of its Site is Lost or --confirm-fenced names
each of its servers: that is a person's word that the server takes no more writes.

If the publisher lives, its database has to be read-only and the new publisher's tables equal to it. They are compared
for the estimate and again when the move begins, so no published row is lost.

A copy has the rows, and seldom what the application relies on beside them: identity columns, defaults, constraints,
triggers. The estimate names what is lacking, and the move waits until --accept-lacking names each kind of it.

If the distributor is lost too, declare another one first and name it with --distributor.

The tables of the other subscribers are compared with the new publisher's. Equal ones are kept (replication support
only), others are replaced by a snapshot. The PublisherMove records which and why. The operator carries the move out and
goes on after an interruption; the same command again follows a move that is under way.`,
		Example: `  kubectl geosql move-publisher articles --to dubsub --distributor far --estimate -n web
  kubectl geosql move-publisher articles --to dubsub --distributor far --wait -n web`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			publication, err := cli.ObjectName(args[0], "Publication")
			if err != nil {
				return err
			}
			hub, namespace, err := f.Open()
			if err != nil {
				return err
			}
			m := moving{cmd: cmd, hub: hub, namespace: namespace, publication: publication, flags: f}
			return m.run(cmd.Context())
		},
	}
	f.Add(cmd)
	flags := cmd.Flags()
	flags.StringVar(&f.to, "to", "", "the subscriber's server that becomes the publisher")
	flags.StringVar(&f.distributor, "distributor", "",
		"the Distributor that takes over; the publication's own unless given")
	flags.StringArrayVar(&f.fenced, "confirm-fenced", nil,
		"a server of the former publisher that is confirmed to take writes no more; repeatable")
	flags.BoolVar(&f.skip, "skip-undelivered", false,
		"go on although commands that the distributor has cannot be delivered")
	flags.StringSliceVar(&f.lacking, "accept-lacking", nil,
		"what the new publisher's tables may lack, as the estimate names it (Identity,Default,Check ...)")
	flags.BoolVar(&f.dryRun, "dry-run", false, "check what the names stand for, and write nothing")
	flags.BoolVar(&f.estimate, "estimate", false, "have the operator say estimate and steps, and change nothing")
	flags.BoolVar(&f.yes, "yes", false, "do not ask for confirmation")
	flags.BoolVar(&f.wait, "wait", false, "wait until the others receive from the new publisher")
	flags.DurationVar(&f.waitTimeout, "timeout", 30*time.Minute, "how long --wait waits")
	flags.DurationVar(&f.patience, "estimate-timeout", estimatePatience,
		"how long the estimate may take; the tables of a publisher that lives are compared for it")
	_ = cmd.MarkFlagRequired("to")
	return cmd
}

// moving is one PublisherMove on its way.
type moving struct {
	cmd                    *cobra.Command
	hub                    client.Client
	namespace, publication string
	flags                  *moveFlags
	move                   *v1alpha1.PublisherMove
	// own tells that this command made it.
	own bool
}

func (m *moving) say(format string, args ...any) {
	fmt.Fprintf(m.cmd.OutOrStdout(), format+"\n", args...)
}

func (m *moving) run(ctx context.Context) error {
	if err := m.check(ctx); err != nil {
		return err
	}
	if err := m.begin(ctx); err != nil || m.flags.dryRun {
		return err
	}
	if m.move.Spec.Approved && !m.asksAgain() {
		m.say("PublisherMove %s was approved before: it is under way", m.move.Name)
		if m.flags.estimate {
			return nil
		}
		return m.follow(ctx)
	}
	if err := m.awaitEstimate(ctx); err != nil {
		return errors.Join(err, m.withdraw(ctx))
	}
	m.sayEstimate()
	if m.flags.estimate {
		m.say("Nothing was changed.")
		return m.withdraw(ctx)
	}
	if kinds := m.unaccepted(); len(kinds) > 0 {
		return errors.Join(
			fmt.Errorf("refused, nothing was changed: the tables of %s lack %s, and writers will miss it; say so with "+
				"--accept-lacking %s, and make it there once it publishes", m.move.Spec.To, strings.Join(kinds, ", "),
				strings.Join(kinds, ",")),
			m.withdraw(ctx),
		)
	}
	if err := m.confirm(ctx); err != nil {
		return errors.Join(err, m.withdraw(ctx))
	}
	if err := m.patch(ctx, func(spec *v1alpha1.PublisherMoveSpec) {
		spec.Approved, spec.ApprovedEstimate = true, m.move.Status.Estimate.Digest
	}); err != nil {
		return err
	}
	m.say("publishermove.geosql.dev/%s approved", m.move.Name)
	return m.follow(ctx)
}

// asksAgain tells that the approval is about another estimate than the one of now, as the operator says it.
func (m *moving) asksAgain() bool {
	e, spec := m.move.Status.Estimate, m.move.Spec
	if !spec.Approved || e == nil || m.move.Status.Phase != v1alpha1.MoveEstimated {
		return false
	}
	if spec.ApprovedEstimate != "" {
		return spec.ApprovedEstimate != e.Digest
	}
	return e.AfterApproval
}

// check finds what the names stand for: the operator would wait for what is not declared.
func (m *moving) check(ctx context.Context) error {
	find := func(object client.Object, name string) error {
		if err := cli.Find(ctx, m.hub, object, m.namespace, name); err != nil {
			return fmt.Errorf("refused, nothing was changed: %w", err)
		}
		return nil
	}
	if err := find(&v1alpha1.Publication{}, m.publication); err != nil {
		return err
	}
	if err := find(&v1alpha1.SQLServer{}, string(cli.ServerName(m.flags.to))); err != nil {
		return err
	}
	if m.flags.distributor == "" {
		return nil
	}
	return find(&v1alpha1.Distributor{}, m.flags.distributor)
}

// begin finds the move that is under way, or makes one. Nothing is changed by its existence.
func (m *moving) begin(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, cli.ReadTimeout)
	defer cancel()
	var all v1alpha1.PublisherMoveList
	if err := m.hub.List(ctx, &all, client.InNamespace(m.namespace)); err != nil {
		return fmt.Errorf("list the PublisherMoves of the hub: %w", err)
	}
	want := v1alpha1.PublisherMoveSpec{Publication: v1alpha1.ObjectName(m.publication), To: cli.ServerName(m.flags.to),
		Distributor: v1alpha1.ObjectName(m.flags.distributor), SkipUndelivered: m.flags.skip}
	for _, server := range m.flags.fenced {
		want.FencedServers = append(want.FencedServers, cli.ServerName(server))
	}
	for _, kind := range m.flags.lacking {
		want.AcceptLacking = append(want.AcceptLacking, v1alpha1.MoveLackKind(kind))
	}
	for i := range all.Items {
		x := &all.Items[i]
		if x.Spec.Publication != want.Publication || x.Status.Phase == v1alpha1.MoveCompleted || x.DeletionTimestamp != nil {
			continue
		}
		if x.Spec.To != want.To || want.Distributor != "" && x.Spec.Distributor != want.Distributor {
			return fmt.Errorf("refused, nothing was changed: PublisherMove %s moves %s to %s already; delete it if it is not "+
				"approved", x.Name, m.publication, x.Spec.To)
		}
		m.move = x
		if m.flags.dryRun {
			m.say(
				"PublisherMove %s moves %s to %s already, in phase %s. Nothing was written: --dry-run.",
				x.Name,
				m.publication,
				x.Spec.To,
				x.Status.Phase,
			)
			return nil
		}
		if x.Spec.Approved && m.flags.estimate && !m.asksAgain() {
			return nil
		}
		return m.patch(ctx, func(spec *v1alpha1.PublisherMoveSpec) {
			if len(want.FencedServers) > 0 {
				spec.FencedServers = want.FencedServers
			}
			if len(want.AcceptLacking) > 0 {
				spec.AcceptLacking = want.AcceptLacking
			}
			spec.SkipUndelivered = spec.SkipUndelivered || want.SkipUndelivered
		})
	}
	m.move = &v1alpha1.PublisherMove{ObjectMeta: metav1.ObjectMeta{Namespace: m.namespace,
		GenerateName: m.publication + "-to-" + string(want.To) + "-"}, Spec: want}
	if m.flags.dryRun {
		if err := m.hub.Create(ctx, m.move, client.DryRunAll); err != nil {
			return fmt.Errorf("a PublisherMove would be refused in the hub: %w", err)
		}
		m.say(
			"A PublisherMove of %s to %s would be created. Nothing was written: --dry-run. What would be lost, and every "+
				"step, says "+
				"--estimate.",
			m.publication,
			want.To,
		)
		return nil
	}
	if err := m.hub.Create(ctx, m.move); err != nil {
		return fmt.Errorf("create a PublisherMove in the hub: %w", err)
	}
	m.own = true
	return nil
}

func (m *moving) patch(ctx context.Context, change func(*v1alpha1.PublisherMoveSpec)) error {
	ctx, cancel := context.WithTimeout(ctx, cli.ReadTimeout)
	defer cancel()
	before := client.MergeFrom(m.move.DeepCopy())
	change(&m.move.Spec)
	if err := m.hub.Patch(ctx, m.move, before); err != nil {
		return cli.Unsure(fmt.Errorf("change PublisherMove %s in the hub: %w", m.move.Name, err),
			fmt.Sprintf("kubectl get publishermove -n %s %s -o yaml", m.namespace, m.move.Name))
	}
	return nil
}

// withdraw takes away a move that this command made and nobody approved.
func (m *moving) withdraw(ctx context.Context) error {
	if !m.own {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cli.ReadTimeout)
	defer cancel()
	if err := reconcile.RemoveUnchanged(ctx, m.hub, m.move); err != nil {
		return fmt.Errorf("delete PublisherMove %s, which changes nothing as long as it is not approved: %w", m.move.Name,
			err)
	}
	return nil
}

// look reads the move, every PollEvery, until done says so, for as long as a flag lets it.
func (m *moving) look(ctx context.Context, flag string, patience time.Duration,
	done func(ready *metav1.Condition) (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	name, last := m.move.Name, error(nil)
	for {
		err := cli.Look(ctx, m.hub, m.move)
		if apierrors.IsNotFound(err) {
			return fmt.Errorf("PublisherMove %s was deleted", name)
		}
		if err == nil {
			ready := meta.FindStatusCondition(m.move.Status.Conditions, v1alpha1.ConditionReady)
			if ready != nil && ready.ObservedGeneration == m.move.Generation {
				if ok, err := done(ready); ok || err != nil {
					return err
				}
				last = fmt.Errorf("%s: %s", ready.Reason, ready.Message)
			}
		} else {
			last = err
		}
		select {
		case <-ctx.Done():
			if last == nil {
				last = errors.New("the operator has said nothing of it yet: it compares the tables of a publisher that lives, " +
					"or does not run")
			}
			if errors.Is(ctx.Err(), context.DeadlineExceeded) {
				return fmt.Errorf("PublisherMove %s is not there within %s, which --%s makes longer: %w", name, patience, flag,
					last)
			}
			return fmt.Errorf("interrupted while PublisherMove %s was waited for: %w", name, last)
		case <-time.After(cli.PollEvery):
		}
	}
}

// awaitEstimate waits for the estimate, or for what speaks against the move.
func (m *moving) awaitEstimate(ctx context.Context) error {
	m.say("waiting for the estimate of PublisherMove %s, for %s at most (--estimate-timeout)", m.move.Name,
		m.flags.patience)
	return m.look(ctx, "estimate-timeout", m.flags.patience, func(ready *metav1.Condition) (bool, error) {
		s := m.move.Status
		if s.Phase == v1alpha1.MoveEstimated && s.Estimate != nil {
			return true, nil
		}
		if stalled := meta.FindStatusCondition(s.Conditions, v1alpha1.ConditionStalled); stalled != nil &&
			stalled.Status == metav1.ConditionTrue {
			return false, fmt.Errorf("refused, nothing was changed: %s (%s)", ready.Message, ready.Reason)
		}
		return false, nil
	})
}

func (m *moving) confirm(ctx context.Context) error {
	if m.flags.yes {
		return nil
	}
	m.say("Type the publication's name to go on (--yes leaves this question out):")
	return cli.Confirmed(ctx, m.cmd, m.publication)
}

// follow says what is new until the move is completed, or how to look at it.
func (m *moving) follow(ctx context.Context) error {
	if !m.flags.wait {
		m.say("see how far it is: kubectl get publishermove -n %s %s, or the same command with --wait", m.namespace,
			m.move.Name)
		return nil
	}
	said := ""
	err := m.look(ctx, "timeout", m.flags.waitTimeout, func(ready *metav1.Condition) (bool, error) {
		if text := fmt.Sprintf("%s (%s): %s", m.move.Status.Phase, ready.Reason, ready.Message); text != said {
			m.say("%s", text)
			said = text
		}
		if m.asksAgain() {
			return false, fmt.Errorf("PublisherMove %s asks once more, and nothing was changed: the same command shows its "+
				"estimate of now", m.move.Name)
		}
		return m.move.Status.Phase == v1alpha1.MoveCompleted, nil
	})
	if err != nil && m.asksAgain() {
		return err
	}
	if err != nil {
		return fmt.Errorf("%w; it goes on", err)
	}
	m.sayMoved()
	return nil
}
