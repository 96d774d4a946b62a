// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"testing"

	. "github.com/onsi/gomega"
)

// health is synchronization_health_desc of every replica as server n knows it, by the replicas' names.
func (c *agCluster) health(n int) func() ([][]any, error) {
	return func() ([][]any, error) {
		return tryQuery(c.admins[n], `SELECT r.replica_server_name, s.synchronization_health_desc
			FROM sys.availability_replicas r JOIN sys.dm_hadr_availability_replica_states s ON s.replica_id = r.replica_id
			ORDER BY 1`)
	}
}

// A replica that has joined no database of its group is not healthy, the primary of an empty group among them.
func TestTheReplicasOfAnEmptyGroupAreNotHealthy(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	c := newAGServers(t)
	mustExec(t, c.admins[0], "CREATE AVAILABILITY GROUP [ag] WITH (CLUSTER_TYPE = EXTERNAL) FOR REPLICA ON "+
		c.replica(0, "SYNCHRONOUS_COMMIT")+", "+c.replica(1, "SYNCHRONOUS_COMMIT"))
	mustExec(t, c.admins[1], "ALTER AVAILABILITY GROUP [ag] JOIN WITH (CLUSTER_TYPE = EXTERNAL)")
	g.Eventually(func() (any, error) {
		rows, err := tryQuery(c.admins[0], `SELECT COUNT(*) FROM sys.dm_hadr_availability_replica_states
			WHERE connected_state_desc = 'CONNECTED'`)
		if err != nil {
			return nil, err
		}
		return rows[0][0], nil
	}, patient).Should(Equal(int64(2)))
	g.Expect(c.health(0)()).To(Equal([][]any{{"AGA", "NOT_HEALTHY"}, {"AGB", "NOT_HEALTHY"}}))
	g.Expect(c.health(1)()).To(ContainElement([]any{"AGB", "NOT_HEALTHY"}))
	g.Expect(value(t, c.admins[0], "SELECT synchronization_health_desc FROM sys.dm_hadr_availability_group_states")).
		To(Equal("NOT_HEALTHY"))
}

// Nor is one that has joined fewer databases than its group has, however well those are that it has.
func TestAReplicaThatLacksADatabaseIsNotHealthy(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	c := newGroup(t, "ASYNCHRONOUS_COMMIT", agLease)
	c.synchronized(0, 1)
	well := [][]any{{"AGA", "HEALTHY"}, {"AGB", "HEALTHY"}, {"AGC", "HEALTHY"}}
	g.Eventually(c.health(0), patient).Should(Equal(well))
	mustExec(t, c.admins[0], "ALTER AVAILABILITY GROUP [ag] MODIFY REPLICA ON N'AGC' WITH (SEEDING_MODE = MANUAL)")
	c.agDatabase(0, "other")
	mustExec(t, c.admins[0], "ALTER AVAILABILITY GROUP [ag] ADD DATABASE [other]")
	g.Eventually(c.health(0), patient).
		Should(Equal([][]any{{"AGA", "HEALTHY"}, {"AGB", "HEALTHY"}, {"AGC", "NOT_HEALTHY"}}))
	g.Expect(query(t, c.admins[0], `SELECT f.database_name, f.is_database_joined
		FROM sys.dm_hadr_database_replica_cluster_states f JOIN sys.availability_replicas r ON r.replica_id = f.replica_id
		WHERE r.replica_server_name = 'AGC' ORDER BY 1`)).To(Equal([][]any{{"app", true}, {"other", false}}))
	mustExec(t, c.admins[0], "ALTER AVAILABILITY GROUP [ag] REMOVE DATABASE [other]")
	g.Eventually(c.health(0), patient).Should(Equal(well))
}
