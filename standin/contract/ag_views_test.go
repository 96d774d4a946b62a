// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"database/sql"
	"fmt"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"github.com/shopspring/decimal"

	"geosql.dev/standin/catalog"
)

// documentedType writes a column's type as the documents do.
func documentedType(c *sql.ColumnType) string {
	name := strings.ToLower(c.DatabaseTypeName())
	switch name {
	case "decimal", "numeric":
		p, s, _ := c.DecimalSize()
		return fmt.Sprintf("numeric(%d,%d)", p, s)
	case "nvarchar", "varchar", "varbinary", "char", "nchar", "binary":
		n, _ := c.Length()
		if n > 8000 {
			return name + "(max)"
		}
		return fmt.Sprintf("%s(%d)", name, n)
	}
	return name
}

// TestAGViewsHaveTheDocumentedColumns: names, order and types, on a primary, a secondary, a configuration-only replica
// and a server without groups.
func TestAGViewsHaveTheDocumentedColumns(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	c := newGroup(t, "CONFIGURATION_ONLY", agLease)
	c.synchronized(0, 1)
	for _, view := range hadrViews {
		info, ok := catalog.View("sys." + view)
		g.Expect(ok).To(BeTrue(), view)
		for _, admin := range append([]*sql.DB{shared.open(t, "")}, c.admins...) {
			rows, err := admin.QueryContext(t.Context(), "SELECT * FROM sys."+view)
			g.Expect(err).NotTo(HaveOccurred(), view)
			types, err := rows.ColumnTypes()
			g.Expect(err).NotTo(HaveOccurred(), view)
			rows.Close()
			g.Expect(types).To(HaveLen(len(info.Columns)), view)
			for i, want := range info.Columns {
				g.Expect(types[i].Name()).To(Equal(want.Name), view)
				declared := strings.ToLower(want.Type)
				if declared == "sysname" {
					declared = "nvarchar(128)"
				}
				g.Expect(documentedType(types[i])).To(HavePrefix(declared), "%s.%s", view, want.Name)
			}
		}
	}
}

// one is a single row by column name.
func one(t *testing.T, db *sql.DB, text string) map[string]any {
	t.Helper()
	g := NewWithT(t)
	rows, err := db.QueryContext(t.Context(), text)
	g.Expect(err).NotTo(HaveOccurred(), text)
	defer rows.Close()
	names, err := rows.Columns()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(rows.Next()).To(BeTrue(), text)
	values, into := make([]any, len(names)), make([]any, len(names))
	for i := range into {
		into[i] = &values[i]
	}
	g.Expect(rows.Scan(into...)).To(Succeed())
	out := map[string]any{}
	for i, n := range names {
		out[n] = values[i]
	}
	g.Expect(rows.Next()).To(BeFalse(), "one row: %s", text)
	return out
}

// position is a numeric(25,0) column.
func position(v any) decimal.Decimal {
	b, _ := v.([]byte)
	d, _ := decimal.NewFromString(string(b))
	return d
}

// TestAGDatabaseStatesTellTheTruth: what each replica knows of itself and of the others, and what it cannot know is
// NULL.
func TestAGDatabaseStatesTellTheTruth(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	c := newGroup(t, "ASYNCHRONOUS_COMMIT", agLease)
	c.synchronized(0, 1)
	g.Eventually(c.state(0, 2), patient).Should(Equal("SYNCHRONIZING"))
	for id := range 10 {
		g.Expect(c.insert(t.Context(), 0, id)).To(Succeed())
	}
	g.Eventually(c.ids(1), patient).Should(HaveLen(10))
	g.Eventually(c.ids(2), patient).Should(HaveLen(10))
	row := func(from, of int) map[string]any {
		return one(
			t,
			c.admins[from],
			"SELECT s.* FROM sys.dm_hadr_database_replica_states s JOIN sys.availability_replicas r ON r.replica_id = "+
				"s.replica_id WHERE r.replica_server_name = '"+c.servers[of].name+"'",
		)
	}
	primary := row(0, 0)
	for column, want := range map[string]any{"is_local": true, "is_primary_replica": true,
		"synchronization_state_desc": "SYNCHRONIZED", "synchronization_health_desc": "HEALTHY",
		"database_state": int64(0), "database_state_desc": "ONLINE", "is_suspended": false, "suspend_reason": nil,
		"suspend_reason_desc": nil,
		"last_sent_lsn":       nil, "last_received_lsn": nil, "last_redone_lsn": nil, "log_send_queue_size": nil,
		"redo_queue_size": nil, "secondary_lag_seconds": nil} {
		if want == nil {
			g.Expect(primary[column]).To(BeNil(), "primary: %s", column)
			continue
		}
		g.Expect(primary[column]).To(Equal(want), "primary: %s", column)
	}
	for _, of := range []int{1, 2} {
		own := row(of, of)
		g.Eventually(func() string { return string(row(0, of)["last_redone_lsn"].([]byte)) }, patient).
			Should(Equal(string(own["last_redone_lsn"].([]byte))))
		seen := row(0, of)
		g.Expect(own["is_local"]).To(Equal(true))
		g.Expect(seen["is_local"]).To(Equal(false))
		g.Expect(seen["database_state"]).To(BeNil(), "the state of a database elsewhere is not known here")
		g.Expect(own["last_sent_lsn"]).To(BeNil(), "only the primary sends")
		g.Expect(own["log_send_queue_size"]).To(BeNil())
		g.Expect(seen["is_commit_participant"]).To(Equal(of == 1))
		g.Expect(position(own["last_redone_lsn"]).LessThan(position(own["last_hardened_lsn"]))).To(BeTrue())
		g.Expect(position(own["recovery_lsn"]).LessThan(position(own["last_hardened_lsn"]))).
			To(BeFalse(), "nothing to take back")
		g.Expect(own["last_commit_lsn"]).To(Equal(own["last_redone_lsn"]), "a secondary's last commit is the last redone")
		for _, column := range []string{"last_hardened_lsn", "last_commit_lsn", "last_commit_time", "end_of_log_lsn"} {
			g.Expect(seen[column]).To(Equal(own[column]), column)
		}
		g.Expect(seen["last_commit_lsn"]).To(Equal(primary["last_commit_lsn"]))
		g.Expect(seen["last_commit_time"]).To(Equal(primary["last_commit_time"]), "the same time as on the primary")
		g.Expect(seen["log_send_queue_size"]).To(Equal(int64(0)))
		g.Expect(seen["secondary_lag_seconds"]).To(Equal(int64(0)))
	}
	g.Expect(position(primary["recovery_lsn"]).LessThan(position(primary["end_of_log_lsn"]))).To(BeTrue())
	g.Expect(query(t, c.admins[0],
		"SELECT is_failover_ready, is_database_joined, is_pending_secondary_suspend FROM "+
			"sys.dm_hadr_database_replica_cluster_states s JOIN sys.availability_replicas r ON r.replica_id = s.replica_id "+
			"ORDER BY replica_server_name")).
		To(Equal([][]any{{true, true, false}, {true, true, false}, {false, true, false}}))
	g.Expect(one(t, c.admins[0],
		"SELECT primary_replica, primary_recovery_health_desc, secondary_recovery_health, synchronization_health_desc "+
			"FROM sys.dm_hadr_availability_group_states")).
		To(Equal(map[string]any{"primary_replica": "AGA", "primary_recovery_health_desc": "ONLINE",
			"secondary_recovery_health": nil, "synchronization_health_desc": "HEALTHY"}))
	g.Expect(one(t, c.admins[1],
		"SELECT primary_replica, primary_recovery_health, secondary_recovery_health_desc FROM "+
			"sys.dm_hadr_availability_group_states")).
		To(Equal(map[string]any{"primary_replica": "AGA", "primary_recovery_health": nil,
			"secondary_recovery_health_desc": "ONLINE"}))

	// A replica that is gone: the primary shows what it knew last.
	before := row(0, 2)
	c.servers[2].kill()
	g.Eventually(func() any { return row(0, 2)["synchronization_state_desc"] }, patient).Should(Equal("NOT SYNCHRONIZING"))
	g.Eventually(func() any {
		return value(
			t,
			c.admins[0],
			"SELECT COUNT(*) FROM sys.dm_hadr_availability_replica_states WHERE connected_state_desc = 'DISCONNECTED' AND "+
				"last_connect_error_number IS NOT NULL",
		)
	}, patient).Should(Equal(int64(1)))
	for id := range 5 {
		g.Expect(c.insert(t.Context(), 0, 100+id)).To(Succeed(), "an asynchronous replica holds nobody up")
	}
	after := row(0, 2)
	for _, column := range []string{"last_hardened_lsn", "last_hardened_time", "last_redone_lsn", "last_commit_lsn",
		"last_commit_time", "last_received_lsn"} {
		g.Expect(after[column]).To(Equal(before[column]), column)
	}
	g.Expect(position(after["last_hardened_lsn"]).LessThan(position(row(0, 0)["end_of_log_lsn"]))).To(BeTrue())
	connect := one(
		t,
		c.admins[0],
		"SELECT s.role, s.operational_state, s.recovery_health, s.connected_state_desc, s.last_connect_error_number, "+
			"s.last_connect_error_description, s.last_connect_error_timestamp FROM sys.dm_hadr_availability_replica_states s "+
			"JOIN sys.availability_replicas r ON r.replica_id = s.replica_id WHERE r.replica_server_name = 'AGC'",
	)
	g.Expect(connect["connected_state_desc"]).To(Equal("DISCONNECTED"))
	g.Expect(connect["last_connect_error_number"]).To(BeElementOf(int64(35206), int64(35250)))
	g.Expect(connect["last_connect_error_description"]).NotTo(BeEmpty())
	g.Expect(connect["last_connect_error_timestamp"]).NotTo(BeNil())
	g.Expect(connect["operational_state"]).To(BeNil(), "not local")
	g.Expect(connect["recovery_health"]).To(BeNil(), "not local")
}

// TestServerDiagnostics: the components in their order with the states that the document allows each
// (docs/relational-databases/system-stored-procedures/sp-server-diagnostics-transact-sql.md).
func TestServerDiagnostics(t *testing.T) {
	g := NewWithT(t)
	i := prepareInstance(t, "MSSQL_ENABLE_HADR=1")
	i.name = "AGA"
	g.Expect(i.launch()).To(Succeed())
	admin := i.open(t, "")
	mustExec(
		t,
		admin,
		"CREATE AVAILABILITY GROUP ag WITH (CLUSTER_TYPE = EXTERNAL) FOR REPLICA ON N'AGA' WITH (ENDPOINT_URL = "+
			"N'TCP://a:5022', AVAILABILITY_MODE = SYNCHRONOUS_COMMIT, FAILOVER_MODE = EXTERNAL)",
	)
	rows, err := admin.QueryContext(t.Context(), "EXEC sp_server_diagnostics")
	g.Expect(err).NotTo(HaveOccurred())
	types, err := rows.ColumnTypes()
	g.Expect(err).NotTo(HaveOccurred())
	rows.Close()
	var columns []string
	for _, c := range types {
		columns = append(columns, c.Name()+" "+documentedType(c))
	}
	g.Expect(columns).
		To(Equal([]string{"create_time datetime", "component_type nvarchar(128)", "component_name nvarchar(128)", "state int",
			"state_desc nvarchar(128)", "data varchar(max)"}))
	allowed := map[string][]any{
		"system":           {int64(1), int64(2), int64(3)},
		"resource":         {int64(1), int64(2), int64(3)},
		"query_processing": {int64(1), int64(2), int64(3)},
		"io_subsystem":     {int64(1), int64(2)},
		"events":           {int64(0)},
	}
	names := []any{}
	for _, r := range query(t, admin, "EXEC sp_server_diagnostics") {
		names = append(names, r[2])
		if states, ok := allowed[r[2].(string)]; ok {
			g.Expect(r[1]).To(Equal("instance"))
			g.Expect(states).To(ContainElement(r[3]), r[2])
		} else {
			g.Expect(r[1]).To(Equal("Always On:AvailabilityGroup"))
		}
		g.Expect(r[4]).To(Equal([]string{"unknown", "clean", "warning", "error"}[r[3].(int64)]))
		g.Expect(r[5]).To(HavePrefix("<"))
	}
	g.Expect(names).To(Equal([]any{"system", "resource", "query_processing", "io_subsystem", "events", "ag"}))
	_, err = tryQuery(admin, "EXEC sp_server_diagnostics @repeat_interval = 4")
	g.Expect(err).To(HaveOccurred(), "at least 5 s, or 0")
	mustExec(t, admin, "CREATE LOGIN nobody WITH PASSWORD = N'N0body-Password'")
	_, err = tryQuery(i.openAs(t, "nobody", "N0body-Password", ""), "EXEC sp_server_diagnostics")
	g.Expect(err).To(HaveOccurred(), "VIEW SERVER STATE is needed")
}
