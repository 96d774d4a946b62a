// SPDX-License-Identifier: Apache-2.0

package subscription

import (
	"fmt"
	"path"
	"reflect"
	"strings"

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
	primary, stamp := o.primary(d), o.attempt(d)
	if stamp != "" && o.restoredOf(d, stamp) && o.online() {
		// Whatever the publication does by now, as giving the log reader the right that the registration waits for.
		return true
	}
	return planAllowed(d, o, p) && planConsented(d, o, p) && planTaken(d, o, p, primary, stamp) &&
		planBrought(d, o, p, primary, stamp) && planRestored(d, o, p, primary, stamp)
}

// planAllowed has the publication take subscribers that begin with backups, and waits until it rests: of an article
// that comes after the backup it would have nothing.
func planAllowed(d Desired, o Observed, p *replication.Plan) bool {
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
	if why := noRowVersions(from); why != "" {
		return p.Settle(conditions.Stalled(v1alpha1.ReasonNotSupported, why))
	}
	if _, err := o.Backup.Places.Get(); err != nil {
		return p.Settle(replication.Unanswered(err, replication.NoSubscriber))
	}
	if !o.everyArticle(d) || !d.publicationRests(o) {
		return p.Settle(conditions.InProgress(v1alpha1.ReasonWaitingForPublication, fmt.Sprintf(
			"publication %s is being changed: the backup is taken when it has all its articles", d.publication())))
	}
	if !from.Allowed {
		p.Execute(o.primary(d), d.publisherDatabase(), tsql.AllowBackups(d.publication()))
	}
	return p.Proceed("publication %s is being opened for subscribers that begin with a backup", d.publication())
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
	if places == nil || o.restoredOf(d, "") && !d.registeredBefore() {
		return true
	}
	if !o.online() || database == nil {
		return p.Settle(conditions.InProgress(v1alpha1.ReasonWaitingForDatabase, fmt.Sprintf(
			"database %s on %s is %s", d.database(), d.host(), strings.ToLower(places.State))))
	}
	if o.HereErr != nil {
		return p.Settle(replication.Unanswered(o.HereErr, replication.NoSubscriber))
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
func planTaken(
	d Desired, o Observed, p *replication.Plan, primary v1alpha1.ServerName, stamp string,
) bool {
	sender, known := d.Senders[primary]
	if !known {
		return p.Settle(conditions.Unknown(v1alpha1.ReasonReferenceMissing, fmt.Sprintf(
			"the credentials of server %s are not known", primary)))
	}
	for server, r := range o.Backup.Readers {
		if server != primary && !r.Ended {
			p.Beside(TellBackup{Server: server, Reader: d.noReader()}, v1alpha1.ReasonConfiguring)
		}
	}
	if stamp == "" {
		p.Add(TellBackup{Server: primary, Reader: &orders.Reader{Subscription: d.backupName(), Folder: d.backupName(),
			Token: sender.Token, Transfers: sender.Sends, Backup: o.Now.UTC().Format(stampForm)}})
		return p.Proceed("the sidecar of %s is told to make room for a backup", credentials.HostName(primary))
	}
	if !o.Backup.made(primary, stamp) {
		return p.Settle(conditions.InProgress(v1alpha1.ReasonInitializing, fmt.Sprintf(
			"the sidecar of %s makes the folder for the backup%s", credentials.HostName(primary),
			failing(o.Backup.Sent[primary]))))
	}
	header, err := o.Backup.Header.Get()
	if err != nil {
		return p.Settle(replication.Unanswered(err, d.Publisher.Instead()))
	}
	if header == nil {
		p.Execute(primary, replication.Master, tsql.BackupDatabase(d.publisherDatabase(), tsql.BackupForm{
			Files: []string{d.taken(stamp)}, CopyOnly: true, Compression: true, Checksum: true}).
			Because("database "+d.database()+" on "+d.host()+" begins with it"))
	}
	return p.Proceed("%s is being backed up on %s for %s", d.publisherDatabase(), credentials.HostName(primary), d.host())
}

// failing says why a sidecar does not do what it is told, after a sentence; empty when it says nothing.
func failing(s *files.Status) string {
	if s == nil || s.State != files.Failing {
		return ""
	}
	return ", which fails: " + s.Message
}

// planBrought has the subscriber's sidecar bring the backup.
func planBrought(
	d Desired, o Observed, p *replication.Plan, primary v1alpha1.ServerName, stamp string,
) bool {
	sender := d.Senders[primary]
	want := orders.Mirror{Subscription: d.backupName(), Source: sender.Source, Host: credentials.HostName(primary),
		CA: sender.CA, Token: sender.Token, Folder: d.backupName(), Generation: generation(stamp), Transfers: d.Receives}
	reader := orders.Reader{Subscription: d.backupName(), Folder: d.backupName(), Token: sender.Token,
		Transfers: sender.Sends, Backup: stamp}
	if *o.Backup.Readers[primary] != reader {
		p.Add(TellBackup{Server: primary, Reader: &reader})
	}
	if o.Backup.Told == nil || !reflect.DeepEqual(*o.Backup.Told, want) {
		p.Add(TellBackup{Server: d.Subscriber, Mirror: &want})
	}
	if !p.Proceed("the sidecar of %s is told to bring the backup from %s", d.host(), credentials.HostName(primary)) {
		return false
	}
	if o.Backup.arrived(stamp) {
		return true
	}
	text := "the subscriber's sidecar begins to bring the backup"
	if m := o.Backup.Mirror; m != nil && m.Total > 0 {
		text = replication.CopyWords(&v1alpha1.SubscriptionCopy{Backup: stamp, Bytes: m.Total, PresentBytes: m.Bytes,
			BytesPerSecond: m.Rate})
	}
	return p.Settle(conditions.InProgress(v1alpha1.ReasonMirroring, text+failing(o.Backup.Mirror)))
}

// planRestored has the subscriber restore the backup. A database that has to make way is renamed, and kept; one that an
// earlier backup was being restored as is dropped: nobody has written to it.
func planRestored(
	d Desired, o Observed, p *replication.Plan, primary v1alpha1.ServerName, stamp string,
) bool {
	places, err := o.Backup.Places.Get()
	own := o.restoredOf(d, stamp)
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
				Statement: tsql.DropDatabase(d.database())})
		return p.Proceed("what an earlier backup has left of %s on %s is dropped", d.database(), d.host())
	}
	entries, err := o.Backup.Files.Get()
	if err != nil {
		return p.Settle(replication.Unanswered(err, replication.NoSubscriber))
	}
	p.Execute(d.Subscriber, replication.Master, tsql.RestoreFirst(d.database(), d.mark(stamp), tsql.RestoreForm{
		Files: []string{d.arrived(primary, stamp)}, Moves: d.moves(entries, stamp), Recover: true}).
		Because("the subscription begins with it"))
	return p.Proceed("the backup is being restored as %s on %s", d.database(), d.host())
}

// moves are the places of the database's files, whose names have the mark.
func (d Desired) moves(entries []mssql.BackupFileEntry, stamp string) (all []tsql.FileMove) {
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
		name := fmt.Sprintf("%s-%d%s", d.mark(stamp), number[f.Log], extension)
		all = append(all, tsql.FileMove{Name: f.Name, To: path.Join(dir, name)})
	}
	return all
}

// noReader and noMirror end orders: the sidecar removes the files.
func (d Desired) noReader() *orders.Reader {
	return &orders.Reader{Subscription: d.backupName(), Folder: d.backupName(), Ended: true}
}

func (d Desired) noMirror(told *orders.Mirror) *orders.Mirror {
	return &orders.Mirror{Subscription: d.backupName(), Folder: d.backupName(), Host: told.Host, Ended: true}
}

// endBackup has the sidecars remove the files of a backup that has served, and takes their orders once they have.
func endBackup(d Desired, o Observed, add func(replication.Step)) {
	for server, r := range o.Backup.Readers {
		if s := o.Backup.Sent[server]; !r.Ended {
			add(TellBackup{Server: server, Reader: d.noReader()})
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
			p.Leave(left, credentials.HostName(server), conf.SnapshotDir, d.backupName())
			p.Add(TellBackup{Server: server})
		}
	}
	if told := o.Backup.Told; told != nil && told.Ended && o.Backup.Mirror == nil {
		p.Leave(left, d.host(), path.Join(conf.MirrorDir, told.Host), d.backupName())
		p.Add(TellBackup{Server: d.Subscriber})
	}
}
