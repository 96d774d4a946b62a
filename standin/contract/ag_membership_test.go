// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"context"
	"database/sql"
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

// hadrViews are the views of availability groups; every one must give rows of the documented shape anywhere.
var hadrViews = []string{
	"availability_groups",
	"availability_groups_cluster",
	"availability_replicas",
	"availability_databases_cluster",
	"availability_group_listeners",
	"availability_group_listener_ip_addresses",
	"availability_read_only_routing_lists",
	"dm_hadr_availability_group_states",
	"dm_hadr_availability_replica_states",
	"dm_hadr_availability_replica_cluster_states",
	"dm_hadr_availability_replica_cluster_nodes",
	"dm_hadr_database_replica_states",
	"dm_hadr_database_replica_cluster_states",
	"dm_hadr_name_id_map",
	"dm_hadr_automatic_seeding",
	"dm_hadr_physical_seeding_stats",
	"dm_hadr_cluster",
	"dm_hadr_cluster_members",
	"dm_hadr_auto_page_repair",
}

// TestAGMembers: replicas and databases come and go, by hand and by seeding, and least-privileged logins do their part.
func TestAGMembers(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	c := newAGServers(t)
	ctx := t.Context()
	c.agDatabase(0, "app")
	mustExec(
		t,
		c.admins[0],
		"CREATE AVAILABILITY GROUP [ag] WITH (CLUSTER_TYPE = EXTERNAL, WRITE_LEASE_VALIDITY = 600) FOR REPLICA ON "+
			c.replica(0, "SYNCHRONOUS_COMMIT")+", "+c.replica(1, "SYNCHRONOUS_COMMIT"),
	)
	g.Expect(failure(t, c.admins[2], "ALTER AVAILABILITY GROUP [ag] OFFLINE").Number).To(Equal(int32(15151)))
	mustExec(t, c.admins[1], "ALTER AVAILABILITY GROUP [ag] JOIN WITH (CLUSTER_TYPE = EXTERNAL)")
	g.Expect(failure(t, c.admins[1], "ALTER AVAILABILITY GROUP [ag] JOIN WITH (CLUSTER_TYPE = EXTERNAL)").Number).
		To(Equal(int32(41106)))

	// A copy made by hand: backup, restore WITH NORECOVERY, join.
	mustExec(t, c.admins[0], "ALTER AVAILABILITY GROUP [ag] MODIFY REPLICA ON N'AGB' WITH (SEEDING_MODE = MANUAL)")
	mustExec(t, c.admins[0], "ALTER AVAILABILITY GROUP [ag] ADD DATABASE [app]")
	g.Expect(c.insert(ctx, 0, 1)).To(Succeed())
	path := t.TempDir() + "/app.bak"
	mustExec(t, c.admins[0], "BACKUP DATABASE [app] TO DISK = N'"+path+"' WITH COPY_ONLY")
	mustExec(t, c.admins[1], "RESTORE DATABASE [app] FROM DISK = N'"+path+"' WITH NORECOVERY, "+
		fmt.Sprintf("MOVE N'app' TO N'%[1]s/data/app.mdf', MOVE N'app_log' TO N'%[1]s/data/app_log.ldf'", c.servers[1].root))
	g.Expect(c.insert(ctx, 0, 2)).To(Succeed())
	mustExec(t, c.admins[1], "ALTER DATABASE [app] SET HADR AVAILABILITY GROUP = [ag]")
	c.synchronized(0, 1)
	g.Eventually(c.ids(1), patient).Should(Equal([]int64{1, 2}))

	// Data movement is suspended and resumed.
	mustExec(t, c.admins[1], "ALTER DATABASE [app] SET HADR SUSPEND")
	g.Eventually(c.state(0, 1), patient).Should(Equal("NOT SYNCHRONIZING"))
	g.Expect(c.insert(ctx, 0, 3)).To(Succeed())
	g.Expect(value(t, c.admins[0],
		"SELECT suspend_reason_desc FROM sys.dm_hadr_database_replica_states WHERE is_local = 0")).
		To(Equal("SUSPEND_FROM_USER"))
	mustExec(t, c.admins[1], "ALTER DATABASE [app] SET HADR RESUME")
	c.synchronized(0, 1)

	// A third replica, and a commit that needs a secondary.
	g.Expect(failure(t, c.admins[0],
		"ALTER AVAILABILITY GROUP [ag] SET (REQUIRED_SYNCHRONIZED_SECONDARIES_TO_COMMIT = 2)").Number).
		To(Equal(int32(35248)))
	mustExec(t, c.admins[0], "ALTER AVAILABILITY GROUP [ag] ADD REPLICA ON "+c.replica(2, "SYNCHRONOUS_COMMIT"))
	mustExec(t, c.admins[2], "ALTER AVAILABILITY GROUP [ag] JOIN WITH (CLUSTER_TYPE = EXTERNAL)")
	mustExec(t, c.admins[2], "ALTER AVAILABILITY GROUP [ag] GRANT CREATE ANY DATABASE")
	c.synchronized(0, 1, 2)
	mustExec(t, c.admins[0], "ALTER AVAILABILITY GROUP [ag] SET (REQUIRED_SYNCHRONIZED_SECONDARIES_TO_COMMIT = 1)")
	g.Expect(value(t, c.admins[2], "SELECT SUSER_SNAME(owner_sid) FROM sys.databases WHERE name = 'app'")).
		To(Equal("sa"), "the owner is who ran GRANT")

	for n := range 3 {
		for _, v := range hadrViews {
			query(t, c.admins[n], "SELECT * FROM sys."+v)
		}
		g.Expect(query(t, c.admins[n], "EXEC sp_server_diagnostics")).To(HaveLen(6))
	}

	// Read-only intent.
	mustExec(
		t,
		c.admins[0],
		"ALTER AVAILABILITY GROUP [ag] MODIFY REPLICA ON N'AGB' WITH (SECONDARY_ROLE (ALLOW_CONNECTIONS = READ_ONLY))",
	)
	g.Eventually(func() int32 { _, err := c.ids(1)(); return errorNumber(err) }, patient).Should(Equal(int32(978)))
	i := c.servers[1]
	reader, err := sql.Open(
		"sqlserver",
		i.dsn(i.user, i.password, "app", map[string]string{"ApplicationIntent": "ReadOnly"}),
	)
	g.Expect(err).NotTo(HaveOccurred())
	defer reader.Close()
	g.Expect(query(t, reader, "SELECT COUNT(*) FROM dbo.t")).To(Equal([][]any{{int64(3)}}))

	// A cluster manager's login.
	mustExec(
		t,
		c.admins[0],
		"CREATE LOGIN manager WITH PASSWORD = N'M4nager-Password'; CREATE LOGIN nobody WITH PASSWORD = N'N0body-Password'",
	)
	mustExec(
		t,
		c.admins[0],
		"GRANT ALTER, CONTROL, VIEW DEFINITION ON AVAILABILITY GROUP::[ag] TO manager; GRANT VIEW SERVER STATE TO manager",
	)
	manager := c.servers[0].openAs(t, "manager", "M4nager-Password", "")
	nobody := c.servers[0].openAs(t, "nobody", "N0body-Password", "")
	mustExec(t, manager, "ALTER AVAILABILITY GROUP [ag] SET (WRITE_LEASE_VALIDITY = 900)")
	g.Expect(value(t, manager, "SELECT role_desc FROM sys.dm_hadr_availability_replica_states WHERE is_local = 1")).
		To(Equal("PRIMARY"))
	g.Expect(failure(t, nobody, "ALTER AVAILABILITY GROUP [ag] OFFLINE").Number).To(Equal(int32(15151)))
	g.Expect(failure(t, nobody, "SELECT * FROM sys.dm_hadr_availability_replica_states").Number).
		To(BeElementOf(int32(300), int32(297)))

	// Replicas leave; RSSTC has to be lowered first, and what a removed one had stays there as RESTORING.
	mustExec(t, c.admins[0], "ALTER AVAILABILITY GROUP [ag] REMOVE REPLICA ON N'AGC'")
	g.Eventually(func() any { return value(t, c.admins[2], "SELECT state_desc FROM sys.databases WHERE name = 'app'") },
		patient).
		Should(Equal("RESTORING"))
	g.Expect(query(t, c.admins[2], "SELECT name FROM sys.availability_groups")).To(BeEmpty())
	g.Expect(failure(t, c.admins[0], "ALTER AVAILABILITY GROUP [ag] REMOVE REPLICA ON N'AGB'").Number).
		To(Equal(int32(35248)))
	mustExec(t, c.admins[0], "ALTER AVAILABILITY GROUP [ag] SET (REQUIRED_SYNCHRONIZED_SECONDARIES_TO_COMMIT = 0)")
	mustExec(t, c.admins[0], "ALTER AVAILABILITY GROUP [ag] REMOVE REPLICA ON N'AGB'")
	g.Expect(c.insert(ctx, 0, 4)).To(Succeed())
	mustExec(t, c.admins[0], "DROP AVAILABILITY GROUP [ag]")
	g.Expect(c.insert(ctx, 0, 5)).To(Succeed(), "the former primary's database goes on by itself")
}

// TestAGWithoutCluster: with CLUSTER_TYPE = NONE nothing fences a primary, and only a forced failover moves it.
func TestAGWithoutCluster(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	c := newAGServers(t)
	ctx := t.Context()
	c.agDatabase(0, "app")
	replica := func(n int) string {
		return fmt.Sprintf(
			"N'%s' WITH (ENDPOINT_URL = N'%s', AVAILABILITY_MODE = SYNCHRONOUS_COMMIT, FAILOVER_MODE = MANUAL, SEEDING_MODE "+
				"= AUTOMATIC, SESSION_TIMEOUT = 5, SECONDARY_ROLE (ALLOW_CONNECTIONS = ALL))",
			c.servers[n].name,
			c.urls[n],
		)
	}
	mustExec(
		t,
		c.admins[0],
		"CREATE AVAILABILITY GROUP [ag] WITH (CLUSTER_TYPE = NONE) FOR DATABASE [app] REPLICA ON "+replica(0)+", "+replica(1),
	)
	mustExec(t, c.admins[1], "ALTER AVAILABILITY GROUP [ag] JOIN WITH (CLUSTER_TYPE = NONE)")
	mustExec(t, c.admins[1], "ALTER AVAILABILITY GROUP [ag] GRANT CREATE ANY DATABASE")
	c.synchronized(0, 1)
	c.servers[0].kill()
	c.restart(0)
	g.Eventually(c.role(0), patient).Should(Equal("PRIMARY"), "it believes that it still is")
	c.synchronized(0, 1)
	g.Expect(c.insert(ctx, 0, 1)).To(Succeed())
	g.Expect(failure(t, c.admins[1], "ALTER AVAILABILITY GROUP [ag] FAILOVER").Number).To(Equal(int32(47122)))
	mustExec(t, c.admins[0], "ALTER AVAILABILITY GROUP [ag] OFFLINE")
	mustExec(t, c.admins[1], "ALTER AVAILABILITY GROUP [ag] FORCE_FAILOVER_ALLOW_DATA_LOSS")
	g.Eventually(c.role(1), patient).Should(Equal("PRIMARY"))
	g.Expect(c.insert(ctx, 1, 2)).To(Succeed())
	mustExec(t, c.admins[0], "ALTER AVAILABILITY GROUP [ag] SET (ROLE = SECONDARY)")
	g.Eventually(func() any {
		return value(t, c.admins[0], "SELECT is_suspended FROM sys.dm_hadr_database_replica_states")
	}, patient).Should(Equal(true))
	mustExec(t, c.admins[0], "ALTER DATABASE [app] SET HADR RESUME")
	c.synchronized(1, 0)
	g.Eventually(c.ids(0), patient).Should(Equal([]int64{1, 2}))
}

// TestAGWithoutClusterHasTwoPrimaries: a failover that is forced while the primary lives takes nothing from it. Both
// take writes, of which the other knows nothing, and both can be read, though neither has the secondaries that it
// should have.
func TestAGWithoutClusterHasTwoPrimaries(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	c := newAGServers(t)
	ctx := t.Context()
	c.agDatabase(0, "app")
	replica := func(n int) string {
		return fmt.Sprintf(
			"N'%s' WITH (ENDPOINT_URL = N'%s', AVAILABILITY_MODE = SYNCHRONOUS_COMMIT, FAILOVER_MODE = MANUAL, SEEDING_MODE "+
				"= AUTOMATIC, SESSION_TIMEOUT = 5)",
			c.servers[n].name,
			c.urls[n],
		)
	}
	mustExec(
		t,
		c.admins[0],
		"CREATE AVAILABILITY GROUP [ag] WITH (CLUSTER_TYPE = NONE, REQUIRED_SYNCHRONIZED_SECONDARIES_TO_COMMIT = 1) FOR "+
			"DATABASE [app] REPLICA ON "+
			replica(
				0,
			)+", "+replica(
			1,
		)+", "+replica(
			2,
		),
	)
	for n := 1; n < 3; n++ {
		mustExec(t, c.admins[n], "ALTER AVAILABILITY GROUP [ag] JOIN WITH (CLUSTER_TYPE = NONE)")
		mustExec(t, c.admins[n], "ALTER AVAILABILITY GROUP [ag] GRANT CREATE ANY DATABASE")
	}
	c.synchronized(0, 1, 2)
	g.Expect(c.insert(ctx, 0, 1)).To(Succeed())
	mustExec(t, c.admins[1], "ALTER AVAILABILITY GROUP [ag] FORCE_FAILOVER_ALLOW_DATA_LOSS")
	g.Eventually(c.role(1), patient).Should(Equal("PRIMARY"))
	g.Expect(must(c.ids(1)())).To(Equal([]int64{1}), "what it took over can be read")
	g.Consistently(c.role(0), "3s", "100ms").Should(Equal("PRIMARY"), "nothing fences it")
	// The third replica has left its old primary for the new one, and waits for a person; neither primary has a secondary.
	for n := range 2 {
		mustExec(t, c.admins[n], "ALTER AVAILABILITY GROUP [ag] SET (REQUIRED_SYNCHRONIZED_SECONDARIES_TO_COMMIT = 0)")
		g.Expect(c.insert(ctx, n, 2+n)).To(Succeed())
		g.Expect(must(c.ids(n)())).To(Equal([]int64{1, int64(2 + n)}))
	}

	// A person decides for one of them; the other's rows are gone with its copy's own log.
	mustExec(t, c.admins[0], "ALTER AVAILABILITY GROUP [ag] OFFLINE")
	mustExec(t, c.admins[0], "ALTER AVAILABILITY GROUP [ag] SET (ROLE = SECONDARY)")
	g.Eventually(func() any {
		return value(t, c.admins[0], "SELECT is_suspended FROM sys.dm_hadr_database_replica_states WHERE is_local = 1")
	}, patient).Should(Equal(true))
	mustExec(t, c.admins[0], "ALTER DATABASE [app] SET HADR RESUME")
	c.synchronized(1, 0)
}

// TestAGEndpointDecidesWhoConnects: a partner without CONNECT stays out, and one whose endpoint stops is lost.
func TestAGEndpointDecidesWhoConnects(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	c := newAGServers(t)
	mustExec(t, c.admins[1], "REVOKE CONNECT ON ENDPOINT::[Hadr_endpoint] FROM [AGA_login]")
	mustExec(t, c.admins[0], "CREATE AVAILABILITY GROUP [ag] WITH (CLUSTER_TYPE = EXTERNAL) FOR REPLICA ON "+
		c.replica(0, "SYNCHRONOUS_COMMIT")+", "+c.replica(1, "SYNCHRONOUS_COMMIT"))
	g.Eventually(func() any {
		return query(t, c.admins[0],
			"SELECT connected_state_desc, last_connect_error_number FROM sys.dm_hadr_availability_replica_states WHERE "+
				"is_local = 0")[0]
	}, patient).Should(Equal([]any{"DISCONNECTED", int64(35250)}))
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	_, err := c.admins[1].ExecContext(ctx, "ALTER AVAILABILITY GROUP [ag] JOIN WITH (CLUSTER_TYPE = EXTERNAL)")
	g.Expect(err).To(HaveOccurred())
	mustExec(t, c.admins[1], "GRANT CONNECT ON ENDPOINT::[Hadr_endpoint] TO [AGA_login]")
	mustExec(t, c.admins[1], "ALTER AVAILABILITY GROUP [ag] JOIN WITH (CLUSTER_TYPE = EXTERNAL)")
	connected := func() any {
		return value(
			t,
			c.admins[0],
			"SELECT connected_state_desc FROM sys.dm_hadr_availability_replica_states WHERE is_local = 0",
		)
	}
	g.Eventually(connected, patient).Should(Equal("CONNECTED"))
	mustExec(t, c.admins[1], "ALTER ENDPOINT [Hadr_endpoint] STATE = STOPPED")
	g.Eventually(connected, patient).Should(Equal("DISCONNECTED"))
	mustExec(t, c.admins[1], "ALTER ENDPOINT [Hadr_endpoint] STATE = STARTED")
	g.Eventually(connected, patient).Should(Equal("CONNECTED"))
}
