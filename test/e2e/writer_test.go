// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/tsql"
	"geosql.dev/operator/test/e2e/bed"
)

// writerPause is between two rows of a writer: without it, one that is near the primary takes a processor from all
// others.
const writerPause = 25 * time.Millisecond

// writer inserts numbers one after another until it is stopped, and keeps those that were acknowledged.
type writer struct {
	mu    sync.Mutex
	acked []int
	// at is when each of them was.
	at     []time.Time
	last   time.Time
	errors []string
	stop   context.CancelFunc
	done   chan struct{}
}

// writerRows is how many numbers each writer of a group has for itself.
const writerRows = 2_000_000

// startWriting makes the table where there is none, starts a writer and returns once writes are acknowledged.
func (gt *groupTest) startWriting(db *mssql.DB) *writer {
	gt.t.Helper()
	if gt.has.writers == 0 {
		write(gt.t, db, "CREATE TABLE dbo.Acked (id int NOT NULL PRIMARY KEY, v nvarchar(40) NOT NULL)")
	}
	w := startWriter(gt.t, db, gt.has.writers*writerRows+1)
	gt.has.writers++
	w.more(gt.t, time.Minute)
	return w
}

// startWriter inserts from a number on into the table that startWriting makes.
func startWriter(t *testing.T, db *mssql.DB, from int) *writer {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	w := &writer{stop: stop, done: make(chan struct{})}
	go func() {
		defer close(w.done)
		for id := from; ctx.Err() == nil; id++ {
			bounded, cancel := context.WithTimeout(ctx, 4*time.Second)
			err := db.Exec(
				bounded,
				tsql.Statement{Text: fmt.Sprintf("INSERT dbo.Acked VALUES (%d, N'written by the test')", id)},
			)
			cancel()
			w.mu.Lock()
			if err == nil {
				w.last = time.Now()
				w.acked, w.at = append(w.acked, id), append(w.at, w.last)
			} else if text := err.Error(); len(w.errors) == 0 || w.errors[len(w.errors)-1] != text {
				w.errors = append(w.errors, text)
			}
			w.mu.Unlock()
			pause := writerPause
			if err != nil {
				pause = 200 * time.Millisecond
			}
			select {
			case <-ctx.Done():
			case <-time.After(pause):
			}
		}
	}()
	t.Cleanup(w.end)
	return w
}

func (w *writer) end() { w.stop(); <-w.done }

func (w *writer) count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.acked)
}

func (w *writer) lastAck() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.last
}

// ackedBy are the numbers that were acknowledged before a moment, and how many were afterwards.
func (w *writer) ackedBy(moment time.Time) (before []int, later int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n, _ := slices.BinarySearchFunc(w.at, moment, time.Time.Compare)
	return w.acked[:n], len(w.acked) - n
}

// more waits for the first acknowledgement after now and returns how long that took.
func (w *writer) more(t *testing.T, timeout time.Duration) time.Duration {
	t.Helper()
	since := time.Now()
	bed.Wait(t, "a write is acknowledged", timeout, func(context.Context) (bool, string, error) {
		w.mu.Lock()
		defer w.mu.Unlock()
		text := ""
		if len(w.errors) > 0 {
			text = w.errors[len(w.errors)-1]
		}
		return w.last.After(since), text, nil
	})
	return w.lastAck().Sub(since)
}

// verify compares what was acknowledged with what is there.
func (w *writer) verify(t *testing.T, db *mssql.DB) {
	t.Helper()
	there := map[int]bool{}
	bed.Wait(t, "the rows can be read", time.Minute, func(ctx context.Context) (bool, string, error) {
		clear(there)
		err := db.Query(ctx, tsql.Statement{Text: "SELECT id FROM dbo.Acked"}, func(r mssql.Row) error {
			var id int
			err := r.Scan(&id)
			there[id] = true
			return err
		})
		return err == nil, "", err
	})
	w.mu.Lock()
	defer w.mu.Unlock()
	lost := 0
	for _, id := range w.acked {
		if !there[id] {
			lost++
		}
	}
	t.Logf("%d rows acknowledged, %d there", len(w.acked), len(there))
	if lost > 0 {
		t.Fatalf("%d of %d acknowledged rows are lost", lost, len(w.acked))
	}
}
