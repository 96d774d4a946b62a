// SPDX-License-Identifier: Apache-2.0

// Package publishermove reconciles PublisherMoves: a publication whose publisher is gone, or takes no writes any more,
// is published by one of its subscribers. It ends the old way and changes what is declared; the controllers of
// Publications and Subscriptions do the rest, as for any other declaration.
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
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/replication"
)

// Desired is what a PublisherMove asks for, and the objects around it.
type Desired struct {
	Move *v1alpha1.PublisherMove
	// Publication that moves; nil while it does not exist.
	Publication *v1alpha1.Publication
	// Topology that declares it; nil when none does.
	Topology *v1alpha1.Topology
	// From is the former publisher, with the database that it published and its Distributor.
	From         replication.Party
	FromDatabase string
	FromSystem   replication.System
	// FromErr is why nobody can ask that Distributor, nil when it can be asked or has no object.
	FromErr error
	// Lost are servers of the former publisher, and that of its Distributor, whose Site is declared lost.
	Lost map[v1alpha1.ServerName]bool
	// System is the Distributor that distributes from now on.
	System replication.System
	// NotAdmitted tells that its list of publishers lacks the new one.
	NotAdmitted bool
	// SubscribeOnly are those of the new publisher and its distributor whose declared editions neither publish nor
	// distribute.
	SubscribeOnly []v1alpha1.ServerName
	// Subscriptions to the publication, by name.
	Subscriptions []v1alpha1.Subscription
	// FormerLogin is the one with which agents of the former Distributor could still come to the new publisher, empty when
	// there is none.
	FormerLogin string
	// Other is the move of the publication that goes before this one, empty when there is none.
	Other string
	// Compared is the last comparison of the tables, nil when none is remembered.
	Compared *Compared
	// SkippedErrors by Subscription: those that its agent skips by its AgentProfile.
	SkippedErrors map[string][]int32
	// Missing are objects that are named and do not exist.
	Missing []string
}

// candidates are the Subscriptions of the server that becomes the publisher: one for each database that it receives
// into.
func (d Desired) candidates() []v1alpha1.Subscription {
	return slices.DeleteFunc(slices.Clone(d.Subscriptions), func(s v1alpha1.Subscription) bool {
		return s.Spec.Subscriber.Server != d.Move.Spec.To
	})
}

// target is the Subscription whose copy becomes the source: the one that the status names once the move was looked at,
// the only one of the server before that. Nil when that has ended, and while the server has several.
func (d Desired) target() *v1alpha1.Subscription {
	var found *v1alpha1.Subscription
	known := d.Move.Status
	for i, s := range d.Subscriptions {
		is := s.Name == string(known.ToSubscription) && strings.EqualFold(string(s.Spec.Database), string(known.ToDatabase))
		if s.Spec.Subscriber.Server != d.Move.Spec.To || known.ToSubscription != "" && !is {
			continue
		}
		if found != nil {
			return nil
		}
		found = &d.Subscriptions[i]
	}
	return found
}

// others are the Subscriptions that go on: those of other servers, and of the new publisher's into other databases.
func (d Desired) others() []v1alpha1.Subscription {
	target := d.target()
	return slices.DeleteFunc(slices.Clone(d.Subscriptions), func(s v1alpha1.Subscription) bool {
		return target != nil && s.Name == target.Name
	})
}

// targetSubscription and targetDatabase are those of the server that becomes the publisher, also when its Subscription
// has ended.
func (d Desired) targetSubscription() string {
	if s := d.target(); s != nil {
		return s.Name
	}
	return string(d.Move.Status.ToSubscription)
}

func (d Desired) targetDatabase() string {
	if s := d.target(); s != nil {
		return string(s.Spec.Database)
	}
	return string(d.Move.Status.ToDatabase)
}

// switched tells that the Publication names the new publisher.
func (d Desired) switched() bool {
	return d.Publication != nil && string(d.Publication.Spec.MovedBy) == d.Move.Name
}

// drained tells that the new publisher had everything that the distributor had, or that it was given up: from then on
// the old way is ended.
func (d Desired) drained() bool {
	t := d.Move.Status.Timeline
	return d.switched() || t != nil && t.Drained != nil
}

// replaced tells that the Publication is another one than the one whose move was estimated.
func (d Desired) replaced() bool {
	known := d.Move.Status.PublicationUID
	return d.Publication != nil && known != "" && known != d.Publication.UID
}

// overtaken tells that another move has moved the publication since this one was looked at first.
func (d Desired) overtaken() bool {
	return d.Publication != nil && replication.Overtaken(d.Move, d.Publication)
}

// distributor is the name of the Distributor that distributes from now on.
func (d Desired) distributor() v1alpha1.ObjectName {
	if d.Move.Spec.Distributor != "" || d.Publication == nil {
		return d.Move.Spec.Distributor
	}
	return d.Publication.Spec.Distributor
}

// formerDistributor is the name of the Distributor from which the publication moves; its object may be gone.
func (d Desired) formerDistributor() v1alpha1.ObjectName {
	if d.Move.Status.From != nil {
		return d.Move.Status.FromDistributor
	}
	return d.Publication.Spec.Distributor
}

// unfenced are servers of the former publisher that may take writes: nobody has said that they do not, nor do they
// themselves.
func (d Desired) unfenced(o Observed) []string {
	var names []string
	for _, s := range d.From.Servers {
		if !d.Lost[s] && !slices.Contains(d.Move.Spec.FencedServers, s) && s != o.ReadOnly {
			names = append(names, credentials.HostName(s))
		}
	}
	return names
}

// Observed is the world around a move as it was read, without any decision.
type Observed struct {
	Now time.Time
	// Answering are servers of the former publisher that answered, and whose database may take writes.
	Answering []string
	// ReadOnly is the server that is the former publisher, and whose database is read-only by its own word; empty when it
	// is not.
	ReadOnly v1alpha1.ServerName
	// Comparison of the new publisher's tables with that server's; nil when they were not compared. ComparisonErr is why
	// they could not be.
	Comparison    *replication.Comparison
	ComparisonErr error
	// Compared is that comparison with its time; nil when there is none.
	Compared *Compared
	// System is the server that distributes from now on, To the one that publishes.
	System, To replication.Server
	// FormerRules are what the tables of a former publisher that lives have beside rows, NewRules those of the new one's;
	// read for an estimate alone.
	FormerRules, NewRules reconcile.Reading[[]mssql.TableRule]
	// CopyRules are the same of the copies, by Subscription, when the former publisher is lost.
	CopyRules map[string]reconcile.Reading[[]mssql.TableRule]
	// Begun is the note of a move of this name that asks for the same, in the new publisher's database.
	Begun reconcile.Reading[Begun]
	// Old is what the former distributor knows.
	Old Old
	// Copies by the name of their Subscription.
	Copies map[string]Copy
	// Left is what the subscription of the new publisher has left there.
	Left Left
}

// Old is the former distributor.
type Old struct {
	// Err is why it did not answer; nil when nobody had to ask.
	Err error
	// Asked tells that it has the distribution database and was read.
	Asked bool
	At    replication.AtDistributor
	// Pending commands by Subscription. Uncounted are those of which they were not counted in time, with why.
	Pending   map[string]int64
	Uncounted map[string]error
	// Jobs of the former publication that run there, by name.
	Jobs map[string]*mssql.Job
}

// Copy is a subscriber's database.
type Copy struct {
	// Err is why it did not answer.
	Err error
	// Here is what it knows of its subscription, nil when nothing.
	Here *mssql.SubscriptionHere
	// Rows in the tables of the articles; nil when they were not counted.
	Rows *int64
}

// Left is what has to be ended at the new publisher.
type Left struct {
	Err error
	// Here is nil when nothing is left.
	Here *mssql.SubscriptionHere
	Job  *mssql.Job
	// Login tells that the former agents' login is there.
	Login bool
	// Sessions of that login.
	Sessions []int
}

// original is the server under whose name the former publisher was known.
func (o Observed) original(d Desired) string {
	switch {
	case d.Move.Status.Original != "":
		return d.Move.Status.Original
	case o.Old.At.Original != "":
		return o.Old.At.Original
	}
	if c := o.Copies[d.targetSubscription()]; c.Here != nil {
		return c.Here.Publisher
	}
	return ""
}

// job is the distribution agent's job of a subscription to the former publisher.
func job(d Desired, original string, subscriber v1alpha1.ServerName, database string) replication.AgentJob {
	return replication.DistributionAgent(
		original, d.FromDatabase, d.Publication.Name, credentials.HostName(subscriber), database,
	)
}

// jobs at the former distributor: log reader and snapshot agent of the publication, and the distribution agents.
func jobs(d Desired, original string) []replication.AgentJob {
	all := []replication.AgentJob{
		replication.LogReaderAgent(original, d.FromDatabase),
		replication.SnapshotAgent(original, d.FromDatabase, d.Publication.Name),
	}
	for _, s := range d.Subscriptions {
		all = append(all, job(d, original, s.Spec.Subscriber.Server, string(s.Spec.Database)))
	}
	if d.target() == nil {
		all = append(all, job(d, original, d.Move.Spec.To, d.targetDatabase()))
	}
	return all
}

// former tells that a subscription is to the former publisher.
func (d Desired) former(s mssql.SubscriptionHere) bool {
	return strings.EqualFold(s.Publication, d.Publication.Name) &&
		strings.EqualFold(s.PublisherDatabase, d.FromDatabase) &&
		d.From.Has(s.Publisher)
}

// desire finds out what a move asks for. One that is over needs nothing of what it names any more.
func (r *Reconciler) desire(ctx context.Context, object *v1alpha1.PublisherMove) (Desired, error) {
	d, err := r.resolve(ctx, object)
	if object.Status.Phase == v1alpha1.MoveCompleted || d.replaced() || d.overtaken() {
		return d, nil
	}
	return d, err
}

// resolve finds what a move names. Where that fails, what was found before is returned, too.
func (r *Reconciler) resolve(ctx context.Context, object *v1alpha1.PublisherMove) (Desired, error) {
	d := Desired{Move: object, Lost: map[v1alpha1.ServerName]bool{}}
	if recorded(object) != nil {
		return d, nil // what it named may be gone since
	}
	var publication v1alpha1.Publication
	found, err := r.find(ctx, object, string(object.Spec.Publication), &publication, &d, "Publication")
	if err != nil || !found {
		return d, err
	}
	d.Publication = &publication
	if name := publication.Labels[v1alpha1.LabelTopology]; name != "" {
		var topology v1alpha1.Topology
		if found, err := r.find(ctx, object, name, &topology, &d, "Topology"); err != nil || !found {
			return d, err
		}
		d.Topology = &topology
	}
	var subscriptions v1alpha1.SubscriptionList
	if err := r.hub.List(ctx, &subscriptions, client.InNamespace(object.Namespace)); err != nil {
		return d, fmt.Errorf("list the Subscriptions of namespace %s: %w", object.Namespace, err)
	}
	for _, s := range subscriptions.Items {
		if s.Spec.Publication == object.Spec.Publication {
			d.Subscriptions = append(d.Subscriptions, s)
		}
	}
	if err := r.desireSkipped(ctx, &d); err != nil {
		return d, err
	}
	if err := r.desireFormer(ctx, &d); err != nil {
		return d, err
	}
	var distributor v1alpha1.Distributor
	if found, err = r.find(ctx, object, string(d.distributor()), &distributor, &d, "Distributor"); err != nil || !found {
		return d, err
	}
	d.System = replication.SystemOf(&distributor)
	d.NotAdmitted = len(distributor.Spec.Publishers) > 0 &&
		!slices.Contains(distributor.Spec.Publishers, v1alpha1.ServerOrGroup{Server: object.Spec.To})
	if err := r.desireEditions(ctx, &d); err != nil {
		return d, err
	}
	after := publication.DeepCopy()
	after.Spec.Distributor = d.distributor()
	if d.FormerLogin, err = replication.FormerLogin(ctx, r.hub, after, d.formerDistributor(), object.Spec.To); err != nil {
		return d, err
	}
	if d.Other, err = r.other(ctx, object, &publication); err != nil {
		return d, err
	}
	return d, d.System.ReadPasswords(ctx, r.access)
}

// desireEditions finds which of the servers that publish and distribute from now on can only subscribe. One without an
// object says nothing of that.
func (r *Reconciler) desireEditions(ctx context.Context, d *Desired) error {
	for _, name := range slices.Compact([]v1alpha1.ServerName{d.Move.Spec.To, d.System.Server}) {
		at, err := replication.Resolve(ctx, r.hub, d.Move.Namespace, v1alpha1.ServerOrGroup{Server: name})
		if err != nil {
			return err
		}
		d.SubscribeOnly = append(d.SubscribeOnly, at.SubscribeOnly...)
	}
	return nil
}

// desireSkipped finds which errors the agents of the subscriptions skip. A profile that is not there skips nothing.
func (r *Reconciler) desireSkipped(ctx context.Context, d *Desired) error {
	d.SkippedErrors = map[string][]int32{}
	for _, s := range d.Subscriptions {
		profile, _, err := replication.Profile(ctx, r.hub, s.Namespace, s.Spec.Profile)
		if err != nil {
			return err
		}
		if profile != nil {
			d.SkippedErrors[s.Name] = profile.SkipErrors
		}
	}
	return nil
}

// desireFormer finds the former publisher: the status has it once the move was looked at, before anything was changed.
func (r *Reconciler) desireFormer(ctx context.Context, d *Desired) error {
	from, database, distributor := d.Publication.Spec.Publisher, d.Publication.Spec.Database,
		d.Publication.Spec.Distributor
	if s := d.Move.Status; s.From != nil {
		from, database, distributor = *s.From, s.FromDatabase, s.FromDistributor
	}
	d.FromDatabase = string(database)
	var err error
	if d.From, err = replication.Resolve(ctx, r.hub, d.Move.Namespace, from); err != nil {
		return err
	}
	var old v1alpha1.Distributor
	found, err := r.find(ctx, d.Move, string(distributor), &old, &Desired{}, "Distributor")
	if err != nil {
		return err
	}
	servers := slices.Clone(d.From.Servers)
	if found { // else it is gone with its object; there is nobody to ask
		d.FromSystem = replication.SystemOf(&old)
		servers = append(servers, d.FromSystem.Server)
	}
	for _, name := range servers {
		if d.Lost[name], err = r.lost(ctx, d.Move.Namespace, name); err != nil {
			return err
		}
	}
	if !found {
		return nil
	}
	if err := d.FromSystem.ReadPasswords(ctx, r.access); apierrors.IsNotFound(err) {
		// Its server was deleted before it: it cannot be asked, and that is no reason not to leave it.
		d.FromErr = err
		return nil
	} else if err != nil {
		return err
	}
	return nil
}
