// SPDX-License-Identifier: Apache-2.0

package tsql

// The statements of the profile append of internal/workload: lists, to which transactions append and which they read
// whole.

// ListsTable is the table of lists.
const ListsTable = "dbo.List"

// ListStep is one thing that a transaction does: it appends an element to a list, or reads the list where that is
// empty.
type ListStep struct {
	List   int64
	Append string
}

// CreateListTable creates dbo.List unless a table of that name exists. A list is one row whose elements are divided by
// commas: what is appended last stands last.
// Source: docs/t-sql/statements/create-table-transact-sql.md.
func CreateListTable() Statement {
	return new(builder).sql("IF OBJECT_ID(N'dbo.List', N'U') IS NULL\n" +
		"    CREATE TABLE dbo.List (Id bigint NOT NULL CONSTRAINT PK_List PRIMARY KEY, Elements varchar(max) NOT NULL)").
		done("create table dbo.List")
}

// AppendToLists is one transaction at SERIALIZABLE (docs/t-sql/statements/set-transaction-isolation-level-transact-
// sql.md): the row of dbo.Recorded by which it is known, then the steps in their order. It selects the server's name,
// the configuration that it saw, and what each step has read; NULL for a list that is not there yet. The answer comes
// after the commit. The row comes first, so that whoever keeps writers apart does so before anything is read.
func AppendToLists(r RecordedRow, steps []ListStep) Statement {
	b := new(builder).sql("SET TRANSACTION ISOLATION LEVEL SERIALIZABLE;\n", beginRecorded)
	r.insert(b)
	var answers []string
	for i, s := range steps {
		list, n := "@list"+Integer(i), Integer(i)
		b.arg("list"+n, s.List)
		if s.Append == "" {
			b.sql("DECLARE @read", n, " varchar(max) = (SELECT Elements FROM dbo.List WHERE Id = ", list, ");\n")
			answers = append(answers, ", @read"+n)
			continue
		}
		b.sql("UPDATE dbo.List SET Elements = Elements + ',' + @append", n, " WHERE Id = ", list, ";\n",
			"IF @@ROWCOUNT = 0\n    INSERT INTO dbo.List (Id, Elements) VALUES (", list, ", @append", n, ");\n").
			arg("append"+n, s.Append)
	}
	return b.sql("COMMIT TRANSACTION;\nSELECT @@SERVERNAME, @configuration").sql(answers...).done("append to lists")
}

// ReadLists reads Id and Elements of the lists with after < Id < until, in order, at most limit of them.
func ReadLists(after, until int64, limit int) Statement {
	return new(builder).sql("SELECT TOP (", Integer(limit),
		") Id, Elements FROM dbo.List WHERE Id > @after AND Id < @until ORDER BY Id").
		arg("after", after).arg("until", until).done("read dbo.List")
}
