// SPDX-License-Identifier: Apache-2.0

package backups

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	driver "github.com/microsoft/go-mssqldb"
	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/backup"
	"geosql.dev/operator/internal/mssql"
)

func refusal(numbers ...int32) error {
	e := driver.Error{Number: numbers[0]}
	for _, n := range numbers {
		e.All = append(e.All, driver.Error{Number: n})
	}
	return &mssql.Error{Server: "tukpub-0", Doing: "back up", Class: mssql.Refused, Number: e.Number, Err: e}
}

// An engine that has taken a backup and cannot note it says so by an error, and a time-out says nothing.
func TestWhichAnswersRefuseABackup(t *testing.T) {
	g := NewWithT(t)
	g.Expect(refused(refusal(4214, 3013))).To(BeTrue())
	g.Expect(refused(refusal(3009))).To(BeFalse())
	g.Expect(refused(refusal(3009, 802))).To(BeFalse())
	g.Expect(refused(refusal(1105, 3009))).To(BeFalse())
	g.Expect(refused(&mssql.Error{Class: mssql.Unknown, Err: context.DeadlineExceeded})).To(BeFalse())
	g.Expect(refused(errors.New("broken pipe"))).To(BeFalse())
	g.Expect(refused(nil)).To(BeFalse())
}

func TestWhatBecomesOfABackupThatWasBegun(t *testing.T) {
	noted := &mssql.BackupTaken{ID: "a"}
	for why, row := range map[string]struct {
		evidence
		fate
	}{
		"noted":                                  {evidence{Noted: noted, Written: true}, becomesSet},
		"noted while another of the kind is":     {evidence{Noted: noted, Written: true, Busy: true}, becomesSet},
		"not noted, and the engine may be at it": {evidence{Written: true, Busy: true}, waits},
		"not even a file yet":                    {evidence{Busy: true}, waits},
		"refused":                                {evidence{Written: true, Refused: true}, goes},
		"refused while another of the kind is":   {evidence{Written: true, Refused: true, Busy: true}, goes},
		"nothing was written":                    {evidence{}, goes},
		"not noted, written, nobody said no":     {evidence{Written: true}, keptAside},
		"noted as damaged, nobody said no": {evidence{Noted: &mssql.BackupTaken{Damaged: true}, Written: true},
			keptAside},
	} {
		NewWithT(t).Expect(fateOf(row.evidence)).To(Equal(row.fate), why)
	}
}

// aTaker has its sets in a new folder, and no engine.
func aTaker(t *testing.T) *taker {
	t.Helper()
	away := func(context.Context) (*mssql.DB, error) { return nil, errors.New("no engine") }
	return newTaker(Engine{away, away, away}, &local{dir: filepath.Join(t.TempDir(), setsDir)}, time.Now)
}

// folder is one in which a backup was begun, with its first file.
func (e *taker) folder(t *testing.T, name string, take Take) string {
	t.Helper()
	dir := filepath.Join(e.sets.dir, name)
	content, err := json.Marshal(begun{Take: take, Policy: "nightly", Files: []string{"1.trn"}, KeepAge: 24 * time.Hour})
	if err == nil {
		err = os.MkdirAll(dir, 0o750)
	}
	for name, content := range map[string][]byte{takeName: content, "1.trn": []byte("log")} {
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), content, 0o600)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// What cannot be read now may be a backup that the engine has finished.
func TestABackupThatCannotBeReadNowIsKept(t *testing.T) {
	g := NewWithT(t)
	e := aTaker(t)
	dir := e.folder(t, ".new-a", Take{})
	g.Expect(os.Remove(filepath.Join(dir, takeName))).To(Succeed())
	g.Expect(os.Mkdir(filepath.Join(dir, takeName), 0o750)).To(Succeed(), "it cannot be read as a file")
	_, err := e.settle(t.Context(), dir)
	g.Expect(err).To(MatchError(errUnsettled))
	g.Expect(filepath.Join(dir, "1.trn")).To(BeAnExistingFile())

	g.Expect(os.Remove(filepath.Join(dir, takeName))).To(Succeed())
	_, err = e.settle(t.Context(), dir)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(dir).NotTo(BeADirectory(), "before it is on disk nothing is asked of the engine")
}

// What may be the only copy of a part of the log is kept for people, and said until a full backup is behind it; what is
// of data goes with the next of the database.
func TestWhatIsKeptAside(t *testing.T) {
	g := NewWithT(t)
	e := aTaker(t)
	aside := func(name string, kind backup.Kind, database string) {
		take := Take{Database: database, Kind: kind}
		dir := e.folder(t, ".new-"+name, take)
		b, err := readBegun(dir)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(e.putAside(dir, b)).To(MatchError(errAside))
		g.Expect(filepath.Join(e.sets.dir, ".aside-"+name, "1.trn")).To(BeAnExistingFile())
	}
	names := func() (all []string) {
		found, err := e.asides()
		g.Expect(err).NotTo(HaveOccurred())
		for _, a := range found {
			all = append(all, filepath.Base(a.Dir))
		}
		return all
	}
	said := func() error {
		found, err := e.asides()
		g.Expect(err).NotTo(HaveOccurred())
		return missed(found, "nightly")
	}
	aside("log", backup.Log, "Content")
	aside("full", backup.Full, "Content")
	aside("other", backup.Full, "Other")
	aside("again", backup.Full, "content")
	g.Expect(names()).To(ConsistOf(".aside-log", ".aside-again", ".aside-other"), "one with data for each database")
	g.Expect(said()).To(MatchError(And(ContainSubstring(".aside-log"), ContainSubstring("log backup of Content"))))
	begun, err := e.sets.begun()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(begun).To(BeEmpty())

	full := backup.Description{Set: backup.Set{Kind: backup.Full, Database: "Content", Begun: time.Now().Add(-time.Hour)}}
	g.Expect(e.replaced(full)).To(Succeed())
	g.Expect(names()).To(ConsistOf(".aside-log", ".aside-other"))
	full.Begun = time.Now().Add(time.Minute)
	g.Expect(e.replaced(full)).To(Succeed())
	g.Expect(names()).To(ConsistOf(".past-log", ".aside-other"))
	g.Expect(said()).To(Succeed())

	g.Expect(e.endAsides(time.Now())).To(Succeed())
	g.Expect(names()).To(HaveLen(2))
	g.Expect(e.endAsides(time.Now().Add(25 * time.Hour))).To(Succeed())
	g.Expect(names()).To(BeEmpty())
}

// A log backup whose connection broke was most often none. The next one shows it: it goes on from where the one before
// ended.
func TestWhatIsAsideAndMissedByNobody(t *testing.T) {
	g := NewWithT(t)
	a := aside{begun: begun{Take: Take{Database: "Content", Family: "f", Kind: backup.Log}}, At: ago(10 * time.Minute)}
	before := taken("before", backup.Log, 15*time.Minute, "10", "20")
	goesOn := taken("later", backup.Log, 5*time.Minute, "20", "40")
	hole := taken("later", backup.Log, 5*time.Minute, "30", "40")
	needless := func(sets ...backup.Description) bool { return a.needless(sets, "tukpub-0") }
	g.Expect(needless(before, goesOn)).To(BeTrue())
	g.Expect(needless(before, hole)).To(BeFalse(), "what it has is nowhere else")
	g.Expect(needless(before)).To(BeFalse(), "nobody knows yet")
	g.Expect(needless(hole, taken("behind", backup.Log, time.Minute, "40", "50"))).To(BeFalse())
	earlier := taken("earlier", backup.Log, 11*time.Minute, "20", "40")
	g.Expect(needless(before, earlier)).To(BeFalse(), "it was taken before")
	other := goesOn
	other.Family = "g"
	g.Expect(needless(before, other)).To(BeFalse(), "another database's")
	other = goesOn
	other.Server, other.Begun = "quisec-0", a.At.Add(30*time.Second)
	g.Expect(needless(before, other)).To(BeFalse(), "its clock may be apart")

	e := aTaker(t)
	dir := e.folder(t, ".aside-log", a.Take)
	g.Expect(os.Chtimes(filepath.Join(dir, takeName), a.At, a.At)).To(Succeed())
	g.Expect(e.account("nightly", []backup.Description{before, hole}, "tukpub-0", false)).To(MatchError(errAside))
	g.Expect(e.account("other", []backup.Description{before, goesOn}, "tukpub-0", false)).To(Succeed())
	g.Expect(dir).To(BeADirectory())
	g.Expect(e.account("nightly", []backup.Description{before, goesOn}, "tukpub-0", false)).To(Succeed())
	g.Expect(dir).NotTo(BeADirectory())
}

// What is past is missed as long as a set from before it is kept, from which moments between could be restored.
func TestWhatIsPastGoesWithAllBeforeIt(t *testing.T) {
	g := NewWithT(t)
	e := aTaker(t)
	at := ago(10 * time.Minute)
	dir := e.folder(t, ".past-log", Take{Database: "Content", Family: "f", Kind: backup.Log})
	g.Expect(os.Chtimes(filepath.Join(dir, takeName), at, at)).To(Succeed())
	before := taken("before", backup.Full, 15*time.Minute, "10", "20")
	full := taken("full", backup.Full, 5*time.Minute, "40", "50")
	near, other := full, full
	near.Server, near.Begun = "quisec-0", at.Add(30*time.Second)
	other.Family = "g"
	for why, sets := range map[string][]backup.Description{"one is from before": {before, full}, "none is known": nil,
		"another database's": {other}, "its clock may be apart": {near, full}} {
		g.Expect(e.account("nightly", sets, "tukpub-0", true)).To(Succeed())
		g.Expect(dir).To(BeADirectory(), why)
	}
	g.Expect(e.account("other", []backup.Description{full}, "tukpub-0", true)).To(Succeed())
	g.Expect(dir).To(BeADirectory())
	g.Expect(e.account("nightly", []backup.Description{full}, "tukpub-0", true)).To(Succeed())
	g.Expect(dir).NotTo(BeADirectory())
}

// A set may have terabytes: reading it ends with the sidecar.
func TestReadingWhatWasBackedUpEnds(t *testing.T) {
	g := NewWithT(t)
	file := filepath.Join(t.TempDir(), "1.bak")
	g.Expect(os.WriteFile(file, []byte("abc"), 0o600)).To(Succeed())
	f, err := sum(t.Context(), file)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(f).To(Equal(backup.File{Name: "1.bak", Bytes: 3,
		SHA256: "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"}))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = sum(ctx, file)
	g.Expect(err).To(MatchError(context.Canceled))
}
