// SPDX-License-Identifier: Apache-2.0

package tsql

// The statements of clients whose history is recorded (internal/workload/history): rows that are told apart by who
// wrote them, and registers that are written and read. Each answers with the server and with the configuration that it
// was in.

// configuration is the sequence number of the group that the current database belongs to, 0 outside of a group
// (docs/relational-databases/system-catalog-views/sys-availability-groups-transact-sql.md).
const configuration = "COALESCE((SELECT MAX(g.sequence_number) FROM sys.availability_groups AS g " +
	"JOIN sys.availability_databases_cluster AS d ON d.group_id = g.group_id WHERE d.database_name = DB_NAME()), " +
	"CAST(0 AS bigint))"

// createRecordedTable creates dbo.Recorded unless a table of that name exists. Run and Op name a row, and no constraint
// forbids the same twice: a row that is there twice must be seen.
// Source: docs/t-sql/statements/create-table-transact-sql.md.
func createRecordedTable() Statement {
	return new(builder).sql("IF OBJECT_ID(N'dbo.Recorded', N'U') IS NULL\n" +
		"    CREATE TABLE dbo.Recorded (Id bigint IDENTITY(1, 1) NOT NULL CONSTRAINT PK_Recorded PRIMARY KEY, Run bigint " +
		"NOT NULL, Op bigint NOT NULL, " +
		"Server nvarchar(128) NOT NULL, Configuration bigint NOT NULL, WrittenAt datetime2(7) NOT NULL)").
		done("create table dbo.Recorded")
}

// createRegisterTable creates dbo.Register unless a table of that name exists.
// Source: docs/t-sql/statements/create-table-transact-sql.md.
func createRegisterTable() Statement {
	return new(builder).sql("IF OBJECT_ID(N'dbo.Register', N'U') IS NULL\n" +
		"    CREATE TABLE dbo.Register (Id bigint NOT NULL CONSTRAINT PK_Register PRIMARY KEY, Value bigint NOT NULL, " +
		"Reads bigint NOT NULL, Server nvarchar(128) NOT NULL, Configuration bigint NOT NULL)").
		done("create table dbo.Register")
}

// addRegister adds a register with the value 0 unless there is one of that Id.
func addRegister(id int64) Statement {
	return new(
		builder,
	).sql("IF NOT EXISTS (SELECT Id FROM dbo.Register WHERE Id = @id)\n    INSERT INTO dbo.Register (Id, Value, Reads, "+
		"Server, Configuration) VALUES (@id, 0, 0, @@SERVERNAME, 0)").
		arg("id", id).
		done("add a register")
}

// PrepareRecording makes the tables and that many registers unless they are there.
func PrepareRecording(registers int) []Statement {
	statements := []Statement{createRecordedTable(), createRegisterTable()}
	for id := range registers {
		statements = append(statements, addRegister(int64(id)))
	}
	return statements
}

// InsertRecorded inserts a row and selects the server's name and the configuration that its transaction saw.
func InsertRecorded(run, op int64) Statement {
	return new(
		builder,
	).sql("INSERT INTO dbo.Recorded (Run, Op, Server, Configuration, WrittenAt) OUTPUT inserted.Server, "+
		"inserted.Configuration "+
		"SELECT @run, @op, @@SERVERNAME, "+configuration+", SYSUTCDATETIME()").
		arg("run", run).
		arg("op", op).
		done("insert into dbo.Recorded")
}

// WriteRegister sets a register and selects the server's name and its configuration; no row when there is no such
// register.
func WriteRegister(id, value int64) Statement {
	return new(
		builder,
	).sql("UPDATE dbo.Register SET Value = @value, Server = @@SERVERNAME, Configuration = "+configuration+
		" OUTPUT inserted.Server, inserted.Configuration WHERE Id = @id").
		arg("value", value).
		arg("id", id).
		done("write a register")
}

// ReadRegister selects a register's value, the server's name and its configuration. It counts the reads, so that a
// server that may not write cannot answer: a secondary that a listener leads to for a moment would read what was true
// some time ago.
func ReadRegister(id int64) Statement {
	return new(
		builder,
	).sql("UPDATE dbo.Register SET Reads = Reads + 1, Server = @@SERVERNAME, Configuration = "+configuration+
		" OUTPUT inserted.Value, inserted.Server, inserted.Configuration WHERE Id = @id").
		arg("id", id).
		done("read a register")
}

// ReadRecorded reads Id, Run, Op, Server, Configuration and WrittenAt of the rows of dbo.Recorded with Id > after, in
// order, at most limit of them.
func ReadRecorded(after int64, limit int) Statement {
	return new(
		builder,
	).sql("SELECT TOP (", Integer(limit), ") Id, Run, Op, Server, Configuration, WrittenAt FROM dbo.Recorded "+
		"WHERE Id > @after ORDER BY Id").
		arg("after", after).
		done("read dbo.Recorded")
}

// GreatestRecorded reads the greatest Id of dbo.Recorded, 0 when it is empty.
func GreatestRecorded() Statement { return text("SELECT ISNULL(MAX(Id), 0) FROM dbo.Recorded") }

// RecordedRuns reads which runs have rows of dbo.Recorded with Id <= until.
func RecordedRuns(until int64) Statement {
	return new(builder).sql("SELECT DISTINCT Run FROM dbo.Recorded WHERE Id <= @until ORDER BY Run").
		arg("until", until).done("read which runs wrote earlier")
}

// ReadRegisters reads all registers: Id, Value, Reads, Server and Configuration.
func ReadRegisters() Statement {
	return text("SELECT Id, Value, Reads, Server, Configuration FROM dbo.Register ORDER BY Id")
}
