// SPDX-License-Identifier: Apache-2.0

//go:build integration

package replication_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/tsql"
	"geosql.dev/operator/test/support/engine"
)

// A group's database tells whether this server is its primary, and one of the server's own that it is no copy.
func TestDatabasesTellWhetherTheyAreASecondarys(t *testing.T) {
	g := NewWithT(t)
	e := engine.Start(t, "web", "solo")
	sa, err := e.Connector(t).Open(t.Context(), e.Target(credentials.RoleSA))
	g.Expect(err).NotTo(HaveOccurred())
	secondary := func() map[string]bool {
		t.Helper()
		have, _, err := mssql.ReadReplicationServer(t.Context(), sa, "agents", "Str0ng-and-long.secret", "")
		g.Expect(err).NotTo(HaveOccurred())
		told := map[string]bool{}
		for _, d := range have.Databases {
			told[d.Name] = d.Secondary
		}
		return told
	}
	for _, s := range []tsql.Statement{
		tsql.CreateDatabase("Own"), tsql.CreateDatabase("Content"), tsql.SetRecoveryFull("Content"),
		tsql.BackupDatabaseFull("Content", t.TempDir()+"/first.bak"),
		tsql.CreateGroup(tsql.Group{
			Name:        "content",
			ClusterType: tsql.ClusterExternal,
			WriteLease:  3 * time.Second,
			Databases:   []string{"Content"},
			Replicas:    []tsql.Replica{{Server: "solo-0", EndpointURL: "TCP://solo-0:5022", Mode: tsql.SynchronousCommit}},
		}),
	} {
		g.Expect(sa.Exec(t.Context(), s)).To(Succeed(), s.Redacted())
	}
	g.Expect(secondary()).To(Equal(map[string]bool{"Own": false, "Content": false}))
	// Nobody renews its write lease: it is primary no more.
	g.Eventually(secondary, time.Minute, 200*time.Millisecond).
		Should(Equal(map[string]bool{"Own": false, "Content": true}))
}
