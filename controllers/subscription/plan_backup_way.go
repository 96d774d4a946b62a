// SPDX-License-Identifier: Apache-2.0

package subscription

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent/files"
	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/reconcile/conditions"
	"geosql.dev/operator/internal/replication"
	"geosql.dev/operator/internal/tsql"
)

// served tells that the subscription was registered, as far as its status knows. A registration that was begun counts
// there before anybody knows whether it came about: while the first copy is on its way yet it says nothing.
func (d Desired) served() bool {
	c := d.Subscription.Status.Copy
	return d.registeredBefore() && !(d.noted() && underWay(c) && !c.Again)
}

// mayRegister tells that the subscriber's database is what the attempt has brought, and that nobody feeds it yet.
func (o Observed) mayRegister(d Desired) bool { return o.proved(d) && o.here(d) == nil }

// begun tells that the subscriber's database is what was restored, or is being restored, of some backup for this
// Subscription with which it was not registered: nothing was delivered to it. Of one that is ONLINE that is known once
// it was asked for its subscriptions.
func (o Observed) begun(d Desired) bool {
	asked := o.HereErr == nil || !o.online()
	return asked && o.restoredOf(d, "") && len(o.registrations(d)) == 0 && o.here(d) == nil &&
		(!d.served() || o.restoredAfter(d, d.Subscription.Status.Initialization.Time))
}

// sealed tells that nobody writes the subscriber's database: it is ONLINE, without which nobody changes that, and
// READ_ONLY, as a restore leaves it.
func (o Observed) sealed(d Desired) bool {
	at := o.Servers[d.Subscriber].State
	return o.readOnly(d) && at.Database(d.database()).State == "ONLINE"
}

// readOnly tells that the subscriber's database is READ_ONLY, which it stays in whatever state it comes to be.
func (o Observed) readOnly(d Desired) bool {
	at := o.Servers[d.Subscriber].State
	if at == nil {
		return false
	}
	database := at.Database(d.database())
	return database != nil && database.ReadOnly
}

// registersSealed tells that the subscription is to be registered at the publisher with a database that takes no writes
// before: what the subscriber's has to know is written there in the next look.
func (o Observed) registersSealed(d Desired) bool {
	return o.sealed(d) && len(o.registrations(d)) == 0 && o.mayRegister(d)
}

// unwritten tells that the subscriber's database has nothing of anybody's: it was begun, and nobody has written it
// since. One that takes writes is somebody's, whoever has restored it, and so is one whose log ends elsewhere than the
// status tells, or of which it tells nothing: READ_ONLY says that nobody writes now, not that nobody has.
func (o Observed) unwritten(d Desired) bool {
	have := d.Subscription.Status.Copy
	return o.begun(d) && (!o.online() || o.sealed(d) && have != nil && have.Unwritten != "" &&
		have.Unwritten == o.unwrittenNow(d))
}

// halfRestored tells it of one that was not restored to its end: nobody has used it.
func (o Observed) halfRestored(d Desired) bool {
	places, err := o.Backup.Places.Get()
	return err == nil && places != nil && places.State == restoring && o.begun(d)
}

// restoredAfter tells that each file of the subscriber's database is of a backup that was taken after a time, by its
// name.
func (o Observed) restoredAfter(d Desired, since *metav1.Time) bool {
	places, err := o.Backup.Places.Get()
	if err != nil || places == nil || since == nil {
		return false
	}
	return !slices.ContainsFunc(places.Files, func(file string) bool {
		_, of, _ := strings.Cut(file, d.mark(""))
		at, err := time.Parse(stampForm, of[:min(len(of), len(stampForm))])
		return err != nil || !at.After(since.Time)
	})
}

// inTheWay tells that tables of somebody else stand where a backup is to be restored, and that nobody lets them make
// way.
func (o Observed) inTheWay(d Desired) bool {
	return d.fromBackup() && !d.adopts() && o.Backup.Places.Err() == nil && !o.restoredOf(d, "") &&
		len(tablesOfOthers(d, o)) > 0
}

// planConsented ends the plan where the subscriber has a database of the name that nobody lets make way.
func planConsented(d Desired, o Observed, p *replication.Plan) bool {
	places, _ := o.Backup.Places.Get()
	database := o.Servers[d.Subscriber].State.Database(d.database())
	r := o.order(d)
	if places == nil || r != nil && o.restoredSet(d, r) && o.here(d) == nil || o.unwritten(d) {
		if places != nil && !o.online() && places.State != restoring {
			return p.Settle(conditions.InProgress(v1alpha1.ReasonWaitingForDatabase, fmt.Sprintf(
				"database %s on %s, which is restored for the subscription, is %s: drop it if it stays so", d.database(),
				d.host(), strings.ToLower(places.State))))
		}
		return true
	}
	if !o.online() || database == nil {
		return p.Settle(conditions.InProgress(v1alpha1.ReasonWaitingForDatabase, fmt.Sprintf(
			"database %s on %s is %s, and nothing is restored in its place: where nobody brings it back drop it, or name "+
				"another database", d.database(), d.host(), strings.ToLower(places.State))))
	}
	if o.HereErr != nil {
		return p.Settle(replication.Unanswered(o.HereErr, replication.NoSubscriber))
	}
	if at, _ := o.Backup.At.Get(); at.InGroup {
		return p.Settle(conditions.Stalled(v1alpha1.ReasonSubscriberNotEmpty, fmt.Sprintf(
			"database %s on %s is in availability group %s: nothing is restored in its place. Take it out of the group, or "+
				"name another database", d.database(), d.host(), at.Group)))
	}
	if _, others := o.besides(d); database.Published || database.MergePublished || database.Secondary || len(others) > 0 {
		return p.Settle(conditions.Stalled(v1alpha1.ReasonSubscriberNotEmpty, fmt.Sprintf(
			"database %s on %s publishes, receives from somebody else, or is another primary's: nothing is restored in its "+
				"place. Name another database", d.database(), d.host())))
	}
	if err := o.Backup.LogEnd.Err(); err != nil && o.sealed(d) && o.restoredOf(d, "") {
		return p.Settle(replication.Unanswered(err, replication.NoSubscriber))
	}
	objects, err := o.Backup.Objects.Get()
	if err != nil {
		return p.Settle(replication.Unanswered(err, replication.NoSubscriber))
	}
	if d.served() || o.here(d) != nil {
		return planAgain(d, o, p, objects)
	}
	if len(objects) == 0 || d.adopts() {
		return true
	}
	return p.Settle(conditions.Stalled(v1alpha1.ReasonSubscriberNotEmpty, fmt.Sprintf(
		"database %s on %s is not empty: %s. A backup of all of %s takes its place, of which the articles are %s: name "+
			"another database, or annotate the Subscription with %s=true; the database is then renamed, and kept",
		d.database(), d.host(), named(objects), d.publisherDatabase(), d.cost(), v1alpha1.AdoptAnnotation)))
}

// planAgain ends the plan of a subscription that was registered once and is not any more, unless what the database has
// may be replaced by a new copy: the articles' tables alone, by consent to that. What was adopted when it began is no
// consent: people have used it since.
func planAgain(d Desired, o Observed, p *replication.Plan, objects []mssql.UserObject) bool {
	rebuilt := d.Publication.Annotations[v1alpha1.RebuildAnnotation] == "true"
	beside := slices.DeleteFunc(slices.Clone(objects), o.brings)
	if len(objects) == 0 || len(beside) == 0 && (d.consents() || rebuilt) {
		return true
	}
	return p.Settle(conditions.Stalled(v1alpha1.ReasonReinitializationNeeded, fmt.Sprintf(
		"the subscription was registered once and is not any more; database %s on %s still has %s. To go on takes a new "+
			"copy, %s: let its tables be compared, and replaced where they differ, by spec.initialization.method %s; or %s",
		d.database(), d.host(), named(objects), d.cost(), v1alpha1.InitializeCompare, d.anotherBackup())))
}

// brings tells that a copy brings an object of a subscriber's database: a table of the articles, or a procedure by
// which an agent writes one.
func (o Observed) brings(x mssql.UserObject) bool {
	key := strings.ToLower(x.Name)
	agents := slices.ContainsFunc([]string{"dbo.sp_msins_", "dbo.sp_msupd_", "dbo.sp_msdel_"}, func(begins string) bool {
		return strings.HasPrefix(key, begins)
	})
	return x.Kind == "user_table" && o.publishes(key) || x.Kind == "sql_stored_procedure" && agents
}

// named are the first of some objects, as messages name them.
func named(objects []mssql.UserObject) string {
	var all []string
	for _, x := range objects {
		all = append(all, strings.ReplaceAll(x.Kind, "_", " ")+" "+x.Name)
	}
	slices.Sort(all)
	if len(all) > 10 {
		all = append(all[:10], "...")
	}
	return strings.Join(all, ", ")
}

// planInTime ends an attempt that has become too old, and lets no other begin: that would take as long, and as much of
// both volumes. A person says what is to be otherwise.
func planInTime(d Desired, o Observed, p *replication.Plan, r *orders.Reader) bool {
	at, err := time.Parse(stampForm, r.Backup)
	if err != nil || o.Now.Sub(at) <= o.retained(d)*3/4 {
		return true
	}
	why := fmt.Sprintf("it was not registered within three quarters of the %d hours for which distributor %s keeps what "+
		"comes after it, and another one would take as long: give that twice the time that the way takes, or let it come "+
		"faster (spec.transfers and spec.links of the Sites)", hours(o.retained(d)), d.System.Host())
	if m := o.Backup.Mirror; m != nil && m.State == files.Failing && m.Generation == generation(r.Backup) {
		why += fmt.Sprintf(". The sidecar of %s did not bring it, which said last: %s", d.host(), m.Message)
	}
	given := o.givenUp(d, r, why)
	given.Attempt.Failed = max(given.Attempt.Failed, mostFailed)
	p.Add(TellBackup{Server: o.primary(d), Reader: given})
	return p.Proceed("backup %s is too old to begin with: no other is taken", r.Backup)
}

// planMakesWay has what stands where the backup is to be restored make way: a database is renamed, and kept; what was
// restored of an earlier backup, and that nobody has written since, is dropped.
func planMakesWay(d Desired, o Observed, p *replication.Plan) bool {
	switch {
	case !o.unwritten(d):
		aside := fmt.Sprintf("%.100s_replaced_%s", d.database(), o.Now.UTC().Format(stampForm))
		p.Destroy(reconcile.Seen("it is empty, or a person agrees, and it stays under another name",
			o.Backup.Places.Err(), o.Backup.Objects.Err(), o.HereErr),
			replication.Execute{Server: d.Subscriber, Database: replication.Master,
				Statement: tsql.RenameDatabase(d.database(), aside).Because("a backup is restored in its place")})
		return p.Proceed("database %s on %s becomes %s", d.database(), d.host(), aside)
	case !o.online():
		return planDropped(d, o, p)
	}
	end, unknown := o.Backup.LogEnd.Get()
	p.Destroy(reconcile.Seen("it was restored for this Subscription, never registered, and its log ends as it did then",
		o.Backup.Places.Err(), unknown, o.HereErr, o.Servers[d.Subscriber].Err),
		replication.Execute{Server: d.Subscriber, Database: replication.Master,
			Statement: tsql.DropOwnOnline(d.database(), d.mark(""), end).
				Because("another backup is restored in its place")})
	return p.Proceed("what an earlier backup has brought of %s to %s is dropped", d.database(), d.host())
}

// planWritable lets the database be written that a restore has left READ_ONLY, once the subscription is registered, or
// is to begin in another way. The status has the backup until then; without it nobody looks where the database is, and
// somebody else has made it so.
func planWritable(d Desired, o Observed, p *replication.Plan) bool {
	if !o.sealed(d) {
		return true
	}
	if err := o.Backup.Places.Err(); err != nil && d.noted() {
		return p.Settle(replication.Unanswered(err, replication.NoSubscriber))
	}
	if !o.restoredOf(d, "") {
		return true
	}
	p.Execute(d.Subscriber, replication.Master, tsql.TakeWrites(d.database(), d.mark("")))
	return p.Proceed("database %s on %s, as it was restored, takes writes from now on", d.database(), d.host())
}

// planDropped drops the database that a restore has left, once none goes on there any more.
func planDropped(d Desired, o Observed, p *replication.Plan) bool {
	goesOn, err := o.Backup.Restoring.Get()
	if err != nil {
		return p.Settle(replication.Unanswered(err, replication.NoSubscriber))
	}
	if goesOn {
		return p.Settle(conditions.InProgress(v1alpha1.ReasonInitializing, fmt.Sprintf(
			"a restore goes on at %s: what it has made of %s is dropped when it has ended", d.host(), d.database())))
	}
	p.Destroy(reconcile.Seen("a restore for this Subscription has left it, and none goes on", o.Backup.Places.Err(),
		o.Backup.Restoring.Err()),
		replication.Execute{Server: d.Subscriber, Database: replication.Master,
			Statement: tsql.DropOwnRestoring(d.database(), d.mark(""))})
	return p.Proceed("what an earlier backup has left of %s on %s is dropped", d.database(), d.host())
}
