// SPDX-License-Identifier: Apache-2.0

//go:build integration

package backups

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"filippo.io/age"
	. "github.com/onsi/gomega"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/backup"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/conf"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/test/support/bucket"
)

// lifeVariable names the file of a life that this test binary is to live, as a sidecar's process.
const lifeVariable = "GEOSQL_BACKUPS_LIFE"

func TestMain(m *testing.M) {
	if file := os.Getenv(lifeVariable); file != "" {
		if err := live(file); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	// Tests of faults wait more than they compute.
	flag.Parse()
	if err := flag.Set("test.parallel", "16"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// life is what the process of a sidecar is told.
type life struct {
	Address   string
	Access    mssql.Access
	BackupDir string
	Orders    map[string][]byte
	// Ahead is how far its clock is ahead.
	Ahead time.Duration
	// Ledger is the file with the points at which earlier lives were ended; this one ends at the first that is not there.
	Ledger string
}

// live lives a life until it is ended.
func live(file string) error {
	content, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var l life
	if err := json.Unmarshal(content, &l); err != nil {
		return err
	}
	connector := mssql.NewConnector(mssql.Options{
		Access: mssql.AccessFunc(func(context.Context, string, v1alpha1.ServerName) (mssql.Access, error) {
			return l.Access, nil
		}),
		Address: func(mssql.Target) string { return l.Address },
	})
	open := func(ctx context.Context) (*mssql.DB, error) {
		return connector.Open(ctx, mssql.Target{Namespace: "web", Server: "tukpub", Role: credentials.RoleSA})
	}
	source := make(told, 1)
	source <- l.Orders
	part := NewPart(source, "tukpub-0", l.BackupDir, Engine{open, open, open},
		slog.New(slog.NewTextHandler(os.Stderr, nil)))
	part.tick, part.listEvery = 100*time.Millisecond, 200*time.Millisecond
	part.now = func() time.Time { return time.Now().Add(l.Ahead) }
	part.engine.now = part.now
	ends := points{ledger: l.Ledger, end: func() { _ = syscall.Kill(os.Getpid(), syscall.SIGKILL) }}
	part.sets.at = func(point string) { ends.meet(point) }
	return part.Run(context.Background())
}

// points ends a process at each point once.
type points struct {
	ledger string
	end    func()

	mu    sync.Mutex
	ended bool
}

// meet ends the process if no earlier life was ended at the point, and says whether it goes on.
func (p *points) meet(point string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended || slices.Contains(p.met(), point) {
		return !p.ended
	}
	p.ended = true
	f, err := os.OpenFile(p.ledger, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = f.WriteString(point + "\n")
	}
	if err != nil {
		panic(err)
	}
	_ = f.Close()
	p.end()
	return false
}

func (p *points) met() []string {
	content, _ := os.ReadFile(p.ledger)
	return strings.Split(strings.TrimSpace(string(content)), "\n")
}

// mortal is a server whose sidecar is a process, which is ended at point after point.
type mortal struct {
	*server
	between *bucket.Between
	ledger  string
	policy  orders.Backup
	ahead   time.Duration
	rows    int
	// newest is to when the bucket alone could restore at any time.
	newest time.Time

	mu    sync.Mutex
	lives int
	// ends are the points of the life that is lived now, and process its process.
	ends    *points
	process *exec.Cmd
	ended   chan struct{}
}

func newMortal(t *testing.T) *mortal {
	t.Helper()
	m := &mortal{server: newServer(t), ledger: filepath.Join(t.TempDir(), "ledger")}
	m.end()
	m.between = m.bucket.Between(t)
	m.policy = orders.Backup{Policy: "nightly", Namespace: "web", Target: "server/tukpub",
		Full: orders.BackupTimes{Schedule: "0 1 29 2 *"}, LogEvery: 500 * time.Millisecond, Checksum: true, Verify: true,
		Stores: []orders.BackupStore{StoreOf("bucket", m.between.Bucket)}}
	m.between.Do(m.meet)
	t.Cleanup(func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		if m.process != nil {
			_ = m.process.Process.Kill()
		}
	})
	return m
}

// meet ends the sidecar before a request of it arrives, and when the store has done what it asks and nobody knows.
func (m *mortal) meet(w http.ResponseWriter, r *http.Request, next http.Handler) {
	m.mu.Lock()
	ends := m.ends
	m.mu.Unlock()
	what := bucket.Asked(r)
	if !ends.meet("before " + what) {
		panic(http.ErrAbortHandler)
	}
	answer := httptest.NewRecorder()
	next.ServeHTTP(answer, r)
	if !ends.meet("after " + what) {
		panic(http.ErrAbortHandler)
	}
	for key, values := range answer.Header() {
		w.Header()[key] = values
	}
	w.WriteHeader(answer.Code)
	_, _ = answer.Body.WriteTo(w)
}

// live begins a life of the sidecar, with another row behind all that was backed up.
func (m *mortal) live() {
	m.t.Helper()
	g := NewWithT(m.t)
	m.exec(fmt.Sprintf("INSERT Content.dbo.t VALUES (%d)", m.rows))
	m.rows++
	m.lives++
	data, err := m.policy.Encode()
	g.Expect(err).NotTo(HaveOccurred())
	content, err := json.Marshal(life{Address: m.Address, Access: m.Access, BackupDir: m.OnDisk(conf.BackupDir),
		Orders: map[string][]byte{orders.BackupKey(m.policy.Policy): data}, Ahead: m.ahead, Ledger: m.ledger})
	g.Expect(err).NotTo(HaveOccurred())
	file := filepath.Join(m.t.TempDir(), "life.json")
	g.Expect(os.WriteFile(file, content, 0o600)).To(Succeed())
	process := exec.Command(os.Args[0])
	process.Env = append(os.Environ(), lifeVariable+"="+file)
	var output bytes.Buffer
	process.Stdout, process.Stderr = &output, &output
	ended := make(chan struct{})
	m.mu.Lock()
	m.ends = &points{ledger: m.ledger, end: func() { _ = process.Process.Kill(); <-ended }}
	g.Expect(process.Start()).To(Succeed())
	m.process, m.ended = process, ended
	m.mu.Unlock()
	go func() {
		defer close(ended)
		_ = process.Wait()
		if status, ok := process.ProcessState.Sys().(syscall.WaitStatus); !ok || !status.Signaled() {
			m.t.Errorf("the sidecar ended by itself:\n%s", output.String())
		}
	}()
}

// kill ends the life that is lived now.
func (m *mortal) kill() {
	_ = m.process.Process.Kill()
	<-m.ended
}

// die begins life after life until the sidecar was ended at all of these points.
func (m *mortal) die(at ...string) {
	m.t.Helper()
	g := NewWithT(m.t)
	lacks := func() (all []string) {
		met := (&points{ledger: m.ledger}).met()
		for _, point := range at {
			if !slices.Contains(met, point) {
				all = append(all, point)
			}
		}
		return all
	}
	for left := lacks(); len(left) > 0; left = lacks() {
		// One may be ended while it is executed, and has its set in the next life: then it comes to some points no more.
		for _, kind := range []backup.Kind{backup.Full, backup.Differential} {
			if slices.ContainsFunc(left, func(point string) bool { return strings.HasSuffix(point, string(kind)) }) {
				m.ask(kind)
			}
		}
		m.live()
		select {
		case <-m.ended:
		case <-time.After(patient):
			m.t.Fatalf("after %d lives the sidecar comes to none of %q", m.lives, lacks())
		}
		m.look(g)
	}
}

// ask asks for a backup in the lives to come, unless one of the kind that was asked for did not come yet.
func (m *mortal) ask(kind backup.Kind) {
	for _, r := range m.policy.Requests {
		if r.Kind == string(kind) && !slices.ContainsFunc(m.kept(), func(k Kept) bool { return k.Request == r.ID }) {
			return
		}
	}
	m.policy.Requests = append(m.policy.Requests, orders.BackupRequest{ID: fmt.Sprint(kind, m.lives),
		Kind: string(kind), Database: "Content"})
}

// look sees what the bucket has, which must restore what it ever did.
func (m *mortal) look(g *WithT) {
	kept := m.kept()
	var sets []backup.Set
	for _, k := range kept {
		g.Expect(k.Damaged).To(BeFalse(), "%s", k.Set)
		sets = append(sets, k.Set)
	}
	newest, _ := backup.Newest(sets)
	g.Expect(newest).NotTo(BeTemporally("<", m.newest), "after %d lives", m.lives)
	m.newest = newest
}

// settled lets a life go on until the bucket restores all that was written, and nothing of earlier lives is left. One
// that comes to a point where none was ended yet is followed by another.
func (m *mortal) settled() {
	m.t.Helper()
	g := NewWithT(m.t)
	var written time.Time
	begin := func() {
		m.ask(backup.Full)
		m.live()
		written = time.Now()
	}
	begin()
	g.Eventually(func() (left []string) {
		select {
		case <-m.ended:
			begin()
		default:
		}
		if m.look(g); !m.newest.After(written) {
			left = append(left, "the last row is not in the bucket")
		}
		return append(append(left, m.strays()...), m.needless()...)
	}, 2*patient, often).Should(BeEmpty(), m.story)
	m.kill()
}

// story tells what the bucket has, and what is aside, for people.
func (m *mortal) story() string {
	text := ""
	for _, k := range m.kept() {
		text += fmt.Sprintf("%-12s %s %s-%s begun %s finished %s until %s\n", k.Kind, k.Server, k.FirstLSN, k.LastLSN,
			k.Begun.Format(time.StampMilli), k.Finished.Format(time.StampMilli), k.Until.Format(time.StampMilli))
	}
	asides, _ := newTaker(Engine{}, &local{dir: filepath.Join(m.OnDisk(conf.BackupDir), setsDir)}, time.Now).asides()
	for _, a := range asides {
		text += fmt.Sprintf("aside %s %s at %s\n", a.Dir, a.Kind, a.At.Format(time.StampMilli))
	}
	return text
}

// strays are what is of no set: on the backup volume and in the bucket.
func (m *mortal) strays() (all []string) {
	m.t.Helper()
	hidden, err := filepath.Glob(filepath.Join(m.OnDisk(conf.BackupDir), setsDir, ".*"))
	if err != nil {
		m.t.Fatal(err)
	}
	for _, dir := range hidden {
		// What the engine did not note may have log of a time that the retention still keeps.
		if m.policy.KeepFulls > 0 || !strings.HasPrefix(filepath.Base(dir), pastPrefix) {
			all = append(all, dir)
		}
	}
	folders, err := filepath.Glob(filepath.Join(m.bucket.File("web/server/tukpub/Content"), "*"))
	if err != nil {
		m.t.Fatal(err)
	}
	for _, folder := range folders {
		files, err := os.ReadDir(folder)
		if err != nil {
			m.t.Fatal(err)
		}
		described := func(e os.DirEntry) bool { return e.Name() == backup.DescriptionName }
		if len(files) > 0 && !slices.ContainsFunc(files, described) {
			all = append(all, folder)
		}
	}
	return all
}

// needless are sets of the bucket that the newest full backup makes needless, where the retention is one.
func (m *mortal) needless() (all []string) {
	var newest Kept
	kept := m.kept()
	for _, k := range kept {
		if k.Kind == backup.Full && k.Finished.After(newest.Finished) {
			newest = k
		}
	}
	for _, k := range kept {
		if m.policy.KeepFulls > 0 && k.Finished.Before(newest.Begun) {
			all = append(all, k.String())
		}
	}
	return all
}

// around are the points before and after requests.
func around(requests ...string) (all []string) {
	for _, r := range requests {
		all = append(all, "before "+r, "after "+r)
	}
	return all
}

// onTheWay are all points from a backup's begin until the bucket alone has it, of files with an extension.
func onTheWay(extension string, more ...string) []string {
	points := around("PUT set.json", "PUT verified.json", "GET set.json", "LIST", "LIST uploads")
	for _, file := range []string{"1.bak", "1.trn"} {
		points = append(points, around("PUT "+file+extension, "HEAD "+file+extension, "GET "+file+extension)...)
	}
	for _, kind := range []backup.Kind{backup.Full, backup.Differential, backup.Log} {
		for _, step := range append(more, "begun", "executed", "described", "kept", "noted as stored", "put away") {
			points = append(points, step+" "+string(kind))
		}
	}
	return points
}

// The same of sets that are encrypted before they are sent: each life goes on with what the former one has begun, and
// all that the bucket gets is opened.
func TestASidecarThatIsKilledAsItEncryptsLosesNothing(t *testing.T) {
	g := NewWithT(t)
	m := newMortal(t)
	key, err := age.GenerateX25519Identity()
	g.Expect(err).NotTo(HaveOccurred())
	m.identities = []string{key.String()}
	m.policy.Stores[0] = m.policy.Stores[0].Encrypted(key.Recipient().String(), nil)
	m.die(onTheWay(".age", "sealed")...)
	m.settled()
	for _, k := range m.kept() {
		g.Expect(k.Encryption).NotTo(BeNil(), "%s", k.Set)
	}
	g.Expect(m.restored(m.kept(), backup.Target{})).To(Equal(m.rows))
}

// The process of the sidecar is ended at every step of a backup, of its way to the bucket, of reading back, and of what
// removes it: the bucket restores what it ever did, in the end all that was written, and nothing else is left.
func TestASidecarThatIsKilledAtAnyStepLosesNothing(t *testing.T) {
	g := NewWithT(t)
	m := newMortal(t)
	m.die(onTheWay("")...)
	t.Logf("%d lives until all was kept", m.lives)
	m.settled()
	g.Expect(m.restored(m.kept(), backup.Target{})).To(Equal(m.rows))
	before := len(m.kept())

	// A day and more later the retention has no need of what is before the second full backup.
	m.ahead, m.policy.KeepFulls, m.policy.LogEvery = 25*time.Hour, 1, 25*time.Hour+time.Second
	m.policy.Requests = nil // whose sets the retention may remove
	m.die(around("DELETE set.json", "DELETE 1.bak", "DELETE 1.trn", "DELETE verified.json")...)
	m.settled()
	t.Logf("%d lives until all was removed; %d sets of %d stay", m.lives, len(m.kept()), before)
	g.Expect(m.restored(m.kept(), backup.Target{})).To(Equal(m.rows))
}
