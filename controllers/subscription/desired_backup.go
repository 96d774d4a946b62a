// SPDX-License-Identifier: Apache-2.0

package subscription

import (
	"context"
	"crypto/sha256"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/conf"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/replication"
	"geosql.dev/operator/internal/sites"
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

// ownMethod is what the Subscription says of its method for itself, empty when nothing.
func (d Desired) ownMethod() v1alpha1.InitializationMethod {
	if d.Subscription.Spec.Initialization == nil {
		return ""
	}
	return d.Subscription.Spec.Initialization.Method
}

// noted tells that the status has a backup of which something may be left.
func (d Desired) noted() bool {
	c := d.Subscription.Status.Copy
	return c != nil && c.Backup != ""
}

// desireHolders finds the servers that may have something of a backup that ends.
func (r *Reconciler) desireHolders(ctx context.Context, d *Desired) (err error) {
	switch {
	case d.deleting():
		d.Holders = d.Gone
	case d.noted():
		d.Holders, err = sites.ReadGone(ctx, r.hub, d.Subscription.Namespace, time.Now())
	}
	return err
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
		if s.Token, unknown = credentials.Derive(access.Passwords, "backup for "+d.backupOf()); unknown != nil {
			continue
		}
		if s.Sends, err = r.transfers(ctx, d.Subscription.Namespace, server); err != nil {
			return err
		}
		d.Senders[server] = s
	}
	return nil
}

// backupName is under which name sidecars have the orders of the backup: no Subscription has an underscore in its name.
func (d Desired) backupName() string { return d.name() + "_backup" }

// backupFolder is the folder below "unc" in which the backup lies. It is of this object alone, and of where it brings
// the database: what one of the name had before is never taken for its own.
func (d Desired) backupFolder() string {
	digest := sha256.Sum256([]byte(d.backupOf()))
	return fmt.Sprintf("%.60s_backup_%x", d.name(), digest[:12])
}

// backupOf names the object, and where it brings the database.
func (d Desired) backupOf() string {
	return fmt.Sprintf("%s (%s), database %s on %s", d.name(), d.Subscription.UID, strings.ToLower(d.database()),
		d.Subscriber)
}

// backupFile is the backup's in its folder.
const backupFile = "full.bak"

// taken is where the publisher's engine writes a backup, arrived where the subscriber's reads it.
func (d Desired) taken(stamp string) string {
	return path.Join(conf.SnapshotDir, "unc", d.backupFolder(), stamp, backupFile)
}

func (d Desired) arrived(from v1alpha1.ServerName, stamp string) string {
	return path.Join(conf.Mirror(from), "unc", d.backupFolder(), stamp, backupFile)
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

// mark is in the names of all files of a database that was restored for this Subscription, of a backup, as markedBy has
// it, unless that is empty: by it the database is known to be its own.
func (d Desired) mark(backup string) string {
	return "geosql-" + string(d.Subscription.UID) + "-" + backup
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

// noRestore says why a backup of the publisher can't be restored at the subscriber, and with which reason; empty where
// it can.
func noRestore(d Desired, from mssql.FromBackup, at mssql.RestoreTarget) (reason, why string) {
	primary := d.Publisher.Name
	switch key := from.Encryptor; {
	case at.Major > 0 && from.Major > at.Major:
		return v1alpha1.ReasonNotSupported, fmt.Sprintf("%s has version %d, and %s version %d: no server restores a backup "+
			"of a newer one. Upgrade SQLServer %s first, or declare method %s", primary, from.Major, d.host(), at.Major,
			d.Subscriber, v1alpha1.InitializeSnapshot)
	case key.Thumbprint == "" || slices.Contains(at.Certificates, key.Thumbprint):
		return "", ""
	case !key.Certificate:
		return v1alpha1.ReasonKeyMissing, fmt.Sprintf("database %s is encrypted by a key of a provider outside of the "+
			"servers, and nobody knows whether %s has it: declare method %s", d.publisherDatabase(), d.host(),
			v1alpha1.InitializeSnapshot)
	}
	return v1alpha1.ReasonKeyMissing, fmt.Sprintf("database %s is encrypted, and %s lacks the certificate with the "+
		"thumbprint 0x%s with its private key, without which no backup of it is restored there: make it there (CREATE "+
		"CERTIFICATE ... WITH PRIVATE KEY), of a backup of the publisher's, or declare method %s",
		d.publisherDatabase(), d.host(), from.Encryptor.Thumbprint, v1alpha1.InitializeSnapshot)
}

// notKept says why the distributor may lack what comes after a backup; empty where it has it.
func notKept(d Desired, from mssql.FromBackup) string {
	if from.ImmediateSync {
		return ""
	}
	return fmt.Sprintf("publication %s has no immediate_sync, without which the distributor keeps nothing of what comes "+
		"after a backup for who does not subscribe yet: set it there (sp_changepublication @property = "+
		"N'immediate_sync', @value = N'true'), or declare method %s", d.publication(), v1alpha1.InitializeSnapshot)
}

// anotherBackup says how a subscriber that began with a backup gets another one.
func (d Desired) anotherBackup() string {
	return fmt.Sprintf("delete the Subscription with reclaimPolicy Delete and declare it again with the annotation "+
		"%s=true: it begins with a new backup then, and database %s is renamed, and kept",
		v1alpha1.AdoptAnnotation, d.database())
}

// desireLogPolicy finds the BackupPolicy of a database that began with a backup.
func (r *Reconciler) desireLogPolicy(ctx context.Context, d *Desired) error {
	if !replication.BackupBrought(d.Subscription) {
		return nil
	}
	var list v1alpha1.BackupPolicyList
	if err := r.hub.List(ctx, &list, client.InNamespace(d.Subscription.Namespace)); err != nil {
		return fmt.Errorf("list the BackupPolicies of namespace %s: %w", d.Subscription.Namespace, err)
	}
	var groups v1alpha1.AvailabilityGroupList
	if err := r.hub.List(ctx, &groups, client.InNamespace(d.Subscription.Namespace)); err != nil {
		return fmt.Errorf("list the AvailabilityGroups of namespace %s: %w", d.Subscription.Namespace, err)
	}
	targets := []v1alpha1.ServerOrGroup{{Server: d.Subscriber}}
	for _, g := range groups.Items {
		if slices.ContainsFunc(g.Spec.Replicas, func(x v1alpha1.Replica) bool { return x.Server == d.Subscriber }) &&
			slices.ContainsFunc(g.Spec.Databases, func(x v1alpha1.Database) bool {
				return strings.EqualFold(string(x.Name), d.database())
			}) {
			targets = append(targets, v1alpha1.ServerOrGroup{AvailabilityGroup: v1alpha1.ObjectName(g.Name)})
		}
	}
	for _, target := range targets {
		if p := v1alpha1.FirstBackupPolicy(list.Items, target); p != nil && takes(p, d.database()) {
			d.LogPolicy = p.Name
		}
	}
	return nil
}
