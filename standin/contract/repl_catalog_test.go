// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"database/sql"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/standin/catalog"
)

// otherColumns are documented columns whose name or type differs here, with the reason.
var otherColumns = map[string]string{
	"syspublications.allowed_queued_tran": "sp_helppublication and every other page call it allow_queued_tran",
	"sysjobactivity.last_executed_step_":  "the page breaks the name of last_executed_step_date over two lines",
	"sysschedules.freq_recurrence_":       "the page breaks the name of freq_recurrence_factor over two lines",
	"syspublications.originator_id":       "as wide as MSrepl_originators.id, which it refers to",
	"mslogreader_history.comments":        "longer than its page says, as MSdistribution_history's are",
	"mssnapshot_history.comments":         "longer than its page says, as MSdistribution_history's are",
}

// replicationType writes a documented type as the driver tells it.
func replicationType(documented string) string {
	switch t := strings.ToLower(documented); t {
	case "sysname":
		return "nvarchar(128)"
	case "ntext":
		return "nvarchar(max)"
	case "float(53)":
		return "float"
	case "timestamp":
		return "binary"
	default:
		return t
	}
}

// TestCataloguedReplicationTablesAreThere: every table and view of replication and of SQL Server Agent has its
// documented columns with their documented types, in the database that its page names. By
// docs/relational-databases/system-tables and docs/relational-databases/system-views.
func TestCataloguedReplicationTablesAreThere(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := newReplication(t)
	r.distribute(t)
	r.publish(t)
	r.pullDisabled(t)
	databases := map[string]*sql.DB{
		"publication":        r.source,
		"distribution":       r.dist.open(t, "distribution"),
		"subscription":       r.target,
		"msdb":               r.dist.open(t, "msdb"),
		"msdb (Distributor)": r.dist.open(t, "msdb"),
	}
	walked := 0
	for _, table := range catalog.ReplicationTables() {
		db := databases[table.Database]
		g.Expect(db).NotTo(BeNil(), table.Database)
		rows, err := db.QueryContext(t.Context(), "SELECT * FROM dbo."+table.Name+" WHERE 1 = 0")
		g.Expect(err).NotTo(HaveOccurred(), table.Name)
		types, err := rows.ColumnTypes()
		rows.Close()
		g.Expect(err).NotTo(HaveOccurred(), table.Name)
		have := map[string]string{}
		for _, c := range types {
			have[strings.ToLower(c.Name())] = documentedType(c)
		}
		for _, c := range table.Columns {
			if otherColumns[strings.ToLower(table.Name+"."+c.Name)] == "" {
				g.Expect(have).To(HaveKeyWithValue(strings.ToLower(c.Name), HavePrefix(replicationType(c.Type))), table.Name)
				walked++
			}
		}
	}
	g.Expect(walked).To(BeNumerically(">", 500))

	// What pages ask besides
	// (docs/relational-databases/replication/administration/distributor-and-publisher-information-script.md,
	// docs/relational-databases/replication/agents/use-alerts-for-replication-agent-events.md and
	// docs/database-engine/availability-groups/windows/configure-replication-for-always-on-availability-groups-sql-server.md).
	info := query(t, r.source, `EXEC sp_helpsubscriberinfo`)
	g.Expect(info).To(HaveLen(1))
	g.Expect(info[0][:4]).To(Equal([]any{"PUB", "SUB", int64(0), nil}))
	g.Expect(query(t, r.pubDB,
		`DECLARE @installed int; EXEC @installed = sys.sp_MS_replication_installed; SELECT @installed`)).
		To(Equal([][]any{{int64(1)}}))
	g.Expect(query(t, r.distDB,
		`SELECT publisher, publisher_db, publication, publication_type, subscriber, subscriber_db, article, alert_error_code, alert_error_text FROM msdb..sysreplicationalerts WHERE status = 0`)).
		To(BeEmpty())
}

// The distributor is told of an article before the publisher's transaction ends. One that is rolled back, as when its
// session ends, is added anew under another number, and leaves no subscription behind that waits for its snapshot.
func TestAnArticleThatWasRolledBackLeavesNothing(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := newReplication(t)
	r.distribute(t)
	r.publishWith(t, "@immediate_sync = N'true'")
	dist := r.dist.open(t, "distribution")
	mustExec(t, r.source, `CREATE TABLE dbo.parcels (id int PRIMARY KEY)`)
	const add = `EXEC sp_addarticle @publication = N'web', @article = N'parcels', @source_owner = N'dbo', @source_object = N'parcels'; `
	mustExec(t, r.source, `BEGIN TRANSACTION; `+add+`ROLLBACK TRANSACTION`)
	const known = `SELECT (SELECT COUNT(*) FROM dbo.MSarticles WHERE article = N'parcels'), (SELECT COUNT(*) FROM dbo.MSsubscriptions WHERE subscriber_db = N'virtual')`
	g.Expect(query(t, dist, known)).To(Equal([][]any{{int64(1), int64(3)}}), "the distributor cannot know of it")
	g.Expect(scalar(r.source, `SELECT COUNT(*) FROM dbo.sysarticles WHERE name = N'parcels'`)).To(BeEquivalentTo(0))
	mustExec(t, r.source, add)
	g.Expect(query(t, dist, known)).To(Equal([][]any{{int64(1), int64(3)}}))
	g.Expect(scalar(dist, `SELECT article_id FROM dbo.MSarticles WHERE article = N'parcels'`)).
		To(Equal(scalar(r.source, `SELECT CAST(artid AS bigint) FROM dbo.sysarticles WHERE name = N'parcels'`)))
}
