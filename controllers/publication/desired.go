// SPDX-License-Identifier: Apache-2.0

// Package publication reconciles Publications: the published database, its log reader, the publication with its
// articles and snapshots, and, for a group, the redirection to its listener.
package publication

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
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
	"geosql.dev/operator/internal/schedule"
	"geosql.dev/operator/internal/sites"
	"geosql.dev/operator/internal/tsql"
)

// Desired is what a Publication asks for.
type Desired struct {
	Publication *v1alpha1.Publication
	System      replication.System
	Publisher   replication.Party
	// Subscriptions that are declared of the publication.
	Subscriptions []v1alpha1.Subscription
	// Resting says why nothing is done with a Subscription, by its name: it is suspended.
	Resting map[string]string
	// Awaiting are the Subscriptions that wait to be registered until the log reader can set their subscribers up.
	Awaiting []string
	// Claims are the other Publications of the database that need the log reader to be able to, by their own records. None
	// of them rests.
	Claims []string
	// Suspended says why nothing is done with the Publication; empty when it is not suspended.
	Suspended string
	// Ending tells that the Distributor is being deleted.
	Ending bool
	// Beside are the names of all Publications that are declared of the published database, this one's among them.
	Beside []string
	// Receives tells that a Subscription to some publication is declared for the published database.
	Receives bool
	// Missing are objects that are named and do not exist (yet).
	Missing []string
	// MissingProfiles are agents' profiles that do not exist (yet): an end does without them.
	MissingProfiles []string
	// Moving is the PublisherMove that ends what the publisher has; empty when none does.
	Moving string
	// Arriving tells that a PublisherMove has brought the publication to its publisher and waits for it to be published
	// there.
	Arriving bool
	// Times of the schedule, nil of what is streamed; TimesErr is why nobody can read it.
	Times    *schedule.Schedule
	TimesErr error
	// LogReaderProfile and SnapshotProfile are nil without one.
	LogReaderProfile, SnapshotProfile *v1alpha1.AgentProfileSpec
	// Gone are servers that nobody expects back; read for a deletion alone.
	Gone sites.Gone
	// PasswordsErr is why a deletion, or a Publication of which something is missing, does not know the agents' passwords.
	// They need them to take the right to set subscribers up back, and for nothing else.
	PasswordsErr error
}

func (d Desired) name() string     { return d.Publication.Name }
func (d Desired) database() string { return string(d.Publication.Spec.Database) }

// adopts says whether what somebody else made may be taken over.
func (d Desired) adopts() bool { return d.Publication.Annotations[v1alpha1.AdoptAnnotation] == "true" }

// rebuilds says whether a person lets the publication be made anew after its distributor or its database was lost.
func (d Desired) rebuilds() bool {
	by := d.Publication.Annotations[v1alpha1.RebuildAnnotation]
	return by == "true" || by == v1alpha1.RebuildCompare
}

// publishable says whether subscribers get what a publisher's tables need beside rows.
func (d Desired) publishable() bool {
	return d.Publication.Spec.SchemaOptions == v1alpha1.SchemaPublishable
}

// description marks the publication on the server.
func (d Desired) description() string {
	return replication.Description(d.Publication.Namespace, d.name())
}

// snapshots says whether a subscriber gets snapshots: one that is declared, or one that nobody declares and that waits
// for the copy with which it was registered.
func (d Desired) snapshots(o Observed) bool {
	return replication.Snapshots(d.Publication, d.Subscriptions) || o.Database.Publication != nil &&
		slices.ContainsFunc(o.Database.Publication.Subscriptions, func(s mssql.ArticleSubscription) bool {
			return s.Status == mssql.SubscriptionWaiting && !s.DataWasThere && d.declares(s) == nil
		})
}

// copies says whether the subscriber that a Subscription declares gets copies.
func (d Desired) copies(declared *v1alpha1.Subscription) bool {
	return d.Publication.Copies(declared)
}

// Observed is the world around a publication as it was read, without any decision.
type Observed struct {
	Now time.Time
	// Servers are the publisher's servers and the distributor.
	Servers map[v1alpha1.ServerName]replication.Server
	// At is what the distributor knows; AtErr is why that is not known.
	At    replication.AtDistributor
	AtErr error
	// Pending is how much the log reader has still to set up for subscribers that began without a snapshot. It is younger
	// than Database: what whoever is registered there needs is in it, unless it is done.
	Pending int64
	// LogReaderJob and SnapshotJob are at the distributor, nil while there are none.
	LogReaderJob, SnapshotJob *mssql.Job
	// LogReaderBeside and SnapshotBeside have the agents' names while other jobs are attached to these; nil when there are
	// none.
	LogReaderBeside, SnapshotBeside *mssql.Job
	// Database is what the published database has, on the primary; DatabaseErr is why that is not known.
	Database    Database
	DatabaseErr error
	// Expiry is the job of the primary that looks for expired subscriptions, nil while there is none.
	Expiry reconcile.Reading[*mssql.MaintenanceJob]
	// Theirs are the tables of subscribers that lack articles.
	Theirs map[receiver]reconcile.Reading[map[string]mssql.Table]
}

// Database is the published database.
type Database struct {
	Owner replication.Owner
	// Publication is nil while there is none.
	Publication *mssql.Publication
	// Subscribers of all its publications.
	Subscribers []mssql.Subscriber
	// Received are the subscriptions that feed the database.
	Received []mssql.SubscriptionHere
	// Publications are the names of all that the database has.
	Publications []string
	// Tables by "schema.name" in lower case.
	Tables map[string]mssql.Table
	// Sizes of the tables likewise; nil when they were not measured.
	Sizes map[string]mssql.TableSize
	// Online tells that the edition rebuilds tables while they are written to; read when one is to be.
	Online bool
	// LogEnd is the number of its log's last record, read after the distributor was, nil when it is not known; Fork is its
	// recovery fork, which RESTORE begins, empty when it is not known.
	LogEnd []byte
	Fork   string
}

// behind tells that the distributor has transactions of the database that its log does not have: it is older than that,
// from a backup.
func (o Observed) behind() bool {
	return len(o.Database.LogEnd) > 0 && len(o.At.Newest) == len(o.Database.LogEnd) &&
		bytes.Compare(o.Database.LogEnd, o.At.Newest) < 0
}

// fork is the recovery fork of the published database, with the server, as status has it; empty when it is not known,
// and of a group, whose databases get another one by a failover.
func fork(d Desired, o Observed) string {
	if o.Database.Fork == "" || d.Publisher.Group != "" {
		return ""
	}
	return credentials.HostName(o.primary(d)) + " " + o.Database.Fork
}

// forked tells that the database has gone on at another point than that where it was when status had it: it was
// restored. How far its log reaches does not always tell: that of a database that lost little is soon longer than it
// was.
func forked(d Desired, o Observed) bool {
	before, now := d.Publication.Status.RecoveryFork, fork(d, o)
	server, _, _ := strings.Cut(now, " ")
	return before != "" && now != "" && strings.HasPrefix(before, server+" ") && before != now
}

// distributionFork is the recovery fork of the distribution database, with its server, as status has it; empty when it
// is not known.
func distributionFork(d Desired, o Observed) string {
	if o.At.Fork == "" {
		return ""
	}
	return d.System.Host() + " " + o.At.Fork
}

// forgetful tells that the distribution database was restored: what agents have brought there since its backup was made
// is gone, and the publisher's log has it as brought.
func forgetful(d Desired, o Observed) bool {
	before, now := d.Publication.Status.DistributionFork, distributionFork(d, o)
	return before != "" && now != "" && strings.HasPrefix(before, d.System.Host()+" ") && before != now
}

// restored tells that the database was found so, now or before: its log has grown since perhaps, and then hides that,
// and what was written until then would never be read. What a distributor knows of a publisher to which the publication
// comes back is from before it left. Of a publication that is copied by a schedule nothing is read from the log, and
// nothing that a distributor forgets is missed: the next snapshot brings all.
func restored(d Desired, o Observed) bool {
	have := o.Database.Publication
	streamed := !d.scheduled() && (o.behind() || forgetful(d, o))
	return have != nil && have.Description == d.description() && o.At.Known && !d.Arriving &&
		(streamed || forked(d, o) || d.Publication.Status.Behind != nil)
}

// primary is the server that takes writes, empty when none that answers says so.
func (o Observed) primary(d Desired) v1alpha1.ServerName { return d.Publisher.Primary(o.Servers) }

// publisherLost tells that the database has nothing of a publication that was there: the agents' login is on the
// distributor's access list only once the publisher had all of it (planPublication). What a distributor knows of a
// publisher to which the publication comes back is from before it left, and proves nothing.
func (o Observed) publisherLost(d Desired) bool {
	if !o.At.Known || !replication.Contains(o.At.Access, d.System.Login) || d.Arriving {
		return false
	}
	have := o.Servers[o.primary(d)].State.Database(d.database())
	return have == nil || have.State == "ONLINE" && o.DatabaseErr == nil && o.Database.Publication == nil
}

// original is the publisher's name as agents know it: where publishing began. That of a server alone is known also
// while it does not answer.
func (o Observed) original(d Desired) string {
	switch {
	case o.At.Original != "":
		return o.At.Original
	case d.Publisher.Group == "" && len(d.Publisher.Servers) == 1:
		return credentials.HostName(d.Publisher.Servers[0])
	}
	return credentials.HostName(o.primary(d))
}

func logReader(d Desired, o Observed) replication.AgentJob {
	return replication.LogReaderAgent(o.original(d), d.database())
}

func snapshotAgent(d Desired, o Observed) replication.AgentJob {
	return replication.SnapshotAgent(o.original(d), d.database(), d.name())
}

// logReaderJob is the job that runs the log reader.
func logReaderJob(d Desired, o Observed) tsql.Job {
	name := logReader(d, o).Name(o.LogReaderJob)
	if o.At.LogReader != nil && o.At.LogReader.Job != "" {
		name = o.At.LogReader.Job
	}
	return tsql.Job{
		Name: name, Description: replication.Description(d.Publication.Namespace, "log reader of "+d.database()),
		Subsystem: tsql.SubsystemLogReader, Publisher: o.original(d), Database: d.System.Database, Continuous: true,
		Command: d.System.LogReaderCommand(o.original(d), d.database(), d.LogReaderProfile, setsUp(d, o)),
	}
}

// snapshotJob is the job that runs the snapshot agent.
func snapshotJob(d Desired, o Observed) tsql.Job {
	name := snapshotAgent(d, o).Name(o.SnapshotJob)
	if o.At.Snapshot != nil && o.At.Snapshot.Job != "" {
		name = o.At.Snapshot.Job
	}
	return tsql.Job{
		Name: name, Description: d.description(), Subsystem: tsql.SubsystemSnapshot, Publisher: o.original(d),
		Database: d.System.Database,
		Command:  d.System.SnapshotCommand(o.original(d), d.database(), d.name(), d.SnapshotProfile),
	}
}

// split cuts schema.table.
func split(table string) (schema, name string) {
	schema, name, _ = strings.Cut(table, ".")
	return schema, name
}

// limiting is the name of the procedure or view that limits an article: unique in the database, and the same each time.
func limiting(kind, publication, article string) string {
	sum := sha256.Sum256([]byte(publication + "\x00" + strings.ToLower(article)))
	return "geosql_" + kind + "_" + hex.EncodeToString(sum[:12])
}

// State of an article, as status says it.
const (
	statePublished       = "Published"
	stateWaitingForTable = "WaitingForTable"
	stateNoPrimaryKey    = "NoPrimaryKey"
	stateColumns         = "ColumnsNotPublishable"
	statePending         = "Pending"
	stateUnknown         = "Unknown"
)

// articleState judges an article by its table.
func articleState(d Desired, a v1alpha1.Article, db Database) string {
	table, exists := db.Tables[strings.ToLower(a.Table)]
	switch {
	case !exists:
		return stateWaitingForTable
	case len(table.PrimaryKey) == 0 && !d.scheduled():
		return stateNoPrimaryKey
	case len(a.Columns) > 0 && slices.ContainsFunc(table.PrimaryKey,
		func(c string) bool { return !replication.Contains(a.Columns, c) }):
		return stateColumns
	case db.Publication == nil:
		return statePending
	}
	if _, published := db.Publication.Articles[strings.ToLower(a.Table)]; !published {
		return statePending
	}
	return statePublished
}

// desire finds out what a Publication asks for.
func (r *Reconciler) desire(ctx context.Context, object *v1alpha1.Publication) (Desired, error) {
	d := Desired{Publication: object}
	d.Times, d.TimesErr = times(object)
	var distributor v1alpha1.Distributor
	key := client.ObjectKey{Namespace: object.Namespace, Name: string(object.Spec.Distributor)}
	err := r.hub.Get(ctx, key, &distributor)
	switch {
	case apierrors.IsNotFound(err):
		d.Missing = append(d.Missing, "Distributor "+string(object.Spec.Distributor))
		d.System = formerSystem(object)
	case err != nil:
		return d, fmt.Errorf("read Distributor %s/%s: %w", object.Namespace, object.Spec.Distributor, err)
	default:
		d.System, d.Ending = replication.SystemOf(&distributor), distributor.DeletionTimestamp != nil
	}
	if d.Suspended, err = reconcile.Suspension(ctx, r.hub, object); err != nil {
		return d, err
	}
	if d.Publisher, err = replication.Resolve(ctx, r.hub, object.Namespace, object.Spec.Publisher); err != nil {
		return d, err
	}
	if err := r.around(ctx, &d); err != nil {
		return d, err
	}
	if d.Publisher.Missing != "" {
		d.Missing = append(d.Missing, d.Publisher.Missing)
	}
	for _, one := range []struct {
		name v1alpha1.ObjectName
		into **v1alpha1.AgentProfileSpec
	}{{object.Spec.LogReaderProfile, &d.LogReaderProfile}, {object.Spec.SnapshotProfile, &d.SnapshotProfile}} {
		profile, missing, err := replication.Profile(ctx, r.hub, object.Namespace, one.name)
		if err != nil {
			return d, err
		}
		*one.into = profile
		if missing != "" {
			d.MissingProfiles = append(d.MissingProfiles, missing)
		}
	}
	if object.DeletionTimestamp != nil {
		// An end hardly needs a password of the agents, and not every server.
		if !d.nowhere() {
			d.PasswordsErr = d.System.ReadPasswords(ctx, r.access)
		}
		return d, r.desireEnd(ctx, &d)
	}
	if d.Moving, err = replication.Moving(ctx, r.hub, object); err != nil {
		return d, err
	}
	if len(d.Missing) > 0 {
		r.desireRight(ctx, &d)
		return d, nil
	}
	if d.Arriving, err = replication.Arriving(ctx, r.hub, object); err != nil {
		return d, err
	}
	return d, d.System.ReadPasswords(ctx, r.access)
}

// desireRight finds out what it takes to take the right back, which is all that is done while something is missing.
func (r *Reconciler) desireRight(ctx context.Context, d *Desired) {
	if d.looksForRight() {
		d.PasswordsErr = d.System.ReadPasswords(ctx, r.access)
	}
}

// desireEnd finds out who is expected back.
func (r *Reconciler) desireEnd(ctx context.Context, d *Desired) (err error) {
	d.Gone, err = sites.ReadGone(ctx, r.hub, d.Publication.Namespace, time.Now())
	return err
}
