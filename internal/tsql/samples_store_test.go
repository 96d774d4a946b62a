// SPDX-License-Identifier: Apache-2.0

package tsql_test

import "geosql.dev/operator/internal/tsql"

func init() {
	forms = append(
		forms,
		of(
			"docs/t-sql/statements/create-table-transact-sql.md",
			`CREATE TABLE \w+\.\w+ \((\w+ \w+(\(\d+(, \d)?\))? NOT NULL( CONSTRAINT \w+ (PRIMARY KEY|UNIQUE))?(, )?){2,7}(CONSTRAINT \w+ PRIMARY KEY \(Run, Op, Line\))?\)`,
		),
		of("docs/t-sql/statements/set-xact-abort-transact-sql.md", `SET XACT_ABORT ON;?`),
		of("docs/t-sql/language-elements/begin-transaction-transact-sql.md", `BEGIN TRANSACTION;?`),
		of("docs/t-sql/language-elements/commit-transaction-transact-sql.md", `COMMIT TRANSACTION;?`),
		of(
			"docs/t-sql/language-elements/declare-local-variable-transact-sql.md",
			`(?s)DECLARE @configuration bigint = COALESCE\(.*\);?`,
		),
		of(
			"docs/t-sql/statements/insert-transact-sql.md",
			`INSERT INTO dbo\.\w+ \(\w+(, \w+)*\) (VALUES \(@\w+(, (@@?\w+|SYSUTCDATETIME\(\)))*\)|SELECT .*);?`,
		),
		of("docs/t-sql/queries/update-transact-sql.md", `UPDATE dbo\.Book SET Sold = Sold \+ 1 WHERE Id = @book;?`),
	)
	bare := tsql.RecordedRow{Run: 7, Op: 1}
	article := tsql.RecordedRow{Run: 7, Op: 2, Table: tsql.ArticlePayload, PayloadID: -5, Payload: "7.2 It's"}
	attachment := tsql.RecordedRow{Run: 7, Op: 3, Table: tsql.AttachmentPayload, PayloadID: -4, Payload: []byte("7.3 x")}
	add(
		"InsertRecordedRow",
		tsql.InsertRecordedRow(bare),
		tsql.InsertRecordedRow(article),
		tsql.InsertRecordedRow(attachment),
	)
	add("RecordedTimes", tsql.RecordedTimes(7, 1000))
	add(
		"PayloadMarks",
		tsql.PayloadMarks(tsql.ArticlePayload, -7, 1000),
		tsql.PayloadMarks(tsql.AttachmentPayload, -7, 1000),
	)
	add(
		"ReadPayloads",
		tsql.ReadPayloads(tsql.ArticlePayload, -7, 1000),
		tsql.ReadPayloads(tsql.AttachmentPayload, -7, 1000),
	)
	add("PurchaseRuns", tsql.PurchaseRuns())
	add("ReadPurchases", tsql.ReadPurchases(7, 1, 0, 1000))
	add("ReadBooks", tsql.ReadBooks())
	add("GreatestPayload", tsql.GreatestPayload(tsql.ArticlePayload), tsql.GreatestPayload(tsql.AttachmentPayload))
	add("ReadClock", tsql.ReadClock())
	add("PrepareStore", tsql.PrepareStore()...)
	add("StoreLogin", tsql.StoreLogin("customer1@example.com"))
	add("StoreBrowse", tsql.StoreBrowse(3))
	add("StoreSearch", tsql.StoreSearch("100%"))
	add("StoreView", tsql.StoreView(3))
	add("StoreOrders", tsql.StoreOrders(3))
	add("StoreBuy", tsql.StoreBuy(bare, 3, 4), tsql.StoreBuy(article, 3, 4))
	add("StoreLoad", tsql.StoreLoad(bare, 3, 20))
	add("StoreRevenueByCategory", tsql.StoreRevenueByCategory())
	add("StoreBestSellers", tsql.StoreBestSellers())
	add("StoreBestCustomers", tsql.StoreBestCustomers())
	add("StoreRevenueByDay", tsql.StoreRevenueByDay())
	add("StoreUnsoldBooks", tsql.StoreUnsoldBooks())
}
