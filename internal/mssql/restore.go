// SPDX-License-Identifier: Apache-2.0

package mssql

import (
	"context"

	"geosql.dev/operator/internal/tsql"
)

// DatabasePlaces is where a database is.
type DatabasePlaces struct {
	// State as sys.databases has it, such as ONLINE and RESTORING.
	State string
	// Files are the paths of its files.
	Files []string
}

// ReadDatabasePlaces reads where a database is; nil where there is none of the name.
func ReadDatabasePlaces(ctx context.Context, q Querier, name string) (*DatabasePlaces, error) {
	var found *DatabasePlaces
	err := q.Query(ctx, tsql.DatabasePlaces(name), func(r Row) error {
		if found == nil {
			found = &DatabasePlaces{}
		}
		var file string
		err := r.Scan(&found.State, &file)
		if file != "" {
			found.Files = append(found.Files, file)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return found, nil
}
