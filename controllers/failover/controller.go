// SPDX-License-Identifier: Apache-2.0

// Package failover carries out Failovers: it hands each to the agents as a request on a voter's Lease, follows the
// answer, and records the elections that the agents held by themselves. It decides nothing that the agents do not check
// again, and is not needed for any of it.
//
// The work is done by group, not by object: a group does one thing at a time, oldest first. The frame of all kinds goes
// by object, so the Reconcile of this kind is its own; its files are those of every kind.
package failover

import (
	"context"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	mcbuilder "sigs.k8s.io/multicluster-runtime/pkg/builder"
	mcmanager "sigs.k8s.io/multicluster-runtime/pkg/manager"
	mcreconcile "sigs.k8s.io/multicluster-runtime/pkg/reconcile"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/election/requests"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/reconcile/confirmed"
	"geosql.dev/operator/internal/sites"
)

const (
	// reconcileTimeout bounds one reconciliation.
	reconcileTimeout = time.Minute
	// lookSoon is when a group with something under way is looked at again, although the Leases' changes say so first.
	lookSoon = time.Second
	// lookAgain is when any other group is looked at again: a voter that was away may have timelines.
	lookAgain = 30 * time.Second
)

// statusOwner is the field manager of a Failover's status.
const statusOwner = client.FieldOwner("geosql-operator-failover")

// Voter is how a voter's API server is spoken to.
type Voter struct {
	// Reader does not read from a cache.
	Reader client.Reader
	Writer client.Writer
}

// Voters reaches the voters of groups.
type Voters interface {
	// Voter of a site, for a namespace that may be used there.
	Voter(site, namespace string) (Voter, error)
}

// siteVoters are the voters at member clusters.
type siteVoters struct{ provider *sites.Provider }

// Voter implements Voters.
func (v siteVoters) Voter(site, namespace string) (Voter, error) {
	member, err := v.provider.Member(v1alpha1.SiteName(site))
	if err != nil {
		return Voter{}, fmt.Errorf("voter %s: %w", site, err)
	}
	if err := member.CheckNamespace(namespace); err != nil {
		return Voter{}, fmt.Errorf("voter %s: %w", site, err)
	}
	return Voter{Reader: member.APIReader, Writer: member.Client}, nil
}

// Reconciler of the Failovers of groups.
type Reconciler struct {
	voters Voters
	hub    client.Client
	// fresh reads from the hub's API server.
	fresh    client.Reader
	reporter reconcile.Reporter
	now      func() time.Time
	// confirmed says which statuses of groups are so still.
	confirmed *confirmed.Log
}

// SetupWithManager adds the controller to the manager. statuses are those that the controller of groups confirms.
//
// +kubebuilder:rbac:groups=geosql.dev,resources=failovers,verbs=get;list;watch;create;delete
// +kubebuilder:rbac:groups=geosql.dev,resources=failovers/status,verbs=patch
// +kubebuilder:rbac:groups=geosql.dev,resources=availabilitygroups,verbs=get;list;watch
func SetupWithManager(mgr mcmanager.Manager, provider *sites.Provider, statuses *confirmed.Log) error {
	local := mgr.GetLocalManager()
	r := &Reconciler{
		confirmed: statuses,
		voters:    siteVoters{provider}, hub: local.GetClient(), fresh: local.GetAPIReader(), now: time.Now,
		reporter: reconcile.Reporter{Hub: local.GetClient(), Events: local.GetEventRecorder("failover"), Owner: statusOwner},
	}
	err := reconcile.Controller(mgr, "failover", &v1alpha1.AvailabilityGroup{}, reconcile.AsConfigured, electionSeen()).
		Watches(&v1alpha1.Failover{}, sites.EnqueueHub(groupOf),
			reconcile.HubOnly(predicate.GenerationChangedPredicate{})...).
		Watches(&coordinationv1.Lease{}, sites.EnqueueOwner(v1alpha1.LabelGroup), mcbuilder.WithPredicates(requests.Moved())).
		WatchesRawSource(provider.Watch(func(ctx context.Context, _ v1alpha1.SiteName) []types.NamespacedName {
			return reconcile.Keys[*v1alpha1.AvailabilityGroup](ctx, r.hub, &v1alpha1.AvailabilityGroupList{}, "", nil)
		})).
		Complete(r)
	if err != nil {
		return fmt.Errorf("making the controller of Failovers: %w", err)
	}
	return nil
}

// groupOf maps a Failover to its group.
func groupOf(_ context.Context, _ v1alpha1.SiteName, obj client.Object) []types.NamespacedName {
	f, ok := obj.(*v1alpha1.Failover)
	if !ok {
		return nil
	}
	return []types.NamespacedName{{Namespace: f.Namespace, Name: string(f.Spec.Group)}}
}

// electionSeen lets changes of a group through that a waiting Failover may have waited for: another primary or term,
// and what replicas could be promoted.
func electionSeen() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok := e.ObjectOld.(*v1alpha1.AvailabilityGroup)
		after, ok2 := e.ObjectNew.(*v1alpha1.AvailabilityGroup)
		return !ok || !ok2 || fitness(before) != fitness(after)
	}}
}

func fitness(g *v1alpha1.AvailabilityGroup) string {
	text := fmt.Sprint(g.Generation, g.Status.GroupID, g.Status.Primary, g.Status.Term)
	for _, r := range g.Status.Replicas {
		if r.Promotable != nil {
			text += " " + r.Server + string(r.Promotable.Status)
		}
	}
	return text
}

// Reconcile brings the Failovers of one group a step further.
func (r *Reconciler) Reconcile(ctx context.Context, request mcreconcile.Request) (ctrl.Result, error) {
	ctx, cancel := context.WithTimeout(ctx, reconcileTimeout)
	defer cancel()
	o, err := r.observe(ctx, request.NamespacedName)
	if err != nil {
		return ctrl.Result{}, err
	}
	p := plan(o)
	err = reconcile.InOrder(ctx, p.Steps, func(ctx context.Context, s reconcile.Step) error { return r.apply(ctx, o, s) })
	switch {
	case apierrors.IsConflict(err):
		return ctrl.Result{RequeueAfter: lookSoon}, nil
	case err != nil:
		r.log(ctx).Info("step failed; it is tried again", "error", err.Error())
		return ctrl.Result{RequeueAfter: 2 * lookSoon}, nil
	case busy(p):
		return ctrl.Result{RequeueAfter: lookSoon}, nil
	case o.Group == nil:
		return ctrl.Result{}, nil
	}
	return ctrl.Result{RequeueAfter: lookAgain}, nil
}

func (r *Reconciler) log(ctx context.Context) logr.Logger { return log.FromContext(ctx) }
