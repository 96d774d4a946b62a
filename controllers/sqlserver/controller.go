// SPDX-License-Identifier: Apache-2.0

// Package sqlserver makes a SQLServer object a running engine at its site: credentials and certificate, volumes, the pod
// on a node where all its volumes can live, logins with least privilege, and a status that says what is so and why.
package sqlserver

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
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
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/sites"
)

const (
	// reconcileTimeout bounds one reconciliation, all remote calls together.
	reconcileTimeout = time.Minute
	// lookAgain is when a server that is as it should be is looked at again; engines tell nobody of their changes.
	lookAgain = 30 * time.Second
	// lookStuck is when a server that needs a person is looked at again: what that person does (a node uncordoned, a class
	// made) is not always watched.
	lookStuck = 10 * time.Second
	// lookSoon is when a server that is being worked on is looked at again.
	lookSoon = 2 * time.Second
	// settleTime is how long a new process waits for its first answer of a site before it says that there is none.
	settleTime = 15 * time.Second
	// workers are servers reconciled at the same time: most of the time is spent waiting for far sites.
	workers = 8
)

// Options of the controller.
type Options struct {
	// Sites reaches the member clusters.
	Sites *sites.Provider
	// Connector connects to servers.
	Connector *mssql.Connector
	// Namespace of the operator, where its CA is.
	Namespace string
	// AgentImage is the image of the sidecar, the operator's own.
	AgentImage string
}

// Reconciler of SQLServers.
type Reconciler struct {
	sites      *sites.Provider
	connector  *mssql.Connector
	namespace  string
	agentImage string

	hub client.Client
	// secrets reads the hub's Secrets from the API server.
	secrets client.Reader
	events  events.EventRecorder
	now     func() time.Time
	// began is when the first server was looked at.
	begin sync.Once
	began time.Time
}

// SetupWithManager adds the controller to the manager.
//
// +kubebuilder:rbac:groups=geosql.dev,resources=sqlservers,verbs=get;list;watch;patch;update
// +kubebuilder:rbac:groups=geosql.dev,resources=sqlservers/status,verbs=get;patch
// +kubebuilder:rbac:groups=geosql.dev,resources=availabilitygroups;distributors;publications;subscriptions,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get;create;patch;delete
func SetupWithManager(mgr mcmanager.Manager, o Options) error {
	if o.AgentImage == "" {
		return errors.New("the operator's image is not known: set OPERATOR_IMAGE or --image")
	}
	local := mgr.GetLocalManager()
	r := &Reconciler{
		sites: o.Sites, connector: o.Connector, namespace: o.Namespace, agentImage: o.AgentImage,
		hub: local.GetClient(), secrets: local.GetAPIReader(), events: local.GetEventRecorder("sqlserver"), now: time.Now,
	}
	hubOnly := []mcbuilder.EngageOptions{mcbuilder.WithEngageWithLocalCluster(true), mcbuilder.WithEngageWithProviderClusters(false)}
	builder := mcbuilder.ControllerManagedBy(mgr).Named("sqlserver").
		For(&v1alpha1.SQLServer{}, hubOnly[0], hubOnly[1], mcbuilder.WithPredicates(predicate.Or(
			predicate.GenerationChangedPredicate{}, predicate.LabelChangedPredicate{}, namesChanged()))).
		WithOptions(controller.TypedOptions[mcreconcile.Request]{MaxConcurrentReconciles: workers}).
		WatchesRawSource(o.Sites.Watch(r.serversAt))
	for _, obj := range []client.Object{&v1alpha1.AvailabilityGroup{}, &v1alpha1.Distributor{}, &v1alpha1.Publication{}, &v1alpha1.Subscription{}} {
		builder = builder.Watches(obj, sites.EnqueueHub(r.serversNear), hubOnly[0], hubOnly[1],
			mcbuilder.WithPredicates(predicate.GenerationChangedPredicate{}))
	}
	for _, obj := range []client.Object{&appsv1.StatefulSet{}, &corev1.Pod{}, &corev1.PersistentVolumeClaim{}, &corev1.Secret{}, &corev1.ConfigMap{}} {
		builder = builder.Watches(obj, sites.EnqueueOwner(v1alpha1.LabelServer))
	}
	return builder.Complete(r)
}

// serversAt are the servers of a site.
func (r *Reconciler) serversAt(ctx context.Context, site v1alpha1.SiteName) []types.NamespacedName {
	return r.servers(ctx, "", func(s *v1alpha1.SQLServer) bool { return s.Spec.Site == site })
}

// serversNear are the servers of an object's namespace.
func (r *Reconciler) serversNear(ctx context.Context, _ v1alpha1.SiteName, obj client.Object) []types.NamespacedName {
	return r.servers(ctx, obj.GetNamespace(), func(*v1alpha1.SQLServer) bool { return true })
}

func (r *Reconciler) servers(ctx context.Context, namespace string, want func(*v1alpha1.SQLServer) bool) []types.NamespacedName {
	var list v1alpha1.SQLServerList
	if err := r.hub.List(ctx, &list, client.InNamespace(namespace)); err != nil {
		r.log(ctx).Error(err, "list the SQLServers of the hub")
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

// Reconcile brings one server a step nearer to what is declared.
func (r *Reconciler) Reconcile(ctx context.Context, request mcreconcile.Request) (ctrl.Result, error) {
	ctx, cancel := context.WithTimeout(ctx, reconcileTimeout)
	defer cancel()
	var server v1alpha1.SQLServer
	if err := r.hub.Get(ctx, request.NamespacedName, &server); err != nil {
		if apierrors.IsNotFound(err) {
			r.connector.Forget(request.Namespace, v1alpha1.ServerName(request.Name))
			unmeasure(request.Namespace, request.Name)
			return ctrl.Result{}, nil
		}
		return ctrl.Result{}, fmt.Errorf("read SQLServer %s: %w", request.NamespacedName, err)
	}
	if server.DeletionTimestamp != nil {
		return r.finalize(ctx, &server)
	}
	if !controllerutil.ContainsFinalizer(&server, v1alpha1.Finalizer) {
		if err := r.setFinalizer(ctx, &server, true); err != nil {
			return ctrl.Result{}, err
		}
	}
	w, err := r.observe(ctx, &server)
	if err != nil {
		return ctrl.Result{}, err
	}
	if r.settling(w.observed.Site) {
		return ctrl.Result{RequeueAfter: lookSoon / 2}, nil
	}
	p := plan(w.desired, w.observed)
	failed := r.apply(ctx, w, p.Steps)
	if err := r.report(ctx, w, p, failed); err != nil {
		return ctrl.Result{}, errors.Join(failed, err)
	}
	if failed != nil {
		return ctrl.Result{}, failed
	}
	return ctrl.Result{RequeueAfter: next(p)}, nil
}

// settling tells that the site may only be unknown because this process has just begun to reach for the sites: what was
// reported before stays for that while, so that a restarted manager does not call every server into doubt.
func (r *Reconciler) settling(site error) bool {
	r.begin.Do(func() { r.began = r.now() })
	if site == nil || r.now().Sub(r.began) > settleTime {
		return false
	}
	var silent *sites.UnreachableError
	return errors.Is(site, sites.ErrUnknownSite) || errors.As(site, &silent) && silent.Since.IsZero()
}

// next is when to look again when nothing else asks for it.
func next(p Plan) time.Duration {
	if len(p.Steps) > 0 {
		return lookSoon / 4
	}
	switch p.Outcome.Progress {
	case conditions.Working:
		return lookSoon
	case conditions.Stuck:
		return lookStuck
	}
	return lookAgain + time.Duration(rand.Int64N(int64(lookAgain/4)))
}

func (r *Reconciler) setFinalizer(ctx context.Context, server *v1alpha1.SQLServer, on bool) error {
	before := client.MergeFromWithOptions(server.DeepCopy(), client.MergeFromWithOptimisticLock{})
	if on {
		controllerutil.AddFinalizer(server, v1alpha1.Finalizer)
	} else {
		controllerutil.RemoveFinalizer(server, v1alpha1.Finalizer)
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	if err := r.hub.Patch(ctx, server, before); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("write the finalizer of SQLServer %s/%s: %w", server.Namespace, server.Name, err)
	}
	return nil
}
