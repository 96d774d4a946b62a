// SPDX-License-Identifier: Apache-2.0

package replication

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/mssql"
)

// An agent's message, which may be in any language, ends between two characters when it is too long.
func TestAnAgentsLongMessageIsText(t *testing.T) {
	for _, before := range []string{"", "a", "ab"} {
		message := AgentStatus(nil, &mssql.Agent{Message: before + strings.Repeat("€", 2000)}, nil).Message
		NewWithT(t).Expect(utf8.ValidString(message)).To(BeTrue(), "after %q", before)
		NewWithT(t).Expect(len(message)).To(BeNumerically("<=", 4096))
	}
}

// An idle agent writes a row of history every few seconds.
func TestTheTimeOfAnAgentsHistoryAloneChangesNoStatus(t *testing.T) {
	g := NewWithT(t)
	idle := func(after time.Duration, message string) *mssql.Agent {
		return &mssql.Agent{Name: "reader", Status: mssql.RunIdle, Message: message,
			Time: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC).Add(after)}
	}
	have := AgentStatus(nil, idle(0, "nothing to do"), nil)
	g.Expect(AgentStatus(have, idle(45*time.Second, "nothing to do"), nil)).To(Equal(have))
	g.Expect(AgentStatus(have, idle(time.Minute, "nothing to do"), nil).Time.Time).
		To(BeTemporally("==", have.Time.Add(time.Minute)), "it says at least once a minute that the agent lives")
	g.Expect(AgentStatus(have, idle(45*time.Second, "3 transactions"), nil).Time.Time).
		To(BeTemporally("==", have.Time.Add(45*time.Second)), "what else changes is told with its time")
	g.Expect(AgentStatus(have, nil, nil)).To(BeNil())
}
