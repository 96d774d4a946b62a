// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"testing"

	. "github.com/onsi/gomega"
)

// TestOptionsOfADatabaseInAGroup: what ALTER DATABASE sets at the primary is so at the secondaries, too, but for what
// master has of a database (TRUSTWORTHY, DB_CHAINING); at a secondary nothing can be set, as the database is read-only
// there.
func TestOptionsOfADatabaseInAGroup(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	c := newGroup(t, "ASYNCHRONOUS_COMMIT", agLease)
	c.synchronized(0, 1)
	const shown = "SELECT compatibility_level, is_read_committed_snapshot_on, snapshot_isolation_state, " +
		"page_verify_option_desc, is_auto_shrink_on, is_recursive_triggers_on, is_trustworthy_on FROM sys.databases WHERE " +
		"name = 'app'"
	for _, option := range []string{"COMPATIBILITY_LEVEL = 150", "READ_COMMITTED_SNAPSHOT ON WITH ROLLBACK IMMEDIATE",
		"ALLOW_SNAPSHOT_ISOLATION ON", "PAGE_VERIFY NONE", "AUTO_SHRINK ON", "RECURSIVE_TRIGGERS ON", "TRUSTWORTHY ON"} {
		mustExec(t, c.admins[0], "ALTER DATABASE [app] SET "+option)
	}
	g.Expect(query(t, c.admins[0], shown)).To(Equal([][]any{{int64(150), true, int64(1), "NONE", true, true, true}}))
	there := [][]any{{int64(150), true, int64(1), "NONE", true, true, false}}
	for n := 1; n < 3; n++ {
		g.Eventually(func() ([][]any, error) { return tryQuery(c.admins[n], shown) }, patient, "50ms").Should(Equal(there))
	}
	for _, text := range []string{"SET COMPATIBILITY_LEVEL = 160", "SET READ_COMMITTED_SNAPSHOT OFF",
		"SET ALLOW_SNAPSHOT_ISOLATION OFF", "SET TRUSTWORTHY ON", "SET DB_CHAINING ON", "SET PAGE_VERIFY CHECKSUM",
		"SET MULTI_USER",
		"MODIFY FILE (NAME = app, SIZE = 20MB)", "ADD FILEGROUP more"} {
		_, err := c.admins[1].ExecContext(t.Context(), "ALTER DATABASE [app] "+text)
		g.Expect(severe(err)).To(Equal([]int32{3906, 5069}), text)
	}
	for _, option := range []string{"RECOVERY SIMPLE", "READ_ONLY", "OFFLINE", "SINGLE_USER"} {
		for n := range 2 {
			_, err := c.admins[n].ExecContext(t.Context(), "ALTER DATABASE [app] SET "+option)
			g.Expect(severe(err)).To(Equal([]int32{1468, 5069}), option)
		}
	}
	g.Expect(query(t, c.admins[1], shown)).To(Equal(there))
	c.promote(1)
	g.Expect(query(t, c.admins[1], shown)).To(Equal(there))
	mustExec(t, c.admins[1], "ALTER DATABASE [app] SET COMPATIBILITY_LEVEL = 160")
}

// TestRestoreOverADatabaseInAGroup: RESTORE is refused in all its forms at the primary and at a secondary
// (docs/database-engine/availability-groups/windows/active-secondaries-backup-on-secondary-replicas-always-on-availability-groups.md:
// no RESTORE on either).
func TestRestoreOverADatabaseInAGroup(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	c := newGroup(t, "ASYNCHRONOUS_COMMIT", agLease)
	c.synchronized(0, 1)
	mustExec(t, c.admins[0], "BACKUP LOG [app] TO DISK = N'app.trn'")
	for n := range 2 {
		for _, text := range []string{"RESTORE DATABASE [app] FROM DISK = N'app.bak' WITH REPLACE",
			"RESTORE DATABASE [app] FROM DISK = N'app.bak' WITH NORECOVERY", "RESTORE LOG [app] FROM DISK = N'app.trn'",
			"RESTORE LOG [app] FROM DISK = N'app.trn' WITH NORECOVERY", "RESTORE DATABASE [app] WITH RECOVERY"} {
			_, err := c.admins[n].ExecContext(t.Context(), text)
			g.Expect(severe(err)).To(Equal([]int32{3104, 3013}), text)
		}
	}
	c.synchronized(0, 1)
}
