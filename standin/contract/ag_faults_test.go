// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"testing"
	"time"

	mssql "github.com/microsoft/go-mssqldb"
	. "github.com/onsi/gomega"
)

// TestAGEverybodyRestarted: after a power cut all replicas are RESOLVING, a majority has to be there, and any replica
// that was synchronized may become primary with every acknowledged row.
func TestAGEverybodyRestarted(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	c := newGroup(t, "SYNCHRONOUS_COMMIT", agLease)
	ctx := t.Context()
	c.synchronized(0, 1, 2)
	for id := range 5 {
		g.Expect(c.insert(ctx, 0, id)).To(Succeed())
	}
	for _, s := range c.servers {
		s.kill()
	}
	c.restart(0)
	mustExec(t, c.admins[0], "ALTER AVAILABILITY GROUP [ag] SET (WRITE_LEASE_VALIDITY = 600)")
	g.Expect(errorNumber(c.asManager(0, "ALTER AVAILABILITY GROUP [ag] FAILOVER"))).
		To(Equal(int32(41104)), "alone it cannot know what was acknowledged")
	c.restart(1)
	c.restart(2)
	for n := range 3 {
		g.Expect(query(t, c.admins[n], `SELECT s.role_desc, s.operational_state_desc, s.recovery_health_desc, d.database_state_desc, d.synchronization_state_desc
			FROM sys.dm_hadr_availability_replica_states s JOIN sys.dm_hadr_database_replica_states d ON d.replica_id = s.replica_id`)).
			To(Equal([][]any{{"RESOLVING", "OFFLINE", "ONLINE_IN_PROGRESS", "RECOVERING", "NOT SYNCHRONIZING"}}))
		_, err := c.ids(n)()
		g.Expect(errorNumber(err)).To(Equal(int32(983)))
	}
	c.promote(2)
	g.Expect(c.insert(ctx, 2, 5)).To(Succeed())
	for _, n := range []int{0, 1} {
		mustExec(t, c.admins[n], "ALTER AVAILABILITY GROUP [ag] SET (ROLE = SECONDARY)")
		c.synchronized(2, n)
		g.Eventually(c.ids(n), patient).Should(Equal([]int64{0, 1, 2, 3, 4, 5}))
	}
}

// TestAGSilentSecondaryTimesOut: a secondary that hangs holds commits up until its SESSION_TIMEOUT, is then called
// unsynchronized by the configuration, and catches up when it goes on.
func TestAGSilentSecondaryTimesOut(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	c := newGroup(t, "CONFIGURATION_ONLY", agLease)
	ctx := t.Context()
	c.synchronized(0, 1)
	g.Expect(c.insert(ctx, 0, 1)).To(Succeed())
	sequence := "SELECT sequence_number FROM sys.availability_groups"
	before := value(t, c.admins[0], sequence).(int64)
	ready := func() any {
		return value(
			t,
			c.admins[0],
			`SELECT is_failover_ready FROM sys.dm_hadr_database_replica_cluster_states s JOIN sys.availability_replicas r ON r.replica_id = s.replica_id WHERE r.replica_server_name = 'AGB'`,
		)
	}
	g.Expect(ready()).To(Equal(true))
	hardened := func() any {
		return value(t, c.admins[0], "SELECT last_hardened_lsn FROM sys.dm_hadr_database_replica_states WHERE is_local = 0")
	}

	c.servers[1].freeze(t)
	stopped := time.Now()
	defer c.servers[1].thaw()
	g.Expect(c.insert(ctx, 0, 2)).To(Succeed())
	waited := time.Since(stopped)
	g.Expect(waited).
		To(And(BeNumerically(">", 3*time.Second), BeNumerically("<", 40*time.Second)), "SESSION_TIMEOUT is 5 s")
	g.Expect(value(t, c.admins[0], sequence)).To(BeNumerically(">", before))
	g.Expect(ready()).To(Equal(false))
	stale := hardened()
	g.Expect(c.insert(ctx, 0, 3)).To(Succeed())
	g.Expect(hardened()).To(Equal(stale), "the row about a lost replica is what was known last")
	g.Eventually(func() any {
		return query(
			t,
			c.admins[0],
			`SELECT s.connected_state_desc, s.synchronization_health_desc, d.synchronization_state_desc, d.is_commit_participant
			FROM sys.dm_hadr_availability_replica_states s JOIN sys.dm_hadr_database_replica_states d ON d.replica_id = s.replica_id WHERE d.is_local = 0`,
		)
	}, patient).Should(Equal([][]any{{"DISCONNECTED", "NOT_HEALTHY", "NOT SYNCHRONIZING", false}}))

	c.servers[1].thaw()
	c.synchronized(0, 1)
	g.Expect(ready()).To(Equal(true))
	g.Eventually(c.ids(1), patient).Should(Equal([]int64{1, 2, 3}))
}

// TestAGClientsAtAChangeOfRole: what clients get to see, and what becomes of their transactions.
func TestAGClientsAtAChangeOfRole(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	c := newGroup(t, "CONFIGURATION_ONLY", agLease)
	ctx := t.Context()
	c.synchronized(0, 1)
	idle := connection(t, c.servers[0].open(t, "app"))
	open := connection(t, c.servers[0].open(t, "app"))
	mustExec(t, idle, "SELECT 1")
	mustExec(t, open, "BEGIN TRANSACTION; INSERT INTO dbo.t (id) VALUES (1)")
	elsewhere := connection(t, c.admins[0])
	reader := connection(t, c.servers[1].open(t, "app"))
	mustExec(t, reader, "SELECT COUNT(*) FROM dbo.t")
	running := make(chan error, 1)
	go func() {
		db, err := sql.Open("sqlserver", c.servers[0].dsn(c.servers[0].user, c.servers[0].password, "app", nil))
		if err == nil {
			_, err = db.ExecContext(ctx, "WAITFOR DELAY '00:01:00'")
			db.Close()
		}
		running <- err
	}()
	g.Eventually(func() any {
		return value(t, c.admins[0], "SELECT COUNT(*) FROM sys.dm_exec_requests WHERE command = 'WAITFOR'")
	}, patient).Should(Equal(int64(1)))

	mustExec(t, c.admins[0], "ALTER AVAILABILITY GROUP [ag] OFFLINE")
	g.Eventually(running, patient).Should(Receive(HaveOccurred()))
	for _, conn := range []*sql.Conn{idle, open} {
		_, err := conn.ExecContext(ctx, "SELECT 1")
		g.Expect(err).To(HaveOccurred(), "connections in the database are ended")
		var answered mssql.Error
		g.Expect(errors.As(err, &answered)).To(BeFalse(), "%v", err)
	}
	mustExec(t, elsewhere, "SELECT 1")
	g.Expect(failure(t, elsewhere, "USE app").Number).To(Equal(int32(983)))
	g.Expect(failure(t, elsewhere, "SELECT * FROM app.dbo.t").Number).To(Equal(int32(983)))
	_, err := c.ids(0)()
	g.Expect(errorNumber(err)).To(Equal(int32(983)), "the login, too, hears why")

	c.promote(1)
	_, err = reader.ExecContext(ctx, "SELECT COUNT(*) FROM dbo.t")
	g.Expect(err).To(HaveOccurred(), "readers of the secondary do not outlive its role")
	ids, err := c.ids(1)()
	g.Expect(ids, err).To(BeEmpty(), "an open transaction is rolled back")

	// A commit that waits for the secondary has an unknown outcome: no answer, and whoever has its log keeps it.
	mustExec(t, c.admins[0], "ALTER AVAILABILITY GROUP [ag] SET (ROLE = SECONDARY)")
	c.synchronized(1, 0)
	c.servers[0].kill()
	c.servers[2].kill()
	waiting := make(chan error, 1)
	go func() { waiting <- c.insert(ctx, 1, 7) }()
	g.Consistently(waiting, "2s").ShouldNot(Receive(), "nobody else has it")
	mustExec(t, c.admins[1], "ALTER AVAILABILITY GROUP [ag] OFFLINE")
	g.Eventually(waiting, patient).Should(Receive(&err))
	g.Expect(err).To(HaveOccurred())
	var answered mssql.Error
	g.Expect(errors.As(err, &answered)).To(BeFalse(), "an error of the server would say that it was not done: %v", err)
	c.restart(2)
	c.promote(1)
	g.Expect(c.ids(1)()).To(Equal([]int64{7}), "it was never answered, and is not half there")
	g.Expect(c.insert(ctx, 1, 8)).To(Succeed())
}

// TestAGSecondaryRedoesEverything: constraints were judged on the primary, their effects arrive, and redo does not
// judge again, whatever order rows come in.
func TestAGSecondaryRedoesEverything(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	c := newGroup(t, "CONFIGURATION_ONLY", agLease)
	c.synchronized(0, 1)
	db := c.servers[0].open(t, "app")
	for _, text := range []string{
		"CREATE TABLE dbo.parent (id int NOT NULL PRIMARY KEY, code nvarchar(10) NOT NULL UNIQUE, amount decimal(10,2) " +
			"NOT NULL CHECK (amount >= 0), doubled AS amount * 2)",
		"CREATE TABLE dbo.child (id int IDENTITY PRIMARY KEY, parent int NOT NULL REFERENCES dbo.parent (id) ON DELETE " +
			"CASCADE ON UPDATE CASCADE, note varchar(max) NULL DEFAULT 'none')",
		"CREATE TABLE dbo.twin (a int NOT NULL, b int NOT NULL, v varbinary(max) NULL, stamp rowversion, CONSTRAINT " +
			"pk_twin PRIMARY KEY (a, b))",
		"CREATE INDEX ix_child ON dbo.child (parent) INCLUDE (note)",
		"INSERT INTO dbo.parent (id, code, amount) VALUES (1, N'a', 1.50), (2, N'b', 2.25), (3, N'c', 0)",
		"INSERT INTO dbo.child (parent) VALUES (1), (1), (2), (3)",
		"INSERT INTO dbo.twin (a, b, v) VALUES (1, 1, 0x01), (1, 2, NULL), (2, 1, CAST(REPLICATE('x', 100000) AS " +
			"varbinary(max)))",
		"BEGIN TRANSACTION; DELETE FROM dbo.parent WHERE id = 3; UPDATE dbo.parent SET code = N'z' WHERE id = 1; UPDATE " +
			"dbo.parent SET code = N'a' WHERE id = 2; UPDATE dbo.parent SET code = N'b' WHERE id = 1; COMMIT",
		"UPDATE dbo.parent SET id = id + 10",
		"BEGIN TRANSACTION; INSERT INTO dbo.twin (a, b) VALUES (9, 9); SAVE TRANSACTION s; DELETE FROM dbo.twin; ROLLBACK " +
			"TRANSACTION s; UPDATE dbo.twin SET a = a + 10; COMMIT",
		"ALTER TABLE dbo.child ADD extra int NULL, fixed int NOT NULL DEFAULT 5",
		"UPDATE dbo.child SET extra = id",
		"ALTER TABLE dbo.child ALTER COLUMN extra bigint NULL",
		"TRUNCATE TABLE dbo.t",
		"CREATE VIEW dbo.sums AS SELECT p.id, p.doubled, COUNT(c.id) AS children FROM dbo.parent p LEFT JOIN dbo.child c " +
			"ON c.parent = p.id GROUP BY p.id, p.doubled",
	} {
		mustExec(t, db, text)
	}
	for number, text := range map[int32]string{
		547: "INSERT INTO dbo.child (parent) VALUES (99)", 2627: "INSERT INTO dbo.twin (a, b) VALUES (12, 1)",
		515: "INSERT INTO dbo.twin (a) VALUES (1)",
	} {
		g.Expect(failure(t, db, text).Number).To(Equal(number), text)
	}
	queries := []string{
		"SELECT id, code, amount, doubled FROM app.dbo.parent ORDER BY id",
		"SELECT * FROM app.dbo.child ORDER BY id",
		"SELECT a, b, v, stamp FROM app.dbo.twin ORDER BY a, b",
		"SELECT * FROM app.dbo.sums ORDER BY id",
		"SELECT name FROM app.sys.indexes ORDER BY object_id, index_id",
	}
	for _, q := range queries {
		want := query(t, c.admins[0], q)
		g.Eventually(func() any { rows, _ := tryQuery(c.admins[1], q); return rows }, patient).Should(Equal(want), q)
	}
	mustExec(t, c.admins[0], "ALTER AVAILABILITY GROUP [ag] OFFLINE")
	c.promote(1)
	other := c.servers[1].open(t, "app")
	for number, text := range map[int32]string{
		547: "INSERT INTO dbo.child (parent) VALUES (99)", 2627: "INSERT INTO dbo.twin (a, b) VALUES (12, 1)",
		515: "INSERT INTO dbo.twin (a) VALUES (1)",
	} {
		g.Expect(failure(t, other, text).Number).To(Equal(number), "the new primary judges again: %s", text)
	}
	mustExec(t, other, "DELETE FROM dbo.parent WHERE id = 11")
	g.Expect(value(t, other, "SELECT COUNT(*) FROM dbo.child")).To(Equal(int64(1)))
}

// TestAGForcedFailoverToAnAsynchronousReplica: a forced failover takes any replica with data, needs the cluster
// manager's key, and leaves the group with a primary that others follow after RESUME.
func TestAGForcedFailoverToAnAsynchronousReplica(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	c := newGroup(t, "ASYNCHRONOUS_COMMIT", agLease)
	ctx := t.Context()
	c.synchronized(0, 1)
	g.Eventually(c.state(0, 2), patient).Should(Equal("SYNCHRONIZING"))
	g.Expect(c.insert(ctx, 0, 1)).To(Succeed())
	g.Eventually(c.ids(2), patient).Should(Equal([]int64{1}))
	mustExec(t, c.admins[2], "ALTER AVAILABILITY GROUP [ag] SET (WRITE_LEASE_VALIDITY = 600)")
	g.Expect(errorNumber(c.asManager(2, "ALTER AVAILABILITY GROUP [ag] FAILOVER"))).To(Equal(int32(41142)))
	g.Expect(failure(t, c.admins[2], "ALTER AVAILABILITY GROUP [ag] FORCE_FAILOVER_ALLOW_DATA_LOSS").Number).
		To(Equal(int32(47104)))
	g.Expect(c.insert(ctx, 0, 2)).To(Succeed(), "the refused statements have not disturbed the primary")
	g.Expect(c.asManager(2, "ALTER AVAILABILITY GROUP [ag] FORCE_FAILOVER_ALLOW_DATA_LOSS")).To(Succeed())
	g.Eventually(c.role(2), patient).Should(Equal("PRIMARY"))
	g.Eventually(c.role(0), patient).Should(Equal("RESOLVING"), "a primary that hears of another one is none")
	g.Expect(errorNumber(c.insert(ctx, 0, 3))).To(Equal(int32(983)))
	g.Expect(c.insert(ctx, 2, 4)).To(Succeed())
	g.Expect(value(t, c.admins[2],
		"SELECT last_hardened_lsn FROM sys.dm_hadr_database_replica_states WHERE is_local = 1")).
		To(BeNil(), "an asynchronous primary waits for nobody")
	for _, n := range []int{0, 1} {
		mustExec(t, c.admins[n], "ALTER AVAILABILITY GROUP [ag] SET (ROLE = SECONDARY)")
		g.Eventually(func() any {
			return value(t, c.admins[n], "SELECT suspend_reason_desc FROM sys.dm_hadr_database_replica_states")
		}, patient).Should(Equal("SUSPEND_FROM_PARTNER"))
		mustExec(t, c.admins[n], "ALTER DATABASE [app] SET HADR RESUME")
		g.Eventually(c.state(2, n), patient).
			Should(Equal("SYNCHRONIZING"), "nobody is synchronized with an asynchronous primary")
		g.Eventually(func() int { ids, _ := c.ids(n)(); return len(ids) }, patient).Should(Equal(len(must(c.ids(2)()))))
	}
	mustExec(
		t,
		c.admins[2],
		"ALTER AVAILABILITY GROUP [ag] MODIFY REPLICA ON N'AGC' WITH (AVAILABILITY_MODE = SYNCHRONOUS_COMMIT)",
	)
	c.synchronized(2, 0, 1)
	c.promote(0)
	c.servers[2].kill()
	c.restart(2)
	mustExec(t, c.admins[2], "ALTER AVAILABILITY GROUP [ag] SET (ROLE = SECONDARY)")
	c.synchronized(0, 2)
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(fmt.Sprint("unexpected: ", err))
	}
	return v
}

// TestAGLeaseRenewals: a lease is extended by every renewal, is never shortened, is counted from the statement's start,
// and does not come back once it has run out.
func TestAGLeaseRenewals(t *testing.T) {
	g := NewWithT(t)
	c := newGroup(t, "CONFIGURATION_ONLY", 4)
	ctx, cancel := context.WithTimeout(t.Context(), patient)
	defer cancel()
	renew := func(seconds int) error {
		_, err := c.admins[0].ExecContext(
			ctx,
			fmt.Sprintf("ALTER AVAILABILITY GROUP [ag] SET (WRITE_LEASE_VALIDITY = %d)", seconds),
		)
		return err
	}
	left := func() int64 {
		return value(t, c.admins[0],
			"SELECT write_lease_remaining_ticks FROM sys.dm_hadr_availability_replica_states "+
				"WHERE is_local = 1").(int64) / 10_000_000
	}
	for _, wrong := range []int{0, -1} {
		g.Expect(renew(wrong)).NotTo(Succeed())
	}
	started := time.Now()
	for time.Since(started) < 5*time.Second {
		g.Expect(renew(4)).To(Succeed())
		g.Expect(left()).To(BeNumerically("<=", 4))
		g.Expect(c.role(0)()).To(Equal("PRIMARY"), "it is renewed beyond its first end")
	}
	g.Expect(renew(10)).To(Succeed())
	g.Expect(errorNumber(renew(2))).To(Equal(int32(47119)))
	g.Expect(left()).To(BeNumerically(">", 5))
	g.Eventually(c.role(0), patient, "20ms").Should(Equal("RESOLVING"))
	g.Expect(errorNumber(c.insert(ctx, 0, 1))).To(Equal(int32(983)))
	g.Expect(renew(60)).To(Succeed())
	g.Expect(c.role(0)()).To(Equal("RESOLVING"), "a renewal makes nobody primary")
}

// TestAGLogHeldByALostReplicaFills: log that a secondary has not got is kept, also after log backups, until the log is
// full (9002 with the reason); removing the replica lets go of it.
func TestAGLogHeldByALostReplicaFills(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	c := newGroup(t, "ASYNCHRONOUS_COMMIT", agLease)
	c.synchronized(0, 1)
	g.Eventually(c.state(0, 2), patient).Should(Equal("SYNCHRONIZING"))
	admin := c.admins[0]
	mustExec(t, admin, "ALTER DATABASE [app] MODIFY FILE (NAME = app_log, MAXSIZE = 8MB)")
	db := c.servers[0].open(t, "app")
	mustExec(t, db, "CREATE TABLE dbo.fill (id int IDENTITY PRIMARY KEY, v varbinary(max))")
	reason := func() any { return value(t, admin, "SELECT log_reuse_wait_desc FROM sys.databases WHERE name = 'app'") }
	fill := func() (err error) {
		for n := 0; n < 80 && err == nil; n++ {
			_, err = db.ExecContext(
				t.Context(),
				"INSERT INTO dbo.fill (v) VALUES (CAST(REPLICATE(CAST('x' AS varchar(max)), 200000) AS varbinary(max)))",
			)
		}
		return err
	}
	backup := "BACKUP LOG [app] TO DISK = N'app.trn' WITH INIT; CHECKPOINT"
	err := fill()
	g.Expect(errorNumber(err)).To(Equal(int32(9002)), "%v", err)
	g.Expect(err.Error()).To(ContainSubstring("LOG_BACKUP"))
	mustExec(t, db, "CHECKPOINT")
	g.Expect(reason()).To(Equal("LOG_BACKUP"))
	mustExec(t, db, backup)
	g.Expect(c.insert(t.Context(), 0, 1)).To(Succeed(), "a log backup makes room")

	c.servers[2].kill()
	for range 4 {
		if err = fill(); err == nil {
			break
		}
		mustExec(t, db, backup)
	}
	g.Expect(errorNumber(err)).To(Equal(int32(9002)), "%v", err)
	g.Eventually(reason, patient).Should(Equal("AVAILABILITY_REPLICA"))
	err = fill()
	g.Expect(err).To(HaveOccurred())
	g.Expect(err.Error()).To(ContainSubstring("AVAILABILITY_REPLICA"))
	mustExec(t, admin, "ALTER AVAILABILITY GROUP [ag] REMOVE REPLICA ON N'AGC'")
	mustExec(t, db, backup)
	g.Eventually(func() error { return c.insert(t.Context(), 0, 2) }, patient).Should(Succeed())
}
