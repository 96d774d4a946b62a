// SPDX-License-Identifier: Apache-2.0

// Package reconcile is the frame that the controllers of all kinds share: read the object, keep its finalizer, find out
// what it asks for, observe, plan, apply, report, and look again in time. A kind brings its verbs.
package reconcile

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
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

// patience is how many conflicts in a row are retried before one is logged as an error.
const patience = 8

// RequeueAfter says when an object is reconciled again though nothing asks for it. Engines tell nobody of their
// changes.
type RequeueAfter struct {
	// Steps is for after steps were carried out: what they did is observed.
	Steps time.Duration
	// Progress is for what is being worked on or waited for, and for the first repetition of a step that failed.
	Progress time.Duration
	// Stalled is for what needs a person: what that person does is not always watched. Resync unless given.
	Stalled time.Duration
	// Resync is for what is as it should be; up to a quarter is added by chance.
	Resync time.Duration
}

// Kind is the verbs of a kind: its objects O, what one of them asks for (D), and what is there (V). Each verb has a
// file of its name in the kind's folder.
type Kind[O client.Object, D, V any] struct {
	// Name of the kind, for messages.
	Name string
	// New makes an empty object.
	New func() O
	// Finalizer is on every object until a plan of its deletion is done.
	Finalizer string
	// Timeout bounds one reconciliation, all remote calls together.
	Timeout      time.Duration
	RequeueAfter RequeueAfter
	// Desire finds out what an object asks for, with its references resolved. It may read the hub, and writes nothing.
	Desire func(context.Context, O) (D, error)
	// Unresolved is the plan for an object whose Desire failed; nothing is observed then. Optional: without it the error
	// puts everything off.
	Unresolved func(O, error) Plan
	// Observe reads everything else that the plan and the report need, and changes nothing. What does not answer is part
	// of the observation; an error means that there is nothing to report either. Later as error puts everything off.
	Observe func(context.Context, D) (V, error)
	// Plan decides what to do; PlanDelete for an object that is being deleted.
	Plan, PlanDelete func(D, V) Plan
	// Apply carries out the steps. Each may be carried out again.
	Apply func(context.Context, D, V, Plan) error
	// Report writes the status of what was observed and done; failed is why Apply did not carry out everything.
	Report func(ctx context.Context, d D, v V, p Plan, failed error) error
	// Repeats says that repeated steps are carried out without a pause: the next observation need not show their effect.
	Repeats bool
	// Stays says why an object that is being deleted must keep what it has at sites and servers: somebody still declares
	// it, and it is made anew. Its finalizer is removed at once. Empty: PlanDelete decides. Optional.
	Stays func(context.Context, O) (string, error)
	// Rests says why nothing is done with an object whose kind has no spec.suspend: what it is about is suspended. Empty
	// when something is. Optional.
	Rests func(context.Context, O) (string, error)
	// KeepsOn says that what the kind has begun for an object, which has its finalizer then, goes on while that is
	// suspended: failing over needs it. Nothing is begun meanwhile.
	KeepsOn bool
	// Yields is the plan by which an object that is suspended gives back what was lent to it for a time: a right that
	// nobody would take from it meanwhile. It begins nothing. Its steps may be carried out again. Optional.
	Yields func(D, V) Plan
	// Soon tells of an object that is as it should be that it is requeued after Progress all the same. Optional.
	Soon func(D, V) bool
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
type Reconciler[O client.Object, D, V any] struct {
	kind    Kind[O, D, V]
	hub     client.Client
	backoff workqueue.TypedRateLimiter[types.NamespacedName]
	repeats repeats
	now     func() time.Time
}

// New makes a reconciler.
func New[O client.Object, D, V any](hub client.Client, k Kind[O, D, V]) *Reconciler[O, D, V] {
	longest := min(k.RequeueAfter.Resync, 8*k.RequeueAfter.Progress)
	return &Reconciler[O, D, V]{kind: k, hub: hub, now: time.Now,
		backoff: workqueue.NewTypedItemExponentialFailureRateLimiter[types.NamespacedName](k.RequeueAfter.Progress, longest)}
}

// Reconcile brings one object a step nearer to what is declared. A failed step is reported in the object's condition
// and retried with back-off. A conflict is no error: the object is read again.
func (r *Reconciler[O, D, V]) Reconcile(ctx context.Context, request mcreconcile.Request) (ctrl.Result, error) {
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
		return ctrl.Result{RequeueAfter: r.kind.RequeueAfter.Steps}, nil
	case err != nil:
		return ctrl.Result{}, errors.Join(failed, err)
	case underWay(failed):
		r.backoff.Forget(name)
		return ctrl.Result{RequeueAfter: r.kind.RequeueAfter.Progress}, nil
	case failed != nil:
		wait := r.backoff.When(name)
		log.FromContext(ctx).Info("step failed; it is tried again", "error", failed.Error(), "after", wait.String())
		return ctrl.Result{RequeueAfter: wait}, nil
	}
	r.backoff.Forget(name)
	return ctrl.Result{RequeueAfter: after}, nil
}

// reconcile returns when to look again, why steps were not carried out, and what kept it from finishing.
func (r *Reconciler[O, D, V]) reconcile(
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
	why, goes, err := r.begin(ctx, object)
	if err != nil || goes {
		return 0, nil, err
	}
	desired, observed, plan, err := r.decide(ctx, object)
	if err != nil {
		return 0, nil, err
	}
	if why != "" {
		held := suspended(why, object, plan)
		// A report takes steps for carried out, or about to be.
		plan.Steps, plan.Aside = nil, nil
		after, failed = r.yield(ctx, name, desired, observed, &held)
		return after, failed, r.kind.Report(ctx, desired, observed, plan, held)
	}
	held, failed := r.carryOut(ctx, name, desired, observed, plan)
	if plan.Done && failed == nil && held == 0 {
		return 0, nil, r.release(ctx, object)
	}
	said := failed
	if said == nil {
		said = r.repeats.told(name)
	}
	if err := r.kind.Report(ctx, desired, observed, plan, said); err != nil {
		return 0, failed, err
	}
	if held > 0 {
		// It is looked at meanwhile: what changes is acted on at once.
		return min(held, r.kind.RequeueAfter.Progress), nil, nil
	}
	return r.next(desired, observed, plan), failed, nil
}

// carryOut carries out a plan, unless it repeats what had no effect: then held is for how long it waits still.
func (r *Reconciler[O, D, V]) carryOut(
	ctx context.Context,
	name types.NamespacedName,
	desired D,
	observed V,
	plan Plan,
) (held time.Duration, failed error) {
	var does []string
	if !r.kind.Repeats {
		does = plan.does()
	}
	if held = r.repeats.wait(name, does, r.now()); held > 0 {
		return held, nil
	}
	if failed = r.kind.Apply(ctx, desired, observed, plan); failed == nil {
		r.repeats.note(name, does, r.kind.RequeueAfter.Progress, r.now())
	}
	return 0, failed
}

// yield has a suspended object give back what was lent to it, and says so in why it is held. It returns when to look
// again, and why a step was not carried out.
func (r *Reconciler[O, D, V]) yield(
	ctx context.Context,
	name types.NamespacedName,
	desired D,
	observed V,
	why *Suspended,
) (after time.Duration, failed error) {
	if r.kind.Yields == nil {
		return r.resync(), nil
	}
	plan := r.kind.Yields(desired, observed)
	plan.Done = false
	if does := plan.does(); len(does) > 0 {
		why.Yields = does[0]
		after, failed = r.carryOut(ctx, name, desired, observed, plan)
		if failed != nil {
			why.Yields += ": " + failed.Error()
		}
		return max(r.kind.RequeueAfter.Steps, min(after, r.kind.RequeueAfter.Progress)), failed
	}
	if plan.Outcome.Progress == conditions.Working {
		return r.kind.RequeueAfter.Progress, nil
	}
	return r.resync(), nil
}

// begin says why nothing is done with an object; empty when something may be. Then it has the finalizer, or it goes.
func (r *Reconciler[O, D, V]) begin(ctx context.Context, object O) (why string, goes bool, err error) {
	if why, err = r.suspended(ctx, object); err != nil {
		return why, false, err
	}
	switch {
	case why == "":
		goes, err = r.enter(ctx, object)
	case r.kind.KeepsOn && controllerutil.ContainsFinalizer(object, r.kind.Finalizer):
		// The finalizer stays also where its Topology declares an object that is being deleted: the rest of it waits, and
		// needs what this kind keeps.
		why = ""
	}
	return why, goes, err
}

// suspended says why nothing is done with an object; empty when something may be.
func (r *Reconciler[O, D, V]) suspended(ctx context.Context, object O) (string, error) {
	if why, err := Suspension(ctx, r.hub, object); err != nil || why != "" || r.kind.Rests == nil {
		return why, err
	}
	return r.kind.Rests(ctx, object)
}

// enter puts the finalizer on an object, or takes it from one that is being deleted and stays where it is.
func (r *Reconciler[O, D, V]) enter(ctx context.Context, object O) (goes bool, err error) {
	if object.GetDeletionTimestamp() == nil {
		return false, SetFinalizer(ctx, r.hub, object, r.kind.Finalizer, true)
	}
	if r.kind.Stays == nil {
		return false, nil
	}
	why, err := r.kind.Stays(ctx, object)
	if err != nil {
		return false, fmt.Errorf("find out whether %s %s is declared still: %w", r.kind.Name,
			client.ObjectKeyFromObject(object), err)
	}
	if why == "" {
		return false, nil
	}
	log.FromContext(ctx).Info("the object goes, and what it stands for stays", "reason", why)
	return true, r.release(ctx, object)
}

// decide finds out what an object asks for and what is there, and plans.
func (r *Reconciler[O, D, V]) decide(ctx context.Context, object O) (desired D, observed V, plan Plan, err error) {
	desired, err = r.kind.Desire(ctx, object)
	if err != nil && r.kind.Unresolved != nil {
		return desired, observed, r.kind.Unresolved(object, err), nil
	}
	if err == nil {
		observed, err = r.kind.Observe(ctx, desired)
	}
	if err != nil {
		return desired, observed, Plan{}, err
	}
	if object.GetDeletionTimestamp() != nil {
		return desired, observed, r.kind.PlanDelete(desired, observed), nil
	}
	return desired, observed, r.kind.Plan(desired, observed), nil
}

// release takes the finalizer away: the object is gone for this controller.
func (r *Reconciler[O, D, V]) release(ctx context.Context, object O) error {
	err := SetFinalizer(ctx, r.hub, object, r.kind.Finalizer, false)
	if err == nil {
		r.gone(client.ObjectKeyFromObject(object))
	}
	return err
}

func (r *Reconciler[O, D, V]) gone(name types.NamespacedName) {
	r.backoff.Forget(name)
	r.repeats.forget(name)
	if r.kind.Gone != nil {
		r.kind.Gone(name)
	}
}

// next is when to look again.
func (r *Reconciler[O, D, V]) next(desired D, observed V, p Plan) time.Duration {
	after := r.kind.RequeueAfter
	switch {
	case len(p.Steps)+len(p.Aside) > 0:
		return after.Steps
	case p.Outcome.Progress == conditions.Working, r.kind.Soon != nil && r.kind.Soon(desired, observed):
		return after.Progress
	case p.Outcome.Progress == conditions.Stuck && after.Stalled > 0:
		return after.Stalled
	}
	return r.resync()
}

// resync is when to look again at what is as it should be, or left alone.
func (r *Reconciler[O, D, V]) resync() time.Duration {
	after := r.kind.RequeueAfter.Resync
	return after + time.Duration(rand.Int64N(int64(after/4)))
}
