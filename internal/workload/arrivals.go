// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"
	"errors"
	"fmt"
	"time"

	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/tsql"
	"geosql.dev/operator/internal/workload/history"
)

const (
	// lookEvery is how often rows are looked for: a row is seen at most that and one query's time after it came.
	lookEvery = 100 * time.Millisecond
	// sweepEvery is how often rows are looked for that came out of the order of their keys by more than a look covers, and
	// how often the clocks are compared.
	sweepEvery = 5 * time.Second
	// lookRows is how many rows one query takes.
	lookRows = 2000
	// Rows are committed in another order than that of their keys: a look begins that much before the newest key.
	backKeys, sweepKeys = 500, 20_000
	sweepTime           = time.Minute
)

// ArrivalOptions say whose arrival is recorded.
type ArrivalOptions struct {
	// Options of the server that is read.
	Options
	// Writer is the server, or the listener, at which the rows are written; its clock is compared with this machine's.
	Writer Options
	// Folder of the record.
	Folder string
	// Table of payloads that is read; dbo.Recorded when empty.
	Table tsql.PayloadTable
	// After is the greatest Id of dbo.Recorded, and Since the time, before which rows are not the run's.
	After int64
	Since time.Time
	// Late is how long after its key was made a row may be committed: the time-out of the clients' operations.
	Late time.Duration
}

// RecordArrivals looks for rows as they come and records when each was first seen, until ctx ends or Stop is asked for
// in the folder. Then it looks at all of them a last time. That the server does not answer is no news: it may have been
// broken on purpose.
func RecordArrivals(ctx context.Context, o ArrivalOptions) error {
	if err := o.check(); err != nil || asked(o.Folder, endedFile) {
		return err
	}
	connector := o.connector()
	defer connector.Close()
	db, err := o.open(ctx, connector)
	if err != nil {
		return err
	}
	recorder, err := history.CreateArrivals(o.Folder, db.Server())
	if err != nil {
		return err
	}
	a := &arrivals{options: o, db: db, recorder: recorder, seen: map[history.RowID]bool{}, newest: o.floor()}
	looking, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		defer cancel()
		waitFor(looking, o.Folder, stopFile)
	}()
	compared := make(chan error, 1)
	go func() { compared <- o.compareClocks(looking, recorder) }()
	err = a.watch(looking)
	cancel()
	if err = errors.Join(err, <-compared); err != nil {
		return errors.Join(err, recorder.Close())
	}
	last, done := context.WithTimeout(context.Background(), statementTimeout)
	defer done()
	a.looked = a.looked.Add(-noteEvery) // the last look is recorded
	if err := a.look(last, o.floor()); err != nil {
		return errors.Join(fmt.Errorf("look a last time: %w", err), recorder.Close())
	}
	if err := recorder.End(); err != nil {
		return err
	}
	return sayEnded(o.Folder)
}

// floor is the key below which no row is the run's.
func (o ArrivalOptions) floor() int64 {
	if o.Table == "" {
		return o.After
	}
	return PayloadFloor(o.Since) - 1
}

// back is the key from which a look begins that goes back by the given time or number of keys.
func (o ArrivalOptions) back(newest int64, keys int64, time time.Duration) int64 {
	if o.Table == "" {
		return max(newest-keys, o.floor())
	}
	return max(newest-time.Milliseconds()<<payloadBits, o.floor())
}

// arrivals is a reader at work.
type arrivals struct {
	options  ArrivalOptions
	db       *mssql.DB
	recorder *history.ArrivalRecorder
	seen     map[history.RowID]bool
	// newest key that was seen, and when the last look was that is recorded.
	newest int64
	looked time.Time
}

// watch looks until ctx ends. An error is one of the recording.
func (a *arrivals) watch(ctx context.Context) error {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	var swept time.Time
	for {
		from := a.options.back(a.newest, backKeys, a.options.Late+time.Second)
		now := time.Now()
		if now.Sub(swept) >= sweepEvery {
			swept, from = now, a.options.back(a.newest, sweepKeys, sweepTime)
		}
		call, cancel := context.WithTimeout(ctx, statementTimeout)
		err := a.look(call, from)
		cancel()
		var broken *recordingError
		if errors.As(err, &broken) {
			return broken.err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// recordingError is one that is not the server's.
type recordingError struct{ err error }

func (e *recordingError) Error() string { return e.err.Error() }

// look takes the rows above a key and records those that were not seen before.
func (a *arrivals) look(ctx context.Context, after int64) error {
	for {
		rows := 0
		err := a.db.Query(ctx, a.statement(after), func(row mssql.Row) error {
			one, err := a.scan(row, &after)
			if err != nil {
				return err
			}
			rows++
			a.newest = max(a.newest, after)
			if a.seen[one.RowID] {
				return nil
			}
			a.seen[one.RowID] = true
			one.Seen, one.Early = time.Now(), a.looked.IsZero()
			if err := a.recorder.Row(one); err != nil {
				return &recordingError{err}
			}
			return nil
		})
		if err != nil {
			return err
		}
		if rows < lookRows {
			return a.note(time.Now())
		}
	}
}

// noteEvery is how often a look is recorded.
const noteEvery = time.Second

// note records a successful look, unless one was recorded a moment ago.
func (a *arrivals) note(at time.Time) error {
	if at.Sub(a.looked) < noteEvery {
		return nil
	}
	a.looked = at
	if err := a.recorder.Looked(at); err != nil {
		return &recordingError{err}
	}
	return nil
}

func (a *arrivals) statement(after int64) tsql.Statement {
	if a.options.Table == "" {
		return tsql.RecordedTimes(after, lookRows)
	}
	return tsql.PayloadMarks(a.options.Table, after, lookRows)
}

func (a *arrivals) scan(row mssql.Row, after *int64) (history.Arrival, error) {
	var one history.Arrival
	if a.options.Table == "" {
		return one, row.Scan(after, &one.Written, &one.Run, &one.Number)
	}
	var mark []byte
	if err := row.Scan(after, &one.Written, &mark); err != nil {
		return one, err
	}
	var err error
	one.RowID, err = rowOf(string(mark))
	return one, err
}

// compareClocks asks the server that takes the rows for its clock, again and again. That it does not answer is no news.
func (o ArrivalOptions) compareClocks(ctx context.Context, recorder *history.ArrivalRecorder) error {
	connector := o.Writer.connector()
	defer connector.Close()
	db, err := o.Writer.open(ctx, connector)
	if err != nil {
		return fmt.Errorf("compare the clocks: %w", err)
	}
	for {
		var clock time.Time
		call, cancel := context.WithTimeout(ctx, statementTimeout)
		sent := time.Now()
		err := db.Query(call, tsql.ReadClock(), func(row mssql.Row) error { return row.Scan(&clock) })
		roundTrip := time.Since(sent)
		cancel()
		if err == nil {
			if err := recorder.Clock(history.ClockSample{Offset: clock.Sub(sent.Add(roundTrip / 2)),
				RoundTrip: roundTrip}); err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(sweepEvery):
		}
	}
}
