// SPDX-License-Identifier: Apache-2.0

package mssql

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"

	driver "github.com/microsoft/go-mssqldb"

	"geosql.dev/operator/internal/tsql"
)

// BackupLabel is which file of which media set a file of backups is. A striped backup has a family in each file.
type BackupLabel struct {
	// MediaSet is its GUID in lower case.
	MediaSet string
	// Family is the number of the media family, from 1; Families is how many the media set has.
	Family, Families int
}

// ReadBackupLabel reads the label of a file of backups, by its path on the server.
func ReadBackupLabel(ctx context.Context, q Querier, file string) (l BackupLabel, err error) {
	err = q.Query(ctx, tsql.BackupLabel(file), func(r Row) error {
		var id driver.NullUniqueIdentifier
		err := scanNamed(r, map[string]any{"MediaSetId": &id, "FamilySequenceNumber": &l.Family,
			"FamilyCount": &l.Families})
		l.MediaSet = guid(id)
		return err
	})
	return l, err
}

// BackupHeader is what a file says of one of its backup sets. Positions are numeric(25,0), identities GUIDs in lower
// case; both are empty for none. Times are those that the clock of the server which took it showed.
type BackupHeader struct {
	// Type is BackupType: 1 of a full, 2 of a log, 5 of a differential backup, others of parts of a database; 0 where the
	// file does not tell of it: it did not come to its end, or has a password.
	Type int
	// Position of the set in the file, from 1.
	Position int
	// Database and Server are those that were backed up, Family is the database's.
	Database, Server, ID, Family string
	// FirstLSN to ForkLSN are as RESTORE HEADERONLY has them.
	FirstLSN, LastLSN, CheckpointLSN, DatabaseBackupLSN string
	BaseID, BaseLSN                                     string
	FirstFork, Fork, ForkLSN                            string
	// Begun and Finished are when it was taken; Until is the newest moment to which it restores, zero before 2022.
	Begun, Finished, Until time.Time
	// ClockOffset is how far the clock was from UTC, where the header says it: nil before 2022.
	ClockOffset *time.Duration
	// Major, Minor and Build are the server's version.
	Major, Minor, Build int
	// Bytes that were backed up, and Stored that they take in the files.
	Bytes, Stored int64
	// The flags of the header.
	CopyOnly, Damaged, Snapshot, BulkLogged, Compressed, Checksum bool
	// Encryptor is the thumbprint of the certificate that opens the backup, in hexadecimal digits; empty where it is not
	// encrypted.
	Encryptor string
}

// ReadBackupHeaders reads the header of each backup set in a file, by its path on the server.
func ReadBackupHeaders(ctx context.Context, q Querier, file string) (all []BackupHeader, err error) {
	err = q.Query(ctx, tsql.BackupHeaders(file), func(r Row) error {
		h, err := scanHeader(r)
		all = append(all, h)
		return err
	})
	return all, err
}

// header are the columns of a header, each of which may be NULL.
type header struct {
	database, server                                             sql.NullString
	kind, position, major, minor, build, bytes, stored           sql.NullInt64
	first, last, checkpoint, full, base, forkAt                  sql.NullString
	id, family, baseID, firstFork, fork                          driver.NullUniqueIdentifier
	begun, finished                                              sql.NullTime
	copyOnly, damaged, snapshot, bulkLogged, compressed, checked sql.NullBool
	encryptor                                                    []byte
	until, zone                                                  any
}

func scanHeader(r Row) (BackupHeader, error) {
	var h header
	into := map[string]any{
		"BackupType": &h.kind, "Position": &h.position, "DatabaseName": &h.database, "ServerName": &h.server,
		"BackupSetGUID": &h.id, "FamilyGUID": &h.family, "FirstLSN": &h.first, "LastLSN": &h.last,
		"CheckpointLSN": &h.checkpoint, "DatabaseBackupLSN": &h.full, "DifferentialBaseGUID": &h.baseID,
		"DifferentialBaseLSN": &h.base, "FirstRecoveryForkID": &h.firstFork, "RecoveryForkID": &h.fork,
		"ForkPointLSN": &h.forkAt, "BackupStartDate": &h.begun, "BackupFinishDate": &h.finished,
		"SoftwareVersionMajor": &h.major, "SoftwareVersionMinor": &h.minor, "SoftwareVersionBuild": &h.build,
		"BackupSize": &h.bytes, "CompressedBackupSize": &h.stored, "IsCopyOnly": &h.copyOnly, "IsDamaged": &h.damaged,
		"IsSnapshot": &h.snapshot, "HasBulkLoggedData": &h.bulkLogged, "Compressed": &h.compressed,
		"HasBackupChecksums": &h.checked, "EncryptorThumbprint": &h.encryptor,
	}
	newer := map[string]any{"LastValidRestoreTime": &h.until, "TimeZone": &h.zone}
	if err := scanPresent(r, into, newer); err != nil {
		return BackupHeader{}, err
	}
	all := BackupHeader{
		Type: int(h.kind.Int64), Position: int(h.position.Int64), Database: h.database.String, Server: h.server.String,
		ID: guid(h.id), Family: guid(h.family), FirstLSN: h.first.String, LastLSN: h.last.String,
		CheckpointLSN: h.checkpoint.String, DatabaseBackupLSN: h.full.String, BaseID: guid(h.baseID), BaseLSN: h.base.String,
		FirstFork: guid(h.firstFork), Fork: guid(h.fork), ForkLSN: h.forkAt.String, Begun: h.begun.Time,
		Finished: h.finished.Time, Major: int(h.major.Int64), Minor: int(h.minor.Int64), Build: int(h.build.Int64),
		Bytes: h.bytes.Int64, Stored: h.stored.Int64, CopyOnly: h.copyOnly.Bool, Damaged: h.damaged.Bool,
		Snapshot: h.snapshot.Bool, BulkLogged: h.bulkLogged.Bool, Compressed: h.compressed.Bool, Checksum: h.checked.Bool,
		Encryptor: digits(h.encryptor),
	}
	if until, is := h.until.(time.Time); is {
		all.Until = until
	}
	// 127 says that the zone is not known.
	if zone, is := h.zone.(int64); is && zone != 127 {
		offset := time.Duration(zone) * 15 * time.Minute
		all.ClockOffset = &offset
	}
	return all, nil
}

// scanPresent is scanNamed with columns that a version may lack.
func scanPresent(r Row, into, perhaps map[string]any) error {
	named, ok := r.(columned)
	if !ok {
		return fmt.Errorf("a row of type %T has no names of columns", r)
	}
	columns, err := named.Columns()
	if err != nil {
		return fmt.Errorf("read the names of the columns: %w", err)
	}
	for name, to := range perhaps {
		for _, column := range columns {
			if strings.EqualFold(name, column) {
				into[name] = to
			}
		}
	}
	return scanNamed(r, into)
}

func guid(id driver.NullUniqueIdentifier) string {
	if !id.Valid {
		return ""
	}
	return strings.ToLower(id.UUID.String())
}

// BackupFileEntry is a file of the database in a backup set.
type BackupFileEntry struct {
	DatabaseFile
	// Encryptor is the thumbprint of the certificate with which the database's encryption key is encrypted, in hexadecimal
	// digits; empty where the database is not encrypted.
	Encryptor string
}

// ReadBackupFileList reads the files of the database whose backup set is at a position of a file, from 1.
func ReadBackupFileList(ctx context.Context, q Querier, file string, position int) (all []BackupFileEntry, err error) {
	err = q.Query(ctx, tsql.BackupFileList(file, position), func(r Row) error {
		var (
			kind       string
			bytes      sql.NullInt64
			thumbprint []byte
			f          BackupFileEntry
		)
		err := scanNamed(r, map[string]any{"LogicalName": &f.Name, "Type": &kind, "Size": &bytes,
			"TDEThumbprint": &thumbprint})
		f.Log, f.Bytes, f.Encryptor = kind == "L", bytes.Int64, digits(thumbprint)
		all = append(all, f)
		return err
	})
	return all, err
}

// ReadThumbprints reads the thumbprints of the certificates in the database of the connection, in hexadecimal digits.
func ReadThumbprints(ctx context.Context, q Querier) (all []string, err error) {
	err = q.Query(ctx, tsql.CertificateThumbprints(), func(r Row) error {
		var thumbprint []byte
		err := r.Scan(&thumbprint)
		all = append(all, digits(thumbprint))
		return err
	})
	return all, err
}

// ReadMajor reads an instance's major version: 15 is SQL Server 2019.
func ReadMajor(ctx context.Context, q Querier) (int, error) { return readMajor(ctx, q) }
