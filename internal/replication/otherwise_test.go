// SPDX-License-Identifier: Apache-2.0

package replication

import (
	"context"
	"errors"
	"strings"
	"testing"

	driver "github.com/microsoft/go-mssqldb"
	. "github.com/onsi/gomega"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/tsql"
)

func refused(number int32) error {
	return &mssql.Error{Server: "dist-0", Class: mssql.Refused, Number: number, Err: driver.Error{Number: number}}
}

// Where an engine refuses a statement with a number for which there is another way, that is tried, once. Every other
// error is what it is.
func TestStatementThatIsRefusedHasAnotherWay(t *testing.T) {
	const first, second, third = "first", "second", "third"
	step := func(text string, instead ...mssql.Instead) Execute {
		return Execute{Statement: tsql.Statement{Text: text}, Done: []int32{22022}, Instead: instead}
	}
	ways := step(first,
		mssql.Instead{On: 15581, Steps: []Execute{step(second), step(third)}},
		mssql.Instead{On: 21037, Steps: []Execute{step(third)}})
	for name, c := range map[string]struct {
		answers  map[string]error
		executed []string
		fails    int32
	}{
		"taken":           {nil, []string{first}, 0},
		"so already":      {map[string]error{first: refused(22022)}, []string{first}, 0},
		"refused":         {map[string]error{first: refused(14114)}, []string{first}, 14114},
		"no master key":   {map[string]error{first: refused(15581)}, []string{first, second, third}, 0},
		"no folder":       {map[string]error{first: refused(21037)}, []string{first, third}, 0},
		"the way is shut": {map[string]error{first: refused(15581), second: refused(262)}, []string{first, second}, 262},
		"the same answer": {map[string]error{first: refused(21037), third: refused(21037)}, []string{first, third}, 21037},
		"not answered":    {map[string]error{first: errors.New("no route")}, []string{first}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			var executed []string
			err := otherwise(ways, func(s Execute) error {
				executed = append(executed, s.Statement.Text)
				return c.answers[s.Statement.Text]
			})
			g.Expect(executed).To(Equal(c.executed))
			g.Expect(mssql.Number(err)).To(Equal(c.fails))
			if c.fails == 0 && name != "not answered" {
				g.Expect(err).NotTo(HaveOccurred())
			}
		})
	}
}

// What gives an engine a password to keep makes the master key that it may want, where it is kept, and is repeated.
func TestPasswordsMayWantAMasterKey(t *testing.T) {
	g := NewWithT(t)
	s := System{Server: "dist", Database: "distribution", Login: "agents", KeyPassword: "key-secret"}
	var p Plan
	statement := tsql.AddLogReaderAgent("job", s.Login, "agent-secret")
	p.Keeping(s, "tukpub", "Content", statement, Execute{Server: s.Server, Database: s.Database})
	step := p.Steps[0].(Execute)
	g.Expect(step.Statement.Text).To(Equal(statement.Text))
	g.Expect(step.Instead).To(HaveLen(1))
	g.Expect(step.Instead[0].On).To(BeEquivalentTo(15581))
	key, again := step.Instead[0].Steps[0], step.Instead[0].Steps[1]
	g.Expect(key.Statement.Text).To(And(ContainSubstring("CREATE MASTER KEY"), ContainSubstring("key-secret")))
	g.Expect(key.Describe()).NotTo(ContainSubstring("key-secret"))
	g.Expect(key.Database).To(Equal("distribution"))
	g.Expect(again.Server).To(Equal(v1alpha1.ServerName("tukpub")))
	g.Expect(again.Instead).To(BeEmpty(), "once")
}

func TestPathsThatAreTheSame(t *testing.T) {
	g := NewWithT(t)
	s := System{Server: "dist", WorkingDirectory: "//dist-0/ReplData"}
	g.Expect(s.Mirrored()).To(BeTrue())
	for path, want := range map[string]bool{
		"//dist-0/ReplData": true, `\\dist-0\ReplData`: true, "//dist-0/ReplData/": true, `\\DIST-0\ReplData\`: true,
		"/var/opt/mssql-backup/mirror/dist-0": true, "/var/opt/mssql-backup/mirror/dist-1": false,
		"//dist-0/Repl": false, "": false,
	} {
		g.Expect(s.Uses(path)).To(Equal(want), path)
	}
	s.WorkingDirectory = s.LocalDirectory()
	g.Expect(s.Mirrored()).To(BeTrue(), "sidecars serve it under this name, too")
	g.Expect(s.Uses("//dist-0/ReplData")).To(BeFalse(), "the path was asked for")
	s.WorkingDirectory = "/mnt/share"
	g.Expect(s.Mirrored()).To(BeFalse())
	g.Expect(s.Uses("/mnt/share/")).To(BeTrue())
	g.Expect(s.Uses(s.LocalDirectory())).To(BeFalse())
}

// Engines have some servers' names in capitals: what is made from them stays as it is.
func TestNamesInCapitals(t *testing.T) {
	g := NewWithT(t)
	p := Party{Servers: []v1alpha1.ServerName{"tukpub", "quisec"}}
	g.Expect(p.nameOf("QUISEC-0")).To(Equal("quisec-0"))
	g.Expect(p.nameOf("dist-0")).To(BeEmpty())
	q := publications{{"articles", "TUKPUB-0"}}
	var at AtDistributor
	g.Expect(at.read(t.Context(), q, System{}, p, "Content", "articles")).To(Succeed())
	g.Expect(at.Original).To(Equal("tukpub-0"))
	g.Expect(at.Known).To(BeTrue())
}

// publications is a distribution database that has publications, each with its publisher, and nothing else.
type publications [][2]string

func (q publications) Query(context.Context, tsql.Statement, func(mssql.Row) error) error { return nil }

// QueryEach is asked for the publications first.
func (q publications) QueryEach(_ context.Context, s tsql.Statement, scans ...func(mssql.Row) error) error {
	if !strings.HasPrefix(s.Reason, "read what is distributed") {
		return nil
	}
	for _, one := range q {
		if err := scans[0](texts(one[:])); err != nil {
			return err
		}
	}
	return nil
}

func (publications) Exec(context.Context, tsql.Statement) error { return nil }

func (publications) Server() string { return "dist-0" }

type texts []string

func (r texts) Scan(dest ...any) error {
	for i, v := range r {
		*dest[i].(*string) = v
	}
	return nil
}
