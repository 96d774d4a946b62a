// SPDX-License-Identifier: Apache-2.0

package drill

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/tsql"
	"geosql.dev/operator/internal/workload"
	"geosql.dev/operator/internal/workload/history"
	"geosql.dev/operator/internal/workload/history/listappend"
)

// listsFrom is the number of a run's first list. Its clients have it in common, and no other run has it: it follows
// from when the run was accepted, to the second.
func listsFrom(s *v1alpha1.DrillStatus) int64 {
	if s.Accepted == nil {
		return workload.ListRange // of a drill that is only planned
	}
	return s.Accepted.Unix() * workload.ListRange
}

// readLists reads the lists of copies whose rows were read: whoever has a transaction's row has what it appended.
func (r *Reconciler) readLists(
	ctx context.Context,
	w *Observed,
	copies []copyOf,
	read []history.Replica,
	last bool,
) error {
	for i, c := range copies {
		if err := r.withLists(ctx, w, c, &read[i]); err != nil {
			return &workload.SourceError{Source: i, Server: string(c.server), Err: err}
		}
		if c.subscriber {
			if err := r.atOneMoment(ctx, w, []copyOf{copies[0], c}, &read[i], last); err != nil {
				return err
			}
		}
	}
	return nil
}

// withLists reads the lists of a copy that has them.
func (r *Reconciler) withLists(ctx context.Context, w *Observed, c copyOf, there *history.Replica) (err error) {
	if c.subscriber && !w.target.publishes(tsql.ListsTable) {
		return nil
	}
	there.Lists, err = r.lists(ctx, w, c.server, c.database)
	return err
}

// atOneMoment reads a subscriber once more, beside a copy that has all: where nothing has come meanwhile, what was read
// was there at one moment, and its order can be judged, whether by its rows or by its lists.
func (r *Reconciler) atOneMoment(
	ctx context.Context,
	w *Observed,
	copies []copyOf,
	there *history.Replica,
	last bool,
) error {
	again, err := r.readSideBySide(ctx, w, copies)
	if err == nil {
		err = r.withLists(ctx, w, copies[1], &again[1])
	}
	there.Moved = err != nil || moved(*there, again[1])
	switch {
	case last || !there.Moved:
		return nil
	case err != nil:
		return err
	}
	return fmt.Errorf("rows arrive at %s while they are read", there.Server)
}

// moved says that something has come to a copy between two readings of it.
func moved(before, after history.Replica) bool {
	return missingRows(after, before) > 0 || !maps.EqualFunc(before.Lists, after.Lists, slices.Equal)
}

// lists that a server has of the run.
func (r *Reconciler) lists(
	ctx context.Context,
	w *Observed,
	server v1alpha1.ServerName,
	database string,
) (map[int64]listappend.List, error) {
	ctx, cancel := context.WithTimeout(ctx, timeLeft(ctx, rowsTimeout))
	defer cancel()
	db, err := r.connector.Open(
		ctx,
		mssql.Target{Namespace: w.drill.Namespace, Server: server, Database: database, Role: credentials.RoleSA},
	)
	if err != nil {
		return nil, err
	}
	return workload.ReadLists(ctx, db, listsFrom(&w.drill.Status))
}
