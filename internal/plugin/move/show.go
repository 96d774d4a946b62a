// SPDX-License-Identifier: Apache-2.0

package move

import (
	"fmt"
	"slices"
	"text/tabwriter"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/plugin/cli"
)

// sayEstimate shows what each copy has, what is lost, and the steps.
func (m *moving) sayEstimate() {
	e := m.move.Status.Estimate
	out := tabwriter.NewWriter(m.cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
	fmt.Fprintln(out, "SUBSCRIPTION\tSERVER\tANSWERS\tCOMPLETE UNTIL\tLAST TRANSACTION\tAPPLIED\tTO BE DELIVERED\t"+
		"ROWS\tCONTENT")
	for _, s := range e.Subscribers {
		transaction, applied := "not known", "not known"
		if s.Last != nil {
			transaction, applied = s.Last.Transaction, cli.Moment(s.Last.Time)
		}
		fmt.Fprintf(out, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", s.Subscription, s.Server, yesNo(s.Answers),
			cli.Moment(s.CompleteUntil), transaction, applied, count(s.PendingCommands), count(s.Rows), content(s))
	}
	_ = out.Flush()
	if e.Newest != nil {
		m.say("Newest transaction known to have been replicated: %s, %s (by the %s).", e.Newest.Transaction,
			cli.Moment(e.Newest.Time), e.NewestFrom)
	}
	m.say("%s", e.Summary)
	for _, l := range e.Lacks {
		if l.SeenAt != "" {
			m.say("  %s lacks %s that the copy of %s has: %s", l.Table, l.Kind, l.SeenAt, l.Names)
			continue
		}
		m.say("  %s lacks %s: %s", l.Table, l.Kind, l.Names)
	}
	m.say("Steps:")
	for i, s := range m.move.Status.Steps {
		m.say("%3d. %s", i+1, s)
	}
}

// content is what a comparison by rows has shown, and what the agent skips.
func content(e v1alpha1.MoveEvidence) string {
	text := "not compared"
	switch e.Content {
	case v1alpha1.ContentEqual:
		text = "equal at " + cli.Moment(e.Compared)
	case v1alpha1.ContentDiffers:
		text = "differs since " + cli.Moment(e.Compared)
	}
	if e.Skips != "" {
		text += ", agent skips " + e.Skips
	}
	return text
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

func count(n *int64) string {
	if n == nil {
		return "not known"
	}
	return fmt.Sprint(*n)
}

// sayMoved shows the timeline, how each other subscriber goes on, and what to write into manifests.
func (m *moving) sayMoved() {
	s := m.move.Status
	if t := s.Timeline; t != nil {
		for _, one := range []struct {
			name string
			at   *metav1.MicroTime
		}{{"approved", t.Approved}, {"drained", t.Drained}, {"switched", t.Switched},
			{"published", t.Published}, {"delivering", t.Delivering}} {
			if one.at != nil {
				m.say("  %-12s %s  +%s", one.name, one.at.UTC().Format("15:04:05.000"),
					one.at.Sub(t.Approved.Time).Round(time.Millisecond))
			}
		}
	}
	for _, x := range s.Subscriptions {
		method := string(x.Method)
		if x.State != "Delivering" {
			method = "compared when it answers"
		}
		m.say("Subscription %s: %s, %s. %s", x.Name, x.State, method, x.Reason)
	}
	m.say("Write into your manifests, else they are refused: Publication %s has publisher.server %s, database %s, "+
		"distributor %s, movedBy %s; Subscription %s is no more.",
		m.move.Spec.Publication, m.move.Spec.To, s.ToDatabase, m.distributor(), m.move.Name, s.ToSubscription)
}

func (m *moving) distributor() v1alpha1.ObjectName {
	if m.move.Spec.Distributor != "" {
		return m.move.Spec.Distributor
	}
	return m.move.Status.FromDistributor
}

// unaccepted are the kinds of what the copy lacks that the move does not accept, in their order.
func (m *moving) unaccepted() []string {
	var kinds []string
	for _, l := range m.move.Status.Estimate.Lacks {
		if l.SeenAt == "" && !slices.Contains(m.move.Spec.AcceptLacking, l.Kind) && !slices.Contains(kinds, string(l.Kind)) {
			kinds = append(kinds, string(l.Kind))
		}
	}
	return kinds
}
