// SPDX-License-Identifier: Apache-2.0

package subscription

import (
	"errors"
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/replication"
)

// Whatever a deletion waits for, it says so, and how somebody lets it go on.
func TestEveryWaitOfADeletionHasAWayOut(t *testing.T) {
	timeout := &mssql.Error{Class: mssql.Unknown, Err: errors.New("i/o timeout")}
	for name, c := range map[string]struct {
		edit func(*world, *Observed)
		says []string
	}{
		"the subscriber does not answer": {func(_ *world, o *Observed) {
			o.Servers[subscriber] = replication.Server{Err: timeout}
		}, []string{"i/o timeout", "delete SQLServer dubsub"}},
		"the distributor does not answer": {func(_ *world, o *Observed) {
			o.Servers[distributor] = replication.Server{Err: timeout}
		}, []string{"i/o timeout", "delete SQLServer dist"}},
		"no replica answers": {func(_ *world, o *Observed) {
			o.Servers[publisher] = replication.Server{Err: timeout}
		}, []string{"i/o timeout", "delete SQLServer tukpub"}},
		"the primary has no rights yet": {func(_ *world, o *Observed) {
			o.Servers[publisher].State.Sysadmin = false
		}, []string{"sysadmin", "delete SQLServer tukpub"}},
		"the group has no primary": {func(_ *world, o *Observed) {
			s := o.Servers[publisher]
			s.Role = "RESOLVING"
			o.Servers[publisher] = s
		}, []string{"has no primary"}},
		"the distribution database recovers": {func(_ *world, o *Observed) {
			inState(o, distributor, "distribution", "RECOVERING")
		}, []string{"dist-0", "restore or drop it there"}},
		"the publisher uses another distribution database": {func(_ *world, o *Observed) {
			at := o.Servers[distributor].State
			delete(at.Databases, "distribution")
			at.Publishers = []mssql.DistributionPublisher{{Name: "TUKPUB-0", Database: "archive"}}
		}, []string{"archive", "spec.database"}},
		"the published database recovers": {func(_ *world, o *Observed) { inState(o, publisher, "content", "RECOVERING") },
			[]string{"tukpub-0", "restore or drop it there"}},
		"the subscriber's database recovers": {func(_ *world, o *Observed) {
			inState(o, subscriber, "content", "RECOVERING")
		}, []string{"dubsub-0", "restore or drop it there"}},
		"the publication is somebody else's": {func(_ *world, o *Observed) {
			p := *o.Publication
			p.Description, o.Publication = "made by hand", &p
		}, []string{"articles", "sp_dropsubscription"}},
		"the distributor did not answer a question":   {func(_ *world, o *Observed) { o.AtErr = timeout }, nil},
		"the published database did not answer":       {func(_ *world, o *Observed) { o.PublicationErr = timeout }, nil},
		"the subscriber's database did not answer":    {func(_ *world, o *Observed) { o.HereErr = timeout }, nil},
		"nobody knows of the jobs":                    {func(_ *world, o *Observed) { o.JobsErr = timeout }, nil},
		"nobody knows what the sidecars were told of": {func(_ *world, o *Observed) { o.Mirror.Err = timeout }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			w := subscribedAndDeleted(t)
			w.away(false)
			o := w.look()
			c.edit(w, &o)
			p := planDelete(w.d, o)
			g.Expect(describeSteps(p)).To(BeEmpty())
			g.Expect(p.Done).To(BeFalse())
			g.Expect(p.Outcome.Message).To(HavePrefix("deletion waits: "))
			for _, text := range append(c.says, "Retain") {
				g.Expect(p.Outcome.Message).To(ContainSubstring(text))
			}
		})
	}
}

// A distributor that answers and has no distribution database was never made, or has lost it: it keeps nothing else
// from ending. What may come back with a backup is told.
func TestDeletionWithoutADistributionDatabase(t *testing.T) {
	for name, registered := range map[string]bool{"it was lost": true, "it was never made": false} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			w := subscribedAndDeleted(t)
			if !registered {
				w = newWorld(declared())
				w.d.Subscription.Spec.ReclaimPolicy, w.o.Publication = "Delete", nil
			}
			delete(w.o.Servers[distributor].State.Databases, "distribution")
			w.o.At = replication.AtDistributor{Original: w.o.subscribedTo(w.d)}
			at, p := w.end(t)
			g.Expect(p.Done).To(BeTrue(), p.Outcome.Message)
			g.Expect(p.Left).To(ConsistOf(And(ContainSubstring("dist-0"), ContainSubstring("no database distribution"))))
			if g.Expect(w.o.Here.Subscriptions).To(BeEmpty()); registered {
				g.Expect(at).To(And(HaveKey(publisher), HaveKey(subscriber)))
				g.Expect(w.o.Publication.Subscriptions).To(BeEmpty())
			}
		})
	}
}
