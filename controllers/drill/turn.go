// SPDX-License-Identifier: Apache-2.0

package drill

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
)

// turns sees to it that drills which share a server begin one after the other, though several are reconciled at a time.
type turns struct {
	mu     sync.Mutex
	claims map[types.UID]claim
}

// claim of a drill that may be begun by the reconciliation under way; nobody else can see that yet.
type claim struct {
	namespace, name string
	servers         []string
	at              time.Time
}

// others finds a drill that runs on a server of the target. When there is none and this one may begin, it has claimed
// the servers until its status is written. Drills are listed while the claims stand still: whoever gave his up has
// written.
func (r *Reconciler) others(ctx context.Context, w *Observed) error {
	r.turns.mu.Lock()
	defer r.turns.mu.Unlock()
	var list v1alpha1.DrillList
	if err := r.direct.List(ctx, &list, client.InNamespace(w.drill.Namespace)); err != nil {
		return fmt.Errorf("list the Drills of namespace %s: %w", w.drill.Namespace, err)
	}
	servers := serverNames(w.target)
	for i := range list.Items {
		o := &list.Items[i]
		if o.UID == w.drill.UID || !active(o.Status.Phase) {
			continue
		}
		shares, err := r.shares(ctx, w.target, servers, o)
		if err != nil {
			return err
		}
		if shares {
			w.busy = o.Name
		}
	}
	now := r.now()
	for uid, c := range r.turns.claims {
		if now.Sub(c.at) > reconcileTimeout {
			delete(r.turns.claims, uid) // its reconciliation is over, and ended before it could report
		} else if uid != w.drill.UID && c.namespace == w.drill.Namespace && overlap(servers, c.servers) {
			w.busy = c.name
		}
	}
	if w.busy == "" && w.mayBegin() {
		if r.turns.claims == nil {
			r.turns.claims = map[types.UID]claim{}
		}
		r.turns.claims[w.drill.UID] = claim{w.drill.Namespace, w.drill.Name, servers, now}
	}
	return nil
}

// mayBegin says that nothing but another drill is in the way.
func (w *Observed) mayBegin() bool {
	t, s := w.target, w.drill.Spec
	return !active(w.drill.Status.Phase) && !w.archived && !w.ranElsewhere() && !s.Abort && !s.DryRun && t.missing == "" &&
		t.denied == "" &&
		t.unwell == "" &&
		len(w.ungranted) == 0 &&
		w.unasked == ""
}

// begun gives a claim up: what the drill's status says counts from now on.
func (r *Reconciler) begun(d *v1alpha1.Drill) {
	r.turns.mu.Lock()
	defer r.turns.mu.Unlock()
	delete(r.turns.claims, d.UID)
}

// shares says whether another drill is about a server of the target. What it is about is resolved as it is now; the
// names that its status keeps count even when that is gone.
func (r *Reconciler) shares(ctx context.Context, t *target, servers []string, o *v1alpha1.Drill) (bool, error) {
	if t.group != nil && o.Status.Group == t.group.Name ||
		t.subscription != nil && o.Status.Subscription == t.subscription.Name {
		return true, nil
	}
	other, err := r.resolve(ctx, o)
	if err != nil {
		return false, err
	}
	return overlap(servers, serverNames(other)), nil
}

func serverNames(t *target) []string {
	var list []string
	for _, s := range t.servers {
		list = append(list, s.Name)
	}
	return list
}

func overlap(a, b []string) bool {
	return slices.ContainsFunc(a, func(s string) bool { return slices.Contains(b, s) })
}
