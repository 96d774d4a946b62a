// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/sqlc-dev/teesql/ast"
	"zombiezen.com/go/sqlite"

	"geosql.dev/standin/metadata"
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/sqltype"
	"geosql.dev/standin/tds"
)

// dbccTakes has what the commands take behind WITH besides NO_INFOMSGS, in the parser's words.
var dbccTakes = map[string][]string{
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

// dbcc executes the DBCC commands that mean something here.
func (s *Session) dbcc(ctx context.Context, n *ast.DbccStatement, w tds.Writer) error {
	command := strings.ToLower(n.Command)
	if takes, known := dbccTakes[command]; known {
		for _, o := range n.Options {
			if o.OptionKind != "NoInfoMessages" && !slices.Contains(takes, o.OptionKind) {
				return sqlerr.New(2532, 1)
			}
		}
	}
	switch command {
	case "checkident":
		return s.checkIdent(ctx, n, w)
	case "checkdb", "checkalloc", "checkcatalog", "checkfilegroup":
		return s.checkDatabase(ctx, n, w)
	case "checktable":
		return s.checkTable(ctx, n, w)
	case "updateusage", "cleantable":
		return s.nothingToCorrect(ctx, n, w)
	case "freeproccache", "dropcleanbuffers", "freesystemcache", "freesessioncache":
		return dbccDone(n, w)
	case "shrinkfile":
		return s.shrinkFile(ctx, n, w)
	case "shrinkdatabase":
		return s.shrinkDatabase(ctx, n, w)
	case "dbreindex":
		return s.reindex(ctx, n, w)
	case "traceon", "traceoff":
		return s.traceFlags(ctx, n)
	case "tracestatus":
		return s.traceStatus(ctx, n, w)
	case "useroptions":
		return s.userOptions(n, w)
	case "opentran":
		return s.openTransactions(ctx, n, w)
	case "sqlperf":
		return s.logSpace(ctx, n, w)
	case "inputbuffer":
		return s.inputBuffer(ctx, n, w)
	case "help":
		return s.dbccHelp(ctx, n, w)
	case "proccache":
		return s.procedureCache(ctx, n, w)
	case "showstatistics":
		return s.showStatistics(ctx, n, w)
	case "free", "":
		switch name := strings.ToUpper(n.DllName); name {
		case "CHECKCONSTRAINTS":
			return s.checkConstraints(ctx, n, w)
		case "LOGINFO":
			return s.logInfo(ctx, n, w)
		case "CLONEDATABASE", "INDEXDEFRAG", "FLUSHAUTHCACHE":
			return unsupported("DBCC " + name)
		}
		return sqlerr.New(2526, 3)
	}
	return unsupported("DBCC " + strings.ToUpper(n.Command))
}

// dbccDone is what DBCC commands say last, unless WITH NO_INFOMSGS keeps them from it.
func dbccDone(n *ast.DbccStatement, w tds.Writer) error { return dbccSays(n, w, 2528) }

// logSpace is DBCC SQLPERF (LOGSPACE): size in MB and use in percent of every database's log
// (docs/t-sql/database-console-commands/dbcc-sqlperf-transact-sql.md).
func (s *Session) logSpace(ctx context.Context, n *ast.DbccStatement, w tds.Writer) error {
	if len(n.Literals) == 2 {
		return s.clearStatistics(ctx, n, w)
	}
	if len(n.Literals) != 1 {
		return sqlerr.New(2583, 3)
	}
	word, err := s.dbccWord(ctx, n.Literals[0])
	if err != nil {
		return err
	}
	if !strings.EqualFold(word, "LOGSPACE") {
		return unsupported("DBCC SQLPERF (" + word + ")")
	}
	if err := s.require(ctx, Permission{Name: "VIEW SERVER STATE"}); err != nil {
		return err
	}
	var rows [][]any
	for _, db := range s.inst.Databases() {
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
		Column("Database Name", sqltype.Sysname),
		Column("Log Size (MB)", real),
		Column("Log Space Used (%)", real),
		Column("Status", sqltype.IntType),
	}
	if err := WriteResult(w, cols, rows); err != nil {
		return err
	}
	return dbccDone(n, w)
}

// inputBuffer is DBCC INPUTBUFFER (session): the text that a session sent last
// (docs/t-sql/database-console-commands/dbcc-inputbuffer-transact-sql.md).
func (s *Session) inputBuffer(ctx context.Context, n *ast.DbccStatement, w tds.Writer) error {
	if len(n.Literals) == 0 {
		return sqlerr.New(2583, 3)
	}
	spid, err := s.evaluateInt(ctx, n.Literals[0].Value)
	if err != nil {
		return err
	}
	if spid != int64(s.spid) {
		if err := s.require(ctx, Permission{Name: "VIEW SERVER STATE"}); err != nil {
			return err
		}
	}
	for _, other := range s.inst.Sessions() {
		if int64(other.spid) != spid {
			continue
		}
		row := []any{"No Event", int64(0), nil}
		if text := other.snapshot().text; text != "" {
			row = []any{"Language Event", int64(0), sqltype.Cut(text, 4000)}
		}
		cols := []tds.Column{
			Column("EventType", sqltype.NVarCharOf(30)),
			Column("Parameters", sqltype.SmallIntType),
			Column("EventInfo", sqltype.NVarCharOf(4000)),
		}
		if err := WriteResult(w, cols, [][]any{row}); err != nil {
			return err
		}
		return dbccDone(n, w)
	}
	return sqlerr.New(7955, 2, spid)
}

// openTransactions is DBCC OPENTRAN: the oldest open transaction in a database, as far as it is known from between
// batches (docs/t-sql/database-console-commands/dbcc-opentran-transact-sql.md).
func (s *Session) openTransactions(ctx context.Context, n *ast.DbccStatement, w tds.Writer) error {
	db, err := s.dbccDatabase(ctx, n)
	if err != nil {
		return err
	}
	for _, o := range n.Options {
		if o.OptionKind != "NoInfoMessages" {
			return unsupported("DBCC OPENTRAN WITH " + strings.ToUpper(words(o.OptionKind)))
		}
	}
	if err := s.require(ctx, Permission{Name: "ALTER", Database: db}); err != nil {
		return err
	}
	oldest, spid, name := s.began, s.spid, s.name
	if s.count == 0 || s.db != db {
		spid = 0
	}
	for _, other := range s.inst.Sessions() {
		other.status.mu.Lock()
		if other != s && other.status.openTran > 0 && other.status.database == db.ID() &&
			(spid == 0 || other.status.began.Before(oldest)) {
			oldest, spid, name = other.status.began, other.spid, ""
		}
		other.status.mu.Unlock()
	}
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
	return dbccDone(n, w)
}

// checkIdent is DBCC CHECKIDENT ('table' [, NORESEED | RESEED [, value]]).
func (s *Session) checkIdent(ctx context.Context, n *ast.DbccStatement, w tds.Writer) error {
	if len(n.Literals) == 0 {
		return sqlerr.New(2583, 3)
	}
	text, err := s.dbccWord(ctx, n.Literals[0])
	if err != nil {
		return err
	}
	name := splitName(text)
	b := newBinder(ctx, s, s.db.ID())
	var space int32
	var sch *metadata.Catalog
	var o *metadata.Object
	var d *dmlPlan
	if e := bindSafely(func() {
		space, sch, o = b.tableToWrite(name, 2501)
		if o.Table.IdentityColumn() == nil {
			b.fail(7997, o.Name)
		}
		d = b.dmlPlan("UPDATE", space, sch, o)
	}); e != nil {
		return e
	}
	reseed, value := true, int64(0)
	given := len(n.Literals) > 2
	if len(n.Literals) > 1 {
		word, err := s.dbccWord(ctx, n.Literals[1])
		if err != nil {
			return err
		}
		reseed = !strings.EqualFold(word, "NORESEED")
	}
	if given {
		if value, err = s.evaluateInt(ctx, n.Literals[2].Value); err != nil {
			return err
		}
	}
	return s.writing(ctx, d, func(conn *sqlite.Conn) error {
		c, err := s.identityCounter(&d.target, conn)
		if err != nil {
			return err
		}
		now := "NULL"
		last, used := c.taken()
		if used {
			now = fmt.Sprint(last)
		}
		message := fmt.Sprintf("Checking identity information: current identity value '%s'.", now)
		switch {
		case given && reseed:
			if !used {
				value -= c.increment
			}
			err = s.setIdentity(&d.target, conn, value)
		default:
			message, err = s.compareIdentity(&d.target, conn, c, now, reseed)
		}
		if err != nil {
			return err
		}
		if err := w.Message(&sqlerr.Error{Number: 7998, State: 1, Message: message}); err != nil {
			return err
		}
		return dbccDone(n, w)
	})
}

// compareIdentity tells the identity's current value beside the column's outermost one, which it is set to when it lies
// behind and correct is true (docs/t-sql/database-console-commands/dbcc-checkident-transact-sql.md).
func (s *Session) compareIdentity(
	t *writeTarget,
	conn *sqlite.Conn,
	c *identityCounter,
	now string,
	correct bool,
) (string, error) {
	column := "NULL"
	found, outermost, err := c.outermost(t, conn)
	if err != nil {
		return "", err
	}
	if found {
		column = fmt.Sprint(outermost)
	}
	last, _ := c.taken()
	behind := c.increment > 0 && last < outermost || c.increment < 0 && last > outermost
	if found && correct && behind {
		err = s.setIdentity(t, conn, outermost)
	}
	return sqlerr.Text(7998, now, column), err
}

func (s *Session) dbccWord(ctx context.Context, l *ast.DbccNamedLiteral) (string, error) {
	switch v := l.Value.(type) {
	case nil:
		return l.Name, nil
	case *ast.IdentifierLiteral:
		return v.Value, nil
	case *ast.ColumnReferenceExpression:
		return strings.Join(identifiers(v.MultiPartIdentifier), "."), nil
	}
	v, err := s.evaluate(ctx, l.Value, sqltype.NVarCharMax)
	text, _ := v.(string)
	return text, err
}
