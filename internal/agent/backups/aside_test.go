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
			err := e.account("nightly", []backup.Description{before, full, after}, "tukpub-0")
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
	g.Expect(e.account("nightly", sets, "tukpub-0")).To(MatchError(errAside))
	took := time.Since(begun)
	t.Logf("%d sets took %s", n, took)
	g.Expect(took).To(BeNumerically("<", 500*time.Millisecond))
}
