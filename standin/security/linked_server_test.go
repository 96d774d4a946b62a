// SPDX-License-Identifier: Apache-2.0

package security_test

import (
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
)

func TestLinkedServers(t *testing.T) {
	g := NewWithT(t)
	one, two := start(t, "ONE"), start(t, "TWO")
	two.sa().do("CREATE LOGIN [link] WITH PASSWORD = N'L1nk-Password'")
	sa := one.sa()
	g.Expect(sa.refused("EXEC sp_testlinkedserver N'TWO'")).To(BeEquivalentTo(7202))
	sa.do(
		fmt.Sprintf(
			"EXEC sp_addlinkedserver @server = N'TWO', @srvproduct = N'', @provider = N'MSOLEDBSQL', @datasrc = N'127.0.0.1,%d'",
			two.port,
		),
	)
	g.Expect(sa.refused("EXEC sp_addlinkedserver @server = N'TWO', @srvproduct = N'SQL Server'")).To(BeEquivalentTo(15028))
	sa.do(
		"EXEC sp_addlinkedsrvlogin @rmtsrvname = N'TWO', @useself = N'FALSE', @locallogin = NULL, @rmtuser = N'link', "+
			"@rmtpassword = N'L1nk-Password'",
		"EXEC sp_testlinkedserver N'TWO'",
	)
	g.Expect(sa.rows("SELECT s.name, s.is_linked, l.remote_name FROM sys.servers s JOIN sys.linked_logins l ON " +
		"l.server_id = s.server_id WHERE s.server_id > 0")).
		To(Equal([][]any{{"TWO", true, "link"}}))
	g.Expect(sa.value("SELECT name FROM sys.servers WHERE server_id = 0")).To(Equal("ONE"))
	sa.do("EXEC sp_serveroption N'TWO', 'rpc out', 'true'")
	g.Expect(sa.value("SELECT is_rpc_out_enabled FROM sys.servers WHERE name = 'TWO'")).To(Equal(true))
	g.Expect(sa.refused("EXEC sp_serveroption N'TWO', 'nonsense', 'true'")).NotTo(BeZero())
	sa.do("EXEC sp_addlinkedsrvlogin N'TWO', 'FALSE', NULL, N'link', N'wrong'")
	g.Expect(sa.refused("EXEC sp_testlinkedserver N'TWO'")).To(BeEquivalentTo(18456), "the other server's own answer")
	g.Expect(sa.refused("EXEC sp_dropserver N'TWO'")).To(BeEquivalentTo(15190))
	sa.do("EXEC sp_dropserver N'TWO', 'droplogins'")
	g.Expect(sa.value("SELECT COUNT(*) FROM sys.servers")).To(BeEquivalentTo(1))
}
