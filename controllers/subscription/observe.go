// SPDX-License-Identifier: Apache-2.0

package subscription

import (
	"context"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/replication"
	"geosql.dev/operator/internal/tsql"
)

// beside are the other Subscriptions of an object's database, and the names of all that are declared of the namespace
// but those of that database which are being deleted, as a reader has them.
func beside(ctx context.Context, hub client.Reader, object *v1alpha1.Subscription) ([]Beside, []string, error) {
	var subscriptions v1alpha1.SubscriptionList
	var publications v1alpha1.PublicationList
	for _, list := range []client.ObjectList{&subscriptions, &publications} {
		if err := hub.List(ctx, list, client.InNamespace(object.Namespace)); err != nil {
			return nil, nil, fmt.Errorf("list %T of namespace %s: %w", list, object.Namespace, err)
		}
	}
	var all []Beside
	var declared []string
	for _, s := range subscriptions.Items {
		here := s.Spec.Subscriber == object.Spec.Subscriber &&
			strings.EqualFold(string(s.Spec.Database), string(object.Spec.Database))
		if s.DeletionTimestamp == nil || !here {
			declared = append(declared, s.Name)
		}
		if s.Name == object.Name || s.DeletionTimestamp != nil || !here {
			continue
		}
		b := Beside{Name: s.Name, Publication: string(s.Spec.Publication)}
		for i := range publications.Items {
			if publications.Items[i].Name != b.Publication {
				continue
			}
			if err := b.publishedBy(ctx, hub, &publications.Items[i]); err != nil {
				return nil, nil, err
			}
		}
		all = append(all, b)
	}
	return all, declared, nil
}

// publishedBy fills in what the publication is declared to be.
func (b *Beside) publishedBy(ctx context.Context, hub client.Reader, p *v1alpha1.Publication) error {
	for _, a := range p.Spec.Articles {
		b.Tables = append(b.Tables, a.Table)
	}
	now, err := replication.Resolve(ctx, hub, p.Namespace, p.Spec.Publisher)
	if err != nil {
		return err
	}
	former, err := replication.FormerPublishers(ctx, hub, p)
	b.Publishers = append(former, replication.PublishedFrom{Party: now, Database: string(p.Spec.Database)})
	return err
}

func (r *Reconciler) find(
	ctx context.Context,
	namespace, name string,
	into client.Object,
	d *Desired,
	kind string,
) (bool, error) {
	err := r.hub.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, into)
	if apierrors.IsNotFound(err) {
		d.Missing = append(d.Missing, kind+" "+name)
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read %s %s/%s: %w", kind, namespace, name, err)
	}
	return true, nil
}

// readSecrets fills in passwords, token and CA.
func (d *Desired) readSecrets(ctx context.Context, source mssql.AccessSource) error {
	if err := d.System.ReadPasswords(ctx, source); err != nil {
		return err
	}
	if !d.snapshots() || !d.System.Mirrored() {
		return nil
	}
	access, err := source.Access(ctx, d.System.Namespace, d.System.Server)
	if err != nil {
		return fmt.Errorf("find the CA of server %s/%s: %w", d.System.Namespace, d.System.Server, err)
	}
	d.CA = access.CA
	d.Token, err = d.System.MirrorToken(ctx, source, d.Subscriber)
	return err
}

// engines are the servers of the object's namespace.
func (r *Reconciler) engines(d Desired) replication.Engines {
	return replication.Engines{Connector: r.connector, Namespace: d.Subscription.Namespace, Owner: d.Subscription.UID}
}

// observe remembers what was pending, which is dear to count.
func (r *Reconciler) observe(ctx context.Context, d Desired) (Observed, error) {
	d.Counted = r.counted.of(d.Subscription.UID)
	o := observe(ctx, r.engines(d), r.sidecars, d, time.Now())
	r.counted.keep(d.Subscription.UID, o.Counted, time.Now())
	return o, r.observeDeclared(ctx, d, &o)
}

// observeDeclared lists the other Subscriptions once those who feed the database were read, and from the API server:
// one that was declared after the first list, or that the cache did not have yet, may have registered itself before the
// database was read.
func (r *Reconciler) observeDeclared(ctx context.Context, d Desired, o *Observed) (err error) {
	if len(o.Feeders) == 0 {
		return nil
	}
	var now Declarations
	now.Beside, now.Names, err = beside(ctx, r.server, d.Subscription)
	o.Declared = &now
	return err
}

// observe asks the engines and the sidecars. What does not answer is part of the observation, not an error.
func observe(ctx context.Context, engines replication.Engines, sidecars Sidecars, d Desired, now time.Time) Observed {
	o := Observed{
		Now:     now,
		Servers: map[v1alpha1.ServerName]replication.Server{},
		Jobs:    map[v1alpha1.ServerName]*mssql.Job{},
	}
	if d.Subscriber == "" {
		return o
	}
	if d.nowhere() || (d.Unsupported != "" || len(d.Missing) > 0 || d.SecretsErr != nil) && !d.deleting() {
		o.Servers = engines.ReadServers(ctx, d.System, "", d.Subscriber)
		observeGuards(ctx, engines, d, &o)
		if d.deleting() {
			observeBegun(ctx, engines, sidecars, d, &o)
		}
		return o
	}
	o.Servers = engines.ReadParty(ctx, d.System, d.Publisher, d.System.Server, d.Subscriber)
	observeGuards(ctx, engines, d, &o)
	if d.deleting() {
		observeEnds(ctx, engines, sidecars, d, &o)
		return o
	}
	if at := o.Servers[d.System.Server].State; at == nil || at.Database(d.System.Database) == nil {
		return o
	}
	o.At, o.AtErr = engines.ReadAtDistributor(ctx, d.System, d.Publisher, d.publisherDatabase(), d.publication())
	observePublisher(ctx, engines, d, &o)
	if o.At.Original == "" {
		return o
	}
	observeSubscriber(ctx, engines, d, &o)
	observeJobs(ctx, engines, d, &o, d.Subscriber, d.System.Server)
	d = d.asRegistered(o)
	observeFormer(ctx, engines, d, &o)
	observeFeeders(ctx, engines, sidecars, d, &o)
	observeDistributor(ctx, engines, d, &o)
	observeTokens(ctx, engines, d, &o)
	observeMirror(ctx, sidecars, d, &o)
	observeBackup(ctx, engines, sidecars, d, &o)
	// What takes time comes last.
	observePending(ctx, engines, d, &o)
	observeComparison(ctx, engines, d, &o)
	if o.Comparison != nil {
		// A comparison may outlast the right with which the log reader sets up who is registered by it.
		observeJobs(ctx, engines, d, &o, d.System.Server)
	}
	return o
}

func observePublisher(ctx context.Context, engines replication.Engines, d Desired, o *Observed) {
	primary := o.primary(d)
	if primary == "" {
		return
	}
	database := o.Servers[primary].State.Database(d.publisherDatabase())
	if database == nil || database.State != "ONLINE" || !database.Published {
		return
	}
	o.PublicationErr = engines.Read(
		ctx,
		primary,
		d.publisherDatabase(),
		func(ctx context.Context, db *mssql.DB) (err error) {
			o.Publication, err = mssql.ReadPublication(ctx, db, d.publication())
			return err
		},
	)
}

// observeJobs reads the jobs of the subscription's name on servers.
func observeJobs(
	ctx context.Context,
	engines replication.Engines,
	d Desired,
	o *Observed,
	servers ...v1alpha1.ServerName,
) {
	for _, server := range servers {
		err := engines.Read(ctx, server, replication.Master, func(ctx context.Context, db *mssql.DB) (err error) {
			if o.Jobs[server], err = distributionAgent(d, *o).Read(ctx, db); err == nil && server == d.System.Server {
				o.LogReaderJob, err = o.At.ReadLogReaderJob(ctx, db, d.publisherDatabase())
			}
			return err
		})
		if err != nil {
			o.JobsErr = err
		}
	}
}

func observeSubscriber(ctx context.Context, engines replication.Engines, d Desired, o *Observed) {
	state := o.Servers[d.Subscriber].State
	if state == nil {
		return
	}
	if database := state.Database(d.database()); database == nil || database.State != "ONLINE" {
		return
	}
	o.HereErr = engines.Read(
		ctx,
		d.Subscriber,
		d.database(),
		func(ctx context.Context, db *mssql.DB) error {
			here, err := mssql.ReadSubscriptionDatabase(ctx, db, d.System.Login, pullSubscription(d, *o))
			o.Here = Here{
				Owner:         replication.Owner{User: here.User, IsOwner: here.IsOwner},
				Tables:        here.Tables,
				Subscriptions: here.Subscriptions,
				Distributor:   here.Distributor,
				Fork:          here.Fork,
			}
			return err
		},
	)
}

// observeDistributor reads the agent's history.
func observeDistributor(ctx context.Context, engines replication.Engines, d Desired, o *Observed) {
	err := engines.Read(ctx, d.System.Server, d.System.Database, func(ctx context.Context, db *mssql.DB) error {
		agents, err := mssql.ReadAgents(
			ctx,
			db,
			tsql.DistributionAgents(d.publisherDatabase(), d.subscription()),
			tsql.AgentDistribution,
		)
		if err != nil {
			return err
		}
		for i := range agents {
			if strings.EqualFold(agents[i].Publisher, o.At.Original) {
				o.Agent = &agents[i]
			}
		}
		return observeSnapshot(ctx, db, d, o)
	})
	if err != nil {
		o.AtErr = err
	}
}

// observeTokens asks the distributor for the tokens, and the publisher for the clock by which they were posted.
func observeTokens(ctx context.Context, engines replication.Engines, d Desired, o *Observed) {
	primary := o.primary(d)
	if primary == "" || o.Agent == nil || !o.applied(d) || d.scheduled() {
		return
	}
	var now time.Time
	var ahead time.Duration
	o.TokensErr = engines.Read(ctx, primary, replication.Master, func(ctx context.Context, db *mssql.DB) (err error) {
		now, ahead, err = mssql.ReadLocalTime(ctx, db)
		return err
	})
	if o.TokensErr != nil {
		return
	}
	o.TokensErr = engines.Read(ctx, d.System.Server, d.System.Database, func(ctx context.Context, db *mssql.DB) error {
		tokens, err := mssql.ReadTokens(ctx, db, o.At.Original, d.publisherDatabase(), d.publication(), o.Agent.ID)
		for _, token := range tokens {
			o.Tokens = append(o.Tokens,
				Token{Posted: token.Posted.Add(-ahead), Age: now.Sub(token.Posted), Latency: token.Latency})
		}
		return err
	})
}

// observeMirror reads the orders also where nothing is mirrored: those of an earlier type have to be found.
func observeMirror(ctx context.Context, sidecars Sidecars, d Desired, o *Observed) {
	var err error
	if o.Mirror.Told, _, err = sidecars.Orders(ctx, d.Subscription.Namespace, d.Subscriber, d.name()); err != nil {
		o.Mirror.Err = err
		return
	}
	if _, o.Mirror.Reader, err = sidecars.Orders(ctx, d.Subscription.Namespace, d.System.Server, d.name()); err != nil {
		o.Mirror.Err = err
		return
	}
	if !o.mirrors(d) {
		return
	}
	if o.Mirror.Told != nil && !o.applied(d) || o.At.LastSnapshot != d.Subscription.Status.MirroredSnapshot {
		o.Mirror.Status, o.Mirror.StatusErr = sidecars.Mirror(ctx, d.Subscription.Namespace, d.Subscriber, d.name())
	}
}
