// SPDX-License-Identifier: Apache-2.0

package backup

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

// shown is when the clock of the server that wrote the files showed a minute of the first of March.
func shown(minute int) time.Time {
	return time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC).Add(time.Duration(minute) * time.Minute)
}

func header(id string, kind Kind, minute int, first, last LSN) Header {
	types := map[Kind]int{Full: 1, Log: 2, Differential: 5}
	return Header{Set: Set{ID: id, Kind: kind, Database: "Sales", Family: "fam", FirstLSN: first, LastLSN: last,
		FirstFork: "fork", Fork: "fork", Begun: shown(minute), Finished: shown(minute).Add(10 * time.Second)},
		Type: types[kind], Position: 1, Major: 15, Build: "15.0.4000", Bytes: 40,
		DatabaseFiles: []DatabaseFile{{Name: "Sales"}, {Name: "Sales_log", Log: true}}}
}

// file of a media set of its own, with its sets at positions 1, 2, ...
func file(key string, headers ...Header) ImportFile {
	for n := range headers {
		headers[n].Position = n + 1
	}
	return ImportFile{Key: key, Name: strings.ReplaceAll(key, "/", "-"), Bytes: 100, MediaSet: "media-" + key, Family: 1,
		Families: 1, Headers: headers}
}

// stripes are the files of one media set, each of which has the headers of all sets.
func stripes(families int, keys []string, headers ...Header) (all []ImportFile) {
	for n, key := range keys {
		f := file(key, append([]Header(nil), headers...)...)
		f.MediaSet, f.Family, f.Families = "striped", n+1, families
		all = append(all, f)
	}
	return all
}

// sales are a full backup, a differential, and three of the log: 10 to 20, 20 to 30, 30 to 40, each a minute apart.
func sales() []ImportFile {
	diff := header("d", Differential, 3, "24", "26")
	diff.BaseID, diff.BaseLSN = "f", "10"
	return []ImportFile{file("Sales_2.trn", header("l3", Log, 4, "30", "40")),
		file("Sales.bak", header("f", Full, 0, "10", "12")), file("Sales_0.trn", header("l1", Log, 1, "10", "20")),
		file("Sales_1.trn", header("l2", Log, 2, "20", "30")), file("Sales.dif", diff)}
}

func edited(files []ImportFile, key string, edit func(*Header)) []ImportFile {
	for n := range files {
		if files[n].Key == key {
			edit(&files[n].Headers[0])
		}
	}
	return files
}

func without(files []ImportFile, key string) (left []ImportFile) {
	for _, f := range files {
		if f.Key != key {
			left = append(left, f)
		}
	}
	return left
}

func minutes(m int) *int { return &m }

func TestImports(t *testing.T) {
	pacific, err := time.LoadLocation("America/Los_Angeles")
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		why    string
		of     Import
		chain  string
		unused map[string]string
		refuse Refusal
		none   string
		check  func(Gomega, Imported)
	}{
		{why: "the newest point, through the differential", of: Import{Files: sales()}, chain: "f d l2 l3",
			unused: map[string]string{"Sales_0.trn": "has all of it"}},
		{why: "one after the other, where there is no differential", of: Import{Files: without(sales(), "Sales.dif")},
			chain: "f l1 l2 l3"},
		{why: "a full backup alone", of: Import{Files: sales()[1:2]}, chain: "f"},
		{why: "the log without a full backup", of: Import{Files: without(without(sales(), "Sales.bak"), "Sales.dif")},
			none:   "there is no full backup",
			unused: map[string]string{"Sales_0.trn": "no chain", "Sales_1.trn": "no chain", "Sales_2.trn": "no chain"}},
		{why: "log is missing", of: Import{Files: without(without(sales(), "Sales_1.trn"), "Sales.dif")}, chain: "f l1",
			unused: map[string]string{"Sales_2.trn": "between LSN 20, at which the chain ends, and LSN 30"}},
		{why: "the differential's base is not there", of: Import{Files: edited(sales(), "Sales.dif", func(h *Header) {
			h.BaseID, h.BaseLSN = "other", "7"
		})}, chain: "f l1 l2 l3", unused: map[string]string{"Sales.dif": "begins at LSN 7, is not there"}},
		{why: "all in one file", of: Import{Files: []ImportFile{file("all.bak", sales()[1].Headers[0],
			sales()[2].Headers[0], sales()[3].Headers[0])}}, chain: "f l1 l2", check: func(g Gomega, i Imported) {
			g.Expect(i.Positions).To(Equal([]int{1, 2, 3}))
			g.Expect(i.Sets[1].Files).To(Equal([]File{{Name: "all.bak", Bytes: 40}}))
		}},
		{why: "a file twice", of: Import{Files: append(sales()[1:3], copied(sales()[1], "again/Sales.bak"))}, chain: "f l1",
			unused: map[string]string{"again/Sales.bak": "object Sales.bak has the same"}},
		{why: "striped", of: Import{Files: stripes(3, []string{"a", "b", "c"}, header("f", Full, 0, "10", "12"))},
			chain: "f", check: func(g Gomega, i Imported) {
				g.Expect(i.Sets[0].Files).To(Equal([]File{{Name: "a", Bytes: 100}, {Name: "b", Bytes: 100},
					{Name: "c", Bytes: 100}}))
			}},
		{why: "a stripe is missing", of: Import{Files: stripes(3, []string{"a", "b"}, header("f", Full, 0, "10", "12"))},
			none:   "no backup of database Sales that can be restored",
			unused: map[string]string{"a": "striped over 3 files, of which 2 are there"}},
		{why: "of two databases one is named", of: Import{Database: "sales", Files: append(sales(), other())},
			chain: "f d l2 l3", unused: map[string]string{"Sales_0.trn": "has all of it", "Other.bak": "of database Other"}},
		{why: "of two databases none is named", of: Import{Files: append(sales()[1:2], other())}, refuse: DatabaseNotNamed,
			unused: map[string]string{"Sales.bak": "no database is named", "Other.bak": "no database is named"}},
		{why: "the name is of none", of: Import{Database: "Else", Files: sales()[1:2]}, none: "no backup of database Else",
			unused: map[string]string{"Sales.bak": "of database Sales"}},
		{why: "parts, damage, snapshots, and what did not end", of: Import{Files: []ImportFile{
			file("Sales.bak", header("f", Full, 0, "10", "12")),
			file("part", Header{Set: Set{ID: "p", Database: "Sales"}, Type: 4}),
			file("half", Header{}),
			edited([]ImportFile{file("faulty", header("x", Full, 9, "50", "52"))}, "faulty",
				func(h *Header) { h.Faulty = true })[0],
			edited([]ImportFile{file("snap", header("s", Full, 9, "50", "52"))}, "snap",
				func(h *Header) { h.Snapshot = true })[0]}}, chain: "f", unused: map[string]string{
			"part": "BackupType 4", "half": "did not come to its end", "faulty": "was damaged when", "snap": "snapshot"}},
		{why: "another database that had the name", of: Import{Files: append(sales(),
			edited([]ImportFile{file("old.bak", header("o", Full, -99, "1", "2"))}, "old.bak",
				func(h *Header) { h.Family = "older" })...)}, chain: "f d l2 l3", unused: map[string]string{
			"Sales_0.trn": "has all of it", "old.bak": "another database that had the name"}},
		{why: "another history of the log", of: Import{Files: append(without(sales(), "Sales.dif"),
			edited([]ImportFile{file("fork.trn", header("x", Log, 3, "30", "35"))}, "fork.trn",
				func(h *Header) { h.FirstFork, h.Fork = "other", "other" })...)}, chain: "f l1 l2 l3",
			unused: map[string]string{"fork.trn": "another history of the log, recovery fork other"}},
		{why: "a newer version", of: Import{Files: edited(sales()[1:2], "Sales.bak", func(h *Header) {
			h.Major, h.Build = 17, "17.0.800"
		})}, refuse: VersionNewer, unused: map[string]string{"Sales.bak": "is refused"}},
		{why: "a newer version beside it", of: Import{Files: append(sales()[1:2], edited([]ImportFile{other()}, "Other.bak",
			func(h *Header) { h.Major = 17 })...), Database: "Sales"}, chain: "f",
			unused: map[string]string{"Other.bak": "of database Other"}},
		{why: "a certificate that is not there", of: Import{Thumbprints: []string{"AA"}, Files: edited(sales()[1:2],
			"Sales.bak", func(h *Header) { h.Thumbprints = []string{"AA", "0BAD"} })}, refuse: CertificateMissing,
			unused: map[string]string{"Sales.bak": "is refused"}},
		{why: "what opens it is in the engine's words alone", of: Import{Files: edited(sales()[1:2], "Sales.bak",
			func(h *Header) { h.Closed = "33111: cannot find" })}, refuse: CertificateMissing,
			unused: map[string]string{"Sales.bak": "is refused"}},
		{why: "a certificate that is there", of: Import{Thumbprints: []string{"AA"}, Files: edited(sales()[1:2], "Sales.bak",
			func(h *Header) { h.Thumbprints = []string{"AA"} })}, chain: "f"},
		{why: "a moment of which nobody knows the zone", of: Import{Files: sales(), To: Target{Time: shown(3)}},
			refuse: ZoneNotNamed, unused: map[string]string{"Sales.bak": "time zone", "Sales.dif": "time zone",
				"Sales_0.trn": "time zone", "Sales_1.trn": "time zone", "Sales_2.trn": "time zone"}},
		{why: "a moment by the declared zone", of: Import{Files: without(sales(), "Sales.dif"), Zone: pacific,
			To: Target{Time: shown(90).Add(6*time.Hour + 31*time.Minute + 30*time.Second)}}, chain: "f l1 l2",
			unused: map[string]string{"Sales_2.trn": "leads further"}, check: func(g Gomega, i Imported) {
				g.Expect(i.StopAt).To(Equal(shown(90).Add(6*time.Hour + 31*time.Minute + 30*time.Second)))
				g.Expect(i.Sets[2].ClockOffset).To(Equal(-8 * 60))
			}},
		{why: "a moment by the zone in the files", of: Import{Files: zoned(without(sales(), "Sales.dif"), 60),
			To: Target{Time: shown(-59).Add(30 * time.Second)}}, chain: "f l1 l2",
			unused: map[string]string{"Sales_2.trn": "leads further"}, check: func(g Gomega, i Imported) {
				g.Expect(i.Sets[2].ClockOffset).To(Equal(60))
				g.Expect(i.Sets[0].Finished).To(Equal(shown(-60).Add(10 * time.Second)))
			}},
		{why: "a moment within changes in bulk", of: Import{Files: zoned(edited(without(sales(), "Sales.dif"), "Sales_1.trn",
			func(h *Header) { h.BulkLogged = true }), 0), To: Target{Time: shown(1).Add(30 * time.Second)}},
			none: "name the LSN at its end, 30", unused: map[string]string{"Sales.bak": "no chain", "Sales_0.trn": "no chain",
				"Sales_1.trn": "no chain", "Sales_2.trn": "no chain"}},
		{why: "the end of changes in bulk", of: Import{Files: edited(without(sales(), "Sales.dif"), "Sales_1.trn",
			func(h *Header) { h.BulkLogged = true }), To: Target{LSN: "30"}}, chain: "f l1 l2",
			unused: map[string]string{"Sales_2.trn": "leads further"}},
		{why: "the end of a backup", of: Import{Files: sales(), To: Target{ID: "d"}}, chain: "f d",
			unused: map[string]string{"Sales_0.trn": "has all of it", "Sales_1.trn": "leads further",
				"Sales_2.trn": "leads further"}},
	} {
		t.Run(row.why, func(t *testing.T) {
			g := NewWithT(t)
			row.of.Major = 16
			got, err := written(t, row.of).Choose()
			var refused *Refused
			var none *NoChain
			switch {
			case row.refuse != "":
				g.Expect(errors.As(err, &refused)).To(BeTrue(), "%v", err)
				g.Expect(refused.Why).To(Equal(row.refuse), err.Error())
			case row.none != "":
				g.Expect(errors.As(err, &none)).To(BeTrue(), "%v", err)
				g.Expect(err.Error()).To(ContainSubstring(row.none))
			default:
				g.Expect(err).NotTo(HaveOccurred())
			}
			var chain []string
			for _, d := range got.Sets {
				chain = append(chain, d.ID)
				g.Expect(d.DatabaseFiles).NotTo(BeEmpty())
			}
			g.Expect(strings.Join(chain, " ")).To(Equal(row.chain))
			g.Expect(got.Positions).To(HaveLen(len(chain)))
			whys := map[string]string{}
			for _, u := range got.Unused {
				whys[u.Key] = u.Why
			}
			g.Expect(whys).To(HaveLen(len(row.unused)), "%v", whys)
			for key, why := range row.unused {
				g.Expect(whys[key]).To(ContainSubstring(why), key)
			}
			if row.check != nil {
				row.check(g, got)
			}
		})
	}
}

// written is what an agent has that reads what an earlier life has written down.
func written(t *testing.T, i Import) Import {
	t.Helper()
	content, err := json.Marshal(i.Files)
	if err != nil {
		t.Fatal(err)
	}
	i.Files = nil
	if err := json.Unmarshal(content, &i.Files); err != nil {
		t.Fatal(err)
	}
	return i
}

func copied(f ImportFile, key string) ImportFile {
	f.Key, f.Name = key, strings.ReplaceAll(key, "/", "-")
	return f
}

func other() ImportFile {
	h := header("of", Full, 5, "90", "92")
	h.Database, h.Family = "Other", "another"
	return file("Other.bak", h)
}

func zoned(files []ImportFile, offset int) []ImportFile {
	for n := range files {
		for m := range files[n].Headers {
			files[n].Headers[m].ClockOffset = minutes(offset)
		}
	}
	return files
}
