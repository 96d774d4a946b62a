// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"strings"
	"testing"
)

// TestOwnTablesOfSessionsAreTheirOwn: sessions whose temporary tables have one name and other columns insert from them,
// and none reads another's (docs/t-sql/statements/create-table-transact-sql.md, "Temporary tables").
func TestOwnTablesOfSessionsAreTheirOwn(t *testing.T) {
	t.Parallel()
	db := newDatabase(t)
	converse(t, db, []say{{"CREATE TABLE t (id int)", "ok"}, {"INSERT t VALUES (1)", "ok"}})
	for _, columns := range []string{"a", "a, b", "a, b, c"} {
		last, declared := columns[len(columns)-1:], strings.ReplaceAll(columns, ",", " int,")+" int"
		converse(t, connection(t, db), []say{
			{"CREATE TABLE #own (" + declared + "); INSERT #own (" + last + ") VALUES (2)", "ok"},
			{"INSERT t OUTPUT inserted.id SELECT " + last + " FROM #own", "2"},
			{
				"DECLARE @own TABLE (" + declared + "); INSERT @own (" + last +
					") VALUES (3); INSERT t OUTPUT inserted.id SELECT " + last + " FROM @own",
				"3",
			},
		})
	}
}

// TestIdentityOfATableMadeAgain: a table that was rolled back leaves nothing to the next one
// (docs/t-sql/statements/create-table-transact-sql-identity-property.md, seed).
func TestIdentityOfATableMadeAgain(t *testing.T) {
	t.Parallel()
	const made = "BEGIN TRANSACTION; CREATE TABLE t (id int IDENTITY, a int); INSERT t (a) OUTPUT inserted.id VALUES (7)"
	converse(
		t,
		connection(t, newDatabase(t)),
		[]say{
			{made, "1"},
			{"ROLLBACK", "ok"},
			{made, "1"},
			{"ROLLBACK", "ok"},
			{made, "1"},
			{"COMMIT", "ok"},
			{"INSERT t (a) OUTPUT inserted.id VALUES (7)", "2"},
		},
	)
}
