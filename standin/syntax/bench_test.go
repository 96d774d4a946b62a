// SPDX-License-Identifier: Apache-2.0

package syntax_test

import (
	"testing"

	"geosql.dev/standin/syntax"
)

func BenchmarkParse(b *testing.B) {
	for name, text := range map[string]string{
		"insert": "INSERT INTO dbo.t (id, name, amount) VALUES (@p1, @p2, @p3)",
		"select": "SELECT TOP (10) a.id, b.name FROM dbo.a AS a INNER JOIN dbo.b AS b ON a.id = b.id WHERE a.x " +
			"> @p1 ORDER BY a.id",
		"availabilityGroup": documented[0],
	} {
		b.Run(name, func(b *testing.B) {
			for range b.N {
				if _, err := syntax.Parse(text); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
