// SPDX-License-Identifier: Apache-2.0

package reconcile

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/internal/reconcile/conditions"
)

// Gist is what the frame has to know of a plan of a FormerKind.
type Gist struct {
	Steps    int
	Does     []string
	Progress conditions.Progress
	Done     bool
}

// FormerPlan is the plan of a FormerKind.
type FormerPlan interface{ Gist() Gist }

// FormerKind is a kind that has not come into the frame yet.
type FormerKind[O client.Object, W any, P FormerPlan] struct {
	Name             string
	New              func() O
	Finalizer        string
	Timeout          time.Duration
	Look             Look
	Observe          func(context.Context, O) (W, error)
	Plan, PlanDelete func(W) P
	Apply            func(context.Context, W, P) error
	Report           func(ctx context.Context, w W, p P, failed error) error
	Stays            func(context.Context, O) (string, error)
	Soon             func(W) bool
	Gone             func(types.NamespacedName)
}

// did is a step of a former plan.
type did string

// Describe is the text.
func (d did) Describe() string { return string(d) }

// NewFormer makes a reconciler of a FormerKind. Steps that are to be repeated have texts that are never the same.
func NewFormer[O client.Object, W any, P FormerPlan](hub client.Client, k FormerKind[O, W, P]) *Reconciler[O, O, W] {
	decide := func(plan func(W) P) func(O, W) Plan {
		return func(_ O, w W) Plan {
			p := plan(w)
			g := p.Gist()
			made := Plan{Outcome: conditions.Outcome{Progress: g.Progress}, Done: g.Done, Note: p}
			for i := range g.Steps {
				what := did(time.Now().String())
				if g.Does != nil {
					what = did(g.Does[i])
				}
				made.Add(what)
			}
			return made
		}
	}
	kind := Kind[O, O, W]{
		Name: k.Name, New: k.New, Finalizer: k.Finalizer, Timeout: k.Timeout, Look: k.Look, Stays: k.Stays, Gone: k.Gone,
		Desire:  func(_ context.Context, o O) (O, error) { return o, nil },
		Observe: func(ctx context.Context, o O) (W, error) { return k.Observe(ctx, o) },
		Plan:    decide(k.Plan), PlanDelete: decide(k.PlanDelete),
		Apply: func(ctx context.Context, _ O, w W, p Plan) error { return k.Apply(ctx, w, Noted[P](p)) },
		Report: func(ctx context.Context, _ O, w W, p Plan, failed error) error {
			return k.Report(ctx, w, Noted[P](p), failed)
		},
	}
	if k.Soon != nil {
		kind.Soon = func(_ O, w W) bool { return k.Soon(w) }
	}
	return New(hub, kind)
}

// Does describes the steps of a plan, for Gist.
func Does[S Step](steps []S) []string {
	does := make([]string, len(steps))
	for i, s := range steps {
		does[i] = s.Describe()
	}
	return does
}
