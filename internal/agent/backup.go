// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"log/slog"

	"geosql.dev/operator/internal/agent/backups"
	"geosql.dev/operator/internal/agent/restores"
	"geosql.dev/operator/internal/agent/stores"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/conf"
	"geosql.dev/operator/internal/mssql/credentials"
)

// addBackups adds the parts that take backups, restore them, and keep those of other servers. Outside of a pod there
// are none.
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
	who := backups.Identity{Namespace: o.Namespace, TLSDir: o.TLSDir}
	take := backups.NewPart(source, credentials.HostName(server), conf.BackupDir, engine, log)
	take.Known(who)
	a.Add(take)
	restore := restores.NewPart(source, conf.BackupDir, engine, log)
	restore.Known(who)
	a.Add(restore)
	keep := stores.NewPart(source, o.Namespace, conf.BackupDir, log)
	a.Handle(stores.Pattern, keep)
	a.Add(keep)
	return nil
}
