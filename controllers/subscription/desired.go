// SPDX-License-Identifier: Apache-2.0

// Package subscription reconciles Subscriptions: the subscription database, the registrations at publisher and
// subscriber, the distribution agent's job, and the mirror of the snapshot at the subscriber's site.
package subscription

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent/files"
	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/replication"
	"geosql.dev/operator/internal/sites"
	"geosql.dev/operator/internal/transfer"
	"geosql.dev/operator/internal/tsql"
)

// Desired is what a Subscription asks for.
type Desired struct {
	Subscription *v1alpha1.Subscription
	// Publication that is subscribed to; nil while it does not exist.
	Publication *v1alpha1.Publication
	System      replication.System
	Publisher   replication.Party
	// Subscriber is the server that receives; DatabaseDeclared tells that it declares the database, which is only used
	// then.
	Subscriber       v1alpha1.ServerName
	DatabaseDeclared bool
	// Beside are the other Subscriptions of the same database that are declared and not being deleted.
	Beside []Beside
	// Declared are the names of the Subscriptions of the namespace, but those of this database that are being deleted.
	Declared []string
	// Profile of the distribution agent, LogReaderProfile of the publication's log reader; nil without one.
	Profile, LogReaderProfile *v1alpha1.AgentProfileSpec
	// FormerLogin is the one with which agents of a former Distributor could still come, empty when there is none.
	FormerLogin string
	// FormerPublishers are those from which the publication has moved, by the records of the moves.
	FormerPublishers []replication.PublishedFrom
	// Missing are objects that are named and do not exist (yet).
	Missing []string
	// MissingProfile is an agent's profile that does not exist (yet): an end does without it. Empty when none is missing.
	MissingProfile string
	// Void is a request for a new copy that was made for other articles than are declared, by the API server's own word;
	// empty otherwise.
	Void string
	// Moving is the PublisherMove that ends what the publication's publisher has; empty when none does.
	Moving string
	// Unsupported says what is declared and not supported; empty when nothing is.
	Unsupported string
	// Source is the distributor's sidecar, host:port; CA has signed its certificate, and Token lets the subscriber's
	// sidecar read its snapshots.
	Source string
	CA     []byte
	Token  string
	// Receives bound what the subscriber's sidecar fetches, Sends what the distributor's sends, by their sites.
	Receives, Sends transfer.Settings
	// SecretsErr is why what agents and sidecars show to each other is not known; nil where it is, and where nothing asks.
	SecretsErr error
	// Gone are servers that nobody expects back; read for a deletion alone.
	Gone sites.Gone
	// Holders are all servers of the namespace, each with why nobody expects it back; read while something of a backup may
	// be on them.
	Holders sites.Gone
	// Senders are the publisher's servers, of a subscriber that begins with a backup.
	Senders map[v1alpha1.ServerName]Sender
	// LogPolicy is the BackupPolicy that has a database which began with a backup; empty where none has.
	LogPolicy string
	// Route is the way of a copy, as the Sites declare it.
	Route replication.Route
	// Forecast is what the link to the subscriber lets through; nil where there is nothing to tell.
	Forecast *v1alpha1.SubscriptionForecast
	// Counted is the last count of what is pending, nil before the first.
	Counted *Counted
}

// Beside is another Subscription of the same database.
type Beside struct {
	Name, Publication string
	// Tables of the publication as it is declared, nil while it is not.
	Tables []string
	// Publishers of the publication: the one that is declared, and those from which it has moved. Nil while it is not
	// declared.
	Publishers []replication.PublishedFrom
}

func (d Desired) name() string              { return d.Subscription.Name }
func (d Desired) database() string          { return string(d.Subscription.Spec.Database) }
func (d Desired) publication() string       { return d.Publication.Name }
func (d Desired) publisherDatabase() string { return string(d.Publication.Spec.Database) }

// host is the subscriber's name.
func (d Desired) host() string { return credentials.HostName(d.Subscriber) }

// latency is how long a row may need, 0 when nothing is declared.
func (d Desired) latency() time.Duration {
	if o := d.Subscription.Spec.Objectives; o != nil && o.Latency != nil {
		return o.Latency.Duration
	}
	return 0
}

// adopts says whether a database that holds other data may be taken over.
func (d Desired) adopts() bool { return d.Subscription.Annotations[v1alpha1.AdoptAnnotation] == "true" }

// deleting tells that the object is being deleted. Its end needs no password, and not every server.
func (d Desired) deleting() bool { return d.Subscription.DeletionTimestamp != nil }

func (d Desired) pull() bool { return d.Subscription.Spec.Type != v1alpha1.SubscriptionPush }

// agentServer is where the distribution agent runs.
func (d Desired) agentServer() v1alpha1.ServerName {
	if d.pull() || d.Subscription.Spec.AgentAt == v1alpha1.AgentAtSubscriber {
		return d.Subscriber
	}
	return d.System.Server
}

// snapshots says whether the subscriber gets a snapshot.
func (d Desired) snapshots() bool { return d.Publication.Copies(d.Subscription) }

// mirrors says whether a snapshot has to be brought to the agent.
func (d Desired) mirrors() bool { return d.snapshots() && d.agentServer() != d.System.Server }

// manual is the folder into which a person brings snapshots, as it is declared; empty where they are fetched.
func (d Desired) manual() string { return d.Publication.Brought(d.Subscription) }

// compares says whether a copy that is equal to the publisher's is kept.
func (d Desired) compares() bool { return replication.Compares(d.Publication, d.Subscription) }

// comparesFirst says whether what the subscriber has is compared before it is registered: not for a person who has
// asked for a new copy, who gets one, nor where nobody agrees to what a difference would bring.
func (d Desired) comparesFirst() bool { return d.agrees() && !d.asked() }

// subscription as the publisher knows it.
func (d Desired) subscription() tsql.Subscription {
	return tsql.Subscription{
		Publication: d.publication(), Subscriber: d.host(), Database: d.database(), Pull: d.pull(),
		DataIsThere: !d.snapshots(),
	}
}

// Observed is the world around a subscription as it was read, without any decision.
type Observed struct {
	Now time.Time
	// Servers are the publisher's, the distributor and the subscriber.
	Servers map[v1alpha1.ServerName]replication.Server
	// At is what the distributor knows of the publication, Agent of the subscription; AtErr is why that is not known.
	At    replication.AtDistributor
	Agent *mssql.Agent
	AtErr error
	// Snapshot is the one that the subscriber is to have, of a publication that is copied by a schedule.
	Snapshot mssql.SubscriptionSnapshot
	// Publication as the published database has it, nil while there is none; PublicationErr is why that is not known.
	Publication    *mssql.Publication
	PublicationErr error
	// Here is what the subscription database has; HereErr is why that is not known.
	Here    Here
	HereErr error
	// Guards are the triggers by which the subscription's tables are read-only. They are read whatever is known of
	// publication, publisher and distributor.
	Guards reconcile.Reading[[]mssql.Guard]
	// Jobs of the subscription's name, by server, and the one that reads the publisher's log; JobsErr is why they are not
	// known.
	Jobs         map[v1alpha1.ServerName]*mssql.Job
	LogReaderJob *mssql.Job
	JobsErr      error
	Mirror       Mirror
	Backup       Backup
	// Pending commands and the seconds they may take, nil when they were not counted now. Counted is the last count, now
	// or before.
	Pending, PendingSeconds *int64
	Counted                 *Counted
	// Tokens are the newest tracer tokens, each with its latency for this subscription; TokensErr is why they are not
	// known.
	Tokens    []Token
	TokensErr error
	// Former are subscriptions of the database to the publication at publishers from which it has moved.
	Former []Former
	// Feeders are other subscriptions of the database, read before the first registration; Declared is what was declared
	// once they had been.
	Feeders  []Feeder
	Declared *Declarations
	// FormerLogin tells that the former agents' login is there.
	FormerLogin bool
	// FormerSessions are that login's sessions.
	FormerSessions []int
	// Comparison with the publisher's tables, nil when there was no need for one; ComparisonErr is why it failed. Compared
	// is when it was over.
	Comparison    *replication.Comparison
	ComparisonErr error
	Compared      time.Time
}

// Former is what a subscription to a former publisher has left, with its agent's jobs by server.
type Former struct {
	Here mssql.SubscriptionHere
	Jobs map[v1alpha1.ServerName]*mssql.Job
}

// Here is the subscription database.
type Here struct {
	Owner replication.Owner
	// Tables by "schema.name" in lower case.
	Tables map[string]mssql.Table
	// Subscriptions that it knows of.
	Subscriptions []mssql.SubscriptionHere
	// Distributor of the pull subscription's agent, empty while none is attached.
	Distributor string
	// Fork is the database's recovery fork, which RESTORE begins anew, empty when the engine does not tell.
	Fork string
}

// Token is a tracer token with its latency.
type Token struct {
	Posted time.Time
	// Age by the publisher's own clock.
	Age     time.Duration
	Latency mssql.TokenLatency
}

// Mirror is what the sidecars were told and what the subscriber's says of the mirror.
type Mirror struct {
	// Told is the order that the subscriber's sidecar has, nil while it has none; Reader what the distributor's has.
	Told   *orders.Mirror
	Reader *orders.Reader
	// Err is why the orders are not known.
	Err error
	// Status of the mirror, nil while the sidecar says nothing of it; StatusErr is why it is not known.
	Status    *files.Status
	StatusErr error
}

// ordered tells that a sidecar has orders of the mirror.
func (m Mirror) ordered() bool { return m.Told != nil || m.Reader != nil }

// primary is the publisher's server that takes writes, empty when none that answers says so.
func (o Observed) primary(d Desired) v1alpha1.ServerName { return d.Publisher.Primary(o.Servers) }

// registrations are the publisher's subscriptions of this database.
func (o Observed) registrations(d Desired) []mssql.ArticleSubscription {
	if o.Publication == nil {
		return nil
	}
	var own []mssql.ArticleSubscription
	for _, s := range o.Publication.Subscriptions {
		if strings.EqualFold(s.Subscriber, d.host()) && strings.EqualFold(s.Database, d.database()) {
			own = append(own, s)
		}
	}
	return own
}

// here is what the subscription database knows of the subscription, nil when nothing.
func (o Observed) here(d Desired) *mssql.SubscriptionHere {
	for i, s := range o.Here.Subscriptions {
		if strings.EqualFold(s.Publisher, o.At.Original) && strings.EqualFold(s.PublisherDatabase, d.publisherDatabase()) &&
			strings.EqualFold(s.Publication, d.publication()) {
			return &o.Here.Subscriptions[i]
		}
	}
	return nil
}

// applied tells that the subscriber has its first copy.
func (o Observed) applied(d Desired) bool {
	here := o.here(d)
	return here != nil && here.Applied
}

// keeps tells that every article was registered without a copy, although subscribers get one.
func (o Observed) keeps(d Desired) bool {
	return d.snapshots() && len(o.registrations(d)) > 0 && !o.copies(d)
}

// copies tells that an article was registered with a copy, whatever is declared by now.
func (o Observed) copies(d Desired) bool {
	return slices.ContainsFunc(o.registrations(d), func(s mssql.ArticleSubscription) bool { return !s.DataWasThere })
}

// unproved are the articles, by their names in lower case, that were registered without a copy and were not found equal
// since: nobody knows what the subscriber has of them. An article that is added later is registered as the others were,
// without a copy, too.
func (o Observed) unproved(d Desired) map[string]mssql.PublishedArticle {
	all := map[string]mssql.PublishedArticle{}
	if !d.snapshots() && !d.fromBackup() {
		return all
	}
	var validated []string
	if s := d.Subscription.Status.Initialization; s != nil {
		validated = s.ValidatedArticles
	}
	for _, s := range o.registrations(d) {
		key := strings.ToLower(s.Article)
		if a, known := o.Publication.Articles[key]; known && s.DataWasThere && !slices.Contains(validated, numbered(a)) {
			all[key] = a
		}
	}
	return all
}

// numbered is an article as status has it.
func numbered(a mssql.PublishedArticle) string { return fmt.Sprintf("%d %s", a.ID, a.Name) }

// absent are the tables that the subscriber's database does not have of articles that a snapshot brings, or of those
// that were registered without a copy.
func (o Observed) absent(d Desired, withoutCopy bool) (tables []string) {
	for _, s := range o.registrations(d) {
		a, known := o.Publication.Articles[strings.ToLower(s.Article)]
		schema, table := a.There()
		name := schema + "." + table
		if _, there := o.Here.Tables[strings.ToLower(name)]; known && !there && s.DataWasThere == withoutCopy {
			tables = append(tables, name)
		}
	}
	slices.Sort(tables)
	return tables
}

// registered tells that an article's registration has a status (mssql.ArticleSubscription).
func (o Observed) registered(d Desired, status int) bool {
	return slices.ContainsFunc(o.registrations(d), func(s mssql.ArticleSubscription) bool { return s.Status == status })
}

// inactive tells that the distributor has given the subscription up, since it had to keep more for it than its
// retention: the publisher says so, or the agent does.
func (o Observed) inactive(d Desired) bool {
	f := o.failure(d)
	return o.registered(d, mssql.SubscriptionInactive) ||
		f != nil && o.Agent != nil && o.Agent.Failure != 0 && o.Agent.Met(deactivated) != ""
}

// deactivated is the agent's error for a subscription that was marked inactive and must be reinitialized.
const deactivated = "21074"

// stale tells that the newest snapshot is so old that the distributor may have removed what came after it, or will
// before it is applied: a subscriber that began with it would have holes. A quarter of the retention is left for
// bringing and applying it.
func (o Observed) stale(d Desired) bool {
	return o.At.LastSnapshot != "" && o.At.SnapshotAge > o.retained(d)*3/4
}

// retained is how long the distributor keeps what it has delivered.
func (o Observed) retained(d Desired) time.Duration {
	hours := d.System.Retention
	if at := o.Servers[d.System.Server].State; at != nil {
		for _, x := range at.Distribution {
			if strings.EqualFold(x.Name, d.System.Database) {
				hours = min(hours, x.Retention)
			}
		}
	}
	return time.Duration(hours) * time.Hour
}

// mirrors tells that a snapshot has to be brought to the agent.
func (o Observed) mirrors(d Desired) bool { return d.mirrors() && !o.keeps(d) }

// mirrored tells that the sidecar has the newest snapshot whole.
func (o Observed) mirrored() bool {
	s := o.Mirror.Status
	return s != nil && s.State == files.Verified && s.Generation != "" && s.Generation == o.At.LastSnapshot
}

// awaitsMirror tells that the newest snapshot needs a mirror at the agent, and none is confirmed.
func (o Observed) awaitsMirror(d Desired) bool {
	return o.mirrors(d) && !o.mirrored() && d.Subscription.Status.MirroredSnapshot != o.At.LastSnapshot
}

// desire finds out what a Subscription asks for.
func (r *Reconciler) desire(ctx context.Context, object *v1alpha1.Subscription) (Desired, error) {
	d := Desired{Subscription: object, Subscriber: object.Spec.Subscriber.Server}
	if d.Subscriber == "" {
		d.Unsupported = "spec.subscriber.availabilityGroup is not supported: name the server that receives in " +
			"spec.subscriber.server"
		return d, nil
	}
	// First: what the subscriber has is looked for also where nothing else is declared any more.
	if err := r.desireGone(ctx, &d); err != nil {
		return d, err
	}
	if err := r.desireHolders(ctx, &d); err != nil {
		return d, err
	}
	if err := r.desireLogPolicy(ctx, &d); err != nil {
		return d, err
	}
	var publication v1alpha1.Publication
	found, err := r.find(ctx, object.Namespace, string(object.Spec.Publication), &publication, &d, "Publication")
	if err != nil || !found {
		return d, err
	}
	d.Publication = &publication
	if err := r.desireVoid(ctx, &d); err != nil {
		return d, err
	}
	var distributor v1alpha1.Distributor
	found, err = r.find(ctx, object.Namespace, string(publication.Spec.Distributor), &distributor, &d, "Distributor")
	if err != nil || !found {
		return d, err
	}
	d.System = replication.SystemOf(&distributor)
	if d.Publisher, err = replication.Resolve(ctx, r.hub, object.Namespace, publication.Spec.Publisher); err != nil {
		return d, err
	}
	subscriber, err := replication.Resolve(ctx, r.hub, object.Namespace, object.Spec.Subscriber)
	if err != nil {
		return d, err
	}
	d.DatabaseDeclared = subscriber.Declares(d.database())
	if d.Beside, d.Declared, err = beside(ctx, r.hub, object); err != nil {
		return d, err
	}
	if err := r.desireProfiles(ctx, &d); err != nil {
		return d, err
	}
	for _, m := range []string{d.Publisher.Missing, subscriber.Missing} {
		if m != "" {
			d.Missing = append(d.Missing, m)
		}
	}
	if d.mirrors() && !d.System.Mirrored() {
		d.Unsupported = fmt.Sprintf(
			"Distributor %s has a snapshotFolder of its own, which sidecars do not mirror: leave spec.snapshotFolder out "+
				"there, or declare type Push with agentAt Distributor",
			distributor.Name,
		)
	}
	if d.manual() != "" && !d.mirrors() {
		d.Unsupported = fmt.Sprintf("method Manual brings files to the subscriber, and the agent that applies them runs at "+
			"distributor %s, which has them: declare method Snapshot, or for type Push agentAt Subscriber", d.System.Host())
	}
	if why := d.notScheduled(); why != "" {
		d.Unsupported = why
	}
	if d.deleting() {
		return d, nil
	}
	if d.Moving, err = replication.Moving(ctx, r.hub, d.Publication); err != nil || len(d.Missing) > 0 ||
		d.Unsupported != "" {
		return d, err
	}
	if err := r.desireFormer(ctx, &d); err != nil {
		return d, err
	}
	if err := r.desireTransfers(ctx, &d); err != nil {
		return d, err
	}
	if err := r.desireSenders(ctx, &d); err != nil {
		return d, err
	}
	if d.Route, err = replication.RouteTo(ctx, r.hub, d.Publication, object); err != nil {
		return d, err
	}
	if err := r.desireForecast(ctx, &d); err != nil {
		return d, err
	}
	d.Source = r.address(object.Namespace, d.System.Server)
	d.SecretsErr = d.readSecrets(ctx, r.access)
	return d, nil
}

// desireGone finds out which servers nobody expects back, for a deletion.
func (r *Reconciler) desireGone(ctx context.Context, d *Desired) (err error) {
	if d.deleting() {
		d.Gone, err = sites.ReadGone(ctx, r.hub, d.Subscription.Namespace, time.Now())
	}
	return err
}

// desireProfiles finds the profiles of the distribution agent and of the publication's log reader.
func (r *Reconciler) desireProfiles(ctx context.Context, d *Desired) (err error) {
	namespace := d.Subscription.Namespace
	d.Profile, d.MissingProfile, err = replication.Profile(ctx, r.hub, namespace, d.Subscription.Spec.Profile)
	if err != nil {
		return err
	}
	d.LogReaderProfile, _, err = replication.Profile(ctx, r.hub, namespace, d.Publication.Spec.LogReaderProfile)
	return err
}

// desireFormer finds from where the publication has moved, and with which login its former agents could still come.
func (r *Reconciler) desireFormer(ctx context.Context, d *Desired) (err error) {
	if d.FormerLogin, err = r.formerLogin(ctx, *d); err != nil {
		return err
	}
	d.FormerPublishers, err = replication.FormerPublishers(ctx, r.hub, d.Publication)
	return err
}
