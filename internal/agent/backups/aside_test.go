// SPDX-License-Identifier: Apache-2.0

package backups

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/backup"
)

// logAside is what is aside of a log that was begun so long ago.
func (e *taker) logAside(t *testing.T, name string, before time.Duration) string {
	t.Helper()
	dir := e.folder(t, name, Take{Database: "Content", Family: "f", Kind: backup.Log})
	NewWithT(t).Expect(os.Chtimes(filepath.Join(dir, takeName), ago(before), ago(before))).To(Succeed())
	return dir
}

// After a failover the full backup behind what is aside is taken at another server: it is missed no more either.
func TestAFullBackupOfAnotherServerEndsWhatIsMissed(t *testing.T) {
	before := taken("before", backup.Log, 4*time.Hour, "10", "20")
	after := taken("after", backup.Log, time.Hour, "95", "200")
	for _, row := range []struct {
		why    string
		edit   func(*backup.Description)
		missed bool
	}{
		{why: "it is behind it"},
		{why: "it was taken before", edit: func(d *backup.Description) { d.Begun = ago(5 * time.Hour) }, missed: true},
		{why: "its clock may be apart", edit: func(d *backup.Description) { d.Begun = ago(3*time.Hour - 30*time.Second) },
			missed: true},
		{why: "it is damaged", edit: func(d *backup.Description) { d.Damaged = true }, missed: true},
		{why: "it is another database's", edit: func(d *backup.Description) { d.Family = "g" }, missed: true},
	} {
		t.Run(row.why, func(t *testing.T) {
			g := NewWithT(t)
			e := aTaker(t)
			e.logAside(t, ".aside-log", 3*time.Hour)
			full := taken("full", backup.Full, 2*time.Hour, "90", "100")
			full.Server = "quisec-0"
			if row.edit != nil {
				row.edit(&full)
			}
			err := e.account("nightly", []backup.Description{before, full, after}, "tukpub-0", false)
			if row.missed {
				g.Expect(err).To(MatchError(errAside))
				g.Expect(filepath.Join(e.sets.dir, ".aside-log")).To(BeADirectory())
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(filepath.Join(e.sets.dir, ".past-log")).To(BeADirectory(), "moments between may be restored by it")
		})
	}
}

// Months of log backups are looked at every two seconds, as long as something is aside.
func TestWhatIsAsideIsAccountedForQuickly(t *testing.T) {
	const n, every = 8640, 5 * time.Minute
	e := aTaker(t)
	e.logAside(t, ".aside-log", n/2*every+time.Minute)
	var sets []backup.Description
	for i := range n {
		lsn := i * 10
		if i >= n/2 {
			lsn += 5 // the hole
		}
		sets = append(sets, taken(fmt.Sprint("log", i), backup.Log, time.Duration(n-i)*every,
			backup.LSN(fmt.Sprintf("1%020d", lsn)), backup.LSN(fmt.Sprintf("1%020d", lsn+10))))
	}
	g := NewWithT(t)
	begun := time.Now()
	g.Expect(e.account("nightly", sets, "tukpub-0", false)).To(MatchError(errAside))
	took := time.Since(begun)
	t.Logf("%d sets took %s", n, took)
	g.Expect(took).To(BeNumerically("<", 500*time.Millisecond))
}

// Of a log that is aside nothing is missed where the next begins before the end of a full backup that was taken before
// it: one that begins right there may go on from what is aside.
func TestAFullBackupBeforeWhatIsAside(t *testing.T) {
	a := aside{begun: begun{Take: Take{Database: "Content", Family: "f", Kind: backup.Log}}, At: ago(10 * time.Minute)}
	full := taken("full", backup.Full, 15*time.Minute, "10", "20")
	for _, row := range []struct {
		why      string
		first    backup.LSN
		edit     func(*backup.Description)
		needless bool
	}{
		{why: "the log of before is in the next", first: "15", needless: true},
		{why: "the next begins where the full backup ends", first: "20"},
		{why: "the next begins behind it", first: "30"},
		{why: "the full backup was taken since", first: "15", edit: func(d *backup.Description) {
			d.Begun, d.Finished = ago(7*time.Minute), ago(7*time.Minute)
		}},
		{why: "it is damaged", first: "15", edit: func(d *backup.Description) { d.Damaged = true }},
		{why: "it is of another fork", first: "15", edit: func(d *backup.Description) { d.Fork = "b" }},
		{why: "the clock of its server may be apart", first: "15", edit: func(d *backup.Description) {
			d.Server, d.Finished = "quisec-0", a.At.Add(-30*time.Second)
		}},
	} {
		t.Run(row.why, func(t *testing.T) {
			before := full
			if row.edit != nil {
				row.edit(&before)
			}
			sets := []backup.Description{before, taken("next", backup.Log, 5*time.Minute, row.first, "40")}
			NewWithT(t).Expect(a.needless(sets, "tukpub-0")).To(Equal(row.needless))
		})
	}
}

// A full backup alone is behind what is aside of a log: a differential restores nothing without the full one before it,
// and a log backup goes on from what is aside.
func TestAFullBackupAloneEndsWhatIsMissed(t *testing.T) {
	for kind, past := range map[backup.Kind]bool{backup.Full: true, backup.Differential: false, backup.Log: false} {
		g := NewWithT(t)
		e := aTaker(t)
		e.logAside(t, ".aside-log", time.Hour)
		d := taken("one", kind, time.Minute, "90", "100")
		g.Expect(e.replaced(d)).To(Succeed())
		a := aside{begun: begun{Take: Take{Database: "Content", Family: "f", Kind: backup.Log}}, At: ago(time.Hour)}
		g.Expect(a.passed([]backup.Description{d}, "tukpub-0")).To(Equal(past), string(kind))
		name := map[bool]string{true: ".past-log", false: ".aside-log"}[past]
		g.Expect(filepath.Join(e.sets.dir, name)).To(BeADirectory(), string(kind))
	}
}

// What was a set, and is not as it was taken any more, is told so: the server did note it.
func TestASetThatIsNotAsItWasTakenIsTold(t *testing.T) {
	g := NewWithT(t)
	e := aTaker(t)
	log := taken("log", backup.Log, time.Hour, "10", "20")
	log.Files = []backup.File{{Name: "1.trn", Bytes: 3}}
	take := Take{Database: "Content", Family: "f", Kind: backup.Log}
	g.Expect(e.sets.add(e.folder(t, newPrefix+"log", take), log)).To(Succeed())
	own := Own{Description: log}
	g.Expect(os.Truncate(e.sets.path(own, "1.trn"), 2)).To(Succeed())
	g.Expect(e.sets.whole(t.Context(), own, false)).To(MatchError(errNotAsTaken))
	said := func() error { return e.account("nightly", nil, "tukpub-0", true) }
	g.Expect(said()).To(And(MatchError(errNotAsTaken), Not(MatchError(errAside))))
	e.logAside(t, ".aside-other", 2*time.Hour)
	g.Expect(said()).To(And(MatchError(errNotAsTaken), MatchError(errAside)))
}
