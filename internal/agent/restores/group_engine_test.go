// SPDX-License-Identifier: Apache-2.0

//go:build integration

package restores

import (
	"context"
	"fmt"
	"log/slog"
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent/backups"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/conf"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/test/support/engine"
)

// group is an availability group of three processes: two with the database Content, and one that votes. Beside each of
// the two a sidecar's part takes the backups.
type group struct {
	t        *testing.T
	servers  [3]*engine.Engine
	sa       [3]*mssql.DB
	sidecars [2]*sidecar
}

// sidecar is what is beside a server.
type sidecar struct {
	orders told
	end    func()
}

const groupName = "content"

// newGroup has the group with server 0 as its primary, and no sidecars.
func newGroup(t *testing.T) *group {
	t.Helper()
	c := &group{t: t}
	for n, name := range []v1alpha1.ServerName{"tukpub", "tuksec", "tukvot"} {
		c.servers[n] = engine.Start(t, "web", name)
		c.sa[n] = connect(t, c.servers[n], credentials.RoleSA)
	}
	urls := engine.Partners(t, c.servers[:]...)
	c.exec(0, "CREATE DATABASE Content")
	c.exec(0, "ALTER DATABASE Content SET RECOVERY FULL")
	c.exec(0, "CREATE TABLE Content.dbo.t (id int PRIMARY KEY)")
	c.exec(0, "BACKUP DATABASE Content TO DISK = N'"+t.TempDir()+"/first.bak'")
	c.create(urls)
	return c
}

func (c *group) create(urls []string) {
	c.t.Helper()
	const data = ", AVAILABILITY_MODE = SYNCHRONOUS_COMMIT, FAILOVER_MODE = EXTERNAL, SEEDING_MODE = AUTOMATIC, " +
		"SESSION_TIMEOUT = 5, SECONDARY_ROLE (ALLOW_CONNECTIONS = ALL)"
	text := "CREATE AVAILABILITY GROUP " + groupName + " WITH (CLUSTER_TYPE = EXTERNAL, WRITE_LEASE_VALIDITY = 600) " +
		"FOR DATABASE Content REPLICA ON "
	for n, options := range [3]string{data, data, ", AVAILABILITY_MODE = CONFIGURATION_ONLY, SESSION_TIMEOUT = 5"} {
		if n > 0 {
			text += ", "
		}
		text += fmt.Sprintf("N'%s' WITH (ENDPOINT_URL = N'%s'%s)", credentials.HostName(c.servers[n].Server), urls[n],
			options)
	}
	c.exec(0, text)
	for n := 1; n < 3; n++ {
		c.exec(n, "ALTER AVAILABILITY GROUP "+groupName+" JOIN WITH (CLUSTER_TYPE = EXTERNAL)")
	}
	c.exec(1, "ALTER AVAILABILITY GROUP "+groupName+" GRANT CREATE ANY DATABASE")
	c.follows(1)
}

func (c *group) exec(n int, text string) {
	c.t.Helper()
	execute(c.t, c.sa[n], text)
}

// synchronization is that of a server's copy, as it says itself.
func (c *group) synchronization(n int) (state string) {
	sources, err := mssql.ReadBackupSources(c.t.Context(), c.sa[n])
	for _, s := range sources {
		if s.Database == "Content" {
			state = s.Synchronization
		}
	}
	if err != nil {
		return err.Error()
	}
	return state
}

// follows waits until a server's copy has all that the primary's has.
func (c *group) follows(n int) {
	c.t.Helper()
	NewWithT(c.t).Eventually(func() string { return c.synchronization(n) }, patient, often).Should(Equal("SYNCHRONIZED"))
}

// promote makes a server the primary, as who manages the group does, and has the others follow it that are there.
func (c *group) promote(n int, others ...int) {
	c.t.Helper()
	c.asManager(n, "FAILOVER")
	for _, other := range others {
		c.follow(other)
	}
}

// asManager has a server take the primary's role.
func (c *group) asManager(n int, failover string) {
	c.t.Helper()
	g := NewWithT(c.t)
	c.set(n, "WRITE_LEASE_VALIDITY = 600")
	ctx, cancel := context.WithTimeout(c.t.Context(), patient)
	defer cancel()
	conn, err := c.sa[n].Handle().Conn(ctx)
	g.Expect(err).NotTo(HaveOccurred())
	defer func() { _ = conn.Close() }()
	for _, text := range []string{"EXEC sys.sp_set_session_context @key = N'external_cluster', @value = N'yes'",
		"ALTER AVAILABILITY GROUP " + groupName + " " + failover} {
		_, err := conn.ExecContext(ctx, text)
		g.Expect(err).NotTo(HaveOccurred(), text)
	}
}

// follow has a server follow the primary.
func (c *group) follow(n int) {
	c.t.Helper()
	c.set(n, "ROLE = SECONDARY")
}

// set changes the group at a server. A change of roles ends connections: it is tried again.
func (c *group) set(n int, option string) {
	c.t.Helper()
	NewWithT(c.t).Eventually(func() error {
		_, err := c.sa[n].Handle().ExecContext(c.t.Context(), "ALTER AVAILABILITY GROUP "+groupName+" SET ("+option+")")
		return err
	}, patient, often).Should(Succeed())
}

// begin starts the sidecar beside a server, with these orders.
func (c *group) begin(n int, data map[string][]byte) {
	c.t.Helper()
	open := func(context.Context) (*mssql.DB, error) { return c.sa[n], nil }
	orders := make(told)
	part := backups.NewPart(orders, credentials.HostName(c.servers[n].Server), c.servers[n].OnDisk(conf.BackupDir),
		backups.Engine{Ask: open, Data: open, Log: open}, slog.New(slog.DiscardHandler))
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); _ = part.Run(ctx) }()
	c.sidecars[n] = &sidecar{orders: orders, end: func() { cancel(); <-done }}
	c.t.Cleanup(c.sidecars[n].end)
	orders <- data
}
