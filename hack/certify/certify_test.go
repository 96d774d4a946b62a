// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	driver "github.com/microsoft/go-mssqldb"
	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/tsql/ledger"
)

// answered are recorded rows as the settling statements of the ledger judge them.
func answered(t *testing.T, engine string, rows map[string][]string) run {
	t.Helper()
	s := Server{Name: "h-0", Build: "16.0.4195.2", Engine: engine}
	for _, d := range ledger.All().Doubts {
		if given, ok := rows[d.ID]; ok {
			a := Answer{ID: d.ID, SQL: d.Settle.SQL, Server: s.Name, Build: s.Build, Rows: given}
			a.Outcome = judge(d.Settle, a, nil)
			s.Answers = append(s.Answers, a)
		}
	}
	NewWithT(t).Expect(s.Answers).To(HaveLen(len(rows)))
	return run{servers: []Server{s}}
}

var wrong = map[string][]string{
	"R-W2":  {"16.0.4265.3"},
	"R-W3":  {"17|1", "18|3"},
	"R-W4":  {"13|0"},
	"S-W3":  {"HEALTHY"},
	"S-W10": {"EXTERNAL|SECONDARY"},
}

// Where an engine behaves like five of the wrong rows, each is named with its answer, and nothing else is.
func TestEachDifferenceIsNamed(t *testing.T) {
	g := NewWithT(t)
	report := answered(t, "Microsoft SQL Server 2022", wrong).report(ledger.All())
	differs, rest, _ := strings.Cut(report, "\n## What holds\n")
	for id, rows := range wrong {
		g.Expect(differs).To(And(ContainSubstring("### "+id+" on h-0, build 16.0.4195.2"), ContainSubstring(rows[0])))
		g.Expect(rest).NotTo(ContainSubstring(id + " "))
	}
	g.Expect(strings.Count(differs, "### ")).To(Equal(len(wrong)))
	right := answered(t, "Microsoft SQL Server 2022", map[string][]string{"R-W2": {"16.0.4195.2"}, "R-W3": {"17|3"},
		"R-W4": {"13|1"}, "S-W3": {"NOT_HEALTHY"}, "S-W10": {"external|secondary"}}).report(ledger.All())
	g.Expect(right).NotTo(ContainSubstring("### "))
}

// The ledger's patch settles what holds and notes what differs, and a stand-in settles nothing.
func TestPatchOfTheLedger(t *testing.T) {
	g := NewWithT(t)
	file := "- id: R-W2\n  verdict: wrong\n  status: open\n  doubt: a\n- id: S-W10\n  status: both\n  test: TestX\n"
	rows := map[string][]string{"R-W2": {"16.0.4265.3"}, "S-W10": {"external|secondary"}}
	var status ledger.Status
	for _, d := range ledger.All().Doubts {
		if d.ID == "R-W2" {
			status = d.Status
		}
	}
	g.Expect(answered(t, "Microsoft SQL Server 2022", rows).settled(file, ledger.All())).
		To(Equal("- id: R-W2\n  verdict: wrong\n  status: " + string(status) + "\n  differs: 16.0.4195.2\n  doubt: a\n" +
			"- id: S-W10\n  status: settled\n  build: 16.0.4195.2\n  test: TestX\n"))
	g.Expect(answered(t, "the geosql stand-in (not Microsoft SQL Server)", rows).settled(file, ledger.All())).
		To(Equal(file))
}

// An error is a difference, unless the server lacks what is asked about or never answered.
func TestErrorsOfAnswers(t *testing.T) {
	g := NewWithT(t)
	s := ledger.Settle{Expect: "."}
	g.Expect(judge(s, Answer{}, driver.Error{Number: 208})).To(Equal(Nothing))
	g.Expect(judge(s, Answer{}, driver.Error{Number: 4060})).To(Equal(Nothing))
	g.Expect(judge(s, Answer{}, errors.New("timed out"))).To(Equal(Nothing))
	g.Expect(judge(s, Answer{}, driver.Error{Number: 207})).To(Equal(Differs))
	g.Expect(judge(s, Answer{}, nil)).To(Equal(Nothing))
	g.Expect(judge(ledger.Settle{Columns: 2}, Answer{Rows: []string{"a"}, Columns: 3}, nil)).To(Equal(Differs))
}

// A report has how each scene ended, the last words of those that failed, and no secret.
func TestScenesAndSecrets(t *testing.T) {
	g := NewWithT(t)
	scenes, err := readScenes(strings.NewReader(`{"Action":"run","Test":"TestDemo"}
{"Action":"output","Test":"TestDemo/a","Output":"login failed with hunter2\n"}
{"Action":"fail","Test":"TestDemo/a"}
{"Action":"fail","Test":"TestDemo"}
{"Action":"pass","Test":"TestSwitchoverByCommand"}
not an event
`))
	g.Expect(err).NotTo(HaveOccurred())
	text := redact((run{scenes: scenes}).report(ledger.All())+"\nPASSWORD = N'it''s' @password: x", "hunter2")
	g.Expect(text).To(And(ContainSubstring("- TestDemo: fail"), ContainSubstring("login failed with ***"),
		ContainSubstring("- TestSwitchoverByCommand: pass"), Not(ContainSubstring("hunter2")),
		Not(ContainSubstring("it''s"))))
	g.Expect(text).To(HaveSuffix("PASSWORD = *** @password: ***"))
}

// Every file that a run leaves is redacted, of every secret that it has used, whatever form it stands in.
func TestFilesOfARunAreRedacted(t *testing.T) {
	g := NewWithT(t)
	folder, secrets := t.TempDir(), filepath.Join(t.TempDir(), "secrets")
	g.Expect(os.WriteFile(secrets, []byte("first-server-1\nsecond-server-2\nxy\n"), 0o600)).To(Succeed())
	t.Setenv(secretsVariable, secrets)
	g.Expect(os.MkdirAll(filepath.Join(folder, "contract"), 0o700)).To(Succeed())
	for name, text := range map[string]string{
		"demo.txt":             "first-server-1 and second-server-2",
		"contract/server.json": `{"password":"hidden-3"}`,
		"settle-dist.json":     "-PublisherPassword [hidden-3] -Publisher [tukpub-0]",
		"report.md":            "sqlserver://sa:hidden-3@127.0.0.1:1433?database=master",
	} {
		g.Expect(os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600)).To(Succeed())
	}
	g.Expect(command(t.Context(), []string{"redact", folder})).To(Succeed())
	for name, want := range map[string]string{
		"demo.txt":             "*** and ***",
		"contract/server.json": `{"password":***}`,
		"settle-dist.json":     "-PublisherPassword *** -Publisher [tukpub-0]",
		"report.md":            "sqlserver://sa:***@127.0.0.1:1433?database=master",
	} {
		g.Expect(os.ReadFile(filepath.Join(folder, name))).To(BeEquivalentTo(want), name)
	}
}
