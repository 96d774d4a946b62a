// SPDX-License-Identifier: Apache-2.0

package availabilitygroup

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	mcbuilder "sigs.k8s.io/multicluster-runtime/pkg/builder"
	mcmanager "sigs.k8s.io/multicluster-runtime/pkg/manager"
	mcreconcile "sigs.k8s.io/multicluster-runtime/pkg/reconcile"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/conditions"
	"geosql.dev/operator/internal/election"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/sites"
)

const (
	// reconcileTimeout bounds one reconciliation; a first backup may be among its steps.
	reconcileTimeout = backupTimeout + 2*time.Minute
	// lookAgain is when a group that is as it should be is looked at again: engines tell nobody of their roles, and the
	// listener follows what is seen here.
	lookAgain = 5 * time.Second
	// lookSoon is when a group that is being worked on is looked at again.
	lookSoon = time.Second
	// workers are groups reconciled at the same time: most of the time is spent waiting for far engines.
	workers = 8
)

// Options of the controller.
type Options struct {
	// Sites reaches the member clusters.
	Sites *sites.Provider
	// Connector connects to servers.
	Connector *mssql.Connector
	// Timings of the votes; election.DefaultTimings unless given. The agents have the same.
	Timings election.Timings
}

// Reconciler of AvailabilityGroups.
type Reconciler struct {
	sites     *sites.Provider
	connector *mssql.Connector
	timings   election.Timings

	hub client.Client
	// secrets reads the hub's Secrets from the API server.
	secrets client.Reader
	events  events.EventRecorder
	now     func() time.Time
}

// SetupWithManager adds the controller to the manager.
//
// +kubebuilder:rbac:groups=geosql.dev,resources=availabilitygroups,verbs=get;list;watch;patch;update
// +kubebuilder:rbac:groups=geosql.dev,resources=availabilitygroups/status,verbs=get;patch
// +kubebuilder:rbac:groups=geosql.dev,resources=sqlservers,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get
func SetupWithManager(mgr mcmanager.Manager, o Options) error {
	if o.Timings == (election.Timings{}) {
		o.Timings = election.DefaultTimings()
	}
	if err := o.Timings.Check(); err != nil {
		return fmt.Errorf("timings of the votes: %w", err)
	}
	local := mgr.GetLocalManager()
	r := &Reconciler{
		sites: o.Sites, connector: o.Connector, timings: o.Timings,
		hub: local.GetClient(), secrets: local.GetAPIReader(), events: local.GetEventRecorder("availabilitygroup"), now: time.Now,
	}
	hubOnly := []mcbuilder.EngageOptions{mcbuilder.WithEngageWithLocalCluster(true), mcbuilder.WithEngageWithProviderClusters(false)}
	return mcbuilder.ControllerManagedBy(mgr).Named("availabilitygroup").
		For(&v1alpha1.AvailabilityGroup{}, hubOnly[0], hubOnly[1], mcbuilder.WithPredicates(predicate.Or(
			predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{}))).
		WithOptions(controller.TypedOptions[mcreconcile.Request]{MaxConcurrentReconciles: workers}).
		Watches(&v1alpha1.SQLServer{}, sites.EnqueueHub(r.groupsOfServer), hubOnly[0], hubOnly[1],
			mcbuilder.WithPredicates(predicate.GenerationChangedPredicate{})).
		// Readiness is looked at every second while it is waited for. A pod that comes or goes changes who is primary, sooner or later.
		Watches(&corev1.Pod{}, sites.EnqueueHub(r.groupsOfPod)).
		Watches(&corev1.Service{}, sites.EnqueueOwner(v1alpha1.LabelGroup)).
		WatchesRawSource(o.Sites.Watch(func(ctx context.Context, _ v1alpha1.SiteName) []types.NamespacedName {
			return r.groups(ctx, "", func(*v1alpha1.AvailabilityGroup) bool { return true })
		})).
		Complete(r)
}

func (r *Reconciler) groupsOfServer(ctx context.Context, _ v1alpha1.SiteName, obj client.Object) []types.NamespacedName {
	return r.groupsWith(ctx, obj.GetNamespace(), obj.GetName())
}

func (r *Reconciler) groupsOfPod(ctx context.Context, _ v1alpha1.SiteName, obj client.Object) []types.NamespacedName {
	labels := obj.GetLabels()
	if labels[v1alpha1.LabelNamespace] == "" || labels[v1alpha1.LabelServer] == "" {
		return nil
	}
	return r.groupsWith(ctx, labels[v1alpha1.LabelNamespace], labels[v1alpha1.LabelServer])
}

func (r *Reconciler) groupsWith(ctx context.Context, namespace, server string) []types.NamespacedName {
	return r.groups(ctx, namespace, func(g *v1alpha1.AvailabilityGroup) bool {
		return slices.ContainsFunc(g.Spec.Replicas, func(p v1alpha1.Replica) bool { return string(p.Server) == server })
	})
}

func (r *Reconciler) groups(ctx context.Context, namespace string, want func(*v1alpha1.AvailabilityGroup) bool) []types.NamespacedName {
	var list v1alpha1.AvailabilityGroupList
	if err := r.hub.List(ctx, &list, client.InNamespace(namespace)); err != nil {
		r.log(ctx).Error(err, "list the AvailabilityGroups of the hub")
		return nil
	}
	var names []types.NamespacedName
	for i := range list.Items {
		if want(&list.Items[i]) {
			names = append(names, client.ObjectKeyFromObject(&list.Items[i]))
		}
	}
	return names
}

func (r *Reconciler) log(ctx context.Context) logr.Logger { return log.FromContext(ctx) }

// Reconcile brings one group a step nearer to what is declared.
func (r *Reconciler) Reconcile(ctx context.Context, request mcreconcile.Request) (ctrl.Result, error) {
	ctx, cancel := context.WithTimeout(ctx, reconcileTimeout)
	defer cancel()
	var group v1alpha1.AvailabilityGroup
	if err := r.hub.Get(ctx, request.NamespacedName, &group); err != nil {
		if apierrors.IsNotFound(err) {
			forget(request.Namespace, request.Name)
			return ctrl.Result{}, nil
		}
		return ctrl.Result{}, fmt.Errorf("read AvailabilityGroup %s: %w", request.NamespacedName, err)
	}
	deleting := group.DeletionTimestamp != nil
	if deleting && !controllerutil.ContainsFinalizer(&group, v1alpha1.Finalizer) {
		return ctrl.Result{}, nil
	}
	if !deleting && !controllerutil.ContainsFinalizer(&group, v1alpha1.Finalizer) {
		if err := r.setFinalizer(ctx, &group, true); err != nil {
			return ctrl.Result{}, err
		}
	}
	w, err := r.observe(ctx, &group)
	if err != nil {
		return ctrl.Result{}, err
	}
	p := plan(w.desired, w.observed)
	if deleting {
		p = planDelete(w.desired, w.observed)
	}
	if p.Done {
		return ctrl.Result{}, r.setFinalizer(ctx, &group, false)
	}
	failed := r.apply(ctx, w, p.Steps)
	if err := r.report(ctx, w, p, failed); err != nil {
		return ctrl.Result{}, errors.Join(failed, err)
	}
	if failed != nil {
		r.log(ctx).Info("step failed; it is tried again", "error", failed.Error())
		return ctrl.Result{RequeueAfter: lookSoon + lookSoon}, nil
	}
	return ctrl.Result{RequeueAfter: next(p)}, nil
}

// next is when to look again when nothing else asks for it.
func next(p Plan) time.Duration {
	if len(p.Steps) > 0 || p.Outcome.Progress == conditions.Working {
		return lookSoon
	}
	return lookAgain + time.Duration(rand.Int64N(int64(lookAgain/4)))
}

func (r *Reconciler) setFinalizer(ctx context.Context, group *v1alpha1.AvailabilityGroup, on bool) error {
	before := client.MergeFromWithOptions(group.DeepCopy(), client.MergeFromWithOptimisticLock{})
	if on {
		controllerutil.AddFinalizer(group, v1alpha1.Finalizer)
	} else {
		controllerutil.RemoveFinalizer(group, v1alpha1.Finalizer)
	}
	ctx, cancel := context.WithTimeout(ctx, siteTimeout)
	defer cancel()
	if err := r.hub.Patch(ctx, group, before); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("write the finalizer of AvailabilityGroup %s/%s: %w", group.Namespace, group.Name, err)
	}
	return nil
}
