// SPDX-License-Identifier: Apache-2.0

package tds

// Command is the CurCmd of a DONE token ([MS-TDS] 2.2.7.6), which tells what kind of statement ended. The document
// leaves the numbers to the server: these are what mssql-jdbc (StreamDone.java) and SqlClient (TdsEnums.cs) tell
// statements by, CommandExecute is that of [MS-TDS] 4.9.
type Command uint16

// CommandNone is a statement whose number no source names.
const (
	CommandNone                    Command = 0
	CommandOpenCursor              Command = 0x20
	CommandDeny                    Command = 0x99
	CommandDropSchema              Command = 0xB0
	CommandCreateFunction          Command = 0xB2
	CommandDropFunction            Command = 0xB3
	CommandSelect                  Command = 0xC1
	CommandSelectInto              Command = 0xC2
	CommandInsert                  Command = 0xC3
	CommandDelete                  Command = 0xC4
	CommandUpdate                  Command = 0xC5
	CommandCreateTable             Command = 0xC6
	CommandDropTable               Command = 0xC7
	CommandCreateIndex             Command = 0xC8
	CommandDropIndex               Command = 0xC9
	CommandCreateDatabase          Command = 0xCB
	CommandDropDatabase            Command = 0xCC
	CommandGrant                   Command = 0xCD
	CommandRevoke                  Command = 0xCE
	CommandCreateView              Command = 0xCF
	CommandDropView                Command = 0xD0
	CommandRollback                Command = 0xD2
	CommandBegin                   Command = 0xD4
	CommandCommit                  Command = 0xD5
	CommandAlterTable              Command = 0xD8
	CommandCreateTrigger           Command = 0xDD
	CommandCreateProcedure         Command = 0xDE
	CommandDropProcedure           Command = 0xDF
	CommandExecute                 Command = 0xE0
	CommandDropTrigger             Command = 0xE1
	CommandBulkInsert              Command = 0xF0
	CommandDropStatistics          Command = 0x100
	CommandDropType                Command = 0x110
	CommandCreateType              Command = 0x111
	CommandMerge                   Command = 0x117
	CommandCreatePartitionFunction Command = 0x129
	CommandDropPartitionFunction   Command = 0x12A
	CommandCreatePartitionScheme   Command = 0x12B
	CommandDropPartitionScheme     Command = 0x12C
	CommandCreateUser              Command = 0x13B
	CommandAlterUser               Command = 0x13C
	CommandDropUser                Command = 0x13D
	CommandCreateRole              Command = 0x13F
	CommandAlterRole               Command = 0x140
	CommandDropRole                Command = 0x141
	CommandCreateLogin             Command = 0x145
	CommandAlterLogin              Command = 0x146
	CommandDropLogin               Command = 0x147
	CommandCreateSynonym           Command = 0x148
	CommandDropSynonym             Command = 0x149
	CommandCreateSchema            Command = 0x14A
	CommandAlterSchema             Command = 0x14B
	CommandAlterPartitionFunction  Command = 0x14F
	CommandAlterPartitionScheme    Command = 0x150
	CommandAlterIndex              Command = 0x151
	CommandAlterAuthorization      Command = 0x18C
)

// Completion is the end of a statement ([MS-TDS] 2.2.7.6). Count is its row count, -1 for none (SET NOCOUNT ON, DDL).
type Completion struct {
	Command Command
	Count   int64
	// InTrigger is a statement of a trigger: clients are not to take its count for that of the statement that fired it.
	InTrigger bool
}

// Rows ends a result set of count rows that is not a statement's own: of a procedure that is built in, a cursor, a
// description.
func Rows(count int64) Completion { return Completion{Command: CommandSelect, Count: count} }
