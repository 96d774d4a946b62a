// SPDX-License-Identifier: Apache-2.0

//go:build integration

package restores

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent/backups"
	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/backup"
	"geosql.dev/operator/internal/backup/store"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/conf"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/tsql"
	"geosql.dev/operator/test/support/bucket"
	"geosql.dev/operator/test/support/engine"
)

const (
	patient = 3 * time.Minute
	often   = 50 * time.Millisecond
	soon    = 5 * time.Millisecond
	folder  = "web/server/tukpub/Content"
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

// taken is a database that another server backed up, row by row: all that is left of it is the bucket.
type taken struct {
	bucket *bucket.Server
	// after are moments: after[n] is one when n rows were there.
	after [31]time.Time
	sets  []backups.Kept
	// recipient is the public key to which it is encrypted, empty for none, identities are the private ones.
	recipient  string
	identities []string
}

func (b *taken) store() orders.BackupStore {
	if b.recipient != "" {
		return b.plain().Encrypted(b.recipient, b.identities)
	}
	return b.plain()
}

func (b *taken) plain() orders.BackupStore {
	return orders.BackupStore{Name: "bucket", Endpoint: b.bucket.Bucket.Endpoint, Bucket: b.bucket.Bucket.Name,
		Prefix: b.bucket.Bucket.Prefix, AccessKey: b.bucket.Bucket.AccessKey, SecretKey: b.bucket.Bucket.SecretKey,
		CA: b.bucket.Bucket.CA}
}

// backUp writes 30 rows while a policy is carried out, with a differential behind the tenth, and loses the server.
func backUp(t *testing.T) *taken {
	t.Helper()
	return backUpTo(t, &taken{bucket: bucket.Start(t)})
}

func backUpTo(t *testing.T, b *taken) *taken {
	t.Helper()
	g := NewWithT(t)
	source := engine.Start(t, "web", "tukpub")
	db := connect(t, source, credentials.RoleSA)
	execute(t, db, "CREATE DATABASE Content")
	execute(t, db, "ALTER DATABASE Content SET RECOVERY FULL")
	execute(t, db, "CREATE TABLE Content.dbo.t (id int PRIMARY KEY)")
	to := make(told)
	open := func(context.Context) (*mssql.DB, error) { return db, nil }
	part := backups.NewPart(to, "tukpub-0", source.OnDisk(conf.BackupDir),
		backups.Engine{Ask: open, Data: open, Log: open}, slog.New(slog.DiscardHandler))
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); _ = part.Run(ctx) }()
	policy := orders.Backup{Policy: "nightly", Namespace: "web", Target: "server/tukpub", Stripes: 2, Checksum: true,
		Full: orders.BackupTimes{Schedule: "0 1 29 2 *"}, LogEvery: time.Second, AtPrimary: true,
		Stores: []orders.BackupStore{b.store()}}
	tell := func() {
		data, err := policy.Encode()
		g.Expect(err).NotTo(HaveOccurred())
		to <- map[string][]byte{orders.BackupKey("nightly"): data}
	}
	tell()
	kinds := func(kind backup.Kind) func() int {
		return func() (n int) {
			for _, k := range b.list(t) {
				if k.Kind == kind {
					n++
				}
			}
			return n
		}
	}
	g.Eventually(kinds(backup.Full), patient, often).Should(Equal(1))
	for n := range 30 {
		switch n {
		case 10:
			policy.Requests = []orders.BackupRequest{{ID: "d", Kind: "Differential", Database: "Content"}}
			tell()
			g.Eventually(kinds(backup.Differential), patient, often).Should(Equal(1))
		case 20:
			before := kinds(backup.Log)()
			g.Eventually(kinds(backup.Log), patient, often).Should(BeNumerically(">", before))
		}
		execute(t, db, fmt.Sprintf("INSERT Content.dbo.t VALUES (%d)", n))
		// datetime has three milliseconds, and the row is not of the moment itself.
		time.Sleep(20 * time.Millisecond)
		b.after[n+1] = time.Now()
		time.Sleep(20 * time.Millisecond)
	}
	g.Eventually(func() time.Time {
		at, _ := backup.Newest(backup.Sets(descriptions(b.list(t))))
		return at
	}, patient, often).Should(BeTemporally(">", b.after[30]))
	cancel()
	<-done
	source.Kill(t)
	b.sets = b.list(t)
	return b
}

func descriptions(sets []backups.Kept) (all []backup.Description) {
	for _, k := range sets {
		all = append(all, k.Description)
	}
	return all
}

func (b *taken) list(t *testing.T) []backups.Kept {
	t.Helper()
	opened, err := store.Open(b.bucket.Bucket)
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close()
	stored, err := backups.Folder(t.Context(), opened, folder)
	if err != nil {
		t.Fatal(err)
	}
	// They are read several at a time, and come in any order.
	slices.SortFunc(stored.Sets, func(a, b backups.Kept) int { return a.Finished.Compare(b.Finished) })
	return stored.Sets
}

func connect(t *testing.T, e *engine.Engine, role credentials.Role) *mssql.DB {
	t.Helper()
	db, err := e.Connector(t).Open(t.Context(), e.Target(role))
	if err != nil {
		t.Fatal(err)
	}
	return db
}

func execute(t *testing.T, db *mssql.DB, text string) {
	t.Helper()
	if _, err := db.Handle().ExecContext(t.Context(), text); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
}

// target is the server to which it is restored, with a sidecar's part beside it that has the login which sidecars have.
type target struct {
	*engine.Engine
	t         *testing.T
	sa, agent *mssql.DB
	part      *Part
	orders    told
	told      map[string]orders.Restore
	at        func(ctx context.Context, point string)
	end       func()
}

func newTarget(t *testing.T) *target {
	t.Helper()
	g := NewWithT(t)
	s := &target{Engine: engine.Start(t, "web", "quisec"), t: t, told: map[string]orders.Restore{},
		at: func(context.Context, string) {}}
	s.sa = connect(t, s.Engine, credentials.RoleSA)
	role := credentials.RoleAgent
	g.Expect(s.sa.Exec(t.Context(), tsql.CreateLogin(tsql.Login{Name: role.Login(),
		SID: credentials.SID("web", role.Login()), Password: s.Access.Passwords.Of(role)}))).To(Succeed())
	for _, p := range []tsql.ServerPermission{tsql.ViewServerState, tsql.ViewServerPerformanceState,
		tsql.ViewAnyDefinition, tsql.AlterAnyDatabase, tsql.CreateAnyDatabase} {
		g.Expect(s.sa.Exec(t.Context(), tsql.GrantServerPermission(p, role.Login()))).To(Succeed())
	}
	s.agent = connect(t, s.Engine, role)
	s.begin()
	return s
}

// begin starts the part, as a sidecar that begins does.
func (s *target) begin() {
	ctx, cancel := context.WithCancel(context.Background())
	s.orders = make(told)
	open := func(context.Context) (*mssql.DB, error) { return s.agent, nil }
	s.part = NewPart(s.orders, s.OnDisk(conf.BackupDir), backups.Engine{Ask: open, Data: open},
		slog.New(slog.DiscardHandler))
	s.part.tick, s.part.pause = often, often
	s.part.at = func(ctx context.Context, point string) { s.at(ctx, point) }
	done := make(chan struct{})
	go func() { defer close(done); _ = s.part.Run(ctx) }()
	s.end = func() { cancel(); <-done }
	s.t.Cleanup(s.end)
}

// tell orders these restores, and withdraws all others.
func (s *target) tell(all ...orders.Restore) {
	s.t.Helper()
	for name, o := range s.told {
		s.told[name] = orders.Restore{Name: name, UID: o.UID, Withdrawn: true}
	}
	for _, o := range all {
		s.told[o.Name] = o
	}
	data := map[string][]byte{}
	for _, o := range s.told {
		content, err := o.Encode()
		if err != nil {
			s.t.Fatal(err)
		}
		data[orders.RestoreKey(o.Name)] = content
	}
	s.orders <- data
}

func (s *target) status(name string) Status {
	for _, one := range s.part.Status().([]Status) {
		if one.Name == name {
			return one
		}
	}
	return Status{}
}

// ended waits until a restore has, with everything put away.
func (s *target) ended(name string) Status {
	s.t.Helper()
	g := NewWithT(s.t)
	g.Eventually(func() *Result { return s.status(name).Result }, patient, often).ShouldNot(BeNil(), "%+v", s.status(name))
	status := s.status(name)
	g.Eventually(func() []string { return s.kept(status.UID) }, patient, often).Should(ConsistOf(recordName))
	return status
}

// kept are the names in a restore's folder.
func (s *target) kept(uid string) (names []string) {
	entries, _ := os.ReadDir(filepath.Join(s.OnDisk(conf.BackupDir), restoresDir, uid))
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func (s *target) rows(database string) []int {
	s.t.Helper()
	rows := []int{}
	found, err := s.sa.Handle().QueryContext(s.t.Context(), "SELECT id FROM ["+database+"].dbo.t ORDER BY id")
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = found.Close() }()
	for found.Next() {
		var id int
		if err := found.Scan(&id); err != nil {
			s.t.Fatal(err)
		}
		rows = append(rows, id)
	}
	if err := found.Err(); err != nil {
		s.t.Fatal(err)
	}
	return rows
}

func (s *target) exists(database string) bool {
	s.t.Helper()
	found, err := mssql.ReadDatabasePlaces(s.t.Context(), s.sa, database)
	if err != nil {
		s.t.Fatal(err)
	}
	return found != nil
}

func upTo(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}

// From the bucket alone a database comes back on another server, as it was at each moment.
func TestADatabaseComesBackAsItWas(t *testing.T) {
	b := backUp(t)
	s := newTarget(t)
	order := func(name string, edit func(*orders.Restore)) orders.Restore {
		o := orders.Restore{Name: name, UID: "uid-" + name, Stores: []orders.BackupStore{b.store()}, Folder: folder,
			Database: name}
		edit(&o)
		return o
	}
	for _, row := range []struct {
		name string
		edit func(*orders.Restore)
		rows int
		kind backup.Kind
	}{
		{"latest", func(*orders.Restore) {}, 30, backup.Log},
		{"first", func(o *orders.Restore) { o.Time = b.after[1] }, 1, backup.Log},
		{"fifth", func(o *orders.Restore) { o.Time = b.after[5] }, 5, backup.Log},
		{"tenth", func(o *orders.Restore) { o.Time = b.after[10] }, 10, backup.Log},
		{"eleventh", func(o *orders.Restore) { o.Time = b.after[11] }, 11, backup.Log},
		{"last", func(o *orders.Restore) { o.Time = b.after[30] }, 30, backup.Log},
		{"differential", func(o *orders.Restore) { o.Backup = b.of(backup.Differential).ID }, 10, backup.Differential},
		{"full", func(o *orders.Restore) { o.Backup = b.of(backup.Full).ID }, 0, backup.Full},
		{"position", func(o *orders.Restore) { o.LSN = string(b.of(backup.Differential).LastLSN) }, 10,
			backup.Differential},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			o := order(row.name, row.edit)
			s.tell(o)
			status := s.ended(row.name)
			g.Expect(status.Result.Outcome).To(Equal(Succeeded), status.Result.Message)
			g.Expect(s.rows(row.name)).To(Equal(upTo(row.rows)))
			g.Expect(status.Chain[len(status.Chain)-1].Kind).To(Equal(row.kind))
			g.Expect(status.Restored).To(Equal(status.Sets))
			g.Expect(status.Downloaded).To(And(BeNumerically(">", 0), Equal(status.Bytes)))
			if !o.Time.IsZero() {
				g.Expect(status.ToTime).To(BeTemporally("==", o.Time))
			}
			s.tell()
			g.Eventually(func() []string { return s.kept(o.UID) }, patient, often).Should(BeEmpty())
			g.Expect(s.exists(row.name)).To(BeTrue(), "what was restored stays")
		})
	}

	t.Run("a dry run changes nothing", func(t *testing.T) {
		g := NewWithT(t)
		s.tell(order("dry", func(o *orders.Restore) { o.DryRun, o.Time = true, b.after[25] }))
		status := s.ended("dry")
		g.Expect(status.Result.Reason).To(Equal(v1alpha1.ReasonRestorePlanned))
		g.Expect(status.Chain).To(HaveLen(status.Sets))
		g.Expect(status.Chain[:2]).To(HaveExactElements(HaveField("Kind", backup.Full),
			HaveField("Kind", backup.Differential)))
		g.Expect(status.Bytes).To(BeNumerically(">", 0))
		g.Expect(status.Downloaded).To(BeZero())
		g.Expect(s.exists("dry")).To(BeFalse())
	})

	t.Run("and is checked", func(t *testing.T) {
		g := NewWithT(t)
		taken := false
		s.at = func(_ context.Context, point string) {
			if point == "before: "+(check{}).String() && !taken {
				// Within the database its owner is who owned it when it was backed up.
				taken = true
				execute(t, s.sa, "ALTER AUTHORIZATION ON DATABASE::checked TO sa")
			}
		}
		defer func() { s.at = func(context.Context, string) {} }()
		s.tell(order("checked", func(o *orders.Restore) { o.Check = true }))
		g.Eventually(func() Status { return s.status("checked") }, patient, often).Should(And(HaveField("Denied", true),
			HaveField("Step", Checking), HaveField("Result", BeNil())))
		execute(t, s.sa, "ALTER AUTHORIZATION ON DATABASE::checked TO geosql_agent")
		status := s.ended("checked")
		g.Expect(status.Result.Outcome).To(Equal(Succeeded), status.Result.Message)
		g.Expect(status.Checked).To(BeTrue())
		g.Expect(s.rows("checked")).To(Equal(upTo(30)))
	})

	t.Run("never over a database", func(t *testing.T) {
		g := NewWithT(t)
		execute(t, s.sa, "CREATE DATABASE there")
		execute(t, s.sa, "CREATE TABLE there.dbo.t (id int PRIMARY KEY)")
		s.tell(order("there", func(*orders.Restore) {}))
		status := s.ended("there")
		g.Expect(status.Result.Outcome).To(Equal(Refused))
		g.Expect(status.Result.Reason).To(Equal(v1alpha1.ReasonDatabaseExists))
		g.Expect(status.Downloaded).To(BeZero())
		g.Expect(s.rows("there")).To(BeEmpty())
	})

	t.Run("no chain", func(t *testing.T) {
		g := NewWithT(t)
		s.tell(order("early", func(o *orders.Restore) { o.Time = b.after[1].Add(-time.Hour) }),
			order("nowhere", func(o *orders.Restore) { o.Folder = "web/server/tukpub/Other" }))
		g.Expect(s.ended("early").Result.Reason).To(Equal(v1alpha1.ReasonNoChain))
		g.Expect(s.status("early").Result.Message).To(ContainSubstring("it can be restored to"))
		g.Expect(s.ended("nowhere").Result.Reason).To(Equal(v1alpha1.ReasonNoChain))
	})

	t.Run("while the store is away", func(t *testing.T) {
		g := NewWithT(t)
		b.bucket.Stop()
		s.tell(order("patient", func(*orders.Restore) {}))
		g.Eventually(func() string { return s.status("patient").Failing }, patient, often).
			Should(ContainSubstring("find the backups: store bucket"))
		b.bucket.Launch()
		g.Expect(s.ended("patient").Result.Outcome).To(Equal(Succeeded))
		g.Expect(s.rows("patient")).To(Equal(upTo(30)))
	})

	t.Run("without room", func(t *testing.T) {
		g := NewWithT(t)
		s.part.free = func(string) (int64, error) { return 10, nil }
		s.tell(order("large", func(*orders.Restore) {}))
		g.Eventually(func() string { return s.status("large").Failing }, patient, often).
			Should(ContainSubstring("the backup volume has 10 bytes free"))
		g.Expect(s.status("large").Downloaded).To(BeZero())
		s.tell()
		s.end()
		s.begin()
	})

	t.Run("never over a database that came meanwhile", func(t *testing.T) { behindTheLook(t, s, b) })
	t.Run("the orders are lost", func(t *testing.T) {
		g := NewWithT(t)
		o := order("lost", func(*orders.Restore) {})
		s.tell(o)
		g.Expect(s.ended("lost").Result.Outcome).To(Equal(Succeeded))
		s.orders <- nil // somebody deleted the Secret
		s.tell(o)
		g.Consistently(func() *Result { return s.status("lost").Result }, 2*time.Second, often).
			Should(HaveField("Outcome", Succeeded))
		g.Expect(s.rows("lost")).To(Equal(upTo(30)))
	})

	t.Run("its key is missing", func(t *testing.T) { awaitsItsKey(t, s, b) })
	t.Run("a store that fails", func(t *testing.T) { failingStores(t, s, b) })
	t.Run("ended within answers", func(t *testing.T) { endedWithinAnswers(t, s, b) })
	t.Run("into a group", func(t *testing.T) { intoGroup(t, s, b) })
	t.Run("ended at every step", func(t *testing.T) { endedAtEveryStep(t, s, b) })
	t.Run("a flipped bit", func(t *testing.T) { flipped(t, s, b) })
}

func (b *taken) of(kind backup.Kind) backup.Description {
	for _, k := range b.sets {
		if k.Kind == kind {
			return k.Description
		}
	}
	panic("no backup of kind " + kind)
}

// intoGroup restores a database where the server is the group's primary, and nowhere else; the group takes it then.
func intoGroup(t *testing.T, s *target, b *taken) {
	g := NewWithT(t)
	o := orders.Restore{Name: "grouped", UID: "uid-grouped", Stores: []orders.BackupStore{b.store()}, Folder: folder,
		Database: "grouped", Time: b.after[20], Group: "content"}
	without := ContainSubstring("the server has no availability group content")
	failing := func() string { return s.status("grouped").Failing }
	group := tsql.CreateGroup(tsql.Group{Name: "content", ClusterType: tsql.ClusterNone, Replicas: []tsql.Replica{
		{Server: "quisec-0", EndpointURL: "TCP://quisec-0:5022", Mode: tsql.SynchronousCommit}}})
	s.tell(o)
	g.Eventually(failing, patient, often).Should(without)
	g.Expect(s.status("grouped").Downloaded).To(Equal(s.status("grouped").Bytes), "all is there already")
	g.Expect(s.exists("grouped")).To(BeFalse(), "nothing is begun")

	// It is the primary when the restore begins, and no more when it would end.
	s.at = func(_ context.Context, point string) {
		if point == "before: restore set 2" {
			g.Expect(s.sa.Exec(t.Context(), tsql.DropGroup("content"))).To(Succeed())
		}
	}
	defer func() { s.at = func(context.Context, string) {} }()
	g.Expect(s.sa.Exec(t.Context(), group)).To(Succeed())
	g.Eventually(func() int { return s.status("grouped").Restored }, patient, often).
		Should(Equal(s.status("grouped").Sets))
	g.Eventually(failing, patient, often).Should(without)
	places, err := mssql.ReadDatabasePlaces(t.Context(), s.sa, "grouped")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(places.State).To(Equal("RESTORING"), "nobody can write to it")

	g.Expect(s.sa.Exec(t.Context(), group)).To(Succeed())
	g.Expect(s.ended("grouped").Result.Outcome).To(Equal(Succeeded))
	g.Expect(s.rows("grouped")).To(Equal(upTo(20)))
	for _, statement := range []tsql.Statement{tsql.SetDatabaseOwner("grouped", "sa"), tsql.SetRecoveryFull("grouped"),
		tsql.BackupDatabaseFull("grouped", conf.BackupDir+"/grouped-first.bak"),
		tsql.AddGroupDatabase("content", "grouped")} {
		g.Expect(s.sa.Exec(t.Context(), statement)).To(Succeed(), statement.Redacted())
	}
	have, err := mssql.ReadGroup(t.Context(), s.sa, "content")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(have.Databases).To(ConsistOf("grouped"))

	early := o
	early.Name, early.UID, early.Database, early.Group, early.Unmade = "early", "uid-early", "early", "yet-to-be", true
	s.tell(early)
	g.Expect(s.ended("early").Result.Outcome).To(Equal(Succeeded), "the group is made of it")
	g.Expect(s.rows("early")).To(Equal(upTo(20)))
}

// endedAtEveryStep ends the sidecar once at each point of a restore, before each step and when the engine has answered
// and nothing is written down: in the end the database is there, and nothing else of it.
func endedAtEveryStep(t *testing.T, s *target, b *taken) {
	endsAtEveryStep(t, s, orders.Restore{Name: "ended", UID: "uid-ended", Stores: []orders.BackupStore{b.store()},
		Folder: folder, Database: "ended", Time: b.after[28]}, 28,
		HavePrefix("before: find"), HavePrefix("before: download set 1"), HavePrefix("before: restore set 1"),
		HavePrefix("after: RESTORE DATABASE"), HavePrefix("after: RESTORE LOG"), HavePrefix("before: recover"),
		HaveSuffix("WITH RECOVERY"), HavePrefix("before: finish"), HavePrefix("before: remove"))
}

// endsAtEveryStep carries an order out so, at whose end there are rows, and which meets points.
func endsAtEveryStep(t *testing.T, s *target, o orders.Restore, rows int, through ...any) {
	g := NewWithT(t)
	s.end()
	met, reached := map[string]bool{}, make(chan string, 1)
	s.at = func(ctx context.Context, point string) {
		if met[point] || strings.HasPrefix(point, "before: wait") {
			return
		}
		met[point] = true
		select {
		case reached <- point:
		default: // this life ends already
		}
		<-ctx.Done() // nothing of this life goes on behind this point
	}
	defer func() { s.at = func(context.Context, string) {} }()
	over := func() bool { return s.status("ended").Result != nil && len(s.kept(o.UID)) == 1 }
	lives := 0
	for ; lives < 200; lives++ {
		s.begin()
		s.tell(o)
		g.Eventually(func() bool { return len(reached) > 0 || over() }, patient, soon).Should(BeTrue())
		if len(reached) == 0 {
			break
		}
		<-reached
		s.end()
	}
	r := s.status("ended").Result
	g.Expect(r).NotTo(BeNil())
	g.Expect(r.Outcome).To(Equal(Succeeded), r.Message)
	points := make([]string, 0, len(met))
	for p := range met {
		points = append(points, p)
	}
	slices.Sort(points)
	t.Logf("ended %d times: %s", lives, strings.Join(points, "\n"))
	g.Expect(points).To(ContainElements(through...))
	g.Expect(s.rows("ended")).To(Equal(upTo(rows)))
	g.Expect(s.kept(o.UID)).To(ConsistOf(recordName))
	s.end()
	s.at = func(context.Context, string) {}
	s.begin()
}

// flipped flips a bit of a log backup in the store: the restore is refused before anything is made, and says of which.
func flipped(t *testing.T, s *target, b *taken) {
	g := NewWithT(t)
	var last backups.Kept // of those with anything; they come in no order
	for _, k := range b.sets {
		if k.Kind == backup.Log && k.LastLSN.Compare(k.FirstLSN) > 0 && k.Finished.After(last.Finished) {
			last = k
		}
	}
	file := b.bucket.File(last.KeyOf(last.Files[0].Name))
	content, err := os.ReadFile(file)
	g.Expect(err).NotTo(HaveOccurred())
	content[len(content)/2] ^= 1
	g.Expect(os.WriteFile(file, content, 0o600)).To(Succeed())
	s.tell(orders.Restore{Name: "flipped", UID: "uid-flipped", Stores: []orders.BackupStore{b.store()}, Folder: folder,
		Database: "flipped"})
	status := s.ended("flipped")
	g.Expect(status.Result.Outcome).To(Equal(Refused))
	g.Expect(status.Result.Reason).To(Equal(v1alpha1.ReasonSetDamaged))
	g.Expect(status.Result.Message).To(And(ContainSubstring(last.ID), ContainSubstring(last.Files[0].Name)))
	g.Expect(s.exists("flipped")).To(BeFalse())
}
