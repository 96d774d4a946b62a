// SPDX-License-Identifier: Apache-2.0

package drill

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"k8s.io/utils/ptr"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/drill/archive"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/workload"
	"geosql.dev/operator/internal/workload/history"
)

// copyOf is a copy that is read in the end.
type copyOf struct {
	server     v1alpha1.ServerName
	database   string
	subscriber bool
	// tables that a subscriber has.
	tables []string
}

// copies are those that can be read: replicas, and then the subscriber, with the tables that are published whole.
func (w *Observed) copies() []copyOf {
	var list []copyOf
	for _, name := range w.target.data {
		if w.canBeRead(name) {
			list = append(list, copyOf{server: name, database: w.drill.Status.Database})
		}
	}
	t := w.target
	if len(list) == 0 || t.subscription == nil || t.subscriber == "" {
		return list
	}
	var tables []string
	for _, name := range workload.WrittenTables(profile(w.drill), t.payload(w.drill.Spec.Workload)) {
		if t.publishes(name) {
			tables = append(tables, name)
		}
	}
	if len(tables) == 0 {
		return list
	}
	return append(list, copyOf{server: t.subscriber, database: string(t.subscription.Spec.Database), subscriber: true,
		tables: tables})
}

// wants are what is read of each copy.
func (w *Observed) wants() workload.Wants {
	s := &w.drill.Status
	return workload.Wants{
		After:   ptr.Deref(s.RecordedAfter, 0),
		Since:   since(s),
		Profile: profile(w.drill),
		Payload: w.target.payload(w.drill.Spec.Workload),
		Sold:    workload.ParseSold(s.SoldBefore),
	}
}

// readCopies reads every table that clients wrote from every copy that can be read. A copy that fails is an error,
// unless there is no time left: then the others are read without it.
func (r *Reconciler) readCopies(ctx context.Context, w *Observed, a *archive.Archive, last bool) error {
	ctx, cancel := context.WithTimeout(ctx, timeLeft(ctx, rowsTimeout))
	defer cancel()
	copies := w.copies()
	for {
		read, err := r.readSideBySide(ctx, w, copies)
		if err == nil && profile(w.drill) == workload.Append {
			err = r.readLists(ctx, w, copies, read, last)
		}
		var one *workload.SourceError
		switch {
		case err == nil:
			w.sort(a, copies, read)
			return w.onTheirWay(*a, last)
		case last && errors.As(err, &one):
			if copies = slices.Delete(slices.Clone(copies), one.Source, one.Source+1); len(copies) > 0 &&
				!copies[0].subscriber {
				continue
			}
			return nil // nothing was read, which the verdict says
		default:
			return err
		}
	}
}

func (r *Reconciler) readSideBySide(ctx context.Context, w *Observed, copies []copyOf) ([]history.Replica, error) {
	sources := make([]workload.Source, len(copies))
	for i, c := range copies {
		db, err := r.connector.Open(
			ctx,
			mssql.Target{Namespace: w.drill.Namespace, Server: c.server, Database: c.database, Role: credentials.RoleSA},
		)
		if err != nil {
			return nil, &workload.SourceError{Source: i, Server: string(c.server), Err: err}
		}
		sources[i] = workload.Source{DB: db, Subscriber: c.subscriber, Tables: c.tables}
	}
	return workload.ReadCopies(ctx, sources, w.wants())
}

// sort puts what was read where the archive has it: the replicas, and the publisher's payloads with the subscriber's.
func (w *Observed) sort(a *archive.Archive, copies []copyOf, read []history.Replica) {
	publisher := w.target.publisher
	if w.target.group != nil {
		publisher = w.resolved.Roles[v1alpha1.RolePrimary]
	}
	table := string(w.target.payload(w.drill.Spec.Workload).Table)
	var at *history.Replica
	for i, c := range copies {
		if !c.subscriber {
			a.Replicas = append(a.Replicas, read[i])
			if c.server == publisher {
				at = &history.Replica{Server: read[i].Server}
				if t := read[i].Table(table); t != nil {
					at.Rows = history.Rows(t.Spans)
				}
			}
			continue
		}
		if at != nil {
			a.Payloads = []history.Replica{*at, read[i]}
		}
	}
}

// onTheirWay says which rows of the subscriber have yet to arrive, or to be changed there, unless there is no time left
// to wait for them.
func (w *Observed) onTheirWay(a archive.Archive, last bool) error {
	if last || len(a.Payloads) < 2 {
		return nil
	}
	subscriber := a.Payloads[1]
	followed := subscriber.Table(string(w.target.payload(w.drill.Spec.Workload).Table)) != nil
	if behind := missingRows(a.Payloads[0], subscriber); followed && behind > 0 {
		return fmt.Errorf("%d rows have yet to arrive at %s", behind, subscriber.Server)
	}
	for _, t := range subscriber.Tables {
		for _, o := range t.Odd {
			if o.Oddity == history.Differs {
				return fmt.Errorf("%s of %s may have changes on their way: %s", t.Name, subscriber.Server, o.Text)
			}
		}
	}
	return nil
}
