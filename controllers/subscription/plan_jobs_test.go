// SPDX-License-Identifier: Apache-2.0

package subscription

import (
	"testing"

	. "github.com/onsi/gomega"
	"pgregory.net/rapid"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/replication"
)

// An engine may make a job for the agent of a push subscription when that is registered. It is the only one that is
// attached to the agent, and becomes the operator's: another one would deliver beside it.
func TestJobThatTheEngineMadeAtRegistration(t *testing.T) {
	for _, at := range []v1alpha1.AgentPlace{v1alpha1.AgentAtDistributor, v1alpha1.AgentAtSubscriber} {
		rapid.Check(t, func(t *rapid.T) {
			w := newWorld(push(at))
			w.makes = rapid.Bool().Draw(t, "the engine makes a job")
			p, _ := w.settle(t, crashes(t))
			if p.Outcome.Reason != v1alpha1.ReasonDelivering {
				t.Fatalf("ended as %+v", p.Outcome)
			}
			own := job(w.d, w.look())
			have := w.jobs[distributor][own.Name]
			switch {
			case len(w.jobs[distributor]) != 1 || have == nil:
				t.Fatalf("the distributor has jobs %v", w.jobs[distributor])
			case !replication.Described(have.Description) || !own.Command.Is(have.Command):
				t.Fatalf("the job is not the operator's: %+v", have)
			case w.o.Agent.Job != own.Name:
				t.Fatalf("job %s is attached", w.o.Agent.Job)
			case have.Running != (at == v1alpha1.AgentAtDistributor):
				t.Fatalf("it runs: %t", have.Running)
			}
		})
	}
}

// The operator's own job that is attached to nothing goes before the attached one gets its name.
func TestJobBesideTheAttachedOne(t *testing.T) {
	g := NewWithT(t)
	w := newWorld(push(v1alpha1.AgentAtDistributor))
	w.settle(t, all)
	w.jobs[distributor][engineMade] = &mssql.Job{Name: engineMade, Enabled: true, Step: 2, HasServer: true}
	w.o.Agent.Job = engineMade
	w.settle(t, all)
	own := job(w.d, w.look())
	g.Expect(w.jobs[distributor]).To(HaveLen(1))
	g.Expect(own.Command.Is(w.jobs[distributor][own.Name].Command)).To(BeTrue())
}

// A subscriber that is the distributor itself may be refused for want of Windows authentication: then it is made known
// with the agents' login. Any other one never is.
func TestSubscriberThatIsTheDistributor(t *testing.T) {
	for _, itself := range []bool{true, false} {
		g := NewWithT(t)
		w := newWorld(push(v1alpha1.AgentAtDistributor))
		if itself {
			w.d.Subscriber = distributor
		}
		step := register(w.d, w.look())
		if !itself {
			g.Expect(step.Instead).To(BeEmpty())
			continue
		}
		g.Expect(step.Instead).To(HaveLen(1))
		g.Expect(step.Instead[0].On).To(BeEquivalentTo(21038))
		g.Expect(step.Instead[0].Steps[0].Describe()).To(And(ContainSubstring("sp_addsubscriber"),
			ContainSubstring("@security_mode = 0")))
		g.Expect(step.Instead[0].Steps[1].Statement.Text).To(Equal(step.Statement.Text))
	}
}
