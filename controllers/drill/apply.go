// SPDX-License-Identifier: Apache-2.0

package drill

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/drill/fault"
	"geosql.dev/operator/internal/drill/probe"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/tsql"
	"geosql.dev/operator/internal/workload"
)

// results are what was done, and what came of it.
type results struct {
	// objectErr is why an object of a fault could not be created or taken away.
	objectErr map[objectKey]error
	// injected is when the first part of a fault was done, by its name; frozen why an engine could not be stopped.
	injected map[string]time.Time
	// begun is when that was known to be done.
	begun  map[string]time.Time
	frozen map[string]error
	// after is the greatest Id that was there before the clients began; nil unless their tables were made.
	after *int64
	// sold is how many of each book had been sold then; nil where the workload has no store.
	sold *string
	// judged is the end of the run; nil unless it was judged.
	judged *judged
}

func newResults() *results {
	return &results{objectErr: map[objectKey]error{}, injected: map[string]time.Time{}, begun: map[string]time.Time{},
		frozen: map[string]error{}}
}

// apply carries out the steps, and leaves in the observation what came of them.
func (r *Reconciler) apply(ctx context.Context, _ Desired, w *Observed, p reconcile.Plan) (err error) {
	w.done, err = r.carryOut(ctx, w, p.Steps)
	return err
}

// carryOut carries out steps. What goes wrong with a fault is noted and keeps nothing else from being done: a fault at
// another site has to be taken back whatever happens at this one. So is what is left of a drill.
func (r *Reconciler) carryOut(ctx context.Context, w *Observed, steps []reconcile.Step) (*results, error) {
	var left []error
	done := newResults()
	err := reconcile.InOrder(ctx, steps, func(ctx context.Context, step reconcile.Step) error {
		switch s := step.(type) {
		case RememberRun:
			return r.rememberRun(ctx, w, s.Site)
		case MakeSecret:
			password, err := credentials.NewPassword()
			if err != nil {
				return err
			}
			return client.IgnoreAlreadyExists(r.direct.Create(ctx, secret(w.drill, &w.drill.Status, password)))
		case MakeLogin:
			return client.IgnoreAlreadyExists(r.direct.Create(ctx, login(w.drill, &w.drill.Status, w.target)))
		case PrepareTables:
			return r.prepareTables(ctx, w, done)
		case StartClients:
			return r.startClients(ctx, w, s.Site)
		case MakeReadersLogin:
			return r.makeReadersLogin(ctx, w)
		case StartReader:
			return r.startReader(ctx, w, s.Server)
		case Inject:
			return r.inject(ctx, w, s, done)
		case Freeze:
			return r.freeze(ctx, w, s, done)
		case Thaw:
			if _, err := r.inServer(ctx, w, s.Server, askTimeout, "drill", "thaw"); err != nil && !s.BestEffort {
				return err
			}
			return nil
		case RemoveObject:
			done.objectErr[keyOf(s.Object)] = r.removeObject(ctx, w, s.Object)
			return nil
		case Remove:
			if err := r.remove(ctx, w, s.Site, s.Object); err != nil {
				left = append(left, fmt.Errorf("%s: %w", s.Describe(), err))
			}
			return nil
		case Gather:
			j, err := r.gather(ctx, w)
			done.judged = j
			return err
		}
		return fmt.Errorf("step %T is not known", step)
	})
	return done, errors.Join(append(left, err)...)
}

// prepareTables works on the primary, and lets the clients' login see the group on every replica.
func (r *Reconciler) prepareTables(ctx context.Context, w *Observed, done *results) error {
	for _, name := range w.target.data {
		master, err := r.connector.Open(
			ctx,
			mssql.Target{Namespace: w.drill.Namespace, Server: name, Role: credentials.RoleSA},
		)
		if err != nil {
			return err
		}
		for _, permission := range []tsql.ServerPermission{tsql.ViewAnyDefinition, tsql.ViewServerState} {
			if err := master.Exec(ctx, tsql.GrantServerPermission(permission,
				loginName(w.drill)).Because("clients tell in which term they were served")); err != nil {
				return err
			}
		}
	}
	primary := w.target.publisher
	if w.target.group != nil {
		var ok bool
		if primary, ok = w.resolved.Roles[v1alpha1.RolePrimary]; !ok {
			return errors.New("nobody is primary now")
		}
	}
	db, err := r.connector.Open(
		ctx,
		mssql.Target{
			Namespace: w.drill.Namespace,
			Server:    primary,
			Database:  w.drill.Status.Database,
			Role:      credentials.RoleSA,
		},
	)
	if err != nil {
		return err
	}
	for _, s := range workload.PrepareStatements(profile(w.drill), w.target.payload(w.drill.Spec.Workload).Table,
		registers) {
		if err := db.Exec(ctx, s); err != nil {
			return err
		}
	}
	var greatest int64
	if err := db.Query(ctx, tsql.GreatestRecorded(),
		func(row mssql.Row) error { return row.Scan(&greatest) }); err != nil {
		return err
	}
	sold, err := workload.ReadSold(ctx, db, profile(w.drill))
	if err != nil {
		return err
	}
	done.after, done.sold = &greatest, sold
	return nil
}

// startClients starts a site's clients.
func (r *Reconciler) startClients(ctx context.Context, w *Observed, site v1alpha1.SiteName) error {
	return r.startPod(ctx, w, site, clientPod(w.drill, &w.drill.Status, w.target, site, r.image))
}

// startPod starts a pod of the run at a site. One that is left of a former run has to go first.
func (r *Reconciler) startPod(ctx context.Context, w *Observed, site v1alpha1.SiteName, pod *corev1.Pod) error {
	member := w.members[site]
	if member == nil {
		return w.unusable(site)
	}
	err := member.Client.Create(ctx, pod)
	if !apierrors.IsAlreadyExists(err) {
		return err
	}
	var there corev1.Pod
	if err := member.APIReader.Get(ctx, client.ObjectKeyFromObject(pod), &there); err != nil {
		return client.IgnoreNotFound(err)
	}
	switch {
	case there.Labels[v1alpha1.LabelDrill] != w.drill.Name || there.Labels[v1alpha1.LabelManagedBy] != v1alpha1.ManagedBy:
		return fmt.Errorf(
			"a pod %s that is not the drill's is at site %s: rename the drill or remove the pod",
			pod.Name,
			site,
		)
	case there.Labels[v1alpha1.LabelDrillRun] != w.drill.Status.RunID:
		return reconcile.Remove(ctx, member.Client, &there, client.GracePeriodSeconds(0))
	}
	return nil
}

// inject creates the objects of a fault. When the first is there, the fault has begun.
func (r *Reconciler) inject(ctx context.Context, w *Observed, s Inject, done *results) error {
	for _, o := range s.Objects {
		began := r.now()
		err := r.create(ctx, w, o)
		done.objectErr[objectKey{string(o.Site), o.GetKind(), o.GetName()}] = err
		if _, set := done.injected[s.Fault]; err == nil && !set {
			done.injected[s.Fault], done.begun[s.Fault] = began, r.now()
		}
	}
	return nil
}

func (r *Reconciler) create(ctx context.Context, w *Observed, o fault.Object) error {
	ctx, cancel := context.WithTimeout(ctx, siteTimeout)
	defer cancel()
	writer, reader := r.direct, client.Reader(r.direct)
	object := o.DeepCopy()
	if o.Site == "" {
		object.SetOwnerReferences(owned(w.drill))
	} else {
		member := w.members[o.Site]
		if member == nil {
			return w.unusable(o.Site)
		}
		writer, reader = member.Client, member.APIReader
	}
	err := writer.Create(ctx, object, strictly)
	switch {
	case meta.IsNoMatchError(err), apierrors.IsNotFound(err):
		return fmt.Errorf("site %s does not know %s: is Chaos Mesh installed there?", o.Site, o.GetKind())
	case apierrors.IsAlreadyExists(err):
		return ours(ctx, reader, o)
	case err != nil:
		return fmt.Errorf("create %s %s at %s: %w", o.GetKind(), o.GetName(), cmp.Or(string(o.Site), "the hub"), err)
	}
	return nil
}

// ours says whether an object that is there already is the run's own: names of two drills' runs may be the same, and
// what is being deleted breaks nothing any more.
func ours(ctx context.Context, reader client.Reader, o fault.Object) error {
	there := &unstructured.Unstructured{}
	there.SetGroupVersionKind(o.GroupVersionKind())
	if err := reader.Get(ctx, client.ObjectKeyFromObject(o.Unstructured), there); err != nil {
		return fmt.Errorf(
			"read %s %s at %s, which is there already: %w",
			o.GetKind(),
			o.GetName(),
			cmp.Or(string(o.Site), "the hub"),
			err,
		)
	}
	for _, label := range []string{v1alpha1.LabelDrill, v1alpha1.LabelDrillRun} {
		if there.GetLabels()[label] != o.GetLabels()[label] {
			return fmt.Errorf(
				"%s %s at %s is not this run's: change runID, so that its objects have other names",
				o.GetKind(),
				o.GetName(),
				cmp.Or(string(o.Site), "the hub"),
			)
		}
	}
	if there.GetDeletionTimestamp() != nil {
		return fmt.Errorf("%s %s at %s is being deleted", o.GetKind(), o.GetName(), cmp.Or(string(o.Site), "the hub"))
	}
	return nil
}

// freeze stops the engines. The process that ends it is in their pods before they stop, and is the mark by which a
// freeze that was done and never noted, since its answer was lost or the manager ended, is not done again.
func (r *Reconciler) freeze(ctx context.Context, w *Observed, s Freeze, done *results) error {
	mark := fmt.Sprintf("%s/%s/%s", w.drill.UID, w.drill.Status.RunID, s.Fault)
	keep := s.For + injectWithin + freezeMargin // nobody asks for it later than that
	for _, server := range s.Servers {
		began := r.now()
		out, err := r.inServer(ctx, w, server, askTimeout, "drill", "freeze", "--for", s.For.String(),
			"--mark", mark, "--keep", keep.String())
		var f probe.Frozen
		if err == nil {
			err = json.Unmarshal(out, &f)
		}
		if err != nil {
			done.frozen[s.Fault] = fmt.Errorf("freeze the engine of %s: %w", server, err)
			return nil
		}
		by := r.now()
		if f.Before != nil {
			began, by = began.Add(-*f.Before), by.Add(-*f.Before)
		}
		if first, set := done.injected[s.Fault]; !set || began.Before(first) {
			done.injected[s.Fault], done.begun[s.Fault] = began, by
		}
	}
	return nil
}

// removeObject deletes an object of a fault; Chaos Mesh's finalizers see to it that the fault is gone before it is.
func (r *Reconciler) removeObject(ctx context.Context, w *Observed, o v1alpha1.FaultObject) error {
	u := &unstructured.Unstructured{}
	u.SetAPIVersion(o.APIVersion)
	u.SetKind(o.Kind)
	u.SetNamespace(o.Namespace)
	u.SetName(o.Name)
	return r.remove(ctx, w, v1alpha1.SiteName(o.Site), u)
}

func (r *Reconciler) remove(ctx context.Context, w *Observed, site v1alpha1.SiteName, obj client.Object) error {
	ctx, cancel := context.WithTimeout(ctx, siteTimeout)
	defer cancel()
	var reader client.Reader = r.direct
	writer := r.direct
	if site != "" {
		member := w.members[site]
		if member == nil {
			return w.unusable(site)
		}
		reader, writer = member.APIReader, member.Client
	}
	if obj.GetUID() == "" {
		// The status has its name alone.
		err := reader.Get(ctx, client.ObjectKeyFromObject(obj), obj)
		switch {
		case apierrors.IsNotFound(err), meta.IsNoMatchError(err):
			return nil
		case err != nil:
			return err
		case obj.GetLabels()[v1alpha1.LabelDrill] != w.drill.Name:
			// Somebody else's has taken its name: the drill's is gone.
			return nil
		}
	}
	return reconcile.Remove(ctx, writer, obj)
}

// timeLeft is how long the reconciliation may yet take.
func timeLeft(ctx context.Context, most time.Duration) time.Duration {
	deadline, ok := ctx.Deadline()
	if !ok {
		return most
	}
	return min(most, time.Until(deadline))
}
