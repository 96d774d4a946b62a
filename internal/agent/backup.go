// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"log/slog"

	"geosql.dev/operator/internal/agent/backups"
	"geosql.dev/operator/internal/agent/restores"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/conf"
	"geosql.dev/operator/internal/mssql/credentials"
)

// addBackups adds the parts that take backups and restore them. Outside of a pod there are none.
func addBackups(a *Agent, o Options, log *slog.Logger) error {
	if o.PodUID == "" {
		return nil
	}
	server, source, err := o.orders()
	if err != nil {
		return err
	}
	pool := func(program string) func(context.Context) (*mssql.DB, error) {
		connector := a.NewConnector(program)
		return func(ctx context.Context) (*mssql.DB, error) {
			return connector.Open(ctx, mssql.Target{Namespace: o.Namespace, Server: server, Role: credentials.RoleAgent})
		}
	}
	engine := backups.Engine{Ask: pool("geosql-agent backups"), Data: pool("geosql-agent backups of data"),
		Log: pool("geosql-agent backups of logs")}
	a.Add(backups.NewPart(source, credentials.HostName(server), conf.BackupDir, engine, log))
	a.Add(restores.NewPart(source, conf.BackupDir, engine, log))
	return nil
}
