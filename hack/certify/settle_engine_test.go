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

// The command asks the stand-in as it would any server: what any server can answer is answered, what the engine was
// made to do otherwise is named, and nothing is settled by it.
func TestTheStandInIsAsked(t *testing.T) {
	g := NewWithT(t)
	e := engine.Start(t, "certify", "alone")
	target := e.Target(credentials.RoleSA)
	db, err := e.Connector(t).Open(t.Context(), target)
	g.Expect(err).NotTo(HaveOccurred())
	for _, text := range []string{
		"EXEC msdb.dbo.sp_add_job @job_name = N'odd', @category_name = N'REPL-LogReader'",
		"EXEC msdb.dbo.sp_add_jobstep @job_name = N'odd', @step_name = N's', @subsystem = N'TSQL', @command = N'SELECT 1'",
		"EXEC sys.sp_adddistributor @distributor = N'alone-0', @password = N'A-long_secret.7'",
		"EXEC sys.sp_adddistributiondb @database = N'distribution', @security_mode = 1",
	} {
		g.Expect(db.Exec(t.Context(), tsql.Statement{Text: text})).To(Succeed())
	}
	folder := t.TempDir()
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
	g.Expect(servers[0].IsStandIn()).To(BeTrue())
	outcomes := map[string]Outcome{}
	for _, a := range servers[0].Answers {
		outcomes[a.ID] = a.Outcome
		t.Logf("%s %s: %v %s", a.ID, a.Outcome, a.Rows, a.Error)
	}
	harmless := 0
	for _, d := range ledger.All().Doubts {
		if d.Settle.Harmless {
			harmless++
		}
	}
	g.Expect(outcomes).To(HaveLen(harmless))
	g.Expect(outcomes).To(And(HaveKeyWithValue("R-W2", Holds),
		HaveKeyWithValue("R-W4", Differs), HaveKeyWithValue("S-D2", Nothing)))

	t.Chdir(checkout.Root())
	g.Expect(command(t.Context(), []string{"report", folder})).To(Succeed())
	report, err := os.ReadFile(filepath.Join(folder, "report.md"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(report)).To(And(ContainSubstring("The engine is the stand-in"), ContainSubstring("13|0")))
	for _, name := range []string{"doubts_replication.yaml", "doubts_server.yaml"} {
		now, err := os.ReadFile(filepath.Join("internal", "tsql", "ledger", name))
		g.Expect(err).NotTo(HaveOccurred())
		after, err := os.ReadFile(filepath.Join(folder, "ledger", name))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(strings.Compare(string(after), string(now))).To(BeZero(), name)
	}
}
