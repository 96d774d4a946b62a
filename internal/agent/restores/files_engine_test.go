// SPDX-License-Identifier: Apache-2.0

//go:build integration

package restores

import (
	"fmt"
	"os"
	"path"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/backup"
	"geosql.dev/operator/internal/backup/store"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/conf"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/test/support/bucket"
	"geosql.dev/operator/test/support/engine"
)

// foreign is a server that somebody else runs: its backups are taken by plain statements, and copied to a bucket.
type foreign struct {
	*engine.Engine
	t      *testing.T
	db     *mssql.DB
	bucket *bucket.Server
}

func newForeign(t *testing.T) *foreign {
	t.Helper()
	f := &foreign{Engine: engine.Start(t, "else", "legacy"), t: t, bucket: bucket.Start(t)}
	f.db = connect(t, f.Engine, credentials.RoleSA)
	if err := os.MkdirAll(f.OnDisk(conf.BackupDir), 0o750); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"Sales", "Other"} {
		execute(t, f.db, "CREATE DATABASE "+name)
		execute(t, f.db, "ALTER DATABASE "+name+" SET RECOVERY FULL")
		execute(t, f.db, "CREATE TABLE "+name+".dbo.t (id int PRIMARY KEY)")
	}
	return f
}

func (f *foreign) write(from, to int) {
	for n := from; n < to; n++ {
		execute(f.t, f.db, fmt.Sprintf("INSERT Sales.dbo.t VALUES (%d)", n))
	}
}

// backUp takes a backup to files, such as DATABASE Sales.
func (f *foreign) backUp(what, options string, names ...string) {
	f.t.Helper()
	var disks []string
	for _, name := range names {
		disks = append(disks, "DISK = N'"+path.Join(conf.BackupDir, name)+"'")
	}
	execute(f.t, f.db, "BACKUP "+what+" TO "+strings.Join(disks, ", ")+" WITH "+options)
}

// upload copies files to the bucket, as people do.
func (f *foreign) upload(names ...string) {
	f.t.Helper()
	for _, name := range names {
		content, err := os.ReadFile(f.OnDisk(path.Join(conf.BackupDir, name)))
		if err != nil {
			f.t.Fatal(err)
		}
		f.put(name, content)
	}
}

func (f *foreign) put(name string, content []byte) {
	f.t.Helper()
	opened, err := store.Open(f.bucket.Bucket)
	if err != nil {
		f.t.Fatal(err)
	}
	defer opened.Close()
	if err := opened.Put(f.t.Context(), "imports/"+name, content); err != nil {
		f.t.Fatal(err)
	}
}

// moment is one behind what was committed and before what is next.
func moment() time.Time {
	// datetime has three milliseconds, and a row is not of the moment itself.
	time.Sleep(20 * time.Millisecond)
	defer time.Sleep(20 * time.Millisecond)
	return time.Now()
}

func TestADatabaseMovesInFromFiles(t *testing.T) {
	f, s := newForeign(t), newTarget(t)
	f.backUp("DATABASE Sales", "FORMAT", "Sales.bak")
	f.write(0, 10)
	after10 := moment()
	f.write(10, 12)
	f.backUp("LOG Sales", "FORMAT", "Sales_1.trn")
	f.write(12, 20)
	// Both into one file, the full one over three.
	f.backUp("DATABASE Sales", "DIFFERENTIAL, FORMAT", "more.bak")
	f.write(20, 25)
	f.backUp("LOG Sales", "NOINIT", "more.bak")
	f.backUp("DATABASE Other", "FORMAT", "Other.bak")
	f.backUp("DATABASE Sales", "COPY_ONLY, FORMAT", "s1.bak", "s2.bak", "s3.bak")
	f.upload("Sales.bak", "Sales_1.trn", "more.bak", "Other.bak", "s1.bak", "s2.bak", "s3.bak")
	f.put("notes.txt", []byte("ask Ann for the rest"))
	f.put("empty.bak", nil)
	whole, err := os.ReadFile(f.OnDisk(path.Join(conf.BackupDir, "Sales.bak")))
	if err != nil {
		t.Fatal(err)
	}
	f.put("cut.bak", whole[:len(whole)/2])
	f.Engine.Kill(t)

	order := func(name string, files ...string) orders.Restore {
		o := orders.Restore{Name: name, UID: "uid-" + name, Database: name, Import: &orders.Import{},
			Stores: []orders.BackupStore{(&taken{bucket: f.bucket}).store()}}
		for _, file := range files {
			o.Import.Files = append(o.Import.Files, "imports/"+file)
		}
		return o
	}
	all := []string{"more.bak", "Sales_1.trn", "Sales.bak"}
	kinds := func(status Status) (kinds []backup.Kind) {
		for _, set := range status.Chain {
			kinds = append(kinds, set.Kind)
		}
		return kinds
	}

	t.Run("a dry run shows what would be restored", func(t *testing.T) {
		g := NewWithT(t)
		o := order("dry", append(all, "s1.bak", "s2.bak", "Other.bak")...)
		o.DryRun, o.Import.Database = true, "sales"
		s.tell(o)
		status := s.ended("dry")
		g.Expect(status.Result.Reason).To(Equal(v1alpha1.ReasonRestorePlanned), status.Result.Message)
		g.Expect(kinds(status)).To(Equal([]backup.Kind{backup.Full, backup.Differential, backup.Log}))
		g.Expect(status.Chain[2].Files).To(Equal([]string{"imports/more.bak"}))
		g.Expect(status.Chain[2].Position).To(Equal(2))
		g.Expect(status.Chain[0].Bytes).To(BeEquivalentTo(len(whole)))
		g.Expect(status.Unused).To(ConsistOf(
			And(HaveField("Key", "imports/Sales_1.trn"), HaveField("Why", ContainSubstring("has all of it"))),
			And(HaveField("Key", "imports/s1.bak"), HaveField("Why", ContainSubstring("over 3 files, of which 2"))),
			And(HaveField("Key", "imports/Other.bak"), HaveField("Why", ContainSubstring("of database Other")))))
		g.Expect(s.exists("dry")).To(BeFalse())
	})

	for _, row := range []struct {
		name string
		edit func(*orders.Restore)
		rows int
		sets int
	}{
		{"newest", func(*orders.Restore) {}, 25, 3},
		{"tenth", func(o *orders.Restore) { o.Time, o.Import.TimeZone = after10, "Etc/UTC" }, 10, 2},
		{"logs", func(o *orders.Restore) { o.Import.Files = o.Import.Files[1:] }, 12, 2},
		{"striped", func(o *orders.Restore) {
			o.Import.Files = []string{"imports/s3.bak", "imports/s1.bak", "imports/s2.bak"}
		}, 25, 1},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			o := order(row.name, all...)
			row.edit(&o)
			s.tell(o)
			status := s.ended(row.name)
			g.Expect(status.Result.Outcome).To(Equal(Succeeded), status.Result.Message)
			g.Expect(s.rows(row.name)).To(Equal(upTo(row.rows)))
			g.Expect(status.Sets).To(Equal(row.sets))
			g.Expect(status.Downloaded).To(And(BeNumerically(">", 0), Equal(status.Bytes)))
			places, err := mssql.ReadDatabasePlaces(t.Context(), s.sa, row.name)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(places.Files).To(ConsistOf(path.Join(conf.DataDir, row.name+"-"+o.UID+".mdf"),
				path.Join(conf.LogDir, row.name+"-"+o.UID+".ldf")))
			g.Expect(s.fileNames(row.name)).To(ConsistOf("Sales", "Sales_log"), "as they were called")
		})
	}

	for _, row := range []struct {
		name, reason, says string
		edit               func(*orders.Restore)
	}{
		{"text", v1alpha1.ReasonFileNotUsable, "object imports/notes.txt is no backup",
			func(o *orders.Restore) { o.Import.Files[0] = "imports/notes.txt" }},
		{"empty", v1alpha1.ReasonFileNotUsable, "object imports/empty.bak is no backup",
			func(o *orders.Restore) { o.Import.Files[0] = "imports/empty.bak" }},
		{"cut", v1alpha1.ReasonFileNotUsable, "object imports/cut.bak is no backup, or is damaged (error 3241)",
			func(o *orders.Restore) { o.Import.Files = []string{"imports/cut.bak"} }},
		{"gone", v1alpha1.ReasonFileNotUsable, "no object imports/gone.bak",
			func(o *orders.Restore) { o.Import.Files[0] = "imports/gone.bak" }},
		{"folder", v1alpha1.ReasonFileNotUsable, " is no backup", func(o *orders.Restore) {
			o.Import.Files, o.Import.Folder = nil, "imports"
		}},
		{"nofolder", v1alpha1.ReasonFileNotUsable, "no object in folder export", func(o *orders.Restore) {
			o.Import.Files, o.Import.Folder = nil, "export"
		}},
		{"both", v1alpha1.ReasonDatabaseNotNamed, "2 databases, Other, Sales",
			func(o *orders.Restore) { o.Import.Files = append(o.Import.Files, "imports/Other.bak") }},
		{"zone", v1alpha1.ReasonRestoreRefused, "spec.source.timeZone", func(o *orders.Restore) { o.Time = after10 }},
		{"early", v1alpha1.ReasonNoChain, "no full backup was finished by then", func(o *orders.Restore) {
			o.Time, o.Import.TimeZone = after10, "Asia/Tokyo"
			o.Time = o.Time.Add(-24 * time.Hour)
		}},
	} {
		t.Run("refused: "+row.name, func(t *testing.T) {
			g := NewWithT(t)
			o := order(row.name, all...)
			row.edit(&o)
			s.tell(o)
			status := s.ended(row.name)
			g.Expect(status.Result.Outcome).To(Equal(Refused), status.Result.Message)
			g.Expect(status.Result.Reason).To(Equal(row.reason), status.Result.Message)
			g.Expect(status.Result.Message).To(ContainSubstring(row.says))
			g.Expect(s.exists(row.name)).To(BeFalse())
		})
	}

	t.Run("without room nothing is downloaded", func(t *testing.T) {
		g := NewWithT(t)
		more, err := os.Stat(f.OnDisk(path.Join(conf.BackupDir, "more.bak")))
		g.Expect(err).NotTo(HaveOccurred())
		s.part.free = func(string) (int64, error) { return more.Size() + 10, nil }
		s.tell(order("large", all...), func() orders.Restore { o := order("look", all...); o.DryRun = true; return o }())
		status := s.ended("large")
		g.Expect(status.Result.Reason).To(Equal(v1alpha1.ReasonNoRoom), status.Result.Message)
		g.Expect(status.Downloaded).To(BeZero())
		g.Expect(s.status("large").Result.Message).To(ContainSubstring("of the backup volume"))
		g.Expect(s.ended("look").Result.Reason).To(Equal(v1alpha1.ReasonRestorePlanned), "one after the other fits")
		s.tell()
		s.end()
		s.begin()
	})

	t.Run("ended at every step", func(t *testing.T) {
		o := order("ended", all...)
		o.Time, o.Import.TimeZone = after10, "Etc/UTC"
		endsAtEveryStep(t, s, o, 10, HavePrefix("before: find the files"), HavePrefix("before: download file 3"),
			HavePrefix("before: look into file 1"), HavePrefix("before: find the backups"),
			HavePrefix("before: restore set 1"), HavePrefix("after: RESTORE LOG"), HavePrefix("before: recover"),
			HavePrefix("before: remove"))
	})
}

// fileNames are the logical names of a database's files.
func (s *target) fileNames(database string) (names []string) {
	s.t.Helper()
	found, err := s.sa.Handle().QueryContext(s.t.Context(), "SELECT name FROM ["+database+"].sys.database_files")
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = found.Close() }()
	for found.Next() {
		var name string
		if err := found.Scan(&name); err != nil {
			s.t.Fatal(err)
		}
		names = append(names, name)
	}
	if err := found.Err(); err != nil {
		s.t.Fatal(err)
	}
	return names
}
