// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/tsql"
)

// duplicateKey is raised when a row whose outcome was unknown had been committed after all (docs/relational-databases/
// errors-events/database-engine-events-and-errors-2000-to-2999.md).
const duplicateKey = 2627

// giveUp is how long one row is tried.
const giveUp = 2 * time.Minute

// WriteOptions say what is written.
type WriteOptions struct {
	Options
	Run
	// RowBytes is the length of an article's Body, 1 to 1024 characters.
	RowBytes int
	// Attachments are rows of dbo.Attachment, written after the articles, and AttachmentBytes the length of their Content.
	Attachments, AttachmentBytes int
	// Progress is called with the number of acknowledged rows, about every second.
	Progress func(rows int)
}

// Written is what was acknowledged.
type Written struct {
	// Rows and Attachments that the server has acknowledged.
	Rows        int `json:"rows"`
	Attachments int `json:"attachments"`
	// Seconds from the first to the last row of dbo.Article.
	Seconds float64 `json:"seconds"`
	// Retries are rows that were sent again because their outcome was unknown or the server was not there.
	Retries int `json:"retries"`
	// Commit is how long the server took to acknowledge a row.
	Commit Latency `json:"commit"`
}

// writer has one connection at a time.
type writer struct {
	db        *mssql.DB
	connector *mssql.Connector
	latencies []time.Duration
	retries   int
}

// Write writes the rows of the run, each in a transaction of its own. It returns when all are acknowledged.
func Write(ctx context.Context, o WriteOptions) (Written, error) {
	if err := o.Check(); err != nil {
		return Written{}, err
	}
	if o.RowBytes < 1 || o.RowBytes > 1024 {
		return Written{}, fmt.Errorf("row bytes must be between 1 and 1024, not %d", o.RowBytes)
	}
	writers := make([]*writer, o.Writers)
	for i := range writers {
		connector := o.connector()
		defer connector.Close()
		db, err := o.open(ctx, connector)
		if err != nil {
			return Written{}, err
		}
		writers[i] = &writer{db: db, connector: connector}
	}
	var acknowledged counter
	stop := acknowledged.report(ctx, o.Progress)
	defer stop()
	began := time.Now()
	err := together(writers, func(i int, w *writer) error {
		first, last := o.bounds(i)
		for id := first + 1; id <= last; id++ {
			body := Body(id, o.RowBytes)
			if err := w.insert(ctx, func(at time.Time) tsql.Statement { return tsql.InsertArticle(id, at, body) }); err != nil {
				return fmt.Errorf("row %d: %w", id, err)
			}
			acknowledged.add()
		}
		return nil
	})
	result := Written{Rows: acknowledged.value(), Seconds: time.Since(began).Seconds()}
	var latencies []time.Duration
	for _, w := range writers {
		latencies = append(latencies, w.latencies...)
		w.latencies = nil
	}
	result.Commit = LatencyOf(latencies)
	if err == nil {
		err = writeAttachments(ctx, o, writers, &result)
	}
	for _, w := range writers {
		result.Retries += w.retries
	}
	return result, err
}

func writeAttachments(ctx context.Context, o WriteOptions, writers []*writer, result *Written) error {
	var acknowledged counter
	err := together(writers, func(i int, w *writer) error {
		for n := i; n < o.Attachments; n += len(writers) {
			id := o.Base + int64(n) + 1
			content := Content(id, o.AttachmentBytes)
			if err := w.insert(ctx, func(at time.Time) tsql.Statement {
				return tsql.InsertAttachment(id, at,
					content)
			}); err != nil {
				return fmt.Errorf("attachment %d: %w", id, err)
			}
			acknowledged.add()
		}
		return nil
	})
	result.Attachments = acknowledged.value()
	return err
}

// insert sends a row until it is acknowledged. A row of which it is not known whether it was committed is sent again:
// its key tells.
func (w *writer) insert(ctx context.Context, statement func(at time.Time) tsql.Statement) error {
	began := time.Now()
	for {
		sent := time.Now()
		call, cancel := context.WithTimeout(ctx, statementTimeout)
		err := w.db.Exec(call, statement(sent))
		cancel()
		if err == nil || mssql.HasNumber(err, duplicateKey) {
			w.latencies = append(w.latencies, time.Since(sent))
			return nil
		}
		if ctx.Err() != nil || time.Since(began) > giveUp || !worthRetrying(err) {
			return err
		}
		w.retries++
		select {
		case <-ctx.Done():
			return errors.Join(err, ctx.Err())
		case <-time.After(200 * time.Millisecond):
		}
	}
}

func worthRetrying(err error) bool {
	return mssql.Is(err, mssql.Unknown) || mssql.Is(err, mssql.Unreachable) || mssql.Is(err, mssql.Retryable)
}

// together runs f for every writer at the same time and joins what went wrong.
func together(writers []*writer, f func(int, *writer) error) error {
	errs := make([]error, len(writers))
	var wait sync.WaitGroup
	for i, w := range writers {
		wait.Go(func() { errs[i] = f(i, w) })
	}
	wait.Wait()
	return errors.Join(errs...)
}
