// SPDX-License-Identifier: Apache-2.0

package backup_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/standin/backup"
	"geosql.dev/standin/catalogview"
	"geosql.dev/standin/engine"
	"geosql.dev/standin/sqlerr"
)

// session is one of an instance that has the catalog views and backups beside the engine.
func session(t *testing.T) *engine.Session {
	t.Helper()
	inst, err := engine.New(
		context.Background(),
		engine.Config{
			ServerName: "TESTSERVER",
			DataDir:    t.TempDir(),
			SAPassword: "Str0ng!pass",
			Extensions: []engine.Extension{catalogview.Extension{}, backup.Extension{}},
		},
	)
	if err != nil {
		t.Fatal(err)
	}
	s, err := inst.Session(context.Background(), engine.SystemLogin, "master", "test")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(s.Close(), inst.Close()); err != nil {
			t.Error(err)
		}
	})
	return s
}

// one is the single value of a query.
func one(t *testing.T, s *engine.Session, text string) any {
	t.Helper()
	r, err := s.Query(context.Background(), text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return r.Rows[0][0]
}

func exec(t *testing.T, s *engine.Session, text string, params ...any) {
	t.Helper()
	if err := s.Exec(context.Background(), text, params...); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
}

// number is the number of a statement's last error, 0 when it has none.
func number(s *engine.Session, text string) int32 {
	var e *sqlerr.Error
	if errors.As(s.Exec(context.Background(), text), &e) {
		return e.Number
	}
	return 0
}

// TestRestoredAndRecorded: a database comes back as it was when it was backed up, and msdb knows of both.
func TestRestoredAndRecorded(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s := session(t)
	file := filepath.Join(t.TempDir(), "d.bak")
	exec(t, s, "CREATE DATABASE d")
	exec(t, s, "CREATE TABLE d.dbo.t (a int); INSERT INTO d.dbo.t VALUES (1), (2)")
	exec(t, s, "BACKUP DATABASE d TO DISK = '"+file+"' WITH FORMAT, NAME = 'first'")
	exec(t, s, "DELETE d.dbo.t")
	exec(t, s, "RESTORE DATABASE d FROM DISK = '"+file+"' WITH REPLACE")
	g.Expect(one(t, s, "SELECT COUNT(*) FROM d.dbo.t")).To(BeEquivalentTo(2))
	g.Expect(one(t, s, "SELECT name FROM msdb.dbo.backupset WHERE database_name = 'd'")).To(Equal("first"))
	g.Expect(one(t, s,
		"SELECT COUNT(*) FROM msdb.dbo.restorehistory AS h JOIN msdb.dbo.backupset AS b ON b.backup_set_id = "+
			"h.backup_set_id WHERE h.destination_database_name = 'd' AND h.replace = 1")).
		To(BeEquivalentTo(1))
	g.Expect(one(t, s, "SELECT COUNT(*) FROM msdb.dbo.restorefile")).To(BeEquivalentTo(2), "the data and the log")
	g.Expect(one(t, s, "SELECT filegroup_name FROM msdb.dbo.restorefilegroup")).To(Equal("PRIMARY"))
}

// TestSetsOfOneFile: a file has the sets that were written to it one behind the other, until FORMAT begins it anew.
func TestSetsOfOneFile(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s := session(t)
	file := filepath.Join(t.TempDir(), "d.bak")
	exec(t, s, "CREATE DATABASE d")
	for range 2 {
		exec(t, s, "BACKUP DATABASE d TO DISK = '"+file+"'")
	}
	headers := func() int {
		r, err := s.Query(context.Background(), "RESTORE HEADERONLY FROM DISK = '"+file+"'")
		g.Expect(err).NotTo(HaveOccurred())
		return len(r.Rows)
	}
	g.Expect(headers()).To(Equal(2))
	exec(t, s, "BACKUP DATABASE d TO DISK = '"+file+"' WITH FORMAT")
	g.Expect(headers()).To(Equal(1))
}

// TestRefused: each statement leaves the database as it is.
func TestRefused(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s := session(t)
	file, no := filepath.Join(t.TempDir(), "d.bak"), filepath.Join(t.TempDir(), "no.bak")
	g.Expect(os.WriteFile(no, []byte("not a backup"), 0o600)).To(Succeed())
	exec(t, s, "CREATE DATABASE d")
	exec(t, s, "ALTER DATABASE d SET RECOVERY FULL")
	for text, want := range map[string]int32{
		// behind 4214: there is no backup of the database
		"BACKUP LOG d TO DISK = '" + file + "'":                           3013,
		"BACKUP DATABASE nosuch TO DISK = '" + file + "'":                 3013,
		"RESTORE DATABASE d FROM DISK = '" + no + "' WITH REPLACE":        3013,
		"RESTORE DATABASE d FROM DISK = '" + file + "none'":               3013,
		"BACKUP DATABASE tempdb TO DISK = '" + file + "'":                 3147,
		"BACKUP DATABASE d TO DISK = '" + file + "', DISK = '" + no + "'": 3013, // behind 3241
	} {
		g.Expect(number(s, text)).To(Equal(want), text)
	}
	g.Expect(one(t, s, "SELECT state_desc FROM sys.databases WHERE name = 'd'")).To(Equal("ONLINE"))
	g.Expect(one(t, s, "SELECT COUNT(*) FROM msdb.dbo.backupset")).To(BeEquivalentTo(0))
}
