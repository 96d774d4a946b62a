// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"database/sql"
	"fmt"
	"net"
	"testing"

	. "github.com/onsi/gomega"
)

// TestReadOnlyRouting: a login with read intent that comes to the listener of the primary's group goes to the first
// readable entry of the primary's routing list, to members of one entry in turns, and stays where there is none
// (docs/database-engine/availability-groups/windows/configure-read-only-routing-for-an-availability-group-sql-server.md).
func TestReadOnlyRouting(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	c := newGroup(t, "ASYNCHRONOUS_COMMIT", agLease)
	c.synchronized(0, 1)
	g.Eventually(c.state(0, 2), patient, "20ms").Should(Equal("SYNCHRONIZING"))
	alter := func(text string) { t.Helper(); mustExec(t, c.admins[0], "ALTER AVAILABILITY GROUP [ag] "+text) }
	for n, i := range c.servers {
		alter(
			fmt.Sprintf(
				"MODIFY REPLICA ON N'%s' WITH (SECONDARY_ROLE (READ_ONLY_ROUTING_URL = N'TCP://%s'))",
				i.name,
				c.servers[n].address,
			),
		)
	}
	// server is where a new connection to the first server ends up.
	server := func(database string, options map[string]string) string {
		t.Helper()
		i := c.servers[0]
		db, err := sql.Open("sqlserver", i.dsn(i.user, i.password, database, options))
		g.Expect(err).NotTo(HaveOccurred())
		defer db.Close()
		return value(t, db, "SELECT @@SERVERNAME").(string)
	}
	reader := map[string]string{"ApplicationIntent": "ReadOnly"}
	list := func(text string) {
		t.Helper()
		alter("MODIFY REPLICA ON N'AGA' WITH (PRIMARY_ROLE (READ_ONLY_ROUTING_LIST = " + text + "))")
	}
	list("(N'AGC', N'AGB')")
	g.Expect(server("app", reader)).To(Equal("AGA"), "there is no listener")
	_, port, err := net.SplitHostPort(c.servers[0].address)
	g.Expect(err).NotTo(HaveOccurred())
	alter("ADD LISTENER N'aglistener' (WITH IP ((N'127.0.0.1', N'255.255.255.255')), PORT = " + port + ")")
	g.Expect(server("app", reader)).To(Equal("AGC"))
	g.Expect(server("app", nil)).To(Equal("AGA"), "without read intent")
	g.Expect(server("master", reader)).To(Equal("AGA"), "a database in no group")
	list("(N'AGA', N'AGB')")
	g.Expect(server("app", reader)).To(Equal("AGA"), "the primary itself is next")
	list("((N'AGB', N'AGC'), N'AGA')")
	g.Expect([]string{server("app", reader), server("app", reader), server("app", reader)}).
		To(Or(Equal([]string{"AGB", "AGC", "AGB"}), Equal([]string{"AGC", "AGB", "AGC"})), "in turns")

	alter("MODIFY REPLICA ON N'AGB' WITH (SECONDARY_ROLE (ALLOW_CONNECTIONS = NO))")
	list("(N'AGB', N'AGC')")
	g.Expect(server("app", reader)).To(Equal("AGC"), "of the first one no reads are allowed")
	c.servers[2].kill()
	g.Eventually(c.state(0, 2), patient, "20ms").Should(Equal("NOT SYNCHRONIZING"))
	g.Expect(server("app", reader)).To(Equal("AGA"), "nobody can be read")
	alter("MODIFY REPLICA ON N'AGA' WITH (PRIMARY_ROLE (ALLOW_CONNECTIONS = READ_WRITE))")
	i := c.servers[0]
	db, err := sql.Open("sqlserver", i.dsn(i.user, i.password, "app", reader))
	g.Expect(err).NotTo(HaveOccurred())
	defer db.Close()
	g.Expect(severe(db.PingContext(t.Context()))).To(Equal([]int32{979}), "nor does the primary take readers")
}
