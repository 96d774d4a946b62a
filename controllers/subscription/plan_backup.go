// SPDX-License-Identifier: Apache-2.0

package subscription

import (
	"fmt"
	"path"
	"reflect"
	"strings"
	"time"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent/files"
	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/conf"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/reconcile/conditions"
	"geosql.dev/operator/internal/replication"
	"geosql.dev/operator/internal/tsql"
)

// planBackup brings the subscriber's database by a backup, before the subscription is registered: what stands is seen
// by the orders of sidecars, the file, and the names of the database's files, so that any step can be the last. Once it
// is registered, or another method is declared, the files go at both ends.
func planBackup(d Desired, o Observed, p *replication.Plan) bool {
	if !d.fromBackup() || len(o.registrations(d)) > 0 {
		endBackup(d, o, func(s replication.Step) { p.Beside(s, v1alpha1.ReasonConfiguring) })
		return true
	}
	if o.proved(d) {
		// Whatever the publication does by now, as giving the log reader the right that the registration waits for.
		return true
	}
	primary := o.primary(d)
	return planSuited(d, o, p) && planAllowed(d, o, p) && planConsented(d, o, p) && planFailed(d, o, p) &&
		planTaken(d, o, p, primary) && planBrought(d, o, p, primary) && planRestored(d, o, p, primary)
}

// planSuited ends the plan where the subscriber can't begin with a backup.
func planSuited(d Desired, o Observed, p *replication.Plan) bool {
	if why := d.noBackup(); why != "" {
		return p.Settle(conditions.Stalled(v1alpha1.ReasonNotSupported, why))
	}
	if o.Backup.Err != nil {
		return p.Settle(conditions.Unknown(v1alpha1.ReasonSiteUnreachable, o.Backup.Err.Error()))
	}
	from, err := o.Backup.From.Get()
	if err != nil {
		return p.Settle(replication.Unanswered(err, d.Publisher.Instead()))
	}
	for _, why := range []string{noRowVersions(from), notKept(d, from)} {
		if why != "" {
			return p.Settle(conditions.Stalled(v1alpha1.ReasonNotSupported, why))
		}
	}
	at, err := o.Backup.At.Get()
	if err == nil {
		_, err = o.Backup.Places.Get()
	}
	if err != nil {
		return p.Settle(replication.Unanswered(err, replication.NoSubscriber))
	}
	if reason, why := noRestore(d, from, at); why != "" {
		return p.Settle(conditions.Stalled(reason, why))
	}
	return true
}

// planAllowed has the publication take subscribers that begin with backups, and waits until it rests: of an article
// that comes after the backup it would have nothing. A backup from before it was allowed does not serve.
func planAllowed(d Desired, o Observed, p *replication.Plan) bool {
	primary := o.primary(d)
	if !o.everyArticle(d) || !d.publicationRests(o) {
		return p.Settle(conditions.InProgress(v1alpha1.ReasonWaitingForPublication, fmt.Sprintf(
			"publication %s is being changed: the backup is taken when it has all its articles", d.publication())))
	}
	from, _ := o.Backup.From.Get()
	if r := o.order(d); r != nil && !from.Allowed {
		p.Add(TellBackup{Server: primary, Reader: ended(r)})
		return p.Proceed("publication %s does not allow backup %s any more, which ends", d.publication(), r.Backup)
	}
	if !from.Allowed {
		p.Execute(primary, d.publisherDatabase(), tsql.AllowBackups(d.publication()))
		return p.Proceed("publication %s is being opened for subscribers that begin with a backup", d.publication())
	}
	if len(from.Inactive) > 0 {
		return p.Settle(conditions.InProgress(v1alpha1.ReasonWaitingForPublication, fmt.Sprintf(
			"of %s nothing is read from the log yet (sysarticles.status): the backup is taken when all articles are active. "+
				"If it stays so, take the article out of Publication %s, and declare it again", listed(from.Inactive),
			d.publication())))
	}
	return true
}

// listed names some of many.
func listed(names []string) string {
	text := strings.Join(names[:min(len(names), mostNamed)], ", ")
	if more := len(names) - mostNamed; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// planFailed ends an attempt that came to nothing, and lets the next one begin after a pause, some times.
func planFailed(d Desired, o Observed, p *replication.Plan) bool {
	if r := o.order(d); r != nil {
		if why := o.failed(d, r); why != "" {
			p.Add(TellBackup{Server: o.primary(d), Reader: o.givenUp(d, r, why)})
			return p.Proceed("backup %s has come to nothing (%s): another one is taken", r.Backup, why)
		}
		return true
	}
	last := o.lastFailed(d)
	if last.Failed >= mostFailed {
		return p.Settle(conditions.Stalled(v1alpha1.ReasonBackupUnsuitable, fmt.Sprintf(
			"%d backups in a row came to nothing, and no other is taken. The last one, %s. Raise spec.retention of the "+
				"Distributor, which is %d hours, to try again, or mend that and declare the Subscription anew, or declare method "+
				"%s", last.Failed, last.Why, hours(o.retained(d)), v1alpha1.InitializeSnapshot)))
	}
	if at, err := time.Parse(time.RFC3339, last.NotBefore); err == nil && o.Now.Before(at) {
		return p.Settle(conditions.InProgress(v1alpha1.ReasonInitializing, fmt.Sprintf(
			"%s; another one is taken at %s", last.Why, last.NotBefore)))
	}
	return true
}

// online tells that the subscriber's database is.
func (o Observed) online() bool {
	places, err := o.Backup.Places.Get()
	return err == nil && places != nil && places.State == "ONLINE"
}

// planConsented ends the plan where the subscriber has a database of the name that nobody lets make way.
func planConsented(d Desired, o Observed, p *replication.Plan) bool {
	places, _ := o.Backup.Places.Get()
	database := o.Servers[d.Subscriber].State.Database(d.database())
	r := o.order(d)
	if places == nil || r != nil && o.restoredSet(d, r) || o.restoredOf(d, "") && !d.registeredBefore() {
		if places != nil && !o.online() && places.State != restoring {
			return p.Settle(conditions.InProgress(v1alpha1.ReasonWaitingForDatabase, fmt.Sprintf(
				"database %s on %s, which is restored for the subscription, is %s: drop it if it stays so", d.database(),
				d.host(), strings.ToLower(places.State))))
		}
		return true
	}
	if !o.online() || database == nil {
		return p.Settle(conditions.InProgress(v1alpha1.ReasonWaitingForDatabase, fmt.Sprintf(
			"database %s on %s is %s", d.database(), d.host(), strings.ToLower(places.State))))
	}
	if o.HereErr != nil {
		return p.Settle(replication.Unanswered(o.HereErr, replication.NoSubscriber))
	}
	if at, _ := o.Backup.At.Get(); at.InGroup {
		return p.Settle(conditions.Stalled(v1alpha1.ReasonSubscriberNotEmpty, fmt.Sprintf(
			"database %s on %s is in availability group %s: nothing is restored in its place. Take it out of the group, or "+
				"name another database", d.database(), d.host(), at.Group)))
	}
	if database.Published || database.MergePublished || database.Secondary || len(o.Here.Subscriptions) > 0 {
		return p.Settle(conditions.Stalled(v1alpha1.ReasonSubscriberNotEmpty, fmt.Sprintf(
			"database %s on %s publishes, receives from somebody else, or is another primary's: nothing is restored in its "+
				"place. Name another database", d.database(), d.host())))
	}
	tables := o.tables(func(string) bool { return true })
	if len(tables) == 0 || d.adopts() || d.asked() || d.consents() && o.publishesAll() {
		return true
	}
	return p.Settle(conditions.Stalled(v1alpha1.ReasonSubscriberNotEmpty, fmt.Sprintf(
		"database %s on %s holds tables: %s. A backup of all of %s takes its place, of which the articles are %s: name "+
			"another database, or annotate the Subscription with %s=true; the database is then renamed, and kept",
		d.database(), d.host(), strings.Join(tables, ", "), d.publisherDatabase(), d.cost(), v1alpha1.AdoptAnnotation)))
}

// publishesAll tells that the subscriber's database has no table but those of the articles.
func (o Observed) publishesAll() bool {
	return len(o.tables(func(key string) bool { return !o.publishes(key) })) == 0
}

// planTaken has the publisher take the backup: its sidecar makes the folder first.
func planTaken(d Desired, o Observed, p *replication.Plan, primary v1alpha1.ServerName) bool {
	sender, known := d.Senders[primary]
	if !known {
		return p.Settle(conditions.Unknown(v1alpha1.ReasonReferenceMissing, fmt.Sprintf(
			"the credentials of server %s are not known", primary)))
	}
	host := credentials.HostName(primary)
	for server, r := range o.Backup.Readers {
		if server != primary && !r.Ended {
			p.Beside(TellBackup{Server: server, Reader: ended(r)}, v1alpha1.ReasonConfiguring)
		}
	}
	if r := o.Backup.Readers[primary]; r != nil && r.Folder != d.backupFolder() {
		// That of an object before, or of another database.
		if !r.Ended {
			p.Add(TellBackup{Server: primary, Reader: ended(r)})
			return p.Proceed("the sidecar of %s is told to remove an earlier backup", host)
		}
		if s := o.Backup.Sent[primary]; s == nil || s.State != files.Removed {
			return p.Settle(conditions.InProgress(v1alpha1.ReasonInitializing, fmt.Sprintf(
				"the sidecar of %s removes an earlier backup%s", host, failing(s))))
		}
	}
	stamp := o.attempt(d)
	if stamp == "" {
		p.Add(TellBackup{Server: primary, Reader: o.begins(d, sender)})
		return p.Proceed("the sidecar of %s is told to make room for a backup", host)
	}
	if !o.Backup.made(primary, stamp) {
		return p.Settle(conditions.InProgress(v1alpha1.ReasonInitializing, fmt.Sprintf(
			"the sidecar of %s makes the folder for the backup%s", host, failing(o.Backup.Sent[primary]))))
	}
	return planWritten(d, o, p, primary)
}

// planWritten takes the backup while there is none, and nobody was told that there is. The statement writes over
// nothing: should another manager's have been there first, that one's set stays the file's first.
func planWritten(d Desired, o Observed, p *replication.Plan, primary v1alpha1.ServerName) bool {
	taken, err := o.Backup.Taken.Get()
	if err != nil {
		return p.Settle(replication.Unanswered(err, d.Publisher.Instead()))
	}
	r := o.order(d)
	switch {
	case taken.whole(d):
		return true
	case r.Attempt.Set != "":
		return p.Settle(conditions.Unknown(v1alpha1.ReasonEngineNotAnswering, fmt.Sprintf(
			"backup %s is on %s, and cannot be read there now: %v", r.Backup, credentials.HostName(primary), taken.Missing)))
	}
	p.Execute(primary, replication.Master, tsql.BackupDatabase(d.publisherDatabase(), tsql.BackupForm{
		Files: []string{d.taken(r.Backup)}, Keep: true, CopyOnly: true, Compression: true, Checksum: true}).
		Because("database "+d.database()+" on "+d.host()+" begins with it"))
	return p.Proceed("%s is being backed up on %s for %s", d.publisherDatabase(), credentials.HostName(primary), d.host())
}

// failing says why a sidecar does not do what it is told, after a sentence; empty when it says nothing.
func failing(s *files.Status) string {
	if s == nil || s.State != files.Failing {
		return ""
	}
	return ", which fails: " + s.Message
}

// planBrought has the subscriber's sidecar bring the backup. Before, the order at the publisher names the set that is
// there: nothing else is written, brought, restored or registered with from then on.
func planBrought(d Desired, o Observed, p *replication.Plan, primary v1alpha1.ServerName) bool {
	sender, reader := d.Senders[primary], *o.order(d)
	taken, _ := o.Backup.Taken.Get()
	reader.Token, reader.Transfers, reader.Attempt.Set = sender.Token, sender.Sends, taken.Header.ID
	want := orders.Mirror{Subscription: d.backupName(), Source: sender.Source, Host: credentials.HostName(primary),
		CA: sender.CA, Token: sender.Token, Folder: d.backupFolder(), Generation: generation(reader.Backup),
		Transfers: d.Receives}
	if *o.order(d) != reader {
		p.Add(TellBackup{Server: primary, Reader: &reader})
	}
	switch told := o.Backup.Told; {
	case told != nil && !told.Ended && (told.Folder != want.Folder || told.Host != want.Host):
		p.Add(TellBackup{Server: d.Subscriber, Mirror: d.noMirror(told)})
		return p.Proceed("the sidecar of %s is told to remove an earlier backup", d.host())
	case told != nil && told.Ended && (o.Backup.Mirror == nil || o.Backup.Mirror.State != files.Removed):
		return p.Settle(conditions.InProgress(v1alpha1.ReasonMirroring, fmt.Sprintf(
			"the sidecar of %s removes an earlier backup%s", d.host(), failing(o.Backup.Mirror))))
	case told == nil || !reflect.DeepEqual(*told, want):
		p.Add(TellBackup{Server: d.Subscriber, Mirror: &want})
	}
	if !p.Proceed("the sidecar of %s is told to bring the backup from %s", d.host(), credentials.HostName(primary)) {
		return false
	}
	if o.Backup.arrived(reader.Backup) {
		return true
	}
	text := "the subscriber's sidecar begins to bring the backup"
	if m := o.Backup.Mirror; m != nil && m.Total > 0 {
		text = replication.CopyWords(&v1alpha1.SubscriptionCopy{Backup: reader.Backup, Bytes: m.Total,
			PresentBytes: m.Bytes, BytesPerSecond: m.Rate})
	}
	return p.Settle(conditions.InProgress(v1alpha1.ReasonMirroring, text+failing(o.Backup.Mirror)))
}

// planRestored has the subscriber restore the backup, once what was brought is seen to be the set that was taken. A
// database that has to make way is renamed, and kept; one that an earlier backup was being restored as is dropped:
// nobody has written to it.
func planRestored(d Desired, o Observed, p *replication.Plan, primary v1alpha1.ServerName) bool {
	r := o.order(d)
	brought, err := o.Backup.Brought.Get()
	switch {
	case err != nil:
		return p.Settle(replication.Unanswered(err, replication.NoSubscriber))
	case brought.Missing != nil:
		return p.Settle(conditions.Unknown(v1alpha1.ReasonEngineNotAnswering, fmt.Sprintf(
			"backup %s was brought to %s, and cannot be read there now: %v", r.Backup, d.host(), brought.Missing)))
	}
	places, err := o.Backup.Places.Get()
	own := o.restoredSet(d, r)
	switch {
	case places != nil && !own && o.online():
		aside := fmt.Sprintf("%.100s_replaced_%s", d.database(), o.Now.UTC().Format(stampForm))
		p.Destroy(reconcile.Seen("it is empty, or a person agrees, and it stays under another name", err, o.HereErr),
			replication.Execute{Server: d.Subscriber, Database: replication.Master,
				Statement: tsql.RenameDatabase(d.database(), aside).Because("a backup is restored in its place")})
		return p.Proceed("database %s on %s becomes %s", d.database(), d.host(), aside)
	case places != nil && !own:
		seen := reconcile.Seen("it was left "+places.State+" by the restore of an earlier backup for it", err)
		p.Destroy(seen,
			replication.Execute{Server: d.Subscriber, Database: replication.Master,
				Statement: tsql.DropOwnRestoring(d.database(), d.mark(""))})
		return p.Proceed("what an earlier backup has left of %s on %s is dropped", d.database(), d.host())
	}
	entries, err := o.Backup.Files.Get()
	if err != nil {
		return p.Settle(replication.Unanswered(err, replication.NoSubscriber))
	}
	mark := d.mark(markedBy(r))
	p.Execute(d.Subscriber, replication.Master, tsql.RestoreFirst(d.database(), mark, tsql.RestoreForm{
		Files: []string{d.arrived(primary, r.Backup)}, Position: 1, Moves: moves(entries, mark), Recover: true}).
		Because("the subscription begins with it"))
	return p.Proceed("the backup is being restored as %s on %s", d.database(), d.host())
}

// restoring is the state of a database that is being restored, or waits for more of a backup.
const restoring = "RESTORING"

// moves are the places of the database's files, whose names have the mark.
func moves(entries []mssql.BackupFileEntry, mark string) (all []tsql.FileMove) {
	number := map[bool]int{}
	for _, f := range entries {
		number[f.Log]++
		dir, extension := conf.DataDir, ".mdf"
		switch {
		case f.Log:
			dir, extension = conf.LogDir, ".ldf"
		case number[f.Log] > 1:
			extension = ".ndf"
		}
		name := fmt.Sprintf("%s-%d%s", mark, number[f.Log], extension)
		all = append(all, tsql.FileMove{Name: f.Name, To: path.Join(dir, name)})
	}
	return all
}

// noMirror ends an order of the subscriber's sidecar, which removes the files.
func (d Desired) noMirror(told *orders.Mirror) *orders.Mirror {
	return &orders.Mirror{Subscription: d.backupName(), Folder: told.Folder, Host: told.Host, Ended: true}
}

// endBackup has the sidecars remove the files of a backup that has served, and takes their orders once they have.
func endBackup(d Desired, o Observed, add func(replication.Step)) {
	for server, r := range o.Backup.Readers {
		if s := o.Backup.Sent[server]; !r.Ended {
			add(TellBackup{Server: server, Reader: ended(r)})
		} else if s != nil && s.State == files.Removed {
			add(TellBackup{Server: server})
		}
	}
	if told := o.Backup.Told; told != nil && !told.Ended {
		add(TellBackup{Server: d.Subscriber, Mirror: d.noMirror(told)})
	} else if told != nil && o.Backup.Mirror != nil && o.Backup.Mirror.State == files.Removed {
		add(TellBackup{Server: d.Subscriber})
	}
}

// endBackupAnyway is endBackup of a subscription that goes: a sidecar that says nothing of its order, as one of an
// earlier release, keeps it from nothing.
func endBackupAnyway(d Desired, o Observed, p *replication.Plan) {
	endBackup(d, o, p.Add)
	const left = "on %s the backup below %s/unc/%s with which the subscription began: its sidecar does not say that it " +
		"is gone"
	for server, r := range o.Backup.Readers {
		if r.Ended && o.Backup.Sent[server] == nil {
			p.Leave(left, credentials.HostName(server), conf.SnapshotDir, r.Folder)
			p.Add(TellBackup{Server: server})
		}
	}
	if told := o.Backup.Told; told != nil && told.Ended && o.Backup.Mirror == nil {
		p.Leave(left, d.host(), path.Join(conf.MirrorDir, told.Host), told.Folder)
		p.Add(TellBackup{Server: d.Subscriber})
	}
}
