// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"

	"geosql.dev/standin/backup"
	"geosql.dev/standin/bulk"
	"geosql.dev/standin/catalogproc"
	"geosql.dev/standin/catalogview"
	"geosql.dev/standin/config"
	"geosql.dev/standin/dbcc"
	"geosql.dev/standin/ddl"
	"geosql.dev/standin/engine"
	"geosql.dev/standin/hadr"
	"geosql.dev/standin/partition"
	"geosql.dev/standin/repl"
	"geosql.dev/standin/security"
	"geosql.dev/standin/serverproc"
	"geosql.dev/standin/sqlagent"
	"geosql.dev/standin/sysviews"
)

// extensions are installed into the instance in this order. A new one is a line here.
func extensions(settings *config.Settings) []engine.Extension {
	principals := security.New(security.Options{SAPassword: settings.Password})
	groups := hadr.New(mirroring{Extension: principals, serverName: settings.ServerName, peers: settings.Arguments.Peers})
	replication := repl.New(
		repl.Options{Host: ownHost(settings), UNCMapping: settings.UNCMapping, Limit: groups.ReplicationLimit},
	)
	return []engine.Extension{
		catalogview.Extension{},
		ddl.Extension{},
		bulk.Extension{},
		dbcc.Extension{},
		partition.Extension{},
		backup.Extension{Replicas: groups},
		catalogproc.Extension{},
		serverproc.Extension{},
		sysviews.Extension{},
		principals,
		groups,
		sqlagent.New(sqlagent.Options{Host: ownHost(settings), Subsystems: subsystems(replication)}),
		replication,
	}
}

// ownHost is the address at which the instance reaches itself.
func ownHost(settings *config.Settings) string {
	switch settings.Address {
	case "0.0.0.0", "::":
		return ""
	}
	return settings.Address
}

// subsystems lets jobs run replication agents: extensions do not know each other.
func subsystems(replication *repl.Extension) map[string]sqlagent.Subsystem {
	out := map[string]sqlagent.Subsystem{}
	for name, run := range replication.Subsystems() {
		out[name] = func(ctx context.Context, step sqlagent.Step) (string, error) {
			return run(ctx, step.Command, step.Again)
		}
	}
	return out
}
