// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"testing"

	. "github.com/onsi/gomega"
)

// TestDatabaseReplicaCounters: the performance object Database Replica is on servers with secondary copies, and counts
// what arrives and what is redone (docs/relational-databases/performance-monitor/sql-server-database-replica.md).
func TestDatabaseReplicaCounters(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	c := newGroup(t, "ASYNCHRONOUS_COMMIT", agLease)
	c.synchronized(0, 1)
	const counter = "SELECT cntr_value FROM sys.dm_os_performance_counters WHERE object_name = 'SQLServer:Database " +
		"Replica' AND instance_name = 'app' AND counter_name = "
	g.Expect(query(t, c.admins[0],
		"SELECT counter_name FROM sys.dm_os_performance_counters WHERE object_name LIKE '%:Database Replica%'")).
		To(BeEmpty(), "no secondary copy")
	g.Expect(query(t, c.admins[1],
		"SELECT DISTINCT counter_name, cntr_type FROM sys.dm_os_performance_counters WHERE object_name LIKE '%:Database "+
			"Replica%' ORDER BY counter_name")).
		To(Equal([][]any{
			{
				"File Bytes Received/sec",
				int64(272696576),
			}, {"Log Bytes Received/sec", int64(272696576)}, {"Log remaining for undo", int64(65792)},
			{"Log Send Queue", int64(65792)}, {"Recovery Queue", int64(65792)},
			{
				"Redo blocked/sec",
				int64(272696576),
			}, {"Redo Bytes Remaining", int64(65792)}, {"Redone Bytes/sec", int64(272696576)},
			{"Total Log requiring undo", int64(65792)}}))
	received, redone := value(t, c.admins[1], counter+"'Log Bytes Received/sec'").(int64),
		value(t, c.admins[1], counter+"'Redone Bytes/sec'").(int64)
	g.Expect(c.insert(t.Context(), 0, 1)).To(Succeed())
	g.Eventually(c.ids(1), patient, "20ms").Should(Equal([]int64{1}))
	g.Expect(value(t, c.admins[1], counter+"'Log Bytes Received/sec'")).To(BeNumerically(">", received))
	g.Expect(value(t, c.admins[1], counter+"'Redone Bytes/sec'")).To(BeNumerically(">", redone))
	g.Expect(value(t, c.admins[1], counter+"'Recovery Queue'")).To(BeZero())
}
