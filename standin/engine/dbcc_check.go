// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"strconv"
	"strings"

	"github.com/sqlc-dev/teesql/ast"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"geosql.dev/standin/metadata"
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/tds"
)

// dbccDatabase is the database that a DBCC command names first, by name or number; the current one for none and for 0.
func (s *Session) dbccDatabase(ctx context.Context, n *ast.DbccStatement) (*Database, error) {
	if len(n.Literals) == 0 {
		return s.db, nil
	}
	word, err := s.dbccWord(ctx, n.Literals[0])
	if err != nil {
		return nil, err
	}
	if word == "0" {
		return s.db, nil
	}
	if db := s.inst.Database(word); db != nil {
		return db, nil
	}
	id, err := strconv.ParseInt(word, 10, 32)
	if err != nil {
		return nil, sqlerr.New(2520, 5, word)
	}
	if db := s.inst.DatabaseByID(int32(id)); db != nil {
		return db, nil
	}
	return nil, sqlerr.New(2521, 5, id)
}

// dbccObject is an object that a DBCC command names, by name or number; error 2501 when it is not of those wanted.
func (s *Session) dbccObject(
	ctx context.Context,
	db *Database,
	l *ast.DbccNamedLiteral,
	wanted func(*metadata.Object) bool,
) (*metadata.Catalog, *metadata.Object, error) {
	word, err := s.dbccWord(ctx, l)
	if err != nil {
		return nil, nil, err
	}
	sch, err := s.schema(ctx, db.ID())
	if err != nil {
		return nil, nil, err
	}
	name := splitName(word)
	var o *metadata.Object
	if name.server == "" && (name.database == "" || strings.EqualFold(name.database, db.Name())) {
		o = s.lookUp(db.ID(), sch, name)
	}
	if id, e := strconv.ParseInt(word, 10, 32); e == nil && o == nil {
		o = sch.Objects[int32(id)]
	}
	if o == nil || !wanted(o) {
		return nil, nil, sqlerr.New(2501, 45, word)
	}
	return sch, o, nil
}

func isTable(o *metadata.Object) bool { return o.Kind == metadata.KindTable }

// mayCheck refuses what is not understood of a check: repairs, of which there are none, and estimates of space in
// tempdb.
func (s *Session) mayCheck(ctx context.Context, n *ast.DbccStatement, db *Database) error {
	if err := s.require(ctx, Permission{Name: "CONTROL", Database: db}); err != nil {
		return err
	}
	command := "DBCC " + strings.ToUpper(n.Command)
	for _, o := range n.Options {
		if o.OptionKind == "EstimateOnly" {
			return unsupported(command + " WITH ESTIMATEONLY")
		}
	}
	for _, l := range n.Literals[min(1, len(n.Literals)):] {
		word, err := s.dbccWord(ctx, l)
		if err != nil {
			return err
		}
		switch word = strings.ToUpper(word); {
		case strings.HasPrefix(word, "REPAIR_") && db.Info().UserAccess != "SINGLE_USER":
			return sqlerr.New(7919, 3)
		case strings.HasPrefix(word, "REPAIR_"):
			return unsupported(command + " (" + word + ")")
		}
	}
	return nil
}

// quickCheck has SQLite look at a database's file, or at one table of it.
func (s *Session) quickCheck(ctx context.Context, db *Database, table *metadata.Object) error {
	conn, release, err := s.readConn(ctx, db)
	if err != nil {
		return err
	}
	defer release()
	what := "1"
	if table != nil {
		what = table.StorageName()
	}
	bad := ""
	err = sqlitex.ExecuteTransient(
		conn,
		"PRAGMA main.quick_check("+what+")",
		&sqlitex.ExecOptions{ResultFunc: func(stmt *sqlite.Stmt) error {
			if text := stmt.ColumnText(0); text != "ok" && bad == "" {
				bad = text
			}
			return nil
		}},
	)
	if err == nil && bad != "" {
		err = sqlerr.New(8946, 12, bad)
	}
	return err
}

// quiet tells whether a DBCC command is to keep to itself what it found.
func quiet(n *ast.DbccStatement) bool {
	for _, o := range n.Options {
		if o.OptionKind == "NoInfoMessages" || o.OptionKind == "PhysicalOnly" {
			return true
		}
	}
	return false
}

// dbccSays sends a message of a DBCC command, which NO_INFOMSGS leaves out.
func dbccSays(n *ast.DbccStatement, w tds.Writer, number int32, args ...any) error {
	if quiet(n) {
		return nil
	}
	return w.Message(&sqlerr.Error{Number: number, State: 1, Message: sqlerr.Text(number, args...)})
}

// checkDatabase is DBCC CHECKDB, CHECKALLOC and CHECKCATALOG of a database, and CHECKFILEGROUP of a file group: a
// database has one store (docs/t-sql/database-console-commands/dbcc-checkdb-transact-sql.md,
// dbcc-checkfilegroup-transact-sql.md).
func (s *Session) checkDatabase(ctx context.Context, n *ast.DbccStatement, w tds.Writer) error {
	db := s.db
	var err error
	if strings.EqualFold(n.Command, "checkfilegroup") {
		err = s.fileGroupNamed(ctx, n)
	} else {
		db, err = s.dbccDatabase(ctx, n)
	}
	if err != nil {
		return err
	}
	if err := s.mayCheck(ctx, n, db); err != nil {
		return err
	}
	if !strings.EqualFold(n.Command, "checkcatalog") {
		if err := s.quickCheck(ctx, db, nil); err != nil {
			return err
		}
		if err := dbccSays(n, w, 8989, strings.ToUpper(n.Command), 0, 0, db.Name()); err != nil {
			return err
		}
	}
	return dbccDone(n, w)
}

// fileGroupNamed refuses what names no file group of the database, by name or number.
func (s *Session) fileGroupNamed(ctx context.Context, n *ast.DbccStatement) error {
	if len(n.Literals) == 0 {
		return nil
	}
	word, err := s.dbccWord(ctx, n.Literals[0])
	if err != nil || word == "0" {
		return err
	}
	sch, err := s.schema(ctx, s.db.ID())
	if err != nil {
		return err
	}
	for _, g := range sch.FileGroups() {
		if strings.EqualFold(word, g.Name) || word == strconv.Itoa(int(g.FileGroup.ID)) {
			return nil
		}
	}
	return sqlerr.New(2523, 1, word)
}

// checkTable is DBCC CHECKTABLE (docs/t-sql/database-console-commands/dbcc-checktable-transact-sql.md).
func (s *Session) checkTable(ctx context.Context, n *ast.DbccStatement, w tds.Writer) error {
	if len(n.Literals) == 0 {
		return sqlerr.New(2583, 3)
	}
	sch, o, err := s.dbccObject(ctx, s.db, n.Literals[0], isTable)
	if err != nil {
		return err
	}
	if err := s.mayCheck(ctx, n, s.db); err != nil {
		return err
	}
	if err := s.quickCheck(ctx, s.db, o); err != nil {
		return err
	}
	found, err := s.Query(
		ctx,
		"SELECT SUM(row_count) AS n, SUM(used_page_count) AS pages FROM sys.dm_db_partition_stats WHERE object_id = @p1 "+
			"AND index_id < 2",
		int64(o.ID),
	)
	if err != nil {
		return err
	}
	name := sch.SchemaName(o) + "." + o.Name
	if err := dbccSays(n, w, 2536, name); err != nil {
		return err
	}
	if err := dbccSays(n, w, 2593, found.Int(0, "n"), found.Int(0, "pages"), name); err != nil {
		return err
	}
	return dbccDone(n, w)
}

// nothingToCorrect is DBCC UPDATEUSAGE and CLEANTABLE: counts of rows and pages are always right, and dropped columns
// leave nothing (docs/t-sql/database-console-commands/dbcc-updateusage-transact-sql.md,
// dbcc-cleantable-transact-sql.md).
func (s *Session) nothingToCorrect(ctx context.Context, n *ast.DbccStatement, w tds.Writer) error {
	if len(n.Literals) == 0 {
		return sqlerr.New(2583, 3)
	}
	db, err := s.dbccDatabase(ctx, n)
	if err != nil {
		return err
	}
	if len(n.Literals) > 1 {
		if _, _, err := s.dbccObject(ctx, db, n.Literals[1],
			func(o *metadata.Object) bool { return isTable(o) || o.Kind == metadata.KindView }); err != nil {
			return err
		}
	}
	return dbccDone(n, w)
}

// reindex is DBCC DBREINDEX, the former name of ALTER INDEX REBUILD
// (docs/t-sql/database-console-commands/dbcc-dbreindex-transact-sql.md).
func (s *Session) reindex(ctx context.Context, n *ast.DbccStatement, w tds.Writer) error {
	if len(n.Literals) == 0 || len(n.Literals) > 3 {
		return sqlerr.New(2583, 3)
	}
	sch, o, err := s.dbccObject(ctx, s.db, n.Literals[0], isTable)
	if err != nil {
		return err
	}
	index, with := "ALL", ""
	if len(n.Literals) > 1 {
		word, err := s.dbccWord(ctx, n.Literals[1])
		if err != nil {
			return err
		}
		if word = strings.TrimSpace(word); word != "" {
			index = quoteName(word)
		}
	}
	if len(n.Literals) > 2 {
		fill, err := s.evaluateInt(ctx, n.Literals[2].Value)
		if err != nil {
			return err
		}
		if fill > 0 {
			with = " WITH (FILLFACTOR = " + strconv.FormatInt(fill, 10) + ")"
		}
	}
	text := "ALTER INDEX " + index + " ON " + quoteName(sch.SchemaName(o)) + "." + quoteName(o.Name) + " REBUILD" + with
	if err := s.run(ctx, text, nil, &collectWriter{}); err != nil {
		return err
	}
	return dbccDone(n, w)
}
