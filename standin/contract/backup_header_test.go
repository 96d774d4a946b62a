// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

// TestHeadersOfBackupSets: what RESTORE HEADERONLY and msdb.dbo.backupset say of a full backup, of two of the log, of a
// differential, a compressed copy and a tail (docs/t-sql/statements/restore-statements-headeronly-transact-sql.md,
// docs/relational-databases/system-tables/backupset-transact-sql.md).
func TestHeadersOfBackupSets(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	i := newInstance(t)
	db := connection(t, i.newDatabase(t, "works"))
	for _, text := range []string{
		"CREATE TABLE t (a int PRIMARY KEY, v varchar(max))", "USE master",
		"BACKUP DATABASE works TO DISK = N'works.bak' WITH FORMAT, CHECKSUM",
		"INSERT works.dbo.t VALUES (1, REPLICATE('a', 8000))",
		"BACKUP LOG works TO DISK = N'works.bak'",
		"INSERT works.dbo.t VALUES (2, REPLICATE('b', 8000))",
		"BACKUP LOG works TO DISK = N'works.bak' WITH COMPRESSION",
		"BACKUP DATABASE works TO DISK = N'works.bak' WITH DIFFERENTIAL",
		"BACKUP DATABASE works TO DISK = N'works.bak' WITH COPY_ONLY, COMPRESSION",
		"BACKUP LOG works TO DISK = N'works.bak' WITH NORECOVERY",
	} {
		mustExec(t, db, text)
	}
	type set struct {
		checksums, begins, offline, copied bool
		flags                              int64
	}
	const every = 512
	for n, want := range []set{{checksums: true, flags: every + 16}, {begins: true, flags: every}, {flags: every},
		{flags: every}, {copied: true, flags: every}, {offline: true, flags: every + 64 + 256}} {
		where := fmt.Sprintf("set %d", n+1)
		header := one(t, i.open(t, ""), fmt.Sprintf("RESTORE HEADERONLY FROM DISK = N'works.bak' WITH FILE = %d", n+1))
		row := one(t, i.open(t, "msdb"), fmt.Sprintf("SELECT * FROM dbo.backupset WHERE position = %d", n+1))
		g.Expect(set{header["HasBackupChecksums"].(bool), header["BeginsLogChain"].(bool), header["IsForceOffline"].(bool),
			header["IsCopyOnly"].(bool), header["Flags"].(int64)}).
			To(Equal(want), where)
		for shown, kept := range map[string]string{"HasBackupChecksums": "has_backup_checksums",
			"BeginsLogChain": "begins_log_chain", "IsForceOffline": "is_force_offline", "IsCopyOnly": "is_copy_only",
			"Flags":      "flags",
			"BackupSize": "backup_size", "FirstLSN": "first_lsn", "LastLSN": "last_lsn",
			"DatabaseBackupLSN": "database_backup_lsn", "BackupStartDate": "backup_start_date",
			"FirstRecoveryForkID": "first_recovery_fork_guid",
			"RecoveryForkID":      "last_recovery_fork_guid", "ForkPointLSN": "fork_point_lsn",
			"DifferentialBaseLSN": "differential_base_lsn", "BackupSetGUID": "backup_set_uuid"} {
			g.Expect(map[string]any{shown: header[shown]}).To(Equal(map[string]any{shown: row[kept]}), where)
		}
		g.Expect(fmt.Sprint(header["CompressedBackupSize"])).
			To(Equal(fmt.Sprintf("%s", row["compressed_backup_size"])), where)
		finished, recorded := header["BackupFinishDate"].(time.Time), row["backup_finish_date"].(time.Time)
		g.Expect(finished).To(BeTemporally(">=", header["BackupStartDate"].(time.Time)), where)
		g.Expect(finished).To(BeTemporally("<=", recorded), where)
		g.Expect(row["last_valid_restore_time"]).
			To(And(BeTemporally(">=", row["backup_start_date"].(time.Time)), BeTemporally("<=", recorded)), where)
		size, stored := fmt.Sprintf("%s", header["BackupSize"]), fmt.Sprint(header["CompressedBackupSize"])
		g.Expect(size).NotTo(Equal("0"), where)
		if compressed := header["Compressed"] == int64(1); compressed {
			g.Expect(len(size)).To(BeNumerically(">=", len(stored)), where)
			g.Expect(size).NotTo(Equal(stored), where)
		} else {
			g.Expect(size).To(Equal(stored), where)
		}
	}
	g.Expect(value(t, i.open(t, "msdb"),
		"SELECT COUNT(DISTINCT database_backup_lsn) FROM dbo.backupset WHERE position > 1")).
		To(Equal(int64(1)))
	g.Expect(one(t, i.open(t, ""), "RESTORE HEADERONLY FROM DISK = N'works.bak' WITH FILE = 1")["DatabaseBackupLSN"]).
		To(BeNil(), "there was none before")
}

// TestBackupSetColumns: the columns of msdb.dbo.backupset are in their documented order.
func TestBackupSetColumns(t *testing.T) {
	t.Parallel()
	rows, err := shared.open(t, "msdb").QueryContext(t.Context(), "SELECT TOP 0 * FROM dbo.backupset")
	g := NewWithT(t)
	g.Expect(err).NotTo(HaveOccurred())
	defer rows.Close()
	types, err := rows.ColumnTypes()
	g.Expect(err).NotTo(HaveOccurred())
	var columns []string
	for _, c := range types {
		columns = append(columns, c.Name()+" "+documentedType(c))
	}
	g.Expect(columns[:12]).
		To(Equal([]string{"backup_set_id int", "backup_set_uuid uniqueidentifier", "media_set_id int",
			"first_family_number tinyint", "first_media_number smallint", "last_family_number tinyint",
			"last_media_number smallint", "catalog_family_number tinyint", "catalog_media_number smallint", "position int",
			"expiration_date datetime", "software_vendor_id int"}))
	g.Expect(columns).To(ContainElements("time_zone smallint", "compressed_backup_size numeric(20,0)"))
	g.Expect(columns[len(columns)-5:]).
		To(Equal([]string{"key_algorithm nvarchar(32)", "encryptor_thumbprint varbinary(20)", "encryptor_type nvarchar(32)",
			"last_valid_restore_time datetime", "compression_algorithm nvarchar(32)"}))
}
