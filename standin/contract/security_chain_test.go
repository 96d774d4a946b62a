// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"testing"

	. "github.com/onsi/gomega"
)

// TestOwnershipChains goes by docs/relational-databases/tutorial-ownership-chains-and-context-switching.md: who may use
// a module needs nothing on what it reads and changes, even when it is denied, as long as the owner is the same; texts
// that are executed and definitions of data have no chain.
func TestOwnershipChains(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	db := connection(t, newDatabase(t))
	for _, text := range []string{
		"CREATE USER boss WITHOUT LOGIN", "CREATE USER u WITHOUT LOGIN", "CREATE SCHEMA o AUTHORIZATION boss",
		"CREATE SCHEMA m",
		"CREATE TABLE o.t (a int)", "CREATE TABLE dbo.t (a int)", "CREATE TABLE dbo.written (a int)",
		"CREATE TRIGGER dbo.tr ON dbo.t AFTER INSERT AS INSERT dbo.written SELECT a FROM inserted",
		"CREATE VIEW m.v AS SELECT a FROM dbo.t",
		"CREATE VIEW m.foreign_v AS SELECT a FROM o.t",
		"CREATE FUNCTION m.f (@x int) RETURNS TABLE AS RETURN SELECT a + @x AS a FROM dbo.t",
		"CREATE PROCEDURE m.inner_p AS INSERT dbo.t VALUES (1); UPDATE dbo.t SET a = a + 1; SELECT a FROM dbo.t",
		"CREATE PROCEDURE m.p AS EXEC m.inner_p",
		"CREATE PROCEDURE m.dynamic AS EXEC ('SELECT a FROM dbo.t')",
		"CREATE PROCEDURE m.elsewhere AS SELECT a FROM o.t",
		"CREATE PROCEDURE m.shortened AS TRUNCATE TABLE dbo.t",
		"GRANT EXECUTE ON m.p TO u; GRANT EXECUTE ON m.dynamic TO u; GRANT EXECUTE ON m.elsewhere TO u; GRANT EXECUTE ON " +
			"m.shortened TO u",
		"GRANT SELECT, INSERT ON m.v TO u; GRANT SELECT ON m.f TO u; GRANT SELECT ON m.foreign_v TO u",
		"DENY SELECT ON dbo.t TO u", "EXECUTE AS USER = 'u'",
	} {
		mustExec(t, db, text)
	}
	g.Expect(value(t, db, "EXEC m.p")).To(BeEquivalentTo(2))
	g.Expect(value(t, db, "SELECT a FROM m.v")).To(BeEquivalentTo(2))
	g.Expect(value(t, db, "SELECT a FROM m.f(3)")).To(BeEquivalentTo(5))
	mustExec(t, db, "INSERT m.v VALUES (9)")
	for _, text := range []string{"SELECT a FROM dbo.t", "EXEC m.inner_p", "EXEC m.dynamic", "EXEC m.elsewhere",
		"DELETE m.v", "SELECT a FROM m.foreign_v", "SELECT a FROM dbo.written"} {
		g.Expect(failure(t, db, text).Number).To(BeEquivalentTo(229), text)
	}
	g.Expect(failure(t, db, "EXEC m.shortened").Number).
		To(BeEquivalentTo(1088))
		// nothing is chained, and nothing told of the table
	mustExec(t, db, "REVERT")
	g.Expect(query(t, db, "SELECT a FROM dbo.written")).To(Equal([][]any{{int64(1)}, {int64(9)}}))
	mustExec(
		t,
		db,
		"ALTER AUTHORIZATION ON SCHEMA::m TO boss; GRANT EXECUTE ON m.p TO u; GRANT EXECUTE ON m.elsewhere TO u; EXECUTE "+
			"AS USER = 'u'",
	)
	g.Expect(failure(t, db, "EXEC m.p").Number).To(BeEquivalentTo(229))
	mustExec(t, db, "EXEC m.elsewhere; REVERT")
}
