// SPDX-License-Identifier: Apache-2.0

//go:build integration

package backups

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/backup"
	"geosql.dev/operator/internal/backup/seal"
	"geosql.dev/operator/internal/backup/store"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/conf"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/test/support/bucket"
	"geosql.dev/operator/test/support/engine"
)

const (
	patient = 3 * time.Minute
	often   = 50 * time.Millisecond
)

// told is a Source that a test tells.
type told chan map[string][]byte

func (s told) Watch(ctx context.Context, update func(map[string][]byte)) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case data := <-s:
			update(data)
		}
	}
}

// server is an engine with a sidecar's part beside it.
type server struct {
	*engine.Engine
	t      *testing.T
	bucket *bucket.Server
	db     *mssql.DB
	part   *Part
	orders told
	end    func()
	// identities are the private keys of what is encrypted.
	identities []string
}

func newServer(t *testing.T) *server {
	t.Helper()
	s := &server{Engine: engine.Start(t, "web", "tukpub"), t: t, bucket: bucket.Start(t)}
	connector := s.Connector(t)
	var err error
	if s.db, err = connector.Open(t.Context(), mssql.Target{Namespace: "web", Server: "tukpub",
		Role: credentials.RoleSA}); err != nil {
		t.Fatal(err)
	}
	s.exec("CREATE DATABASE Content")
	s.exec("ALTER DATABASE Content SET RECOVERY FULL")
	s.exec("CREATE TABLE Content.dbo.t (id int PRIMARY KEY)")
	s.begin()
	return s
}

// begin starts the part, as a sidecar that begins does.
func (s *server) begin() {
	ctx, cancel := context.WithCancel(context.Background())
	s.orders = make(told)
	open := func(context.Context) (*mssql.DB, error) { return s.db, nil }
	s.part = NewPart(s.orders, "tukpub-0", s.OnDisk(conf.BackupDir), Engine{open, open, open},
		slog.New(slog.DiscardHandler))
	s.part.listEvery = time.Second
	done := make(chan struct{})
	go func() { defer close(done); _ = s.part.Run(ctx) }()
	s.end = func() { cancel(); <-done }
	s.t.Cleanup(s.end)
}

func (s *server) exec(text string) {
	s.t.Helper()
	if _, err := s.db.Handle().ExecContext(s.t.Context(), text); err != nil {
		s.t.Fatalf("%s: %v", text, err)
	}
}

// order has the policy carried out.
func (s *server) order(edit func(*orders.Backup)) {
	s.t.Helper()
	o := orders.Backup{Policy: "nightly", Namespace: "web", Target: "server/tukpub",
		Full: orders.BackupTimes{Schedule: "0 1 29 2 *"}, LogEvery: time.Second, Compression: true, Checksum: true,
		Verify: true,
		Stores: []orders.BackupStore{{Name: "bucket", Endpoint: s.bucket.Bucket.Endpoint, Bucket: s.bucket.Bucket.Name,
			Prefix: s.bucket.Bucket.Prefix, AccessKey: s.bucket.Bucket.AccessKey, SecretKey: s.bucket.Bucket.SecretKey,
			CA: s.bucket.Bucket.CA}}}
	if edit != nil {
		edit(&o)
	}
	data, err := o.Encode()
	if err != nil {
		s.t.Fatal(err)
	}
	s.orders <- map[string][]byte{orders.BackupKey(o.Policy): data}
}

// status of the one policy.
func (s *server) status() Status {
	all := s.part.Status().([]Status)
	if len(all) != 1 {
		return Status{}
	}
	return all[0]
}

// content is what the status has of the database.
func (s *server) content() DatabaseStatus {
	for _, d := range s.status().Databases {
		if d.Name == "Content" {
			return d
		}
	}
	return DatabaseStatus{}
}

// stored is what the bucket alone restores of the database.
func (s *server) stored() StoredDatabase {
	for _, in := range s.content().Stores {
		return in
	}
	return StoredDatabase{}
}

// kept are the sets of the bucket, as anybody reads them who knows the bucket alone.
func (s *server) kept() []Kept {
	s.t.Helper()
	opened, err := store.Open(s.bucket.Bucket)
	if err != nil {
		s.t.Fatal(err)
	}
	defer opened.Close()
	c := &catalog{name: "bucket", folder: "web/server/tukpub", store: opened, now: time.Now}
	if err := c.list(s.t.Context()); err != nil {
		s.t.Fatal(err)
	}
	return c.current().Sets
}

// full is the bucket's first full backup; none is the zero one.
func (s *server) full() Kept {
	s.t.Helper()
	for _, k := range s.kept() {
		if k.Kind == backup.Full {
			return k
		}
	}
	return Kept{}
}

// Rows are written while the policy is carried out, and the database is restored from the bucket alone to a moment: it
// has the rows of until then and no other.
func TestAPolicyIsCarriedOutAndRestores(t *testing.T) {
	g := NewWithT(t)
	s := newServer(t)
	s.order(nil)
	g.Eventually(func() int { return s.content().Sets }, patient, often).Should(BeNumerically(">=", 2))
	var moment time.Time
	for n := range 40 {
		s.exec(fmt.Sprintf("INSERT Content.dbo.t VALUES (%d)", n))
		if n == 19 {
			time.Sleep(20 * time.Millisecond) // datetime has three milliseconds
			moment = time.Now()
			time.Sleep(20 * time.Millisecond)
		}
	}
	written := time.Now()
	g.Eventually(func() time.Time {
		if w := s.content().Windows; len(w) == 1 {
			return w[0].To
		}
		return time.Time{}
	}, patient, often).Should(BeTemporally(">", written), "the last row can be restored")
	g.Eventually(func() int { return s.content().Unverified }, patient, often).Should(BeZero())
	g.Eventually(func() time.Time { return s.stored().Verified }, patient, often).Should(BeTemporally(">", written),
		"and was read back")
	g.Eventually(func() bool {
		entries, err := os.ReadDir(filepath.Join(s.OnDisk(conf.BackupDir), setsDir, "web", "server", "tukpub", "Content"))
		return err == nil && !slices.ContainsFunc(entries, func(e os.DirEntry) bool {
			at, _ := backup.FolderTime(e.Name())
			return at.Before(written)
		})
	}, patient, often).Should(BeTrue(), "what the store has need not lie on the backup volume")
	s.end()

	g.Expect(s.restored(s.kept(), backup.Target{Time: moment})).To(Equal(20))
	g.Expect(s.restored(s.kept(), backup.Target{})).To(Equal(40))
	for _, k := range s.kept() {
		g.Expect(k.Verified || k.Finished.After(written)).To(BeTrue(), k.String())
	}
}

// restored restores a copy of the database from the bucket, counts its rows, and drops it.
func (s *server) restored(sets []Kept, to backup.Target) (rows int) {
	s.t.Helper()
	opened, err := store.Open(s.bucket.Bucket)
	if err != nil {
		s.t.Fatal(err)
	}
	defer opened.Close()
	by := map[string]backup.Description{}
	var all []backup.Set
	for _, k := range sets {
		by[k.ID] = k.Description
		all = append(all, k.Set)
	}
	chain, err := backup.Restoring(all, to)
	if err != nil {
		s.t.Fatal(err)
	}
	dir := s.t.TempDir()
	for n, set := range chain.Sets {
		d := by[set.ID]
		from := ""
		for i, f := range d.Files {
			file := filepath.Join(dir, fmt.Sprintf("%d-%s", n, f.Name))
			if err := opened.Download(s.t.Context(), d.KeyOf(f.Name), file, f.SHA256, nil); err != nil {
				s.t.Fatal(err)
			}
			if i > 0 {
				from += ", "
			}
			if f.Plain != nil {
				was := seal.Content{Bytes: f.Plain.Bytes, SHA256: f.Plain.SHA256}
				if err := seal.Open(s.t.Context(), file, was, s.identities); err != nil {
					s.t.Fatal(err)
				}
			}
			from += "DISK = '" + file + "'"
		}
		verb, with := "DATABASE", ", MOVE 'Content' TO '"+dir+"/c.mdf', MOVE 'Content_log' TO '"+dir+"/c.ldf'"
		if set.Kind == backup.Log {
			verb, with = "LOG", ""
			if n == len(chain.Sets)-1 && !chain.StopAt.IsZero() {
				local := chain.StopAt.UTC().Add(time.Duration(d.ClockOffset) * time.Minute)
				with = ", STOPAT = '" + local.Format("2006-01-02T15:04:05.000") + "'"
			}
		}
		s.exec("RESTORE " + verb + " copied FROM " + from + " WITH NORECOVERY" + with)
	}
	s.exec("RESTORE DATABASE copied WITH RECOVERY")
	if err := s.db.Handle().QueryRowContext(s.t.Context(), "SELECT COUNT(*) FROM copied.dbo.t").Scan(&rows); err != nil {
		s.t.Fatal(err)
	}
	s.exec("DROP DATABASE copied")
	return rows
}

// The sidecar ends between any two of its steps: what the engine has backed up is in the store in the end, nothing is
// there twice, and the log has no hole.
func TestASidecarThatEndsLosesNoBackup(t *testing.T) {
	g := NewWithT(t)
	s := newServer(t)
	s.order(nil)
	g.Eventually(func() int { return s.content().Sets }, patient, often).Should(BeNumerically(">=", 2))
	for n := range 8 {
		s.exec(fmt.Sprintf("INSERT Content.dbo.t VALUES (%d)", n))
		time.Sleep(time.Duration(n) * 150 * time.Millisecond)
		s.end()
		s.begin()
		s.order(nil)
	}
	written := time.Now()
	g.Eventually(func() time.Time {
		if w := s.content().Windows; len(w) == 1 {
			return w[0].To
		}
		return time.Time{}
	}, patient, often).Should(BeTemporally(">", written))
	// One of the log may be on its way at any moment; none is due then for an hour.
	s.order(func(o *orders.Backup) { o.LogEvery = time.Hour })
	g.Eventually(s.part.sets.begun, patient, often).Should(BeEmpty())
	s.end()
	g.Expect(s.restored(s.kept(), backup.Target{})).To(Equal(8))
	fulls := 0
	for _, k := range s.kept() {
		if k.Kind == backup.Full {
			fulls++
		}
	}
	g.Expect(fulls).To(Equal(1), "the first is found again")
}

// While the store is away logs are backed up all the same, to the server's own volume, and it gets them when it is
// back.
func TestLogsAreBackedUpWhileTheStoreIsAway(t *testing.T) {
	g := NewWithT(t)
	s := newServer(t)
	s.order(nil)
	g.Eventually(func() []backup.Window { return s.content().Windows }, patient, often).ShouldNot(BeEmpty())
	s.bucket.Stop()
	s.exec("INSERT Content.dbo.t VALUES (1)")
	written := time.Now()
	g.Eventually(func() time.Time { return s.content().Log }, patient, often).Should(BeTemporally(">", written))
	g.Expect(s.content().Waiting).NotTo(BeZero())
	g.Expect(s.content().Windows[0].To).To(BeTemporally("<", written), "what a store does not have is lost with "+
		"the server")
	g.Eventually(func() map[string]string { return s.status().Failing }, patient, often).
		Should(HaveKey("send logs to bucket"))
	g.Expect(json.Marshal(s.status())).NotTo(ContainSubstring(s.bucket.Bucket.SecretKey))
	s.bucket.Launch()
	g.Eventually(func() time.Time {
		if w := s.content().Windows; len(w) == 1 {
			return w[0].To
		}
		return time.Time{}
	}, patient, often).Should(BeTemporally(">", written))
}

// A bit that flips in the store is found, and what was damaged restores nothing: another full backup is taken.
func TestADamagedBackupIsFoundAndReplaced(t *testing.T) {
	g := NewWithT(t)
	s := newServer(t)
	s.order(func(o *orders.Backup) { o.Verify = false })
	g.Eventually(func() []Kept { return s.kept() }, patient, often).ShouldNot(BeEmpty())
	full := s.full()
	g.Expect(full.Kind).To(Equal(backup.Full))
	g.Eventually(func() bool {
		_, err := os.Stat(filepath.Join(s.OnDisk(conf.BackupDir), setsDir, full.Folder()))
		return os.IsNotExist(err)
	}, patient, often).Should(BeTrue(), "it is not sent again while it is here")
	file := s.bucket.File(full.KeyOf(full.Files[0].Name))
	content, err := os.ReadFile(file)
	g.Expect(err).NotTo(HaveOccurred())
	content[len(content)/2] ^= 1
	g.Expect(os.WriteFile(file, content, 0o600)).To(Succeed())
	s.order(nil)
	g.Eventually(func() int { return s.content().Damaged }, patient, often).Should(Equal(1))
	g.Expect(s.stored().Damaged).To(BeTemporally("==", full.Finished))
	g.Eventually(func() time.Time { return s.content().Full }, patient, often).Should(BeTemporally(">", full.Finished))
	g.Eventually(func() []backup.Window { return s.content().Windows }, patient, often).ShouldNot(BeEmpty())
}

// A log backup that the server does not note may be whole, as when msdb was full: it stays for people, and is said
// until a full backup is behind it. One that another log backup makes needless goes.
func TestALogBackupThatIsNotNotedIsKept(t *testing.T) {
	g := NewWithT(t)
	s := newServer(t)
	s.order(nil)
	g.Eventually(func() int { return s.content().Sets }, patient, often).Should(BeNumerically(">=", 3))
	family := s.content().Family
	s.end()
	left := func(name, family string, at time.Time) {
		take := Take{Database: "Content", Family: family, Kind: backup.Log}
		dir := s.part.engine.folder(t, name, take)
		g.Expect(os.Chtimes(filepath.Join(dir, takeName), at, at)).To(Succeed())
	}
	left(".new-missed", "another", time.Now().Add(-time.Hour)) // nothing that is known is of its history
	left(".new-needless", family, time.Now())
	s.begin()
	s.order(nil)
	g.Eventually(func() map[string]string { return s.status().Failing }, patient, often).
		Should(HaveKeyWithValue("account for what was backed up", ContainSubstring(".aside-missed")))
	kept := func(name string) string { return filepath.Join(s.OnDisk(conf.BackupDir), setsDir, name, "1.trn") }
	g.Expect(kept(".aside-missed")).To(BeAnExistingFile())
	s.exec("INSERT Content.dbo.t VALUES (1)")
	g.Eventually(kept(".aside-needless"), patient, often).ShouldNot(BeAnExistingFile())
	s.order(func(o *orders.Backup) {
		o.Requests = []orders.BackupRequest{{ID: "r", Kind: "Full", Database: "Content"}}
	})
	g.Eventually(kept(".past-missed"), patient, often).Should(BeAnExistingFile())
	g.Eventually(func() map[string]string { return s.status().Failing }, patient, often).Should(BeEmpty())
}

// What a Restore is making belongs to the agent until it is handed over, and is nothing to back up; where nobody has
// the agent's login nothing is left out.
func TestWhatARestoreIsMakingIsNotBackedUp(t *testing.T) {
	g := NewWithT(t)
	s := newServer(t)
	sources := func() (names []string) {
		all, err := mssql.ReadBackupSources(t.Context(), s.db)
		g.Expect(err).NotTo(HaveOccurred())
		for _, one := range all {
			names = append(names, one.Database)
		}
		return names
	}
	s.exec("CREATE DATABASE Content_restoretest")
	g.Expect(sources()).To(ConsistOf("Content", "Content_restoretest"), "there is no such login")
	s.exec("CREATE LOGIN geosql_agent WITH PASSWORD = 'An-Agents-0wn'")
	s.exec("ALTER AUTHORIZATION ON DATABASE::Content_restoretest TO geosql_agent")
	g.Expect(sources()).To(ConsistOf("Content"))
	s.exec("ALTER AUTHORIZATION ON DATABASE::Content_restoretest TO sa")
	g.Expect(sources()).To(ConsistOf("Content", "Content_restoretest"))
}

// The engine says when its log cannot be backed up: before the first full backup, and after the log was given up.
func TestTheEngineSaysWhetherTheLogCanBeBackedUp(t *testing.T) {
	g := NewWithT(t)
	s := newServer(t)
	logged := func() bool {
		sources, err := mssql.ReadBackupSources(t.Context(), s.db)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(sources).To(HaveLen(1))
		return sources[0].Logged
	}
	file := filepath.Join(t.TempDir(), "content.bak")
	g.Expect(logged()).To(BeFalse())
	s.exec("BACKUP DATABASE Content TO DISK = '" + file + "' WITH INIT")
	g.Expect(logged()).To(BeTrue())
	s.exec("ALTER DATABASE Content SET RECOVERY SIMPLE")
	g.Expect(logged()).To(BeFalse())
	s.exec("ALTER DATABASE Content SET RECOVERY FULL")
	g.Expect(logged()).To(BeFalse(), "the log of meanwhile is gone")
	s.exec("BACKUP DATABASE Content TO DISK = '" + file + "' WITH INIT, COPY_ONLY")
	g.Expect(logged()).To(BeFalse())
	s.exec("BACKUP DATABASE Content TO DISK = '" + file + "' WITH INIT")
	g.Expect(logged()).To(BeTrue())
}

// Everything is read back once more when a person asks for it: what was damaged meanwhile is found, what is whole again
// counts again, and nothing is read twice.
func TestEverythingIsReadBackOnceMore(t *testing.T) {
	g := NewWithT(t)
	s := newServer(t)
	s.order(nil)
	g.Eventually(func() time.Time { return s.stored().Verified }, patient, often).ShouldNot(BeZero())
	full := s.full()
	file := s.bucket.File(full.KeyOf(full.Files[0].Name))
	flip := func() {
		content, err := os.ReadFile(file)
		g.Expect(err).NotTo(HaveOccurred())
		content[len(content)/2] ^= 1
		g.Expect(os.WriteFile(file, content, 0o600)).To(Succeed())
	}
	ask := func(request string) *VerificationStatus {
		asked := &orders.BackupVerification{Request: request, Since: time.Now()}
		s.order(func(o *orders.Backup) { o.Verification = asked })
		var v *VerificationStatus
		g.Eventually(func() bool {
			for _, store := range s.status().Stores {
				v = store.Verification
			}
			return v != nil && v.Request == request && v.Left == 0
		}, patient, often).Should(BeTrue())
		return v
	}
	state := func() (verified, damaged bool) {
		for _, k := range s.kept() {
			if k.ID == full.ID {
				verified, damaged = k.Verified, k.Damaged
			}
		}
		return verified, damaged
	}
	flip()
	g.Expect(ask("u1/first").Damaged).To(Equal(1))
	verified, damaged := state()
	g.Expect([]bool{verified, damaged}).To(Equal([]bool{false, true}))
	flip()
	g.Expect(ask("u1/second").Damaged).To(BeZero())
	verified, damaged = state()
	g.Expect([]bool{verified, damaged}).To(Equal([]bool{true, false}))
}

// A backup that a person asks for is taken once, though the sidecar begins anew, and what is told of it is what the
// store has.
func TestABackupThatIsAskedForIsTakenOnce(t *testing.T) {
	g := NewWithT(t)
	s := newServer(t)
	asked := func(o *orders.Backup) {
		o.Requests = []orders.BackupRequest{{ID: "u1/Content", Kind: "Full", Database: "Content", CopyOnly: true}}
	}
	s.order(nil)
	g.Eventually(func() time.Time { return s.content().Full }, patient, often).ShouldNot(BeZero())
	g.Expect(s.status().Answers).To(BeEmpty())
	before := time.Now()
	s.order(asked)
	answer := func() Answer {
		for _, a := range s.status().Answers {
			return a
		}
		return Answer{}
	}
	g.Eventually(func() []AnswerPlace { return answer().In }, patient, often).
		Should(Equal([]AnswerPlace{{Store: "bucket", Verified: true}}))
	g.Expect(answer()).To(And(HaveField("Request", "u1/Content"), HaveField("Kind", backup.Full),
		HaveField("CopyOnly", true), HaveField("Finished", BeTemporally(">", before.Add(-time.Second))),
		HaveField("Bytes", BeNumerically(">", 0)), HaveField("LastLSN", Not(BeEmpty()))))
	s.end()
	s.begin()
	s.order(asked)
	g.Eventually(func() []AnswerPlace { return answer().In }, patient, often).ShouldNot(BeEmpty())
	s.exec("INSERT Content.dbo.t VALUES (1)")
	written := time.Now()
	g.Eventually(func() time.Time { return s.stored().Verified }, patient, often).Should(BeTemporally(">", written))
	var taken []string
	for _, k := range s.kept() {
		if k.Request != "" {
			taken = append(taken, k.ID)
		}
	}
	g.Expect(taken).To(ConsistOf(answer().ID))
	past := s.status().Past
	g.Expect(past).To(HaveLen(1), "what was asked for is none of what was due")
	g.Expect(past[0]).To(And(HaveField("Kind", backup.Full), HaveField("Database", "Content"),
		HaveField("Server", Not(BeEmpty())), HaveField("Bytes", BeNumerically(">", 0)),
		HaveField("In", Equal([]AnswerPlace{{Store: "bucket", Verified: true}}))))
	g.Expect(s.status().PastWhole).To(BeTrue())
}

// A file that the database gets once it is backed up is none of the backup's.
func TestASetHasTheFilesThatTheDatabaseHadThen(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s := newServer(t)
	dir := conf.DataDir
	s.exec("ALTER DATABASE Content ADD FILE (NAME = Content_2, FILENAME = '" + dir + "/Content_2.ndf')")
	var once sync.Once
	s.part.sets.at = func(point string) {
		if point == "executed Full" {
			once.Do(func() {
				s.exec("ALTER DATABASE Content REMOVE FILE Content_2")
				s.exec("ALTER DATABASE Content ADD FILE (NAME = Content_3, FILENAME = '" + dir + "/Content_3.ndf')")
			})
		}
	}
	s.order(func(o *orders.Backup) { o.Stores = nil })
	names := func(kind backup.Kind) (all []string) {
		for _, own := range s.part.sets.all("web", "server/tukpub") {
			if own.Kind == kind {
				for _, f := range own.DatabaseFiles {
					all = append(all, f.Name)
					g.Expect(f.Log).To(Equal(f.Name == "Content_log"))
					g.Expect(f.Bytes).To(BeNumerically(">", 0))
				}
				return all
			}
		}
		return nil
	}
	g.Eventually(func() []string { return names(backup.Full) }, patient, often).
		Should(Equal([]string{"Content", "Content_2", "Content_log"}))
	g.Eventually(func() []string { return names(backup.Log) }, patient, often).
		Should(Equal([]string{"Content", "Content_3", "Content_log"}))
}
