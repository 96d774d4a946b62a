// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

// TestDamagedBackupLeavesTheOldDatabase: a set that cannot be read to its end does not cost the database that it was to
// replace (docs/relational-databases/backup-restore/possible-media-errors-during-backup-and-restore-sql-server.md:
// RESTORE stops at an error).
func TestDamagedBackupLeavesTheOldDatabase(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	i := newInstance(t)
	db := connection(t, i.newDatabase(t, "works"))
	mustExec(
		t,
		db,
		"CREATE TABLE t (a int, filler char(2000)); INSERT t SELECT value, 'x' FROM GENERATE_SERIES(1, 500); USE master",
	)
	mustExec(
		t,
		db,
		"BACKUP DATABASE works TO DISK = 'whole.bak'; BACKUP DATABASE works TO DISK = 'diff.bak' WITH DIFFERENTIAL; "+
			"UPDATE works.dbo.t SET a = 0",
	)
	damage := func(from, to string, change func([]byte) []byte) {
		content, err := os.ReadFile(filepath.Join(i.root, "data", from))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(os.WriteFile(filepath.Join(i.root, "data", to), change(content), 0o660)).To(Succeed())
	}
	flip := func(b []byte) []byte { b[len(b)/2] ^= 1; return b }
	damage("whole.bak", "flipped.bak", flip)
	damage("whole.bak", "cut.bak", func(b []byte) []byte { return b[:len(b)/2] })
	damage("diff.bak", "flippeddiff.bak", flip)
	old, state := "SELECT COUNT(*), SUM(a) FROM works.dbo.t", "SELECT state_desc FROM sys.databases WHERE name = 'works'"
	converse(t, db, []say{
		{"RESTORE DATABASE works FROM DISK = 'flipped.bak' WITH REPLACE", "!3241/16"},
		{old, "500 0"},
		{"RESTORE DATABASE works FROM DISK = 'cut.bak' WITH REPLACE", "!3241/16"},
		{
			"RESTORE DATABASE works FROM DISK = 'flipped.bak' WITH REPLACE, MOVE 'works' TO '" + i.root + "/data/other.mdf'",
			"!3241/16",
		},
		{old, "500 0"},
		{state, "ONLINE"},
		{"INSERT works.dbo.t VALUES (7, 'y')", "ok"},
	})
	i.stop(t)
	g.Expect(i.launch()).To(Succeed())
	db = connection(t, i.open(t, "master"))
	converse(t, db, []say{
		{old, "501 7"},
		{"RESTORE DATABASE works FROM DISK = 'whole.bak' WITH REPLACE, NORECOVERY", "ok"},
		{"RESTORE DATABASE works FROM DISK = 'flippeddiff.bak' WITH NORECOVERY", "!3241/16"},
		{state, "RESTORING"},
		{"RESTORE DATABASE works FROM DISK = 'diff.bak' WITH RECOVERY", "ok"},
		{"SELECT COUNT(*), MIN(a), MAX(a) FROM works.dbo.t", "500 1 500"},
	})
	g.Expect(filepath.Glob(filepath.Join(i.root, "data", "*.restoring*"))).To(BeEmpty())
}

// TestServerIsKilledWhileItRestoresOver: whenever the server ends in RESTORE ... WITH REPLACE, the database is the old
// one or the restored one when it starts again, in the old files or in those of MOVE.
func TestServerIsKilledWhileItRestoresOver(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	i := newInstance(t)
	db := i.newDatabase(t, "works")
	mustExec(t, db, "CREATE TABLE t (a int, filler char(2000)); INSERT t SELECT 0, 'x' FROM GENERATE_SERIES(1, 2000)")
	mustExec(t, db, "BACKUP DATABASE works TO DISK = 'works.bak'")
	db.Close()
	longest, replaced := 200*time.Millisecond, 0
	for round := 1; round <= 12; round++ {
		master := i.open(t, "master")
		mustExec(t, master, fmt.Sprintf("UPDATE works.dbo.t SET a = %d", round))
		place := fmt.Sprintf("%s/data/works%d", i.root, rand.IntN(2))
		ended := make(chan struct{})
		begun := time.Now()
		go func() {
			defer close(ended)
			_, err := master.ExecContext(
				context.Background(),
				fmt.Sprintf(
					"RESTORE DATABASE works FROM DISK = 'works.bak' WITH REPLACE, MOVE 'works' TO '%s.mdf', MOVE 'works_log' "+
						"TO '%s.ldf'",
					place,
					place,
				),
			)
			if err == nil {
				longest = time.Since(begun)
			}
		}()
		time.Sleep(rand.N(longest + longest/4))
		i.kill()
		<-ended
		master.Close()
		g.Expect(i.launch()).To(Succeed())
		after := connection(t, i.open(t, "master"))
		if value(t, after, "SELECT state_desc FROM sys.databases WHERE name = 'works'") == "RESTORING" {
			mustExec(t, after, "RESTORE DATABASE works WITH RECOVERY")
		}
		rows := query(t, after, "SELECT COUNT(*), MIN(a), MAX(a) FROM works.dbo.t")
		g.Expect(rows).
			To(Or(Equal([][]any{{int64(2000), int64(round), int64(round)}}), Equal([][]any{{int64(2000), int64(0), int64(0)}})))
		if rows[0][1] == int64(0) {
			replaced++
		}
		g.Expect(filepath.Glob(filepath.Join(i.root, "data", "works*.mdf"))).To(HaveLen(1), "the database has one data file")
		g.Expect(after.Close()).To(Succeed())
	}
	t.Logf("restored in %d of 12 rounds", replaced)
}

// TestRestoreOverTheSameFilesByAnotherName: a path that leads to the old files in another way makes these no other
// files.
func TestRestoreOverTheSameFilesByAnotherName(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	i := newInstance(t)
	db := connection(t, i.newDatabase(t, "works"))
	g.Expect(os.Symlink(filepath.Join(i.root, "data"), filepath.Join(i.root, "link"))).To(Succeed())
	mustExec(
		t,
		db,
		"CREATE TABLE t (a int); INSERT t VALUES (1); USE master; BACKUP DATABASE works TO DISK = 'works.bak'; UPDATE "+
			"works.dbo.t SET a = 2",
	)
	mustExec(t, db, "CREATE DATABASE other")
	converse(
		t,
		db,
		[]say{
			{
				"RESTORE DATABASE works FROM DISK = 'works.bak' WITH REPLACE, MOVE 'works' TO '" + i.root + "/link/other.mdf'",
				"!1834/16",
			},
		},
	)
	for _, folder := range []string{"/data/../data/", "/link/", "/data//"} {
		move := "MOVE 'works' TO '" + i.root + folder + "works.mdf', MOVE 'works_log' TO '" + i.root + folder +
			"works_log.ldf'"
		mustExec(t, db, "RESTORE DATABASE works FROM DISK = 'works.bak' WITH REPLACE, "+move)
		converse(t, db, []say{{"SELECT a FROM works.dbo.t", "1"}, {"UPDATE works.dbo.t SET a = 2", "ok"}})
	}
	i.stop(t)
	g.Expect(i.launch()).To(Succeed())
	converse(t, connection(t, i.open(t, "master")), []say{{"SELECT a FROM works.dbo.t", "2"}})
}

// TestMSDBRestoredToOtherFiles: where RESTORE moves msdb is where it is after each start.
func TestMSDBRestoredToOtherFiles(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	i := newInstance(t)
	db := connection(t, i.open(t, "master"))
	mustExec(
		t,
		db,
		"CREATE TABLE msdb.dbo.mine (a int); INSERT msdb.dbo.mine VALUES (1); BACKUP DATABASE msdb TO DISK = 'msdb.bak'",
	)
	mustExec(
		t,
		db,
		"RESTORE DATABASE msdb FROM DISK = 'msdb.bak' WITH REPLACE, MOVE 'MSDBData' TO '"+i.root+"/data/moved.mdf', MOVE "+
			"'MSDBLog' TO '"+i.root+"/data/moved.ldf'",
	)
	for range 2 {
		converse(
			t,
			db,
			[]say{
				{"SELECT a FROM msdb.dbo.mine", "1"},
				{"SELECT COUNT(*) FROM sys.master_files WHERE database_id = 4 AND physical_name LIKE '%moved%'", "2"},
			},
		)
		i.stop(t)
		g.Expect(i.launch()).To(Succeed())
		db = connection(t, i.open(t, "master"))
	}
}

// TestServerIsKilledWhileItRestoresMsdb: there is no server without msdb, whenever it ends in RESTORE.
func TestServerIsKilledWhileItRestoresMsdb(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	i := newInstance(t)
	master := i.open(t, "master")
	mustExec(t, master, "BACKUP DATABASE msdb TO DISK = 'msdb.bak'")
	mustExec(t, master, "RESTORE DATABASE msdb FROM DISK = 'msdb.bak' WITH REPLACE")
	longest, sets := 100*time.Millisecond, "SELECT COUNT(*) FROM msdb.dbo.backupset"
	for range 8 {
		mustExec(t, master, "BACKUP DATABASE msdb TO DISK = 'msdb.bak' WITH INIT")
		before := value(t, master, sets).(int64)
		mustExec(t, master, "BACKUP DATABASE msdb TO DISK = 'other.bak' WITH INIT")
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			begun := time.Now()
			if _, err := master.ExecContext(context.Background(),
				"RESTORE DATABASE msdb FROM DISK = 'msdb.bak' WITH REPLACE"); err == nil {
				longest = time.Since(begun)
			}
		}()
		time.Sleep(rand.N(longest + longest/4))
		i.kill()
		<-ended
		master.Close()
		g.Expect(i.launch()).To(Succeed())
		master = i.open(t, "master")
		g.Expect(value(t, master, sets)).To(Or(Equal(before-1), Equal(before+1)))
		g.Expect(value(t, master, "SELECT state_desc FROM sys.databases WHERE name = 'msdb'")).To(Equal("ONLINE"))
	}
}
