// SPDX-License-Identifier: Apache-2.0

// Package crash_test ends the engine at random moments under load: the process by SIGKILL, and the machine by a power
// cut, which takes away what was not synced. GEOSQL_CRASH_ROUNDS and GEOSQL_CRASH_SEED change how often, and when.
package crash_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"golang.org/x/sync/errgroup"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"geosql.dev/standin/storage"
	standindisk "geosql.dev/standin/storage/disk"
)

func number(variable string, otherwise int) int {
	if n, err := strconv.Atoi(os.Getenv(variable)); err == nil {
		return n
	}
	return otherwise
}

// rounds is how often something is ended.
func rounds() int { return number("GEOSQL_CRASH_ROUNDS", 50) }

func newRandom(t *testing.T) *rand.Rand {
	seed := number("GEOSQL_CRASH_SEED", int(time.Now().UnixNano()%1_000_000))
	t.Logf("GEOSQL_CRASH_SEED=%d", seed)
	return rand.New(rand.NewPCG(uint64(seed), 2))
}

var options = storage.Options{Name: "crash", SegmentBytes: 64 << 10}

func files(folder string) storage.Files {
	return storage.Files{Data: filepath.Join(folder, "d", "crash.mdf"), Log: filepath.Join(folder, "l", "crash.ldf")}
}

// change runs statements in a transaction; with undo it is rolled back.
func change(db *storage.Database, undo bool, statements ...string) error {
	tx, err := db.Begin(context.Background())
	if err != nil {
		return err
	}
	defer tx.Rollback()
	for _, s := range statements {
		if s[:6] == "CREATE" {
			err = tx.ExecDDL(s)
		} else if leave, e := tx.Use(context.Background()); e == nil {
			err = sqlitex.ExecuteTransient(tx.Conn(), s, nil)
			leave()
		} else {
			err = e
		}
		if err != nil {
			return err
		}
	}
	if undo {
		return nil
	}
	_, err = tx.Commit(context.Background())
	return err
}

// transaction number n inserts into two tables and counts itself; a third table changes under it.
func transaction(n, size int) []string {
	return []string{
		fmt.Sprintf("INSERT INTO a VALUES (%d, %d, randomblob(%d))", n, -n, size),
		fmt.Sprintf("UPDATE total SET transactions = transactions + 1, sum = sum + %d", n),
		fmt.Sprintf("UPDATE hot SET n = %d, filler = randomblob(%d) WHERE id = %d", n, size/2, n%16),
		fmt.Sprintf("INSERT INTO b VALUES (%d)", n),
	}
}

// tables are those of a database.
var tables = []string{
	"CREATE TABLE a (id INTEGER PRIMARY KEY, u INT UNIQUE, filler)",
	"CREATE TABLE b (id INTEGER PRIMARY KEY)",
	"CREATE TABLE hot (id INTEGER PRIMARY KEY, n INT, filler)",
	"CREATE TABLE total (id INTEGER PRIMARY KEY, transactions INT, sum INT)",
	"INSERT INTO total VALUES (1, 0, 0)",
	"WITH RECURSIVE i(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM i WHERE n < 15) INSERT INTO hot SELECT n, 0, " +
		"NULL FROM i",
}

// create makes the database and a copy that follows it.
func create(g *WithT, root string) (db, replica *storage.Database) {
	for _, f := range []storage.Files{files(filepath.Join(root, "first")), files(filepath.Join(root, "second"))} {
		g.Expect(os.MkdirAll(filepath.Dir(f.Data), 0o750)).To(Succeed())
		g.Expect(os.MkdirAll(filepath.Dir(f.Log), 0o750)).To(Succeed())
	}
	withModel := options
	withModel.RecoveryModel = storage.Simple
	db, err := storage.Create(context.Background(), files(filepath.Join(root, "first")), withModel)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(change(db, false, tables...)).To(Succeed())
	var backup bytes.Buffer
	_, err = db.Backup(context.Background(), &backup, storage.BackupOptions{CopyOnly: true})
	g.Expect(err).NotTo(HaveOccurred())
	in, err := storage.OpenBackup(&backup)
	g.Expect(err).NotTo(HaveOccurred())
	replica, err = storage.Seed(context.Background(), in, files(filepath.Join(root, "second")), options)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(db.HoldLog(storage.HoldReplica+" second", replica.Log().End())).To(Succeed())
	return db, replica
}

// ship sends the hardened log that the replica lacks, and hardens it there.
func ship(from, to *storage.Database) error {
	f, err := from.Log().FollowHardened(to.Log().End())
	if err != nil {
		return err
	}
	defer f.Close()
	for {
		b, err := f.TryNext()
		if err != nil {
			return err
		}
		if b == nil {
			break
		}
		if _, err := to.Log().Append(b.Raw); err != nil {
			return err
		}
	}
	end := to.Log().End()
	if err := to.Log().Harden(context.Background(), end); err != nil {
		return err
	}
	return from.HoldLog(storage.HoldReplica+" second", end)
}

// record has four sessions commit transactions, with checkpoints, roll-backs and a replica that follows, and records
// it.
func record(g *WithT, root string, transactions int, random *rand.Rand) *recording {
	r := &recording{}
	stop := standindisk.Watch(root, r)
	defer stop()
	db, replica := create(g, root)
	defer db.Close()
	defer replica.Close()
	r.add(event{kind: acknowledged})
	sizes := make([]int, transactions+1)
	for n := range sizes {
		sizes[n] = 10 + random.IntN(300)
		if random.IntN(15) == 0 {
			sizes[n] = 40_000
		}
	}
	var next atomic.Int64
	var work errgroup.Group
	for range 4 {
		work.Go(func() error {
			for {
				n := int(next.Add(1))
				if n > transactions {
					return nil
				}
				if n%7 == 0 {
					if err := change(db, true, transaction(-n, sizes[n])...); err != nil {
						return err
					}
				}
				if err := change(db, false, transaction(n, sizes[n])...); err != nil {
					return err
				}
				r.add(event{kind: acknowledged, number: n})
				if n%9 == 0 {
					// One of them ships at a time: two would put a block after itself.
					shipping.Lock()
					err := ship(db, replica)
					shipping.Unlock()
					if err != nil {
						return err
					}
				}
				if n%31 == 0 {
					if err := replica.Checkpoint(context.Background()); err != nil {
						return err
					}
				}
			}
		})
	}
	// Checkpoints meet commits at all moments.
	finished := make(chan struct{})
	var checkpoints errgroup.Group
	checkpoints.Go(func() error {
		for {
			select {
			case <-finished:
				return nil
			default:
			}
			if err := db.Checkpoint(context.Background()); err != nil {
				return err
			}
		}
	})
	err := work.Wait()
	close(finished)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(checkpoints.Wait()).To(Succeed())
	return r
}

var shipping sync.Mutex

// read is one number of a query.
func read(g *WithT, db *storage.Database, text string) int64 {
	r, err := db.Reader(context.Background())
	g.Expect(err).NotTo(HaveOccurred())
	defer r.Release()
	n, err := sqlitex.ResultInt64(r.Conn().Prep(text))
	g.Expect(err).NotTo(HaveOccurred(), text)
	return n
}

// fingerprint is a checksum of all rows.
func fingerprint(g *WithT, db *storage.Database) string {
	r, err := db.Reader(context.Background())
	g.Expect(err).NotTo(HaveOccurred())
	defer r.Release()
	sum := sha256.New()
	for _, table := range []string{"a", "b", "hot", "total"} {
		g.Expect(sqlitex.ExecuteTransient(r.Conn(), "SELECT * FROM "+table+" ORDER BY id",
			&sqlitex.ExecOptions{ResultFunc: func(s *sqlite.Stmt) error {
				for i := range s.ColumnCount() {
					fmt.Fprintf(sum, "%s %s|", table, s.ColumnText(i))
				}
				return nil
			}})).
			To(Succeed())
	}
	return fmt.Sprintf("%x", sum.Sum(nil))
}

// judge compares a database with what was acknowledged.
func judge(g *WithT, db *storage.Database, acknowledged map[int]bool) {
	g.Expect(read(g, db, "SELECT count(*) FROM pragma_integrity_check WHERE integrity_check <> 'ok'")).
		To(BeZero(), "integrity")
	g.Expect(read(g, db, "SELECT count(*) FROM a WHERE id NOT IN (SELECT id FROM b)")).To(BeZero(), "half a transaction")
	g.Expect(read(g, db, "SELECT count(*) FROM b WHERE id NOT IN (SELECT id FROM a)")).To(BeZero(), "half a transaction")
	g.Expect(read(g, db, "SELECT (SELECT count(*) FROM a) - transactions FROM total")).To(BeZero(), "half a transaction")
	g.Expect(read(g, db, "SELECT (SELECT coalesce(sum(id), 0) FROM a) - sum FROM total")).
		To(BeZero(), "half a transaction")
	g.Expect(read(g, db, "SELECT count(*) FROM hot WHERE n <> 0 AND n NOT IN (SELECT id FROM a)")).
		To(BeZero(), "half a transaction")
	g.Expect(read(g, db, "SELECT count(*) FROM a WHERE id < 0")).To(BeZero(), "rolled back, but there")
	for n := range acknowledged {
		g.Expect(read(g, db, fmt.Sprintf("SELECT count(*) FROM a WHERE id = %d", n))).
			To(Equal(int64(1)), "acknowledged transaction %d is lost", n)
	}
}

// A power cut at any moment, whatever of the unsynced writes reaches the disk: every acknowledged transaction is there,
// every other one whole or not at all, the copy becomes the same, and both go on.
func TestPowerCut(t *testing.T) {
	t.Parallel()
	random := newRandom(t)
	left := rounds()
	for left > 0 {
		n := min(left, 50)
		cutPower(t, n, random)
		left -= n
	}
}

func cutPower(t *testing.T, cuts int, random *rand.Rand) {
	g := NewWithT(t)
	root := t.TempDir()
	r := record(g, root, 300, random)
	begin := 0
	for r.events[begin].kind != acknowledged {
		begin++
	}
	at := make([]int, cuts)
	for i := range at {
		at[i] = begin + 1 + random.IntN(len(r.events)-begin)
	}
	slices.Sort(at)
	d, done := &disk{names: map[string]*inode{}, durable: map[string]*inode{}}, 0
	known := map[int]bool{}
	for round, n := range at {
		d.replay(r.events, done, n)
		for ; done < n; done++ {
			if e := r.events[done]; e.kind == acknowledged && e.number > 0 {
				known[e.number] = true
			}
		}
		how := cutKind(random.IntN(4))
		t.Logf("cut %d: after event %d of %d, %d transactions, kind %d", round, n, len(r.events), len(known), how)
		folder := filepath.Join(t.TempDir(), "after")
		g.Expect(d.write(root, folder, how, random)).To(Succeed())
		afterPowerCut(g, folder, known)
		g.Expect(os.RemoveAll(folder)).To(Succeed())
	}
}

// afterPowerCut opens what is left, twice, with work in between.
func afterPowerCut(g *WithT, folder string, known map[int]bool) {
	again := map[int]bool{1_000_000: true}
	for n := range known {
		again[n] = true
	}
	for _, expected := range []map[int]bool{known, again} {
		db, err := storage.Open(context.Background(), files(filepath.Join(folder, "first")), options)
		g.Expect(err).NotTo(HaveOccurred())
		replica, err := storage.Open(context.Background(), files(filepath.Join(folder, "second")), options)
		g.Expect(err).NotTo(HaveOccurred())
		judge(g, db, expected)
		g.Expect(ship(db, replica)).To(Succeed())
		end, _ := db.Applied()
		g.Eventually(func() (storage.LSN, error) { lsn, _ := replica.Applied(); return lsn, replica.RedoError() }, "2m",
			"1ms").
			Should(Equal(end))
		judge(g, replica, expected)
		g.Expect(fingerprint(g, replica)).To(Equal(fingerprint(g, db)))
		if !expected[1_000_000] {
			g.Expect(change(db, false, transaction(1_000_000, 100)...)).To(Succeed())
		}
		g.Expect(replica.Close()).To(Succeed())
		g.Expect(db.Close()).To(Succeed())
	}
}
