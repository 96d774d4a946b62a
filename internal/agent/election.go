// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"log/slog"

	"geosql.dev/operator/internal/agent/holder"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
)

// addElection adds the part that holds the votes of the server's groups. Outside of a pod there is none.
func addElection(a *Agent, o Options, log *slog.Logger) error {
	if o.PodUID == "" {
		log.Info("no part in elections: the pod's UID is not known")
		return nil
	}
	server, source, err := o.orders()
	if err != nil {
		return err
	}
	part, err := holder.New(holder.Options{
		Target:     mssql.Target{Namespace: o.Namespace, Server: server, Role: credentials.RoleAgent},
		PodUID:     o.PodUID,
		Connector:  a.NewConnector("geosql-agent election"),
		Process:    holder.ProcFS{},
		Source:     source,
		TLSDir:     o.TLSDir,
		StateDir:   o.StateDir,
		DataDir:    o.DataDir,
		Log:        log,
		Registerer: a.Registerer(),
	})
	if err != nil {
		return err
	}
	a.HandlePeers(holder.Pattern, part)
	a.Add(part)
	return nil
}
