// SPDX-License-Identifier: Apache-2.0

package sqlserver

import (
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/reconcile"
)

// fleet is a group whose servers' pods are all outdated, and managers that observe and act with a delay.
type fleet struct {
	holder   v1alpha1.ServerName
	primary  int
	outdated []bool
	down     []bool
	// ill are those that are not well by themselves, and will be when they are restarted.
	ill []bool
	// dead are those whose engines end again and again; spare are those of them whose pods were deleted. version is the
	// pod's, which its kubelet changes.
	dead, spare []bool
	version     []int
	// mute says that there was a failover and nobody has been told yet who is primary.
	mute bool
	// incarnation of the pod: a restart that was planned for another one does nothing.
	incarnation []int
	// pending are plans that were made and not carried out yet.
	pending []*reconcile.Plan
}

func (f *fleet) name(i int) v1alpha1.ServerName { return v1alpha1.ServerName(fmt.Sprint("server", i)) }

func (f *fleet) uid(i int) types.UID { return types.UID(fmt.Sprint(i, "-", f.incarnation[i])) }

// look plans for one server from what is so now.
func (f *fleet) look(i int) {
	turn := Turn{Group: "content", Declared: true, Holder: f.holder}
	if f.mute || f.away(f.primary) {
		turn.Err = fmt.Errorf("the primary does not answer")
	} else {
		turn.Primary = f.name(f.primary)
		for j := range f.down {
			switch {
			case j == i && f.away(j):
				turn.Self = "it is not connected"
			case j != i && f.away(j):
				turn.Against = append(turn.Against, string(f.name(j)))
			}
			if j != i && f.outdated[j] {
				turn.Behind = append(turn.Behind, f.name(j))
			}
		}
	}
	d := Desired{
		Server: &v1alpha1.SQLServer{ObjectMeta: metav1.ObjectMeta{Name: string(f.name(i))}},
		Groups: []string{"content"},
	}
	o := Observed{
		Turns: []Turn{turn},
		Pod:   &corev1.Pod{ObjectMeta: metav1.ObjectMeta{ResourceVersion: f.seen(i)}, Spec: corev1.PodSpec{NodeName: "node"}},
	}
	o.Cluster.Nodes = []corev1.Node{{ObjectMeta: metav1.ObjectMeta{Name: "node"}}}
	if f.dead[i] {
		o.Pod.Status.ContainerStatuses = []corev1.ContainerStatus{
			{Name: ContainerEngine, State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: crashLoop}}},
		}
	}
	o.Engine.Asked = !f.away(i)
	p := &reconcile.Plan{}
	if !f.outdated[i] ||
		restart(d, o, p, RestartPod{Name: d.host(), UID: f.uid(i), Version: f.seen(i), Reason: "the image changed"}) {
		planTurn(d, o, p)
	}
	f.pending[i] = p
}

// away says that a server is down, ill or dead.
func (f *fleet) away(i int) bool { return f.down[i] || f.ill[i] || f.dead[i] }

// seen is the pod's resourceVersion.
func (f *fleet) seen(i int) string { return fmt.Sprint(f.version[i]) }

// crash ends an engine until its pod is replaced, or until it comes up by itself after all.
func (f *fleet) crash(i int) {
	switch {
	case f.dead[i]:
		f.dead[i] = false
		f.version[i]++
	case f.idle() && !f.away(i):
		f.dead[i], f.outdated[i] = true, true
		f.version[i]++
	}
}

// idle says that no plan waits to be carried out: a plan that is older than what happens next cannot know of it.
func (f *fleet) idle() bool {
	return !slices.ContainsFunc(f.pending, func(p *reconcile.Plan) bool { return p != nil })
}

// happen is a failover to a server, or its falling ill; there is at most one that is ill.
func (f *fleet) happen(i int, failover bool) {
	switch {
	case !f.idle() || f.away(i):
	case failover:
		f.primary, f.mute = i, true
	case i != f.primary && !slices.Contains(f.ill, true):
		f.ill[i], f.outdated[i] = true, true
	}
}

// act carries the plan of one server out, as of now, or only its first step: the manager ends then.
func (f *fleet) act(t *rapid.T, i int, whole bool) {
	plan := f.pending[i]
	f.pending[i] = nil
	for n, step := range plan.Steps {
		if n > 0 && !whole {
			return
		}
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
		case RestartPod:
			if s.UID == f.uid(i) && s.Version == f.seen(i) {
				for j := range f.down {
					if j != i && f.away(j) && !f.away(i) {
						t.Fatalf("%s is restarted while %s is not well", f.name(i), f.name(j))
					}
				}
				f.down[i], f.spare[i], f.dead[i] = true, f.dead[i] || f.down[i] && f.spare[i], false
				f.incarnation[i]++
			}
		}
	}
}

func (f *fleet) come(i int) {
	if f.down[i] {
		f.down[i], f.outdated[i], f.ill[i], f.spare[i] = false, false, false, false
		f.version[i]++
	}
}

func (f *fleet) check(t *rapid.T) {
	down := 0
	for i := range f.down {
		if f.down[i] && !f.spare[i] {
			down++
			if i == f.primary {
				t.Fatalf("the primary's pod was restarted")
			}
		}
	}
	if down > 1 {
		t.Fatalf("%d servers are down at once", down)
	}
}

// Whatever the order in which servers are looked at and acted on, and however late, whenever the manager ends, whoever
// fails over or falls ill or crashes meanwhile: never are two of a group down that served, never the primary; those
// that crashed come back though nobody knows who is primary; all secondaries come to what is declared, and the primary
// after a switchover.
func TestOneServerOfAGroupAtATime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 5).Draw(t, "servers")
		f := &fleet{
			outdated:    make([]bool, n),
			down:        make([]bool, n),
			ill:         make([]bool, n),
			incarnation: make([]int, n),
			pending:     make([]*reconcile.Plan, n),
			dead:        make([]bool, n),
			spare:       make([]bool, n),
			version:     make([]int, n),
		}
		for i := range n {
			f.outdated[i] = rapid.Bool().Draw(t, "outdated")
		}
		do := func(action, i int) {
			switch {
			case action == 0 && f.pending[i] == nil:
				f.look(i)
			case action == 1 && f.pending[i] != nil:
				f.act(t, i, true)
			case action == 2:
				f.come(i)
			case action == 3 && f.pending[i] != nil:
				f.act(t, i, false)
			case action == 4 || action == 5:
				f.happen(i, action == 4)
			case action == 6:
				f.mute = false
			case action == 7:
				f.crash(i)
			}
			f.check(t)
		}
		for range rapid.IntRange(0, 60).Draw(t, "moves") {
			do(rapid.IntRange(0, 7).Draw(t, "action"), rapid.IntRange(0, n-1).Draw(t, "server"))
		}
		round := func() {
			for range 4 * n {
				for i := range n {
					for _, action := range []int{1, 2, 0, 1, 2, 0, 1} {
						do(action, i)
					}
				}
			}
		}
		f.mute = true
		round()
		if i := slices.Index(f.dead, true); i >= 0 {
			t.Fatalf("server %d has crashed and waits; the turn is of %q", i, f.holder)
		}
		f.mute = false
		round()
		for i := range n {
			if f.outdated[i] && i != f.primary {
				t.Fatalf("secondary %d is outdated still; the turn is of %q", i, f.holder)
			}
		}
		f.primary = (f.primary + 1) % n
		round()
		for i := range n {
			if f.outdated[i] {
				t.Fatalf("server %d is outdated after the switchover", i)
			}
		}
		if f.holder != "" {
			t.Fatalf("%s keeps its turn", f.holder)
		}
	})
}
