// SPDX-License-Identifier: Apache-2.0

package replication_test

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/replication"
	"geosql.dev/operator/internal/tsql"
)

// What several objects share is made by whoever comes first: the others take its being there for done.
func TestSharedPrincipalsAreMadeOnce(t *testing.T) {
	g := NewWithT(t)
	var p replication.Plan
	s := replication.System{Login: "agents", SID: []byte{1}}
	g.Expect(p.Login(s, "sub", &mssql.ReplicationServer{})).To(BeTrue())
	p.Owner(s, "sub", "Copy", replication.Owner{})
	for text, done := range map[string]int32{"CREATE LOGIN": 15025, "CREATE USER": 15023} {
		found := false
		for _, step := range p.Steps {
			e := step.(replication.Execute)
			if strings.Contains(e.Statement.Text, text) {
				found = true
				g.Expect(e.Done).To(ContainElement(done), text)
			}
		}
		g.Expect(found).To(BeTrue(), text)
	}
}

// Only a job with the operator's mark is deleted. Another one is kept from running, and it is said that it stays; one
// that is used is marked.
func TestWhoseJobsAreRemoved(t *testing.T) {
	const marked = "geosql.dev web/a"
	for name, c := range map[string]struct {
		have  *mssql.Job
		steps []string
		left  bool
	}{
		"none":                        {nil, nil, false},
		"the operator's":              {&mssql.Job{Description: marked, Enabled: true}, []string{"delete"}, false},
		"the operator's, that runs":   {&mssql.Job{Description: marked, Running: true}, []string{"stop", "delete"}, false},
		"somebody else's":             {&mssql.Job{Description: "by hand", Enabled: true}, []string{"disable"}, true},
		"somebody else's, that runs":  {&mssql.Job{Enabled: true, Running: true}, []string{"disable", "stop"}, true},
		"somebody else's, that rests": {&mssql.Job{}, nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			var p replication.Plan
			p.RemoveJob("sub", "agent", c.have)
			g.Expect(p.Steps).To(HaveLen(len(c.steps)))
			for i, what := range c.steps {
				g.Expect(p.Steps[i].Describe()).To(ContainSubstring(what + " job agent"))
			}
			g.Expect(len(p.Left) > 0).To(Equal(c.left))
			g.Expect(p.Proceed("it ends")).To(Equal(len(c.steps) == 0))
			if c.left && len(c.steps) > 0 {
				g.Expect(p.Outcome.Message).To(ContainSubstring("on sub-0 job agent, which somebody else made"))
			}
		})
	}
	g := NewWithT(t)
	job := tsql.Job{Name: "agent", Description: marked, Command: tsql.NewCommand().With("Publisher", "p")}
	have := &mssql.Job{Enabled: true, HasServer: true, Step: 1, Command: job.Command.String()}
	var p replication.Plan
	p.Job("sub", job, true, have)
	g.Expect(p.Steps).To(HaveExactElements(HaveField("Statement", tsql.DescribeJob("agent", marked))))
	have.Description, p = marked, replication.Plan{}
	p.Job("sub", job, true, have)
	g.Expect(p.Steps).To(BeEmpty())
}
