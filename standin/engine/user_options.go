// SPDX-License-Identifier: Apache-2.0

package engine

import "strconv"

// isolationLevels are the levels' names by the numbers of sys.dm_exec_sessions.
var isolationLevels = [...]string{
	"",
	"read uncommitted",
	"read committed",
	"repeatable read",
	"serializable",
	"snapshot",
}

// UserOptions are the SET options that are on, and those that have a value: name and value of each
// (docs/t-sql/database-console-commands/dbcc-useroptions-transact-sql.md).
func (s *Session) UserOptions() [][]any {
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
	return append(rows, []any{"isolation level", isolationLevels[s.settings.isolation]})
}
