// SPDX-License-Identifier: Apache-2.0

package mssql

import (
	"context"

	"geosql.dev/operator/internal/tsql"
)

// Guard is a trigger that keeps a table read-only.
type Guard struct {
	// Name of the trigger, and Schema and Table that it is on.
	Name, Schema, Table string
	// Disabled tells that it lets everybody write.
	Disabled bool
}

// ReadGuards reads the guards of the connection's database whose names begin so.
func ReadGuards(ctx context.Context, q Querier, prefix string) ([]Guard, error) {
	var guards []Guard
	err := q.Query(ctx, tsql.Guards(prefix), func(r Row) error {
		var g Guard
		err := r.Scan(&g.Name, &g.Schema, &g.Table, &g.Disabled)
		guards = append(guards, g)
		return err
	})
	return guards, err
}
