// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

// TestBackupsAreDeletedByAge: xp_delete_file, with which scripts of maintenance take old backups away: those of a
// folder, and of the folders in it where that is asked for, with the extension, that were last written before the time;
// files that are no backups stay. No page describes the procedure.
func TestBackupsAreDeletedByAge(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	i := newInstance(t)
	db := connection(t, i.open(t, "master"))
	mustExec(t, db, `EXEC master.dbo.xp_create_subdir N'/var/opt/mssql/data/kept/FULL/deep'`)
	g.Expect(query(t, db,
		`SELECT file_exists, file_is_a_directory FROM sys.dm_os_file_exists(N'/var/opt/mssql/data/kept/FULL')`)).
		To(Equal([][]any{{int64(0), int64(1)}}))
	folder := filepath.Join(i.root, "data", "kept")
	old := time.Now().Add(-72 * time.Hour)
	for _, name := range []string{"old.bak", "old.trn", "new.bak", "FULL/old.bak", "FULL/deep/old.bak"} {
		mustExec(t, db, `BACKUP DATABASE model TO DISK = N'/var/opt/mssql/data/kept/`+name+`'`)
		if name != "new.bak" {
			g.Expect(os.Chtimes(filepath.Join(folder, name), old, old)).To(Succeed())
		}
	}
	g.Expect(os.WriteFile(filepath.Join(folder, "other.bak"), []byte("no backup"), 0o600)).To(Succeed())
	g.Expect(os.Chtimes(filepath.Join(folder, "other.bak"), old, old)).To(Succeed())
	there := func() (names []string) {
		g.Expect(filepath.WalkDir(folder, func(path string, e os.DirEntry, err error) error {
			if err == nil && !e.IsDir() {
				name, _ := filepath.Rel(folder, path)
				names = append(names, name)
			}
			return err
		})).To(Succeed())
		return names
	}
	at := time.Now().UTC().Add(-24 * time.Hour).Format("2006-01-02T15:04:05")
	mustExec(
		t,
		db,
		`DECLARE @r int; EXECUTE @r = dbo.xp_delete_file 0, N'/var/opt/mssql/data/kept', 'bak', '`+at+`'; IF @r <> 0 OR @r IS NULL RAISERROR('Error deleting files.', 16, 1)`,
	)
	g.Expect(there()).To(ConsistOf("old.trn", "new.bak", "other.bak", "FULL/old.bak", "FULL/deep/old.bak"))
	mustExec(t, db, `EXEC master.sys.xp_delete_file 0, N'/var/opt/mssql/data/kept', N'bak', N'`+at+`', 1`)
	g.Expect(there()).To(ConsistOf("old.trn", "new.bak", "other.bak", "FULL/deep/old.bak"))
	g.Expect(failure(t, db, `EXEC master.dbo.xp_delete_file 1, N'/var/opt/mssql/data/kept', N'txt', N'`+at+`'`).Number).
		To(BeEquivalentTo(40517))
	mustExec(t, db, `CREATE LOGIN nobody WITH PASSWORD = N'Str0ng-Passw0rd'`)
	g.Expect(failure(t, i.openAs(t, "nobody", "Str0ng-Passw0rd", "master"),
		`EXEC master.dbo.xp_delete_file 0, N'/var/opt/mssql/data/kept', N'bak', N'`+at+`'`).Number).
		To(BeEquivalentTo(229))
}
