// SPDX-License-Identifier: Apache-2.0

package mssql_test

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/tsql"
)

// agentErrors is a distribution database with one agent, by the codes of its newest error's rows.
type agentErrors struct {
	mssql.Querier
	codes []string
}

func (q agentErrors) Query(_ context.Context, _ tsql.Statement, scan func(mssql.Row) error) error {
	return scan(row{7, "agent", "tukpub-0", "job", true})
}

// QueryEach is asked for the newest history, the last error, and whether the agent goes on.
func (q agentErrors) QueryEach(_ context.Context, _ tsql.Statement, scans ...func(mssql.Row) error) error {
	for _, code := range q.codes {
		if err := scans[1](row{code, time.Now(), int64(3)}); err != nil {
			return err
		}
	}
	return nil
}

// row is an answer's.
type row []any

func (r row) Scan(dest ...any) error {
	for i, v := range r {
		switch d := dest[i].(type) {
		case *int:
			*d = v.(int)
		case *int64:
			*d = v.(int64)
		case *string:
			*d = v.(string)
		case *bool:
			*d = v.(bool)
		case *time.Time:
			*d = v.(time.Time)
		}
	}
	return nil
}

// One failure of an agent is several rows: what it attempted, its own message, the server's error. In whatever order
// they come, the server's number is shown, and each of them is known.
func TestErrorOfAnAgentIsSeveralRows(t *testing.T) {
	for name, c := range map[string]struct {
		codes []string
		shown string
		met   map[string]string
	}{
		"none":              {nil, "", map[string]string{"20598": ""}},
		"server's last":     {[]string{"", "MSSQL_REPL20011", "20598"}, "20598", map[string]string{"20598": "20598"}},
		"server's first":    {[]string{"20598", "MSSQL_REPL20011", ""}, "20598", map[string]string{"20011": "20011"}},
		"the agent's alone": {[]string{"", "MSSQL_REPL21074"}, "21074", map[string]string{"21074": "21074"}},
		"two":               {[]string{"MSSQL_REPL2627", "2601"}, "2601", map[string]string{"20598": "", "2627": "2627"}},
		"no number":         {[]string{"", "08001"}, "08001", map[string]string{"": ""}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			agents, err := mssql.ReadAgents(t.Context(), agentErrors{codes: c.codes},
				tsql.DistributionAgents("Content", tsql.Subscription{Subscriber: "dubsub-0", Database: "Copy"}),
				tsql.AgentDistribution)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(agents).To(HaveLen(1))
			g.Expect(agents[0].ErrorCode).To(Equal(c.shown))
			for number, want := range c.met {
				g.Expect(agents[0].Met(number)).To(Equal(want), number)
			}
			g.Expect(agents[0].ErrorTime.IsZero()).To(Equal(c.codes == nil))
		})
	}
}
