// SPDX-License-Identifier: Apache-2.0

package syntax

import (
	"strings"
	"testing"

	"geosql.dev/standin/syntax/fault"
	"geosql.dev/standin/syntax/token"
)

// BenchmarkJudges has what the judges of a batch's tokens cost, beside the whole of its parsing.
func BenchmarkJudges(b *testing.B) {
	block := "IF @a > 1 AND EXISTS (SELECT 1 FROM dbo.t WHERE id = 7)\nBEGIN\n  UPDATE dbo.t SET n = n + 1, v = N'some " +
		"text' WHERE id = 7; -- a comment\n" +
		"  INSERT dbo.u (id, w) SELECT id, COUNT(*) FROM dbo.t AS a LEFT JOIN dbo.u AS b ON a.id = b.id GROUP BY id ORDER " +
		"BY id\nEND\n"
	for name, text := range map[string]string{"row": "INSERT INTO dbo.t (id, name, amount) VALUES (1, N'a name', 3.5)",
		"lines": strings.Repeat(block, 40)} {
		tokens, err := token.Split(text, true)
		if err != nil {
			b.Fatal(err)
		}
		inside := make([]bool, len(tokens)+1)
		b.Run(name+"/judges", func(b *testing.B) {
			for range b.N {
				if err := fault.First(tokens, inside); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(name+"/parse", func(b *testing.B) {
			for range b.N {
				if _, err := Parse(text); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
