// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"errors"
	"fmt"
	"syscall"
)

// The errors that callers tell apart with errors.Is. The engine turns them into SQL Server's numbers.
var (
	// ErrOutcomeUnknown wraps the error of a commit that is in the local log, but whose hardening was not confirmed:
	// it may or may not survive. The session that committed must be ended without an answer.
	ErrOutcomeUnknown = errors.New("the outcome of the commit is unknown")
	// ErrLogFull is a log that reached its maximum size, or whose volume has no room (SQL Server's 9002); the transaction
	// is rolled back.
	ErrLogFull = errors.New("the transaction log is full")
	// ErrReadOnly is a write to a database that is in redo mode, restoring or read-only.
	ErrReadOnly = errors.New("the database does not take writes now")
	// ErrClosed is a use of a closed database.
	ErrClosed = errors.New("the database is closed")
	// ErrLogTruncated is a request for log that is no longer kept.
	ErrLogTruncated = errors.New("the log was truncated past that position")
	// ErrLogGap is received log that does not continue the local log.
	ErrLogGap = errors.New("the received log does not continue the local log")
	// ErrFork is log of another recovery fork.
	ErrFork = errors.New("the log belongs to another recovery fork")
	// ErrNoUndo is a log that cannot be undone to the asked position; the database has to be seeded again.
	ErrNoUndo = errors.New("the log cannot be undone to that position")
	// ErrBackupCorrupt is a backup file that is damaged or no backup (3241, 3203).
	ErrBackupCorrupt = errors.New("the backup is damaged or not a backup")
	// ErrBackupTooEarly is a log backup that ends before the restored position (4326); it can be left out.
	ErrBackupTooEarly = errors.New("the log in this backup terminates before the database's position")
	// ErrBackupTooRecent is a log backup that begins after the restored position (4305).
	ErrBackupTooRecent = errors.New("the log in this backup begins after the database's position")
	// ErrStopTooEarly is a time to stop at that the database is past (4335).
	ErrStopTooEarly = errors.New("the database is rolled forward beyond that time")
	// ErrNotTheBase is a differential backup of another base than what was restored (3136).
	ErrNotTheBase = errors.New("the database was not restored to the state on which the differential backup stands")
	// ErrNoBackupBase is a log or differential backup without a current full backup (4214, 3035).
	ErrNoBackupBase = errors.New("there is no current database backup")
	// ErrBackedUpAhead is a log backup at a secondary that lacks log of which the newest one was taken (35295).
	ErrBackedUpAhead = errors.New("the newest log backup is ahead of this copy")
	// ErrNotFull is a log backup in the simple recovery model (4208).
	ErrNotFull = errors.New("the recovery model has no log backups")
	// ErrOtherDatabase is a backup of another database (3154 without REPLACE).
	ErrOtherDatabase = errors.New("the backup holds another database")
)

// OutOfLine is a log backup that does not go on where the database is: an ErrBackupTooEarly that ends at Has, or an
// ErrBackupTooRecent that begins there, where the database needs the log from Needs on; or a copy that has log up to
// Has only (ErrBackedUpAhead).
type OutOfLine struct {
	Reason     error
	Has, Needs LSN
}

// Error says which log is there and which is needed.
func (e *OutOfLine) Error() string {
	return fmt.Sprintf("%v: %s instead of %s", e.Reason, e.Has, e.Needs)
}

// Unwrap is the reason.
func (e *OutOfLine) Unwrap() error { return e.Reason }

// LogFull is ErrLogFull with what kept log from being removed.
type LogFull struct {
	// Reuse is sys.databases.log_reuse_wait_desc.
	Reuse string
	// Holdup is the position that is held.
	Holdup LSN
}

// Error says what is full, and why.
func (e *LogFull) Error() string {
	return fmt.Sprintf("%v due to %s at %s", ErrLogFull, e.Reuse, e.Holdup)
}

// Is makes it ErrLogFull.
func (e *LogFull) Is(target error) bool { return target == ErrLogFull }

// fullVolume makes an error of a volume, or of a quota, that has no room left ErrLogFull as well: a log that cannot
// grow is full (docs/relational-databases/logs/troubleshoot-a-full-transaction-log-sql-server-error-9002.md).
func fullVolume(err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return fmt.Errorf("%w: %w", ErrLogFull, err)
	}
	return err
}

// DamagedLog is a place in the log, before its end, that holds no whole block (SQL Server's 9004).
type DamagedLog struct {
	// Path is the virtual log file.
	Path string
	At   LSN
}

// Error says where the damage is.
func (e *DamagedLog) Error() string { return fmt.Sprintf("%s is damaged at %s", e.Path, e.At) }

// Suspect is a database whose files do not fit together; the engine shows it as SUSPECT (3414).
type Suspect struct {
	Database string
	Reason   string
}

// Error makes Suspect an error.
func (s *Suspect) Error() string {
	return fmt.Sprintf("database %q cannot be recovered: %s", s.Database, s.Reason)
}
