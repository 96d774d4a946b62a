// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
)

// reuseWait is what keeps the log of the publication database from being made shorter, after a backup of it.
func (r *replication) reuseWait(t *testing.T, backup string) any {
	t.Helper()
	mustExec(t, r.source, `BACKUP LOG shop TO DISK = @p1; CHECKPOINT`, backup)
	return value(t, r.source, `SELECT log_reuse_wait_desc FROM sys.databases WHERE name = N'shop'`)
}

// allDistributed marks everything in the log as distributed, as no log reader runs
// (docs/relational-databases/system-stored-procedures/sp-repldone-transact-sql.md).
const allDistributed = `EXEC sp_repldone @xactid = NULL, @xact_seqno = NULL, @numtrans = 0, @time = 0, @reset = 1; EXEC sp_replflush`

// publishOrders makes a publication of one table, and no job that reads the log.
func (r *replication) publishOrders(t *testing.T, name string) {
	t.Helper()
	mustExec(t, r.source, `EXEC sp_addpublication @publication = @p1, @status = N'active', @independent_agent = N'true'`, name)
	mustExec(t, r.source, `EXEC sp_addarticle @publication = @p1, @article = N'orders', @source_object = N'orders'`, name)
}

// backedUp is a published database whose log reader has read something, and nothing reads its log any more.
func backedUp(t *testing.T, backup string) *replication {
	t.Helper()
	r := newReplication(t)
	r.distribute(t)
	r.publishOrders(t, "web")
	mustExec(t, r.source, `INSERT INTO dbo.orders (id, customer) VALUES (70, N'before')`)
	mustExec(t, r.source, allDistributed)
	mustExec(t, r.source, `INSERT INTO dbo.orders (id, customer) VALUES (71, N'after')`)
	mustExec(t, r.source, `BACKUP DATABASE shop TO DISK = @p1`, backup)
	r.source.Close()
	return r
}

// Replication keeps its settings when a database is restored to its server, under its name; so the log is kept, too. By
// docs/relational-databases/replication/administration/back-up-and-restore-replicated-databases.md and
// docs/relational-databases/logs/the-transaction-log-sql-server.md (REPLICATION).
func TestRestoredPublicationDatabaseKeepsItsLog(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	at := t.TempDir()
	backup := filepath.Join(at, "shop.bak")
	r := backedUp(t, backup)
	mustExec(t, r.pubDB, `ALTER DATABASE shop SET SINGLE_USER WITH ROLLBACK IMMEDIATE;
		RESTORE DATABASE shop FROM DISK = @p1 WITH REPLACE; ALTER DATABASE shop SET MULTI_USER`, backup)
	r.source = r.pub.open(t, "shop")
	g.Expect(r.reuseWait(t, filepath.Join(at, "one.trn"))).To(Equal("REPLICATION"))
	reader := connection(t, r.source)
	g.Expect(failure(t, reader, `EXEC sp_replcmds`).Number).To(BeEquivalentTo(18846), "some of it is in no log any more")
	mustExec(t, reader, allDistributed)
	mustExec(t, reader, `EXEC sp_replcmds; EXEC sp_replflush`)
	g.Expect(r.reuseWait(t, filepath.Join(at, "two.trn"))).NotTo(Equal("REPLICATION"))
}

// A publication that is made anew in a restored database, which its server did not know, begins with the next change:
// the log that the former one had still to read is not there.
func TestPublicationMadeAnewInARestoredDatabase(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	backup := filepath.Join(t.TempDir(), "shop.bak")
	r := backedUp(t, backup)
	mustExec(t, r.pubDB, `EXEC sp_removedbreplication @dbname = N'shop', @type = N'tran'; DROP DATABASE shop`)
	mustExec(t, r.pubDB, `RESTORE DATABASE shop FROM DISK = @p1`, backup)
	r.source = r.pub.open(t, "shop")
	mustExec(t, r.source, `EXEC sp_replicationdboption @dbname = N'shop', @optname = N'publish', @value = N'true'`)
	g.Expect(r.reuseWait(t, backup+".trn")).To(Equal("REPLICATION"))
	mustExec(t, r.source, `EXEC sp_droppublication @publication = N'web', @ignore_distributor = 1`)
	r.publishOrders(t, "anew")
	rows, err := tryQuery(r.source, `EXEC sp_replcmds`)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(rows).To(HaveLen(1), "nothing is subscribed to, and only the position is told")
}
