// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"
	"time"

	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/tsql"
)

const (
	// pollEvery is how often arrived rows are looked for: the error of a latency is at most that and one query's time.
	pollEvery = 5 * time.Millisecond
	// pollRows is how many rows one look takes.
	pollRows = 2000
)

// WatchOptions say which rows are watched for.
type WatchOptions struct {
	Options
	Run
	// Begun is called when the first look has succeeded: rows that are written from then on are met as they come.
	Begun func()
	// Progress is called with the number of rows that have arrived, about every second.
	Progress func(rows int)
}

// Arrived is how rows came.
type Arrived struct {
	// Rows of the run that are there, of Expected.
	Rows     int `json:"rows"`
	Expected int `json:"expected"`
	// Early are rows that were there at the first look: their arrival was not seen, and they are in no latency.
	Early int `json:"early"`
	// Arrival is the time from just before a row's INSERT was sent, which the row itself tells, to when it was seen
	// here. Both clocks must agree: on the bed they are one.
	Arrival Latency `json:"arrival"`
}

// Watch looks for the rows of a run until all have come or ctx ends; then it returns what has come, and ctx's error. A
// writer's rows come in the order of their Ids, since it waits for each to be acknowledged.
func Watch(ctx context.Context, o WatchOptions) (Arrived, error) {
	if err := o.Check(); err != nil {
		return Arrived{}, err
	}
	connector := o.connector()
	defer connector.Close()
	db, err := o.open(ctx, connector)
	if err != nil {
		return Arrived{}, err
	}
	w := &watcher{db: db, options: o, seen: make([]int64, o.Writers)}
	for i := range w.seen {
		w.seen[i], _ = o.bounds(i)
	}
	var arrived counter
	stop := arrived.report(ctx, o.Progress)
	defer stop()
	result := Arrived{Expected: o.Rows}
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for first := true; result.Rows < o.Rows; {
		n, err := w.look(ctx, first)
		result.Rows += n
		arrived.n.Store(int64(result.Rows))
		if err == nil && first {
			first, result.Early = false, result.Rows
			if o.Begun != nil {
				o.Begun()
			}
		}
		select {
		case <-ctx.Done():
			result.Arrival = LatencyOf(w.latencies)
			return result, ctx.Err()
		case <-tick.C:
		}
	}
	result.Arrival = LatencyOf(w.latencies)
	return result, nil
}

type watcher struct {
	db        *mssql.DB
	options   WatchOptions
	seen      []int64
	latencies []time.Duration
}

// look takes the rows of every writer that have come since. A look that fails is no news: the table, the database or
// the server may not be there yet.
func (w *watcher) look(ctx context.Context, first bool) (int, error) {
	rows := 0
	for i := range w.seen {
		_, last := w.options.bounds(i)
		if w.seen[i] == last {
			continue
		}
		err := w.db.Query(ctx, tsql.ArticleTimes(w.seen[i], last, pollRows), func(row mssql.Row) error {
			var id int64
			var at time.Time
			if err := row.Scan(&id, &at); err != nil {
				return err
			}
			w.seen[i] = id
			rows++
			if !first {
				w.latencies = append(w.latencies, time.Since(at))
			}
			return nil
		})
		if err != nil {
			return rows, err
		}
	}
	return rows, nil
}
