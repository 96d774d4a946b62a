// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"strconv"

	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/sqltype"
	"geosql.dev/standin/tds"
)

// isolationLevels are the levels' names by the numbers of sys.dm_exec_sessions.
var isolationLevels = [...]string{
	"",
	"read uncommitted",
	"read committed",
	"repeatable read",
	"serializable",
	"snapshot",
}

// userOptions is DBCC USEROPTIONS (docs/t-sql/database-console-commands/dbcc-useroptions-transact-sql.md): the SET
// options that are on, and those that have a value.
func (s *Session) userOptions(n *ast.DbccStatement, w tds.Writer) error {
	if len(n.Literals) > 0 {
		return sqlerr.New(2583, 3)
	}
	size := s.settings.textSize
	if size < 0 {
		size = 2147483647
	}
	rows := [][]any{
		{"textsize", strconv.FormatInt(size, 10)},
		{"language", s.settings.language},
		{"dateformat", s.settings.dates.order.String()},
		{
			"datefirst",
			strconv.FormatInt(s.settings.dates.first, 10),
		},
		{"lock_timeout", strconv.FormatInt(s.settings.lockTimeout, 10)},
	}
	add := func(on bool, name string) {
		if on {
			rows = append(rows, []any{name, "SET"})
		}
	}
	add(s.settings.options["QuotedIdentifier"], "quoted_identifier")
	add(s.settings.options["ArithAbort"], "arithabort")
	add(s.settings.options["ArithIgnore"], "arithignore")
	add(s.settings.options["AnsiNullDfltOn"], "ansi_null_dflt_on")
	add(s.settings.options["AnsiNullDfltOff"], "ansi_null_dflt_off")
	add(s.settings.implicitTransactions, "implicit_transactions")
	add(s.settings.noCount, "nocount")
	add(s.settings.xactAbort, "xact_abort")
	add(s.settings.options["AnsiWarnings"], "ansi_warnings")
	add(s.settings.options["AnsiPadding"], "ansi_padding")
	add(s.settings.options["AnsiNulls"], "ansi_nulls")
	add(s.settings.options["ConcatNullYieldsNull"], "concat_null_yields_null")
	add(s.settings.options["NumericRoundAbort"], "numeric_roundabort")
	rows = append(rows, []any{"isolation level", isolationLevels[s.settings.isolation]})
	name, value := Column("Set Option", sqltype.Sysname), Column("Value", sqltype.Sysname)
	if err := WriteResult(w, []tds.Column{name, value}, rows); err != nil {
		return err
	}
	return dbccDone(n, w)
}
