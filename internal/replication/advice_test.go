// SPDX-License-Identifier: Apache-2.0

package replication_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/replication"
)

// An error that stays until a person does something says what; one of an earlier failure, or one that passes, says
// nothing.
func TestAFailureSaysWhatToDo(t *testing.T) {
	now := time.Now()
	for name, c := range map[string]struct {
		code string
		ago  time.Duration
		says string
	}{
		"a foreign key":       {"3726", time.Minute, "drop that foreign key at the subscriber, or publish"},
		"a replicated table":  {"3724", time.Minute, "take it out of the publication"},
		"a long value":        {"7139", time.Minute, "sp_configure 'max text repl size', -1"},
		"another error":       {"1205", time.Minute, ""},
		"of an older failure": {"3726", time.Hour, ""},
	} {
		t.Run(name, func(t *testing.T) {
			agent := &mssql.Agent{
				Failure:        mssql.RunRetrying,
				FailureMessage: "the attempt failed",
				FailingFor:     2 * time.Minute,
				Time:           now,
				ErrorCode:      c.code,
				ErrorTime:      now.Add(-c.ago),
			}
			message := replication.FailureOf(agent, nil, nil).Message
			NewWithT(t).Expect(message).To(HavePrefix("the attempt failed"))
			if c.says == "" {
				NewWithT(t).Expect(message).To(Equal("the attempt failed"))
			} else {
				NewWithT(t).Expect(message).To(And(ContainSubstring("error "+c.code), ContainSubstring(c.says)))
			}
		})
	}
}
