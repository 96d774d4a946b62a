// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// probe is a question that no document answers. Nothing is right or wrong about the answers; they are kept in
// docs/engine.md beside each other.
type probe struct {
	question string
	// before and after make and remove what the statement needs; they may fail.
	before, after []string
	statement     string
	// document is the one that speaks of the statement and leaves the question open.
	document string
}

const oneReplicaGroup = "CREATE AVAILABILITY GROUP probed WITH (CLUSTER_TYPE = NONE) FOR REPLICA ON N'%s' WITH " +
	"(ENDPOINT_URL = N'TCP://localhost:5022', AVAILABILITY_MODE = SYNCHRONOUS_COMMIT, FAILOVER_MODE = MANUAL)"

const dropGroup = "DROP AVAILABILITY GROUP probed"

func probes(server string) []probe {
	group := fmt.Sprintf(oneReplicaGroup, server)
	return []probe{
		{
			question: "Is a listener's address with the mask of one host accepted, and one without a cluster that moves it?",
			before:   []string{group},
			after:    []string{dropGroup},
			statement: "ALTER AVAILABILITY GROUP probed ADD LISTENER N'probed-listener' (WITH IP ((N'10.255.0.1', " +
				"N'255.255.255.255')), PORT = 14330)",
			document: "docs/t-sql/statements/alter-availability-group-transact-sql.md",
		},
		{
			question: "Which failover mode has a replica without a cluster in the catalogue?",
			before:   []string{group},
			after:    []string{dropGroup},
			statement: "SELECT failover_mode, failover_mode_desc FROM sys.availability_replicas WHERE group_id = (SELECT " +
				"group_id FROM sys.availability_groups WHERE name = 'probed')",
			document: "docs/relational-databases/system-catalog-views/sys-availability-replicas-transact-sql.md",
		},
		{
			question:  "What does FORCE_FAILOVER_ALLOW_DATA_LOSS say at the primary?",
			before:    []string{group},
			after:     []string{dropGroup},
			statement: "ALTER AVAILABILITY GROUP probed FORCE_FAILOVER_ALLOW_DATA_LOSS",
			document:  "docs/t-sql/statements/alter-availability-group-transact-sql.md",
		},
		{question: "What does OFFLINE say without an external cluster?", before: []string{group}, after: []string{dropGroup},
			statement: "ALTER AVAILABILITY GROUP probed OFFLINE",
			document:  "docs/t-sql/statements/alter-availability-group-transact-sql.md"},
		{question: "What does ALTER AVAILABILITY GROUP say of a group that the server does not have?",
			statement: "ALTER AVAILABILITY GROUP there_is_none OFFLINE",
			document:  "docs/t-sql/statements/alter-availability-group-transact-sql.md"},
		{
			question:  "What does SET HADR say of a group that the server does not have?",
			before:    []string{"CREATE DATABASE probed_hadr"},
			after:     []string{"DROP DATABASE probed_hadr"},
			statement: "ALTER DATABASE probed_hadr SET HADR AVAILABILITY GROUP = there_is_none",
			document:  "docs/t-sql/statements/alter-database-transact-sql-set-hadr.md",
		},
		{question: "How many rows has the view of a cluster that there is not?",
			statement: "SELECT COUNT(*) FROM sys.dm_hadr_cluster",
			document:  "docs/relational-databases/system-dynamic-management-views/sys-dm-hadr-cluster-transact-sql.md"},
		{question: "What does the local server's own row in sys.servers say?",
			statement: "SELECT IIF(name = @@SERVERNAME, 'its name', 'another name'), product, provider, is_linked FROM " +
				"sys.servers WHERE server_id = 0",
			document: "docs/relational-databases/system-catalog-views/sys-servers-transact-sql.md"},
		{question: "Which numbers do the checksums of equal texts give?",
			statement: "SELECT CHECKSUM(N'a'), CHECKSUM(N'A'), BINARY_CHECKSUM(N'a')",
			document:  "docs/t-sql/functions/checksum-transact-sql.md"},
		{question: "Which options has a new connection of go-mssqldb?",
			statement: "SELECT @@OPTIONS",
			document:  "docs/t-sql/functions/options-transact-sql.md"},
		{question: "State and line of an error that only a statement's execution finds",
			statement: "SELECT 1 AS a;\nSELECT * FROM dbo.there_is_no_such_table",
			document:  "docs/relational-databases/errors-events/mssqlserver-208-database-engine-error.md"},
		{
			question:  "May a procedure call a scalar function that is not there?",
			after:     []string{"DROP PROCEDURE probed_caller"},
			statement: "CREATE PROCEDURE probed_caller AS SELECT dbo.there_is_no_such_function(1)",
			document:  "docs/relational-databases/errors-events/database-engine-events-and-errors.md",
		},
		{question: "Which errors follow 8111?", after: []string{"DROP TABLE probed"},
			statement: "CREATE TABLE probed (id int NULL); ALTER TABLE probed ADD CONSTRAINT pk_probed PRIMARY KEY (id)",
			document:  "docs/relational-databases/errors-events/database-engine-events-and-errors.md"},
		{question: "Which token does a syntax error name at the end of the text?",
			statement: "SELECT 1 +",
			document:  "docs/relational-databases/errors-events/database-engine-events-and-errors.md"},
		{question: "What does a redirection say in a database that publishes nothing?",
			statement: "EXEC sys.sp_get_redirected_publisher @original_publisher = @@SERVERNAME, @publisher_db = N'master'",
			document:  "docs/relational-databases/system-stored-procedures/sp-get-redirected-publisher-transact-sql.md"},
		{question: "May a persisted computed column that can be NULL be a primary key?", after: []string{"DROP TABLE probed"},
			statement: "CREATE TABLE probed (a int, b AS a * 2 PERSISTED PRIMARY KEY)",
			document:  "docs/t-sql/statements/create-table-transact-sql.md"},
		{question: "Which expressions are never NULL, besides those that are documented?",
			statement: "SELECT name FROM sys.dm_exec_describe_first_result_set(N'SELECT GETDATE() AS now, 1 + 1 AS two, " +
				"''a'' + ''b'' AS text, CAST(1 AS int) AS one, COUNT(*) AS counted, CASE WHEN COUNT(*) > 0 THEN 1 ELSE 0 END AS " +
				"any_row, DB_ID() AS id, NEWID() AS guid', NULL, 0) WHERE is_nullable = 0",
			document: "docs/t-sql/statements/create-table-transact-sql.md"},
		{
			question: "Are results of different types never NULL when none of them is?",
			before:   []string{"CREATE TABLE probed (i int NOT NULL, b bigint NOT NULL)"},
			after:    []string{"DROP TABLE probed"},
			statement: "SELECT name, is_nullable FROM sys.dm_exec_describe_first_result_set(N'SELECT i AS combined FROM " +
				"probed UNION ALL SELECT b FROM probed', NULL, 0) UNION ALL SELECT name, is_nullable FROM " +
				"sys.dm_exec_describe_first_result_set(N'SELECT CASE WHEN i > 0 THEN i ELSE b END AS chosen, i + b AS added " +
				"FROM probed', NULL, 0)",
			document: "docs/t-sql/statements/create-table-transact-sql.md",
		},
		{
			question:  "Does the collation of a constant give way as the column of a derived table, too?",
			before:    []string{"CREATE TABLE probed (b varchar(9) COLLATE Latin1_General_BIN)"},
			after:     []string{"DROP TABLE probed"},
			statement: "SELECT COUNT(*) FROM (SELECT 'a' AS x) AS d JOIN probed AS p ON p.b = d.x",
			document:  "docs/t-sql/statements/collation-precedence-transact-sql.md",
		},
		{question: "Which error has an aggregate over columns of both sides of APPLY?",
			statement: "SELECT c.s FROM (VALUES (1)) AS a (x) CROSS APPLY (SELECT SUM(a.x + b.y) AS s FROM (VALUES (2)) AS " +
				"b (y)) AS c",
			document: "docs/relational-databases/errors-events/database-engine-events-and-errors.md"},
		{question: "Has PIVOT a row when there are neither rows nor columns to group them by?",
			statement: "SELECT COUNT(*) FROM (SELECT 1 AS v, 2 AS k WHERE 1 = 0) AS s PIVOT (COUNT(v) FOR k IN ([2])) AS p",
			document:  "docs/t-sql/queries/from-using-pivot-and-unpivot.md"},
	}
}

const (
	probesFile  = "../docs/engine.md"
	probesBegin = "<!-- answers of the probes: begin -->"
	probesEnd   = "<!-- answers of the probes: end -->"
	unasked     = "unknown"
)

// TestProbes asks what no document settles. The stand-in's answers must be those of docs/engine.md; a real server's are
// recorded. GEOSQL_WRITE_PROBES=1 writes them there.
func TestProbes(t *testing.T) {
	g := NewWithT(t)
	c := connection(t, shared.open(t, ""))
	about, err := runQuery(c, "SELECT @@SERVERNAME, CAST(SERVERPROPERTY('ProductVersion') AS nvarchar(128))")
	g.Expect(err).NotTo(HaveOccurred())
	server, version := about[0][0].(string), about[0][1]
	kept := readProbes(g)
	column := 0
	if os.Getenv("GEOSQL_CONTRACT_SERVER") != "" {
		column = 1
	}
	list := probes(server)
	var questions []string
	for _, p := range list {
		g.Expect(questions).NotTo(ContainElement(p.question), "a question names its row")
		questions = append(questions, p.question)
	}
	for _, p := range list {
		for _, text := range p.before {
			_, _ = runQuery(c, text)
		}
		rows, err := runQuery(c, p.statement)
		answer := strings.ReplaceAll(answerText(rows, err), server, "(server)")
		for _, text := range p.after {
			_, _ = runQuery(c, text)
		}
		recorded.write(
			entry{Test: "TestProbes", Statement: p.statement, Answer: answer, Question: p.question, Document: p.document},
		)
		answers := kept[p.question]
		if column == 1 {
			answers[1] = fmt.Sprintf("%s (%s)", answer, version)
		} else if answers[0] != answer && os.Getenv("GEOSQL_WRITE_PROBES") == "" {
			t.Errorf("%s\n%s\ndocs/engine.md has %s\nthe stand-in says %s", p.question, p.statement, answers[0], answer)
		}
		if column == 0 {
			answers[0] = answer
		}
		kept[p.question] = answers
	}
	if os.Getenv("GEOSQL_WRITE_PROBES") != "" {
		writeProbes(g, list, kept)
	}
}

// readProbes gives what docs/engine.md has: the stand-in's answer and the real server's by question.
func readProbes(g *WithT) map[string][2]string {
	text, err := os.ReadFile(probesFile)
	g.Expect(err).NotTo(HaveOccurred())
	_, table, found := strings.Cut(string(text), probesBegin)
	g.Expect(found).To(BeTrue(), probesFile)
	table, _, _ = strings.Cut(table, probesEnd)
	kept := map[string][2]string{}
	for line := range strings.Lines(table) {
		cells := strings.Split(strings.TrimSpace(line), " | ")
		if len(cells) != 5 || cells[0] == "| question" {
			continue
		}
		for i, cell := range cells {
			cells[i] = strings.ReplaceAll(strings.Trim(cell, "| "), `\|`, "|")
		}
		kept[cells[0]] = [2]string{cells[2], cells[3]}
	}
	return kept
}

func writeProbes(g *WithT, list []probe, kept map[string][2]string) {
	text, err := os.ReadFile(probesFile)
	g.Expect(err).NotTo(HaveOccurred())
	before, rest, _ := strings.Cut(string(text), probesBegin)
	_, after, _ := strings.Cut(rest, probesEnd)
	var b strings.Builder
	fmt.Fprintf(
		&b,
		"%s%s\n| question | statement | stand-in says | real | document |\n|---|---|---|---|---|\n",
		before,
		probesBegin,
	)
	for _, p := range list {
		answers := kept[p.question]
		if answers[1] == "" {
			answers[1] = unasked
		}
		cells := []string{
			p.question,
			"`" + strings.ReplaceAll(p.statement, "\n", " ") + "`",
			answers[0],
			answers[1],
			p.document,
		}
		for i, cell := range cells {
			cells[i] = strings.ReplaceAll(cell, "|", `\|`)
		}
		fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | "))
	}
	fmt.Fprintf(&b, "%s%s", probesEnd, after)
	g.Expect(os.WriteFile(probesFile, []byte(b.String()), 0o644)).To(Succeed())
}
