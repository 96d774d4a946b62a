// SPDX-License-Identifier: Apache-2.0

package subscription

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/conf"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/transfer"
)

// Sender is a server of the publisher as the subscriber's sidecar reaches its sidecar for a backup.
type Sender struct {
	// Source is its sidecar, host:port; CA has signed its certificate, and Token lets the subscriber's read the backup.
	Source string
	CA     []byte
	Token  string
	// Sends bound what it sends, by its site.
	Sends transfer.Settings
}

// fromBackup tells that the subscriber is to begin with a backup.
func (d Desired) fromBackup() bool {
	return d.Publication != nil && d.Publication.InitializationOf(d.Subscription) == v1alpha1.InitializeBackup
}

// desireSenders finds how the sidecars of the publisher's servers are reached. One of which that is not known is left
// out: it matters once it is the primary.
func (r *Reconciler) desireSenders(ctx context.Context, d *Desired) (err error) {
	if !d.fromBackup() {
		return nil
	}
	d.Senders = map[v1alpha1.ServerName]Sender{}
	for _, server := range d.Publisher.Servers {
		access, unknown := r.access.Access(ctx, d.Subscription.Namespace, server)
		if unknown != nil {
			continue
		}
		s := Sender{Source: r.address(d.Subscription.Namespace, server), CA: access.CA}
		if s.Token, unknown = credentials.Derive(access.Passwords, "backup for "+d.backupName()); unknown != nil {
			continue
		}
		if s.Sends, err = r.transfers(ctx, d.Subscription.Namespace, server); err != nil {
			return err
		}
		d.Senders[server] = s
	}
	return nil
}

// backupName is under which name sidecars have the orders of the backup, and of the folder below "unc" in which it
// lies: no Subscription has an underscore in its name, and a snapshot's folder has two.
func (d Desired) backupName() string { return d.name() + "_backup" }

// backupFile is the backup's in its folder.
const backupFile = "full.bak"

// taken is where the publisher's engine writes a backup, brought where the subscriber's reads it.
func (d Desired) taken(stamp string) string {
	return path.Join(conf.SnapshotDir, "unc", d.backupName(), stamp, backupFile)
}

func (d Desired) arrived(from v1alpha1.ServerName, stamp string) string {
	return path.Join(conf.Mirror(from), "unc", d.backupName(), stamp, backupFile)
}

// stampForm is a time as the name of a folder has it, generationForm as a mirror is asked for it.
const (
	stampForm      = "20060102150405"
	generationForm = "2006-01-02T15:04:05"
)

// generation is a backup as its mirror is asked for.
func generation(stamp string) string {
	at, err := time.Parse(stampForm, stamp)
	if err != nil {
		return ""
	}
	return at.Format(generationForm)
}

// mark is in the names of all files of a database that was restored for this Subscription, of a backup unless that is
// empty: by it the database is known to be its own.
func (d Desired) mark(stamp string) string {
	return "geosql-" + string(d.Subscription.UID) + "-" + stamp
}

// noBackup says why the subscriber can't begin with a backup, by what is declared; empty where it can.
func (d Desired) noBackup() string {
	const method = "initialization.method Backup "
	switch {
	case slices.Contains(d.Publisher.Servers, d.Subscriber):
		return fmt.Sprintf(method+"brings a database to another server, and %s has it: declare method %s", d.Subscriber,
			v1alpha1.InitializeSnapshot)
	case d.DatabaseDeclared:
		return fmt.Sprintf(method+"brings database %s, and SQLServer %s declares it, which makes an empty one: take it out "+
			"there", d.database(), d.Subscriber)
	case len(d.Beside) > 0:
		return fmt.Sprintf(method+"brings a whole database, and Subscription %s has %s, too: give one of them another "+
			"database", d.Beside[0].Name, d.database())
	}
	for _, a := range d.Publication.Spec.Articles {
		if a.Filter != "" || len(a.Columns) > 0 {
			return fmt.Sprintf(method+"brings all rows and columns, and article %s has a filter, or columns of its own: "+
				"declare method %s", a.Table, v1alpha1.InitializeSnapshot)
		}
	}
	return ""
}

// noRowVersions says why the articles' tables can't come with a backup; empty where they can.
func noRowVersions(f mssql.FromBackup) string {
	if len(f.RowVersions) == 0 {
		return ""
	}
	return fmt.Sprintf("a database that was restored makes the values of timestamp columns itself, and takes none of the "+
		"publisher's: %s. Declare method %s", strings.Join(f.RowVersions, ", "), v1alpha1.InitializeSnapshot)
}

// anotherBackup says how a subscriber that began with a backup gets another one.
func (d Desired) anotherBackup() string {
	return fmt.Sprintf("delete the Subscription with reclaimPolicy Delete and declare it again with the annotation "+
		"%s=true: it begins with a new backup then, and database %s is renamed, and kept",
		v1alpha1.AdoptAnnotation, d.database())
}
