// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"geosql.dev/operator/api/v1alpha1"
)

// readers are where the world is read from: the manager's cache, and the API server itself. Anybody who reaches the
// webhooks' port can have an object refused, and each refusal reads nine lists: turns bounds how many are read for at
// a time, and server is a client with a limit of its own, so that the controllers have theirs to themselves.
type readers struct {
	cached, server client.Reader
	turns          chan struct{}
}

const (
	// refusals are how many objects the API server's own lists are read for at a time; refusalWait is how long one waits
	// for its turn, less than API servers wait for an answer.
	refusals    = 4
	refusalWait = 5 * time.Second
	// listsPerSecond and listsAtOnce limit the reading of lists for what is refused.
	listsPerSecond, listsAtOnce = 40, 80
)

// newReaders makes them for a manager.
func newReaders(mgr manager.Manager) (readers, error) {
	cfg := rest.CopyConfig(mgr.GetConfig())
	cfg.QPS, cfg.Burst, cfg.RateLimiter = listsPerSecond, listsAtOnce, nil
	server, err := client.New(cfg, client.Options{Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper()})
	if err != nil {
		return readers{}, fmt.Errorf("making the client of the admission webhooks: %w", err)
	}
	return readers{mgr.GetClient(), server, make(chan struct{}, refusals)}, nil
}

// turn waits until the API server may be asked. The end of it must be told.
func (r readers) turn(ctx context.Context) (end func(), err error) {
	select {
	case r.turns <- struct{}{}:
		return func() { <-r.turns }, nil
	case <-time.After(refusalWait):
	case <-ctx.Done():
	}
	return nil, apierrors.NewTooManyRequests("many objects are being refused now: try again", 2)
}

// validator checks objects of one kind against the world.
type validator[T client.Object] struct {
	readers
	kind string
	// check returns what contradicts; old is nil on creation.
	check func(w *World, old, obj T) field.ErrorList
	// spec is what a check depends on: an update that leaves it alone is let through, so that labels, annotations and
	// finalizers of an object can be changed whatever became of others.
	spec func(T) any
	// warn tells of what is let through and may not do what is meant, in the world as it is; nil where there is nothing of
	// the kind.
	warn func(*World, T) admission.Warnings
	// holds says that data hang on objects of the kind: they may have no owner.
	holds bool
}

// ValidateCreate checks a new object.
func (v *validator[T]) ValidateCreate(ctx context.Context, obj T) (admission.Warnings, error) {
	var none T
	if err := v.owners(nil, obj); err != nil {
		return nil, err
	}
	return v.validate(ctx, none, obj)
}

// ValidateUpdate checks a changed object.
func (v *validator[T]) ValidateUpdate(ctx context.Context, old, obj T) (admission.Warnings, error) {
	if err := v.owners(old, obj); err != nil {
		return nil, err
	}
	if obj.GetDeletionTimestamp() != nil {
		return nil, nil
	}
	if equality.Semantic.DeepEqual(v.spec(old), v.spec(obj)) {
		if drillable(old) {
			return nil, nil
		}
		return breakable(v.kind, obj), nil
	}
	return v.validate(ctx, old, obj)
}

// ValidateDelete lets every deletion through: finalizers hold what must wait.
func (v *validator[T]) ValidateDelete(context.Context, T) (admission.Warnings, error) {
	return nil, nil
}

// validate refuses by what the API server itself has: who applies several objects one after the other is ahead of the
// cache. What it warns of may be made already.
func (v *validator[T]) validate(ctx context.Context, old, obj T) (admission.Warnings, error) {
	w, errs, err := v.against(ctx, v.cached, old, obj)
	if err == nil && len(errs) > 0 {
		var end func()
		if end, err = v.turn(ctx); err != nil {
			return nil, err
		}
		defer end()
		w, errs, err = v.against(ctx, v.server, old, obj)
	}
	if err != nil {
		return nil, err
	}
	if len(errs) > 0 {
		return nil, apierrors.NewInvalid(schema.GroupKind{Group: v1alpha1.GroupVersion.Group, Kind: v.kind},
			obj.GetName(), errs)
	}
	warnings := breakable(v.kind, obj)
	if v.warn != nil {
		warnings = append(warnings, v.warn(w, obj)...)
	}
	return warnings, nil
}

// against checks an object against the world as a reader has it.
func (v *validator[T]) against(
	ctx context.Context, from client.Reader, old, obj T,
) (*World, field.ErrorList, error) {
	w, err := load(ctx, from, obj.GetNamespace())
	if err != nil {
		return nil, nil, apierrors.NewInternalError(fmt.Errorf("checking %s %s: %w", v.kind, obj.GetName(), err))
	}
	return w, v.check(w, old, obj), nil
}

// Register adds the webhooks to the manager's server. Each is at /validate-geosql-dev-v1alpha1-KIND.
func Register(mgr manager.Manager) error {
	r, err := newReaders(mgr)
	if err != nil {
		return err
	}
	return firstError(
		add(mgr, &v1alpha1.Site{}, &validator[*v1alpha1.Site]{r, "Site",
			func(w *World, old, o *v1alpha1.Site) field.ErrorList { return w.site(top, old, o) },
			func(o *v1alpha1.Site) any { return o.Spec }, nil, true}),
		add(mgr, &v1alpha1.SQLServer{}, &validator[*v1alpha1.SQLServer]{r, "SQLServer",
			func(w *World, old, o *v1alpha1.SQLServer) field.ErrorList { return w.server(top, old, o) },
			func(o *v1alpha1.SQLServer) any { return o.Spec }, warnServer, true}),
		add(mgr, &v1alpha1.AvailabilityGroup{}, &validator[*v1alpha1.AvailabilityGroup]{r, "AvailabilityGroup",
			func(w *World, old, o *v1alpha1.AvailabilityGroup) field.ErrorList {
				errs := append(w.group(top, o), w.takesOver(top, old, o)...)
				errs = append(errs, w.groupOwners(top, old, o)...)
				errs = append(errs, w.versions(top, old, o)...)
				return append(errs, w.newEditions(top, w, old, o)...)
			},
			func(o *v1alpha1.AvailabilityGroup) any { return o.Spec }, warnGroup, true}),
		add(mgr, &v1alpha1.Distributor{}, &validator[*v1alpha1.Distributor]{r, "Distributor",
			func(w *World, _, o *v1alpha1.Distributor) field.ErrorList { return w.distributor(top, o) },
			func(o *v1alpha1.Distributor) any { return o.Spec }, warnDistributor, true}),
		add(mgr, &v1alpha1.Publication{}, &validator[*v1alpha1.Publication]{r, "Publication",
			func(w *World, old, o *v1alpha1.Publication) field.ErrorList {
				errs := append(w.publication(top, o), w.publishesForItself(top, old, o)...)
				return append(errs, w.lessCopiesOf(top, w, old, o)...)
			},
			func(o *v1alpha1.Publication) any { return o.Spec }, warnPublication, true}),
		add(mgr, &v1alpha1.Subscription{}, &validator[*v1alpha1.Subscription]{r, "Subscription",
			func(w *World, old, o *v1alpha1.Subscription) field.ErrorList {
				errs := append(w.subscription(top, o), w.receivesForItself(top, old, o)...)
				errs = append(append(errs, groupReceives(top, old, o)...), w.lessCopies(top, w, old, o)...)
				return append(errs, w.retyped(top, w, old, o)...)
			},
			func(o *v1alpha1.Subscription) any { return o.Spec }, warnSubscription, true}),
		add(mgr, &v1alpha1.Login{}, &validator[*v1alpha1.Login]{r, "Login",
			func(w *World, old, o *v1alpha1.Login) field.ErrorList {
				return append(w.usesForItself(top, old, o), w.usesAsOwner(top, old, o)...)
			},
			func(o *v1alpha1.Login) any { return o.Spec }, warnLogin, true}),
		add(mgr, &v1alpha1.BackupPolicy{}, &validator[*v1alpha1.BackupPolicy]{r, "BackupPolicy",
			func(w *World, _, o *v1alpha1.BackupPolicy) field.ErrorList {
				return append(backupPolicy(top, o), w.testServer(top, o)...)
			},
			func(o *v1alpha1.BackupPolicy) any { return o.Spec }, warnBackupPolicy, false}),
		add(mgr, &v1alpha1.Restore{}, &validator[*v1alpha1.Restore]{r, "Restore",
			func(w *World, old, o *v1alpha1.Restore) field.ErrorList { return w.restore(top, old, o) },
			func(o *v1alpha1.Restore) any { return o.Spec }, warnRestore, false}),
		add(mgr, &v1alpha1.Topology{}, &validator[*v1alpha1.Topology]{r, "Topology",
			func(w *World, old, o *v1alpha1.Topology) field.ErrorList { return w.topology(top, old, o) },
			func(o *v1alpha1.Topology) any { return o.Spec }, warnTopology, true}),
		add(mgr, &v1alpha1.Failover{}, &validator[*v1alpha1.Failover]{r, "Failover",
			func(w *World, old, o *v1alpha1.Failover) field.ErrorList { return w.failover(top, old, o) },
			func(o *v1alpha1.Failover) any { return o.Spec }, warnFailover, false}),
		add(mgr, &v1alpha1.Drill{}, &validator[*v1alpha1.Drill]{r, "Drill",
			func(w *World, old, o *v1alpha1.Drill) field.ErrorList { return w.drill(top, old, o) },
			func(o *v1alpha1.Drill) any { return o.Spec }, warnDrill, false}),
		add(mgr, &v1alpha1.DrillSchedule{}, &validator[*v1alpha1.DrillSchedule]{r, "DrillSchedule",
			func(w *World, old, o *v1alpha1.DrillSchedule) field.ErrorList { return w.drillSchedule(top, old, o) },
			func(o *v1alpha1.DrillSchedule) any { return o.Spec }, warnDrillSchedule, false}),
	)
}

func add[T client.Object](mgr manager.Manager, obj T, v *validator[T]) error {
	if err := builder.WebhookManagedBy(mgr, obj).WithValidator(v).Complete(); err != nil {
		return fmt.Errorf("adding the admission webhook of %s: %w", v.kind, err)
	}
	return nil
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
