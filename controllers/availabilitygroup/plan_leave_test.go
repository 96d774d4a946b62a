// SPDX-License-Identifier: Apache-2.0

package availabilitygroup

import (
	"fmt"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/election/votes"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/sites"
)

// deleted is a group that is up and whose object is deleted with its group.
func deleted(t *testing.T) *environ {
	t.Helper()
	e := withPolicy(t, v1alpha1.DeadReplicaWait)
	e.d.Group.Spec.ReclaimPolicy = v1alpha1.ReclaimDelete
	return e
}

// deeds of a plan: what is dropped, whose orders are taken and whose votes are removed, in order.
func deeds(p reconcile.Plan) (all []string) {
	for _, s := range p.Steps {
		switch s := s.(type) {
		case mssql.Execute:
			all = append(all, fmt.Sprint("drop ", s.Server))
		case TakeOrders:
			all = append(all, fmt.Sprint("orders ", s.Server))
		case MarkEnding:
			all = append(all, fmt.Sprint("mark ", s.Server))
		case RemoveVotes:
			all = append(all, fmt.Sprint("votes ", s.Site))
		}
	}
	return all
}

func TestDeletionOfAGroup(t *testing.T) {
	fail := func(err error) func(*Instance) { return func(i *Instance) { *i = Instance{Err: err} } }
	for name, c := range map[string]struct {
		primary v1alpha1.ServerName
		change  func(Observed)
		steps   []string
		waiting string
		says    string
	}{
		"the orders of the secondaries first": {primary: "quisec", steps: []string{"orders tukpub", "orders dubthird"}},
		"without a primary":                   {steps: []string{"orders tukpub", "orders quisec", "orders dubthird"}},
		"one is silent": {primary: "tukpub", change: func(o Observed) { alter(o, "tukpub", fail(errSilent)) },
			waiting: "waiting for an answer from tukpub-0"},
		"one site is lost": {primary: "tukpub", change: func(o Observed) { alter(o, "tukpub", fail(sites.ErrSiteLost)) },
			steps: []string{"orders quisec", "orders dubthird"}},
		"one was never there": {primary: "tukpub", change: func(o Observed) { delete(o.Instances, "tukpub") },
			steps: []string{"orders quisec", "orders dubthird"}},
		"of the orders of one nobody knows": {primary: "tukpub", change: func(o Observed) {
			told := o.Agents["quisec"]
			told.Err = errSilent
			o.Agents["quisec"] = told
		}, waiting: "the site of quisec-0"},
		"nobody has orders any more": {primary: "tukpub", change: func(o Observed) {
			o.Agents["quisec"], o.Agents["dubthird"] = idle(), idle()
		}, steps: []string{"drop quisec", "drop dubthird"}},
		"one has forgotten the group already": {primary: "tukpub", change: func(o Observed) {
			o.Agents["quisec"], o.Agents["dubthird"] = idle(), idle()
			alter(o, "quisec", func(i *Instance) { i.Group = nil })
		}, steps: []string{"drop dubthird"}},
		"the primary last": {primary: "tukpub", change: func(o Observed) {
			for _, s := range []v1alpha1.ServerName{"quisec", "dubthird"} {
				o.Agents[s] = idle()
				alter(o, s, func(i *Instance) { i.Group = nil })
			}
		}, steps: []string{"mark tukpub"}, says: "the agent of the primary is being told"},
		"the primary, whose agent knows": {primary: "tukpub", change: func(o Observed) {
			for _, s := range []v1alpha1.ServerName{"quisec", "dubthird"} {
				o.Agents[s] = idle()
				alter(o, s, func(i *Instance) { i.Group = nil })
			}
			told := *o.Agents["tukpub"].Told
			told.Ending, told.EndingID = true, o.Instances["tukpub"].Group.ID
			o.Agents["tukpub"] = Orders{Told: &told,
				Word: reconcile.Read(Word{State: orders.StateEnding, EndingID: told.EndingID})}
		}, steps: []string{"drop tukpub", "orders tukpub"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			e := deleted(t)
			e.group.primary = c.primary
			for _, r := range e.leases {
				r.Holder.Server = host(c.primary)
			}
			o := e.observe()
			if c.change != nil {
				c.change(o)
			}
			p := planDelete(e.d, o)
			g.Expect(deeds(p)).To(Equal(c.steps))
			g.Expect(p.Done).To(BeFalse())
			switch {
			case c.waiting != "":
				g.Expect(p.Outcome.Message).To(ContainSubstring(c.waiting))
			case c.says != "":
				g.Expect(p.Outcome.Message).To(HavePrefix(c.says))
			default:
				g.Expect(p.Outcome.Message).To(HavePrefix("the group is being dropped on its "))
			}
		})
	}
}

// A server that had not answered when the group was looked for, and has it, drops it all the same.
func TestDeletionOfAGroupThatIsThereAfterAll(t *testing.T) {
	e := deleted(t)
	e.d.Group.Status.GroupID = ""
	e.d.NeverAnswered = map[v1alpha1.ServerName]bool{"tukpub": true, "quisec": true}
	o := e.observe()
	alter(o, "quisec", func(i *Instance) { *i = Instance{Err: errSilent} })
	p := planDelete(e.d, o)
	NewWithT(t).Expect(deeds(p)).To(Equal([]string{"orders quisec", "orders dubthird"}), p.Outcome.Message)
}

// The votes go last, at every voter that answers; who does not is waited for, unless it has none or is lost.
func TestDeletionOfVotes(t *testing.T) {
	for name, c := range map[string]struct {
		errs    []error
		steps   []string
		waiting bool
		done    bool
	}{
		"all answer": {errs: []error{nil, nil, nil},
			steps: []string{"votes tukwila", "votes quincy", "votes dublin"}},
		"one is silent": {errs: []error{errSilent, nil, nil}, steps: []string{"votes quincy", "votes dublin"},
			waiting: true},
		"only the silent one is left": {errs: []error{errSilent, votes.ErrAbsent, votes.ErrAbsent}, waiting: true},
		"none has any":                {errs: []error{votes.ErrAbsent, sites.ErrSiteLost, votes.ErrAbsent}, done: true},
		"nobody knows the site of one": {errs: []error{sites.ErrUnknownSite, votes.ErrAbsent, votes.ErrAbsent},
			waiting: true},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			e := deleted(t)
			o := e.observe()
			for s := range o.Instances {
				alter(o, s, func(i *Instance) { i.Group = nil })
				o.Agents[s] = idle()
			}
			for i, err := range c.errs {
				o.Voters[i].Err = err
			}
			p := planDelete(e.d, o)
			g.Expect(deeds(p)).To(Equal(c.steps))
			g.Expect(p.Done).To(Equal(c.done))
			if c.done {
				g.Expect(p.Left).To(ConsistOf(ContainSubstring("the agents' account at voter quincy")),
					"nobody can take it away there")
			}
			g.Expect(strings.Contains(p.Outcome.Message, "waiting for an answer from tukwila")).
				To(Equal(c.waiting), p.Outcome.Message)
		})
	}
}
