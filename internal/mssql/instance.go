// SPDX-License-Identifier: Apache-2.0

package mssql

import (
	"context"
	"fmt"
	"strings"
	"time"

	"geosql.dev/operator/internal/tsql"
)

// Instance is what an instance says of itself.
type Instance struct {
	// ServerName is @@SERVERNAME, the name that replication uses.
	ServerName string
	// NetworkName is SERVERPROPERTY('ServerName'), the name that availability groups use.
	NetworkName string
	// ProductVersion such as 16.0.4135.4.
	ProductVersion string
	// Edition such as "Developer Edition (64-bit)".
	Edition string
	// Engine is the first line of @@VERSION.
	Engine string
	// Started is when the instance started, in UTC.
	Started time.Time
}

// ReadInstance asks an instance about itself.
func ReadInstance(ctx context.Context, q Querier) (Instance, error) {
	var i Instance
	rows := 0
	err := q.Query(ctx, tsql.Instance().Because("read the instance's properties"), func(r Row) error {
		rows++
		return r.Scan(&i.ServerName, &i.NetworkName, &i.ProductVersion, &i.Edition, &i.Engine, &i.Started)
	})
	if err != nil {
		return Instance{}, err
	}
	if rows != 1 {
		return Instance{}, fmt.Errorf("read the instance's properties on server %s: %d rows instead of one", q.Server(), rows)
	}
	i.Engine, _, _ = strings.Cut(strings.ReplaceAll(i.Engine, "\r", ""), "\n")
	i.Engine = strings.TrimSpace(i.Engine)
	return i, nil
}

// ReadEngineEdition asks an instance which kind of edition it is: one of the values of EngineEdition.
func ReadEngineEdition(ctx context.Context, q Querier) (edition int, err error) {
	err = q.Query(ctx, tsql.EngineEdition(), func(r Row) error { return r.Scan(&edition) })
	return edition, err
}

// ReadGroupNames reads the names of the availability groups of which the instance hosts a replica.
func ReadGroupNames(ctx context.Context, q Querier) ([]string, error) {
	var names []string
	err := q.Query(ctx, tsql.GroupNames().Because("read the names of the availability groups"), func(r Row) error {
		var name string
		if err := r.Scan(&name); err != nil {
			return err
		}
		names = append(names, name)
		return nil
	})
	return names, err
}
