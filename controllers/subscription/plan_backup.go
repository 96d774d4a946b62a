// SPDX-License-Identifier: Apache-2.0

package subscription

import (
	"fmt"
	"maps"
	"path"
	"reflect"
	"slices"
	"strings"
	"time"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent/files"
	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/conf"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/reconcile/conditions"
	"geosql.dev/operator/internal/replication"
	"geosql.dev/operator/internal/tsql"
)

// planBackup brings the subscriber's database by a backup, before the subscription is registered: what stands is seen
// by the orders of sidecars, the file, and the names of the database's files, so that any step can be the last. Once it
// is registered, or another method is declared, the files go at both ends.
func planBackup(d Desired, o Observed, p *replication.Plan) bool {
	if !d.fromBackup() || len(o.registrations(d)) > 0 {
		if !planWritable(d, o, p) {
			return false
		}
		if !unreported(d, o) {
			// Not before the status tells how it was registered: until then the order does.
			endBackup(d, o, func(s replication.Step) { p.Beside(s, v1alpha1.ReasonConfiguring) })
		}
		return planAbandoned(d, o, p)
	}
	if o.mayRegister(d) {
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
	if lacking := o.lacking(d); len(lacking) > 0 {
		return p.Settle(conditions.InProgress(v1alpha1.ReasonWaitingForPublication, fmt.Sprintf(
			"publication %s does not have %s yet: the backup is taken when it has all its articles%s", d.publication(),
			listed(lacking), d.askPublication())))
	}
	if !d.publicationRests(o) {
		return p.Settle(conditions.InProgress(v1alpha1.ReasonWaitingForPublication, fmt.Sprintf(
			"publication %s is being changed: the backup is taken when it rests%s", d.publication(), d.askPublication())))
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
		return planInTime(d, o, p, r)
	}
	last := o.lastFailed(d)
	if last.Failed >= mostFailed {
		endMirror(d, o, func(s replication.Step) { p.Beside(s, v1alpha1.ReasonConfiguring) })
		return p.Settle(conditions.Stalled(v1alpha1.ReasonBackupUnsuitable, fmt.Sprintf(
			"backups with which %s on %s is to begin come to nothing, and no other is taken. The last one, %s. Raise "+
				"spec.retention of Distributor %s, which is %d hours, to try again, or mend that, delete the Subscription and "+
				"declare it anew, or declare method %s", d.database(), d.host(), last.Why, d.System.Name,
			hours(o.retained(d)), v1alpha1.InitializeSnapshot)))
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

// planTaken has the publisher take the backup: its sidecar makes the folder first.
func planTaken(d Desired, o Observed, p *replication.Plan, primary v1alpha1.ServerName) bool {
	sender, known := d.Senders[primary]
	if !known {
		return p.Settle(conditions.Unknown(v1alpha1.ReasonReferenceMissing, fmt.Sprintf(
			"the credentials of server %s are not known", primary)))
	}
	host := credentials.HostName(primary)
	for _, server := range slices.Sorted(maps.Keys(o.Backup.Readers)) {
		if r := o.Backup.Readers[server]; server != primary && !r.Ended {
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

// planRestored has the subscriber restore the backup, once what was brought is seen to be the set that was taken, and
// nothing stands in its place. Nobody writes there before the subscription is registered: should that come to nothing,
// the database goes without anybody's rows.
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
	if places, _ := o.Backup.Places.Get(); places != nil && !o.restoredSet(d, r) {
		return planMakesWay(d, o, p)
	}
	entries, err := o.Backup.Files.Get()
	if err != nil {
		return p.Settle(replication.Unanswered(err, replication.NoSubscriber))
	}
	mark := d.mark(markedBy(r))
	p.Execute(d.Subscriber, replication.Master, tsql.RestoreReadOnly(d.database(), mark, tsql.RestoreForm{
		Files: []string{d.arrived(primary, r.Backup)}, Position: 1, Moves: moves(entries, mark)}).
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
