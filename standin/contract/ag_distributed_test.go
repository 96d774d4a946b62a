// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
)

// distributed is a distributed group over ag1 and ag2 as the documents set it up
// (docs/database-engine/availability-groups/windows/configure-distributed-availability-groups.md).
type distributed struct{ *agCluster }

func (c *agCluster) memberGroup(name, databases string, servers ...int) {
	c.t.Helper()
	text := "CREATE AVAILABILITY GROUP [" + name + "] WITH (CLUSTER_TYPE = NONE) FOR " + databases + " REPLICA ON "
	for i, n := range servers {
		if i > 0 {
			text += ", "
		}
		text += fmt.Sprintf(
			"N'%s' WITH (ENDPOINT_URL = N'%s', AVAILABILITY_MODE = SYNCHRONOUS_COMMIT, FAILOVER_MODE = MANUAL, SEEDING_MODE "+
				"= AUTOMATIC, SECONDARY_ROLE (ALLOW_CONNECTIONS = ALL))",
			c.servers[n].name,
			c.urls[n],
		)
	}
	mustExec(c.t, c.admins[servers[0]], text)
	for _, n := range servers[1:] {
		mustExec(c.t, c.admins[n], "ALTER AVAILABILITY GROUP ["+name+"] JOIN WITH (CLUSTER_TYPE = NONE)")
		mustExec(c.t, c.admins[n], "ALTER AVAILABILITY GROUP ["+name+"] GRANT CREATE ANY DATABASE")
	}
}

// members are the two members, whose primaries are at servers a and b.
func (c *agCluster) members(a, b int, options string) string {
	return fmt.Sprintf(
		"AVAILABILITY GROUP ON 'ag1' WITH (LISTENER_URL = '%s', %[3]s), 'ag2' WITH (LISTENER_URL = '%[2]s', %[3]s)",
		c.urls[a],
		c.urls[b],
		options,
	)
}

const memberOptions = "AVAILABILITY_MODE = ASYNCHRONOUS_COMMIT, FAILOVER_MODE = MANUAL, SEEDING_MODE = AUTOMATIC"

// copyState is the state of the distributed group's copy on a side, as server n tells it.
func (d distributed) copyState(n int, local bool) func() (any, error) {
	return func() (any, error) {
		rows, err := tryQuery(d.admins[n], `SELECT s.synchronization_state_desc FROM sys.dm_hadr_database_replica_states AS s
			JOIN sys.availability_groups AS g ON g.group_id = s.group_id WHERE g.is_distributed = 1 AND s.is_local = @p1`, local)
		if err != nil || len(rows) != 1 {
			return nil, fmt.Errorf("%d rows: %w", len(rows), err)
		}
		return rows[0][0], nil
	}
}

// hardened is last_hardened_lsn of the distributed group's own copy at server n, as the documented query shows it.
func (d distributed) hardened(n int) func() (any, error) {
	return func() (any, error) {
		rows, err := tryQuery(
			d.admins[n],
			`SELECT CAST(drs.last_hardened_lsn AS varchar(30)) FROM sys.dm_hadr_database_replica_states drs
			INNER JOIN sys.availability_groups ag ON drs.group_id = ag.group_id WHERE ag.is_distributed = 1 AND drs.is_local = 1`,
		)
		if err != nil || len(rows) != 1 {
			return nil, fmt.Errorf("%d rows: %w", len(rows), err)
		}
		return rows[0][0], nil
	}
}

// leads waits until a server is the primary of its member again, after a restart.
func (d distributed) leads(n int, member string) {
	d.t.Helper()
	NewWithT(d.t).Eventually(func() any {
		return value(
			d.t,
			d.admins[n],
			"SELECT s.role_desc FROM sys.dm_hadr_availability_replica_states AS s JOIN sys.availability_groups AS g ON "+
				"g.group_id = s.group_id WHERE g.name = '"+member+"' AND s.is_local = 1",
		)
	}, patient, "50ms").Should(Equal("PRIMARY"))
}

// failOver is the documented failover without loss of data from server a to server b.
func (d distributed) failOver(a, b int) {
	d.t.Helper()
	g := NewWithT(d.t)
	for _, n := range []int{a, b} {
		mustExec(
			d.t,
			d.admins[n],
			"ALTER AVAILABILITY GROUP [dag] MODIFY AVAILABILITY GROUP ON 'ag1' WITH (AVAILABILITY_MODE = "+
				"SYNCHRONOUS_COMMIT), 'ag2' WITH (AVAILABILITY_MODE = SYNCHRONOUS_COMMIT)",
		)
	}
	g.Eventually(d.copyState(a, false), patient, "50ms").Should(Equal("SYNCHRONIZED"))
	mustExec(d.t, d.admins[a], "ALTER AVAILABILITY GROUP [dag] SET (ROLE = SECONDARY)")
	g.Expect(failure(d.t, d.admins[a], "INSERT INTO app.dbo.t (id) VALUES (-1)").Number).
		NotTo(BeZero(), "no side takes writes now")
	mustExec(d.t, d.admins[a], "ALTER AVAILABILITY GROUP [dag] SET (REQUIRED_SYNCHRONIZED_SECONDARIES_TO_COMMIT = 1)")
	g.Eventually(func() (any, error) {
		here, err := d.hardened(a)()
		if err != nil {
			return nil, err
		}
		there, err := d.hardened(b)()
		return here == there && here != nil, err
	}, patient, "50ms").Should(BeTrue(), "last_hardened_lsn is the same on both sides")
	mustExec(d.t, d.admins[b], "ALTER AVAILABILITY GROUP [dag] FORCE_FAILOVER_ALLOW_DATA_LOSS")
	mustExec(d.t, d.admins[b], "ALTER AVAILABILITY GROUP [dag] SET (REQUIRED_SYNCHRONIZED_SECONDARIES_TO_COMMIT = 0)")
	g.Eventually(d.copyState(a, true), patient, "50ms").Should(Equal("SYNCHRONIZED"))
}

// TestAGDistributedFailover sets a distributed group up, fails it over and back as documented, and loses a side.
func TestAGDistributedFailover(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	d := distributed{newAGServers(t)}
	d.agDatabase(0, "app")
	d.memberGroup("ag1", "DATABASE [app]", 0)
	d.memberGroup("ag2", "", 1, 2)
	mustExec(t, d.admins[0], "CREATE AVAILABILITY GROUP [dag] WITH (DISTRIBUTED) "+d.members(0, 1, memberOptions))
	mustExec(t, d.admins[1], "ALTER AVAILABILITY GROUP [dag] JOIN "+d.members(0, 1, memberOptions))
	g.Expect(d.insert(t.Context(), 0, 1)).To(Succeed())
	for n := 1; n < 3; n++ {
		g.Eventually(d.ids(n), patient, "50ms").
			Should(Equal([]int64{1}), "seeded to the forwarder, and from there to its secondary")
	}
	g.Expect(query(t, d.admins[0],
		"SELECT r.replica_server_name, s.role_desc, r.availability_mode_desc FROM sys.availability_groups g JOIN "+
			"sys.availability_replicas r ON r.group_id = g.group_id "+
			"JOIN sys.dm_hadr_availability_replica_states s ON s.replica_id = r.replica_id WHERE g.is_distributed = "+
			"1 ORDER BY 1")).
		To(Equal([][]any{{"ag1", "PRIMARY", "ASYNCHRONOUS_COMMIT"}, {"ag2", "SECONDARY", "ASYNCHRONOUS_COMMIT"}}))
	converse(t, connection(t, d.admins[0]), []say{
		{`DECLARE @lagId uniqueidentifier, @replicaId uniqueidentifier;
SELECT @lagId = g.group_id, @replicaId = r.replica_id FROM sys.availability_groups AS g JOIN sys.availability_replicas AS r ON r.group_id = g.group_id WHERE g.is_distributed = 1 AND r.replica_server_name = 'ag1';
SELECT g.name FROM sys.fn_hadr_distributed_ag_replica(@lagId, @replicaId) AS f JOIN sys.availability_groups AS g ON g.group_id = f.group_id`, "ag1"},
		{`DECLARE @lagId uniqueidentifier, @databaseId uniqueidentifier;
SELECT @lagId = s.group_id, @databaseId = s.group_database_id FROM sys.dm_hadr_database_replica_states AS s JOIN sys.availability_groups AS g ON g.group_id = s.group_id WHERE g.is_distributed = 1 AND s.is_local = 1;
SELECT c.database_name, g.name FROM sys.fn_hadr_distributed_ag_database_replica(@lagId, @databaseId) AS f JOIN sys.availability_databases_cluster AS c ON c.group_database_id = f.group_database_id
JOIN sys.availability_groups AS g ON g.group_id = c.group_id WHERE g.is_distributed = 0`, "app ag1"},
		{"SELECT COUNT(*) FROM sys.fn_hadr_distributed_ag_replica(NEWID(), NEWID())", "0"},
	})
	g.Expect(failure(t, d.admins[1], "INSERT INTO app.dbo.t (id) VALUES (100)").Number).
		To(Equal(int32(3906)), "the forwarder takes no writes")
	g.Expect(failure(t, d.admins[1], "ALTER AVAILABILITY GROUP [dag] FAILOVER").Number).To(Equal(int32(19504)))

	d.failOver(0, 1)
	g.Expect(d.insert(t.Context(), 1, 2)).To(Succeed())
	for _, n := range []int{0, 2} {
		g.Eventually(d.ids(n), patient, "50ms").Should(Equal([]int64{1, 2}))
	}
	d.failOver(1, 0)
	g.Expect(d.insert(t.Context(), 0, 3)).To(Succeed())
	g.Eventually(d.ids(2), patient, "50ms").Should(Equal([]int64{1, 2, 3}))

	// The first site is lost with what only it has; it comes back as the forwarder and takes that back, at RESUME.
	g.Eventually(d.ids(1), patient, "50ms").Should(Equal([]int64{1, 2, 3}))
	d.servers[1].kill()
	mustExec(
		t,
		d.admins[0],
		"ALTER AVAILABILITY GROUP [dag] MODIFY AVAILABILITY GROUP ON 'ag2' WITH (AVAILABILITY_MODE = ASYNCHRONOUS_COMMIT)",
	)
	g.Expect(d.insert(t.Context(), 0, 4)).To(Succeed())
	d.servers[0].kill()
	d.restart(1)
	d.leads(1, "ag2")
	mustExec(t, d.admins[1], "ALTER AVAILABILITY GROUP [dag] FORCE_FAILOVER_ALLOW_DATA_LOSS")
	g.Eventually(func() error { return d.insert(t.Context(), 1, 5) }, patient, "100ms").Should(Succeed())
	d.restart(0)
	d.leads(0, "ag1")
	mustExec(t, d.admins[0], "ALTER AVAILABILITY GROUP [dag] SET (ROLE = SECONDARY)")
	g.Eventually(func() any { // while it leaves its role it shows both sides
		return value(
			t,
			d.admins[0],
			"SELECT MAX(s.suspend_reason_desc) FROM sys.dm_hadr_database_replica_states AS s JOIN sys.availability_groups AS "+
				"g ON g.group_id = s.group_id WHERE g.is_distributed = 1",
		)
	}, patient, "50ms").Should(Equal("SUSPEND_FROM_PARTNER"))
	g.Expect(d.ids(0)()).To(Equal([]int64{1, 2, 3, 4}), "it can be read still")
	mustExec(t, d.admins[0], "ALTER DATABASE [app] SET HADR RESUME")
	for n := range 3 {
		g.Eventually(d.ids(n), patient, "50ms").Should(Equal([]int64{1, 2, 3, 5}))
	}
}

// TestAGDistributedGlobalPrimaryMoves: the distributed group goes on at the next primary of the first group, its
// databases come and go with the first group's, and DROP leaves each side what it has.
func TestAGDistributedGlobalPrimaryMoves(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	d := distributed{newAGServers(t)}
	d.agDatabase(0, "app")
	d.memberGroup("ag1", "DATABASE [app]", 0, 1)
	d.memberGroup("ag2", "", 2)
	for _, c := range []struct {
		server, number int
		text           string
	}{
		{0, 19498, "CREATE AVAILABILITY GROUP [dag] " + d.members(0, 2, memberOptions)},
		{0, 19497, "CREATE AVAILABILITY GROUP [dag] WITH (DISTRIBUTED, CLUSTER_TYPE = NONE) " +
			d.members(0, 2, memberOptions)},
		{0, 19509, "CREATE AVAILABILITY GROUP [ag1] WITH (DISTRIBUTED) " + d.members(0, 2, memberOptions)},
		{0, 19501,
			"CREATE AVAILABILITY GROUP [dag] WITH (DISTRIBUTED) AVAILABILITY GROUP ON 'x' WITH (LISTENER_URL = " +
				"'tcp://x:5022', " + memberOptions + "), 'y' WITH (LISTENER_URL = 'tcp://y:5022', " + memberOptions + ")"},
		{0, 19499,
			"CREATE AVAILABILITY GROUP [dag] WITH (DISTRIBUTED) AVAILABILITY GROUP ON 'ag1' WITH (LISTENER_URL = 'x:5022', " +
				memberOptions + "), 'ag2' WITH (LISTENER_URL = 'tcp://y:5022', " + memberOptions + ")"},
		{1, 41140, "CREATE AVAILABILITY GROUP [dag] WITH (DISTRIBUTED) " + d.members(0, 2, memberOptions)},
	} {
		g.Expect(failure(t, d.admins[c.server], c.text).Number).To(Equal(int32(c.number)), c.text)
	}
	mustExec(t, d.admins[0], "CREATE AVAILABILITY GROUP [dag] WITH (DISTRIBUTED) "+d.members(0, 2, memberOptions))
	mustExec(t, d.admins[2], "ALTER AVAILABILITY GROUP [dag] JOIN "+d.members(0, 2, memberOptions))
	g.Expect(failure(t, d.admins[0], "DROP AVAILABILITY GROUP [ag1]").Number).To(Equal(int32(41190)))
	g.Expect(failure(t, d.admins[0],
		"CREATE AVAILABILITY GROUP [dag2] WITH (DISTRIBUTED) "+d.members(0, 2, memberOptions)).Number).
		To(Equal(int32(19502)))
	g.Expect(d.insert(t.Context(), 0, 1)).To(Succeed())
	for n := 1; n < 3; n++ {
		g.Eventually(d.ids(n), patient, "50ms").Should(Equal([]int64{1}))
	}
	g.Eventually(func() any { return query(t, d.admins[1], "SELECT name FROM sys.availability_groups ORDER BY name") },
		patient).
		Should(Equal([][]any{{"ag1"}, {"dag"}}), "the first group's secondary knows of it")

	mustExec(t, d.admins[0], "ALTER AVAILABILITY GROUP [ag1] SET (ROLE = SECONDARY)")
	mustExec(t, d.admins[1], "ALTER AVAILABILITY GROUP [ag1] FORCE_FAILOVER_ALLOW_DATA_LOSS")
	g.Eventually(func() error { return d.insert(t.Context(), 1, 2) }, patient, "100ms").Should(Succeed())
	mustExec(
		t,
		d.admins[1],
		"ALTER AVAILABILITY GROUP [dag] MODIFY AVAILABILITY GROUP ON 'ag1' WITH (LISTENER_URL = '"+d.urls[1]+"')",
	)
	g.Eventually(d.ids(2), patient, "50ms").Should(Equal([]int64{1, 2}), "the forwarder follows the new global primary")

	mustExec(t, d.admins[1], "CREATE DATABASE more")
	mustExec(t, d.admins[1], "BACKUP DATABASE more TO DISK = N'more.bak'")
	mustExec(t, d.admins[1], "ALTER AVAILABILITY GROUP [ag1] ADD DATABASE [more]")
	mustExec(t, d.admins[1], "CREATE TABLE more.dbo.m (i int)")
	g.Eventually(func() error { _, err := tryQuery(d.admins[2], "SELECT i FROM more.dbo.m"); return err }, patient,
		"100ms").
		Should(Succeed())
	mustExec(t, d.admins[1], "ALTER AVAILABILITY GROUP [ag1] REMOVE DATABASE [more]")
	g.Eventually(func() any { return value(t, d.admins[2], "SELECT state_desc FROM sys.databases WHERE name = 'more'") },
		patient, "100ms").
		Should(Equal("RESTORING"))

	for n := 1; n < 3; n++ {
		mustExec(t, d.admins[n], "DROP AVAILABILITY GROUP [dag]")
		g.Eventually(func() error { return d.insert(t.Context(), n, 3) }, patient, "100ms").
			Should(Succeed(), "each side is on its own")
	}
	g.Eventually(func() any {
		return query(t, d.admins[0], "SELECT name FROM sys.availability_groups WHERE is_distributed = 1")
	}, patient).Should(BeEmpty())
}
