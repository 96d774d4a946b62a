// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"testing"

	. "github.com/onsi/gomega"
)

// A log backup that begins where a recovery made another fork begins in the former one, says where they part, and goes
// on from what was backed up before (docs/relational-databases/system-tables/backupset-transact-sql.md,
// first_recovery_fork_guid, fork_point_lsn).
func TestALogBackupOverTheBeginOfAFork(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	i := newInstance(t)
	db := connection(t, i.newDatabase(t, "works"))
	for _, text := range []string{
		"CREATE TABLE t (a int PRIMARY KEY)", "USE master",
		"BACKUP DATABASE works TO DISK = N'full.bak'",
		"INSERT works.dbo.t VALUES (1)",
		"BACKUP LOG works TO DISK = N'first.trn'",
		"RESTORE DATABASE works FROM DISK = N'full.bak' WITH NORECOVERY, REPLACE",
		"RESTORE LOG works FROM DISK = N'first.trn' WITH RECOVERY",
		"INSERT works.dbo.t VALUES (2)",
		"BACKUP LOG works TO DISK = N'second.trn'",
		"RESTORE DATABASE works FROM DISK = N'full.bak' WITH NORECOVERY, REPLACE",
		"RESTORE LOG works FROM DISK = N'first.trn' WITH NORECOVERY",
		"RESTORE LOG works FROM DISK = N'second.trn' WITH RECOVERY",
	} {
		mustExec(t, db, text)
	}
	g.Expect(one(t, i.open(t, ""), "SELECT COUNT(*) AS n FROM works.dbo.t")).To(HaveKeyWithValue("n", int64(2)))
	header := func(file string) map[string]any {
		return one(t, i.open(t, ""), "RESTORE HEADERONLY FROM DISK = N'"+file+"'")
	}
	first, second := header("first.trn"), header("second.trn")
	g.Expect(second).To(And(HaveKeyWithValue("FirstLSN", first["LastLSN"]),
		HaveKeyWithValue("FirstRecoveryForkID", first["RecoveryForkID"]),
		HaveKeyWithValue("ForkPointLSN", first["LastLSN"])))
	g.Expect(second["RecoveryForkID"]).NotTo(Equal(first["RecoveryForkID"]))
}
