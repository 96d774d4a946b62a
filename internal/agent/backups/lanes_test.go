// SPDX-License-Identifier: Apache-2.0

package backups

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/backup"
	"geosql.dev/operator/internal/mssql"
)

// orderSource is a Source that a test tells.
type orderSource chan map[string][]byte

func (s orderSource) Watch(ctx context.Context, update func(map[string][]byte)) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case data := <-s:
			update(data)
		}
	}
}

// tell sends orders, and has them carried out when it returns: the source takes the next only then.
func (s orderSource) tell(t *testing.T, policies ...orders.Backup) {
	t.Helper()
	data := map[string][]byte{}
	for _, o := range policies {
		content, err := o.Encode()
		if err != nil {
			t.Fatal(err)
		}
		data[orders.BackupKey(o.Policy)] = content
	}
	for range 2 {
		select {
		case s <- data:
		case <-time.After(time.Minute):
			t.Fatal("the orders are not taken")
		}
	}
}

// A backup of a large database goes on for hours: another order of the policy is carried out meanwhile, its logs too,
// the status is told, and no second backup of data begins beside it.
func TestAnOrderThatChangesWaitsForNoBackup(t *testing.T) {
	g := NewWithT(t)
	source, block := make(orderSource), make(chan struct{})
	data, logs := make(chan string, 100), make(chan string, 100)
	away := errors.New("away")
	pool := func(asked chan<- string) func(context.Context) (*mssql.DB, error) {
		return func(ctx context.Context) (*mssql.DB, error) {
			asked <- ""
			select {
			case <-block:
			case <-ctx.Done():
			}
			return nil, away
		}
	}
	ask := func(context.Context) (*mssql.DB, error) { return nil, away }
	p := NewPart(source, "tukpub-0", t.TempDir(), Engine{Ask: ask, Data: pool(data), Log: pool(logs)},
		slog.New(slog.DiscardHandler))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); _ = p.Run(ctx) }()
	sees := func() {
		p.mu.Lock()
		r := p.running["nightly"].runner
		p.mu.Unlock()
		r.mu.Lock()
		defer r.mu.Unlock()
		r.seen, r.read = nil, time.Now()
		for _, name := range []string{"Content", "Other"} {
			r.seen = append(r.seen, mssql.BackupSource{Database: name, State: "ONLINE", Recovery: "FULL", Family: name,
				Logged: true})
		}
	}
	o := order(func(o *orders.Backup) { o.Stores, o.Group, o.Target = nil, "", "server/tukpub" })
	full := backup.Description{Set: backup.Set{ID: "full", Kind: backup.Full, Database: "Content", Family: "Content",
		LastLSN: "1", Fork: "a", Begun: time.Now().Add(-30 * 24 * time.Hour), Finished: time.Now().Add(-30 * 24 * time.Hour)},
		Namespace: "web", Target: "server/tukpub", Files: []backup.File{{Name: "1.bak"}}}
	source.tell(t, o)
	p.sets.mu.Lock()
	p.sets.own = map[string]Own{"full": {Description: full}}
	p.sets.mu.Unlock()
	sees()
	g.Eventually(data, time.Minute).Should(Receive())
	g.Eventually(logs, time.Minute).Should(Receive())
	for n := range 3 {
		o.LogEvery = time.Duration(n+1) * time.Second
		source.tell(t, o)
		sees()
		g.Expect(p.Status()).To(HaveLen(1))
	}
	g.Eventually(func() int { return len(p.engine.goingOn()) }, time.Minute).Should(Equal(2))
	g.Consistently(data, 5*time.Second).ShouldNot(Receive(), "one backup of data at a time")

	source.tell(t, orders.Backup{Policy: "other", Namespace: "web", Target: "server/other"})
	close(block)
	g.Eventually(p.engine.goingOn, time.Minute).Should(BeEmpty())
	g.Consistently(data, 3*time.Second).ShouldNot(Receive(), "it stops between two databases when its order has ended")
	cancel()
	g.Eventually(ended, time.Minute).Should(BeClosed())
}

// While what an earlier life has begun is not settled none beside it is begun; that of a log delays others but little.
func TestABackupWaitsForOneThatIsNotSettled(t *testing.T) {
	g := NewWithT(t)
	now := noon
	e := aTaker(t)
	e.now = func() time.Time { return now }
	full, log := Take{Database: "Content", Kind: backup.Full}, Take{Database: "Content", Kind: backup.Log}
	enters := func(t Take) error {
		_, leave, err := e.enter(t, "nightly")
		if err == nil {
			leave()
		}
		return err
	}
	e.folder(t, ".new-full", full)
	e.folder(t, ".new-log", log)
	e.expect()
	g.Expect(enters(full)).To(MatchError(errBusy))
	g.Expect(enters(log)).To(MatchError(errBusy))
	g.Expect(enters(Take{Database: "Other", Kind: backup.Full})).To(Succeed())
	g.Expect(e.left(true)).To(ConsistOf(HaveSuffix(".new-log")))
	g.Expect(e.left(false)).To(ConsistOf(HaveSuffix(".new-full")))
	now = now.Add(logsWaitFor)
	g.Expect(enters(full)).To(MatchError(errBusy))
	g.Expect(enters(log)).To(Succeed())
	_, err := e.settle(t.Context(), filepath.Join(e.sets.dir, ".new-full"))
	g.Expect(err).To(MatchError(errUnsettled))
	g.Expect(enters(full)).To(MatchError(errBusy), "a server that cannot be asked takes none either")
	g.Expect(os.WriteFile(filepath.Join(e.sets.dir, ".new-full", takeName), []byte("{"), 0o600)).To(Succeed())
	_, err = e.settle(t.Context(), filepath.Join(e.sets.dir, ".new-full"))
	g.Expect(err).To(MatchError(errUnsettled))
	g.Expect(enters(full)).To(Succeed(), "nobody can settle it: that must not end the backups")

	_, leave, err := e.enter(full, "nightly")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(enters(Take{Database: "Other", Kind: backup.Full})).To(MatchError(errBusy), "one of a policy at a time")
	g.Expect(enters(log)).To(Succeed())
	leave()
}

// A backup that does not fit fills the volume, and those of logs fail meanwhile.
func TestABackupOfDataLeavesRoomForLogs(t *testing.T) {
	g := NewWithT(t)
	now, free := noon, int64(40<<30)
	e := aTaker(t)
	e.now = func() time.Time { return now }
	e.room = func(string) (int64, int64, error) { return 100 << 30, free, nil }
	full, log := Take{Database: "Content", Kind: backup.Full}, Take{Database: "Content", Kind: backup.Log}
	fits := func(t Take, size int64) error { _, err := e.fits(t, size); return err }
	g.Expect(fits(full, 35<<30)).To(Succeed())
	g.Expect(fits(full, 36<<30)).To(MatchError(ContainSubstring("stay free for logs")))
	g.Expect(fits(full, 0)).To(Succeed())
	free = 1 << 30
	g.Expect(fits(full, 0)).NotTo(Succeed())
	g.Expect(fits(log, 0)).To(Succeed())

	free = 40 << 30
	dir := e.folder(t, ".aside-full", full)
	e.room = func(string) (int64, int64, error) {
		if _, err := os.Stat(dir); err == nil {
			return 100 << 30, 1 << 30, nil
		}
		return 100 << 30, free, nil
	}
	g.Expect(fits(full, 1<<30)).To(Succeed())
	g.Expect(dir).NotTo(BeADirectory(), "what is aside of the data goes first")

	e.tooLittle(full, free, refusal(3013))
	g.Expect(fits(full, 0)).To(Succeed())
	e.tooLittle(full, free, refusal(3202, 3013))
	g.Expect(fits(full, 0)).To(MatchError(ContainSubstring("could not be written before")))
	g.Expect(fits(Take{Database: "Other", Kind: backup.Full}, 0)).To(Succeed())
	free++
	g.Expect(fits(full, 0)).To(Succeed())
	free--
	now = now.Add(shortFor)
	g.Expect(fits(full, 0)).To(Succeed())
	e.room = func(string) (int64, int64, error) { return 0, 0, errors.New("broken") }
	g.Expect(fits(full, 0)).To(MatchError(ContainSubstring("broken")))
}

// What the volume has is read until all of it is known: what is not known is sent nowhere.
func TestSetsThatCannotBeReadAreReadAgain(t *testing.T) {
	g := NewWithT(t)
	l := &local{dir: filepath.Join(t.TempDir(), setsDir)}
	add := func(id string) Own {
		dir := filepath.Join(l.dir, newPrefix+id)
		g.Expect(os.MkdirAll(dir, 0o750)).To(Succeed())
		d := taken(id, backup.Log, time.Hour, "10", "20")
		g.Expect(l.add(dir, d)).To(Succeed())
		return Own{Description: d}
	}
	one, other := add("one"), add("other")
	again := &local{dir: l.dir}
	file := again.path(other, backup.DescriptionName)
	g.Expect(os.Rename(file, file+".away")).To(Succeed())
	g.Expect(os.Mkdir(file, 0o750)).To(Succeed(), "it cannot be read")
	g.Expect(again.load()).NotTo(Succeed())
	g.Expect(again.all("web", "group/content")).To(HaveLen(1))
	g.Expect(again.read()).To(BeTrue())
	g.Expect(again.forget(one)).To(Succeed())
	g.Expect(os.Remove(file)).To(Succeed())
	g.Expect(os.Rename(file+".away", file)).To(Succeed())
	g.Expect(again.load()).To(Succeed())
	all := again.all("web", "group/content")
	g.Expect(all).To(HaveLen(1))
	g.Expect(all[0].ID).To(Equal("other"), "the one that was forgotten is no more")

	nowhere := &local{dir: filepath.Join(l.dir, "file", "sets")}
	g.Expect(os.WriteFile(filepath.Join(l.dir, "file"), nil, 0o600)).To(Succeed())
	g.Expect(nowhere.load()).NotTo(Succeed())
	g.Expect(nowhere.read()).To(BeFalse())
	g.Expect((&Observed{Unread: true}).listed()).To(BeFalse())
}

// A sidecar that ends while it removes a set leaves a folder that is no set, and that goes at its next start.
func TestWhatIsLeftOfASetThatWasRemovedGoes(t *testing.T) {
	g := NewWithT(t)
	l := &local{dir: filepath.Join(t.TempDir(), setsDir)}
	dir := filepath.Join(l.dir, newPrefix+"one")
	g.Expect(os.MkdirAll(dir, 0o750)).To(Succeed())
	g.Expect(os.WriteFile(filepath.Join(dir, "1.trn"), []byte("log"), 0o600)).To(Succeed())
	d := taken("one", backup.Log, time.Hour, "10", "20")
	g.Expect(l.add(dir, d)).To(Succeed())
	gone := filepath.Join(l.dir, gonePrefix+"one")
	g.Expect(os.Rename(l.path(Own{Description: d}, ""), gone)).To(Succeed(), "where it ends")
	again := &local{dir: l.dir}
	g.Expect(again.load()).To(Succeed())
	g.Expect(again.all("web", "group/content")).To(BeEmpty())
	g.Expect(gone).NotTo(BeADirectory())
}

func TestHowABackupIsBegun(t *testing.T) {
	g := NewWithT(t)
	dir := filepath.Join(t.TempDir(), newPrefix+"a")
	o := order(func(o *orders.Backup) { o.Stripes, o.KeepAge = 3, time.Hour })
	for kind, files := range map[backup.Kind][]string{backup.Log: {"1.trn"}, backup.Full: {"1.bak", "2.bak", "3.bak"},
		backup.Differential: {"1.bak", "2.bak", "3.bak"}} {
		b, err := begin(dir, o, Take{Database: "Content", Kind: kind})
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(b.Files).To(Equal(files))
		g.Expect(readBegun(dir)).To(Equal(b), fmt.Sprint(kind))
	}
}
