// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"reflect"

	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/syntax"
	"geosql.dev/standin/tds"
)

// commands are the numbers of statements in DONE tokens; what is not among them has none that a source names.
var commands = map[reflect.Type]tds.Command{
	of[ast.SelectStatement]():                     tds.CommandSelect,
	of[ast.InsertStatement]():                     tds.CommandInsert,
	of[ast.UpdateStatement]():                     tds.CommandUpdate,
	of[ast.DeleteStatement]():                     tds.CommandDelete,
	of[ast.MergeStatement]():                      tds.CommandMerge,
	of[syntax.Merge]():                            tds.CommandMerge,
	of[ast.BulkInsertStatement]():                 tds.CommandBulkInsert,
	of[ast.ExecuteStatement]():                    tds.CommandExecute,
	of[ast.OpenCursorStatement]():                 tds.CommandOpenCursor,
	of[ast.BeginTransactionStatement]():           tds.CommandBegin,
	of[ast.CommitTransactionStatement]():          tds.CommandCommit,
	of[ast.RollbackTransactionStatement]():        tds.CommandRollback,
	of[ast.CreateTableStatement]():                tds.CommandCreateTable,
	of[ast.AlterTableAddTableElementStatement]():  tds.CommandAlterTable,
	of[ast.AlterTableAlterColumnStatement]():      tds.CommandAlterTable,
	of[ast.AlterTableDropTableElementStatement](): tds.CommandAlterTable,
	of[ast.DropTableStatement]():                  tds.CommandDropTable,
	of[ast.CreateIndexStatement]():                tds.CommandCreateIndex,
	of[ast.AlterIndexStatement]():                 tds.CommandAlterIndex,
	of[ast.DropIndexStatement]():                  tds.CommandDropIndex,
	of[ast.DropStatisticsStatement]():             tds.CommandDropStatistics,
	of[ast.CreateViewStatement]():                 tds.CommandCreateView,
	of[ast.DropViewStatement]():                   tds.CommandDropView,
	of[ast.CreateProcedureStatement]():            tds.CommandCreateProcedure,
	of[ast.DropProcedureStatement]():              tds.CommandDropProcedure,
	of[ast.CreateFunctionStatement]():             tds.CommandCreateFunction,
	of[ast.DropFunctionStatement]():               tds.CommandDropFunction,
	of[ast.CreateTriggerStatement]():              tds.CommandCreateTrigger,
	of[ast.DropTriggerStatement]():                tds.CommandDropTrigger,
	of[ast.CreateTypeTableStatement]():            tds.CommandCreateType,
	of[ast.CreateTypeUddtStatement]():             tds.CommandCreateType,
	of[ast.DropTypeStatement]():                   tds.CommandDropType,
	of[ast.CreateSynonymStatement]():              tds.CommandCreateSynonym,
	of[ast.DropSynonymStatement]():                tds.CommandDropSynonym,
	of[ast.CreateSchemaStatement]():               tds.CommandCreateSchema,
	of[ast.AlterSchemaStatement]():                tds.CommandAlterSchema,
	of[ast.DropSchemaStatement]():                 tds.CommandDropSchema,
	of[ast.CreatePartitionFunctionStatement]():    tds.CommandCreatePartitionFunction,
	of[ast.AlterPartitionFunctionStatement]():     tds.CommandAlterPartitionFunction,
	of[ast.DropPartitionFunctionStatement]():      tds.CommandDropPartitionFunction,
	of[ast.CreatePartitionSchemeStatement]():      tds.CommandCreatePartitionScheme,
	of[ast.AlterPartitionSchemeStatement]():       tds.CommandAlterPartitionScheme,
	of[ast.DropPartitionSchemeStatement]():        tds.CommandDropPartitionScheme,
	of[syntax.CreateDatabase]():                   tds.CommandCreateDatabase,
	of[syntax.DropDatabase]():                     tds.CommandDropDatabase,
	of[syntax.CreateLogin]():                      tds.CommandCreateLogin,
	of[syntax.AlterLogin]():                       tds.CommandAlterLogin,
	of[syntax.DropLogin]():                        tds.CommandDropLogin,
	of[syntax.CreateUser]():                       tds.CommandCreateUser,
	of[syntax.AlterUser]():                        tds.CommandAlterUser,
	of[syntax.DropUser]():                         tds.CommandDropUser,
	of[syntax.CreateRole]():                       tds.CommandCreateRole,
	of[syntax.AlterRole]():                        tds.CommandAlterRole,
	of[syntax.DropRole]():                         tds.CommandDropRole,
	of[syntax.AlterAuthorization]():               tds.CommandAlterAuthorization,
}

var permissionCommands = map[string]tds.Command{
	"GRANT":  tds.CommandGrant,
	"DENY":   tds.CommandDeny,
	"REVOKE": tds.CommandRevoke,
}

func of[T any]() reflect.Type { return reflect.TypeFor[*T]() }

func commandOf(node ast.Statement) tds.Command {
	switch n := node.(type) {
	case *syntax.PermissionStatement:
		return permissionCommands[n.Action]
	case *ast.SelectStatement:
		if n.Into != nil {
			return tds.CommandSelectInto
		}
	}
	return commands[reflect.TypeOf(node)]
}

// completion is the end of the running statement, which counted rows.
func (s *Session) completion(count int64) tds.Completion {
	var node ast.Statement
	if f := s.frame(); f != nil {
		node = f.node
	}
	end := s.ended(node)
	if !s.settings.noCount {
		end.Count = count
	}
	return end
}

// ended is the end of a statement that counts no rows.
func (s *Session) ended(node ast.Statement) tds.Completion {
	return tds.Completion{Command: commandOf(node), Count: -1, InTrigger: s.runningTrigger() != nil}
}

// endsByNumber tells whether a statement that sends no count has an end that clients look for: mssql-jdbc gives CREATE
// TABLE the count 0 by it, SqlClient knows by it whether it is in a transaction.
func endsByNumber(node ast.Statement) bool {
	switch commandOf(node) {
	case tds.CommandNone,
		tds.CommandSelect,
		tds.CommandSelectInto,
		tds.CommandInsert,
		tds.CommandUpdate,
		tds.CommandDelete,
		tds.CommandMerge,
		tds.CommandBulkInsert,
		tds.CommandExecute:
		return false
	}
	return true
}
