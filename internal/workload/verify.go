// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash"
	"time"

	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/tsql"
)

// Rows that one query of a copy takes.
const (
	verifyArticles    = 2000
	verifyAttachments = 20
)

// Table is one table of a copy.
type Table struct {
	// Rows of the table.
	Rows int `json:"rows"`
	// Bytes of Body or Content.
	Bytes int64 `json:"bytes"`
	// Damaged are rows whose Body or Content is not what follows from their Id.
	Damaged int `json:"damaged"`
	// SHA256 over all columns of all rows in the order of Id.
	SHA256 string `json:"sha256"`
}

// Copy is what a database has of the workload.
type Copy struct {
	// Server that was asked.
	Server     string `json:"server"`
	Article    Table  `json:"article"`
	Attachment Table  `json:"attachment"`
}

// Verify reads every row of both tables.
func Verify(ctx context.Context, o Options) (Copy, error) {
	connector := o.connector()
	defer connector.Close()
	db, err := o.open(ctx, connector)
	if err != nil {
		return Copy{}, err
	}
	result := Copy{Server: db.Server()}
	result.Article, err = readTable(ctx, db, verifyArticles, tsql.ReadArticles, func(id int64, value []byte) bool {
		return string(value) == Body(id, len(value))
	})
	if err != nil {
		return result, fmt.Errorf("dbo.Article: %w", err)
	}
	result.Attachment, err = readTable(
		ctx,
		db,
		verifyAttachments,
		tsql.ReadAttachments,
		func(id int64, value []byte) bool {
			return string(value) == string(Content(id, len(value)))
		},
	)
	if err != nil {
		return result, fmt.Errorf("dbo.Attachment: %w", err)
	}
	return result, nil
}

func readTable(
	ctx context.Context,
	db *mssql.DB,
	limit int,
	page func(int64, int) tsql.Statement,
	sound func(int64, []byte) bool,
) (Table, error) {
	var t Table
	sum := sha256.New()
	after := int64(-1) // below 0 are rows of drills (PayloadID)
	for {
		rows := 0
		err := db.Query(ctx, page(after, limit), func(row mssql.Row) error {
			var at time.Time
			var value []byte
			if err := row.Scan(&after, &at, &value); err != nil {
				return err
			}
			rows++
			t.Rows++
			t.Bytes += int64(len(value))
			if !sound(after, value) {
				t.Damaged++
			}
			addRow(sum, after, at, value)
			return nil
		})
		if err != nil {
			return t, err
		}
		if rows < limit {
			t.SHA256 = hex.EncodeToString(sum.Sum(nil))
			return t, nil
		}
	}
}

func addRow(sum hash.Hash, id int64, at time.Time, value []byte) {
	var head [24]byte
	binary.BigEndian.PutUint64(head[0:], uint64(id)) //nolint:gosec // its bits are summed
	binary.BigEndian.PutUint64(head[8:], uint64(at.UnixNano()))
	binary.BigEndian.PutUint64(head[16:], uint64(len(value)))
	sum.Write(head[:])
	sum.Write(value)
}
