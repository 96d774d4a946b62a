// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"log/slog"
	"path/filepath"

	"geosql.dev/operator/internal/agent/files"
	"geosql.dev/operator/internal/mssql/conf"
)

// addSnapshots adds the part that serves and mirrors replication snapshots. Outside of a pod there is none.
func addSnapshots(a *Agent, o Options, log *slog.Logger) error {
	if o.PodUID == "" {
		return nil
	}
	server, source, err := o.orders()
	if err != nil {
		return err
	}
	part := files.NewPart(source, o.Namespace, conf.SnapshotDir, conf.MirrorDir, log)
	part.Link(conf.Mirror(server))
	// A pod that an earlier release has made has the file where the engine looks. In another one there is an empty file at
	// that place, on which the engine's is mounted: so it comes second.
	part.Maps(filepath.Join(conf.Dir, conf.Name), conf.Path)
	part.Brought(conf.BroughtDir)
	a.staging = part.Staging
	a.Registerer().MustRegister(part.Collector())
	a.Handle(files.Pattern, part.Server())
	a.Add(part)
	return nil
}
