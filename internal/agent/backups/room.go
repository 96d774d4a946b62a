// SPDX-License-Identifier: Apache-2.0

package backups

import (
	"fmt"
	"os"
	"time"

	"geosql.dev/operator/internal/backup"
	"geosql.dev/operator/internal/mssql"
)

const (
	// reservedPart and reservedMost are what backups of data leave free on the volume for those of logs, without which the
	// databases stop: a part of the volume, and bytes at most.
	reservedPart, reservedMost = 20, 10 << 30
	// shortFor is how long a backup that had no room is not begun again with no more room than that.
	shortFor = time.Hour
	// writeFailed is the number of the error for a write to a backup's file that failed
	// (docs/relational-databases/errors-events/database-engine-events-and-errors-3000-to-3999.md).
	writeFailed = 3202
)

// Reserved are the bytes of a backup volume of this capacity that stay free for backups of logs, whatever else is
// written there.
func Reserved(capacity int64) int64 { return min(capacity/reservedPart, reservedMost) }

// short is a backup that could not be written with so many bytes free.
type short struct {
	free  int64
	until time.Time
}

// fits says how many bytes are free for a backup. It is an error when one of data, which may have so many, would take
// what the logs need: one that does not fit fills the volume, and has to be begun again.
func (e *taker) fits(t Take, size int64) (free int64, err error) {
	if t.Kind == backup.Log {
		return 0, nil
	}
	if err := os.MkdirAll(e.sets.dir, 0o770); err != nil {
		return 0, fmt.Errorf("begin a backup: %w", err)
	}
	for again := false; ; again = true {
		var capacity int64
		if capacity, free, err = e.room(e.sets.dir); err != nil {
			return 0, fmt.Errorf("ask how much room the backup volume has: %w", err)
		}
		reserved := Reserved(capacity)
		e.mu.Lock()
		known, now := e.short[t.lane()], e.now()
		e.mu.Unlock()
		switch {
		case free >= size+reserved && (free > known.free || !now.Before(known.until)):
			return free, nil
		case again && free >= size+reserved:
			return 0, fmt.Errorf("the backup volume has %d bytes free, with which it could not be written before", free)
		case again:
			return 0, fmt.Errorf("the backup volume has %d bytes free, and the backup may have %d; %d stay free for logs",
				free, size, reserved)
		}
		// What is aside of the data is all in the database.
		if err := e.dropAside(t.Database, ""); err != nil {
			return 0, err
		}
	}
}

// tooLittle notes that a backup of data could not be written with so many bytes free.
func (e *taker) tooLittle(t Take, free int64, execution error) {
	if t.Kind == backup.Log || !mssql.HasNumber(execution, writeFailed) {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.short[t.lane()] = short{free: free, until: e.now().Add(shortFor)}
}
