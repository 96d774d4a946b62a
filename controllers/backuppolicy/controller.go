// SPDX-License-Identifier: Apache-2.0

package backuppolicy

import (
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	mcmanager "sigs.k8s.io/multicluster-runtime/pkg/manager"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/sites"
	"geosql.dev/operator/internal/sites/sidecars"
	"geosql.dev/operator/internal/topology"
)

const (
	reconcileTimeout = 2 * time.Minute
	// lookAgain is when a policy is looked at again: sidecars tell nobody what they do.
	lookAgain = 20 * time.Second
	// lookSoon is when one that is being worked on is.
	lookSoon = 3 * time.Second
)

// statusOwner is the field manager of a BackupPolicy's status.
const statusOwner = client.FieldOwner("geosql-operator-backuppolicy")

// Options of the controller.
type Options struct {
	// Sites reaches the member clusters.
	Sites *sites.Provider
	// Connector connects to servers.
	Connector *mssql.Connector
	// Sidecar is the address of a server's sidecar; its Service's unless given.
	Sidecar func(namespace string, server v1alpha1.ServerName) string
	// Sidecars are told and asked instead of those of the sites; tests speak for them.
	Sidecars Sidecars
}

// Sidecars are those of the servers of all sites.
type Sidecars interface {
	// Orders are the data of a server's Secret of orders.
	Orders(ctx context.Context, namespace string, server v1alpha1.ServerName) (map[string][]byte, error)
	// Write replaces what an owner has told a server's sidecar.
	Write(ctx context.Context, namespace string, server v1alpha1.ServerName, owner client.FieldOwner,
		data map[string][]byte) error
	// Part decodes what a part of a server's sidecar says of itself.
	Part(ctx context.Context, namespace string, server v1alpha1.ServerName, part string, into any) error
}

// Engines are those of the servers. An error of a question that was not answered is one.
type Engines interface {
	// User reads the agent's user in a database of a server; nil when there is none.
	User(ctx context.Context, namespace string, server v1alpha1.ServerName, database string) (*mssql.UserState, error)
	// Edition is the server's EngineEdition.
	Edition(ctx context.Context, namespace string, server v1alpha1.ServerName) (int, error)
	// Models are what the server's databases are, by their names in lower case.
	Models(ctx context.Context, namespace string, server v1alpha1.ServerName) (map[string]mssql.BackupModel, error)
}

// Reconciler of BackupPolicies.
type Reconciler struct {
	hub client.Client
	// fresh reads from the hub's API server; Secrets are not cached.
	fresh     client.Reader
	sidecars  Sidecars
	engines   Engines
	connector *mssql.Connector
	// hubUID is what the hub is known by in stores.
	hubUID   func(context.Context) (string, error)
	reporter reconcile.Reporter
	now      func() time.Time
}

// SetupWithManager adds the controller to the manager.
//
// +kubebuilder:rbac:groups=geosql.dev,resources=backuppolicies,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=geosql.dev,resources=backuppolicies/status,verbs=patch
// +kubebuilder:rbac:groups=geosql.dev,resources=backups;restores,verbs=get;list;watch;create;delete
// +kubebuilder:rbac:groups=geosql.dev,resources=backupstores;sqlservers;availabilitygroups;sites,verbs=get;list;watch
// +kubebuilder:rbac:groups=geosql.dev,resources=topologies,verbs=get
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get
func SetupWithManager(mgr mcmanager.Manager, o Options) error {
	if o.Sidecar == nil {
		o.Sidecar = sidecars.Address
	}
	local := mgr.GetLocalManager()
	if o.Sidecars == nil {
		o.Sidecars = sidecars.Sidecars{Sites: o.Sites, Hub: local.GetClient(), Access: o.Connector, Address: o.Sidecar}
	}
	r := &Reconciler{hub: local.GetClient(), fresh: local.GetAPIReader(), connector: o.Connector, now: time.Now,
		hubUID:   o.Sites.HubUID,
		engines:  engines{o.Connector},
		sidecars: o.Sidecars,
		reporter: reconcile.Reporter{Hub: local.GetClient(), Events: local.GetEventRecorder("backuppolicy"),
			Owner: statusOwner}}
	frame := r.frame()
	err := reconcile.Controller(mgr, "backuppolicy", &v1alpha1.BackupPolicy{}, reconcile.AsConfigured,
		reconcile.SpecOrAnnotations()).
		Watches(&v1alpha1.BackupStore{}, sites.EnqueueHub(r.policiesOfStore), reconcile.HubOnly()...).
		Watches(&v1alpha1.Backup{}, sites.EnqueueHub(policyOf), reconcile.HubOnly()...).
		Watches(&v1alpha1.Restore{}, sites.EnqueueHub(policyOfTest), reconcile.HubOnly()...).
		Watches(&v1alpha1.AvailabilityGroup{}, sites.EnqueueHub(r.policiesOfGroup), reconcile.HubOnly()...).
		Complete(frame)
	if err != nil {
		return fmt.Errorf("making the controller of BackupPolicies: %w", err)
	}
	return nil
}

func (r *Reconciler) frame() *reconcile.Reconciler[*v1alpha1.BackupPolicy, Desired, Observed] {
	return reconcile.New(r.hub, reconcile.Kind[*v1alpha1.BackupPolicy, Desired, Observed]{
		Name: "BackupPolicy", New: func() *v1alpha1.BackupPolicy { return &v1alpha1.BackupPolicy{} },
		Finalizer: v1alpha1.Finalizer, Timeout: reconcileTimeout,
		RequeueAfter: reconcile.RequeueAfter{Steps: lookSoon / 4, Progress: lookSoon, Stalled: lookAgain, Resync: lookAgain},
		Stays:        r.stays,
		Desire:       r.desire, Observe: r.observe, Plan: plan, PlanDelete: planDelete, Apply: r.apply, Report: r.report,
	})
}

// stays keeps what the servers are told of a policy that its Topology makes anew. A server that has left the target is
// told first: nothing remembers it afterwards.
func (r *Reconciler) stays(ctx context.Context, p *v1alpha1.BackupPolicy) (string, error) {
	d := Desired{Policy: p}
	if err := r.target(ctx, &d); err != nil {
		return "", err
	}
	for _, name := range p.Status.Servers {
		if !slices.Contains(d.Servers, name) {
			return "", nil
		}
	}
	return reconcile.WhileDeclared[*v1alpha1.BackupPolicy](r.fresh, topology.Declares)(ctx, p)
}

func (r *Reconciler) policiesOfStore(ctx context.Context, _ v1alpha1.SiteName,
	obj client.Object) []types.NamespacedName {
	return reconcile.Keys(ctx, r.hub, &v1alpha1.BackupPolicyList{}, obj.GetNamespace(),
		func(p *v1alpha1.BackupPolicy) bool {
			return slices.Contains(p.Spec.Stores, v1alpha1.ObjectName(obj.GetName()))
		})
}

func (r *Reconciler) policiesOfGroup(ctx context.Context, _ v1alpha1.SiteName,
	obj client.Object) []types.NamespacedName {
	return reconcile.Keys(ctx, r.hub, &v1alpha1.BackupPolicyList{}, obj.GetNamespace(),
		func(p *v1alpha1.BackupPolicy) bool {
			return string(p.Spec.Target.AvailabilityGroup) == obj.GetName()
		})
}

func policyOfTest(_ context.Context, _ v1alpha1.SiteName, obj client.Object) []types.NamespacedName {
	name := obj.GetLabels()[v1alpha1.LabelRestoreTest]
	if name == "" {
		return nil
	}
	return []types.NamespacedName{{Namespace: obj.GetNamespace(), Name: name}}
}

func policyOf(_ context.Context, _ v1alpha1.SiteName, obj client.Object) []types.NamespacedName {
	b, ok := obj.(*v1alpha1.Backup)
	if !ok {
		return nil
	}
	return []types.NamespacedName{{Namespace: b.Namespace, Name: string(b.Spec.Policy)}}
}
