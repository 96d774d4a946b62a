// SPDX-License-Identifier: Apache-2.0

package mssql

import (
	"context"

	"geosql.dev/operator/internal/tsql"
)

// UserObject is something that people have made in a database.
type UserObject struct {
	// Kind is such as user_table, view, sql_stored_procedure, type, schema, sql_user and database_role.
	Kind string
	// Name with its schema, where it is in one.
	Name string
}

// ReadUserObjects reads what people have made in the connection's database, of whatever kind; the user of a login is
// left out.
func ReadUserObjects(ctx context.Context, q Querier, login string) ([]UserObject, error) {
	var all []UserObject
	err := q.Query(ctx, tsql.UserObjects(login), func(r Row) error {
		var o UserObject
		err := r.Scan(&o.Kind, &o.Name)
		all = append(all, o)
		return err
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}
