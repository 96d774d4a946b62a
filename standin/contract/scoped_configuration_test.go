// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"fmt"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// TestScopedConfigurations goes by docs/t-sql/statements/alter-database-scoped-configuration-transact-sql.md and
// docs/relational-databases/system-catalog-views/sys-database-scoped-configurations-transact-sql.md.
func TestScopedConfigurations(t *testing.T) {
	t.Parallel()
	const one = "SELECT value, value_for_secondary, is_value_default FROM sys.database_scoped_configurations WHERE name = "
	converse(t, connection(t, newDatabase(t)), []say{
		{
			"SELECT configuration_id, name, value, value_for_secondary, is_value_default FROM " +
				"sys.database_scoped_configurations WHERE configuration_id < 7 OR configuration_id IN (11, 25) ORDER BY 1",
			"1 MAXDOP 0 NULL true; 2 LEGACY_CARDINALITY_ESTIMATION 0 NULL true; 3 PARAMETER_SNIFFING 1 NULL true; 4 " +
				"QUERY_OPTIMIZER_HOTFIXES 0 NULL true; 6 IDENTITY_CACHE 1 NULL true; " +
				"11 ELEVATE_ONLINE OFF NULL true; 25 PAUSED_RESUMABLE_INDEX_ABORT_DURATION_MINUTES 1440 NULL true",
		},
		{
			"SELECT COUNT(*) FROM sys.database_scoped_configurations WHERE is_value_default = 0 OR value_for_secondary " +
				"IS NOT NULL",
			"0",
		},
		{"ALTER DATABASE SCOPED CONFIGURATION SET MAXDOP = 1;", "ok"}, {one + "'MAXDOP'", "1 NULL false"},
		{"ALTER DATABASE SCOPED CONFIGURATION FOR SECONDARY SET MAXDOP = 4", "ok"}, {one + "'MAXDOP'", "1 4 false"},
		{"ALTER DATABASE SCOPED CONFIGURATION FOR SECONDARY SET MAXDOP = PRIMARY", "ok"}, {one + "'MAXDOP'", "1 NULL false"},
		{"ALTER DATABASE SCOPED CONFIGURATION SET MAXDOP = 0", "ok"}, {one + "'MAXDOP'", "0 NULL true"},
		{
			"ALTER DATABASE SCOPED CONFIGURATION SET LEGACY_CARDINALITY_ESTIMATION = ON; ALTER DATABASE SCOPED CONFIGURATION " +
				"FOR SECONDARY SET LEGACY_CARDINALITY_ESTIMATION = PRIMARY",
			"ok",
		},
		{
			"ALTER DATABASE SCOPED CONFIGURATION SET PARAMETER_SNIFFING = OFF; ALTER DATABASE SCOPED CONFIGURATION FOR " +
				"SECONDARY SET PARAMETER_SNIFFING = ON",
			"ok",
		},
		{"ALTER DATABASE SCOPED CONFIGURATION FOR SECONDARY SET QUERY_OPTIMIZER_HOTFIXES = ON", "ok"},
		{
			"SELECT name, value, value_for_secondary FROM sys.database_scoped_configurations WHERE is_value_default = 0 OR " +
				"value_for_secondary IS NOT NULL ORDER BY configuration_id",
			"LEGACY_CARDINALITY_ESTIMATION 1 NULL; PARAMETER_SNIFFING 0 1; QUERY_OPTIMIZER_HOTFIXES 0 1",
		},
		{
			"ALTER DATABASE SCOPED CONFIGURATION SET ELEVATE_ONLINE = WHEN_SUPPORTED; ALTER DATABASE SCOPED CONFIGURATION " +
				"SET ELEVATE_RESUMABLE = WHEN_SUPPORTED",
			"ok",
		}, {one + "'ELEVATE_ONLINE'", "WHEN_SUPPORTED NULL false"},
		{
			"ALTER DATABASE SCOPED CONFIGURATION SET PAUSED_RESUMABLE_INDEX_ABORT_DURATION_MINUTES = 60",
			"ok",
		}, {one + "'PAUSED_RESUMABLE_INDEX_ABORT_DURATION_MINUTES'", "60 NULL false"},
		{
			"ALTER DATABASE SCOPED CONFIGURATION SET TSQL_SCALAR_UDF_INLINING = OFF",
			"ok",
		}, {one + "'TSQL_SCALAR_UDF_INLINING'", "0 NULL false"},
		{"ALTER DATABASE SCOPED CONFIGURATION CLEAR PROCEDURE_CACHE", "ok"},
		{"BEGIN TRAN; ALTER DATABASE SCOPED CONFIGURATION SET MAXDOP = 7; ROLLBACK", "ok"}, {one + "'MAXDOP'", "0 NULL true"},
	})
}

// TestScopedConfigurationsRefused: the messages 12108 to 12117 and 12121 of the list of errors
// (docs/relational-databases/errors-events/database-engine-events-and-errors-11000-to-12999.md), and what this server
// cannot do.
func TestScopedConfigurationsRefused(t *testing.T) {
	t.Parallel()
	list := []say{}
	for _, one := range []say{
		{"SET MAXDOP = PRIMARY", "!12109/16/1/1"}, {"SET PARAMETER_SNIFFING = PRIMARY", "!12109/16/1/1"},
		{"FOR SECONDARY SET IDENTITY_CACHE = OFF", "!12110/16/1/1"},
		{"FOR SECONDARY SET ELEVATE_ONLINE = OFF", "!12110/16/1/1"},
		{"SET MAXDOP = -1", "!12108/16/1/1"}, {"SET MAXDOP = 32768", "!12108/16/1/1"},
		{"SET PAUSED_RESUMABLE_INDEX_ABORT_DURATION_MINUTES = -1", "!12121/15/1/1"},
		{"SET PAUSED_RESUMABLE_INDEX_ABORT_DURATION_MINUTES = 71583", "!12121/15/1/1"},
		{"CLEAR PROCEDURE_CACHE 0x0600", "!12117/16/1/1"},
		{"SET\nMEMORY_GRANT_FEEDBACK_PERCENTILE = ON", "!102/15/1/2"}, {"SET MAXDOP", "!102/15/1/1"},
		{"SET MAXDOP 4", "!102/15/1/1"}, {"SET MAXDOP = ON", "!156/15/1/1"},
		{"SET IDENTITY_CACHE = PRIMARY", "!156/15/1/1"}, {"SET IDENTITY_CACHE = 1", "!102/15/1/1"},
		{"SET ELEVATE_ONLINE = ON", "!156/15/1/1"}, {"SET MAXDOP = 1, PARAMETER_SNIFFING = ON", "!102/15/1/1"},
		{"FOR SECONDARY CLEAR PROCEDURE_CACHE", "!102/15/1/1"}, {"FOR PRIMARY SET MAXDOP = 1", "!156/15/1/1"},
		{"CLEAR", "!102/15/1/1"}, {"", "!102/15/1/1"},
		{"SET GLOBAL_TEMPORARY_TABLE_AUTO_DROP = OFF", "!40517/16/1/1"}, {"SET LAST_QUERY_PLAN_STATS = ON", "!40517/16/1/1"},
		{"SET ELEVATE_ONLINE = FAIL_UNSUPPORTED", "!40517/16/1/1"},
		{"SET LEDGER_DIGEST_STORAGE_ENDPOINT = 'https://a.blob.core.windows.net'", "!40517/16/1/1"},
		{"SET DW_COMPATIBILITY_LEVEL = AUTO", "!40517/16/1/1"},
	} {
		list = append(list, say{"ALTER DATABASE SCOPED CONFIGURATION " + one.text, one.want})
	}
	list = append(
		list,
		say{
			"SELECT COUNT(*) FROM sys.database_scoped_configurations WHERE is_value_default = 0 OR value_for_secondary " +
				"IS NOT NULL",
			"0",
		},
	)
	converse(t, connection(t, newDatabase(t)), list)
}

// TestScopedConfigurationsNeedAPermission: Permissions of the page: ALTER ANY DATABASE SCOPED CONFIGURATION, which may
// be granted.
func TestScopedConfigurationsNeedAPermission(t *testing.T) {
	t.Parallel()
	db := connection(t, newDatabase(t))
	converse(t, db, []say{
		{"CREATE USER tuner WITHOUT LOGIN", "ok"},
		{"EXECUTE AS USER = 'tuner'; ALTER DATABASE SCOPED CONFIGURATION SET MAXDOP = 2", "!15247/16/1/1"}, {"REVERT", "ok"},
		{"GRANT ALTER ANY DATABASE SCOPED CONFIGURATION TO tuner", "ok"},
		{
			"EXECUTE AS USER = 'tuner'; ALTER DATABASE SCOPED CONFIGURATION SET MAXDOP = 2; REVERT; SELECT value FROM " +
				"sys.database_scoped_configurations WHERE name = 'MAXDOP'",
			"2",
		},
	})
}

// TestVerboseTruncationWarnings: VERBOSE_TRUNCATION_WARNINGS of the page, which has no effect below compatibility level
// 150.
func TestVerboseTruncationWarnings(t *testing.T) {
	t.Parallel()
	converse(t, connection(t, newDatabase(t)), []say{
		{"CREATE TABLE narrow (c varchar(2))", "ok"}, {"INSERT narrow VALUES ('long')", "!2628/16/1"},
		{
			"ALTER DATABASE SCOPED CONFIGURATION SET VERBOSE_TRUNCATION_WARNINGS = OFF",
			"ok",
		}, {"INSERT narrow VALUES ('long')", "!8152/16"},
		{"DECLARE @v varchar(9) = 'long'; INSERT narrow SELECT @v", "!8152/16"}, {"UPDATE narrow SET c = 'long'", "ok"},
		{
			"ALTER DATABASE SCOPED CONFIGURATION SET VERBOSE_TRUNCATION_WARNINGS = ON",
			"ok",
		}, {"INSERT narrow VALUES ('long')", "!2628/16/1"},
		{"ALTER DATABASE CURRENT SET COMPATIBILITY_LEVEL = 140", "ok"}, {"INSERT narrow VALUES ('long')", "!8152/16"},
	})
}

// TestIdentityCacheOff: IDENTITY_CACHE of the page: without it a server that ends unexpectedly leaves no gap.
func TestIdentityCacheOff(t *testing.T) {
	ownProcess(t)
	g := NewWithT(t)
	server := newInstance(t)
	for _, at := range []string{"ON", "OFF"} {
		db := server.newDatabase(t, uniqueName("identities"))
		mustExec(t, db, "CREATE TABLE counted (i int IDENTITY, a int); INSERT counted VALUES (0)")
		mustExec(t, db, "ALTER DATABASE SCOPED CONFIGURATION SET IDENTITY_CACHE = "+at)
		mustExec(t, db, "INSERT counted VALUES (0)")
		name := fmt.Sprint(value(t, db, "SELECT DB_NAME()"))
		server.kill()
		g.Expect(server.launch()).To(Succeed())
		again := server.open(t, name)
		mustExec(t, again, "INSERT counted VALUES (0)")
		wanted := Equal(int64(3))
		if at == "ON" {
			wanted = BeNumerically(">", 3)
		}
		g.Expect(value(t, again, "SELECT MAX(i) FROM counted")).To(wanted, at)
	}
}

// TestScopedConfigurationsTravel: Remarks of the view's page: they are restored with the database.
func TestScopedConfigurationsTravel(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	admin := shared.open(t, "")
	db := newDatabase(t)
	name := fmt.Sprint(value(t, db, "SELECT DB_NAME()"))
	copied := uniqueName("d")
	mustExec(
		t,
		db,
		"ALTER DATABASE SCOPED CONFIGURATION SET MAXDOP = 3; ALTER DATABASE SCOPED CONFIGURATION FOR SECONDARY "+
			"SET MAXDOP = 5",
	)
	mustExec(t, admin, "BACKUP DATABASE "+name+" TO DISK = '"+copied+".bak'")
	moves := []string{}
	for _, file := range query(t, db, "SELECT name, physical_name FROM sys.database_files") {
		moves = append(
			moves,
			fmt.Sprintf("MOVE '%s' TO '%s'", file[0], strings.ReplaceAll(fmt.Sprint(file[1]), name, copied)),
		)
	}
	mustExec(t, admin, "RESTORE DATABASE "+copied+" FROM DISK = '"+copied+".bak' WITH "+strings.Join(moves, ", "))
	t.Cleanup(func() { mustExec(t, admin, "DROP DATABASE "+copied) })
	g.Expect(query(t, admin,
		"SELECT value, value_for_secondary FROM "+copied+".sys.database_scoped_configurations WHERE name = 'MAXDOP'")).
		To(Equal([][]any{{int64(3), int64(5)}}))
}
