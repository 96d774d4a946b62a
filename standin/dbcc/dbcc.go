// SPDX-License-Identifier: Apache-2.0

package dbcc

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/engine"
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/sqltype"
	"geosql.dev/standin/tds"
)

// options has what the commands take behind WITH besides NO_INFOMSGS, in the parser's words.
var options = map[string][]string{
	"checkdb": {
		"AllErrorMessages",
		"ExtendedLogicalChecks",
		"TabLock",
		"EstimateOnly",
		"PhysicalOnly",
		"DataPurity",
		"MAXDOP",
	},
	"checktable": {
		"AllErrorMessages",
		"ExtendedLogicalChecks",
		"TabLock",
		"EstimateOnly",
		"PhysicalOnly",
		"DataPurity",
		"MAXDOP",
	},
	"checkfilegroup":  {"AllErrorMessages", "TabLock", "EstimateOnly", "PhysicalOnly", "MAXDOP"},
	"checkalloc":      {"AllErrorMessages", "TabLock", "EstimateOnly"},
	"updateusage":     {"CountRows"},
	"opentran":        {"TableResults"},
	"freesystemcache": {"MarkInUseForRemoval"},
	"checkcatalog":    nil, "checkident": nil, "cleantable": nil, "dbreindex": nil, "dropcleanbuffers": nil,
	"freeproccache": nil, "inputbuffer": nil,
	"freesessioncache": nil, "help": nil, "proccache": nil, "shrinkdatabase": nil, "shrinkfile": nil, "sqlperf": nil,
	"traceoff": nil, "traceon": nil, "tracestatus": nil, "useroptions": nil,
}

// run executes the DBCC commands that mean something here.
func run(ctx context.Context, s *engine.Session, n *ast.DbccStatement, w tds.Writer) error {
	command := strings.ToLower(n.Command)
	if takes, known := options[command]; known {
		for _, o := range n.Options {
			if o.OptionKind != "NoInfoMessages" && !slices.Contains(takes, o.OptionKind) {
				return sqlerr.New(2532, 1)
			}
		}
	}
	switch command {
	case "checkident":
		return checkIdent(ctx, s, n, w)
	case "checkdb", "checkalloc", "checkcatalog", "checkfilegroup":
		return checkDatabase(ctx, s, n, w)
	case "checktable":
		return checkTable(ctx, s, n, w)
	case "updateusage", "cleantable":
		return nothingToCorrect(ctx, s, n, w)
	case "freeproccache", "dropcleanbuffers", "freesystemcache", "freesessioncache":
		return done(n, w)
	case "shrinkfile":
		return shrinkFile(ctx, s, n, w)
	case "shrinkdatabase":
		return shrinkDatabase(ctx, s, n, w)
	case "dbreindex":
		return reindex(ctx, s, n, w)
	case "traceon", "traceoff":
		return traceFlags(ctx, s, n)
	case "tracestatus":
		return traceStatus(ctx, s, n, w)
	case "useroptions":
		return userOptions(s, n, w)
	case "opentran":
		return openTransactions(ctx, s, n, w)
	case "sqlperf":
		return logSpace(ctx, s, n, w)
	case "inputbuffer":
		return inputBuffer(ctx, s, n, w)
	case "help":
		return help(ctx, s, n, w)
	case "proccache":
		return procedureCache(ctx, s, n, w)
	case "showstatistics":
		return showStatistics(ctx, s, n, w)
	case "free", "":
		switch name := strings.ToUpper(n.DllName); name {
		case "CHECKCONSTRAINTS":
			return checkConstraints(ctx, s, n, w)
		case "LOGINFO":
			return logInfo(ctx, s, n, w)
		case "CLONEDATABASE", "INDEXDEFRAG", "FLUSHAUTHCACHE":
			return sqlerr.Unsupported("DBCC " + name)
		}
		return sqlerr.New(2526, 3)
	}
	return sqlerr.Unsupported("DBCC " + strings.ToUpper(n.Command))
}

// done is what DBCC commands say last, unless WITH NO_INFOMSGS keeps them from it.
func done(n *ast.DbccStatement, w tds.Writer) error { return says(n, w, 2528) }

// logSpace is DBCC SQLPERF (LOGSPACE): size in MB and use in percent of every database's log
// (docs/t-sql/database-console-commands/dbcc-sqlperf-transact-sql.md).
func logSpace(ctx context.Context, s *engine.Session, n *ast.DbccStatement, w tds.Writer) error {
	if len(n.Literals) == 2 {
		return clearStatistics(ctx, s, n, w)
	}
	if len(n.Literals) != 1 {
		return sqlerr.New(2583, 3)
	}
	word, err := wordOf(ctx, s, n.Literals[0])
	if err != nil {
		return err
	}
	if !strings.EqualFold(word, "LOGSPACE") {
		return sqlerr.Unsupported("DBCC SQLPERF (" + word + ")")
	}
	if err := s.Require(ctx, engine.Permission{Name: "VIEW SERVER STATE"}); err != nil {
		return err
	}
	var rows [][]any
	for _, db := range s.Instance().Databases() {
		st := db.Storage()
		if st == nil {
			continue
		}
		size, used := st.Log().Size(), int64(st.Log().Bytes(st.Log().End())-st.Log().Bytes(st.Log().Oldest()))
		percent := float64(0)
		if size > 0 {
			percent = float64(used) * 100 / float64(size)
		}
		rows = append(rows, []any{db.Name(), float64(size) / (1 << 20), percent, int64(0)})
	}
	real := sqltype.Type{Kind: sqltype.Real}
	cols := []tds.Column{
		engine.Column("Database Name", sqltype.Sysname),
		engine.Column("Log Size (MB)", real),
		engine.Column("Log Space Used (%)", real),
		engine.Column("Status", sqltype.IntType),
	}
	if err := engine.WriteResult(w, cols, rows); err != nil {
		return err
	}
	return done(n, w)
}

// inputBuffer is DBCC INPUTBUFFER (session): the text that a session sent last
// (docs/t-sql/database-console-commands/dbcc-inputbuffer-transact-sql.md).
func inputBuffer(ctx context.Context, s *engine.Session, n *ast.DbccStatement, w tds.Writer) error {
	if len(n.Literals) == 0 {
		return sqlerr.New(2583, 3)
	}
	spid, err := s.EvaluateInt(ctx, n.Literals[0].Value)
	if err != nil {
		return err
	}
	if spid != int64(s.SPID()) {
		if err := s.Require(ctx, engine.Permission{Name: "VIEW SERVER STATE"}); err != nil {
			return err
		}
	}
	for _, other := range s.Instance().Sessions() {
		if int64(other.SPID()) != spid {
			continue
		}
		row := []any{"No Event", int64(0), nil}
		if text := other.InputBuffer(); text != "" {
			row = []any{"Language Event", int64(0), sqltype.Cut(text, 4000)}
		}
		cols := []tds.Column{
			engine.Column("EventType", sqltype.NVarCharOf(30)),
			engine.Column("Parameters", sqltype.SmallIntType),
			engine.Column("EventInfo", sqltype.NVarCharOf(4000)),
		}
		if err := engine.WriteResult(w, cols, [][]any{row}); err != nil {
			return err
		}
		return done(n, w)
	}
	return sqlerr.New(7955, 2, spid)
}

// openTransactions is DBCC OPENTRAN: the oldest open transaction in a database, as far as it is known from between
// batches (docs/t-sql/database-console-commands/dbcc-opentran-transact-sql.md).
func openTransactions(ctx context.Context, s *engine.Session, n *ast.DbccStatement, w tds.Writer) error {
	db, err := databaseOf(ctx, s, n)
	if err != nil {
		return err
	}
	for _, o := range n.Options {
		if o.OptionKind != "NoInfoMessages" {
			return sqlerr.Unsupported("DBCC OPENTRAN WITH " + strings.ToUpper(spaced(o.OptionKind)))
		}
	}
	if err := s.Require(ctx, engine.Permission{Name: "ALTER", Database: db}); err != nil {
		return err
	}
	spid, name, oldest := s.OldestTransaction(db)
	text := "No active open transactions."
	if spid != 0 {
		if name == "" {
			name = "user_transaction"
		}
		text = fmt.Sprintf(
			"Transaction information for database '%s'.\n\nOldest active transaction:\n    SPID (server process ID): %d\n    "+
				"UID (user ID) : -1\n    Name          : %s\n    Start time    : %s",
			db.Name(),
			spid,
			name,
			oldest.UTC().Format("Jan _2 2006  3:04:05.000PM"),
		)
	}
	if err := w.Message(&sqlerr.Error{Number: 7969, State: 1, Message: text}); err != nil {
		return err
	}
	return done(n, w)
}

// checkIdent is DBCC CHECKIDENT ('table' [, NORESEED | RESEED [, value]]).
func checkIdent(ctx context.Context, s *engine.Session, n *ast.DbccStatement, w tds.Writer) error {
	if len(n.Literals) == 0 {
		return sqlerr.New(2583, 3)
	}
	table, err := wordOf(ctx, s, n.Literals[0])
	if err != nil {
		return err
	}
	check, err := s.IdentityCheck(ctx, table)
	if err != nil {
		return err
	}
	reseed, value := true, int64(0)
	given := len(n.Literals) > 2
	if len(n.Literals) > 1 {
		word, err := wordOf(ctx, s, n.Literals[1])
		if err != nil {
			return err
		}
		reseed = !strings.EqualFold(word, "NORESEED")
	}
	if given {
		if value, err = s.EvaluateInt(ctx, n.Literals[2].Value); err != nil {
			return err
		}
	}
	tell := func(message string) error {
		if err := w.Message(&sqlerr.Error{Number: 7998, State: 1, Message: message}); err != nil {
			return err
		}
		return done(n, w)
	}
	if given && reseed {
		return check.Reseed(ctx, value, tell)
	}
	return check.Compare(ctx, reseed, tell)
}

// wordOf is what a command names, as text.
func wordOf(ctx context.Context, s *engine.Session, l *ast.DbccNamedLiteral) (string, error) {
	switch v := l.Value.(type) {
	case nil:
		return l.Name, nil
	case *ast.IdentifierLiteral:
		return v.Value, nil
	case *ast.ColumnReferenceExpression:
		parts := make([]string, len(v.MultiPartIdentifier.Identifiers))
		for i, id := range v.MultiPartIdentifier.Identifiers {
			parts[i] = id.Value
		}
		return strings.Join(parts, "."), nil
	}
	v, err := s.Evaluate(ctx, l.Value, sqltype.NVarCharMax)
	text, _ := v.(string)
	return text, err
}

// spaced is a word of the parser's, NoInfoMessages, as words.
func spaced(name string) string { return wordEnd.ReplaceAllString(name, "$1 $2") }

var wordEnd = regexp.MustCompile("([a-z])([A-Z])")
