// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"testing"

	. "github.com/onsi/gomega"
)

// TestServerRoleCountsAtOnce: a login's membership of sysadmin begins and ends for the connections it has.
// By docs/t-sql/statements/alter-server-role-transact-sql.md.
func TestServerRoleCountsAtOnce(t *testing.T) {
	g := NewWithT(t)
	i := newInstance(t)
	admin := i.open(t, "")
	mustExec(t, admin, "CREATE LOGIN promoted WITH PASSWORD = N'Pr0moted-Password'")
	conn := connection(t, i.openAs(t, "promoted", "Pr0moted-Password", ""))
	g.Expect(failure(t, conn,
		"EXEC sp_adddistributor @distributor = N'"+i.name+"', @password = N'D1stributor-Password'").Number).
		To(BeElementOf(int32(229), int32(21089)))
	mustExec(t, admin, "ALTER SERVER ROLE sysadmin ADD MEMBER promoted")
	mustExec(t, conn, "CREATE DATABASE made; DROP DATABASE made")
	g.Expect(failure(t, conn, "EXEC sp_dropdistributor @no_checks = 1, @ignore_distributor = 1").Number).
		To(Equal(int32(21043)), "a sysadmin gets to hear that there is none")
	mustExec(t, admin, "ALTER SERVER ROLE sysadmin DROP MEMBER promoted")
	g.Expect(failure(t, conn,
		"EXEC sp_adddistributor @distributor = N'"+i.name+"', @password = N'D1stributor-Password'").Number).
		To(BeElementOf(int32(229), int32(21089)))
}
