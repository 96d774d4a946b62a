// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"testing"

	. "github.com/onsi/gomega"
)

// What is longer than 'max text repl size' may be is refused in a replicated column, the statement alone, and taken
// everywhere else:
// docs/database-engine/configure-windows/configure-the-max-text-repl-size-server-configuration-option.md.
func TestLargeValuesOfReplicatedColumns(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := newReplication(t)
	r.distribute(t)
	mustExec(
		t,
		r.source,
		`CREATE TABLE uploads (id int NOT NULL PRIMARY KEY, words nvarchar(max), bytes varbinary(max), note varchar(50))`,
	)
	bytes := func(n string) string {
		return `CAST(REPLICATE(CAST('x' AS varchar(max)), ` + n + `) AS varbinary(max))`
	}
	mustExec(t, r.source, `INSERT uploads VALUES (1, N'', `+bytes("70000")+`, '')`)
	r.publish(t)
	mustExec(t, r.source, `INSERT uploads VALUES (2, N'', `+bytes("70000")+`, '')`)
	mustExec(t, r.source, `EXEC sp_addarticle @publication = N'web', @article = N'uploads', @source_object = N'uploads'`)

	for text, taken := range map[string]bool{
		`INSERT uploads VALUES (3, N'', ` + bytes("65536") + `, '')`:                           true,
		`INSERT uploads VALUES (4, N'', ` + bytes("65537") + `, '')`:                           false,
		`INSERT uploads (id, words) VALUES (5, REPLICATE(CAST(N'é' AS nvarchar(max)), 32768))`: true,
		`INSERT uploads (id, words) VALUES (6, REPLICATE(CAST(N'é' AS nvarchar(max)), 32769))`: false,
		`INSERT uploads (id, bytes) SELECT 7, ` + bytes("65537"):                               false,
		`UPDATE uploads SET bytes = ` + bytes("65537") + ` WHERE id = 1`:                       false,
		`UPDATE uploads SET note = 'it is large, and stays' WHERE id = 1`:                      true,
		`SELECT * INTO copied FROM uploads`:                                                    true,
	} {
		if taken {
			mustExec(t, r.source, text)
			continue
		}
		g.Expect(failure(t, r.source, text).Number).To(BeEquivalentTo(7139), text)
	}
	mustExec(t, r.pubDB, `EXEC sp_configure N'max text repl size (B)', -1; RECONFIGURE`)
	mustExec(t, r.source, `INSERT uploads VALUES (4, N'', `+bytes("65537")+`, '')`)
	mustExec(t, r.pubDB, `EXEC sp_configure N'max text repl size (B)', 1000; RECONFIGURE`)
	g.Expect(failure(t, r.source, `INSERT uploads VALUES (8, N'', `+bytes("2000")+`, '')`).Number).To(BeEquivalentTo(7139))
	mustExec(t, r.source, `EXEC sp_droparticle @publication = N'web', @article = N'uploads'`)
	mustExec(t, r.source, `INSERT uploads VALUES (8, N'', `+bytes("2000")+`, '')`)
	g.Expect(query(t, r.source, `SELECT COUNT(*) FROM uploads WHERE id IN (1, 2, 3, 4, 5, 8)`)).
		To(Equal([][]any{{int64(6)}}))
	g.Expect(query(t, r.source, `SELECT COUNT(*) FROM uploads`)).To(Equal([][]any{{int64(6)}}))
}
