// SPDX-License-Identifier: Apache-2.0

package tsql

import "time"

// The statements of the workload of internal/workload: two tables, as examples/msdn.yaml publishes them.

// CreateArticleTable creates dbo.Article, rows of about 1 KB of characters, unless a table of that name exists.
// Source: docs/t-sql/statements/create-table-transact-sql.md.
func CreateArticleTable() Statement {
	return new(builder).sql("IF OBJECT_ID(N'dbo.Article', N'U') IS NULL\n" +
		"    CREATE TABLE dbo.Article (Id bigint NOT NULL CONSTRAINT PK_Article PRIMARY KEY, WrittenAt datetime2(7) NOT " +
		"NULL, Body varchar(1024) NOT NULL)").
		done("create table dbo.Article")
}

// CreateAttachmentTable creates dbo.Attachment, with a varbinary(max), unless a table of that name exists.
// Source: docs/t-sql/statements/create-table-transact-sql.md.
func CreateAttachmentTable() Statement {
	return new(builder).sql("IF OBJECT_ID(N'dbo.Attachment', N'U') IS NULL\n" +
		"    CREATE TABLE dbo.Attachment (Id bigint NOT NULL CONSTRAINT PK_Attachment PRIMARY KEY, WrittenAt datetime2(7) " +
		"NOT NULL, Content varbinary(max) NOT NULL)").
		done("create table dbo.Attachment")
}

// InsertArticle inserts a row into dbo.Article; at is stored in UTC.
func InsertArticle(id int64, at time.Time, body string) Statement {
	return insertRow("dbo.Article", "Body", id, at, body)
}

// InsertAttachment inserts a row into dbo.Attachment; at is stored in UTC.
func InsertAttachment(id int64, at time.Time, content []byte) Statement {
	return insertRow("dbo.Attachment", "Content", id, at, content)
}

func insertRow(table, column string, id int64, at time.Time, value any) Statement {
	return new(builder).
		// datetime2 from text in ISO 8601, which no language setting changes
		// (docs/t-sql/data-types/datetime2-transact-sql.md).
		sql("INSERT INTO ", table, " (Id, WrittenAt, ", column, ") VALUES (@id, CAST(@at AS datetime2(7)), @value)").
		arg("id", id).arg("at", at.UTC().Format("2006-01-02T15:04:05.0000000")).arg("value", value).
		done("insert into " + table)
}

// GreatestArticle reads the greatest Id of dbo.Article, 0 when it is empty.
func GreatestArticle() Statement { return text("SELECT ISNULL(MAX(Id), 0) FROM dbo.Article") }

// ArticleTimes reads Id and WrittenAt of the articles with after < Id <= last, in order, at most limit of them.
func ArticleTimes(after, last int64, limit int) Statement {
	return new(
		builder,
	).sql("SELECT TOP (", Integer(limit),
		") Id, WrittenAt FROM dbo.Article WHERE Id > @after AND Id <= @last ORDER BY Id").
		arg("after", after).
		arg("last", last).
		done("read arrived articles")
}

// ReadArticles reads Id, WrittenAt and Body of the articles with Id > after, in order, at most limit of them.
func ReadArticles(after int64, limit int) Statement {
	return rowsOf("dbo.Article", "Body", after, limit)
}

// ReadAttachments reads Id, WrittenAt and Content of the attachments with Id > after, in order, at most limit of them.
func ReadAttachments(after int64, limit int) Statement {
	return rowsOf("dbo.Attachment", "Content", after, limit)
}

func rowsOf(table, column string, after int64, limit int) Statement {
	return new(
		builder,
	).sql("SELECT TOP (", Integer(limit), ") Id, WrittenAt, ", column, " FROM ", table, " WHERE Id > @after ORDER BY Id").
		arg("after", after).
		done("read " + table)
}
