// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"testing"

	. "github.com/onsi/gomega"
)

// TestMetadataAreSeenWithAPermission goes by docs/relational-databases/security/metadata-visibility-configuration.md:
// who has no permission on an object and owns it not does not see it, in no view and by no function; who may not see
// its definition does not see that.
func TestMetadataAreSeenWithAPermission(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	db := connection(t, newDatabase(t))
	for _, text := range []string{
		"CREATE SCHEMA s", "CREATE TABLE s.t (a int CONSTRAINT pk PRIMARY KEY, b int CONSTRAINT ck CHECK (b > 0))",
		"CREATE TABLE dbo.t (a int)",
		"CREATE PROCEDURE s.p @x int AS SELECT 1 AS a", "CREATE VIEW s.v AS SELECT 1 AS a",
		"CREATE FUNCTION s.f () RETURNS int AS BEGIN RETURN 1 END",
		"CREATE TRIGGER s.tr ON s.t AFTER INSERT AS SELECT 1", "CREATE SYNONYM s.sy FOR s.t", "CREATE SEQUENCE s.se",
		"CREATE USER u WITHOUT LOGIN",
	} {
		mustExec(t, db, text)
	}
	seen := func() [][]any {
		mustExec(t, db, "EXECUTE AS USER = 'u'")
		defer mustExec(t, db, "REVERT")
		return query(
			t,
			db,
			"SELECT RTRIM(type) + ' ' + SCHEMA_NAME(schema_id) + '.' + name FROM sys.objects WHERE "+
				"OBJECT_ID(QUOTENAME(SCHEMA_NAME(schema_id)) + '.' + QUOTENAME(name)) = object_id ORDER BY 1",
		)
	}
	g.Expect(seen()).To(BeEmpty())
	asked := func(text string) any {
		mustExec(t, db, "EXECUTE AS USER = 'u'")
		defer mustExec(t, db, "REVERT")
		return value(t, db, text)
	}
	id := value(t, db, "SELECT OBJECT_ID(N's.t')")
	for _, text := range []string{"OBJECT_ID(N's.t')", "OBJECT_NAME(@p1)", "OBJECT_SCHEMA_NAME(@p1)", "COL_NAME(@p1, 1)",
		"COL_LENGTH(N's.t', N'a')", "OBJECTPROPERTY(@p1, 'IsTable')", "COLUMNPROPERTY(@p1, 'a', 'ColumnId')",
		"OBJECT_DEFINITION(OBJECT_ID(N's.v'))"} {
		mustExec(t, db, "EXECUTE AS USER = 'u'")
		g.Expect(query(t, db, "SELECT "+text, id)).To(Equal([][]any{{nil}}), text)
		mustExec(t, db, "REVERT")
	}
	for _, from := range []string{"sys.tables", "sys.columns WHERE object_id > 0", "sys.indexes WHERE object_id > 0",
		"sys.procedures", "sys.views", "sys.triggers", "sys.check_constraints", "sys.key_constraints", "sys.sql_modules",
		"sys.parameters", "sys.synonyms", "sys.sequences", "INFORMATION_SCHEMA.TABLES", "INFORMATION_SCHEMA.COLUMNS",
		"INFORMATION_SCHEMA.ROUTINES"} {
		g.Expect(asked("SELECT COUNT(*) FROM "+from)).To(BeEquivalentTo(0), from)
		g.Expect(value(t, db, "SELECT COUNT(*) FROM "+from)).NotTo(BeEquivalentTo(0), from)
	}
	g.Expect(asked("SELECT COUNT(*) FROM sys.all_objects WHERE name = N'objects'")).To(BeEquivalentTo(1))

	mustExec(t, db, "GRANT INSERT ON s.t TO u; GRANT EXECUTE ON s.p TO u")
	g.Expect(seen()).To(Equal([][]any{{"C s.ck"}, {"P s.p"}, {"PK s.pk"}, {"TR s.tr"}, {"U s.t"}}))
	g.Expect(asked("SELECT COUNT(*) FROM sys.sql_modules WHERE definition IS NULL")).To(BeEquivalentTo(2))
	g.Expect(asked("SELECT OBJECT_DEFINITION(OBJECT_ID(N's.p'))")).To(BeNil())
	g.Expect(asked("SELECT ROUTINE_DEFINITION FROM INFORMATION_SCHEMA.ROUTINES WHERE ROUTINE_NAME = N'p'")).To(BeNil())
	g.Expect(failure(t, db, "EXECUTE ('sp_helptext ''s.p''') AS USER = 'u'").Number).To(BeEquivalentTo(15197))

	mustExec(
		t,
		db,
		"GRANT VIEW DEFINITION ON s.p TO u; DENY VIEW DEFINITION ON s.t TO u; GRANT SELECT ON SCHEMA::dbo TO u",
	)
	g.Expect(seen()).To(Equal([][]any{{"P s.p"}, {"U dbo.t"}}))
	g.Expect(asked("SELECT OBJECT_DEFINITION(OBJECT_ID(N's.p'))")).
		To(Equal("CREATE PROCEDURE s.p @x int AS SELECT 1 AS a"))

	mustExec(t, db, "REVOKE VIEW DEFINITION ON s.t FROM u; ALTER AUTHORIZATION ON SCHEMA::s TO u")
	g.Expect(seen()).To(HaveLen(10))
	mustExec(t, db, "ALTER AUTHORIZATION ON SCHEMA::s TO dbo; ALTER ROLE db_datareader ADD MEMBER u")
	g.Expect(asked("SELECT COUNT(*) FROM sys.tables")).To(BeEquivalentTo(2))
	mustExec(t, db, "ALTER ROLE db_datareader DROP MEMBER u; ALTER ROLE db_owner ADD MEMBER u")
	g.Expect(seen()).To(HaveLen(10))
}
