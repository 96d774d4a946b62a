// SPDX-License-Identifier: Apache-2.0

package replication

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/tsql"
)

// Of an article with a filter nobody can say whether a copy has its rows, whatever arrives.
func TestAnArticleWithAFilterIsNotCompared(t *testing.T) {
	c, err := Engines{}.Compare(
		t.Context(),
		map[string]mssql.PublishedArticle{"dbo.Article": {Filter: "Id < 10"}},
		Copy{},
		Copy{},
	)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	NewWithT(
		t,
	).Expect(c).
		To(And(HaveField("Impossible", true), HaveField("Equal", false),
			HaveField("Difference", ContainSubstring("dbo.Article has a filter"))))
}

// table is a database with one table of one column, which has these rows.
type table struct {
	mssql.Querier
	rows mssql.TableDigest
}

func (t *table) Query(_ context.Context, s tsql.Statement, scan func(mssql.Row) error) error {
	if s.Text == tsql.ColumnTypes("dbo", "Article").Text {
		return scan(row{"Id", "int"})
	}
	return scan(row{t.rows.Rows, t.rows.Sum, t.rows.Other})
}

type row []any

func (r row) Scan(dest ...any) error {
	for i, d := range dest {
		switch d := d.(type) {
		case *string:
			*d = r[i].(string)
		case *int64:
			*d = r[i].(int64)
		}
	}
	return nil
}

// Of a table that is only updated each comparison says the same. What each has seen tells them apart.
func TestADifferenceHasTheRowsThatItWasSeenIn(t *testing.T) {
	g := NewWithT(t)
	compared := func(publisher, subscriber string) Comparison {
		c, err := compareTable(t.Context(), "dbo.article", mssql.PublishedArticle{Schema: "dbo", Table: "Article"},
			&table{rows: mssql.TableDigest{Rows: 3, Sum: publisher, Other: "1"}},
			&table{rows: mssql.TableDigest{Rows: 3, Sum: subscriber, Other: "1"}})
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(c.Steady).To(BeTrue())
		g.Expect(c.Difference).To(Equal("dbo.article has 3 rows at both, and not the same"))
		return c
	}
	one := compared("5", "4")
	g.Expect(compared("5", "4").Digest).To(Equal(one.Digest))
	g.Expect(compared("6", "4").Digest).NotTo(Equal(one.Digest), "the publisher's")
	g.Expect(compared("5", "3").Digest).NotTo(Equal(one.Digest), "the subscriber's")
	of := func(all ...string) string { return digestOf([]string{one.Difference}, all) }
	g.Expect(of(one.Digest)).To(And(HaveLen(34), Equal(of(one.Digest)), Not(Equal(of(compared("6", "4").Digest)))))
	g.Expect(digestOf([]string{"a", "b", "c", "d"}, nil)).NotTo(Equal(digestOf([]string{"a", "b", "c", "e"}, nil)),
		"a sentence names a few of them")
	g.Expect(digestOf(nil, nil)).To(BeEmpty())
}
