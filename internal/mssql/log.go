// SPDX-License-Identifier: Apache-2.0

package mssql

import (
	"context"

	"geosql.dev/operator/internal/tsql"
)

// LogSize is the size of a database's log, in KB.
type LogSize struct {
	// TotalKB is the size of its files, UsedKB how much of them is used.
	TotalKB, UsedKB int64
	// GrowKB is how much its files may still grow by: as far as MAXSIZE, their increments and their volumes let them.
	// Nil when that is not known.
	GrowKB *int64
	// Wait is what keeps it from being truncated (log_reuse_wait_desc), NOTHING when nothing does.
	Wait string
}

// RoomKB is how much a log can still take, and whether that is known.
func (l LogSize) RoomKB() (room int64, known bool) {
	if l.GrowKB == nil {
		return 0, false
	}
	return max(l.TotalKB-l.UsedKB, 0) + *l.GrowKB, true
}

// fullAt is the part of a log, as a divisor, that is left when it counts as full: transactions need room for their
// undo, too.
const fullAt = 50

// Full tells that a log has less than a fiftieth of its room left, so that transactions fail (9002) or are about to.
func (l LogSize) Full() bool {
	room, known := l.RoomKB()
	return known && room*fullAt < l.UsedKB+room
}

// ReadLogs reads the logs of an instance by database. The room of those of system databases is not known.
func ReadLogs(ctx context.Context, q Querier) (map[string]LogSize, error) {
	logs := map[string]LogSize{}
	err := readAll(ctx, q, "measure the logs", read{tsql.LogSizes(), func(r Row) error {
		var database, counter string
		var value int64
		if err := r.Scan(&database, &counter, &value); err != nil {
			return err
		}
		size := logs[database]
		if counter == "Log File(s) Size (KB)" {
			size.TotalKB = value
		} else {
			size.UsedKB = value
		}
		logs[database] = size
		return nil
	}}, read{tsql.LogGrowth(), func(r Row) error {
		var f logFile
		var database, wait string
		if err := r.Scan(&database, &wait, &f.sizeKB, &f.greatestKB, &f.growth, &f.percent, &f.available); err != nil {
			return err
		}
		size, known := logs[database]
		if !known {
			return nil
		}
		grow := f.growKB()
		if size.GrowKB != nil {
			grow += *size.GrowKB
		}
		size.GrowKB, size.Wait = &grow, wait
		logs[database] = size
		return nil
	}})
	return logs, err
}

// logFile is one file of a log: sizes in KB, greatestKB -1 for as far as the volume goes; growth in KB or percent;
// available in bytes.
type logFile struct {
	sizeKB, greatestKB, growth, available int64
	percent                               bool
}

// growKB is how much the file may grow by. It grows by whole increments, the last of which may be cut by its greatest
// size, and not at all when the volume has no room for the next one.
func (f logFile) growKB() int64 {
	step := f.growth
	if f.percent {
		step = f.sizeKB * f.growth / 100
	}
	if step <= 0 {
		return 0
	}
	grow := f.available / 1024 / step * step
	if f.greatestKB < 0 {
		return grow
	}
	left := max(f.greatestKB-f.sizeKB, 0)
	if left < step && f.available/1024 >= left {
		return left
	}
	return min(grow, left)
}
