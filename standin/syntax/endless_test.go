// SPDX-License-Identifier: Apache-2.0

package syntax_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/standin/syntax"
)

// A list of a view's columns with what is no name in it is refused there; teesql reads it without end.
func TestColumnsOfViewsAreNames(t *testing.T) {
	for text, near := range map[string]string{
		"CREATE VIEW v (KEY, a) AS SELECT 1, 2": "'KEY'", "CREATE VIEW dbo.v (a, 1) AS SELECT 1, 2": "'1'",
		"ALTER VIEW v (a,) AS SELECT 1":            "')'",
		"CREATE OR ALTER VIEW v (a b) AS SELECT 1": "'b'", "CREATE VIEW v ('a') AS SELECT 1": "'a'", "CREATE VIEW v (": "'('",
		"CREATE VIEW v () AS SELECT 1": "')'",
	} {
		_, err := syntax.Parse(text)
		NewWithT(t).Expect(err).NotTo(BeNil(), text)
		NewWithT(t).Expect(err.Message).To(ContainSubstring(near), text)
	}
	_, err := syntax.Parse("CREATE VIEW dbo.v ([a], key1, fast) AS SELECT 1, 2, 3")
	NewWithT(t).Expect(err).To(BeNil())
}

// A value to optimize for that is none is refused there, also where the text is cut short; teesql waits for the next
// one without end.
func TestValuesToOptimizeForAreConstants(t *testing.T) {
	for values, near := range map[string]string{
		"(@a = FOR": "'FOR'", "(@a = 1 BEGIN": "'BEGIN'", "(ORDER": "'ORDER'", "(": "'('", "(@a = 1": "'1'",
		"(@a = (1))": "'('", "(@a = 1 @b = 2)": "'@b'", "(@a)": "')'",
		"(@a = - 'x' 2)": "'2'", "(@a = 1,)": "')'",
	} {
		_, err := syntax.Parse("SELECT 1 FROM t\nOPTION (OPTIMIZE FOR " + values)
		NewWithT(t).Expect(err).NotTo(BeNil(), values)
		NewWithT(t).Expect(err.Message).To(ContainSubstring(near), values)
		NewWithT(t).Expect(err.Line).To(BeEquivalentTo(2), values)
	}
	_, err := syntax.Parse(
		"SELECT 1 FROM t OPTION (OPTIMIZE FOR (@a = -1.5, @b UNKNOWN, @c = N'x', @d = NULL, @e = 0x01), OPTIMIZE " +
			"FOR UNKNOWN)",
	)
	NewWithT(t).Expect(err).To(BeNil())
}
