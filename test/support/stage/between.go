// SPDX-License-Identifier: Apache-2.0

//go:build integration

package stage

import (
	"maps"
	"path/filepath"
	"testing"

	"github.com/onsi/gomega"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent/files"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
)

// Engine is the address of a server's engine, and Sidecar that of its sidecar.
func (b *Stage) Engine(server v1alpha1.ServerName) string { return b.engines[server].Address }

// Sidecar is the address of a server's sidecar.
func (b *Stage) Sidecar(server v1alpha1.ServerName) string { return b.sidecars[server] }

// Reach has managers that are started from now on, and those whom they tell, reach a server's sidecar at another
// address, such as one that leads over an emulated link.
func (b *Stage) Reach(server v1alpha1.ServerName, address string) { b.reached[server] = address }

// sidecarsOf are the addresses of sidecars as managers know them.
func (b *Stage) sidecarsOf() map[v1alpha1.ServerName]string {
	all := maps.Clone(b.sidecars)
	maps.Copy(all, b.reached)
	return all
}

// Mirrors are the mirrors of snapshots that a server's sidecar keeps, as it would tell them now.
func (b *Stage) Mirrors(server v1alpha1.ServerName) []files.Status {
	return b.snapshotParts[server].Status().([]files.Status)
}

// MirrorOf is the folder of a server's mirror of a distributor's snapshots.
func (b *Stage) MirrorOf(server, distributor v1alpha1.ServerName) string {
	return filepath.Join(b.mirrors[server], credentials.HostName(distributor))
}

// DB is a database of a server for sa, for statements that take longer than those of Query and SQL may.
func (b *Stage) DB(t testing.TB, server v1alpha1.ServerName, database string) *mssql.DB {
	t.Helper()
	db, err := b.connector.Open(t.Context(), mssql.Target{
		Namespace: Namespace, Server: server, Database: database, Role: credentials.RoleSA})
	gomega.NewWithT(t).Expect(err).NotTo(gomega.HaveOccurred())
	return db
}
