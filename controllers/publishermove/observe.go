// SPDX-License-Identifier: Apache-2.0

package publishermove

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/replication"
	"geosql.dev/operator/internal/tsql"
)

// estimateFor is how long an estimate stands before it is made anew, as long as nobody has approved it.
const estimateFor = time.Minute

// lost tells that the server's Site is declared lost. A server without an object is no evidence of anything.
func (r *Reconciler) lost(ctx context.Context, namespace string, name v1alpha1.ServerName) (bool, error) {
	var server v1alpha1.SQLServer
	var site v1alpha1.Site
	err := r.hub.Get(ctx, client.ObjectKey{Namespace: namespace, Name: string(name)}, &server)
	if err == nil {
		err = r.hub.Get(ctx, client.ObjectKey{Name: string(server.Spec.Site)}, &site)
	}
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read the Site of server %s/%s: %w", namespace, name, err)
	}
	return site.Spec.Lifecycle == v1alpha1.SiteLost, nil
}

func (r *Reconciler) find(
	ctx context.Context,
	object client.Object,
	name string,
	into client.Object,
	d *Desired,
	kind string,
) (bool, error) {
	err := r.hub.Get(ctx, client.ObjectKey{Namespace: object.GetNamespace(), Name: name}, into)
	if apierrors.IsNotFound(err) {
		d.Missing = append(d.Missing, kind+" "+name)
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read %s %s/%s: %w", kind, object.GetNamespace(), name, err)
	}
	return true, nil
}

// engines are the servers of the object's namespace.
func (r *Reconciler) engines(d Desired) replication.Engines {
	return replication.Engines{Connector: r.connector, Namespace: d.Move.Namespace, Owner: d.Move.UID}
}

// observe remembers the comparison of the tables, which is dear.
func (r *Reconciler) observe(ctx context.Context, d Desired) (Observed, error) {
	d.Compared = r.compared.of(d.Move.UID)
	o := observe(ctx, r.engines(d), d, time.Now)
	r.compared.keep(d.Move.UID, o.Compared)
	return o, nil
}

// observe asks the engines. What does not answer is part of the observation, not an error.
func observe(ctx context.Context, engines replication.Engines, d Desired, clock func() time.Time) Observed {
	o := Observed{Now: clock(), Copies: map[string]Copy{}}
	over := d.Move.DeletionTimestamp != nil || d.Move.Status.Phase == v1alpha1.MoveCompleted
	if over || !planReferences(d, o, &replication.Plan{}) {
		return o
	}
	servers := engines.ReadServers(ctx, d.System, "", d.System.Server, d.Move.Spec.To)
	o.System, o.To = servers[d.System.Server], servers[d.Move.Spec.To]
	if o.Begun = observeBegun(ctx, engines, d); d.again(o) {
		return o
	}
	if !d.switched() {
		observeFormer(ctx, engines, d, &o)
	}
	for _, s := range d.Subscriptions {
		o.Copies[s.Name] = readCopy(ctx, engines, d, s)
	}
	observeOld(ctx, engines, d, &o)
	observeLeft(ctx, engines, d, &o)
	compared := func(from v1alpha1.ServerName) (*replication.Comparison, error) { return compare(ctx, engines, d, from) }
	o.compare(d, clock, compared, func(o *Observed) { observeFormer(ctx, engines, d, o) })
	estimates := d.estimates(o)
	if estimates || d.approved() && !d.drained() && d.estimable(o) {
		observeLacks(ctx, engines, d, &o)
	}
	if estimates {
		for _, s := range d.Subscriptions {
			c := o.Copies[s.Name]
			c.Rows = countRows(ctx, engines, d, s, c)
			o.Copies[s.Name] = c
		}
	}
	return o
}

// observeFormer asks the servers of the former publisher whether they are there and may take writes.
func observeFormer(ctx context.Context, engines replication.Engines, d Desired, o *Observed) {
	for name, s := range engines.ReadServers(ctx, d.System, "", d.From.Servers...) {
		switch {
		case mssql.Is(s.Err, mssql.Unreachable) || mssql.Is(s.Err, mssql.Unknown):
		case s.Err == nil && d.From.Group == "" && readOnly(s, d.FromDatabase):
			// Of a group it would say nothing of the other replicas.
			o.ReadOnly = name
		default:
			// One that refuses a login, or has another certificate, is there.
			o.Answering = append(o.Answering, credentials.HostName(name))
		}
	}
	slices.Sort(o.Answering)
}

func readOnly(s replication.Server, database string) bool {
	if s.State == nil {
		return false
	}
	have := s.State.Database(database)
	return have != nil && have.State == "ONLINE" && have.ReadOnly
}

// readCopy reads how far a subscriber is.
func readCopy(ctx context.Context, engines replication.Engines, d Desired, s v1alpha1.Subscription) Copy {
	var c Copy
	server, database := s.Spec.Subscriber.Server, string(s.Spec.Database)
	c.Err = engines.Read(ctx, server, database, func(ctx context.Context, db *mssql.DB) error {
		all, err := mssql.ReadSubscriptionsHere(ctx, db)
		for i := range all {
			if d.former(all[i]) {
				c.Here = &all[i]
			}
		}
		return err
	})
	return c
}

// countRows counts a subscriber's rows. What cannot be counted in time is not: it is a figure to judge by, and nothing
// depends on it.
func countRows(ctx context.Context, engines replication.Engines, d Desired, s v1alpha1.Subscription, c Copy) *int64 {
	if c.Err != nil {
		return nil
	}
	var rows int64
	server, database := s.Spec.Subscriber.Server, string(s.Spec.Database)
	err := engines.Read(ctx, server, database, func(ctx context.Context, db *mssql.DB) error {
		for _, a := range d.Publication.Spec.Articles {
			schema, table, _ := strings.Cut(a.Table, ".")
			one, err := mssql.ReadTableRows(ctx, db, schema, table)
			if err != nil {
				return err
			}
			rows += one
		}
		return nil
	})
	if err != nil {
		return nil
	}
	return &rows
}

// observeOld asks the former distributor what it has for whom, and which jobs of the publication it runs.
func observeOld(ctx context.Context, engines replication.Engines, d Desired, o *Observed) {
	if d.FromSystem.Server == "" {
		return
	}
	if o.Old.Err = d.FromErr; o.Old.Err != nil {
		return
	}
	at := d.FromSystem.Server
	server := engines.ReadServers(ctx, d.FromSystem, "", at)[at]
	if o.Old.Err = server.Err; server.Err != nil || server.State.Database(d.FromSystem.Database) == nil {
		return
	}
	if o.Old.At, o.Old.Err = engines.ReadAtDistributor(ctx, d.FromSystem, d.From, d.FromDatabase,
		d.Publication.Name); o.Old.Err != nil {
		return
	}
	original := o.original(d)
	if original == "" {
		return
	}
	o.Old.Jobs = map[string]*mssql.Job{}
	o.Old.Err = engines.Read(ctx, at, replication.Master, func(ctx context.Context, db *mssql.DB) error {
		for _, agent := range jobs(d, original) {
			j, err := agent.Read(ctx, db)
			if err != nil {
				return err
			}
			o.Old.Jobs[agent.Now] = j
		}
		return nil
	})
	if o.Old.Err == nil && o.Old.At.Known {
		o.Old.Err = o.Old.count(d, func(s v1alpha1.Subscription) (n int64, err error) {
			err = engines.ReadWithin(ctx, replication.CountTimeout, at, d.FromSystem.Database,
				func(ctx context.Context, db *mssql.DB) (err error) {
					n, _, err = mssql.ReadPending(ctx, db, tsql.PendingCommands(original, d.FromDatabase, subscription(d, s)))
					return err
				})
			return n, err
		})
	}
	o.Old.Asked = o.Old.Err == nil
}

// count counts what waits for each subscription. The engine reads each command for that: one that is not counted in
// time is not known, and the distributor answers all the same.
func (o *Old) count(d Desired, pending func(v1alpha1.Subscription) (int64, error)) error {
	o.Pending, o.Uncounted = map[string]int64{}, map[string]error{}
	for _, s := range d.Subscriptions {
		n, err := pending(s)
		switch {
		case mssql.Is(err, mssql.Refused):
			// It was registered with another publisher, or never.
		case mssql.Is(err, mssql.Unknown):
			o.Uncounted[s.Name] = err
		case err != nil:
			return err
		default:
			o.Pending[s.Name] = n
		}
	}
	return nil
}

func subscription(d Desired, s v1alpha1.Subscription) tsql.Subscription {
	return tsql.Subscription{Publication: d.Publication.Name, Subscriber: credentials.HostName(s.Spec.Subscriber.Server),
		Database: string(s.Spec.Database), Pull: s.Spec.Type != v1alpha1.SubscriptionPush}
}

// observeLeft reads what the new publisher has of its own subscription.
func observeLeft(ctx context.Context, engines replication.Engines, d Desired, o *Observed) {
	if d.switched() {
		return
	}
	original, to := o.original(d), d.Move.Spec.To
	if d.FormerLogin != "" {
		o.Left.Login, o.Left.Err = engines.HasLogin(ctx, to, d.FormerLogin)
		if o.Left.Err == nil && o.Left.Login {
			o.Left.Sessions, o.Left.Err = engines.LoginSessions(ctx, to, d.FormerLogin)
		}
	}
	if o.Left.Err != nil || original == "" || d.targetDatabase() == "" {
		return
	}
	o.Left.Err = engines.Read(ctx, to, d.targetDatabase(), func(ctx context.Context, db *mssql.DB) error {
		all, err := mssql.ReadSubscriptionsHere(ctx, db)
		for i := range all {
			if d.former(all[i]) {
				o.Left.Here = &all[i]
			}
		}
		return err
	})
	if o.Left.Err == nil {
		o.Left.Err = engines.Read(ctx, to, replication.Master, func(ctx context.Context, db *mssql.DB) (err error) {
			o.Left.Job, err = job(d, original, to, d.targetDatabase()).Read(ctx, db)
			return err
		})
	}
}
