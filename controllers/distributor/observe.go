// SPDX-License-Identifier: Apache-2.0

package distributor

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/replication"
	"geosql.dev/operator/internal/sites"
)

// desire finds out what a Distributor asks for: who publishes follows from its list and from the Publications.
func (r *Reconciler) desire(ctx context.Context, object *v1alpha1.Distributor) (Desired, error) {
	d := Desired{Distributor: object, System: replication.SystemOf(object)}
	who, err := r.desireUsers(ctx, &d)
	if err != nil {
		return d, err
	}
	for _, one := range who {
		party, err := replication.Resolve(ctx, r.hub, object.Namespace, one)
		if err != nil {
			return d, err
		}
		if party.Missing != "" {
			d.Missing = append(d.Missing, party.Missing)
			if object.DeletionTimestamp == nil {
				continue
			}
		}
		d.Publishers = append(d.Publishers, party.Servers...)
	}
	slices.Sort(d.Publishers)
	d.Publishers = slices.Compact(d.Publishers)
	err = d.System.ReadPasswords(ctx, r.access)
	if object.DeletionTimestamp == nil {
		return d, err
	}
	if d.Gone, err = sites.ReadGone(ctx, r.hub, object.Namespace, time.Now()); err != nil {
		return d, err
	}
	// An end takes no password of the agents, and its server may have gone with its Secret.
	return d, nil
}

// desireUsers finds out what uses the distributor, and returns who publishes through it.
func (r *Reconciler) desireUsers(ctx context.Context, d *Desired) ([]v1alpha1.ServerOrGroup, error) {
	var publications v1alpha1.PublicationList
	var subscriptions v1alpha1.SubscriptionList
	for _, list := range []client.ObjectList{&publications, &subscriptions} {
		if err := r.hub.List(ctx, list, client.InNamespace(d.Distributor.Namespace)); err != nil {
			return nil, fmt.Errorf("list %T of namespace %s: %w", list, d.Distributor.Namespace, err)
		}
	}
	who := slices.Clone(d.Distributor.Spec.Publishers)
	for _, p := range publications.Items {
		if string(p.Spec.Distributor) != d.Distributor.Name {
			continue
		}
		d.Publications = append(d.Publications, p.Name)
		// One that is retained may wait for its Subscriptions, which need to know the distributor through it.
		if p.DeletionTimestamp != nil {
			d.Ending = append(d.Ending, "Publication "+p.Name)
		}
		for _, s := range subscriptions.Items {
			if string(s.Spec.Publication) == p.Name && s.DeletionTimestamp != nil &&
				v1alpha1.MayDestroy(&s, s.Spec.ReclaimPolicy) {
				d.Ending = append(d.Ending, "Subscription "+s.Name)
			}
		}
		if !slices.Contains(who, p.Spec.Publisher) {
			who = append(who, p.Spec.Publisher)
		}
	}
	return who, nil
}

// observe asks the engines. What does not answer is part of the observation, not an error.
func observe(ctx context.Context, engines replication.Engines, d Desired) Observed {
	servers := append([]v1alpha1.ServerName{d.System.Server}, d.others()...)
	o := Observed{Servers: engines.ReadServers(ctx, d.System, "", servers...)}
	at := o.distributor(d)
	if d.Distributor.DeletionTimestamp != nil {
		var former []v1alpha1.ServerName
		for _, name := range o.linked(d) {
			if _, known := o.Servers[name]; !known {
				former = append(former, name)
			}
		}
		maps.Copy(o.Servers, engines.ReadServers(ctx, d.System, "", former...))
	}
	if at == nil || at.Database(d.System.Database) == nil {
		return o
	}
	o.OwnerErr = engines.Read(
		ctx,
		d.System.Server,
		d.System.Database,
		func(ctx context.Context, db *mssql.DB) (err error) {
			o.Owner.User, o.Owner.IsOwner, err = mssql.ReadOwner(ctx, db, d.System.Login)
			return err
		},
	)
	return o
}
