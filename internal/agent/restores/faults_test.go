// SPDX-License-Identifier: Apache-2.0

package restores

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"sync"
	"testing"
	"time"

	driver "github.com/microsoft/go-mssqldb"
	. "github.com/onsi/gomega"
	"golang.org/x/sys/unix"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent/backups"
	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/backup"
	"geosql.dev/operator/internal/mssql"
)

// said is an answer of the engine with these errors.
func said(numbers ...int32) error {
	var all []driver.Error
	for _, n := range numbers {
		all = append(all, driver.Error{Number: n, Message: "the engine's words"})
	}
	last := all[len(all)-1]
	last.All = all
	return &mssql.Error{Server: "quisec-0", Doing: "restore Content", Class: mssql.Refused, Number: last.Number, Err: last}
}

// noEngine is one that is away.
var noEngine = backups.Engine{
	Ask:  func(context.Context) (*mssql.DB, error) { return nil, errors.New("no engine") },
	Data: func(context.Context) (*mssql.DB, error) { return nil, errors.New("no engine") },
}

// runs is a runner with what is known of a restore.
func runs(t *testing.T, o *observed) *runner {
	t.Helper()
	r := newRunner(o.Order, NewPart(nil, t.TempDir(), noEngine, slog.New(slog.DiscardHandler)))
	r.record = o.Record
	return r
}

// A server that cannot note a restore in msdb has restored (3009), unless it says too that it has not (3013).
func TestAServerThatCannotNoteARestoreHasRestored(t *testing.T) {
	g := NewWithT(t)
	g.Expect(done(said(3009))).To(Succeed())
	g.Expect(done(said(3009, 3013))).NotTo(Succeed())
	g.Expect(done(said(3201, 3013))).NotTo(Succeed())
	lost := &mssql.Error{Server: "quisec-0", Class: mssql.Unknown, Err: errors.New("the connection is gone")}
	g.Expect(done(lost)).To(MatchError(lost))
}

// What the engine says of a recovery that it refused does not count against what the database is then.
func TestARefusedRecoveryIsLookedAtAgain(t *testing.T) {
	g := NewWithT(t)
	o := known()
	o.Record.Begun, o.Record.Restored, o.Record.Recovering, o.Database = true, 3, true, places("RESTORING")
	r := runs(t, o)
	for range refusalsMost {
		g.Expect(r.judge(o, recovery{}, said(4333))).NotTo(Succeed())
		o.Record = r.record
	}
	o.Database = places("ONLINE")
	f, ends := next(o).(finish)
	g.Expect(ends).To(BeTrue())
	g.Expect(f.Result.Outcome).To(Equal(Succeeded), f.Result.Message)
	o.Database = places("RESTORING")
	f, ends = next(o).(finish)
	g.Expect(ends).To(BeTrue())
	g.Expect(f.Result.Outcome).To(Equal(Failed))
	g.Expect(f.Result.Reason).To(Equal(v1alpha1.ReasonEngineRefused))
	g.Expect(f.Result.Message).To(And(HavePrefix("recover the database: "), ContainSubstring("is left RESTORING")))
}

// Between two refusals there are minutes, in which a passing cause may pass; a restore that gets further than ever
// before has all its tries again.
func TestRefusalsAreMinutesApart(t *testing.T) {
	g := NewWithT(t)
	o := known()
	o.Record.Begun, o.Record.Restored, o.Database = true, 1, places("RESTORING")
	o.Record = refused(o, restore{1}, said(3201))
	g.Expect(next(o)).To(Equal(wait{"the engine refused to " + o.Record.Refusal + "; it is told again later"}))
	g.Expect(o.Record.Refusal).To(HavePrefix("restore set 2: "))
	o.Now = noon.Add(refusalPause)
	g.Expect(next(o)).To(Equal(restore{0}))
	o.Record = refused(o, restore{0}, said(3201))
	g.Expect(o.Record.Refusals).To(Equal(2))
	o.Record = went(o.Record, 1)
	g.Expect(o.Record.Refusals).To(Equal(2), "so far it came before")
	o.Record = went(o.Record, 2)
	g.Expect(o.Record.Refusals).To(BeZero())
	o.Record = refused(o, restore{0}, said(3201))
	o.Record = went(o.Record, 2)
	g.Expect(o.Record.Refusals).To(Equal(1), "each set gives new tries once")
}

// The status is told while a restore that is withdrawn comes to its end.
func TestTheStatusWaitsForNoRestore(t *testing.T) {
	g := NewWithT(t)
	p := NewPart(nil, t.TempDir(), noEngine, slog.New(slog.DiscardHandler))
	p.set(t.Context(), nil, true)
	cancelled, over := make(chan struct{}), make(chan struct{})
	p.running["u1"] = &running{runner: newRunner(known().Order, p), cancel: func() { close(cancelled) }, done: over}
	withdrawn := make(chan struct{})
	go func() {
		defer close(withdrawn)
		p.set(t.Context(), []orders.Restore{{Name: "one", UID: "u1", Withdrawn: true}}, true)
	}()
	<-cancelled
	told := make(chan []Status, 1)
	go func() { told <- p.Status().([]Status) }()
	g.Eventually(told, time.Minute).Should(Receive(ConsistOf(HaveField("UID", "u1"))), "it is not over yet")
	close(over)
	<-withdrawn
	g.Expect(p.Status()).To(BeEmpty())
}

// The record is gone, with the backup volume say, and the database is there by this restore's own hand: by the names of
// its files it is known.
func TestARestoreWhoseRecordIsLostKnowsItsDatabase(t *testing.T) {
	g := NewWithT(t)
	o := known()
	o.Database = places("RESTORING")
	g.Expect(next(o)).To(Equal(restore{0}))
	o.Working = true
	g.Expect(next(o)).To(BeAssignableToTypeOf(wait{}), "the engine is at it still")
	o.Working, o.Record.Downloaded = false, 1
	g.Expect(next(o)).To(Equal(download{1}))
	o.Database = places("ONLINE")
	f, ends := next(o).(finish)
	g.Expect(ends).To(BeTrue())
	g.Expect(f.Result.Outcome).To(Equal(Failed))
	g.Expect(f.Result.Reason).To(Equal(v1alpha1.ReasonRestoreDisturbed))
}

// under is a part that carries these restores out, each with a folder, until they are cancelled.
func under(t *testing.T, all ...orders.Restore) *Part {
	t.Helper()
	p := NewPart(nil, t.TempDir(), noEngine, slog.New(slog.DiscardHandler))
	for _, order := range all {
		over := make(chan struct{})
		r := &running{runner: newRunner(order, p), cancel: sync.OnceFunc(func() { close(over) }), done: over}
		p.running[order.UID] = r
		if err := r.load(); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

func left(p *Part) (names []string) {
	entries, _ := os.ReadDir(p.dir)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// An order that is missing may be so because somebody deleted the Secret, and not every controller has written its part
// again: by a mark alone, or another order of the name, a restore is withdrawn.
func TestAnOrderThatIsMissingIsNotWithdrawn(t *testing.T) {
	g := NewWithT(t)
	one, two := orders.Restore{Name: "one", UID: "u1"}, orders.Restore{Name: "two", UID: "u2"}
	p := under(t, one, two)
	p.set(t.Context(), []orders.Restore{two}, true)
	p.set(t.Context(), nil, true)
	g.Expect(p.Status()).To(HaveLen(2))
	g.Expect(left(p)).To(ConsistOf("u1", "u2"))
	p.set(t.Context(), []orders.Restore{{Name: "one", UID: "u1", Withdrawn: true}}, true)
	g.Expect(p.Status()).To(ConsistOf(HaveField("UID", "u2")))
	g.Expect(left(p)).To(ConsistOf("u2"))
	p.set(t.Context(), []orders.Restore{{Name: "two", UID: "u3", Withdrawn: true}}, true)
	g.Expect(p.Status()).To(BeEmpty())
	g.Expect(left(p)).To(BeEmpty())
}

// A sidecar that has just begun has not read its orders, and says so: that it says nothing of a Restore is no evidence
// before. Whoever knows no such word reads a list without a Restore.
func TestASidecarThatHasNotReadItsOrders(t *testing.T) {
	g := NewWithT(t)
	says := func(p *Part) string {
		content, err := json.Marshal(p.Status())
		g.Expect(err).NotTo(HaveOccurred())
		return string(content)
	}
	p := NewPart(nil, t.TempDir(), noEngine, slog.New(slog.DiscardHandler))
	g.Expect(p.Status()).To(ConsistOf(HaveField("Step", Unread)))
	g.Expect(says(p)).To(ContainSubstring(`"uid":""`))
	p.set(t.Context(), []orders.Restore{{Name: "one", UID: "u1", Withdrawn: true}}, true)
	g.Expect(says(p)).To(Equal("[]"), "not null, as a sidecar says that does not tell")
	p = under(t, orders.Restore{Name: "one", UID: "u1"})
	g.Expect(p.Status()).To(ConsistOf(HaveField("Step", Unread), HaveField("UID", "u1")))
	p.set(t.Context(), nil, false)
	g.Expect(p.Status()).To(ConsistOf(HaveField("UID", "u1")))
}

// What a life without the order finds of a restore stays as long as the order may come back.
func TestWhatIsLeftOfARestoreStaysForDays(t *testing.T) {
	g := NewWithT(t)
	p := under(t, orders.Restore{Name: "one", UID: "u1"})
	p.endAll()
	p.set(t.Context(), nil, true)
	g.Expect(left(p)).To(ConsistOf("u1"))
	p.now = func() time.Time { return time.Now().Add(strayFor) }
	p.set(t.Context(), nil, false)
	g.Expect(left(p)).To(ConsistOf("u1"), "an order that cannot be read may be its")
	p.set(t.Context(), nil, true)
	g.Expect(left(p)).To(BeEmpty())
}

// A download leaves the backups of logs the room that backups of data leave them.
func TestADownloadLeavesRoomForLogs(t *testing.T) {
	g := NewWithT(t)
	for _, row := range []struct{ capacity, left, usable int64 }{
		{100 << 30, 50 << 30, 45 << 30}, {1000 << 30, 50 << 30, 40 << 30}, {100 << 30, 5 << 30, 0}, {100 << 30, 1 << 30, 0},
	} {
		g.Expect(usable(row.capacity, row.left)).To(Equal(row.usable))
	}
	var s unix.Statfs_t
	dir := t.TempDir()
	g.Expect(unix.Statfs(dir, &s)).To(Succeed())
	got, err := free(dir)
	g.Expect(err).NotTo(HaveOccurred())
	most := int64(s.Bavail)*s.Bsize - backups.Reserved(int64(s.Blocks)*s.Bsize)/2 // others write meanwhile
	g.Expect(got).To(BeNumerically("<=", max(most, 0)))
}

// A set that the retention removed during a long download is no damaged one: the chain is looked for anew. One that is
// described still, and lacks a file, is.
func TestASetThatWasRemovedMeanwhileIsNoDamage(t *testing.T) {
	for _, described := range []bool{false, true} {
		g := NewWithT(t)
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if described && path.Base(r.URL.Path) == backup.DescriptionName {
				w.Header().Set("Last-Modified", noon.Format(http.TimeFormat))
				_, _ = w.Write([]byte("{}"))
				return
			}
			if r.URL.Query().Has("list-type") {
				_, _ = w.Write([]byte("<ListBucketResult></ListBucketResult>"))
				return
			}
			w.WriteHeader(http.StatusNotFound)
			_, _ = w.Write([]byte("<Error><Code>NoSuchKey</Code></Error>"))
		}))
		o := known()
		o.Record.Downloaded, o.Record.Store = 1, "s3"
		o.Order.Stores = []orders.BackupStore{{Name: "s3", Endpoint: server.URL, Bucket: "backups", AccessKey: "who",
			SecretKey: "secret"}}
		r := runs(t, o)
		g.Expect(os.MkdirAll(r.setDir(0), 0o750)).To(Succeed())
		g.Expect(r.download(t.Context(), o, 1)).To(Succeed())
		server.Close()
		if described {
			g.Expect(r.record.Result.Reason).To(Equal(v1alpha1.ReasonSetDamaged))
			continue
		}
		g.Expect(r.record.Result).To(BeNil())
		g.Expect(r.setDir(0)).NotTo(BeADirectory(), "another chain has other files")
		o.Record = r.record
		g.Expect(next(o)).To(Equal(choose{}))
	}
}

// That there is no group yet, and that it is made since, is heard while a restore is under way.
func TestWhetherAGroupIsMadeIsHeardMeanwhile(t *testing.T) {
	g := NewWithT(t)
	o := known()
	o.Order.Group, o.Record.Result = "content", &Result{}
	r := runs(t, o)
	away := func() string { return r.observe(t.Context()).away() }
	g.Expect(away()).To(ContainSubstring("has no availability group content"))
	order := o.Order
	order.Unmade = true
	r.tell(order)
	g.Expect(away()).To(BeEmpty())
	order.Unmade = false
	r.tell(order)
	g.Expect(away()).To(ContainSubstring("has no availability group content"))
}
