// SPDX-License-Identifier: Apache-2.0

package mssql

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"strings"
	"time"

	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/tsql"
)

// BackupSource is a user database as far as backups at this instance are concerned.
type BackupSource struct {
	// Database is its name, State and Recovery as sys.databases has them, such as ONLINE and FULL.
	Database, State, Recovery string
	// Family is its family GUID, empty while the engine does not say it.
	Family string
	// Group that it is in, empty when in none that the instance knows.
	Group string
	// Primary says that this copy is the primary one; Synchronization is that of the copy, such as SYNCHRONIZED.
	Primary         bool
	Synchronization string
	// Preferred says that the group's preference has its backups taken here.
	Preferred bool
	// Logged says that there is a full backup from which the log can be backed up (last_log_backup_lsn is not NULL): there
	// is none in SIMPLE, nor after it until the next full backup that is no copy.
	Logged bool
}

// ReadBackupSources reads the user databases of an instance but for those that a Restore is making there.
func ReadBackupSources(ctx context.Context, q Querier) ([]BackupSource, error) {
	var all []BackupSource
	err := q.Query(ctx, tsql.BackupSources(credentials.RoleAgent.Login()), func(r Row) error {
		var s BackupSource
		err := r.Scan(&s.Database, &s.State, &s.Recovery, &s.Family, &s.Group, &s.Primary, &s.Synchronization, &s.Preferred,
			&s.Logged)
		s.Family = strings.ToLower(s.Family)
		all = append(all, s)
		return err
	})
	return all, err
}

// BackupModel is what decides which backups a database can have.
type BackupModel struct {
	// Recovery is its recovery model, such as FULL. One in SIMPLE has no backups of the log.
	Recovery string
	// ReadOnly says that nothing in it can be changed: no user is made there.
	ReadOnly bool
}

// ReadBackupModels reads those of the user databases of an instance, by their names in lower case.
func ReadBackupModels(ctx context.Context, q Querier) (map[string]BackupModel, error) {
	all := map[string]BackupModel{}
	err := q.Query(ctx, tsql.BackupModels(), func(r Row) error {
		var name string
		var m BackupModel
		err := r.Scan(&name, &m.Recovery, &m.ReadOnly)
		all[strings.ToLower(name)] = m
		return err
	})
	return all, err
}

// BackupTaken is what a server notes of a backup set that it wrote. Positions are numeric(25,0), identities GUIDs in
// lower case.
type BackupTaken struct {
	// Type is D of a full, I of a differential, L of a log backup.
	Type                     string
	ID, Database, Family     string
	FirstLSN, LastLSN        string
	BaseID                   string
	FirstFork, Fork, ForkLSN string
	// Begun, Finished and Until are when it was taken and to when it restores; the last is zero where the server does not
	// say it.
	Begun, Finished, Until time.Time
	// ClockOffset is how far the server's clock is from UTC.
	ClockOffset time.Duration
	// Bytes that were backed up.
	Bytes                       int64
	CopyOnly, Damaged, Checksum bool
	// BulkLogged says that a restore cannot stop within it.
	BulkLogged bool
}

// ReadBackupTaken reads what a server notes of the set whose first file it wrote; nil where it notes none.
func ReadBackupTaken(ctx context.Context, q Querier, file string) (*BackupTaken, error) {
	major, err := readMajor(ctx, q)
	if err != nil {
		return nil, err
	}
	var taken *BackupTaken
	err = q.Query(ctx, tsql.BackupTaken(file, major), func(r Row) error {
		var t BackupTaken
		var until sql.NullTime
		var zone sql.NullInt64
		if err := r.Scan(&t.Type, &t.ID, &t.Database, &t.Family, &t.FirstLSN, &t.LastLSN, &t.BaseID, &t.FirstFork, &t.Fork,
			&t.ForkLSN, &t.Begun, &t.Finished, &until, &zone, &t.Bytes, &t.CopyOnly, &t.Damaged, &t.Checksum,
			&t.BulkLogged); err != nil {
			return err
		}
		for _, id := range []*string{&t.ID, &t.Family, &t.BaseID, &t.FirstFork, &t.Fork} {
			*id = strings.ToLower(*id)
		}
		// 127 says that the zone is not known.
		if zone.Valid && zone.Int64 != 127 {
			t.ClockOffset = time.Duration(zone.Int64) * 15 * time.Minute
		}
		t.Begun, t.Finished = t.utc(t.Begun), t.utc(t.Finished)
		if until.Valid {
			t.Until = t.utc(until.Time)
		}
		if taken != nil {
			return fmt.Errorf("server %s notes two backups to %s", q.Server(), file)
		}
		taken = &t
		return nil
	})
	return taken, err
}

// readMajor reads an instance's major version: 15 is SQL Server 2019.
func readMajor(ctx context.Context, q Querier) (major int, err error) {
	err = q.Query(ctx, tsql.ProductVersion(), majorInto(q, &major))
	return major, err
}

// majorInto takes the major version from the server's build.
func majorInto(q Querier, major *int) func(Row) error {
	return func(r Row) error {
		var version string
		if err := r.Scan(&version); err != nil {
			return err
		}
		first, _, _ := strings.Cut(version, ".")
		n, err := strconv.Atoi(first)
		if err != nil {
			return fmt.Errorf("server %s has the version %q, which does not begin with a number", q.Server(), version)
		}
		*major = n
		return nil
	}
}

// utc is when the server's clock showed a time.
func (t *BackupTaken) utc(shown time.Time) time.Time {
	return time.Date(shown.Year(), shown.Month(), shown.Day(), shown.Hour(), shown.Minute(), shown.Second(),
		shown.Nanosecond(), time.UTC).Add(-t.ClockOffset)
}

// DatabaseFile is a file of a database.
type DatabaseFile struct {
	// Name is the logical one.
	Name string
	// Log tells a log file from a data file.
	Log bool
	// Bytes that it has.
	Bytes int64
}

// ReadBackedUpFiles reads the files that a database had when a set of it was taken, by the set's identity, those with
// data first. A server that notes none is an error.
func ReadBackedUpFiles(ctx context.Context, q Querier, set string) ([]DatabaseFile, error) {
	var files []DatabaseFile
	err := q.Query(ctx, tsql.BackedUpFiles(set), func(r Row) error {
		var f DatabaseFile
		err := r.Scan(&f.Name, &f.Log, &f.Bytes)
		files = append(files, f)
		return err
	})
	if err == nil && len(files) == 0 {
		err = fmt.Errorf("server %s notes no files of backup set %s", q.Server(), set)
	}
	return files, err
}
