// SPDX-License-Identifier: Apache-2.0

package availabilitygroup

import (
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/election/ballot"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/reconcile/conditions"
)

// The timings with which a group's agents were told to count are not changed, whatever is declared later, and nobody is
// told others while it is not known by which the group counts.
func TestTimingsAreKept(t *testing.T) {
	g := NewWithT(t)
	timed := declared()
	timed.Spec.Timings = &v1alpha1.GroupTimings{
		VoteExpiry: &metav1.Duration{Duration: 20 * time.Second},
		WriteLease: &metav1.Duration{Duration: 12 * time.Second},
	}
	e := newEnviron(t, timed)
	e.settle(everything)
	g.Expect(e.orders["quisec"].Timings).To(HaveField("Expiry", 20*time.Second))
	g.Expect(fenced(e.d, e.observe()).Message).To(ContainSubstring("a write lease of 12s"))

	// The two that no vote counts by may be given at any time, and are told to the agents.
	timed.Spec.Timings.Failover = &metav1.Duration{Duration: 40 * time.Second}
	timed.Spec.Timings.Offline = &metav1.Duration{Duration: 20 * time.Second}
	e.settle(everything)
	g.Expect(e.orders["quisec"].Timings).To(And(HaveField("Failover", 40*time.Second),
		HaveField("Offline", 20*time.Second)))

	// The object is deleted, the group goes on, and somebody declares it anew: without timings it keeps what it has.
	again := declared()
	e.d.Group.Spec, e.d.Group.Status = again.Spec, v1alpha1.AvailabilityGroupStatus{}
	g.Expect(e.observe().Orders.Timings).To(And(HaveField("Expiry", 20*time.Second),
		HaveField("WriteLease", 12*time.Second)))
	again.Spec.Timings = &v1alpha1.GroupTimings{VoteExpiry: &metav1.Duration{Duration: 20 * time.Second}}
	e.d.Group.Spec = again.Spec
	o := e.observe()
	for s, a := range o.Agents {
		a.UpToDate = false
		o.Agents[s] = a
	}
	p := plan(e.d, o)
	g.Expect(p.Steps).To(BeEmpty())
	g.Expect(p.Outcome).To(And(HaveField("Reason", "TimingsDiffer"), HaveField("Progress", conditions.Stuck)))
	for s := range o.Agents {
		o.Agents[s] = Orders{Err: errSilent}
	}
	o.Agents["quisec"] = Orders{}
	p = plan(e.d, o)
	g.Expect(p.Steps).To(BeEmpty())
	g.Expect(p.Outcome).To(And(HaveField("Reason", "TimingsDiffer"), HaveField("Ready", metav1.ConditionUnknown)))
}

// Which timings a group's agents are told, written out in full.
func TestTimingsInForce(t *testing.T) {
	longer := &v1alpha1.GroupTimings{VoteExpiry: &metav1.Duration{Duration: 20 * time.Second}}
	kept := &v1alpha1.GroupTimings{Failover: &metav1.Duration{Duration: time.Minute}}
	declares := ballot.DefaultTimings()
	declares.Expiry = 20 * time.Second
	fresh := ballot.NewGroup()
	patient := fresh
	patient.Failover = time.Minute
	of := func(t *ballot.Timings) Orders { return Orders{Told: &orders.Group{Name: "content", Timings: t}} }
	silent := func(o *Observed) { o.Instances["quisec"] = Instance{Err: errSilent} }
	recorded := v1alpha1.AvailabilityGroupStatus{GroupID: "id", Timings: orders.Recorded(fresh)}
	for name, c := range map[string]struct {
		declared *v1alpha1.GroupTimings
		status   v1alpha1.AvailabilityGroupStatus
		change   func(*Observed)
		want     ballot.Timings
		unknown  bool
		// differ is what is said where others are declared or told, empty where none are.
		differ string
	}{
		"a new group":                         {want: fresh},
		"a new group that declares failover":  {declared: kept, want: patient},
		"a new group that declares any other": {declared: longer, want: declares},
		"a group of before whose orders are lost": {status: v1alpha1.AvailabilityGroupStatus{GroupID: "id"},
			change: exists, unknown: true},
		"one of which only the status tells": {status: v1alpha1.AvailabilityGroupStatus{GroupID: "id"}, unknown: true},
		"a group of before whose status is lost": {
			change: func(o *Observed) { exists(o); o.Agents["quisec"] = of(nil) }, want: ballot.DefaultTimings()},
		"a group of now whose orders are lost": {
			status: recorded, change: exists, want: fresh},
		"that one, with failover declared": {declared: kept, status: recorded, change: exists, want: patient},
		"that one, with others declared": {declared: longer, status: recorded, change: exists, want: fresh,
			differ: "by status.timings: voteExpiry is 20s in spec.timings and 14s in the group"},
		"others declared than a group of before was told": {declared: longer,
			status: v1alpha1.AvailabilityGroupStatus{GroupID: "id"},
			change: func(o *Observed) { exists(o); o.Agents["quisec"] = of(nil) }, want: ballot.DefaultTimings(),
			differ: "by the orders of the agent of quisec-0"},
		"others recorded than an agent was told": {status: recorded,
			change: func(o *Observed) { exists(o); o.Agents["quisec"] = of(nil) }, want: fresh,
			differ: "write into status.timings what all agents have"},
		"agents that were told different ones": {change: func(o *Observed) {
			exists(o)
			o.Agents["tukpub"], o.Agents["quisec"] = of(&patient), of(nil)
		}, want: fresh,
			differ: "the agent of quisec-0 counts by other timings than the orders of the agent of tukpub-0"},
		"a group of now whose status is lost": {change: func(o *Observed) { exists(o); o.Agents["dubcfg"] = of(&patient) },
			want: fresh},
		"a group whose status and orders are lost": {change: exists, unknown: true},
		"one that declares them":                   {declared: longer, change: exists, unknown: true},
		"a replica does not answer":                {change: silent, unknown: true},
		"a replica of a declared one does not":     {declared: longer, change: silent, unknown: true},
		"orders cannot be read": {change: func(o *Observed) { o.Agents["quisec"] = Orders{Err: errSilent} },
			unknown: true},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			d, o := silentWorld()
			d.Group.Spec.Timings, d.Group.Status = c.declared, c.status
			if c.change != nil {
				c.change(&o)
			}
			got, known := timings(d, o)
			g.Expect(known).To(Equal(!c.unknown))
			outcome, same := sameTimings(d, o, o.exists(d))
			g.Expect(same).To(Equal(known && c.differ == ""), outcome.Message)
			g.Expect(outcome.Message).To(ContainSubstring(c.differ))
			if known {
				g.Expect(got).To(Equal(c.want))
			}
		})
	}
}

// What status keeps for good is what the agents were told, never what is declared of a group that is there, nor what
// would have been the defaults.
func TestWhatIsRecordedOfTimings(t *testing.T) {
	longer, fresh := &v1alpha1.GroupTimings{VoteExpiry: &metav1.Duration{Duration: 20 * time.Second}}, ballot.NewGroup()
	told := func(t *ballot.Timings) Orders { return Orders{Told: &orders.Group{Name: "content", Timings: t}} }
	for name, c := range map[string]struct {
		agents map[v1alpha1.ServerName]Orders
		want   *v1alpha1.GroupTimings
	}{
		"a group of before": {map[v1alpha1.ServerName]Orders{"tukpub": told(nil), "quisec": {Err: errSilent}},
			orders.Recorded(ballot.DefaultTimings())},
		"one of now":                {map[v1alpha1.ServerName]Orders{"quisec": told(&fresh)}, orders.Recorded(fresh)},
		"no orders can be read":     {map[v1alpha1.ServerName]Orders{"quisec": {Err: errSilent}}, nil},
		"all are lost":              {nil, nil},
		"agents do not count alike": {map[v1alpha1.ServerName]Orders{"tukpub": told(nil), "quisec": told(&fresh)}, nil},
	} {
		for _, declares := range []*v1alpha1.GroupTimings{nil, longer} {
			t.Run(name, func(t *testing.T) {
				g := NewWithT(t)
				d, o := silentWorld()
				exists(&o)
				d.Group.Spec.Timings, d.Group.Status.GroupID = declares, "id"
				for s, a := range c.agents {
					o.Agents[s] = a
				}
				status := describe(d.Group.Status, d, o)
				g.Expect(status.Timings).To(Equal(c.want))
				g.Expect(status.GroupID).To(Equal("id"))
			})
		}
	}
}

func exists(o *Observed) { o.Instances["tukpub"] = Instance{Group: &mssql.Group{ID: "id"}} }

// silentWorld is a declared group that no server has yet.
func silentWorld() (Desired, Observed) {
	d := Desired{Group: declared(), Sites: homes, Timings: ballot.NewGroup()}
	o := Observed{Instances: map[v1alpha1.ServerName]Instance{}, Agents: map[v1alpha1.ServerName]Orders{}}
	for _, s := range d.servers() {
		o.Instances[s], o.Agents[s] = Instance{}, Orders{}
	}
	return d, o
}

// Whatever is lost, silent or written in part, and whichever release has made the group: no two agents count by timings
// by which the votes of one could expire for the other while it serves. An agent goes by what it heard last. A group is
// made once all have the same orders.
func TestNoTwoAgentsCountDifferently(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d, o := silentWorld()
		heard := map[v1alpha1.ServerName]orders.Group{}
		if rapid.Bool().Draw(t, "made by a release before") {
			exists(&o)
			d.Group.Status.GroupID = "id"
			for _, s := range d.servers() {
				told := orders.Group{Name: "content"}
				heard[s], o.Agents[s] = told, Orders{Told: &told}
			}
		}
		seconds := func(n int) *metav1.Duration { return &metav1.Duration{Duration: time.Duration(n) * time.Second} }
		declares := rapid.SampledFrom([]*v1alpha1.GroupTimings{nil, {Failover: seconds(60)}, {VoteExpiry: seconds(20)},
			{VoteExpiry: seconds(60), WriteLease: seconds(40)}})
		d.Group.Spec.Timings = declares.Draw(t, "declared")
		secrets := map[v1alpha1.ServerName]*orders.Group{}
		for s, a := range o.Agents {
			secrets[s] = a.Told
		}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			s := rapid.SampledFrom(d.servers()).Draw(t, "server")
			switch rapid.IntRange(0, 8).Draw(t, "what") {
			case 0: // a Secret is lost; its agent goes on with what it remembers
				secrets[s], o.Agents[s] = nil, Orders{}
			case 1:
				d.Group.Status = v1alpha1.AvailabilityGroupStatus{}
			case 2:
				if o.Agents[s] = (Orders{Err: errSilent}); rapid.Bool().Draw(t, "answers") {
					o.Agents[s] = Orders{Told: secrets[s]}
				}
			case 3:
				i := o.Instances[s]
				if i.Err = errSilent; rapid.Bool().Draw(t, "answers") {
					i.Err = nil
				}
				o.Instances[s] = i
			case 4:
				d.Group.Status = describe(d.Group.Status, d, o)
			case 5: // the group is made once all have orders
				if len(heard) == len(d.servers()) && differing(heard) == "" {
					o.Instances["tukpub"] = Instance{Group: &mssql.Group{ID: "id"}, Err: o.Instances["tukpub"].Err}
				}
			case 6:
				d.Group.Spec.Timings = declares.Draw(t, "declared anew")
			default:
				if _, same := sameTimings(d, o, o.exists(d) || d.Group.Status.GroupID != ""); !same || o.Agents[s].Err != nil {
					continue
				}
				in, known := timings(d, o)
				if !known {
					t.Fatalf("orders are given and nobody knows with which timings")
				}
				told := orders.Group{Name: "content", Timings: &in}
				heard[s], secrets[s], o.Agents[s] = told, &told, Orders{Told: &told}
			}
			if differ := differing(heard); differ != "" && o.Instances["tukpub"].Group != nil {
				t.Fatal(differ)
			}
		}
	})
}

// differing tells of two agents that count differently, empty where none do.
func differing(heard map[v1alpha1.ServerName]orders.Group) string {
	for one, a := range heard {
		for other, b := range heard {
			if holds, waits := a.Safety(), b.Safety(); holds != waits {
				return fmt.Sprintf("%s counts by %+v, %s by %+v", one, holds, other, waits)
			}
		}
	}
	return ""
}
