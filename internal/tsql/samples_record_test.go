// SPDX-License-Identifier: Apache-2.0

package tsql_test

import "geosql.dev/operator/internal/tsql"

func init() {
	forms = append(
		forms,
		of(
			"docs/t-sql/statements/create-table-transact-sql.md",
			`CREATE TABLE \w+\.\w+ \(Id bigint (IDENTITY\(1, 1\) )?NOT NULL CONSTRAINT \w+ PRIMARY KEY(, \w+ (bigint|nvarchar\(128\)|datetime2\(7\)) NOT NULL){3,5}\)`,
		),
		of(
			"docs/t-sql/statements/insert-transact-sql.md",
			`INSERT INTO dbo\.Register \(Id, Value, Reads, Server, Configuration\) VALUES \(@id, 0, 0, @@SERVERNAME, 0\)`,
		),
		of(
			"docs/t-sql/statements/insert-transact-sql.md",
			`(?s)INSERT INTO \w+\.\w+ \(\w+(, \w+)*\) OUTPUT inserted\.\w+, inserted\.\w+\s+SELECT .*`,
		),
		of(
			"docs/t-sql/queries/update-transact-sql.md",
			`(?s)UPDATE \w+\.\w+ SET .*\s+OUTPUT inserted\.\w+(, inserted\.\w+)+ WHERE Id = @id`,
		),
	)
	add("PrepareRecording", tsql.PrepareRecording(4)...)
	add("InsertRecorded", tsql.InsertRecorded(7, 1))
	add("WriteRegister", tsql.WriteRegister(3, 41))
	add("ReadRegister", tsql.ReadRegister(3))
	add("ReadRecorded", tsql.ReadRecorded(7, 1000))
	add("RecordedRuns", tsql.RecordedRuns(7))
	add("ReadRegisters", tsql.ReadRegisters())
	add("GreatestRecorded", tsql.GreatestRecorded())
}
