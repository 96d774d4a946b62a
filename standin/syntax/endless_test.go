// SPDX-License-Identifier: Apache-2.0

package syntax_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/standin/syntax"
)

// A list of a view's columns with what is no name in it is refused there; teesql reads it without end.
func TestColumnsOfViewsAreNames(t *testing.T) {
	for text, near := range map[string]string{
		"CREATE VIEW v (KEY, a) AS SELECT 1, 2": "'KEY'", "CREATE VIEW dbo.v (a, 1) AS SELECT 1, 2": "'1'", "ALTER VIEW v (a,) AS SELECT 1": "')'",
		"CREATE OR ALTER VIEW v (a b) AS SELECT 1": "'b'", "CREATE VIEW v ('a') AS SELECT 1": "'a'", "CREATE VIEW v (": "'('", "CREATE VIEW v () AS SELECT 1": "')'",
	} {
		_, err := syntax.Parse(text)
		NewWithT(t).Expect(err).NotTo(BeNil(), text)
		NewWithT(t).Expect(err.Message).To(ContainSubstring(near), text)
	}
	_, err := syntax.Parse("CREATE VIEW dbo.v ([a], key1, fast) AS SELECT 1, 2, 3")
	NewWithT(t).Expect(err).To(BeNil())
}
