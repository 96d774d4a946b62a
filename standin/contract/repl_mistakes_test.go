// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"testing"

	. "github.com/onsi/gomega"
)

// TestNamesThatReplicationHolds: databases, tables and servers that replication knows by their names keep them.
// By the messages 15051, 18855, 20582 and 20583 (docs/relational-databases/errors-events/database-engine-events-and-errors.md) and
// docs/relational-databases/system-stored-procedures/sp-dropserver-transact-sql.md (Remarks).
func TestNamesThatReplicationHolds(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := newReplication(t)
	r.distribute(t)
	r.publish(t)
	r.pullDisabled(t)
	refused := func(db executor, number, class int, text string) {
		t.Helper()
		err := failure(t, db, text)
		g.Expect([]int{int(err.Number), int(err.Class)}).To(Equal([]int{number, class}), text)
	}
	refused(r.source, 15051, 11, `EXEC sp_rename N'dbo.orders', N'sales'`)
	refused(r.source, 15051, 11, `EXEC sp_rename N'dbo.orders.customer', N'client', N'COLUMN'`)
	refused(r.pubDB, 18855, 11, `EXEC sp_renamedb N'shop', N'store'`)
	refused(r.pubDB, 18855, 11, `ALTER DATABASE shop MODIFY NAME = store`)
	refused(r.distDB, 18855, 11, `ALTER DATABASE distribution MODIFY NAME = other`)
	mustExec(t, r.source, `EXEC sp_rename N'dbo.keyless', N'loose'`)
	for _, logins := range []string{"", ", N'droplogins'"} {
		refused(r.pubDB, 20583, 16, `EXEC sp_dropserver N'SUB'`+logins)
		refused(r.distDB, 20583, 16, `EXEC sp_dropserver N'SUB'`+logins)
		refused(r.distDB, 20582, 16, `EXEC sp_dropserver N'PUB'`+logins)
		refused(r.subDB, 20582, 16, `EXEC sp_dropserver N'PUB'`+logins)
	}

	mustExec(t, r.target, `EXEC sp_droppullsubscription @publisher = N'PUB', @publisher_db = N'shop', @publication = N'web'`)
	mustExec(t, r.subDB, `EXEC sp_dropserver N'PUB'`)
	mustExec(t, r.source, `EXEC sp_dropsubscription @publication = N'web', @article = N'all', @subscriber = N'SUB'`)
	mustExec(t, r.source, `EXEC sp_dropsubscriber @subscriber = N'SUB'`)
	mustExec(t, r.pubDB, `EXEC sp_dropserver N'SUB'`)
	mustExec(t, r.source, `EXEC sp_droppublication @publication = N'web'`)
	mustExec(t, r.source, `EXEC sp_rename N'dbo.orders', N'sales'`)
	mustExec(t, r.pubDB, `EXEC sp_replicationdboption @dbname = N'shop', @optname = N'publish', @value = N'false'`)
	mustExec(t, r.pubDB, `EXEC sp_dropdistributor`)
	mustExec(t, r.distDB, `EXEC sp_dropdistpublisher @publisher = N'PUB'`)
	mustExec(t, r.distDB, `EXEC sp_dropserver N'PUB'`)
}
