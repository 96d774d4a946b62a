// SPDX-License-Identifier: Apache-2.0

package restore

import (
	"path"
	"slices"
	"strings"

	"geosql.dev/operator/internal/mssql"
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

// itsOwn says that a database was made by the Restore: its UID is in the name of each file, which nobody else gives
// one.
func itsOwn(d Desired, places *mssql.DatabasePlaces) bool {
	return places != nil && len(places.Files) > 0 && !slices.ContainsFunc(places.Files, func(file string) bool {
		return !strings.Contains(path.Base(strings.ReplaceAll(file, `\`, "/")), string(d.Restore.UID))
	})
}
