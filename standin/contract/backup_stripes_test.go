// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

// disks are devices for BACKUP and RESTORE.
func disks(names ...string) string {
	list := make([]string, len(names))
	for i, name := range names {
		list[i] = "DISK = '" + name + "'"
	}
	return strings.Join(list, ", ")
}

// TestBackupIsSpreadOverDevices: docs/relational-databases/backup-restore/
// media-sets-media-families-and-backup-sets-sql-server.md: a media set of three families, on each of which is a part of
// every backup set, and RESTORE of it, whatever the order in which the devices are named.
func TestBackupIsSpreadOverDevices(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	i := newInstance(t)
	db := connection(t, i.newDatabase(t, "works"))
	mustExec(t, db, "CREATE TABLE t (a int, filler char(2000)); INSERT t SELECT value, 'x' FROM GENERATE_SERIES(1, 500)")
	mustExec(t, db, "USE master")
	to, turned := disks("a.bak", "b.bak", "c.bak"), disks("c.bak", "a.bak", "b.bak")
	converse(t, db, []say{
		{"BACKUP DATABASE works TO " + to + " WITH FORMAT, MEDIANAME = 'three', CHECKSUM, MAXTRANSFERSIZE = 65536", "ok"},
		{"INSERT works.dbo.t VALUES (501, 'y'); BACKUP LOG works TO " + turned + " WITH COMPRESSION", "ok"},
		{"INSERT works.dbo.t VALUES (502, 'y'); BACKUP DATABASE works TO " + to + " WITH DIFFERENTIAL, COMPRESSION", "ok"},
		{"INSERT works.dbo.t VALUES (503, 'y'); BACKUP LOG works TO " + to + " WITH NOINIT, MEDIANAME = 'three'", "ok"},
		{
			"SELECT type, position, first_family_number, last_family_number, catalog_family_number FROM msdb.dbo.backupset " +
				"ORDER BY backup_set_id",
			"D 1 1 3 1; L 2 1 3 1; I 3 1 3 1; L 4 1 3 1",
		},
		{"SELECT media_set_id, media_family_count, mirror_count FROM msdb.dbo.backupmediaset", "1 3 1"},
		{
			"SELECT media_set_id, family_sequence_number, RIGHT(physical_device_name, 5) FROM msdb.dbo.backupmediafamily " +
				"ORDER BY family_sequence_number",
			"1 1 a.bak; 1 2 b.bak; 1 3 c.bak",
		},
		{"SELECT COUNT(DISTINCT media_family_id) FROM msdb.dbo.backupmediafamily", "3"},
		{"RESTORE VERIFYONLY FROM " + turned + " WITH FILE = 4, MEDIANAME = 'three'", "ok"},
		{"RESTORE VERIFYONLY FROM " + turned + " WITH FILE = 5", "!4038/16"},
		{"DROP DATABASE works", "ok"},
		{"RESTORE DATABASE works FROM " + turned + " WITH NORECOVERY, BUFFERCOUNT = 4", "ok"},
		{"RESTORE DATABASE works FROM " + to + " WITH FILE = 3, NORECOVERY", "ok"},
		{"RESTORE LOG works FROM " + disks("b.bak", "c.bak", "a.bak") + " WITH FILE = 4", "ok"},
		{"SELECT COUNT(*), MAX(a) FROM works.dbo.t", "503 503"},
		{"SELECT device_count FROM msdb.dbo.restorehistory", "3; 3; 3"},
	})
	g.Expect(query(t, db, "RESTORE FILELISTONLY FROM "+turned)).To(HaveLen(2))
	for n, name := range []string{"a.bak", "b.bak", "c.bak"} {
		label := one(t, i.open(t, ""), "RESTORE LABELONLY FROM "+disks(name))
		g.Expect(label).To(And(HaveKeyWithValue("FamilyCount", int64(3)),
			HaveKeyWithValue("FamilySequenceNumber", int64(n+1)), HaveKeyWithValue("MediaName", "three")))
		g.Expect(label["MediaFamilyId"]).To(Equal(value(t, db,
			fmt.Sprintf("SELECT media_family_id FROM msdb.dbo.backupmediafamily WHERE family_sequence_number = %d", n+1))))
		g.Expect(query(t, db, "RESTORE HEADERONLY FROM "+disks(name))).To(HaveLen(4), "each device has every set's header")
		g.Expect(query(t, db, "RESTORE FILELISTONLY FROM "+disks(name)+" WITH FILE = 2")).To(HaveLen(2))
		// A third of the data is in each.
		info, err := os.Stat(filepath.Join(i.root, "data", name))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(info.Size()).To(BeNumerically(">", 300<<10), name)
	}
	headers := query(t, db, "RESTORE HEADERONLY FROM "+turned)
	g.Expect(headers).To(HaveLen(4))
	const backupSize = 12
	g.Expect(fmt.Sprintf("%s", headers[0][backupSize])).
		To(Equal(fmt.Sprintf("%s", value(t, db, "SELECT backup_size FROM msdb.dbo.backupset WHERE position = 1"))))
}

// TestDevicesThatAreNoMediaSet: the errors 3132, 3205, 3227, 3231, 3254 and 3258 of
// docs/relational-databases/errors-events/database-engine-events-and-errors.md. FORMAT alone gives a device to another
// media set (docs/t-sql/statements/backup-transact-sql.md, FORMAT).
func TestDevicesThatAreNoMediaSet(t *testing.T) {
	t.Parallel()
	i := newInstance(t)
	db := connection(t, i.newDatabase(t, "works"))
	mustExec(t, db, "USE master")
	backup := func(names ...string) string { return "BACKUP DATABASE works TO " + disks(names...) }
	many := make([]string, 65)
	for n := range many {
		many[n] = fmt.Sprint("m", n, ".bak")
	}
	list := []say{
		{backup("a.bak", "b.bak"), "ok"},
		{backup("x.bak", "y.bak"), "ok"},
		{backup("z.bak"), "ok"},
		{backup("NUL", "NUL"), "ok"},
		{backup(many[:64]...), "ok"},
		{backup(many...), "!3205/16"},
		{"RESTORE VERIFYONLY FROM " + disks(many...), "!3205/16"},
		{"RESTORE VERIFYONLY FROM " + disks(many[:64]...), "ok"},
		{backup("b.bak", "a.bak"), "ok"},
		{backup("a.bak", "a.bak") + " WITH FORMAT", "!3201/16"},
		{backup("a.bak", "nothing.bak") + " WITH INIT", "!3254/16"},
		{backup("z.bak") + " WITH INIT", "ok"},
		{backup("a.bak", "no/where.bak"), "!3201/16"},
	}
	for devices, want := range map[string]string{
		disks("a.bak"): "!3132/16", disks("b.bak"): "!3132/16", disks("a.bak", "b.bak", "z.bak"): "!3231/16",
		disks("z.bak", "a.bak"): "!3231/16", disks("a.bak", "y.bak"): "!3258/16",
	} {
		for _, option := range []string{"", " WITH INIT", " WITH SKIP"} {
			list = append(list, say{"BACKUP DATABASE works TO " + devices + option, want})
		}
		list = append(list,
			say{"RESTORE VERIFYONLY FROM " + devices, want},
			say{"RESTORE DATABASE works FROM " + devices + " WITH REPLACE", want},
			say{"RESTORE LOG works FROM " + devices, want})
		if strings.Contains(devices, ",") {
			list = append(list, say{"RESTORE HEADERONLY FROM " + devices, want},
				say{"RESTORE FILELISTONLY FROM " + devices, want})
		}
	}
	for _, verb := range []string{"DATABASE works", "VERIFYONLY", "HEADERONLY", "FILELISTONLY"} {
		list = append(list, say{"RESTORE " + verb + " FROM " + disks("a.bak", "a.bak"), "!3227/16"},
			say{"RESTORE " + verb + " FROM " + disks("a.bak", "nothing.bak"), "!3201/16"})
	}
	converse(t, db, append(list, []say{
		{"SELECT COUNT(*) FROM msdb.dbo.backupset WHERE position = 2", "1"},
		{"RESTORE VERIFYONLY FROM " + disks("a.bak", "b.bak") + " WITH FILE = 2", "ok"},
		{backup("b.bak") + " WITH FORMAT", "ok"},
		{"RESTORE VERIFYONLY FROM " + disks("b.bak"), "ok"},
		{"RESTORE VERIFYONLY FROM " + disks("a.bak", "b.bak"), "!3231/16"},
		{"SELECT state_desc FROM sys.databases WHERE name = 'works'", "ONLINE"},
	}...))
}

// TestDamageOnAnyDeviceIsFound: each media family has its own checksum, and 3241 names the device
// (docs/relational-databases/backup-restore/possible-media-errors-during-backup-and-restore-sql-server.md). The database
// that was to be replaced stays. A set that a crash left on some of the devices is told and cut.
func TestDamageOnAnyDeviceIsFound(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	i := newInstance(t)
	db := connection(t, i.newDatabase(t, "works"))
	mustExec(t, db, "CREATE TABLE t (a int, filler char(2000)); INSERT t SELECT value, 'x' FROM GENERATE_SERIES(1, 500)")
	mustExec(t, db, "USE master")
	for _, compression := range []string{"COMPRESSION", "NO_COMPRESSION"} {
		names := []string{compression + "1.bak", compression + "2.bak", compression + "3.bak"}
		devices := disks(names...)
		mustExec(t, db, "BACKUP DATABASE works TO "+devices+" WITH "+compression)
		for _, name := range names {
			path := filepath.Join(i.root, "data", name)
			whole, err := os.ReadFile(path)
			g.Expect(err).NotTo(HaveOccurred())
			flipped := append([]byte{}, whole...)
			flipped[len(flipped)/2] ^= 1
			for _, damaged := range [][]byte{flipped, whole[:len(whole)-1], []byte("no backup")} {
				g.Expect(os.WriteFile(path, damaged, 0o660)).To(Succeed())
				for _, text := range []string{"RESTORE VERIFYONLY FROM " + devices,
					"RESTORE DATABASE works FROM " + devices + " WITH REPLACE"} {
					e := failure(t, db, text)
					g.Expect(e.Number).To(Equal(int32(3241)), text)
					g.Expect(e.Message).To(ContainSubstring(name), text)
				}
			}
			g.Expect(os.WriteFile(path, whole, 0o660)).To(Succeed())
		}
		converse(t, db, []say{
			{"SELECT COUNT(*) FROM works.dbo.t", "500"},
			{"RESTORE DATABASE works FROM " + devices + " WITH REPLACE", "ok"},
			{"SELECT COUNT(*) FROM works.dbo.t", "500"},
		})
	}
}

// TestUnfinishedStripesAreToldAndCut: what a crash leaves of a set that was appended to several devices does not touch
// those before it.
func TestUnfinishedStripesAreToldAndCut(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	i := newInstance(t)
	db := connection(t, i.newDatabase(t, "works"))
	mustExec(t, db, "USE master")
	devices := disks("1.bak", "2.bak")
	path := func(n int) string { return filepath.Join(i.root, "data", fmt.Sprint(n, ".bak")) }
	mustExec(t, db, "BACKUP DATABASE works TO "+devices)
	before, err := os.ReadFile(path(1))
	g.Expect(err).NotTo(HaveOccurred())
	second, err := os.Stat(path(2))
	g.Expect(err).NotTo(HaveOccurred())
	mustExec(t, db, "BACKUP LOG works TO "+devices)
	// The first family's part comes last: without it there is no set.
	g.Expect(os.WriteFile(path(1), append(before, make([]byte, 100)...), 0o660)).To(Succeed())
	rows := query(t, db, "RESTORE HEADERONLY FROM "+devices)
	g.Expect(rows).To(HaveLen(2))
	g.Expect(rows[1][0]).To(Equal("*** INCOMPLETE ***"))
	converse(t, db, []say{
		{"RESTORE VERIFYONLY FROM " + devices, "ok"},
		{"RESTORE VERIFYONLY FROM " + devices + " WITH FILE = 2", "!4038/16"},
		{"BACKUP DATABASE works TO " + devices, "ok"},
		{"RESTORE VERIFYONLY FROM " + devices + " WITH FILE = 2", "ok"},
	})
	// A part that was lost later is damage.
	g.Expect(os.Truncate(path(2), second.Size())).To(Succeed())
	converse(t, db, []say{
		{"RESTORE VERIFYONLY FROM " + devices, "ok"},
		{"RESTORE VERIFYONLY FROM " + devices + " WITH FILE = 2", "!3241/16"},
		{"BACKUP LOG works TO " + devices, "!3241/16"},
		{"BACKUP DATABASE works TO " + devices + " WITH INIT", "ok"},
		{"RESTORE VERIFYONLY FROM " + devices, "ok"},
	})
}

// TestServerIsKilledWhileItBacksUpToDevices: whenever the server ends in a BACKUP that appends to several devices, the
// sets before it are there, the new one wholly or not at all, and the next BACKUP goes behind them.
func TestServerIsKilledWhileItBacksUpToDevices(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	i := newInstance(t)
	db := i.newDatabase(t, "works")
	mustExec(t, db, "CREATE TABLE t (a int, filler char(2000)); INSERT t SELECT 0, 'x' FROM GENERATE_SERIES(1, 1000)")
	db.Close()
	devices := disks("1.bak", "2.bak", "3.bak")
	mustExec(t, i.open(t, "master"), "BACKUP DATABASE works TO "+devices)
	longest, told, finished := 100*time.Millisecond, 1, 0
	for range 8 {
		master := i.open(t, "master")
		ended := make(chan error)
		go func() {
			var err error
			for err == nil {
				begun := time.Now()
				if _, err = master.ExecContext(context.Background(), "BACKUP DATABASE works TO "+devices); err == nil {
					told++
					longest = time.Since(begun)
				}
			}
			ended <- err
		}()
		time.Sleep(rand.N(2 * longest))
		i.kill()
		<-ended
		master.Close()
		g.Expect(i.launch()).To(Succeed())
		after := connection(t, i.open(t, "master"))
		finished = 0
		for _, row := range query(t, after, "RESTORE HEADERONLY FROM "+devices) {
			if row[0] != "*** INCOMPLETE ***" {
				finished++
				mustExec(t, after, fmt.Sprintf("RESTORE VERIFYONLY FROM %s WITH FILE = %d", devices, finished))
			}
		}
		g.Expect(finished).To(BeNumerically(">=", told), "what was told is there")
		told = finished
		g.Expect(after.Close()).To(Succeed())
	}
	t.Logf("%d sets after 8 rounds", finished)
}
