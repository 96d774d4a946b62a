// SPDX-License-Identifier: Apache-2.0

package subscription

import (
	"errors"
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/replication"
)

// subscribedAndDeleted has a subscription that delivers and is being deleted with reclaimPolicy Delete.
func subscribedAndDeleted(t *testing.T) *world {
	w := newWorld(declared())
	w.settle(t, all)
	w.d.Subscription.Spec.ReclaimPolicy = v1alpha1.ReclaimDelete
	return w
}

func inState(o *Observed, server v1alpha1.ServerName, name, state string) {
	o.Servers[server].State.Databases[name] = mssql.ReplicationDatabase{Name: name, State: state, Published: true}
}

// What was not read is not gone: the deletion does nothing, waits and says for which server.
func TestDeletionWaitsForWhatWasNotRead(t *testing.T) {
	for name, c := range map[string]struct {
		hide func(*Observed)
		says string
	}{
		"the group has no primary": {func(o *Observed) {
			s := o.Servers[publisher]
			s.Role = "RESOLVING"
			o.Servers[publisher], o.Publication = s, nil
		}, "content"},
		"the published database starts": {func(o *Observed) {
			inState(o, publisher, "content", "RECOVERING")
			o.Publication = nil
		}, "tukpub-0"},
		"the subscriber's database starts": {func(o *Observed) {
			inState(o, subscriber, "content", "RECOVERY_PENDING")
			o.Here = Here{}
		}, "dubsub-0"},
		"the subscriber's database is damaged": {func(o *Observed) {
			inState(o, subscriber, "content", "SUSPECT")
			o.Here = Here{}
		}, "it is suspect. If it does not become online, restore or drop it there; reclaimPolicy Retain"},
		"the distribution database starts": {func(o *Observed) {
			inState(o, distributor, "distribution", "RECOVERING")
			o.At, o.Publication, o.Here, o.Jobs = replication.AtDistributor{}, nil, Here{}, nil
		}, "dist-0"},
		"the sidecars' orders": {func(o *Observed) {
			o.Publication, o.Here, o.Jobs = &mssql.Publication{Description: "geosql.dev web/articles"}, Here{}, nil
			o.Mirror = Mirror{Err: errors.New("site dublin is silent")}
		}, "site dublin"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			w := subscribedAndDeleted(t)
			o := w.look()
			c.hide(&o)
			p := planDelete(w.d, o)
			g.Expect(p.Done).To(BeFalse())
			g.Expect(p.Steps).To(BeEmpty())
			g.Expect(p.Outcome.Message).To(ContainSubstring(c.says))
		})
	}
}

// A subscription that was never registered needs nothing of the publication to end.
func TestDeletionOfWhatWasNeverRegistered(t *testing.T) {
	for name, have := range map[string]*mssql.Publication{
		"no publication":                 nil,
		"a publication without articles": {Description: "geosql.dev web/articles"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			w := newWorld(declared())
			w.o.Publication = have
			w.d.Subscription.Spec.ReclaimPolicy = v1alpha1.ReclaimDelete
			p := planDelete(w.d, w.look())
			g.Expect(p.Done).To(BeTrue(), p.Outcome.Message)
		})
	}
}

// An agent's profile is for making agents. That it went first does not turn Delete into Retain.
func TestDeletionNeedsNoProfile(t *testing.T) {
	g := NewWithT(t)
	w := subscribedAndDeleted(t)
	w.d.MissingProfile = "AgentProfile fast"
	p := planDelete(w.d, w.look())
	g.Expect(p.Done).To(BeFalse())
	g.Expect(p.Steps).NotTo(BeEmpty())
	g.Expect(plan(w.d, w.look()).Outcome.Message).
		To(ContainSubstring("AgentProfile fast"), "what is not being deleted waits for it")
}

// A job of the agent's name that somebody else made, and nobody took over, stays; it does not go on to deliver.
func TestDeletionKeepsSomebodysJob(t *testing.T) {
	g := NewWithT(t)
	w := subscribedAndDeleted(t)
	somebodys := w.jobs[subscriber][jobOfAll]
	somebodys.Description = "made by hand"
	_, p := w.end(t)
	g.Expect(p.Done).To(BeTrue(), p.Outcome.Message)
	g.Expect(w.jobs[subscriber]).To(HaveKeyWithValue(jobOfAll, somebodys))
	g.Expect(somebodys.Running || somebodys.Enabled).To(BeFalse(), "it would deliver after the end of its subscription")
	g.Expect(p.Left).To(ConsistOf(And(ContainSubstring("dubsub-0"), ContainSubstring(jobOfAll))))
}

// A job that the subscription takes over is marked as the operator's, and its end removes it.
func TestAJobThatIsTakenOverIsMarked(t *testing.T) {
	for name, d := range map[string]func() Desired{
		"pull": declared, "push": func() Desired { return push("") },
		"push from the subscriber": func() Desired { return push(v1alpha1.AgentAtSubscriber) },
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			w := newWorld(d())
			w.settle(t, all)
			for _, server := range []v1alpha1.ServerName{subscriber, distributor} {
				for _, j := range w.jobs[server] {
					j.Description = "made by hand"
				}
			}
			w.settle(t, all)
			w.d.Subscription.Spec.ReclaimPolicy = v1alpha1.ReclaimDelete
			_, p := w.end(t)
			g.Expect(p.Done).To(BeTrue(), p.Outcome.Message)
			g.Expect(p.Left).To(BeEmpty())
			g.Expect(w.jobs[subscriber]).To(BeEmpty())
			g.Expect(w.jobs[distributor]).To(BeEmpty())
		})
	}
}

// The publication may end as soon as nobody is registered for it, and nobody can tell then where its subscription was:
// at every crash point, what is registered no more has nothing left.
func TestTheRegistrationEndsLast(t *testing.T) {
	for name, d := range map[string]func() Desired{
		"pull": declared, "push": func() Desired { return push("") },
		"push from the subscriber": func() Desired { return push(v1alpha1.AgentAtSubscriber) },
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			w := newWorld(d())
			w.settle(t, all)
			w.d.Subscription.Spec.ReclaimPolicy = v1alpha1.ReclaimDelete
			g.Expect(w.o.Here.Owner.User).To(Equal(w.d.System.Login))
			for range 20 {
				p := planDelete(w.d, w.look())
				if len(p.All()) == 0 {
					g.Expect(p.Done).To(BeTrue(), p.Outcome.Message)
					break
				}
				w.do(t, p.All()[0])
				if len(w.o.Publication.Subscriptions) > 0 {
					continue
				}
				g.Expect(w.o.Here.Subscriptions).To(BeEmpty())
				g.Expect(w.o.Here.Owner.User).To(BeEmpty())
				g.Expect(w.o.Mirror.ordered()).To(BeFalse())
				g.Expect(w.jobs[subscriber]).To(BeEmpty())
				g.Expect(w.jobs[distributor]).To(BeEmpty())
			}
			g.Expect(w.o.Publication.Subscriptions).To(BeEmpty())
		})
	}
}
