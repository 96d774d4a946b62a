// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"
	"fmt"
	"time"

	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/tsql"
	"geosql.dev/operator/internal/workload/history"
)

// recordedRows is how many rows one query of dbo.Recorded takes.
const recordedRows = 5000

// Recorded reads what clients wrote to a server: every table of it, and the lists from a number on, unless that is 0.
func Recorded(ctx context.Context, o Options, w Wants, listsFrom int64) (history.Replica, error) {
	connector := o.connector()
	defer connector.Close()
	db, err := o.open(ctx, connector)
	if err != nil {
		return history.Replica{}, err
	}
	read, err := ReadCopies(ctx, []Source{{DB: db}}, w)
	if err != nil {
		return history.Replica{}, err
	}
	if listsFrom > 0 {
		read[0].Lists, err = ReadLists(ctx, db, listsFrom)
	}
	return read[0], err
}

// ReadRecorded reads which rows of dbo.Recorded a database has whose Id is greater than after.
func ReadRecorded(ctx context.Context, db *mssql.DB, after int64) (history.Replica, error) {
	result := history.Replica{Server: db.Server()}
	for {
		rows := 0
		err := db.Query(ctx, tsql.ReadRecorded(after, recordedRows), func(row mssql.Row) error {
			var id history.RowID
			var server string
			var configuration int64
			var at time.Time
			if err := row.Scan(&after, &id.Run, &id.Number, &server, &configuration, &at); err != nil {
				return err
			}
			rows++
			result.Rows = append(result.Rows, id)
			return nil
		})
		if err != nil {
			return result, fmt.Errorf("rows after %d: %w", after, err)
		}
		if rows < recordedRows {
			return result, nil
		}
	}
}
