// SPDX-License-Identifier: Apache-2.0

package subscription

import (
	"maps"
	"path"
	"slices"
	"time"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent/files"
	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/mssql/conf"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/reconcile/conditions"
	"geosql.dev/operator/internal/replication"
	"geosql.dev/operator/internal/sites"
	"geosql.dev/operator/internal/tsql"
)

// silentFor is how long a deletion waits for a sidecar that answers and says nothing of an order that has ended: one
// that was started a moment ago has not read its orders, one of an earlier release knows none of the kind.
const silentFor = 2 * time.Minute

// noMirror ends an order of the subscriber's sidecar, which removes the files.
func (d Desired) noMirror(told *orders.Mirror) *orders.Mirror {
	return &orders.Mirror{Subscription: d.backupName(), Folder: told.Folder, Host: told.Host, Ended: true}
}

// removed tells that a server's sidecar has removed the files of an order that has ended.
func (b Backup) removed(server v1alpha1.ServerName) bool {
	r, s := b.Readers[server], b.Sent[server]
	return r != nil && r.Ended && s != nil && s.State == files.Removed
}

// removedMirror tells it of the subscriber's sidecar.
func (b Backup) removedMirror() bool {
	return b.Told != nil && b.Told.Ended && b.Mirror != nil && b.Mirror.State == files.Removed
}

// endBackup has the sidecars remove the files of a backup that has served, and takes their orders once they have.
func endBackup(d Desired, o Observed, add func(replication.Step)) {
	for _, server := range slices.Sorted(maps.Keys(o.Backup.Readers)) {
		if r := o.Backup.Readers[server]; !r.Ended {
			add(TellBackup{Server: server, Reader: ended(r)})
		} else if o.Backup.removed(server) {
			add(TellBackup{Server: server})
		}
	}
	endMirror(d, o, add)
}

// endMirror is endBackup at the subscriber alone.
func endMirror(d Desired, o Observed, add func(replication.Step)) {
	if told := o.Backup.Told; told != nil && !told.Ended {
		add(TellBackup{Server: d.Subscriber, Mirror: d.noMirror(told)})
	} else if o.Backup.removedMirror() {
		add(TellBackup{Server: d.Subscriber})
	}
}

// planAbandoned drops what a restore has left, where another way was declared since.
func planAbandoned(d Desired, o Observed, p *replication.Plan) bool {
	return d.fromBackup() || !o.halfRestored(d) || planDropped(d, o, p)
}

// unread tells that nobody has looked for a backup: there is none.
func (b Backup) unread() bool { return !b.Looked && b.Err == nil && len(b.Unread) == 0 }

// holding are the servers whose sidecars have an order of the backup.
func (o Observed) holding(d Desired) []v1alpha1.ServerName {
	all := slices.Sorted(maps.Keys(o.Backup.Readers))
	if o.Backup.Told != nil {
		all = append(all, d.Subscriber)
	}
	return all
}

// said is what a server's sidecar says of its order, nil when nothing; why it is not known otherwise.
func (o Observed) said(server v1alpha1.ServerName) (*files.Status, error) {
	if o.Backup.Readers[server] != nil {
		return o.Backup.Sent[server], o.Backup.SentErr[server]
	}
	return o.Backup.Mirror, o.Backup.MirrorErr
}

// awaited tells that a server's sidecar is to remove the files of an order yet, which a deletion waits for. One of an
// earlier release reads the end of a mirror as one of which nothing is known to copy: it waits, and removes nothing.
func (o Observed) awaited(d Desired, server v1alpha1.ServerName) bool {
	s, err := o.said(server)
	switch {
	case s != nil && s.State != files.Waiting:
		return s.State != files.Removed
	case d.Holders.Why(server) != "":
		return false
	}
	since := d.Subscription.DeletionTimestamp
	return err != nil || since == nil || o.Now.Sub(since.Time) < silentFor
}

// planBegun ends what was begun of a backup, whatever becomes of everything else: the orders with their files, and the
// database that was not restored to its end. It waits for servers that may have something of it and are expected back;
// where the status has no backup none was told of one, unless a moment ago.
func planBegun(d Desired, o Observed, p *replication.Plan) bool {
	b := o.Backup
	if b.unread() {
		return true
	}
	written := o.sealed(d) && o.restoredOf(d, "")
	if written {
		// It stays, and whoever has it from now on writes it: its own engine is all that takes.
		p.Beside(replication.Execute{Server: d.Subscriber, Database: replication.Master,
			Statement: tsql.TakeWrites(d.database(), d.mark(""))}, v1alpha1.ReasonDeleting)
	}
	if away := slices.Sorted(maps.Keys(b.Unread)); d.noted() && len(away) > 0 {
		return p.Await(conditions.Unknown(v1alpha1.ReasonSiteUnreachable, b.Unread[away[0]].Error()),
			sites.GoneForGood(away[0]))
	}
	if d.noted() && b.Err != nil {
		return p.Await(conditions.Unknown(v1alpha1.ReasonSiteUnreachable, b.Err.Error()), sites.GoneForGood(d.Subscriber))
	}
	endBackup(d, o, p.Add)
	if !planUnrestored(d, o, p) {
		return false
	}
	if written || len(p.Steps) > 0 {
		return p.Settle(conditions.InProgress(v1alpha1.ReasonDeleting, "what was begun of a backup is being ended"))
	}
	for _, server := range o.holding(d) {
		if !o.awaited(d, server) {
			continue
		}
		why := "the sidecar of " + credentials.HostName(server) + " removes the files of the backup"
		if s, err := o.said(server); err != nil {
			why += ": " + err.Error()
		} else {
			why += failing(s)
		}
		return p.Await(conditions.InProgress(v1alpha1.ReasonDeleting, why), sites.GoneForGood(server))
	}
	return true
}

// planUnrestored drops the database that was being restored for a subscription which is not registered, or not any
// more. One that is ONLINE stays: somebody may use it.
func planUnrestored(d Desired, o Observed, p *replication.Plan) bool {
	if len(o.registrations(d)) > 0 || o.gone(d, d.Subscriber) != "" {
		return true
	}
	if err := o.Backup.Places.Err(); err != nil && d.noted() {
		return p.Await(replication.Unanswered(err, ""), sites.GoneForGood(d.Subscriber))
	}
	if !o.halfRestored(d) {
		return true
	}
	steps := len(p.Steps)
	if planDropped(d, o, p); len(p.Steps) > steps {
		return true
	}
	return p.Await(p.Outcome, sites.GoneForGood(d.Subscriber))
}

// leaveBegun says what stays of a backup at the end of a deletion, and takes the orders of sidecars that never say that
// they have removed its files. That of a server which nobody expects stays: should it come back they go.
func leaveBegun(d Desired, o Observed, p *replication.Plan) {
	const left = "on %s the backup below %s/unc/%s with which the subscription was to begin: its sidecar does not say " +
		"that it is gone"
	for _, server := range o.holding(d) {
		dir, folder := conf.SnapshotDir, ""
		if r := o.Backup.Readers[server]; r != nil {
			folder = r.Folder
		} else {
			dir, folder = path.Join(conf.MirrorDir, o.Backup.Told.Host), o.Backup.Told.Folder
		}
		p.Leave(left, credentials.HostName(server), dir, folder)
		if d.Holders.Why(server) == "" {
			p.Add(TellBackup{Server: server})
		}
	}
	if d.noted() {
		for _, server := range append(slices.Clone(d.Publisher.Servers), d.Subscriber) {
			if why := o.Backup.Lost[server]; why != "" {
				p.Leave("on %s what there is of backup %s (%s)", credentials.HostName(server), d.Subscription.Status.Copy.Backup,
					why)
			}
		}
	}
	if !o.Backup.unread() && o.begun(d) && !o.halfRestored(d) {
		p.Leave("on %s database %s, as it was restored from a backup: drop it if nobody needs it", d.host(), d.database())
	}
}

// beginning says how the deletion of a Subscription goes on that has to end a backup with which it was to begin; empty
// for another one.
func beginning(s *v1alpha1.Subscription) string {
	if !(Desired{Subscription: s}).noted() {
		return ""
	}
	return "what was begun of the backup is ended then"
}

// holds says how the deletion of a Subscription goes on that has to take something away whatever its policy is.
func holds(s *v1alpha1.Subscription) string {
	if why := guarding(s); why != "" {
		return why
	}
	return beginning(s)
}
