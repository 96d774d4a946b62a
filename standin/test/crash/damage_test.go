// SPDX-License-Identifier: Apache-2.0

package crash_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"geosql.dev/standin/storage"
)

// tryFingerprint is fingerprint where a read may fail.
func tryFingerprint(db *storage.Database) (rows []string, err error) {
	r, err := db.Reader(context.Background())
	if err != nil {
		return nil, err
	}
	defer r.Release()
	for _, table := range []string{"a", "b", "hot", "total"} {
		err := sqlitex.ExecuteTransient(
			r.Conn(),
			"SELECT * FROM "+table+" NOT INDEXED ORDER BY id",
			&sqlitex.ExecOptions{ResultFunc: func(s *sqlite.Stmt) error {
				row := table
				for i := range s.ColumnCount() {
					row += "|" + s.ColumnText(i)
				}
				rows = append(rows, row)
				return nil
			}},
		)
		if err != nil {
			return rows, err
		}
	}
	// The index, too.
	err = sqlitex.ExecuteTransient(
		r.Conn(),
		"SELECT u FROM a WHERE u < 0 ORDER BY u",
		&sqlitex.ExecOptions{ResultFunc: func(s *sqlite.Stmt) error {
			rows = append(rows, s.ColumnText(0))
			return nil
		}},
	)
	return rows, err
}

// reported tells whether an error says that something is damaged, rather than that something else went wrong.
func reported(db *storage.Database, err error) bool {
	var suspect *storage.Suspect
	var log *storage.DamagedLog
	return errors.As(err, &suspect) || errors.As(err, &log) || db != nil && db.Damage(err) != nil
}

// A bit is flipped anywhere in the files of a database that a crash left, or that was closed: what is read then is what
// was written, or the damage is reported. The log is read by a copy that lacks all of it.
func TestFlippedBit(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	random := newRandom(t)
	root := t.TempDir()
	db, replica := create(g, filepath.Join(root, "live"))
	g.Expect(replica.Close()).To(Succeed())
	base := db.Log().Oldest()
	g.Expect(db.HoldLog(storage.HoldReplica+" second", base)).To(Succeed())
	for n := 1; n <= 60; n++ {
		g.Expect(change(db, false, transaction(n, 10+random.IntN(4000))...)).To(Succeed())
		if n == 40 {
			g.Expect(db.Checkpoint(context.Background())).To(Succeed())
		}
	}
	want, err := tryFingerprint(db)
	g.Expect(err).NotTo(HaveOccurred())
	// What a killed process leaves.
	copyTree(g, filepath.Join(root, "live"), filepath.Join(root, "killed"))
	g.Expect(db.Close()).To(Succeed())
	copyTree(g, filepath.Join(root, "live"), filepath.Join(root, "closed"))

	seen := map[string]int{}
	for round := range 2 * rounds() {
		from := []string{"killed", "closed"}[random.IntN(2)]
		folder := filepath.Join(root, "damaged")
		g.Expect(os.RemoveAll(folder)).To(Succeed())
		copyTree(g, filepath.Join(root, from), folder)
		candidates := victims(g, filepath.Join(folder, "first"))
		path := candidates[random.IntN(len(candidates))]
		content, err := os.ReadFile(path)
		g.Expect(err).NotTo(HaveOccurred())
		at, bit := random.IntN(len(content)), random.IntN(8)
		content[at] ^= 1 << bit
		g.Expect(os.WriteFile(path, content, 0o640)).To(Succeed())
		where := fmt.Sprintf("round %d: bit %d of byte %d of %s, %s", round, bit, at, filepath.Base(path), from)
		seen[readDamaged(g, folder, where, want)+" "+filepath.Ext(path)]++
	}
	t.Log(seen)
	for _, what := range []string{"reported .mdf", "reported .vlf"} {
		g.Expect(seen).To(HaveKey(what))
	}
}

// readDamaged reads all of a database's data and log, and says whether that found damage.
func readDamaged(g *WithT, folder, where string, want []string) string {
	db, err := storage.Open(context.Background(), files(filepath.Join(folder, "first")), options)
	if err != nil {
		g.Expect(reported(nil, err)).To(BeTrue(), "%s: %v", where, err)
		return "reported"
	}
	defer db.Close()
	outcome := "harmless"
	if have, err := tryFingerprint(db); err != nil {
		g.Expect(reported(db, err)).To(BeTrue(), "%s: %v", where, err)
		outcome = "reported"
	} else {
		g.Expect(have).To(Equal(want), where)
	}
	f, err := db.Log().Follow(storage.LSN{})
	g.Expect(err).NotTo(HaveOccurred())
	defer f.Close()
	for {
		b, err := f.TryNext()
		if err != nil {
			g.Expect(reported(db, err)).To(BeTrue(), "%s: %v", where, err)
			return "reported"
		}
		if b == nil {
			break
		}
	}
	g.Expect(f.Position().Less(db.Log().End())).To(BeFalse(), "%s: the log is read to %s only", where, f.Position())
	return outcome
}

func copyTree(g *WithT, from, to string) {
	g.Expect(os.CopyFS(to, os.DirFS(from))).To(Succeed())
}

// victims are the files of a database that have data or log.
func victims(g *WithT, folder string) []string {
	var out []string
	g.Expect(filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasSuffix(path, "-shm") || strings.HasSuffix(path, ".json") {
			return err
		}
		if info, err := d.Info(); err != nil || info.Size() == 0 {
			return err
		}
		out = append(out, path)
		return nil
	})).To(Succeed())
	return out
}

// Whatever a crash leaves after the last whole block is cut off; what was committed before is there.
func TestTornEndOfTheLog(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	random := newRandom(t)
	root := t.TempDir()
	db, replica := create(g, filepath.Join(root, "live"))
	g.Expect(replica.Close()).To(Succeed())
	g.Expect(change(db, false, transaction(1, 100)...)).To(Succeed())
	copyTree(g, filepath.Join(root, "live"), filepath.Join(root, "before"))
	end := db.Log().End()
	g.Expect(change(db, false, transaction(2, 9000)...)).To(Succeed())
	segment, err := os.ReadFile(filepath.Join(db.Files().Log, fmt.Sprintf("%08x.vlf", end.VLF())))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(db.Close()).To(Succeed())
	block := segment[end.Block():]
	for range rounds() {
		folder := filepath.Join(root, "torn")
		g.Expect(os.RemoveAll(folder)).To(Succeed())
		copyTree(g, filepath.Join(root, "before"), folder)
		f, err := os.OpenFile(
			filepath.Join(files(filepath.Join(folder, "first")).Log, fmt.Sprintf("%08x.vlf", end.VLF())),
			os.O_RDWR,
			0,
		)
		g.Expect(err).NotTo(HaveOccurred())
		n := random.IntN(len(block))
		_, err = f.WriteAt(block[:n], int64(end.Block()))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(f.Close()).To(Succeed())
		again, err := storage.Open(context.Background(), files(filepath.Join(folder, "first")), options)
		g.Expect(err).NotTo(HaveOccurred(), "%d bytes", n)
		g.Expect(again.Log().End()).To(Equal(end), "%d bytes", n)
		judge(g, again, map[int]bool{1: true})
		g.Expect(change(again, false, transaction(3, 100)...)).To(Succeed())
		g.Expect(again.Close()).To(Succeed())
	}
}
