// SPDX-License-Identifier: Apache-2.0

package tsql

// Task is a statement that takes long as the server knows it while it goes on. The zero value is that of others.
type Task struct {
	// Command that sys.dm_exec_requests shows.
	Command string
	// Of is what it is about: the same statement about something else is another task.
	Of string
}

// TaskProgress reads how many percent a login's requests of a command have done, a row for each that goes on; 0 of
// commands for which the server does not say. Source: docs/relational-databases/system-dynamic-management-views/
// sys-dm-exec-requests-transact-sql.md (percent_complete is told of BACKUP DATABASE, among others).
func TaskProgress(command, login string) Statement {
	return new(builder).
		sql("SELECT CAST(r.percent_complete AS int)\nFROM sys.dm_exec_requests AS r\n"+
			"JOIN sys.dm_exec_sessions AS s ON s.session_id = r.session_id\n"+
			"WHERE r.command = @command AND s.original_login_name = @login\nORDER BY r.start_time").
		arg("command", command).arg("login", login).
		done("ask how far " + command + " is")
}
