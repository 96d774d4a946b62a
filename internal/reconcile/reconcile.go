// SPDX-License-Identifier: Apache-2.0

// Package reconcile is the frame that the controllers of all kinds share: read the object, keep its finalizer, observe,
// plan, apply, report, and look again in time. A kind brings its verbs.
package reconcile

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/log"
	mcreconcile "sigs.k8s.io/multicluster-runtime/pkg/reconcile"

	"geosql.dev/operator/internal/reconcile/conditions"
)

// patience is how often in a row an object is looked at again without a word because somebody else changed it
// meanwhile.
const patience = 8

// Gist is what the frame has to know of a kind's plan.
type Gist struct {
	// Steps is how many the plan has.
	Steps int
	// Does are the steps in words. Where the next plans have the same ones again, although they were carried out, nothing
	// came of them: they are put off, longer from time to time, and that is reported as WithoutEffect. None for a kind
	// whose steps are to be repeated as they are.
	Does []string
	// Progress of the plan's outcome.
	Progress conditions.Progress
	// Done says of a deletion that nothing is left once the steps are carried out: the finalizer goes.
	Done bool
}

// Plan of a kind.
type Plan interface {
	Gist() Gist
}

// Look says when an object is looked at again though nothing asks for it. Engines tell nobody of their changes.
type Look struct {
	// Step is for after steps were carried out: what they did is observed.
	Step time.Duration
	// Soon is for what is being worked on or waited for, and for the first repetition of a step that failed.
	Soon time.Duration
	// Stuck is for what needs a person: what that person does is not always watched. Again unless given.
	Stuck time.Duration
	// Again is for what is as it should be; up to a quarter is added by chance.
	Again time.Duration
}

// Kind is the verbs of a kind, over the world W that it observes and the plan P that it makes.
type Kind[O client.Object, W any, P Plan] struct {
	// Name of the kind, for messages.
	Name string
	// New makes an empty object.
	New func() O
	// Finalizer is on every object until a plan of its deletion is done.
	Finalizer string
	// Timeout bounds one reconciliation, all remote calls together.
	Timeout time.Duration
	Look    Look
	// Observe reads everything that the plan and the report need, and changes nothing. What does not answer is part of the
	// world; an error means that there is nothing to report either. Later as error puts everything off.
	Observe func(context.Context, O) (W, error)
	// Plan decides what to do; PlanDelete for an object that is being deleted.
	Plan, PlanDelete func(W) P
	// Apply carries out the steps. Each may be carried out again.
	Apply func(context.Context, W, P) error
	// Report writes the status of what was observed and done; failed is why Apply did not carry out everything.
	Report func(ctx context.Context, w W, p P, failed error) error
	// Stays says why an object that is being deleted must go without its things: somebody declares it still, and it is
	// made anew. Its finalizer goes at once, and what it has at sites and servers is left as it is. Empty: it goes as
	// PlanDelete says. Optional.
	Stays func(context.Context, O) (string, error)
	// Soon tells of a world that is as it should be and is looked at again soon all the same. Optional.
	Soon func(W) bool
	// Gone is called when there is no object of the name any more. Optional.
	Gone func(types.NamespacedName)
}

// Later is the error of an Observe that can tell nothing yet. It is no failure: nothing is planned, applied, reported
// or logged, and the object is looked at again after that time.
type Later time.Duration

// Error says when.
func (l Later) Error() string {
	return "nothing can be told yet; it is looked at again in " + time.Duration(l).String()
}

// Reconciler of the objects of one kind in the hub.
type Reconciler[O client.Object, W any, P Plan] struct {
	kind    Kind[O, W, P]
	hub     client.Client
	backoff workqueue.TypedRateLimiter[types.NamespacedName]
	repeats repeats
	now     func() time.Time
}

// New makes a reconciler.
func New[O client.Object, W any, P Plan](hub client.Client, k Kind[O, W, P]) *Reconciler[O, W, P] {
	longest := min(k.Look.Again, 8*k.Look.Soon)
	return &Reconciler[O, W, P]{kind: k, hub: hub, now: time.Now,
		backoff: workqueue.NewTypedItemExponentialFailureRateLimiter[types.NamespacedName](k.Look.Soon, longest)}
}

// Reconcile brings one object a step nearer to what is declared. A step that fails is in the object's condition and is
// tried again, later from time to time. That somebody else changed an object meanwhile is no error: it is read again.
func (r *Reconciler[O, W, P]) Reconcile(ctx context.Context, request mcreconcile.Request) (ctrl.Result, error) {
	ctx, cancel := context.WithTimeout(ctx, r.kind.Timeout)
	defer cancel()
	name := request.NamespacedName
	after, failed, err := r.reconcile(ctx, name)
	var later Later
	switch {
	case errors.As(err, &later):
		return ctrl.Result{RequeueAfter: time.Duration(later)}, nil
	case apierrors.IsConflict(err) && r.backoff.NumRequeues(name) < patience:
		log.FromContext(ctx).V(1).Info("somebody else changed the object meanwhile", "cause", err.Error())
		r.backoff.When(name)
		return ctrl.Result{RequeueAfter: r.kind.Look.Step}, nil
	case err != nil:
		return ctrl.Result{}, errors.Join(failed, err)
	case failed != nil:
		wait := r.backoff.When(name)
		log.FromContext(ctx).Info("step failed; it is tried again", "error", failed.Error(), "after", wait.String())
		return ctrl.Result{RequeueAfter: wait}, nil
	}
	r.backoff.Forget(name)
	return ctrl.Result{RequeueAfter: after}, nil
}

// reconcile returns when to look again, why steps were not carried out, and what kept it from finishing.
func (r *Reconciler[O, W, P]) reconcile(
	ctx context.Context,
	name types.NamespacedName,
) (after time.Duration, failed, err error) {
	object := r.kind.New()
	if err := r.hub.Get(ctx, name, object); err != nil {
		if apierrors.IsNotFound(err) {
			r.gone(name)
			return 0, nil, nil
		}
		return 0, nil, fmt.Errorf("read %s %s: %w", r.kind.Name, name, err)
	}
	deleting := object.GetDeletionTimestamp() != nil
	if deleting && !controllerutil.ContainsFinalizer(object, r.kind.Finalizer) {
		return 0, nil, nil
	}
	if !deleting {
		if err := SetFinalizer(ctx, r.hub, object, r.kind.Finalizer, true); err != nil {
			return 0, nil, err
		}
	}
	if deleting && r.kind.Stays != nil {
		switch why, err := r.kind.Stays(ctx, object); {
		case err != nil:
			return 0, nil, fmt.Errorf("find out whether %s %s is declared still: %w", r.kind.Name, name, err)
		case why != "":
			log.FromContext(ctx).Info("the object goes, and what it stands for stays", "reason", why)
			return 0, nil, r.release(ctx, object)
		}
	}
	world, err := r.kind.Observe(ctx, object)
	if err != nil {
		return 0, nil, err
	}
	decide := r.kind.Plan
	if deleting {
		decide = r.kind.PlanDelete
	}
	plan := decide(world)
	gist := plan.Gist()
	held := r.repeats.wait(name, gist.Does, r.now())
	if held == 0 {
		failed = r.kind.Apply(ctx, world, plan)
		if failed == nil {
			r.repeats.note(name, gist.Does, r.kind.Look.Soon, r.now())
		}
	}
	if gist.Done && failed == nil && held == 0 {
		return 0, nil, r.release(ctx, object)
	}
	said := failed
	if said == nil {
		said = r.repeats.told(name)
	}
	if err := r.kind.Report(ctx, world, plan, said); err != nil {
		return 0, failed, err
	}
	if held > 0 {
		// It is looked at meanwhile: what changes is acted on at once.
		return min(held, r.kind.Look.Soon), nil, nil
	}
	return r.next(world, gist), failed, nil
}

// release takes the finalizer away: the object is gone for this controller.
func (r *Reconciler[O, W, P]) release(ctx context.Context, object O) error {
	err := SetFinalizer(ctx, r.hub, object, r.kind.Finalizer, false)
	if err == nil {
		r.gone(client.ObjectKeyFromObject(object))
	}
	return err
}

func (r *Reconciler[O, W, P]) gone(name types.NamespacedName) {
	r.backoff.Forget(name)
	r.repeats.forget(name)
	if r.kind.Gone != nil {
		r.kind.Gone(name)
	}
}

// next is when to look again.
func (r *Reconciler[O, W, P]) next(world W, g Gist) time.Duration {
	look := r.kind.Look
	switch {
	case g.Steps > 0:
		return look.Step
	case g.Progress == conditions.Working, r.kind.Soon != nil && r.kind.Soon(world):
		return look.Soon
	case g.Progress == conditions.Stuck && look.Stuck > 0:
		return look.Stuck
	}
	return look.Again + time.Duration(rand.Int64N(int64(look.Again/4)))
}

// Step is one thing to do.
type Step interface {
	// Describe says what is done and why, without secrets.
	Describe() string
}

// InOrder carries out steps one after the other and stops at the first that fails.
func InOrder[S Step](ctx context.Context, steps []S, carryOut func(context.Context, S) error) error {
	for _, step := range steps {
		log.FromContext(ctx).Info("step", "step", step.Describe())
		if err := carryOut(ctx, step); err != nil {
			return fmt.Errorf("%s: %w", step.Describe(), err)
		}
	}
	return nil
}

// EachInOrder carries out the steps of each of several places, as at tells them, in their order, and those of different
// places at the same time. The first that fails ends those of its own place; all failures are told.
func EachInOrder[S Step, P comparable](
	ctx context.Context,
	steps []S,
	at func(S) P,
	carryOut func(context.Context, S) error,
) error {
	places, of := []P{}, map[P][]S{}
	for _, step := range steps {
		place := at(step)
		if len(of[place]) == 0 {
			places = append(places, place)
		}
		of[place] = append(of[place], step)
	}
	failed := make([]error, len(places))
	var wg sync.WaitGroup
	for i, place := range places {
		wg.Go(func() { failed[i] = InOrder(ctx, of[place], carryOut) })
	}
	wg.Wait()
	return errors.Join(failed...)
}
