// SPDX-License-Identifier: Apache-2.0

package subscription

import (
	"errors"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/replication"
)

// Nothing that an agent serves is ended, nor made anew, while it is not known whether that agent runs: nobody would
// look for it later.
func TestNothingEndsWhileItsAgentsAreUnknown(t *testing.T) {
	former := mssql.SubscriptionHere{
		Publisher:         "oldpub-0",
		PublisherDatabase: "Content",
		Publication:       "articles",
		Pull:              true,
	}
	for name, c := range map[string]struct {
		world func(t *testing.T) *world
		// kept are the steps that need no answer of the job's server.
		kept int
	}{
		"the other type": {func(t *testing.T) *world {
			w := newWorld(declared())
			w.settle(t, all)
			w.d.Subscription.Spec.Type, w.d.Subscription.Spec.Reinitialization = v1alpha1.SubscriptionPush,
				v1alpha1.ReinitializeAutomatic
			w.d.Subscription.Status.Initialization = &v1alpha1.SubscriptionInitialization{Publisher: w.o.At.Original}
			return w
		}, 0},
		"a former publisher": {func(t *testing.T) *world {
			w := newWorld(declared())
			w.settle(t, all)
			w.o.Former = []Former{{Here: former, Jobs: map[v1alpha1.ServerName]*mssql.Job{}}}
			return w
		}, 0},
		"a former publisher, and its login is there": {func(t *testing.T) *world {
			w := newWorld(declared())
			w.settle(t, all)
			w.d.FormerLogin, w.o.FormerLogin = "geosql_replication_old", true
			w.o.Former = []Former{{Here: former, Jobs: map[v1alpha1.ServerName]*mssql.Job{}}}
			return w
		}, 1},
		"a former login of which nobody has said whether it is there": {func(t *testing.T) *world {
			w := newWorld(declared())
			w.d.FormerLogin = "geosql_replication_old"
			w.o.Servers[subscriber].State.LoginSID, w.o.Servers[subscriber].State.PasswordRight = w.d.System.SID, true
			w.o.Servers[subscriber].State.Databases["content"] = mssql.ReplicationDatabase{Name: "Content", State: "ONLINE"}
			w.o.Here.Owner = replication.Owner{User: w.d.System.Login, IsOwner: true}
			for _, s := range []v1alpha1.ServerName{publisher, secondary} {
				w.o.Servers[s].State.Linked["dubsub-0"] = true
			}
			return w
		}, 0},
		"a copy that differs": {func(t *testing.T) *world {
			w := kept(t)
			since := metav1.NewTime(w.o.Now.Add(-differsFor - time.Second))
			s := w.d.Subscription.Status.Initialization
			s.Differs, s.DiffersSince = "dbo.Article has 3 rows", &since
			w.o.Comparison = &replication.Comparison{Steady: true, Difference: s.Differs}
			w.arrives(time.Second)
			return w
		}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			w := c.world(t)
			o := w.look()
			o.JobsErr = errors.New("read a job: i/o timeout")
			p := plan(w.d, o)
			g.Expect(p.Steps).To(HaveLen(c.kept), "%v", describeSteps(p))
			g.Expect(p.Outcome.Ready).To(Equal(metav1.ConditionUnknown))
			g.Expect(p.Outcome.Message).To(ContainSubstring("i/o timeout"))
			o.JobsErr = nil
			g.Expect(len(plan(w.d, o).Steps)).To(BeNumerically(">", c.kept))
		})
	}
}

// SQL Server Agent that is down where the agent is to run is told.
func TestAgentThatIsDown(t *testing.T) {
	g := NewWithT(t)
	w := newWorld(declared())
	w.settle(t, all)
	at := w.d.agentServer()
	w.look().Jobs[at].Running = false
	server := w.o.Servers[at]
	server.State.AgentDown = true
	p := plan(w.d, w.look())
	g.Expect(p.Outcome.Reason).To(Equal(v1alpha1.ReasonAgentNotRunning), p.Outcome.Message)
	g.Expect(p.Outcome.Message).To(ContainSubstring(string(at) + "-0"))
}
