// SPDX-License-Identifier: Apache-2.0

package reconcile

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"sigs.k8s.io/controller-runtime/pkg/log"

	"geosql.dev/operator/internal/reconcile/conditions"
)

// Step is one thing to do. Steps are plain data: a plan is made without a cluster, and printed without being carried
// out.
type Step interface {
	// Describe says what is done and why, without secrets.
	Describe() string
}

// Plan is what to do, and what is so until it is done.
type Plan struct {
	// Steps in order. Steps that the next plans repeat had no effect: they are carried out with growing pauses, and that
	// is reported as WithoutEffect.
	Steps []Step
	// Aside are steps that nothing else depends on: they are carried out before Steps, and one that fails keeps nothing
	// else from being done. A stage that adds one goes on.
	Aside []Aside
	// Outcome holds while the steps remain, or when there are none.
	Outcome conditions.Outcome
	// Done says of a deletion that nothing is left once the steps are carried out: the finalizer goes.
	Done bool
	// Apart says that steps of different places do not depend on each other: a failure ends none elsewhere.
	Apart bool
	// Left is what a finished deletion leaves behind, and where: on servers that do not answer and are not expected back.
	Left []string
	// Note is what else was decided that the report says, in a type of the kind's own; see Noted.
	Note any
}

// Noted is the plan's note, the zero value when it has none.
func Noted[N any](p Plan) N {
	note, _ := p.Note.(N)
	return note
}

// Aside is a step beside the others of a plan.
type Aside struct {
	Step
	// Reason of Ready while the step fails and everything else is as it should be; empty where a condition of the kind's
	// own says that it fails.
	Reason string
}

// Beside adds a step that nothing else depends on.
func (p *Plan) Beside(s Step, reason string) {
	p.Aside = append(p.Aside, Aside{Step: s, Reason: reason})
}

// Add adds a step.
func (p *Plan) Add(s Step) { p.Steps = append(p.Steps, s) }

// Leave notes what a deletion leaves behind, and where.
func (p *Plan) Leave(format string, args ...any) {
	p.Left = append(p.Left, fmt.Sprintf(format, args...))
}

// Settle sets the outcome and ends the planning.
func (p *Plan) Settle(o conditions.Outcome) bool {
	p.Outcome = o
	return false
}

// StopIfSteps ends the planning when there is something to do, and says what is in progress then.
func (p *Plan) StopIfSteps(reason, format string, args ...any) bool {
	if len(p.Steps) == 0 {
		return true
	}
	return p.Settle(conditions.InProgress(reason, fmt.Sprintf(format, args...)))
}

// does are the steps in words.
func (p Plan) does() []string {
	var does []string
	for _, s := range p.All() {
		does = append(does, s.Describe())
	}
	return does
}

// All are the steps in the order in which they are carried out.
func (p Plan) All() []Step {
	var all []Step
	for _, s := range p.Aside {
		all = append(all, s.Step)
	}
	return append(all, p.Steps...)
}

// Stage plans one part, from what is desired and what is observed alone: the same world gives the same plan. It returns
// false, with the outcome set, when the later stages have to wait. P is Plan, or one that embeds it.
type Stage[D, V, P any] func(d D, o V, p *P) bool

// Stages makes a plan stage by stage, up to the first that ends it. The next reconciliation goes on from there, so any
// step can be the last.
func Stages[D, V, P any](d D, o V, stages ...Stage[D, V, P]) P {
	var p P
	Through(&p, d, o, stages...)
	return p
}

// Through goes on with a plan stage by stage, up to the first that ends it; true when none did.
func Through[D, V, P any](p *P, d D, o V, stages ...Stage[D, V, P]) bool {
	for _, plan := range stages {
		if !plan(d, o, p) {
			return false
		}
	}
	return true
}

// InOrder carries out steps one after the other and stops at the first that fails.
func InOrder[S Step](ctx context.Context, steps []S, carryOut func(context.Context, S) error) error {
	for _, step := range steps {
		log.FromContext(ctx).Info("step", "step", step.Describe())
		err := refused(step)
		if err == nil {
			err = carryOut(ctx, step)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", step.Describe(), err)
		}
	}
	return nil
}

// AsideFailed is the failure of steps that nothing else depends on: everything else was carried out.
type AsideFailed struct {
	// Reason is that of the first of them.
	Reason string
	Err    error
}

// Error says what failed.
func (e *AsideFailed) Error() string { return e.Err.Error() }

// Unwrap gives what failed.
func (e *AsideFailed) Unwrap() error { return e.Err }

// WithAside carries out a plan's steps beside the others, each by itself, then the others by rest. Only where nothing
// else failed is the failure an AsideFailed.
func WithAside(ctx context.Context, p Plan, carryOut func(context.Context, Step) error, rest func() error) error {
	var failed *AsideFailed
	for _, s := range p.Aside {
		if err := InOrder(ctx, []Step{s.Step}, carryOut); err != nil {
			if failed == nil {
				failed = &AsideFailed{Reason: s.Reason}
			}
			failed.Err = errors.Join(failed.Err, err)
		}
	}
	err := rest()
	switch {
	case failed == nil:
		return err
	case err == nil:
		return failed
	}
	return fmt.Errorf("%w; and beside it: %s", err, failed.Error())
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
