// SPDX-License-Identifier: Apache-2.0

package crash_test

import (
	"bytes"
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/standin/storage"
	standindisk "geosql.dev/standin/storage/disk"
)

// TestPowerCutWhileOneIsRestoredOver: the power goes at any moment of a restore over another database. Until the caller
// has noted that the restored files are to take the place it is the old database, from then on the restored one, and
// each is whole.
func TestPowerCutWhileOneIsRestoredOver(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	random := newRandom(t)
	r, old, restored := recordRestore(g, t, random)
	decided := slices.IndexFunc(r.events, func(e event) bool { return e.kind == acknowledged && e.number == 2 })
	begin := slices.IndexFunc(r.events, func(e event) bool { return e.kind == acknowledged && e.number == 1 })
	at := make([]int, rounds())
	for i := range at {
		at[i] = begin + 1 + random.IntN(len(r.events)-begin)
	}
	slices.Sort(at)
	d, done := &disk{names: map[string]*inode{}, durable: map[string]*inode{}}, 0
	for round, n := range at {
		d.replay(r.events, done, n)
		done = n
		how := cutKind(random.IntN(4))
		t.Logf("cut %d: after event %d of %d, decided at %d, kind %d", round, n, len(r.events), decided, how)
		folder := filepath.Join(t.TempDir(), "after")
		g.Expect(d.write(r.root, folder, how, random)).To(Succeed())
		placed, want := files(folder), old
		open := storage.Open
		if n > decided {
			g.Expect(storage.TakePlace(placed)).To(Succeed())
			want, open = restored, storage.OpenRestored
		} else {
			g.Expect(storage.RemoveBeside(placed)).To(Succeed())
		}
		db, err := open(context.Background(), placed, options)
		g.Expect(err).NotTo(HaveOccurred())
		if db.Mode() == storage.Restoring {
			g.Expect(db.Recover(context.Background())).To(Succeed())
		}
		g.Expect(fingerprint(g, db)).To(Equal(want))
		g.Expect(db.Close()).To(Succeed())
		g.Expect(os.RemoveAll(folder)).To(Succeed())
	}
}

// recordRestore records a restore over a database that has work in its write-ahead log, and gives what either has.
func recordRestore(g *WithT, t *testing.T, random *rand.Rand) (r *recording, old, restored string) {
	ctx := context.Background()
	database := func(root string, first int) *storage.Database {
		f := files(root)
		g.Expect(os.MkdirAll(filepath.Dir(f.Data), 0o750)).To(Succeed())
		g.Expect(os.MkdirAll(filepath.Dir(f.Log), 0o750)).To(Succeed())
		db, err := storage.Create(ctx, f, options)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(change(db, false, tables...)).To(Succeed())
		for n := range 30 {
			g.Expect(change(db, false, transaction(first+n, 10+random.IntN(5000))...)).To(Succeed())
		}
		return db
	}
	source := database(t.TempDir(), 1000)
	defer source.Close()
	var set bytes.Buffer
	_, err := source.Backup(ctx, &set, storage.BackupOptions{})
	g.Expect(err).NotTo(HaveOccurred())
	in, err := storage.OpenBackup(&set)
	g.Expect(err).NotTo(HaveOccurred())

	r = &recording{root: t.TempDir()}
	defer standindisk.Watch(r.root, r)()
	db := database(r.root, 1)
	old, restored = fingerprint(g, db), fingerprint(g, source)
	r.add(event{kind: acknowledged, number: 1})
	g.Expect(storage.RestoreBeside(ctx, in, db.Files(), options)).To(Succeed())
	r.add(event{kind: acknowledged, number: 2})
	g.Expect(db.Close()).To(Succeed())
	g.Expect(storage.TakePlace(db.Files())).To(Succeed())
	db, err = storage.OpenRestored(ctx, db.Files(), options)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(db.Recover(ctx)).To(Succeed())
	g.Expect(fingerprint(g, db)).To(Equal(restored))
	g.Expect(db.Close()).To(Succeed())
	return r, old, restored
}
