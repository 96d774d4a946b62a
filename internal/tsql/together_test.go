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

// A secret that is a parameter is sent with the others, and is shown no more than by itself.
func TestASecretIsSentTogether(t *testing.T) {
	g := NewWithT(t)
	login := tsql.ReplicationLogin("repl", "Secret-1")
	s := together(t, tsql.MasterKeyExists(), login, login)
	g.Expect(s.Args).To(Equal([]sql.NamedArg{sql.Named("login", "repl"), sql.Named("password", "Secret-1")}))
	g.Expect(s.SecretArgument("password")).To(BeTrue())
	g.Expect(s.SecretArgument("login")).To(BeFalse())
	g.Expect(s.Redacted()).NotTo(ContainSubstring("Secret-1"))
}

// What is read where a condition holds has a result set in either case, and is read together with others.
func TestWhatIsReadWhereAConditionHoldsIsSentTogether(t *testing.T) {
	g := NewWithT(t)
	s := together(t, tsql.SubscriptionsHere(), tsql.MasterKeyExists())
	g.Expect(s.Text).To(HavePrefix("IF OBJECT_ID(N'dbo.MSreplication_subscriptions', N'U') IS NOT NULL\n    SELECT "))
	g.Expect(s.Text).To(ContainSubstring("\nELSE\n    SELECT 1 WHERE 1 = 0;\n" + tsql.MasterKeyExists().Text))
	g.Expect(s.Repeatable()).To(BeTrue())
}

// What changes something, has a secret in its text or means two things by one parameter is no part of such a batch.
func TestWhatIsNotSentTogether(t *testing.T) {
	g := NewWithT(t)
	_, err := tsql.Together("look around", tsql.MasterKeyExists(), tsql.CreateMasterKey("Secret-1"))
	g.Expect(err).To(MatchError(And(ContainSubstring("does more than read"), Not(ContainSubstring("Secret-1")))))
	_, err = tsql.Together("look around", tsql.MasterKeyExists(), tsql.DropGroup("content"))
	g.Expect(err).
		To(MatchError(ContainSubstring("does more than read, or has a secret, is sent by itself: DROP AVAILABILITY GROUP " +
			"[content]")))
	_, err = tsql.Together("look around", tsql.ReplicationLogin("repl", "Secret-1"),
		tsql.ReplicationLogin("repl", "Secret-2"))
	g.Expect(err).To(MatchError("parameter @password has two values, of which one is secret"))
	_, err = tsql.Together("look around", tsql.GroupState("content"), tsql.GroupDatabases("orders"))
	g.Expect(err).To(MatchError("parameter @group has two values, content and orders"))
}
