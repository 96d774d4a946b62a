// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"testing"

	. "github.com/onsi/gomega"
)

// CREATE AVAILABILITY GROUP takes a member of sysadmin (its page, Permissions); DROP is content with the permission.
func TestCreatingAGroupTakesASysadmin(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	i := prepareInstance(t, "MSSQL_ENABLE_HADR=1")
	i.name = "AGA"
	g.Expect(i.launch()).To(Succeed())
	admin := i.open(t, "")
	mustExec(t, admin, "CREATE LOGIN operator WITH PASSWORD = N'0perator-Password'")
	mustExec(t, admin, "GRANT ALTER ANY AVAILABILITY GROUP, CREATE AVAILABILITY GROUP TO operator")
	operator := i.openAs(t, "operator", "0perator-Password", "")
	create := "CREATE AVAILABILITY GROUP [ag] WITH (CLUSTER_TYPE = EXTERNAL) FOR REPLICA ON " + oneReplica
	g.Expect(failure(t, operator, create).Number).To(Equal(int32(15247)))
	mustExec(t, admin, create)
	mustExec(t, operator, "DROP AVAILABILITY GROUP [ag]")
	mustExec(t, admin, "ALTER SERVER ROLE sysadmin ADD MEMBER operator")
	mustExec(t, i.openAs(t, "operator", "0perator-Password", ""), create)
}
