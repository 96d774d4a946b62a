// SPDX-License-Identifier: Apache-2.0

package restore

import (
	"path"
	"slices"
	"strings"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/tsql"
)

// Discard drops the database that a Restore made to see that it can be.
type Discard struct{ mssql.Execute }

// discards says that the database of a Restore is to be dropped now: it has ended, or is deleted.
func discards(d Desired) bool {
	return d.Restore.Spec.Discard && !d.Restore.Spec.DryRun && d.server() != "" &&
		(d.Restore.Status.Outcome != "" || d.Restore.DeletionTimestamp != nil)
}

// planDiscard drops the database, once its agent has ended what it began; it says whether nothing is left to drop.
// One that is another's, or of which nobody knows whose it is, stays.
func planDiscard(p *reconcile.Plan, d Desired, o Observed) bool {
	places, err := o.Places.Get()
	if !discards(d) || err == nil && !itsOwn(d, places) {
		return true
	}
	p.Destroy(reconcile.Seen("each file of the database has the Restore's UID in its name", err), Discard{step(d,
		tsql.DropDatabase(d.database()).Because("it was restored to see that it can be"))})
	return false
}

// hands says that a Restore comes to its end, or is deleted, whose database may be the agent's. One that was refused,
// or made none, has nothing to do with what has the name.
func hands(d Desired) bool {
	return !d.Restore.Spec.DryRun && d.server() != "" && d.Restore.Status.Outcome != v1alpha1.RestoreRefused &&
		(d.Restore.Status.Outcome != "" || d.Restore.DeletionTimestamp != nil)
}

// ours says that the database is known to be the Restore's own, and its end may touch it.
func ours(d Desired, o Observed) bool {
	places, err := o.Places.Get()
	return err == nil && hands(d) && itsOwn(d, places)
}

// planHand has the database the agent's no more: a group's, or a server's that declares it, is the operator's then.
func planHand(p *reconcile.Plan, d Desired, o Observed, why string) {
	owner, err := o.Owner.Get()
	if err == nil && owner == credentials.RoleAgent.Login() && !o.Secondary && ours(d, o) {
		execute(p, d, tsql.SetDatabaseOwner(made(d, o), becomes(d).Login()).Because(why))
	}
}

// itsOwn says that a database was made by the Restore: its UID is in the name of each file, which nobody else gives
// one.
func itsOwn(d Desired, places *mssql.DatabasePlaces) bool {
	return places != nil && len(places.Files) > 0 && !slices.ContainsFunc(places.Files, func(file string) bool {
		return !strings.Contains(path.Base(strings.ReplaceAll(file, `\`, "/")), string(d.Restore.UID))
	})
}
