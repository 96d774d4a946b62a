// SPDX-License-Identifier: Apache-2.0

package syntax_test

import (
	"testing"

	. "github.com/onsi/gomega"
	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/syntax"
)

// What follows a statement about partitions without a semicolon is a statement of its own, whatever word it begins
// with.
func TestStatementsBehindPartitions(t *testing.T) {
	for _, c := range []struct {
		text  string
		texts []string
	}{
		{"CREATE PARTITION FUNCTION f (int) AS RANGE FOR VALUES (1)\nCOMMIT",
			[]string{"CREATE PARTITION FUNCTION f (int) AS RANGE FOR VALUES (1)", "COMMIT"}},
		{"ALTER PARTITION FUNCTION f() MERGE RANGE (5)\nTRUNCATE TABLE t WITH (PARTITIONS (1, 3 TO 4)) -- é\nSET @a = (1)",
			[]string{"ALTER PARTITION FUNCTION f() MERGE RANGE (5)", "TRUNCATE TABLE t WITH (PARTITIONS (1, 3 TO 4))",
				"SET @a = (1)"}},
		{"CREATE PARTITION SCHEME s AS PARTITION f ALL TO ('PRIMARY') CHECKPOINT",
			[]string{"CREATE PARTITION SCHEME s AS PARTITION f ALL TO ('PRIMARY')", "CHECKPOINT"}},
		{"ALTER PARTITION SCHEME s NEXT USED RAISERROR('x', 16, 1)",
			[]string{"ALTER PARTITION SCHEME s NEXT USED", "RAISERROR('x', 16, 1)"}},
		{"ALTER PARTITION SCHEME s NEXT USED [a]]b]; DBCC CHECKDB",
			[]string{"ALTER PARTITION SCHEME s NEXT USED [a]]b]", "DBCC CHECKDB"}},
		{"CREATE PARTITION FUNCTION f (varchar(9) COLLATE Latin1_General_BIN2) AS RANGE RIGHT FOR VALUES (N'a', " +
			"CONCAT('b', (2)), -1) PRINT 'x'",
			[]string{"CREATE PARTITION FUNCTION f (varchar(9) COLLATE Latin1_General_BIN2) AS RANGE RIGHT FOR VALUES (N'a', " +
				"CONCAT('b', (2)), -1)", "PRINT 'x'"}},
	} {
		t.Run(c.text, func(t *testing.T) {
			g := NewWithT(t)
			b, err := syntax.Parse(c.text)
			g.Expect(err).To(BeNil())
			var texts []string
			for _, s := range b.Statements {
				texts = append(texts, s.Text)
			}
			g.Expect(texts).To(Equal(c.texts))
		})
	}
	g := NewWithT(t)
	b, err := syntax.Parse("IF @a = 1 CREATE PARTITION FUNCTION f (int) AS RANGE FOR VALUES (1) ELSE PRINT 'x'")
	g.Expect(err).To(BeNil())
	g.Expect(b.Statements).To(HaveLen(1))
	g.Expect(b.Statements[0].Node.(*ast.IfStatement).ElseStatement).To(BeAssignableToTypeOf(&ast.PrintStatement{}))
}

// Keys and indexes are placed on a scheme by a column, in ALTER TABLE as in CREATE TABLE.
func TestPlacesOfKeys(t *testing.T) {
	g := NewWithT(t)
	of := func(on *ast.FileGroupOrPartitionScheme) []string {
		out := []string{on.Name.Identifier.Value}
		for _, c := range on.PartitionSchemeColumns {
			out = append(out, c.Value)
		}
		return out
	}
	for _, text := range []string{
		"ALTER TABLE t ADD CONSTRAINT k PRIMARY KEY CLUSTERED (a, b) WITH (FILLFACTOR = 80, ONLINE = OFF) ON [p s](b)",
		"ALTER TABLE t ADD UNIQUE (a, b) ON [p s] ( [b] ); SELECT 1",
		"CREATE TABLE t (a int, b int, CONSTRAINT k PRIMARY KEY (a, b) ON [p s](b))",
	} {
		b, err := syntax.Parse(text)
		g.Expect(err).To(BeNil(), text)
		var def *ast.TableDefinition
		switch n := b.Statements[0].Node.(type) {
		case *ast.AlterTableAddTableElementStatement:
			def = n.Definition
		case *ast.CreateTableStatement:
			def = n.Definition
		}
		g.Expect(of(def.TableConstraints[0].(*ast.UniqueConstraintDefinition).OnFileGroupOrPartitionScheme)).
			To(Equal([]string{"p s", "b"}), text)
	}
	b, err := syntax.Parse("CREATE TABLE t (a int, INDEX i NONCLUSTERED (a) ON ps(a), INDEX j (a) ON fg)")
	g.Expect(err).To(BeNil())
	indexes := b.Statements[0].Node.(*ast.CreateTableStatement).Definition.Indexes
	g.Expect(of(indexes[0].OnFileGroupOrPartitionScheme)).To(Equal([]string{"ps", "a"}))
	g.Expect(of(indexes[1].OnFileGroupOrPartitionScheme)).To(Equal([]string{"fg"}))
	for _, text := range []string{"ALTER TABLE t ADD c int UNIQUE SELECT 1 FROM a JOIN b ON f (a) = 1",
		"CREATE UNIQUE CLUSTERED INDEX i ON t (a) ON ps(a)"} {
		_, err := syntax.Parse(text)
		g.Expect(err).To(BeNil(), text)
	}
}
