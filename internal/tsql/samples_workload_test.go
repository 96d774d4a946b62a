// SPDX-License-Identifier: Apache-2.0

package tsql_test

import "geosql.dev/operator/internal/tsql"

func init() {
	forms = append(
		forms,
		of(
			"docs/t-sql/statements/create-table-transact-sql.md",
			`CREATE TABLE \w+\.\w+ \(Id bigint NOT NULL CONSTRAINT \w+ PRIMARY KEY(, \w+ \w+\((7|1024|max)\) NOT NULL){2}\)`,
		),
		of(
			"docs/t-sql/statements/insert-transact-sql.md",
			`INSERT INTO \w+\.\w+ \(Id, WrittenAt, \w+\) VALUES \(@id, CAST\(@at AS datetime2\(7\)\), @value\)`,
		),
	)
	add("CreateArticleTable", tsql.CreateArticleTable())
	add("CreateAttachmentTable", tsql.CreateAttachmentTable())
	add("InsertArticle", tsql.InsertArticle(7, date, "It's"))
	add("InsertAttachment", tsql.InsertAttachment(7, date, []byte{0xff}))
	add("GreatestArticle", tsql.GreatestArticle())
	add("ArticleTimes", tsql.ArticleTimes(7, 10_000, 1000))
	add("ReadArticles", tsql.ReadArticles(7, 1000))
	add("ReadAttachments", tsql.ReadAttachments(7, 10))
}
