// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/test/support/checkout"
)

func TestLedgerIsSound(t *testing.T) {
	NewWithT(t).Expect(All().Check()).To(BeEmpty())
}

// The checks find what they are there to find.
func TestFaultsOfALedgerAreFound(t *testing.T) {
	g := NewWithT(t)
	statement := Statement{Name: "A", Runs: []string{"sp_a"}, Page: "docs/a.md", Held: HeldByDocument}
	sound := Doubt{ID: "R-W1", Verdict: Wrong, Evidence: "field", Status: Open, Statements: []string{"A"}, Doubt: "d",
		Seen: "s", Settle: Settle{SQL: "SELECT 1", Where: "w"}}
	check := func(change func(*Doubt)) []string {
		d := sound
		change(&d)
		return (&Ledger{Statements: []Statement{statement}, Doubts: []Doubt{d}}).Check()
	}
	g.Expect(check(func(*Doubt) {})).To(BeEmpty())
	for name, change := range map[string]func(*Doubt){
		"needs a test":    func(d *Doubt) { d.Status = Mended },
		"no statement":    func(d *Doubt) { d.Statements = []string{"B"} },
		"what answer":     func(d *Doubt) { d.Settle.Harmless = true },
		"a pattern":       func(d *Doubt) { d.Settle.Harmless, d.Settle.Expect = true, "(" },
		"needs the build": func(d *Doubt) { d.Status = Settled },
		"or about other":  func(d *Doubt) { d.Other = "a setting" },
		"is no ID":        func(d *Doubt) { d.ID = "X-1" },
	} {
		g.Expect(check(change)).To(ContainElement(ContainSubstring(name)))
	}
}

// The pages are what the data say: make generate writes them.
func TestPagesAreAsGenerated(t *testing.T) {
	g := NewWithT(t)
	page, err := os.ReadFile(filepath.Join(checkout.Root(), "docs", "certification.md"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(page) == All().Page()).To(BeTrue(), "docs/certification.md differs: run make generate")
	readme, err := os.ReadFile(filepath.Join(checkout.Root(), "README.md"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(All().Readme(string(readme))).To(Equal(string(readme)), "README.md differs: run make generate")
}

// A doubt that is mended names a test that is there.
func TestTestsOfTheLedgerExist(t *testing.T) {
	g := NewWithT(t)
	files, err := exec.Command("git", "-C", checkout.Root(), "ls-files", "--cached", "--others", "--exclude-standard",
		"*_test.go").Output()
	g.Expect(err).NotTo(HaveOccurred())
	var all strings.Builder
	for _, name := range strings.Fields(string(files)) {
		if data, err := os.ReadFile(filepath.Join(checkout.Root(), name)); err == nil {
			all.Write(data)
		}
	}
	for _, d := range All().Doubts {
		if d.Test != "" {
			g.Expect(strings.Contains(all.String(), "\nfunc "+d.Test+"(")).To(BeTrue(), "%s names %s", d.ID, d.Test)
		}
	}
}

func TestCounts(t *testing.T) {
	g := NewWithT(t)
	l := &Ledger{
		Statements: []Statement{{Name: "A", Held: HeldByDocument}, {Name: "B", Held: HeldByStandIn}},
		Doubts: []Doubt{{ID: "R-W1", Verdict: Wrong, Status: Mended}, {ID: "R-W2", Verdict: Wrong, Status: Open},
			{ID: "R-D1", Verdict: Doubtful, Status: Asked}},
	}
	c := l.Count()
	g.Expect(c.Held).To(Equal(map[Held]int{HeldByDocument: 1, HeldByStandIn: 1}))
	g.Expect(c.Doubts).To(Equal(map[Verdict]int{Wrong: 2, Doubtful: 1}))
	g.Expect(c.Standing).To(Equal(map[Verdict]int{Wrong: 1, Doubtful: 1}))
}
