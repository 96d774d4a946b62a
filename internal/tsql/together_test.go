// SPDX-License-Identifier: Apache-2.0

package tsql_test

import (
	"database/sql"
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/tsql"
)

func together(t *testing.T, statements ...tsql.Statement) tsql.Statement {
	t.Helper()
	s, err := tsql.Together("look around", statements...)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return s
}

// Statements that only read become one batch that only reads, with each parameter once.
func TestTogether(t *testing.T) {
	g := NewWithT(t)
	s := together(t, tsql.MasterKeyExists(), tsql.GroupState("content"), tsql.GroupDatabases("content"))
	g.Expect(s.Text).
		To(Equal(tsql.MasterKeyExists().Text + ";\n" + tsql.GroupState("content").Text + ";\n" +
			tsql.GroupDatabases("content").Text))
	g.Expect(s.Args).To(Equal([]sql.NamedArg{sql.Named("group", "content")}))
	g.Expect(s.Reason).To(Equal("look around"))
	g.Expect(s.Repeatable()).To(BeTrue())
}

// What changes something, has a secret or means two things by one parameter is no part of such a batch.
func TestWhatIsNotSentTogether(t *testing.T) {
	g := NewWithT(t)
	_, err := tsql.Together("look around", tsql.MasterKeyExists(), tsql.CreateMasterKey("Secret-1"))
	g.Expect(err).To(MatchError(And(ContainSubstring("does more than read"), Not(ContainSubstring("Secret-1")))))
	_, err = tsql.Together("look around", tsql.MasterKeyExists(), tsql.DropGroup("content"))
	g.Expect(err).
		To(MatchError(ContainSubstring("does more than read, or has a secret, is sent by itself: DROP AVAILABILITY GROUP " +
			"[content]")))
	_, err = tsql.Together("look around", tsql.MasterKeyExists(), tsql.ReplicationLogin("repl", "Secret-1"))
	g.Expect(err).To(MatchError(And(ContainSubstring("has a secret"), Not(ContainSubstring("Secret-1")))))
	_, err = tsql.Together("look around", tsql.GroupState("content"), tsql.GroupDatabases("orders"))
	g.Expect(err).To(MatchError("parameter @group has two values, content and orders"))
}
