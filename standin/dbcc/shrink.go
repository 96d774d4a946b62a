// SPDX-License-Identifier: Apache-2.0

package dbcc

import (
	"context"
	"strconv"
	"strings"

	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/engine"
	"geosql.dev/standin/metadata"
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/sqltype"
	"geosql.dev/standin/tds"
)

// pagesPerMB is the number of 8 KB pages in a megabyte.
const pagesPerMB = 128

// shrinkFile is DBCC SHRINKFILE: it takes back what was declared and is not on disk. Pages within a file are not moved
// (docs/t-sql/database-console-commands/dbcc-shrinkfile-transact-sql.md).
func shrinkFile(ctx context.Context, s *engine.Session, n *ast.DbccStatement, w tds.Writer) error {
	db := s.CurrentDatabase()
	if err := mayShrink(ctx, s, n, db); err != nil {
		return err
	}
	f, err := fileToShrink(ctx, s, n)
	if err != nil {
		return err
	}
	target, truncate, err := shrinkTo(ctx, s, n, f)
	if err != nil {
		return err
	}
	if size := db.Pages(f); target > size {
		if err := says(n, w, 5241, f.ID, db.ID(), target*8, size*8); err != nil {
			return err
		}
	}
	minimum := f.SizePages
	if truncate && target != 0 { // 0 is the size that was declared
		if f, err = s.ShrinkFile(ctx, db, f, target); err != nil {
			return err
		}
	}
	small, whole := sqltype.SmallIntType, sqltype.IntType
	cols := []tds.Column{
		engine.Column("DbId", small),
		engine.Column("FileId", small),
		engine.Column("CurrentSize", whole),
		engine.Column("MinimumSize", whole),
		engine.Column("UsedPages", whole),
		engine.Column("EstimatedPages", whole),
	}
	row := []any{int64(db.ID()), int64(f.ID), db.Pages(f), minimum, db.UsedPages(f), db.Pages(f)}
	if err := engine.WriteResult(w, cols, [][]any{row}); err != nil {
		return err
	}
	return done(n, w)
}

// shrinkTo reads what follows the file in DBCC SHRINKFILE: a size in pages, -1 for what is on disk, and whether space
// is given back.
func shrinkTo(
	ctx context.Context, s *engine.Session,
	n *ast.DbccStatement,
	f metadata.File,
) (target int64, truncate bool, err error) {
	truncate = true
	for _, l := range n.Literals[1:] {
		word, err := wordOf(ctx, s, l)
		if err != nil {
			return 0, false, err
		}
		size, e := strconv.ParseInt(word, 10, 32)
		switch word = strings.ToUpper(word); {
		case e == nil && size >= 0:
			target = size * pagesPerMB
		case word == "TRUNCATEONLY":
			target = -1
		case word == "NOTRUNCATE":
			truncate = f.Log
		case word == "EMPTYFILE" && f.ID == 1:
			return 0, false, sqlerr.New(2555, 1, f.LogicalName)
		case word == "EMPTYFILE":
			if err := s.EmptyFile(ctx, f); err != nil {
				return 0, false, err
			}
			truncate = false
		default:
			return 0, false, sqlerr.New(2526, 3)
		}
	}
	return target, truncate, nil
}

// mayShrink refuses a command that shrinks files where it cannot run.
func mayShrink(ctx context.Context, s *engine.Session, n *ast.DbccStatement, db *engine.Database) error {
	if len(n.Literals) == 0 || len(n.Literals) > 3 {
		return sqlerr.New(2583, 3)
	}
	if err := s.Require(ctx, engine.Permission{Name: "CONTROL", Database: db}); err != nil {
		return err
	}
	if s.InUserTransaction() {
		return sqlerr.New(8920, 1, "DBCC "+strings.ToUpper(n.Command))
	}
	return nil
}

func fileToShrink(ctx context.Context, s *engine.Session, n *ast.DbccStatement) (metadata.File, error) {
	word, err := wordOf(ctx, s, n.Literals[0])
	if err != nil {
		return metadata.File{}, err
	}
	for _, f := range s.CurrentDatabase().Files(ctx) {
		if strings.EqualFold(f.LogicalName, word) || strconv.Itoa(int(f.ID)) == word {
			return f, nil
		}
	}
	return metadata.File{}, sqlerr.New(8985, 1, word, s.CurrentDatabase().Name())
}

// shrinkDatabase is DBCC SHRINKDATABASE, which does the same to all files of a database; those that have nothing to
// give are left out with a message (docs/t-sql/database-console-commands/dbcc-shrinkdatabase-transact-sql.md).
func shrinkDatabase(ctx context.Context, s *engine.Session, n *ast.DbccStatement, w tds.Writer) error {
	db, err := databaseOf(ctx, s, n)
	if err != nil {
		return err
	}
	if err := mayShrink(ctx, s, n, db); err != nil {
		return err
	}
	percent, truncate := int64(0), true
	for _, l := range n.Literals[1:] {
		word, err := wordOf(ctx, s, l)
		if err != nil {
			return err
		}
		part, e := strconv.ParseInt(word, 10, 32)
		switch word = strings.ToUpper(word); {
		case e == nil && part >= 0 && part < 100:
			percent = part
		case word == "TRUNCATEONLY":
			percent = 0
		case word == "NOTRUNCATE":
			truncate = false
		default:
			return sqlerr.New(2526, 3)
		}
	}
	for _, f := range db.Files(ctx) {
		before := db.Pages(f)
		if truncate {
			if f, err = s.ShrinkFile(ctx, db, f, db.UsedPages(f)*100/(100-percent)); err != nil {
				return err
			}
		}
		if db.Pages(f) == before {
			if err := says(n, w, 5201, f.ID, db.ID()); err != nil {
				return err
			}
		}
	}
	return done(n, w)
}
