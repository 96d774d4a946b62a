// SPDX-License-Identifier: Apache-2.0

//go:build integration

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/tsql"
	"geosql.dev/operator/internal/tsql/ledger"
	"geosql.dev/operator/test/support/checkout"
	"geosql.dev/operator/test/support/engine"
)

// asked runs the command on a stand-in after statements, and returns what it answered and the folder with its file.
func asked(
	t *testing.T,
	e *engine.Engine,
	statements ...string,
) (server Server, outcomes map[string]Outcome, folder string) {
	t.Helper()
	g := NewWithT(t)
	db, err := e.Connector(t).Open(t.Context(), e.Target(credentials.RoleSA))
	g.Expect(err).NotTo(HaveOccurred())
	for _, text := range statements {
		g.Expect(db.Exec(t.Context(), tsql.Statement{Text: text})).To(Succeed(), text)
	}
	folder = t.TempDir()
	out := filepath.Join(folder, "settle.json")
	t.Setenv(passwordVariable, e.Access.Passwords.Of(credentials.RoleSA))
	g.Expect(command(t.Context(), []string{"settle", "-out", out, "-ca", filepath.Join(e.TLSDir, "ca.crt"),
		"alone-0=" + e.Address})).To(Succeed())
	data, err := os.ReadFile(out)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(data)).NotTo(ContainSubstring(os.Getenv(passwordVariable)))
	var servers []Server
	g.Expect(json.Unmarshal(data, &servers)).To(Succeed())
	g.Expect(servers).To(HaveLen(1))
	outcomes = map[string]Outcome{}
	for _, a := range servers[0].Answers {
		outcomes[a.ID] = a.Outcome
		t.Logf("%s %s: %v %s", a.ID, a.Outcome, a.Rows, a.Error)
	}
	return servers[0], outcomes, folder
}

// reportOf is the report that the command makes of a folder.
func reportOf(t *testing.T, folder string) string {
	t.Helper()
	t.Chdir(checkout.Root())
	g := NewWithT(t)
	g.Expect(command(t.Context(), []string{"report", folder})).To(Succeed())
	report, err := os.ReadFile(filepath.Join(folder, "report.md"))
	g.Expect(err).NotTo(HaveOccurred())
	return string(report)
}

const (
	oddJob = "EXEC msdb.dbo.sp_add_job @job_name = N'odd', @category_name = N'REPL-LogReader'; " +
		"EXEC msdb.dbo.sp_add_jobstep @job_name = N'odd', @step_name = N's', @subsystem = N'TSQL', @command = N'SELECT 1'"
	distributor  = "EXEC sys.sp_adddistributor @distributor = N'alone-0', @password = N'A-long_secret.7'"
	distribution = "EXEC sys.sp_adddistributiondb @database = N'distribution', @security_mode = 1"
)

// The command asks the stand-in as it would any server: what any server can answer is answered, what the engine was
// made to do otherwise is named, and nothing is settled by it.
func TestTheStandInIsAsked(t *testing.T) {
	g := NewWithT(t)
	server, outcomes, folder := asked(t, engine.Start(t, "certify", "alone"), oddJob, distributor, distribution)
	g.Expect(server.IsStandIn()).To(BeTrue())
	harmless := 0
	for _, d := range ledger.All().Doubts {
		if d.Settle.Harmless {
			harmless++
		}
	}
	g.Expect(outcomes).To(HaveLen(harmless))
	g.Expect(outcomes).To(And(HaveKeyWithValue("R-W2", Holds),
		HaveKeyWithValue("R-W4", Differs), HaveKeyWithValue("S-D2", Nothing)))

	g.Expect(reportOf(t, folder)).To(And(ContainSubstring("The engine is the stand-in"), ContainSubstring("13|0")))
	for _, name := range []string{"doubts_replication.yaml", "doubts_server.yaml"} {
		now, err := os.ReadFile(filepath.Join("internal", "tsql", "ledger", name))
		g.Expect(err).NotTo(HaveOccurred())
		after, err := os.ReadFile(filepath.Join(folder, "ledger", name))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(strings.Compare(string(after), string(now))).To(BeZero(), name)
	}
}

// An engine that behaves otherwise in eight rows, four of which were found wrong, is named for each of them and for
// nothing else. It has 256 MB.
func TestAnEngineThatBehavesOtherwiseIsNamed(t *testing.T) {
	g := NewWithT(t)
	e := engine.Start(t, "certify", "alone",
		engine.Answers("sqlagent.help-job-has-more", "repl.folder-turned", "repl.names-in-capitals"))
	e.Configure(t, "[uncmapping]\n//alone-0/ReplData = "+t.TempDir()+"\n")
	_, outcomes, folder := asked(t, e, oddJob, distributor, distribution,
		"EXEC sys.sp_adddistpublisher @publisher = N'alone-0', @distribution_db = N'distribution', @security_mode = 1, "+
			"@working_directory = N'//alone-0/ReplData'",
		"INSERT INTO distribution.dbo.MSrepl_errors (id, time, error_type_id, source_type_id, source_name, error_code, "+
			"error_text) VALUES (1, GETDATE(), 0, 1, N'', N'', N'alone')",
		"INSERT INTO distribution.dbo.MSlogreader_history (agent_id, runstatus, start_time, time, duration, comments, "+
			"delivery_time, delivered_transactions, delivered_commands, average_commands, delivery_rate, delivery_latency, "+
			"error_id, updateable_row) "+
			"VALUES (1, 3, GETDATE(), GETDATE(), 0, N'<stats_of state=\"1\"/>', 0, 0, 0, 0, 0, 0, 0, 1)")
	differs, _, _ := strings.Cut(reportOf(t, folder), "\n## What holds\n")
	named := []string{"R-W3", "R-W4", "R-W6", "S-W9", "R-D1", "R-D2", "R-D10", "R-D14"}
	for _, id := range named {
		g.Expect(outcomes).To(HaveKeyWithValue(id, Differs))
		g.Expect(differs).To(ContainSubstring("### " + id + " on alone-0"))
	}
	g.Expect(strings.Count(differs, "### ")).To(Equal(len(named)))
}
