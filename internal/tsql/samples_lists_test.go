// SPDX-License-Identifier: Apache-2.0

package tsql_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/tsql"
)

func init() {
	forms = append(
		forms,
		of(
			"docs/t-sql/statements/create-table-transact-sql.md",
			`CREATE TABLE dbo\.List \(Id bigint NOT NULL CONSTRAINT PK_List PRIMARY KEY, Elements varchar\(max\) NOT NULL\)`,
		),
		of(
			"docs/t-sql/statements/set-transaction-isolation-level-transact-sql.md",
			`SET TRANSACTION ISOLATION LEVEL SERIALIZABLE;?`,
		),
		of(
			"docs/t-sql/language-elements/declare-local-variable-transact-sql.md",
			`DECLARE @read\d+ varchar\(max\) = \(SELECT Elements FROM dbo\.List WHERE Id = @list\d+\);?`,
		),
		of(
			"docs/t-sql/queries/update-transact-sql.md",
			`UPDATE dbo\.List SET Elements = Elements \+ ',' \+ @append\d+ WHERE Id = @list\d+;?`,
		),
	)
	steps := []tsql.ListStep{{List: 5, Append: "7.1.0"}, {List: 5}, {List: 6}}
	add("CreateListTable", tsql.CreateListTable())
	add(
		"AppendToLists",
		tsql.AppendToLists(tsql.RecordedRow{Run: 7, Op: 1}, steps),
		tsql.AppendToLists(tsql.RecordedRow{Run: 7, Op: 2, Table: tsql.ArticlePayload, PayloadID: -5, Payload: "7.2"}, steps),
	)
	add("ReadLists", tsql.ReadLists(4, 100, 50))
}

// The row is written before anything is read, and the answer is asked for after the commit: in the order of the steps
// that read.
func TestListsAreReadBetweenTheRowAndTheCommit(t *testing.T) {
	s := tsql.AppendToLists(tsql.RecordedRow{Run: 7, Op: 1},
		[]tsql.ListStep{{List: 5}, {List: 6, Append: "7.1.1"}, {List: 6}})
	NewWithT(t).Expect(s.Text).To(MatchRegexp(`(?s)^SET TRANSACTION ISOLATION LEVEL SERIALIZABLE;.*BEGIN TRANSACTION;.*` +
		`INSERT INTO dbo\.Recorded.*@read0.*@append1.*@read2.*COMMIT TRANSACTION;\n` +
		`SELECT @@SERVERNAME, @configuration, @read0, @read2$`))
	NewWithT(t).Expect(s.Args).To(HaveLen(6))
}
