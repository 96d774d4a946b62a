// SPDX-License-Identifier: Apache-2.0

package sqlserver

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/controllers/sqlserver/placement"
	"geosql.dev/operator/internal/reconcile"
)

// drained is a group whose servers' nodes are cordoned; budgets are what the API server holds. The pods of the lazy are
// not evicted, though their nodes are cordoned.
type drained struct {
	now            time.Time
	term           int64
	holder         v1alpha1.ServerName
	primary        int
	cordoned, lazy []bool
	down           []bool
	budgets        []*policyv1.PodDisruptionBudget
	pending        []*reconcile.Plan
	asked          map[string]bool
	// among is when a server was last made primary whose node is cordoned.
	among time.Time
}

func newDrained(n int) *drained {
	return &drained{
		now:      start,
		asked:    map[string]bool{},
		cordoned: make([]bool, n),
		lazy:     make([]bool, n),
		down:     make([]bool, n),
		budgets:  make([]*policyv1.PodDisruptionBudget, n),
		pending:  make([]*reconcile.Plan, n),
	}
}

// fatal is what the tests here need of testing.T and rapid.T.
type fatal interface{ Fatalf(string, ...any) }

func (f *drained) name(i int) v1alpha1.ServerName {
	return v1alpha1.ServerName(fmt.Sprint("server", i))
}

func (f *drained) evictable(i int) bool {
	return f.budgets[i] != nil && f.budgets[i].Spec.MaxUnavailable.IntValue() > 0
}

// look plans for one server from what is so now.
func (f *drained) look(i int) {
	turn := Turn{Group: "content", Declared: true, Holder: f.holder}
	if f.down[f.primary] {
		turn.Err = errors.New("the primary does not answer")
	} else {
		turn.Primary = f.name(f.primary)
	}
	var promotable []v1alpha1.ServerName
	for j := range f.down {
		switch {
		case j == i && f.down[j]:
			turn.Self = "it is not connected"
		case j != i && f.down[j]:
			turn.Against = append(turn.Against, string(f.name(j)))
		case j != i && f.cordoned[j]:
			turn.Leaving = append(turn.Leaving, f.name(j))
		}
		if j != i && j != f.primary && !f.down[j] {
			promotable = append([]v1alpha1.ServerName{f.name(j)}, promotable...)
		}
	}
	if turn.Primary == f.name(i) {
		turn.Succession = Succession{Allowed: true, Term: f.term, Failover: drainName("content", turn.Primary, f.term)}
		turn.Succession.To, turn.Succession.Leaves = turn.successor(promotable)
	}
	if f.asked[turn.Succession.Failover] {
		turn.Succession.Asked = &v1alpha1.FailoverStatus{Phase: v1alpha1.FailoverRequested}
	}
	node := corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("node", i)},
		Spec:       corev1.NodeSpec{Unschedulable: f.cordoned[i]},
	}
	d := Desired{
		Server: &v1alpha1.SQLServer{ObjectMeta: metav1.ObjectMeta{Name: string(f.name(i))}},
		Groups: []string{"content"},
	}
	o := Observed{
		Now:     f.now,
		Turns:   []Turn{turn},
		Pod:     &corev1.Pod{Spec: corev1.PodSpec{NodeName: node.Name}},
		Budget:  f.budgets[i],
		Cluster: placement.Cluster{Nodes: []corev1.Node{node}},
	}
	p := &reconcile.Plan{}
	if f.down[i] {
		o.Pod = nil
	}
	if planDrain(d, o, p) && !f.down[i] {
		planTurn(d, o, p)
	}
	f.pending[i] = p
}

// act carries the plan of one server out, as of now.
func (f *drained) act(t fatal, i int) {
	plan := f.pending[i]
	f.pending[i] = nil
	for _, step := range plan.Steps {
		switch s := step.(type) {
		case TakeTurn:
			if f.holder != "" && f.holder != f.name(i) {
				return
			}
			f.holder = f.name(i)
		case ReleaseTurn:
			if f.holder == f.name(i) {
				f.holder = ""
			}
		case ApplyObject:
			f.budgets[i] = s.Object.(*policyv1.PodDisruptionBudget)
		case AskSwitchover:
			if f.asked[s.Name] {
				continue
			}
			f.asked[s.Name] = true
			for j := range f.down {
				if f.name(j) == s.To && !f.down[j] && i == f.primary {
					f.primary = j
					f.term++
					if gone := f.now.Sub(f.among); f.cordoned[j] && gone < drainPatience {
						t.Fatalf("a server that leaves was made primary %s after another", gone)
					} else if f.cordoned[j] {
						f.among = f.now
					}
					break
				}
			}
		default:
			t.Fatalf("step %T is not known", step)
		}
	}
}

// evict is what `kubectl drain` does: the pod ends if its budget allows it.
func (f *drained) evict(t fatal, i int) {
	if !f.cordoned[i] || f.lazy[i] || f.down[i] || !f.evictable(i) {
		return
	}
	if i == f.primary {
		t.Fatalf("the primary's pod was evicted")
	}
	for j := range f.down {
		if f.down[j] {
			t.Fatalf("server %d was evicted while %d is down", i, j)
		}
	}
	f.down[i] = true
}

// come is the pod on another node.
func (f *drained) come(i int) {
	if f.down[i] {
		f.down[i], f.cordoned[i] = false, false
	}
}

// Whatever the order in which cordoned nodes are looked at and pods are evicted, never are two servers of a group down,
// never is it the primary; and every pod that somebody evicts goes, also while other nodes are cordoned and nobody
// evicts.
func TestOneDrainOfAGroupAtATime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 4).Draw(t, "servers")
		f := newDrained(n)
		for i := range n {
			f.cordoned[i], f.lazy[i] = rapid.Bool().Draw(t, "cordoned"), rapid.Bool().Draw(t, "lazy")
		}
		do := func(action, i int) {
			switch {
			case action == 0 && f.pending[i] == nil:
				f.look(i)
			case action == 1 && f.pending[i] != nil:
				f.act(t, i)
			case action == 2:
				f.evict(t, i)
			case action == 3:
				f.come(i)
			case action == 4:
				f.now = f.now.Add(time.Minute)
			}
		}
		for range rapid.IntRange(0, 60).Draw(t, "moves") {
			do(rapid.IntRange(0, 4).Draw(t, "action"), rapid.IntRange(0, n-1).Draw(t, "server"))
		}
		for range 80 * n {
			for i := range n {
				for _, action := range []int{1, 0, 1, 2, 3, 0, 1} {
					do(action, i)
				}
			}
			do(4, 0)
		}
		for i := range n {
			if f.cordoned[i] && !f.lazy[i] {
				t.Fatalf("server %d was not drained; the turn is of %q, the primary is %d", i, f.holder, f.primary)
			}
			f.cordoned[i] = false
		}
		for range 3 {
			for i := range n {
				for _, action := range []int{1, 0, 1} {
					do(action, i)
				}
			}
		}
		for i := range n {
			if f.holder != "" || f.evictable(i) {
				t.Fatalf("nothing is cordoned, %q keeps its turn, server %d evictable: %v", f.holder, i, f.evictable(i))
			}
		}
	})
}

// All nodes of a group are cordoned, and after a while one of them is drained. Before, two primaries that nobody
// drained made each other primary twice a minute, and the turn never came to the third.
func TestADrainAmongCordonedNodes(t *testing.T) {
	for drains := range 3 {
		for _, after := range []int{0, 5, 15, 25, 35, 61} {
			t.Run(fmt.Sprintf("server %d after %d minutes", drains, after), func(t *testing.T) {
				f := newDrained(3)
				for i := range f.cordoned {
					f.cordoned[i], f.lazy[i] = true, true
				}
				for minute := 0; f.cordoned[drains]; minute++ {
					if f.lazy[drains] = minute < after; minute > after+60 {
						t.Fatalf("it is not drained after an hour; the turn is of %q, the primary is %d", f.holder, f.primary)
					}
					for i := range f.down {
						f.look(i)
						f.act(t, i)
						f.evict(t, i)
						f.come(i)
					}
					f.now = f.now.Add(time.Minute)
				}
				if f.term > int64(1+after/20) {
					t.Fatalf("%d switchovers", f.term)
				}
			})
		}
	}
}

// A node is uncordoned when the pod's eviction was let through a moment before: the turn stays until the pod is back.
func TestAnEvictionThatWasLetThroughKeepsTheTurn(t *testing.T) {
	g := NewWithT(t)
	e := newEnviron(t, declared(server(), Surroundings{}))
	e.settle(t, 100)
	e.d.Groups, e.o.Engine.Groups = []string{"content"}, []string{"content"}
	e.o.Turns = []Turn{{Group: "content", Declared: true, Primary: "quisec", Holder: "tukpub"}}
	e.o.Budget = stamp(disruptionBudget(e.d, false, nil))
	e.o.Budget.Status.DisruptedPods = map[string]metav1.Time{"tukpub-0": {Time: start}}
	p := plan(e.d, e.o)
	g.Expect(p.Steps).To(BeEmpty())
	g.Expect(p.Outcome.Message).To(ContainSubstring("its eviction was let through"))
	e.o.Budget.Status.DisruptedPods = nil
	p = plan(e.d, e.o)
	g.Expect(p.Steps).To(ConsistOf(ReleaseTurn{Group: "content"}))
}

// A pod that may be evicted may be so when it is not ready, too: Kubernetes refuses that unless it is told otherwise,
// and a drain waits for ever. One that may not be evicted is spared in either state.
func TestAPodThatIsNotReadyHoldsUpNoDrain(t *testing.T) {
	g := NewWithT(t)
	e := newEnviron(t, declared(server(), Surroundings{}))
	g.Expect(disruptionBudget(e.d, true, nil).Spec.UnhealthyPodEvictionPolicy).To(HaveValue(Equal(policyv1.AlwaysAllow)))
	g.Expect(disruptionBudget(e.d, false, nil).Spec.UnhealthyPodEvictionPolicy).To(BeNil())
}

// Claims that somebody has deleted go with the pod, and the data with them: nothing that the operator wants of the pod
// ends it.
func TestAPodThatKeepsDyingClaimsIsLeftAlone(t *testing.T) {
	for name, change := range map[string]func(*environ){
		"another template": func(e *environ) {
			e.o.Pod.Annotations = maps.Clone(e.o.Pod.Annotations)
			e.o.Pod.Annotations[annotationTemplate] = "older"
			e.o.Pod.Annotations[annotationEngine] = "older"
		},
		"a cordoned node": func(e *environ) {
			e.d.Groups, e.o.Engine.Groups = []string{"content"}, []string{"content"}
			e.o.Turns = []Turn{{Group: "content", Declared: true, Primary: "quisec", Holder: "tukpub"}}
			e.o.Cluster.Nodes[0].Spec.Unschedulable = true
		},
	} {
		for _, dying := range []bool{false, true} {
			g := NewWithT(t)
			e := newEnviron(t, declared(server(), Surroundings{}))
			e.settle(t, 100)
			change(e)
			if dying {
				e.o.Claims["data"].DeletionTimestamp = &metav1.Time{Time: start}
			}
			p := plan(e.d, e.o)
			ends := slices.ContainsFunc(p.Steps, func(s reconcile.Step) bool {
				if _, is := s.(RestartPod); is {
					return true
				}
				a, is := s.(ApplyObject)
				budget, isBudget := a.Object.(*policyv1.PodDisruptionBudget)
				return is && isBudget && budget.Spec.MaxUnavailable.IntValue() > 0
			})
			g.Expect(ends).To(Equal(!dying), "%s, dying %v: %v", name, dying, p.Steps)
			if dying {
				g.Expect(waits(p).Reason).To(Equal(v1alpha1.ReasonVolumesTerminating))
				g.Expect(waits(p).Why).To(ContainSubstring("tukpub-data"))
			}
		}
	}
}

func TestPlanDrain(t *testing.T) {
	cordon := func(e *environ) { e.o.Cluster.Nodes[0].Spec.Unschedulable = true }
	secondary := Turn{Group: "content", Declared: true, Primary: "quisec"}
	held := Turn{
		Group:    "content",
		Declared: true,
		Primary:  "quisec",
		Holder:   "tukpub",
		Leaving:  []v1alpha1.ServerName{"dubsec"},
	}
	spent := func(evictable bool, evicted map[string]metav1.Time) func(*environ) {
		return func(e *environ) {
			cordon(e)
			e.o.Budget = stamp(
				disruptionBudget(
					e.d,
					evictable,
					map[string]string{annotationEvictable: start.Add(-drainPatience).Format(time.RFC3339)},
				),
			)
			e.o.Budget.Status.DisruptedPods = evicted
		}
	}
	for name, c := range map[string]struct {
		turn   *Turn
		change func(*environ)
		most   int
		says   string
		steps  []string
		none   bool
	}{
		"a server of no group has no budget": {none: true},
		"a server of a group is not evicted": {turn: &secondary, most: 0,
			steps: []string{"apply PodDisruptionBudget tukpub"}},
		"a secondary on a cordoned node": {turn: &secondary, change: cordon, most: 1,
			says:  "node tukwila-worker is cordoned; the pod may be evicted now",
			steps: []string{"take the turn", "apply PodDisruptionBudget tukpub"}},
		"a taint that orders the pod away": {turn: &secondary, change: func(e *environ) {
			e.o.Cluster.Nodes[0].Spec.Taints = []corev1.Taint{{Key: "karpenter.sh/disrupted",
				Effect: corev1.TaintEffectNoSchedule}}
		}, most: 1, says: "has the taint karpenter.sh/disrupted",
			steps: []string{"take the turn", "apply PodDisruptionBudget tukpub"}},
		"a taint that tells of the node's state": {turn: &secondary, change: func(e *environ) {
			e.o.Cluster.Nodes[0].Spec.Taints = []corev1.Taint{{Key: corev1.TaintNodeDiskPressure,
				Effect: corev1.TaintEffectNoSchedule}}
		}, most: 0, steps: []string{"apply PodDisruptionBudget tukpub"}},
		"the primary asks for a switchover": {change: cordon, most: 0,
			turn: &Turn{Group: "content", Declared: true, Primary: "tukpub",
				Succession: Succession{Allowed: true, To: "quisec", Failover: "content-drain-tukpub-7"}},
			says: "a switchover to quisec is asked for",
			steps: []string{"take the turn", "apply PodDisruptionBudget tukpub",
				"ask for a switchover of group content to quisec (Failover content-drain-tukpub-7)"}},
		"the primary comes last among servers that leave": {change: cordon, most: 0,
			turn: &Turn{Group: "content", Declared: true, Primary: "tukpub",
				Leaving:    []v1alpha1.ServerName{"quisec", "dubsec"},
				Succession: Succession{Allowed: true, To: "quisec", Leaves: true, Term: 7, Failover: "content-drain-tukpub-7"}},
			says: "dubsec, quisec come first, for 20m0s more at most", steps: []string{"apply PodDisruptionBudget tukpub"}},
		"the primary of a group without automatic failover waits for a person": {change: cordon, most: 0,
			turn: &Turn{Group: "content", Declared: true, Primary: "tukpub"},
			says: "kubectl geosql switchover content --to SERVER", steps: []string{"apply PodDisruptionBudget tukpub"}},
		"another replica is not well": {change: cordon, most: 0,
			turn:  &Turn{Group: "content", Declared: true, Primary: "quisec", Against: []string{"dubsec-0 is not synchronized"}},
			says:  "can't do without a replica now: dubsec-0 is not synchronized",
			steps: []string{"apply PodDisruptionBudget tukpub"}},
		"another server is drained": {change: cordon, most: 0,
			turn: &Turn{Group: "content", Declared: true, Holder: "dubsec"},
			says: "it is the turn of dubsec", steps: []string{"apply PodDisruptionBudget tukpub"}},
		"the primary can't be asked": {change: cordon, most: 0,
			turn: &Turn{Group: "content", Declared: true, Err: errors.New("mute")},
			says: "not known: mute", steps: []string{"apply PodDisruptionBudget tukpub"}},
		"whom nobody evicted may not be evicted first": {change: spent(true, nil), most: 0, turn: &held,
			says:  "not evicted within 10m0s, and dubsec of group content come first",
			steps: []string{"apply PodDisruptionBudget tukpub"}},
		"and then leaves the turn": {change: spent(false, nil), turn: &held,
			says: "dubsec of group content come first", steps: []string{"leave the turn"}},
		"but not when an eviction was let through before": {change: spent(false,
			map[string]metav1.Time{"tukpub-0": {Time: start}}), turn: &held, none: true},
		"the site's credentials are of an earlier release": {turn: &secondary, none: true,
			change: func(e *environ) { cordon(e); e.o.BudgetDenied = true }},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			e := newEnviron(t, declared(server(), Surroundings{}))
			e.settle(t, 100)
			if c.turn != nil {
				e.hosts(*c.turn)
			}
			if c.change != nil {
				c.change(e)
			}
			p := plan(e.d, e.o)
			if c.none {
				g.Expect(p.Steps).To(BeEmpty())
				return
			}
			g.Expect(p.Steps).To(HaveLen(len(c.steps)))
			for i, begins := range c.steps {
				g.Expect(p.Steps[i].Describe()).To(HavePrefix(begins))
				if a, ok := p.Steps[i].(ApplyObject); ok {
					g.Expect(a.Object.(*policyv1.PodDisruptionBudget).Spec.MaxUnavailable.IntValue()).To(Equal(c.most))
				}
			}
			g.Expect(waits(p).Why).To(ContainSubstring(c.says))
			condition := restartPending(p)
			if c.says != "" {
				g.Expect(condition.Reason).To(Equal(v1alpha1.ReasonNodeCordoned))
			}
		})
	}
}
