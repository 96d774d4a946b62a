// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"testing"

	. "github.com/onsi/gomega"
)

// A distribution database that is in use is not dropped, and stays one: it may be dropped again when nobody is in it.
func TestADistributionDatabaseInUseStaysOne(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	dist := newInstance(t)
	db := dist.open(t, "master")
	mustExec(
		t,
		db,
		`EXEC sp_adddistributor @distributor = N'CONTRACT2', @password = N'Distr1bute-Me'; EXEC sp_adddistributiondb @database = N'distribution'`,
	)
	user := connection(t, dist.open(t, "distribution"))
	mustExec(t, user, `SELECT 1`)
	g.Expect(failure(t, db, `EXEC sp_dropdistributiondb @database = N'distribution'`).Number).To(Equal(int32(3702)))
	g.Expect(query(t, db, `SELECT is_distributor FROM sys.databases WHERE name = N'distribution'`)).
		To(Equal([][]any{{true}}))
	g.Expect(query(t, db, `EXEC sp_helpdistributiondb`)).To(HaveLen(1))
	g.Expect(query(t, db, `SELECT name FROM msdb.dbo.sysjobs WHERE name LIKE N'% clean up: distribution'`)).To(HaveLen(2))
	g.Expect(failure(t, db, `EXEC sp_dropdistributor`).Number).To(Equal(int32(14121)))
	mustExec(t, user, `USE master`)
	mustExec(t, db, `EXEC sp_dropdistributiondb @database = N'distribution'; EXEC sp_dropdistributor`)
	g.Expect(query(t, db, `SELECT name FROM sys.databases WHERE name = N'distribution'`)).To(BeEmpty())
	g.Expect(query(t, db, `SELECT name FROM msdb.dbo.sysjobs`)).To(BeEmpty())
}
