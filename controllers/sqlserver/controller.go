// SPDX-License-Identifier: Apache-2.0

// Package sqlserver makes a SQLServer object a running engine at its site: credentials and certificate, volumes, the
// pod on a node where all its volumes can live, logins with least privilege, and a status that says what is so and why.
package sqlserver

import (
	"context"
	"errors"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	mcmanager "sigs.k8s.io/multicluster-runtime/pkg/manager"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/link"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/sites"
	"geosql.dev/operator/internal/topology"
)

const (
	// reconcileTimeout bounds one reconciliation, all remote calls together.
	reconcileTimeout = time.Minute
	// lookAgain is when a server that is as it should be is looked at again; engines tell nobody of their changes.
	lookAgain = 30 * time.Second
	// lookStuck is when a server that needs a person is looked at again: what that person does (a node uncordoned, a class
	// made) is not always watched.
	lookStuck = 10 * time.Second
	// lookSoon is when a server that is being worked on is looked at again; lookStep after steps.
	lookSoon = 2 * time.Second
	lookStep = 500 * time.Millisecond
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
	// HubClock compares the manager's clock with the hub's; nil when nobody does.
	HubClock *sites.Clock
	// Heard takes what agents measure of links; nil when nobody asks for it.
	Heard *link.Heard
}

// Reconciler of SQLServers.
type Reconciler struct {
	sites      *sites.Provider
	connector  *mssql.Connector
	namespace  string
	agentImage string
	hubClock   *sites.Clock
	heard      *link.Heard

	hub client.Client
	// secrets reads the hub's Secrets from the API server.
	secrets  client.Reader
	reporter reconcile.Reporter
	now      func() time.Time
	settling sites.Settling
}

// SetupWithManager adds the controller to the manager.
//
// +kubebuilder:rbac:groups=geosql.dev,resources=sqlservers,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=geosql.dev,resources=sqlservers/status,verbs=patch
// +kubebuilder:rbac:groups=geosql.dev,resources=availabilitygroups,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=geosql.dev,resources=distributors;publications;publishermoves;subscriptions,verbs=get;list;watch
// +kubebuilder:rbac:groups=geosql.dev,resources=logins,verbs=get;list;watch
// +kubebuilder:rbac:groups=geosql.dev,resources=restores,verbs=get;list;watch;create
// +kubebuilder:rbac:groups=geosql.dev,resources=failovers,verbs=get;create
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get;create;patch;delete
func SetupWithManager(mgr mcmanager.Manager, o Options) error {
	if o.AgentImage == "" {
		return errors.New("the operator's image is not known: set OPERATOR_IMAGE or --image")
	}
	local := mgr.GetLocalManager()
	r := &Reconciler{
		sites: o.Sites, connector: o.Connector, namespace: o.Namespace, agentImage: o.AgentImage,
		hubClock: o.HubClock, heard: o.Heard,
		hub: local.GetClient(), secrets: local.GetAPIReader(), now: time.Now,
		reporter: reconcile.Reporter{
			Hub:    local.GetClient(),
			Events: local.GetEventRecorder("sqlserver"),
			Owner:  statusOwner,
			Own:    ownConditions,
		},
	}
	frame := reconcile.New(r.hub, reconcile.Kind[*v1alpha1.SQLServer, Desired, Observed]{
		Name: "SQLServer", New: func() *v1alpha1.SQLServer { return &v1alpha1.SQLServer{} },
		Finalizer: v1alpha1.Finalizer, Timeout: reconcileTimeout,
		RequeueAfter: reconcile.RequeueAfter{Steps: lookStep, Progress: lookSoon, Stalled: lookStuck, Resync: lookAgain},
		Desire:       r.desire, Observe: r.observe, Plan: plan, Apply: r.apply, Report: r.report,
		PlanDelete: func(d Desired, o Observed) reconcile.Plan { return planDelete(d, o.left) },
		Stays:      reconcile.WhileDeclared[*v1alpha1.SQLServer](local.GetAPIReader(), topology.Declares),
		// A turn comes when another server has ended its own, which nobody tells.
		Soon: awaitsTurn,
		Gone: func(name types.NamespacedName) {
			r.connector.Forget(name.Namespace, v1alpha1.ServerName(name.Name))
			r.connector.Reread(name.Namespace, v1alpha1.ServerName(name.Name))
			r.heard.Forget(name)
		},
	})
	builder := reconcile.Controller(mgr, "sqlserver", &v1alpha1.SQLServer{}, reconcile.AsConfigured, predicate.Or(
		predicate.GenerationChangedPredicate{}, predicate.LabelChangedPredicate{}, beside())).
		WatchesRawSource(o.Sites.Watch(r.serversAt))
	builder = reconcile.WatchHub(
		builder,
		sites.EnqueueHub(r.serversNear),
		&v1alpha1.AvailabilityGroup{},
		&v1alpha1.Distributor{},
		&v1alpha1.Publication{},
		&v1alpha1.Subscription{},
		&v1alpha1.PublisherMove{},
		&v1alpha1.BackupStore{},
	)
	for _, obj := range []client.Object{&appsv1.StatefulSet{}, &corev1.Pod{}, &corev1.PersistentVolumeClaim{},
		&corev1.Secret{}, &corev1.ConfigMap{}} {
		builder = builder.Watches(obj, sites.EnqueueOwner(v1alpha1.LabelServer))
	}
	builder = builder.Watches(&corev1.Node{}, sites.EnqueueHub(r.serversOn))
	return builder.Complete(frame)
}

// serversAt are the servers of a site.
func (r *Reconciler) serversAt(ctx context.Context, site v1alpha1.SiteName) []types.NamespacedName {
	return reconcile.Keys(
		ctx,
		r.hub,
		&v1alpha1.SQLServerList{},
		"",
		func(s *v1alpha1.SQLServer) bool { return s.Spec.Site == site },
	)
}

// serversOn are the servers whose pods run on a node of a site: it may have been cordoned.
func (r *Reconciler) serversOn(ctx context.Context, site v1alpha1.SiteName, node client.Object) []types.NamespacedName {
	return reconcile.Keys(ctx, r.hub, &v1alpha1.SQLServerList{}, "", func(s *v1alpha1.SQLServer) bool {
		return s.Spec.Site == site && s.Status.Placement != nil && s.Status.Placement.Node == node.GetName()
	})
}

// serversNear are the servers of an object's namespace.
func (r *Reconciler) serversNear(ctx context.Context, _ v1alpha1.SiteName, obj client.Object) []types.NamespacedName {
	return reconcile.Keys[*v1alpha1.SQLServer](ctx, r.hub, &v1alpha1.SQLServerList{}, obj.GetNamespace(), nil)
}
