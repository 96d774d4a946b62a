// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"testing"

	. "github.com/onsi/gomega"
)

// Procedures of replication run as the system does: of a caller's text they take one clause, and nothing that goes on after it.
func TestReplicationTakesNoStatementForAClause(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := newReplication(t)
	r.distribute(t)
	r.publish(t)
	const more = `CREATE LOGIN intruder WITH PASSWORD = N''Intrud3r!''; `
	for text, number := range map[string]int32{
		`sp_articlefilter @publication = N'web', @article = N'orders', @filter_name = N'f', @filter_clause = N'1 = 1); ` + more + `SELECT (1'`:                                               21745,
		`sp_articleview @publication = N'web', @article = N'orders', @filter_clause = N'1 = 1); ` + more + `SELECT (1'`:                                                                      21745,
		`sp_addarticle @publication = N'web', @article = N'again', @source_owner = N'dbo', @source_object = N'orders', @filter_clause = N'1 = 1); ` + more + `SELECT (1'`:                    21745,
		`sp_repladdcolumn @source_object = N'dbo.orders', @column = N'x', @typetext = N'int NULL; ` + more + `'`:                                                                             21023,
		`sp_table_validation @table = N'orders', @expected_rowcount = 2, @rowcount_only = 2, @column_list = N'id)), 0) AS bigint) AS total FROM dbo.orders; ` + more + `SELECT ((ISNULL((1'`: 21023,
	} {
		g.Expect(failure(t, r.source, "EXEC "+text).Number).To(Equal(number), text)
	}
	g.Expect(value(t, r.pubDB, `SELECT COUNT(*) FROM sys.server_principals WHERE name = N'intruder'`)).To(BeEquivalentTo(0))
}
