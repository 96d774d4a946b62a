// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"bytes"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/tsql"
	"geosql.dev/operator/internal/tsql/ledger"
	"geosql.dev/operator/test/support/terminal"
)

func doubted(status ledger.Status) *ledger.Ledger {
	return &ledger.Ledger{
		Statements: []ledger.Statement{
			{Name: "AddDistributor", Runs: []string{"sp_adddistributor"}},
			{Name: "DropDistributor", Runs: []string{"sp_dropdistributor"}},
		},
		Doubts: []ledger.Doubt{
			{ID: "R-D1", Status: status, Statements: []string{"AddDistributor", "DropDistributor"}},
			{ID: "R-D2", Status: ledger.Open, Statements: []string{"DropDistributor"}},
		},
	}
}

// A plan names what it would send and nobody has tried, and nothing else.
func TestAPlanNamesWhatNobodyHasTried(t *testing.T) {
	sent := []tsql.Statement{tsql.AddDistributor("d-0", "secret"), tsql.CreateDatabase("Content")}
	for status, want := range map[ledger.Status]string{
		ledger.Open: "\nNot yet tried on SQL Server, with the doubts that docs/certification.md explains:\n" +
			"  AddDistributor: R-D1\n",
		ledger.Mended: "", ledger.Both: "", ledger.Settled: "",
	} {
		var out bytes.Buffer
		untried(&out, doubted(status), sent)
		NewWithT(t).Expect(out.String()).To(Equal(want), "%s", status)
	}
}

// The example's plan says it once, in a list that is no wall, of statements that it prints.
func TestTheExampleSaysWhatNobodyHasTried(t *testing.T) {
	g := NewWithT(t)
	text, err := terminal.Run(t, NewCommand(), "", "-f", examples+"sites.yaml", "-f", examples+"msdn.yaml", "--offline")
	g.Expect(err).NotTo(HaveOccurred())
	_, list, found := strings.Cut(text, "\nNot yet tried on SQL Server")
	standing := 0
	for _, d := range ledger.All().Doubts {
		if d.Stands() {
			standing++
		}
	}
	g.Expect(found).To(Equal(standing > 0))
	g.Expect(strings.Count(list, "\n")).To(BeNumerically("<", 30))
	for line := range strings.Lines(list) {
		if name, _, ok := strings.Cut(strings.TrimSpace(line), ": R-"); ok {
			_, known := ledger.All().Statement(name)
			g.Expect(known).To(BeTrue(), line)
		}
	}
}
