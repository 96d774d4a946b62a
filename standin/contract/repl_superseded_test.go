// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
)

// snapshotFolders are the folders of finished snapshots below the distributor's working directory, oldest first.
func (r *replication) snapshotFolders(t *testing.T) []string {
	t.Helper()
	directory, _ := value(t, r.distDB,
		`SELECT working_directory FROM msdb.dbo.MSdistpublishers WHERE name = N'PUB'`).(string)
	manifests, err := filepath.Glob(filepath.Join(directory, "unc", "*", "*", "manifest.json"))
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	var folders []string
	for _, m := range manifests {
		folders = append(folders, filepath.Dir(m))
	}
	return folders
}

// newSnapshot runs the snapshot agent to its end.
func (r *replication) newSnapshot(t *testing.T) {
	t.Helper()
	const successes = `SELECT COUNT(*) FROM distribution.dbo.MSsnapshot_history WHERE runstatus = 2 AND comments LIKE N'%was generated%'`
	before := value(t, r.distDB, successes).(int64)
	NewWithT(t).Eventually(func() error {
		_, err := r.source.Exec(`EXEC sp_startpublication_snapshot @publication = N'web'`)
		return err
	}).WithTimeout(deliverWithin).Should(Succeed())
	NewWithT(
		t,
	).Eventually(func() any { return scalar(r.distDB, successes) }).
		WithTimeout(deliverWithin).
		Should(BeNumerically(">", before))
}

// The snapshot that a subscription waits for is made again before its agent comes to it, and the files of the first are
// gone: the agent applies the newest one, and of the changes only those that it lacks.
func TestSupersededSnapshotIsSkipped(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := newReplication(t)
	r.distribute(t)
	r.publishWith(t, "@immediate_sync = N'true'")
	r.newSnapshot(t)
	first := r.snapshotFolders(t)
	g.Expect(first).To(HaveLen(1))
	r.pullDisabled(t)
	changes(t, r)
	r.newSnapshot(t)
	g.Expect(r.snapshotFolders(t)).To(HaveLen(2))
	g.Expect(os.RemoveAll(first[0])).To(Succeed())
	mustExec(
		t,
		r.source,
		`UPDATE dbo.orders SET amount = 1000 WHERE id = 1; INSERT INTO dbo.orders VALUES (4000, N'after both', 1, NULL, NULL)`,
	)
	mustExec(t, r.subDB, `EXEC msdb.dbo.sp_update_job @job_name = N'distribution', @enabled = 1`)
	mustExec(t, r.subDB, `EXEC msdb.dbo.sp_start_job @job_name = N'distribution'`)
	r.bothSame(t)
	g.Expect(value(t, r.distDB, `SELECT COUNT(*) FROM distribution.dbo.MSdistribution_history WHERE runstatus = 6`)).
		To(BeEquivalentTo(0), "no attempt failed")
	g.Expect(value(t, r.distDB, `SELECT COUNT(DISTINCT subscription_seqno) FROM distribution.dbo.MSsubscriptions`)).
		To(BeEquivalentTo(1), "the subscription begins where its snapshot does")

	// A subscription that has its copy is not touched by the next snapshot.
	mustExec(t, r.target, `UPDATE dbo.orders SET customer = N'kept' WHERE id = 4000`)
	r.newSnapshot(t)
	mustExec(t, r.source, `INSERT INTO dbo.orders VALUES (4001, N'after the third', 1, NULL, NULL)`)
	g.Eventually(func() any { return scalar(r.target, `SELECT COUNT(*) FROM dbo.orders WHERE id IN (4000, 4001)`) }).
		WithTimeout(deliverWithin).
		Should(BeEquivalentTo(2))
	g.Expect(value(t, r.target, `SELECT customer FROM dbo.orders WHERE id = 4000`)).To(Equal("kept"))
}

// A snapshot is taken away while an agent applies it, and another one is there: the agent applies that one, and commits
// it.
func TestASnapshotThatIsTakenAwayIsReplacedByTheNext(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := newReplication(t)
	r.distribute(t)
	script := filepath.Join(t.TempDir(), "before.sql")
	g.Expect(os.WriteFile(script, []byte(throughGate), 0o600)).To(Succeed())
	r.publishWith(t, "@immediate_sync = N'true', @pre_snapshot_script = N'"+script+"'")
	r.newSnapshot(t)
	first := r.snapshotFolders(t)
	g.Expect(first).To(HaveLen(1))
	r.pullDisabled(t)
	a := &gate{db: r.target}
	a.close(t)
	mustExec(t, r.subDB, `EXEC msdb.dbo.sp_update_job @job_name = N'distribution', @enabled = 1`)
	mustExec(t, r.subDB, `EXEC msdb.dbo.sp_start_job @job_name = N'distribution'`)
	a.await(t)
	changes(t, r)
	r.newSnapshot(t)
	g.Expect(os.RemoveAll(first[0])).To(Succeed())
	a.open()
	r.bothSame(t)
	mustExec(t, r.source, `INSERT INTO dbo.orders VALUES (5000, N'after the snapshot', 1, NULL, NULL)`)
	r.bothSame(t)
	// What is not committed does not outlive the server.
	r.sub.kill()
	g.Expect(r.sub.launch()).To(Succeed())
	r.bothSame(t)
	g.Expect(value(t, r.distDB,
		`SELECT COUNT(*) FROM distribution.dbo.MSdistribution_history WHERE runstatus = 6 AND comments LIKE N'%apply the snapshot%'`)).
		To(BeEquivalentTo(0), "no attempt failed")
}

// sp_adddistributor was interrupted after it had made the link: what is half made is no distributor, and the call is
// repeated as a whole.
func TestHalfMadeDistributor(t *testing.T) {
	g := NewWithT(t)
	i := newInstance(t, "MSSQL_AGENT_ENABLED=true")
	i.name = value(t, i.open(t, "master"), "SELECT @@SERVERNAME").(string)
	db := i.open(t, "master")
	mustExec(
		t,
		db,
		`EXEC sp_addlinkedserver @server = N'repl_distributor', @srvproduct = N'', @provider = N'MSOLEDBSQL', @datasrc = N'127.0.0.1,1'`,
	)
	g.Expect(query(t, db, `EXEC sp_get_distributor`)[0][0]).To(BeEquivalentTo(0))
	mustExec(t, db, `EXEC sp_adddistributor @distributor = @p1, @password = N'Distr1bute-Me'`, i.name)
	mustExec(t, db, `EXEC sp_adddistributiondb @database = N'distribution'`)
	g.Expect(query(t, db, `EXEC sp_get_distributor`)[0][0]).To(BeEquivalentTo(1))
	g.Expect(failure(t, db, `EXEC sp_adddistributor @distributor = @p1, @password = N'Distr1bute-Me'`, i.name).Number).
		To(BeEquivalentTo(14099))

	// So was sp_dropdistributor, after it had dropped the link.
	mustExec(t, db, `EXEC sp_dropdistributiondb @database = N'distribution'`)
	mustExec(t, db, `EXEC sp_dropserver @server = N'repl_distributor', @droplogins = 'droplogins'`)
	mustExec(t, db, `EXEC sp_dropdistributor`)
	g.Expect(query(t, db, `SELECT SUSER_ID(N'distributor_admin'), OBJECT_ID(N'msdb.dbo.MSdistributor')`)).
		To(Equal([][]any{{nil, nil}}))
	g.Expect(failure(t, db, `EXEC sp_dropdistributor`).Number).To(BeEquivalentTo(21043))
}
