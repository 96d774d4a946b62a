// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
)

// A snapshot goes into an alternate folder too, packed, and subscribers run the publication's scripts before and after
// it.
func TestSnapshotInAlternateFolder(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := newReplication(t)
	r.distribute(t)
	scripts, alt, other := t.TempDir(), t.TempDir(), t.TempDir()
	g.Expect(os.WriteFile(filepath.Join(scripts, "before.sql"),
		[]byte("IF SCHEMA_ID(N'extra') IS NULL EXEC (N'CREATE SCHEMA extra')\r\ngo\r\nIF OBJECT_ID(N'extra.seen') IS NULL "+
			"CREATE TABLE extra.seen (what varchar(10) NOT NULL)\r\nGO\r\nINSERT INTO extra.seen SELECT 'before' WHERE "+
			"OBJECT_ID(N'dbo.orders') IS NULL\r\nGO"), 0o600)).
		To(Succeed())
	g.Expect(os.WriteFile(filepath.Join(scripts, "after.sql"),
		[]byte("INSERT INTO extra.seen SELECT 'after' WHERE OBJECT_ID(N'dbo.orders') IS NOT NULL AND "+
			"OBJECT_ID(N'dbo.pictures') IS NOT NULL;\n"), 0o600)).
		To(Succeed())
	g.Expect(failure(t, r.source,
		`EXEC sp_addpublication @publication = N'web', @independent_agent = N'true', @compress_snapshot = N'true'`).Number).
		To(Equal(int32(21157)))
	g.Expect(failure(t, r.source,
		`EXEC sp_addpublication @publication = N'web', @independent_agent = N'true', @snapshot_in_defaultfolder = N'false'`).Number).
		To(Equal(int32(14043)))
	r.publishWith(
		t,
		"@immediate_sync = N'true', @snapshot_in_defaultfolder = N'false', @compress_snapshot = N'true', "+
			"@alt_snapshot_folder = N'"+alt+"', @pre_snapshot_script = N'"+filepath.Join(
			scripts,
			"before.sql",
		)+"', @post_snapshot_script = N'"+filepath.Join(
			scripts,
			"after.sql",
		)+"'",
	)
	r.pull(t)
	r.snapshot(t)
	r.bothSame(t)
	g.Eventually(func() any {
		rows, err := tryQuery(r.target, `SELECT what FROM extra.seen ORDER BY what`)
		return []any{rows, err}
	}).WithTimeout(deliverWithin).
		Should(Equal([]any{[][]any{{"after"}, {"before"}}, nil}))
	files := func(folder string) []string {
		list, err := filepath.Glob(filepath.Join(folder, "unc", "PUB_shop_web", "*", "*"))
		g.Expect(err).NotTo(HaveOccurred())
		for i, f := range list {
			list[i] = filepath.Base(f)
		}
		return list
	}
	g.Expect(files(alt)).To(Equal([]string{"snapshot.cab"}), "and nothing beside it")
	changes(t, r)
	r.bothSame(t)

	// Unpacked in both folders; the subscriber has the alternate one elsewhere.
	g.Expect(failure(t, r.source,
		`EXEC sp_changepublication @publication = N'web', @property = N'compress_snapshot', @value = N'false'`).Number).
		To(Equal(int32(20607)))
	for _, p := range [][2]string{{"compress_snapshot", "false"}, {"snapshot_in_defaultfolder", "true"},
		{"pre_snapshot_script", ""}} {
		mustExec(
			t,
			r.source,
			`EXEC sp_changepublication @publication = N'web', @property = @p1, @value = @p2, @force_invalidate_snapshot = 1`,
			p[0],
			p[1],
		)
	}
	g.Expect(query(t, r.source,
		`SELECT compress_snapshot, snapshot_in_defaultfolder, pre_snapshot_script FROM dbo.syspublications`)).
		To(Equal([][]any{{false, true, nil}}))
	mustExec(
		t,
		r.target,
		`EXEC sp_change_subscription_properties @publisher = N'PUB', @publisher_db = N'shop', @publication = N'web', @property = N'alt_snapshot_folder', @value = @p1`,
		other,
	)
	mustExec(t, r.subDB, `EXEC msdb.dbo.sp_stop_job @job_name = N'distribution'`)
	mustExec(
		t,
		r.source,
		`EXEC sp_reinitsubscription @publication = N'web', @subscriber = N'SUB', @invalidate_snapshot = 1`,
	)
	r.snapshot(t)
	g.Eventually(func() []string { return files(alt) }).
		WithTimeout(deliverWithin).
		Should(ContainElements("manifest.json", "post_after.sql", HaveSuffix(".bcp")))
	g.Eventually(func() any {
		return scalar(
			r.subDB,
			`SELECT TOP (1) message FROM msdb.dbo.sysjobhistory WHERE step_id = 1 AND message LIKE N'%could not read file%'`,
		)
	}).WithTimeout(deliverWithin).Should(ContainSubstring(other), "nothing is there yet")
	g.Expect(os.CopyFS(other, os.DirFS(alt))).To(Succeed())
	mustExec(t, r.source, `UPDATE dbo.orders SET customer = N'again' WHERE id = 1`)
	r.bothSame(t)
	g.Eventually(func() any { return scalar(r.target, `SELECT COUNT(*) FROM extra.seen WHERE what = 'after'`) }).
		WithTimeout(deliverWithin).
		Should(BeEquivalentTo(2))
}
