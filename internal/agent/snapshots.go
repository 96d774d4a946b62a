// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"fmt"
	"log/slog"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"geosql.dev/operator/internal/agent/files"
	"geosql.dev/operator/internal/agent/holder"
	"geosql.dev/operator/internal/credentials"
	"geosql.dev/operator/internal/mssqlconf"
)

// addSnapshots adds the part that serves and mirrors replication snapshots. Outside of a pod there is none.
func addSnapshots(a *Agent, o Options, log *slog.Logger) error {
	if o.PodUID == "" {
		return nil
	}
	server, err := o.server()
	if err != nil {
		return err
	}
	config, err := rest.InClusterConfig()
	if err != nil {
		return fmt.Errorf("find the site's API server: %w", err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("make a client of the site's API server: %w", err)
	}
	source := holder.SecretSource{Client: client, Namespace: o.Namespace, Name: credentials.OrdersName(server)}
	part := files.NewPart(source, mssqlconf.SnapshotDir, mssqlconf.MirrorDir, log)
	a.Handle(files.Pattern, part.Server())
	a.Add(part)
	return nil
}
