// SPDX-License-Identifier: Apache-2.0

package tsql

// PayloadTable is a table that carries the bytes of recorded rows. It may be an article of a publication, while
// dbo.Recorded need not be: what arrives in it at a subscriber tells which recorded row it belongs to.
type PayloadTable string

const (
	// ArticlePayload is dbo.Article, with up to 1024 characters in Body.
	ArticlePayload PayloadTable = "dbo.Article"
	// AttachmentPayload is dbo.Attachment, with a varbinary(max) in Content.
	AttachmentPayload PayloadTable = "dbo.Attachment"
)

// MarkBytes is how much of a payload's beginning is read back: its mark is shorter.
const MarkBytes = 48

func (t PayloadTable) column() string {
	if t == AttachmentPayload {
		return "Content"
	}
	return "Body"
}

// RecordedRow is a row of dbo.Recorded, and beside it a payload unless Table is empty.
type RecordedRow struct {
	// Run and Op name the row.
	Run, Op int64
	// Table of the payload; PayloadID is its key there, and Payload a string for dbo.Article, bytes for dbo.Attachment.
	Table     PayloadTable
	PayloadID int64
	Payload   any
}

// beginRecorded opens a transaction that any error undoes (docs/t-sql/statements/set-xact-abort-transact-sql.md). The
// term is read within it.
const beginRecorded = "SET XACT_ABORT ON;\nBEGIN TRANSACTION;\nDECLARE @configuration bigint = " + configuration + ";\n"

// insert inserts the row and its payload.
func (r RecordedRow) insert(b *builder) *builder {
	if r.Table != "" {
		b.sql("INSERT INTO ", string(r.Table), " (Id, WrittenAt, ", r.Table.column(),
			") VALUES (@payloadId, SYSUTCDATETIME(), @payload);\n").
			arg("payloadId", r.PayloadID).
			arg("payload", r.Payload)
	}
	return b.sql("INSERT INTO dbo.Recorded (Run, Op, Server, Configuration, WrittenAt) VALUES (@run, @op, "+
		"@@SERVERNAME, @configuration, SYSUTCDATETIME());\n").
		arg("run", r.Run).
		arg("op", r.Op)
}

// end inserts the row and its payload and commits. The answer comes after the commit: a row of it that was read proves
// that the transaction is committed.
func (r RecordedRow) end(b *builder) *builder {
	return r.insert(b).sql("COMMIT TRANSACTION;\nSELECT @@SERVERNAME, @configuration")
}

// InsertRecordedRow inserts the row with its payload in one transaction and selects the server's name and the
// configuration that the transaction saw.
func InsertRecordedRow(r RecordedRow) Statement {
	return r.end(new(builder).sql(beginRecorded)).done("insert into dbo.Recorded and " + string(r.Table))
}

// RecordedTimes reads Id, WrittenAt, Run and Op of the rows of dbo.Recorded with Id > after, in order, at most limit of
// them.
func RecordedTimes(after int64, limit int) Statement {
	return new(
		builder,
	).sql("SELECT TOP (", Integer(limit), ") Id, WrittenAt, Run, Op FROM dbo.Recorded WHERE Id > @after ORDER BY Id").
		arg("after", after).
		done("look for recorded rows")
}

// PayloadMarks reads Id, WrittenAt and the beginning of the payloads with after < Id < 0, in order, at most limit of
// them: the Ids of recorded rows are below 0, those of everybody else are not.
func PayloadMarks(t PayloadTable, after int64, limit int) Statement {
	return new(
		builder,
	).sql("SELECT TOP (", Integer(limit), ") Id, WrittenAt, SUBSTRING(", t.column(), ", 1, ", Integer(MarkBytes),
		") FROM ", string(t),
		" WHERE Id > @after AND Id < 0 ORDER BY Id").
		arg("after", after).
		done("look for payloads in " + string(t))
}

// ReadPayloads reads Id, WrittenAt, the beginning and the SHA-256 of the payloads with after < Id < 0, in order, at
// most limit of them. The server computes the sums, of what it has stored
// (docs/t-sql/functions/hashbytes-transact-sql.md): the payloads themselves do not cross the network.
func ReadPayloads(t PayloadTable, after int64, limit int) Statement {
	return new(
		builder,
	).sql("SELECT TOP (", Integer(limit), ") Id, WrittenAt, SUBSTRING(", t.column(), ", 1, ", Integer(MarkBytes),
		"), HASHBYTES(N'SHA2_256', ", t.column(), ") FROM ", string(t),
		" WHERE Id > @after AND Id < 0 ORDER BY Id").
		arg("after", after).
		done("read the payloads in " + string(t))
}

// GreatestPayload reads the greatest Id below 0 of a payload table, and the least bigint when there is none.
func GreatestPayload(t PayloadTable) Statement {
	return text("SELECT ISNULL(MAX(Id), CAST(-9223372036854775807 AS bigint)) FROM " + string(t) + " WHERE Id < 0")
}

// ReadClock reads the server's clock in UTC.
func ReadClock() Statement { return text("SELECT SYSUTCDATETIME()") }
