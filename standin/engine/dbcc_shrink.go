// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"strconv"
	"strings"

	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/metadata"
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/sqltype"
	"geosql.dev/standin/storage/disk"
	"geosql.dev/standin/tds"
)

// pagesPerMB is the number of 8 KB pages in a megabyte.
const pagesPerMB = 128

// pagesOnDisk is what a file takes on disk, in pages.
func (db *Database) pagesOnDisk(f metadata.File) int64 {
	path := f.PhysicalName
	if f.Effective != "" {
		path = f.Effective
	}
	return disk.Size(db.inst.onDisk(path)) / 8192
}

// Pages is the size of a file: the declared one, or what is on disk when that is more.
func (db *Database) Pages(f metadata.File) int64 { return max(f.SizePages, db.pagesOnDisk(f)) }

// usedPages is what a file has in use, in pages: all of a data file that is on disk, and what the log still needs.
func (db *Database) usedPages(f metadata.File) int64 {
	st := db.Storage()
	if !f.Log || st == nil {
		return db.pagesOnDisk(f)
	}
	return min(db.pagesOnDisk(f), (int64(st.Log().Bytes(st.Log().End())-st.Log().Bytes(st.Log().Oldest()))+8191)/8192)
}

// shrinkFile is DBCC SHRINKFILE: it takes back what was declared and is not on disk. Pages within a file are not moved
// (docs/t-sql/database-console-commands/dbcc-shrinkfile-transact-sql.md).
func (s *Session) shrinkFile(ctx context.Context, n *ast.DbccStatement, w tds.Writer) error {
	if err := s.mayShrink(ctx, n, s.db); err != nil {
		return err
	}
	f, err := s.fileToShrink(ctx, n)
	if err != nil {
		return err
	}
	target, truncate, err := s.shrinkTo(ctx, n, f)
	if err != nil {
		return err
	}
	if size := s.db.Pages(f); target > size {
		if err := dbccSays(n, w, 5241, f.ID, s.db.ID(), target*8, size*8); err != nil {
			return err
		}
	}
	minimum := f.SizePages
	if truncate && target != 0 { // 0 is the size that was declared
		if f, err = s.giveBack(ctx, s.db, f, target); err != nil {
			return err
		}
	}
	small, whole := sqltype.SmallIntType, sqltype.IntType
	cols := []tds.Column{
		Column("DbId", small),
		Column("FileId", small),
		Column("CurrentSize", whole),
		Column("MinimumSize", whole),
		Column("UsedPages", whole),
		Column("EstimatedPages", whole),
	}
	row := []any{int64(s.db.ID()), int64(f.ID), s.db.Pages(f), minimum, s.db.usedPages(f), s.db.Pages(f)}
	if err := WriteResult(w, cols, [][]any{row}); err != nil {
		return err
	}
	return dbccDone(n, w)
}

// shrinkTo reads what follows the file in DBCC SHRINKFILE: a size in pages, -1 for what is on disk, and whether space
// is given back.
func (s *Session) shrinkTo(
	ctx context.Context,
	n *ast.DbccStatement,
	f metadata.File,
) (target int64, truncate bool, err error) {
	truncate = true
	for _, l := range n.Literals[1:] {
		word, err := s.dbccWord(ctx, l)
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
			if err := s.emptyFile(ctx, f); err != nil {
				return 0, false, err
			}
			truncate = false
		default:
			return 0, false, sqlerr.New(2526, 3)
		}
	}
	return target, truncate, nil
}

// emptyFile is EMPTYFILE: what the file had is in the others of its file group from now on, and nothing is put there
// again. 2555: there is no other to take it.
func (s *Session) emptyFile(ctx context.Context, f metadata.File) error {
	if f.ID <= 2 || s.db.System() {
		return nil
	}
	return s.changeFiles(ctx, s.db, func(d *ddl) error {
		o := d.sch.Placement(metadata.KindFile, f.ID)
		if o == nil {
			return sqlerr.New(8985, 1, f.LogicalName, s.db.Name())
		}
		holds, err := d.holds(f)
		if err != nil {
			return err
		}
		for _, other := range d.sch.Placed(metadata.KindFile) {
			if other.File.ID != f.ID && other.File.DataSpace() == f.DataSpace() && !other.File.Emptied {
				holds = false
			}
		}
		if holds {
			return sqlerr.New(2555, 1, f.LogicalName)
		}
		o.File.Emptied = true
		return d.savePlacement(o)
	})
}

// mayShrink refuses a command that shrinks files where it cannot run.
func (s *Session) mayShrink(ctx context.Context, n *ast.DbccStatement, db *Database) error {
	if len(n.Literals) == 0 || len(n.Literals) > 3 {
		return sqlerr.New(2583, 3)
	}
	if err := s.require(ctx, Permission{Name: "CONTROL", Database: db}); err != nil {
		return err
	}
	if s.count > 0 {
		return sqlerr.New(8920, 1, "DBCC "+strings.ToUpper(n.Command))
	}
	return nil
}

func (s *Session) fileToShrink(ctx context.Context, n *ast.DbccStatement) (metadata.File, error) {
	word, err := s.dbccWord(ctx, n.Literals[0])
	if err != nil {
		return metadata.File{}, err
	}
	for _, f := range s.db.Files(ctx) {
		if strings.EqualFold(f.LogicalName, word) || strconv.Itoa(int(f.ID)) == word {
			return f, nil
		}
	}
	return metadata.File{}, sqlerr.New(8985, 1, word, s.db.Name())
}

// giveBack lowers a file's declared size to a target in pages, never below what is on disk.
func (s *Session) giveBack(ctx context.Context, db *Database, f metadata.File, target int64) (metadata.File, error) {
	size := max(target, db.pagesOnDisk(f))
	if size >= f.SizePages {
		return f, nil
	}
	f.SizePages = size
	if f.ID > 2 && !db.System() {
		return f, s.changeFiles(ctx, db, func(d *ddl) error {
			o := d.sch.Placement(metadata.KindFile, f.ID)
			if o == nil {
				return sqlerr.New(8985, 1, f.LogicalName, db.Name())
			}
			o.File.SizePages = size
			return d.savePlacement(o)
		})
	}
	return f, db.Update(ctx, func(i *DatabaseInfo) {
		for n := range i.Files {
			if i.Files[n].ID == f.ID {
				i.Files[n].SizePages = size
			}
		}
	})
}

// shrinkDatabase is DBCC SHRINKDATABASE, which does the same to all files of a database; those that have nothing to
// give are left out with a message (docs/t-sql/database-console-commands/dbcc-shrinkdatabase-transact-sql.md).
func (s *Session) shrinkDatabase(ctx context.Context, n *ast.DbccStatement, w tds.Writer) error {
	db, err := s.dbccDatabase(ctx, n)
	if err != nil {
		return err
	}
	if err := s.mayShrink(ctx, n, db); err != nil {
		return err
	}
	percent, truncate := int64(0), true
	for _, l := range n.Literals[1:] {
		word, err := s.dbccWord(ctx, l)
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
			if f, err = s.giveBack(ctx, db, f, db.usedPages(f)*100/(100-percent)); err != nil {
				return err
			}
		}
		if db.Pages(f) == before {
			if err := dbccSays(n, w, 5201, f.ID, db.ID()); err != nil {
				return err
			}
		}
	}
	return dbccDone(n, w)
}
