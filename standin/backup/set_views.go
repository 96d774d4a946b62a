// SPDX-License-Identifier: Apache-2.0

package backup

import (
	"context"

	"github.com/shopspring/decimal"

	"geosql.dev/standin/engine"
	"geosql.dev/standin/storage"
)

// headerRow is the row of one set in RESTORE HEADERONLY.
func headerRow(set storage.SpreadSet, n backupNote) []any {
	h, description := set.Header, "Database"
	switch h.Kind {
	case storage.LogBackup:
		description = "Transaction Log"
	case storage.DifferentialBackup:
		description = "Database Differential"
	}
	base, baseSet := differentialOf(h, n)
	first, forkPoint := forksOf(h)
	compressed, stored := int64(0), set.Size()
	if h.Compressed {
		compressed = 1
	}
	return []any{
		engine.TextOrNull(n.Name),
		engine.TextOrNull(n.Description),
		bkType(h.Kind),
		timeOrNull(n.Expires),
		compressed,
		int64(set.Position),
		int64(2),
		n.User,
		h.Server,
		h.Database,
		int64(957),
		n.Created,
		sizeOf(
			h,
			stored,
		),
		engine.LSNValue(h.First),
		engine.LSNValue(h.Last),
		engine.LSNValue(h.First),
		engine.LSNValue(h.DatabaseBackup),
		h.Started,
		timeOrNull(set.Finished),
		int64(52),
		int64(0),
		int64(1033),
		int64(196609),
		int64(
			n.CompatibilityLevel,
		),
		int64(4608),
		int64(16),
		int64(0),
		int64(4000),
		h.Server,
		flagsOf(n),
		h.Identity.Database,
		h.Identity.LastFork(),
		n.Collation,
		h.Identity.Family,
		false,
		false,
		n.ReadOnly,
		n.UserAccess == "SINGLE_USER",
		n.Checksum,
		false,
		h.BeginsChain,
		false,
		n.Tail,
		h.CopyOnly,
		first,
		forkPoint,
		recoveryDescription(h.RecoveryModel),
		base,
		baseSet,
		description,
		n.Set,
		stored,
		int64(0),
		nil,
		nil,
		nil,
	}
}

// backupSetColumns are those of msdb.dbo.backupset (docs/relational-databases/system-tables/backupset-transact-sql.md).
const backupSetColumns = "backup_set_id int, backup_set_uuid uniqueidentifier, media_set_id int, " +
	"first_family_number tinyint, first_media_number smallint, last_family_number tinyint, last_media_number smallint, " +
	"catalog_family_number tinyint, catalog_media_number smallint, position int, expiration_date datetime, " +
	"software_vendor_id int, name nvarchar(128), description nvarchar(255), user_name nvarchar(128), " +
	"software_major_version tinyint, software_minor_version tinyint, software_build_version smallint, time_zone " +
	"smallint, mtf_minor_version tinyint, first_lsn numeric(25,0), last_lsn numeric(25,0), " +
	"checkpoint_lsn numeric(25,0), database_backup_lsn numeric(25,0), database_creation_date datetime, " +
	"backup_start_date datetime, backup_finish_date datetime, type char(1), sort_order smallint, code_page smallint, " +
	"compatibility_level tinyint, database_version int, backup_size numeric(20,0), database_name nvarchar(128), " +
	"server_name nvarchar(128), machine_name nvarchar(128), flags int, unicode_locale int, " +
	"unicode_compare_style int, collation_name nvarchar(128), is_password_protected bit, recovery_model nvarchar(60), " +
	"has_bulk_logged_data bit, is_snapshot bit, is_readonly bit, is_single_user bit, " +
	"has_backup_checksums bit, is_damaged bit, begins_log_chain bit, has_incomplete_metadata bit, is_force_offline " +
	"bit, is_copy_only bit, first_recovery_fork_guid uniqueidentifier, " +
	"last_recovery_fork_guid uniqueidentifier, fork_point_lsn numeric(25,0), database_guid uniqueidentifier, " +
	"family_guid uniqueidentifier, differential_base_lsn numeric(25,0), " +
	"differential_base_guid uniqueidentifier, compressed_backup_size numeric(20,0), key_algorithm nvarchar(32), " +
	"encryptor_thumbprint varbinary(20), encryptor_type nvarchar(32), last_valid_restore_time datetime, " +
	"compression_algorithm nvarchar(32)"

// backupSetRecords are msdb.dbo.backupset. The algorithm of compressed sets is none that the page knows.
func backupSetRecords(ctx context.Context, s *engine.Session) ([]engine.Record, error) {
	list, err := documents[backupRecord](ctx, s, "__backupset")
	media := mediaSets(list)
	var out []engine.Record
	for _, b := range list {
		h, n := b.Header, b.Note
		base, baseSet := differentialOf(h, n)
		first, forkPoint := forksOf(h)
		until := h.Started
		if !h.Ended.IsZero() {
			until = h.Ended
		}
		out = append(
			out,
			engine.Record{
				"backup_set_id":         b.ID,
				"backup_set_uuid":       n.Set,
				"media_set_id":          media[n.Media],
				"first_family_number":   1,
				"first_media_number":    1,
				"last_family_number":    len(b.devices()),
				"last_media_number":     1,
				"catalog_family_number": 1,
				"catalog_media_number":  1,
				"position":              max(b.Position, 1),
				"expiration_date":       timeOrNull(n.Expires),
				"software_vendor_id":    4608,
				"name":                  engine.TextOrNull(n.Name),
				"description": engine.TextOrNull(
					n.Description,
				),
				"user_name":              n.User,
				"software_major_version": 16,
				"software_minor_version": 0,
				"software_build_version": 4000,
				"time_zone":              0,
				"mtf_minor_version":      0,
				"first_lsn": engine.LSNValue(
					h.First,
				),
				"last_lsn":                 engine.LSNValue(h.Last),
				"checkpoint_lsn":           engine.LSNValue(h.First),
				"database_backup_lsn":      engine.LSNValue(h.DatabaseBackup),
				"database_creation_date":   n.Created,
				"backup_start_date":        h.Started,
				"backup_finish_date":       b.Finished,
				"type":                     string(h.Kind),
				"sort_order":               52,
				"code_page":                0,
				"compatibility_level":      n.CompatibilityLevel,
				"database_version":         957,
				"backup_size":              sizeOf(h, b.Bytes),
				"database_name":            b.Database,
				"server_name":              h.Server,
				"machine_name":             h.Server,
				"flags":                    flagsOf(n),
				"unicode_locale":           1033,
				"unicode_compare_style":    196609,
				"collation_name":           n.Collation,
				"is_password_protected":    false,
				"recovery_model":           recoveryDescription(h.RecoveryModel),
				"has_bulk_logged_data":     false,
				"is_snapshot":              false,
				"is_readonly":              n.ReadOnly,
				"is_single_user":           n.UserAccess == "SINGLE_USER",
				"has_backup_checksums":     n.Checksum,
				"is_damaged":               false,
				"begins_log_chain":         h.BeginsChain,
				"has_incomplete_metadata":  false,
				"is_force_offline":         n.Tail,
				"is_copy_only":             h.CopyOnly,
				"first_recovery_fork_guid": first,
				"last_recovery_fork_guid":  h.Identity.LastFork(),
				"fork_point_lsn":           forkPoint,
				"database_guid":            h.Identity.Database,
				"family_guid":              h.Identity.Family,
				"differential_base_lsn":    base,
				"differential_base_guid":   baseSet,
				"compressed_backup_size":   decimal.NewFromInt(b.Bytes),
				"last_valid_restore_time":  until,
			},
		)
	}
	return out, err
}

// sizeOf is a set's size before it was compressed; stored is what it has in its file.
func sizeOf(h storage.BackupHeader, stored int64) decimal.Decimal {
	if h.Compressed {
		return decimal.NewFromInt(h.Size)
	}
	return decimal.NewFromInt(stored)
}

// differentialOf are the position and the set of a differential backup's base.
func differentialOf(h storage.BackupHeader, n backupNote) (base, set any) {
	if h.Kind != storage.DifferentialBackup {
		return nil, nil
	}
	return engine.LSNValue(h.DatabaseBackup), n.Base
}

// forksOf are the recovery fork in which a set begins, and where it parts from the one in which it ends. A log backup
// that begins where they part goes on from the former one: what begins the other is in it.
func forksOf(h storage.BackupHeader) (first any, point any) {
	forks := h.Identity.Forks
	last := len(forks) - 1
	before := func(start storage.LSN) bool {
		return h.First.Less(start) || h.Kind == storage.LogBackup && h.First == start
	}
	for n := last; n > 0 && before(forks[n].Start); n-- {
		last = n - 1
	}
	if last == len(forks)-1 {
		return h.Identity.LastFork(), nil
	}
	return forks[last].ID, engine.LSNValue(forks[len(forks)-1].Start)
}

// The bits of Flags in RESTORE HEADERONLY (docs/t-sql/statements/restore-statements-headeronly-transact-sql.md); no
// page has the last one, which every set has.
const (
	flagReadOnly     = 4
	flagSingleUser   = 8
	flagChecksums    = 16
	flagTail         = 64
	flagTailOffline  = 256
	flagUndocumented = 512
)

func flagsOf(n backupNote) int64 {
	flags := int64(flagUndocumented)
	for flag, is := range map[int64]bool{flagReadOnly: n.ReadOnly, flagSingleUser: n.UserAccess == "SINGLE_USER",
		flagChecksums: n.Checksum, flagTail: n.Tail, flagTailOffline: n.Tail} {
		if is {
			flags |= flag
		}
	}
	return flags
}
