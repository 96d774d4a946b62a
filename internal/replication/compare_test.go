// SPDX-License-Identifier: Apache-2.0

package replication

import (
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/mssql"
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
