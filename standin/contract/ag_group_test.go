// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	mssql "github.com/microsoft/go-mssqldb"
	. "github.com/onsi/gomega"
)

func errorNumber(err error) int32 {
	var e mssql.Error
	if !errors.As(err, &e) {
		return 0
	}
	if len(e.All) > 0 {
		return e.All[0].Number
	}
	return e.Number
}

// TestAGSeedsAndCommitsSynchronously is a group's life while all is well, and what its views say.
func TestAGSeedsAndCommitsSynchronously(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	c := newGroup(t, "ASYNCHRONOUS_COMMIT", agLease)
	ctx := t.Context()
	c.synchronized(0, 1)
	g.Eventually(c.state(0, 2), patient).Should(Equal("SYNCHRONIZING"))
	for id := range 20 {
		g.Expect(c.insert(ctx, 0, id)).To(Succeed())
	}
	for n := 1; n < 3; n++ {
		g.Eventually(c.ids(n), patient).Should(HaveLen(20))
		g.Expect(errorNumber(c.insert(ctx, n, 100))).To(Equal(int32(3906)), "a secondary must not be written")
		g.Expect(value(t, c.admins[n], "SELECT COUNT(*) FROM sys.dm_hadr_database_replica_states")).
			To(Equal(int64(1)), "a secondary shows its own row only")
		g.Expect(value(t, c.admins[n], "SELECT sys.fn_hadr_is_primary_replica('app')")).To(Equal(false))
	}
	g.Expect(value(t, c.admins[0], "SELECT sys.fn_hadr_is_primary_replica('app')")).To(Equal(true))
	g.Expect(query(t, c.admins[0], `SELECT r.replica_server_name, r.availability_mode_desc, r.failover_mode_desc, r.seeding_mode_desc, s.role_desc, s.connected_state_desc, s.synchronization_health_desc
		FROM sys.availability_replicas r JOIN sys.dm_hadr_availability_replica_states s ON s.replica_id = r.replica_id ORDER BY 1`)).
		To(Equal([][]any{
			{"AGA", "SYNCHRONOUS_COMMIT", "EXTERNAL", "AUTOMATIC", "PRIMARY", "CONNECTED", "HEALTHY"},
			{"AGB", "SYNCHRONOUS_COMMIT", "EXTERNAL", "AUTOMATIC", "SECONDARY", "CONNECTED", "HEALTHY"},
			{"AGC", "ASYNCHRONOUS_COMMIT", "EXTERNAL", "AUTOMATIC", "SECONDARY", "CONNECTED", "HEALTHY"}}))
	g.Expect(query(t, c.admins[0],
		"SELECT g.name, g.cluster_type_desc, d.database_name FROM sys.availability_groups g JOIN "+
			"sys.availability_databases_cluster d ON d.group_id = g.group_id")).
		To(Equal([][]any{{"ag", "external", "app"}}))
	g.Expect(query(t, c.admins[0],
		"SELECT current_state, performed_seeding, failure_state FROM sys.dm_hadr_automatic_seeding WHERE is_source = 1")).
		To(Equal([][]any{{"COMPLETED", true, nil}, {"COMPLETED", true, nil}}))
	g.Eventually(func() []any {
		return query(t, c.admins[0],
			`SELECT SUM(log_send_queue_size), SUM(redo_queue_size) FROM sys.dm_hadr_database_replica_states WHERE is_local = 0`)[0]
	}, patient).Should(Equal([]any{int64(0), int64(0)}))
	g.Expect(value(t, c.admins[0],
		`SELECT COUNT(*) FROM sys.dm_hadr_database_replica_states WHERE is_local = 0 AND last_redone_lsn < last_hardened_lsn`)).
		To(Equal(int64(2)))
	g.Expect(value(t, c.admins[0],
		"SELECT COUNT(*) FROM sys.databases WHERE name = 'app' AND group_database_id IS NOT NULL AND replica_id "+
			"IS NOT NULL")).
		To(Equal(int64(1)))

	g.Expect(failure(t, c.admins[0], "DROP DATABASE [app]").Number).To(Equal(int32(3752)))
	g.Expect(failure(t, c.admins[0], "ALTER DATABASE [app] SET RECOVERY SIMPLE").Number).To(Equal(int32(1468)))
	g.Expect(failure(t, c.admins[1], "ALTER AVAILABILITY GROUP [ag] ADD DATABASE [app]").Number).To(Equal(int32(41140)))
	g.Expect(failure(t, c.admins[0], "ALTER AVAILABILITY GROUP [ag] FAILOVER").Number).To(Equal(int32(47104)))
	g.Expect(errorNumber(c.asManager(0, "ALTER AVAILABILITY GROUP [ag] FAILOVER"))).To(Equal(int32(41122)))
	g.Expect(failure(t, c.admins[0], "ALTER AVAILABILITY GROUP [ag] SET (WRITE_LEASE_VALIDITY = 1)").Number).
		To(Equal(int32(47119)))

	// A secondary that is not readable any more, then a database that leaves.
	mustExec(
		t,
		c.admins[0],
		"ALTER AVAILABILITY GROUP [ag] MODIFY REPLICA ON N'AGB' WITH (SECONDARY_ROLE (ALLOW_CONNECTIONS = NO))",
	)
	g.Eventually(func() int32 { _, err := c.ids(1)(); return errorNumber(err) }, patient).Should(Equal(int32(976)))
	mustExec(t, c.admins[0], "ALTER AVAILABILITY GROUP [ag] REMOVE DATABASE [app]")
	g.Expect(c.insert(ctx, 0, 50)).To(Succeed())
	g.Eventually(func() any { return value(t, c.admins[1], "SELECT state_desc FROM sys.databases WHERE name = 'app'") },
		patient).
		Should(Equal("RESTORING"))
}

// TestAGPrimaryBlocksWhenAlone: a commit is acknowledged only when it cannot be lost, and the configuration says who is
// synchronized.
func TestAGPrimaryBlocksWhenAlone(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	c := newGroup(t, "CONFIGURATION_ONLY", agLease)
	ctx := t.Context()
	c.synchronized(0, 1)
	g.Expect(failure(t, c.admins[2], "ALTER AVAILABILITY GROUP [ag] GRANT CREATE ANY DATABASE").Number).
		To(Equal(int32(47111)))
	before := value(t, c.admins[0], "SELECT sequence_number FROM sys.availability_groups").(int64)
	c.servers[1].kill()
	g.Expect(c.insert(ctx, 0, 1)).
		To(Succeed(), "the configuration-only replica lets the primary go on without its secondary")
	g.Expect(value(t, c.admins[0], "SELECT sequence_number FROM sys.availability_groups")).To(BeNumerically(">", before))
	g.Expect(c.state(0, 1)()).To(Equal("NOT SYNCHRONIZING"))
	c.restart(1)
	c.synchronized(0, 1)
	g.Eventually(c.ids(1), patient).Should(Equal([]int64{1}))

	// The one that the configuration needs goes first: with it the primary could note that the other is lost, and go on.
	c.servers[2].kill()
	c.servers[1].kill()
	alone, cancel := context.WithTimeout(ctx, 4*time.Second)
	defer cancel()
	g.Expect(c.insert(alone, 0, 2)).NotTo(Succeed(), "a primary alone must not acknowledge")
	g.Expect(value(t, c.admins[0], `SELECT COUNT(*) FROM sys.dm_hadr_availability_replica_states WHERE is_local = 1
		AND current_configuration_commit_start_time_utc < SYSUTCDATETIME()`)).To(Equal(int64(1)))
	c.restart(2)
	g.Expect(c.insert(ctx, 0, 3)).To(Succeed())
}

// TestAGLeaseAndRestart: without its lease, and after a restart, a primary is RESOLVING until the cluster manager
// decides.
func TestAGLeaseAndRestart(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	c := newGroup(t, "CONFIGURATION_ONLY", agLease)
	ctx := t.Context()
	c.synchronized(0, 1)
	g.Expect(c.insert(ctx, 0, 1)).To(Succeed())
	c.servers[0].kill()
	c.restart(0)
	g.Expect(c.role(0)()).To(Equal("RESOLVING"))
	g.Expect(errorNumber(c.insert(ctx, 0, 2))).To(Equal(int32(983)))
	g.Expect(failure(t, c.admins[0], "USE [app]").Number).To(Equal(int32(983)))

	mustExec(t, c.admins[0], "ALTER AVAILABILITY GROUP [ag] SET (WRITE_LEASE_VALIDITY = 3)")
	const lease = 3 * time.Second
	granted := time.Now() // the lease counts from before
	g.Expect(failure(t, c.admins[0], "ALTER AVAILABILITY GROUP [ag] FAILOVER").Number).To(Equal(int32(47104)))
	g.Expect(c.asManager(0, "ALTER AVAILABILITY GROUP [ag] FAILOVER")).To(Succeed())
	g.Eventually(c.role(0), patient, "20ms").Should(Equal("PRIMARY"))
	c.synchronized(0, 1)
	id := 10
	var last time.Time
	g.Eventually(func() error {
		// When the answer comes says how busy this machine is.
		began := time.Now()
		err := c.insert(ctx, 0, id)
		if err == nil {
			id++
			last = began
		}
		return err
	}, patient, "5ms").ShouldNot(Succeed())
	g.Expect(last.Sub(granted)).To(BeNumerically("<", lease), "a write was acknowledged after the lease")
	g.Eventually(c.role(0), patient).Should(Equal("RESOLVING"))
	_, err := c.ids(0)()
	g.Expect(errorNumber(err)).To(Equal(int32(983)), "reads end with the lease, too")
	c.promote(0)
	ids, err := c.ids(0)()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(len(ids)).To(BeNumerically(">=", 1+id-10))
}

// TestAGFirstPrimaryComesBack: the server that a group was created on may be promoted again, whether or not its
// partners have joined, and they join afterwards.
func TestAGFirstPrimaryComesBack(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	c := newAGServers(t)
	c.agDatabase(0, "app")
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
	mustExec(t, c.admins[0], "ALTER AVAILABILITY GROUP [ag] OFFLINE")
	c.promote(0)
	c.servers[0].kill()
	c.restart(0)
	g.Expect(c.role(0)()).To(Equal("RESOLVING"))
	c.promote(0)
	for n := 1; n < 3; n++ {
		mustExec(t, c.admins[n], "ALTER AVAILABILITY GROUP [ag] JOIN WITH (CLUSTER_TYPE = EXTERNAL)")
	}
	mustExec(t, c.admins[0], "ALTER AVAILABILITY GROUP [ag] OFFLINE")
	c.promote(0)
	mustExec(t, c.admins[1], "ALTER AVAILABILITY GROUP [ag] GRANT CREATE ANY DATABASE")
	c.synchronized(0, 1)
	g.Expect(c.insert(t.Context(), 0, 1)).To(Succeed())
}

// TestAGFailover: planned there and back, refused where it would lose writes, forced with a copy that takes back what
// only it has.
func TestAGFailover(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	c := newGroup(t, "CONFIGURATION_ONLY", agLease)
	ctx := t.Context()
	c.synchronized(0, 1)
	g.Expect(c.insert(ctx, 0, 1)).To(Succeed())
	mustExec(t, c.admins[0], "CREATE TABLE app.dbo.n (id int IDENTITY PRIMARY KEY, v nvarchar(10) NOT NULL UNIQUE)")
	mustExec(t, c.admins[0], "INSERT INTO app.dbo.n (v) VALUES (N'a1'), (N'a2')")
	g.Eventually(func() any { rows, _ := tryQuery(c.admins[1], "SELECT v FROM app.dbo.n ORDER BY id"); return rows },
		patient).
		Should(Equal([][]any{{"a1"}, {"a2"}}), "a table that was made after seeding")
	// A client in the middle of a transaction, and one that does not read what it is sent, do not hold up the change.
	busy := connection(t, c.servers[0].open(t, "app"))
	mustExec(t, busy, "BEGIN TRANSACTION; INSERT INTO dbo.n (v) VALUES (N'open')")
	idle := connection(t, c.servers[0].open(t, "app"))
	unread, err := idle.QueryContext(ctx, "SELECT REPLICATE(CAST(N'x' AS nvarchar(max)), 100000) FROM sys.all_columns")
	g.Expect(err).NotTo(HaveOccurred())
	defer unread.Close()
	mustExec(t, c.admins[0], "ALTER AVAILABILITY GROUP [ag] OFFLINE")
	g.Expect(c.role(0)()).To(Equal("RESOLVING"))
	_, err = tryQuery(busy, "COMMIT")
	g.Expect(err).To(HaveOccurred())
	c.promote(1)
	g.Expect(c.insert(ctx, 1, 2)).To(Succeed())
	mustExec(t, c.admins[1], "UPDATE app.dbo.n SET v = v + N'x'; INSERT INTO app.dbo.n (v) VALUES (N'b1')")
	mustExec(t, c.admins[0], "ALTER AVAILABILITY GROUP [ag] SET (ROLE = SECONDARY)")
	c.synchronized(1, 0)
	g.Eventually(c.ids(0), patient).Should(Equal([]int64{1, 2}))
	g.Eventually(func() any { rows, _ := tryQuery(c.admins[0], "SELECT v FROM app.dbo.n ORDER BY id"); return rows },
		patient).
		Should(Equal([][]any{{"a1x"}, {"a2x"}, {"b1"}}))

	c.servers[0].kill()
	g.Expect(c.insert(ctx, 1, 3)).To(Succeed())
	mustExec(t, c.admins[1], "ALTER TABLE app.dbo.n ADD lost int NULL")
	mustExec(
		t,
		c.admins[1],
		"DROP TABLE app.dbo.n; CREATE TABLE app.dbo.lost (id int PRIMARY KEY, v nvarchar(10)); INSERT INTO app.dbo.lost "+
			"VALUES (1, N'salvage')",
	)
	c.servers[1].kill()
	c.restart(0)
	mustExec(t, c.admins[0], "ALTER AVAILABILITY GROUP [ag] SET (WRITE_LEASE_VALIDITY = 600)")
	g.Expect(errorNumber(c.asManager(0, "ALTER AVAILABILITY GROUP [ag] FAILOVER"))).To(Equal(int32(41142)))
	g.Expect(c.asManager(0, "ALTER AVAILABILITY GROUP [ag] FORCE_FAILOVER_ALLOW_DATA_LOSS")).To(Succeed())
	g.Eventually(c.role(0), patient).Should(Equal("PRIMARY"))
	g.Expect(c.insert(ctx, 0, 4)).To(Succeed())
	c.restart(1)
	mustExec(t, c.admins[1], "ALTER AVAILABILITY GROUP [ag] SET (ROLE = SECONDARY)")
	g.Eventually(func() any {
		return value(t, c.admins[1], "SELECT suspend_reason_desc FROM sys.dm_hadr_database_replica_states")
	}, patient).Should(Equal("SUSPEND_FROM_PARTNER"))
	// How much only it has is told in positions of the log, and can be read.
	ahead := func(n int) func() any {
		return func() any {
			return value(
				t,
				c.admins[n],
				`SELECT COUNT(*) FROM sys.dm_hadr_database_replica_states s JOIN sys.availability_replicas r ON r.replica_id = s.replica_id
				WHERE r.replica_server_name = 'AGB' AND s.is_suspended = 1 AND s.recovery_lsn < s.last_hardened_lsn`,
			)
		}
	}
	g.Eventually(ahead(1), patient).Should(Equal(int64(1)))
	g.Eventually(ahead(0), patient).Should(Equal(int64(1)))
	g.Expect(value(t, c.admins[1], "SELECT v FROM app.dbo.lost")).To(Equal("salvage"))
	fork := "SELECT recovery_fork_guid FROM sys.database_recovery_status WHERE database_id = DB_ID('app')"
	g.Expect(value(t, c.admins[0], fork)).NotTo(Equal(value(t, c.admins[1], fork)))
	mustExec(t, c.admins[1], "ALTER DATABASE [app] SET HADR RESUME")
	c.synchronized(0, 1)
	g.Eventually(c.ids(1), patient).Should(Equal([]int64{1, 2, 4}))
	g.Eventually(func() any { return value(t, c.admins[1], fork) }, patient).Should(Equal(value(t, c.admins[0], fork)))
	g.Expect(query(t, c.admins[1], "SELECT v FROM app.dbo.n ORDER BY id")).
		To(Equal([][]any{{"a1x"}, {"a2x"}, {"b1"}}), "the dropped table is back")
	g.Expect(failure(t, c.admins[1], "SELECT * FROM app.dbo.lost").Number).To(Equal(int32(208)))
	g.Expect(query(t, c.admins[1], "SELECT current_state FROM sys.dm_hadr_automatic_seeding")).
		To(BeEmpty(), "it was not seeded again")
	g.Expect(ahead(1)()).To(Equal(int64(0)))
}

// TestAGKilledDuringSetUp: a server may end during CREATE AVAILABILITY GROUP, JOIN and seeding; what is done again
// comes to the same end.
func TestAGKilledDuringSetUp(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	c := newAGServers(t)
	c.agDatabase(0, "app")
	mustExec(t, c.admins[0], "CREATE TABLE app.dbo.big (id int NOT NULL PRIMARY KEY, v varchar(8000) NOT NULL)")
	for i := range 20 {
		mustExec(
			t,
			c.admins[0],
			"INSERT INTO app.dbo.big SELECT @p1 * 100 + n.i, REPLICATE('x', 8000) FROM (SELECT TOP 100 ROW_NUMBER() OVER "+
				"(ORDER BY object_id) AS i FROM sys.all_columns) AS n",
			i,
		)
	}
	create := "CREATE AVAILABILITY GROUP [ag] WITH (CLUSTER_TYPE = EXTERNAL, WRITE_LEASE_VALIDITY = 600) FOR DATABASE " +
		"[app] REPLICA ON " +
		c.replica(
			0,
			"SYNCHRONOUS_COMMIT",
		) + ", " + c.replica(
		1,
		"SYNCHRONOUS_COMMIT",
	) + ", " + c.replica(
		2,
		"CONFIGURATION_ONLY",
	)
	ended := make(chan error, 1)
	go func() {
		_, err := c.admins[0].ExecContext(context.Background(), create)
		ended <- err
	}()
	time.AfterFunc(time.Duration(rand.IntN(20))*time.Millisecond, c.servers[0].kill)
	<-ended
	<-c.servers[0].exited
	c.restart(0)
	if query(t, c.admins[0], "SELECT COUNT(*) FROM sys.availability_groups")[0][0] == int64(0) {
		g.Expect(value(t, c.admins[0], "SELECT COUNT(*) FROM sys.databases WHERE group_database_id IS NOT NULL")).
			To(Equal(int64(0)))
		mustExec(t, c.admins[0], create)
	} else {
		c.promote(0)
	}
	for n := 1; n < 3; n++ {
		mustExec(t, c.admins[n], "ALTER AVAILABILITY GROUP [ag] JOIN WITH (CLUSTER_TYPE = EXTERNAL)")
	}
	mustExec(t, c.admins[1], "ALTER AVAILABILITY GROUP [ag] GRANT CREATE ANY DATABASE")
	for range 3 {
		// Seeding begins within a second; it is cut somewhere.
		g.Eventually(func() int { return len(query(t, c.admins[1], "SELECT 1 FROM sys.dm_hadr_automatic_seeding")) }, patient,
			"1ms").
			ShouldNot(BeZero())
		c.servers[1].kill()
		c.restart(1)
		if s, _ := c.state(0, 1)(); s == "SYNCHRONIZED" {
			break
		}
	}
	c.synchronized(0, 1)
	g.Expect(c.insert(t.Context(), 0, 1)).To(Succeed())
	g.Eventually(c.ids(1), patient).Should(Equal([]int64{1}))
	g.Expect(value(t, c.admins[1], "SELECT COUNT(*) FROM app.dbo.big")).To(Equal(int64(2000)))
}

// TestAGPreconditions are the refusals of CREATE AVAILABILITY GROUP.
func TestAGPreconditions(t *testing.T) {
	g := NewWithT(t)
	i := prepareInstance(t, "MSSQL_ENABLE_HADR=1")
	i.name = "AGA"
	g.Expect(i.launch()).To(Succeed())
	admin := i.open(t, "")
	mustExec(t, admin, "CREATE DATABASE nobackup")
	mustExec(t, admin, "CREATE DATABASE simple; ALTER DATABASE simple SET RECOVERY SIMPLE")
	mustExec(t, admin, "ALTER DATABASE nobackup SET RECOVERY FULL")
	one := "N'AGA' WITH (ENDPOINT_URL = N'TCP://a:5022', AVAILABILITY_MODE = SYNCHRONOUS_COMMIT, FAILOVER_MODE = EXTERNAL)"
	two := "N'AGB' WITH (ENDPOINT_URL = N'TCP://b:5022', AVAILABILITY_MODE = SYNCHRONOUS_COMMIT, FAILOVER_MODE = EXTERNAL)"
	witness := "N'AGC' WITH (ENDPOINT_URL = N'TCP://c:5022', AVAILABILITY_MODE = CONFIGURATION_ONLY)"
	external := "WITH (CLUSTER_TYPE = EXTERNAL)"
	for _, c := range []struct {
		text   string
		number int32
	}{
		{"CREATE AVAILABILITY GROUP ag FOR REPLICA ON " + one, 35224},
		{"CREATE AVAILABILITY GROUP ag " + external + " FOR REPLICA ON " + two, 35237},
		{"CREATE AVAILABILITY GROUP ag " + external + " FOR REPLICA ON " + one + ", " + one, 35235},
		{"CREATE AVAILABILITY GROUP ag " + external + " FOR DATABASE nowhere REPLICA ON " + one, 35238},
		{"CREATE AVAILABILITY GROUP ag " + external + " FOR DATABASE master REPLICA ON " + one, 35249},
		{"CREATE AVAILABILITY GROUP ag " + external + " FOR DATABASE simple REPLICA ON " + one, 1465},
		{"CREATE AVAILABILITY GROUP ag " + external + " FOR DATABASE nobackup REPLICA ON " + one, 1475},
		{"CREATE AVAILABILITY GROUP ag " + external + " FOR REPLICA ON " + one + ", " + witness, 47108},
		{"CREATE AVAILABILITY GROUP ag WITH (CLUSTER_TYPE = EXTERNAL, REQUIRED_SYNCHRONIZED_SECONDARIES_TO_COMMIT = 1) " +
			"FOR REPLICA ON " + one + ", " + two + ", " + witness, 47108},
		{"CREATE AVAILABILITY GROUP ag WITH (CLUSTER_TYPE = EXTERNAL, REQUIRED_SYNCHRONIZED_SECONDARIES_TO_COMMIT = 2) " +
			"FOR REPLICA ON " + one + ", " + two, 35248},
		{"CREATE AVAILABILITY GROUP ag " + external +
			" FOR REPLICA ON N'AGA' WITH (ENDPOINT_URL = N'TCP://a:5022', AVAILABILITY_MODE = SYNCHRONOUS_COMMIT, " +
			"FAILOVER_MODE = MANUAL)", 47102},
		{"CREATE AVAILABILITY GROUP ag " + external +
			" FOR REPLICA ON N'AGA' WITH (ENDPOINT_URL = N'a:5022', AVAILABILITY_MODE = SYNCHRONOUS_COMMIT, FAILOVER_MODE " +
			"= EXTERNAL)", 35232},
		{"CREATE AVAILABILITY GROUP ag " + external +
			" FOR REPLICA ON N'AGA' WITH (ENDPOINT_URL = N'TCP://a:5022', AVAILABILITY_MODE = SYNCHRONOUS_COMMIT, " +
			"FAILOVER_MODE = EXTERNAL, SESSION_TIMEOUT = 4)", 35214},
		{"CREATE AVAILABILITY GROUP ag WITH (CLUSTER_TYPE = EXTERNAL, BASIC) FOR REPLICA ON " +
			strings.TrimSuffix(one, ")") + ", SECONDARY_ROLE (ALLOW_CONNECTIONS = ALL))", 41199},
		{"CREATE AVAILABILITY GROUP ag WITH (CLUSTER_TYPE = EXTERNAL, BASIC) FOR REPLICA ON " + one + ", " + two + ", " +
			strings.ReplaceAll(two, "AGB", "AGC"), 41199},
		{"ALTER AVAILABILITY GROUP ag OFFLINE", 15151},
		{"DROP AVAILABILITY GROUP ag", 15151},
		{"ALTER DATABASE nobackup SET HADR SUSPEND", 35242},
	} {
		g.Expect(failure(t, admin, c.text).Number).To(Equal(c.number), c.text)
	}
	mustExec(t, admin, "CREATE AVAILABILITY GROUP ag "+external+" FOR REPLICA ON "+one)
	g.Expect(failure(t, admin, "CREATE AVAILABILITY GROUP ag "+external+" FOR REPLICA ON "+one).Number).
		To(Equal(int32(41114)))
	g.Expect(failure(t, admin, "ALTER AVAILABILITY GROUP ag SET (WRITE_LEASE_VALIDITY = 10)").Number).
		To(Equal(int32(47116)))
	mustExec(
		t,
		admin,
		"ALTER AVAILABILITY GROUP ag ADD LISTENER N'lsn' (WITH IP ((N'10.0.0.1', N'0.0.0.0')), PORT = 1433)",
	)
	g.Expect(query(t, admin,
		"SELECT l.dns_name, l.port, i.ip_address FROM sys.availability_group_listeners l JOIN "+
			"sys.availability_group_listener_ip_addresses i ON i.listener_id = l.listener_id")).
		To(Equal([][]any{{"lsn", int64(1433), "10.0.0.1"}}))
	mustExec(t, admin, "DROP AVAILABILITY GROUP ag")
	g.Expect(query(t, admin, "SELECT * FROM sys.availability_groups")).To(BeEmpty())

	off := newInstance(t)
	g.Expect(failure(t, off.open(t, ""), "CREATE AVAILABILITY GROUP ag "+external+" FOR REPLICA ON "+one).Number).
		To(Equal(int32(47105)))
}
