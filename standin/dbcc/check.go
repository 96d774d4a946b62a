// SPDX-License-Identifier: Apache-2.0

package dbcc

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/sqlc-dev/teesql/ast"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"geosql.dev/standin/engine"
	"geosql.dev/standin/metadata"
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/syntax"
	"geosql.dev/standin/tds"
)

// databaseOf is the database that a DBCC command names first, by name or number; the current one for none and for 0.
func databaseOf(ctx context.Context, s *engine.Session, n *ast.DbccStatement) (*engine.Database, error) {
	if len(n.Literals) == 0 {
		return s.CurrentDatabase(), nil
	}
	word, err := wordOf(ctx, s, n.Literals[0])
	if err != nil {
		return nil, err
	}
	if word == "0" {
		return s.CurrentDatabase(), nil
	}
	if db := s.Instance().Database(word); db != nil {
		return db, nil
	}
	id, err := strconv.ParseInt(word, 10, 32)
	if err != nil {
		return nil, sqlerr.New(2520, 5, word)
	}
	if db := s.Instance().DatabaseByID(int32(id)); db != nil {
		return db, nil
	}
	return nil, sqlerr.New(2521, 5, id)
}

// objectOf is an object that a DBCC command names, by name or number; error 2501 when it is not of those wanted.
func objectOf(
	ctx context.Context, s *engine.Session,
	db *engine.Database,
	l *ast.DbccNamedLiteral,
	wanted func(*metadata.Object) bool,
) (*metadata.Catalog, *metadata.Object, error) {
	word, err := wordOf(ctx, s, l)
	if err != nil {
		return nil, nil, err
	}
	sch, err := s.Catalog(ctx, db)
	if err != nil {
		return nil, nil, err
	}
	o := s.LookUp(db, sch, word)
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
func mayCheck(ctx context.Context, s *engine.Session, n *ast.DbccStatement, db *engine.Database) error {
	if err := s.Require(ctx, engine.Permission{Name: "CONTROL", Database: db}); err != nil {
		return err
	}
	command := "DBCC " + strings.ToUpper(n.Command)
	for _, o := range n.Options {
		if o.OptionKind == "EstimateOnly" {
			return sqlerr.Unsupported(command + " WITH ESTIMATEONLY")
		}
	}
	for _, l := range n.Literals[min(1, len(n.Literals)):] {
		word, err := wordOf(ctx, s, l)
		if err != nil {
			return err
		}
		switch word = strings.ToUpper(word); {
		case strings.HasPrefix(word, "REPAIR_") && db.Info().UserAccess != "SINGLE_USER":
			return sqlerr.New(7919, 3)
		case strings.HasPrefix(word, "REPAIR_"):
			return sqlerr.Unsupported(command + " (" + word + ")")
		}
	}
	return nil
}

// mayCheckDatabase is mayCheck of a whole database. Error 7983:
// docs/relational-databases/errors-events/database-engine-events-and-errors-7000-to-7999.md.
func mayCheckDatabase(ctx context.Context, s *engine.Session, n *ast.DbccStatement, db *engine.Database) error {
	err := mayCheck(ctx, s, n, db)
	if refused := (*sqlerr.Error)(nil); errors.As(err, &refused) && refused.Number == 262 {
		return &sqlerr.Error{Number: 7983, Class: 14, State: 36, Message: "User '" + s.Login().Name +
			"' does not have permission to run DBCC " + strings.ToLower(n.Command) + " for database '" + db.Name() + "'."}
	}
	return err
}

// quickCheck has SQLite look at a database's file, or at one table of it.
func quickCheck(ctx context.Context, s *engine.Session, db *engine.Database, table *metadata.Object) error {
	conn, release, err := s.Conn(ctx, db)
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

// says sends a message of a DBCC command, which NO_INFOMSGS leaves out.
func says(n *ast.DbccStatement, w tds.Writer, number int32, args ...any) error {
	if quiet(n) {
		return nil
	}
	return w.Message(&sqlerr.Error{Number: number, State: 1, Message: sqlerr.Text(number, args...)})
}

// checkDatabase is DBCC CHECKDB, CHECKALLOC and CHECKCATALOG of a database, and CHECKFILEGROUP of a file group: a
// database has one store (docs/t-sql/database-console-commands/dbcc-checkdb-transact-sql.md,
// dbcc-checkfilegroup-transact-sql.md).
func checkDatabase(ctx context.Context, s *engine.Session, n *ast.DbccStatement, w tds.Writer) error {
	db := s.CurrentDatabase()
	var err error
	if strings.EqualFold(n.Command, "checkfilegroup") {
		err = fileGroupNamed(ctx, s, n)
	} else {
		db, err = databaseOf(ctx, s, n)
	}
	if err != nil {
		return err
	}
	if err := mayCheckDatabase(ctx, s, n, db); err != nil {
		return err
	}
	if !strings.EqualFold(n.Command, "checkcatalog") {
		if err := quickCheck(ctx, s, db, nil); err != nil {
			return err
		}
		if err := says(n, w, 8989, strings.ToUpper(n.Command), 0, 0, db.Name()); err != nil {
			return err
		}
	}
	return done(n, w)
}

// fileGroupNamed refuses what names no file group of the database, by name or number.
func fileGroupNamed(ctx context.Context, s *engine.Session, n *ast.DbccStatement) error {
	if len(n.Literals) == 0 {
		return nil
	}
	word, err := wordOf(ctx, s, n.Literals[0])
	if err != nil || word == "0" {
		return err
	}
	sch, err := s.Catalog(ctx, s.CurrentDatabase())
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
func checkTable(ctx context.Context, s *engine.Session, n *ast.DbccStatement, w tds.Writer) error {
	if len(n.Literals) == 0 {
		return sqlerr.New(2583, 3)
	}
	sch, o, err := objectOf(ctx, s, s.CurrentDatabase(), n.Literals[0], isTable)
	if err != nil {
		return err
	}
	if err := mayCheck(ctx, s, n, s.CurrentDatabase()); err != nil {
		return err
	}
	if err := quickCheck(ctx, s, s.CurrentDatabase(), o); err != nil {
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
	if err := says(n, w, 2536, name); err != nil {
		return err
	}
	if err := says(n, w, 2593, found.Int(0, "n"), found.Int(0, "pages"), name); err != nil {
		return err
	}
	return done(n, w)
}

// nothingToCorrect is DBCC UPDATEUSAGE and CLEANTABLE: counts of rows and pages are always right, and dropped columns
// leave nothing (docs/t-sql/database-console-commands/dbcc-updateusage-transact-sql.md,
// dbcc-cleantable-transact-sql.md).
func nothingToCorrect(ctx context.Context, s *engine.Session, n *ast.DbccStatement, w tds.Writer) error {
	if len(n.Literals) == 0 {
		return sqlerr.New(2583, 3)
	}
	db, err := databaseOf(ctx, s, n)
	if err != nil {
		return err
	}
	if len(n.Literals) > 1 {
		if _, _, err := objectOf(ctx, s, db, n.Literals[1],
			func(o *metadata.Object) bool { return isTable(o) || o.Kind == metadata.KindView }); err != nil {
			return err
		}
	}
	return done(n, w)
}

// reindex is DBCC DBREINDEX, the former name of ALTER INDEX REBUILD
// (docs/t-sql/database-console-commands/dbcc-dbreindex-transact-sql.md).
func reindex(ctx context.Context, s *engine.Session, n *ast.DbccStatement, w tds.Writer) error {
	if len(n.Literals) == 0 || len(n.Literals) > 3 {
		return sqlerr.New(2583, 3)
	}
	sch, o, err := objectOf(ctx, s, s.CurrentDatabase(), n.Literals[0], isTable)
	if err != nil {
		return err
	}
	index, with := "ALL", ""
	if len(n.Literals) > 1 {
		word, err := wordOf(ctx, s, n.Literals[1])
		if err != nil {
			return err
		}
		if word = strings.TrimSpace(word); word != "" {
			index = syntax.QuoteName(word)
		}
	}
	if len(n.Literals) > 2 {
		fill, err := s.EvaluateInt(ctx, n.Literals[2].Value)
		if err != nil {
			return err
		}
		if fill > 0 {
			with = " WITH (FILLFACTOR = " + strconv.FormatInt(fill, 10) + ")"
		}
	}
	table := syntax.QuoteName(sch.SchemaName(o)) + "." + syntax.QuoteName(o.Name)
	text := "ALTER INDEX " + index + " ON " + table + " REBUILD" + with
	if err := s.Exec(ctx, text); err != nil {
		return err
	}
	return done(n, w)
}
