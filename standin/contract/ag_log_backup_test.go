// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"fmt"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
)

// logBackups takes backups of the log of app at the servers of a group, and knows their files.
type logBackups struct {
	*agCluster
	folder string
	files  []string
}

func newLogBackups(c *agCluster) *logBackups { return &logBackups{agCluster: c, folder: c.t.TempDir()} }

// take has server n back up the log.
func (l *logBackups) take(n int) {
	l.t.Helper()
	file := filepath.Join(l.folder, fmt.Sprintf("chain-%d.trn", len(l.files)))
	mustExec(l.t, l.admins[n], "BACKUP LOG [app] TO DISK = N'"+file+"'")
	l.files = append(l.files, file)
}

// chain are the first and last positions of the backups, as their files say.
func (l *logBackups) chain() (all [][2]string) {
	l.t.Helper()
	for _, file := range l.files {
		header := one(l.t, l.admins[0], "RESTORE HEADERONLY FROM DISK = N'"+file+"'")
		all = append(all, [2]string{fmt.Sprintf("%s", header["FirstLSN"]), fmt.Sprintf("%s", header["LastLSN"])})
	}
	return all
}

// restored are the rows of a database that is restored from the full backup and all of the log's.
func (l *logBackups) restored(n int) []int64 {
	l.t.Helper()
	folder := l.t.TempDir()
	mustExec(
		l.t,
		l.admins[n],
		fmt.Sprintf(
			"RESTORE DATABASE [copy] FROM DISK = N'%s' WITH NORECOVERY, MOVE N'app' TO N'%s', MOVE N'app_log' TO N'%s'",
			filepath.Join(
				l.servers[0].root,
				"data",
				"app.bak",
			),
			filepath.Join(folder, "copy.mdf"),
			filepath.Join(folder, "copy.ldf"),
		),
	)
	for _, file := range l.files {
		mustExec(l.t, l.admins[n], "RESTORE LOG [copy] FROM DISK = N'"+file+"' WITH NORECOVERY")
	}
	mustExec(l.t, l.admins[n], "RESTORE DATABASE [copy] WITH RECOVERY")
	var ids []int64
	for _, r := range query(l.t, l.admins[n], "SELECT id FROM [copy].dbo.t ORDER BY id") {
		ids = append(ids, r[0].(int64))
	}
	mustExec(l.t, l.admins[n], "DROP DATABASE [copy]")
	return ids
}

// TestLogBackupsGoOnAtEveryReplica: regular backups of the log, taken at the primary, at a synchronous and an
// asynchronous secondary and after a failover, are one chain
// (docs/database-engine/availability-groups/windows/active-secondaries-backup-on-secondary-replicas-always-on-availability-groups.md,
// Backup Types Supported on Secondary Replicas).
func TestLogBackupsGoOnAtEveryReplica(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	c := newGroup(t, "ASYNCHRONOUS_COMMIT", agLease)
	c.synchronized(0, 1)
	l := newLogBackups(c)
	want := []int64{}
	write := func(n, id int) {
		g.Expect(c.insert(t.Context(), n, id)).To(Succeed())
		want = append(want, int64(id))
		for m := range 3 {
			g.Eventually(c.ids(m), patient, "20ms").Should(Equal(want), c.servers[m].name)
		}
	}
	// The secondaries were seeded after the full backup: the chain begins before their copies did.
	for n, at := range []int{1, 2, 0, 1} {
		write(0, n)
		l.take(at)
	}
	g.Expect(query(t, c.admins[1], "SELECT type, is_copy_only, database_name, server_name FROM msdb.dbo.backupset")).
		To(HaveEach(Equal([]any{"L", false, "app", "AGB"})))
	since := "SELECT log_space_in_bytes_since_last_backup FROM sys.dm_db_log_space_usage"
	app := c.servers[0].open(t, "app")
	g.Expect(value(t, app, since)).To(BeZero(), "the primary knows of the secondary's backup")
	app.Close()

	c.promote(1)
	mustExec(t, c.admins[0], "ALTER AVAILABILITY GROUP [ag] SET (ROLE = SECONDARY)")
	mustExec(t, c.admins[2], "ALTER AVAILABILITY GROUP [ag] SET (ROLE = SECONDARY)")
	c.synchronized(1, 0)
	for n, at := range []int{1, 0, 2} {
		write(1, 10+n)
		l.take(at)
	}
	chain := l.chain()
	for n := range chain[1:] {
		g.Expect(chain[n+1][0]).To(Equal(chain[n][1]), "backup %d begins where the one before it ended", n+1)
	}
	g.Expect(l.restored(2)).To(Equal(want))
}

// TestLogBackupAtASeededReplicaAfterAFailover: what the log had before the copy was seeded is in the first backup that
// the new primary takes.
func TestLogBackupAtASeededReplicaAfterAFailover(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	c := newAGServers(t)
	c.agDatabase(0, "app")
	g.Expect(c.insert(t.Context(), 0, 1)).To(Succeed())
	mustExec(
		t,
		c.admins[0],
		fmt.Sprintf(
			"CREATE AVAILABILITY GROUP [ag] WITH (CLUSTER_TYPE = EXTERNAL, WRITE_LEASE_VALIDITY = %d) FOR DATABASE [app] "+
				"REPLICA ON %s, %s, %s",
			agLease,
			c.replica(0, "SYNCHRONOUS_COMMIT"),
			c.replica(1, "SYNCHRONOUS_COMMIT"),
			c.replica(2, "CONFIGURATION_ONLY"),
		),
	)
	for n := 1; n < 3; n++ {
		mustExec(t, c.admins[n], "ALTER AVAILABILITY GROUP [ag] JOIN WITH (CLUSTER_TYPE = EXTERNAL)")
	}
	mustExec(t, c.admins[1], "ALTER AVAILABILITY GROUP [ag] GRANT CREATE ANY DATABASE")
	c.synchronized(0, 1)
	g.Expect(c.insert(t.Context(), 0, 2)).To(Succeed())
	c.servers[0].kill()
	c.promote(1)
	l := newLogBackups(c)
	g.Expect(c.insert(t.Context(), 1, 3)).To(Succeed())
	l.take(1)
	g.Expect(l.restored(1)).To(Equal([]int64{1, 2, 3}))
}

// TestBackupsAtASecondaryThatIsOutOfTouch: a secondary has to be SYNCHRONIZED or SYNCHRONIZING (3062).
func TestBackupsAtASecondaryThatIsOutOfTouch(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	c := newGroup(t, "ASYNCHRONOUS_COMMIT", agLease)
	c.synchronized(0, 1)
	refused := func(n int) {
		t.Helper()
		for _, text := range []string{"BACKUP LOG [app] TO DISK = N'out.trn'",
			"BACKUP DATABASE [app] TO DISK = N'out.bak' WITH COPY_ONLY"} {
			_, err := c.admins[n].ExecContext(t.Context(), text)
			g.Expect(severe(err)).To(Equal([]int32{3062, 3013}), text)
		}
		g.Expect(query(t, c.admins[n], "SELECT * FROM msdb.dbo.backupset")).To(BeEmpty())
	}
	mustExec(t, c.admins[1], "ALTER DATABASE [app] SET HADR SUSPEND")
	refused(1)
	mustExec(t, c.admins[1], "ALTER DATABASE [app] SET HADR RESUME")
	g.Eventually(c.state(1, 1), patient, "20ms").Should(Equal("SYNCHRONIZED"))
	mustExec(t, c.admins[1], "BACKUP LOG [app] TO DISK = N'out.trn'")
	c.servers[0].kill()
	g.Eventually(c.state(2, 2), patient, "20ms").Should(Equal("NOT SYNCHRONIZING"))
	refused(2)
}

// TestLogBackupAfterAForcedFailover: the new primary lacks what the old one had backed up last; its chain goes on where
// they part.
func TestLogBackupAfterAForcedFailover(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	c := newGroup(t, "ASYNCHRONOUS_COMMIT", agLease)
	c.synchronized(0, 1)
	l := newLogBackups(c)
	g.Expect(c.insert(t.Context(), 0, 1)).To(Succeed())
	g.Eventually(c.ids(2), patient, "20ms").Should(Equal([]int64{1}))
	l.take(0)
	mustExec(t, c.admins[2], "ALTER DATABASE [app] SET HADR SUSPEND")
	g.Expect(c.insert(t.Context(), 0, 2)).To(Succeed())
	lost := filepath.Join(t.TempDir(), "lost.trn")
	mustExec(t, c.admins[0], "BACKUP LOG [app] TO DISK = N'"+lost+"'")
	// The secondary hears of that backup, whose log it does not have.
	heard := c.servers[2].open(t, "app")
	g.Eventually(func() any {
		return value(t, heard, "SELECT log_space_in_bytes_since_last_backup FROM sys.dm_db_log_space_usage")
	}, patient, "50ms").Should(BeZero())
	heard.Close()
	c.servers[0].kill()
	mustExec(t, c.admins[2], fmt.Sprintf("ALTER AVAILABILITY GROUP [ag] SET (WRITE_LEASE_VALIDITY = %d)", agLease))
	g.Expect(c.asManager(2, "ALTER AVAILABILITY GROUP [ag] FORCE_FAILOVER_ALLOW_DATA_LOSS")).To(Succeed())
	g.Eventually(c.role(2), patient, "20ms").Should(Equal("PRIMARY"))
	g.Expect(c.insert(t.Context(), 2, 3)).To(Succeed())
	l.take(2)
	g.Expect(l.restored(2)).To(Equal([]int64{1, 3}))
}

// TestLogBackupsInADistributedGroup: the forwarder goes on with the chain, as it is in touch with the global primary;
// its own secondary, which is not, cannot (35294), by the same page.
func TestLogBackupsInADistributedGroup(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	d := distributed{newAGServers(t)}
	d.agDatabase(0, "app")
	d.memberGroup("ag1", "DATABASE [app]", 0)
	d.memberGroup("ag2", "", 1, 2)
	mustExec(t, d.admins[0], "CREATE AVAILABILITY GROUP [dag] WITH (DISTRIBUTED) "+d.members(0, 1, memberOptions))
	mustExec(t, d.admins[1], "ALTER AVAILABILITY GROUP [dag] JOIN "+d.members(0, 1, memberOptions))
	// Rows may be read at the forwarder a moment before; until then it is 3062.
	g.Eventually(d.copyState(1, true), patient, "50ms").Should(Equal("SYNCHRONIZING"))
	l := newLogBackups(d.agCluster)
	for id, at := range []int{1, 0, 1} {
		g.Expect(d.insert(t.Context(), 0, id)).To(Succeed())
		for n := 1; n < 3; n++ {
			g.Eventually(d.ids(n), patient, "50ms").Should(HaveLen(id + 1))
		}
		l.take(at)
	}
	chain := l.chain()
	g.Expect([]string{chain[1][0], chain[2][0]}).To(Equal([]string{chain[0][1], chain[1][1]}))
	g.Expect(l.restored(0)).To(Equal([]int64{0, 1, 2}))
	_, err := d.admins[2].ExecContext(t.Context(), "BACKUP LOG [app] TO DISK = N'far.trn'")
	g.Expect(severe(err)).To(Equal([]int32{35294, 3013}))
}

// TestAFormerPrimaryTruncatesItsLog: log that was backed up at the new primary is let go of at the former one, too,
// which kept it for its secondaries while it was primary.
func TestAFormerPrimaryTruncatesItsLog(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	c := newGroup(t, "ASYNCHRONOUS_COMMIT", agLease)
	c.synchronized(0, 1)
	l := newLogBackups(c)
	l.take(0)
	c.promote(1)
	mustExec(t, c.admins[0], "ALTER AVAILABILITY GROUP [ag] SET (ROLE = SECONDARY)")
	mustExec(t, c.admins[2], "ALTER AVAILABILITY GROUP [ag] SET (ROLE = SECONDARY)")
	c.synchronized(1, 0)
	app := c.servers[1].open(t, "app")
	defer app.Close()
	mustExec(t, app, "CREATE TABLE dbo.big (v varbinary(max))")
	virtual := func(n int) func() []string {
		return func() []string {
			files, err := filepath.Glob(filepath.Join(c.servers[n].root, "data", "app_log.ldf", "*.vlf"))
			g.Expect(err).NotTo(HaveOccurred())
			return files
		}
	}
	g.Eventually(func() int {
		mustExec(t, app, "INSERT dbo.big VALUES (CAST(REPLICATE(CAST('x' AS varchar(max)), 1000000) AS varbinary(max)))")
		return len(virtual(0)())
	}, patient).Should(BeNumerically(">", 5))
	g.Eventually(func() []string {
		mustExec(t, app, "CHECKPOINT")
		l.take(1)
		return virtual(0)()
	}, patient, "100ms").Should(HaveLen(1))
}
