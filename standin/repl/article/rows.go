// SPDX-License-Identifier: Apache-2.0

package article

import (
	"context"
	"encoding/binary"
	"fmt"
	"strings"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"geosql.dev/standin/engine"
	"geosql.dev/standin/repl/stored"
	"geosql.dev/standin/storage"
)

// dataBlock is about how large a part of the data is.
const dataBlock = 64 << 10

// SnapshotReader reads a database as it is at one position. same runs while nothing can commit: what it reads is of
// that position, too.
func SnapshotReader(ctx context.Context, db *engine.Database, same func() error) (*storage.Reader, storage.LSN, error) {
	tx, err := db.Storage().Begin(ctx)
	if err != nil {
		return nil, storage.LSN{}, err
	}
	defer tx.Rollback()
	reader, err := db.Storage().Reader(ctx)
	if err != nil {
		return nil, storage.LSN{}, err
	}
	leave, err := reader.Use(ctx)
	if err != nil {
		reader.Release()
		return nil, storage.LSN{}, err
	}
	// The first read fixes what the reader sees.
	err = sqlitex.ExecuteTransient(reader.Conn(), "SELECT count(*) FROM sqlite_schema", nil)
	leave()
	if err == nil {
		err = same()
	}
	if err != nil {
		reader.Release()
		return nil, storage.LSN{}, err
	}
	position, _ := db.Storage().Applied()
	return reader, position, nil
}

// StreamRows gives a table's rows in blocks.
func StreamRows(
	ctx context.Context,
	reader *storage.Reader,
	a *Article,
	filter *RowFilter,
	emit func([]byte) error,
) error {
	leave, err := reader.Use(ctx)
	if err != nil {
		return err
	}
	defer leave()
	// The filter may look at columns that are not published.
	var names []string
	at := map[string]int{}
	for _, c := range a.Table.Table.Columns {
		if c.Computed == "" {
			at[c.StorageName()] = len(names)
			names = append(names, `"`+c.StorageName()+`"`)
		}
	}
	row := make([]any, len(names))
	// The file begins with the number of its columns and their names.
	block := binary.LittleEndian.AppendUint64([]byte{stored.ValueInt}, uint64(len(a.Columns)))
	for _, c := range a.Columns {
		block = stored.AppendText(block, c.Name)
	}
	err = sqlitex.ExecuteTransient(
		reader.Conn(),
		"SELECT "+strings.Join(names, ",")+` FROM "`+a.Table.StorageName()+`"`,
		&sqlitex.ExecOptions{
			ResultFunc: func(stmt *sqlite.Stmt) error {
				for i := range row {
					row[i] = storage.ColumnValue(stmt, i)
				}
				if ok, err := filter.Passes(ctx, at, row); err != nil || !ok {
					return err
				}
				for _, c := range a.Columns {
					var err error
					if block, err = stored.AppendValue(block, c.Type, row[at[c.StorageName()]]); err != nil {
						return fmt.Errorf("article %s, column %s: %w", a.Name, c.Name, err)
					}
				}
				if len(block) < dataBlock {
					return nil
				}
				err := emit(block)
				block = nil
				return err
			}},
	)
	if err == nil && len(block) > 0 {
		err = emit(block)
	}
	return err
}
