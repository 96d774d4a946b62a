// SPDX-License-Identifier: Apache-2.0

package figures_test

import (
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/test/support/figures"
)

// A row that misses its bar is marked, and the report says so at its end.
func TestAMissedBarIsMarked(t *testing.T) {
	g := NewWithT(t)
	table := &figures.Table{Title: "Speeds", Head: []string{"way", "s"}, Note: "By a clock."}
	table.Add([]string{"slow", "9"}, figures.Bar{What: "s", Value: 9, Most: 3},
		figures.Bar{What: "share", Value: 0, Most: 1})
	table.Add([]string{"fast", "1"})
	r := &figures.Report{Title: "Of a machine", About: []string{"Two cores."}, Tables: []*figures.Table{table}}
	g.Expect(r.Markdown()).To(Equal("# Of a machine\n\nTwo cores.\n\n## Speeds\n\n| way | s | bar |\n|---|---|---|\n" +
		"| slow | 9 | **missed: s 9, 3 at most**; share 0, 1 at most |\n| fast | 1 |  |\n\nBy a clock.\n\n" +
		"Missed:\n\n- Speeds: slow, 9: s 9, 3 at most\n"))
	g.Expect(r.Missed()).To(HaveLen(1))
	folder := filepath.Join(t.TempDir(), "results")
	g.Expect(r.Write(folder, "speeds")).To(Succeed())
	written, err := os.ReadFile(filepath.Join(folder, "speeds.md"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(written)).To(Equal(r.Markdown()))
}

func TestATableWithoutBars(t *testing.T) {
	g := NewWithT(t)
	table := &figures.Table{Title: "Speeds", Head: []string{"way", "s"}}
	table.Add([]string{"fast", "1"})
	g.Expect(table.Markdown()).To(Equal("## Speeds\n\n| way | s |\n|---|---|\n| fast | 1 |\n"))
	g.Expect(table.Missed()).To(BeEmpty())
	g.Expect(func() { table.Add([]string{"fast"}) }).To(PanicWith(ContainSubstring("1 cells for 2 columns")))
}

// What was not measured holds no bar.
func TestNoFigureHoldsNoBar(t *testing.T) {
	g := NewWithT(t)
	g.Expect(figures.Bar{Value: math.NaN(), Most: 1}.Held()).To(BeFalse())
	g.Expect(figures.Bar{Value: 1, Most: 1}.Held()).To(BeTrue())
	g.Expect(figures.Bar{Value: 1.01, Most: 1}.Held()).To(BeFalse())
}

func TestLinks(t *testing.T) {
	g := NewWithT(t)
	for want, link := range map[string]figures.Link{
		"none":                {},
		"1 Gbit/s, 150 ms":    {Rate: 1e9, RoundTrip: 150 * time.Millisecond},
		"1.5 Mbit/s, 77 ms":   {Rate: 1.5e6, RoundTrip: 77 * time.Millisecond},
		"64 kbit/s, 77 ms":    {Rate: 64e3, RoundTrip: 77 * time.Millisecond},
		"no limit, 77 ms":     {RoundTrip: 77 * time.Millisecond},
		"100 Mbit/s, 0 ms":    {Rate: 100e6},
		"512 kbit/s, 1000 ms": {Rate: 512e3, RoundTrip: time.Second},
	} {
		g.Expect(link.String()).To(Equal(want))
	}
	g.Expect(figures.Link{Rate: 8e6}.Least(3e6)).To(Equal(3 * time.Second))
	g.Expect(figures.Link{}.Least(3e6)).To(BeZero())
}

// The limit counts what the link and the machine alone need; the bar is on the transfer alone.
func TestACopyBesideItsLimit(t *testing.T) {
	c := figures.Copy{Way: "Snapshot", Link: figures.Link{Rate: 8e6, RoundTrip: 77 * time.Millisecond},
		Bytes: 10e6, Sent: 5e6,
		Phases: figures.Phases{Made: time.Second, Listed: time.Second, Sent: 5400 * time.Millisecond,
			Verified: time.Second, Applied: 2 * time.Second, CaughtUp: time.Second},
		Alone: figures.Phases{Made: time.Second, Sent: 3 * time.Second, Verified: time.Second, Applied: time.Second},
		Rows:  12, Written: 2}
	for name, change := range map[string]struct {
		do   func(*figures.Copy)
		want string
	}{
		"as it is": {func(*figures.Copy) {}, ""},
		"slower than its link": {func(c *figures.Copy) { c.Phases.Sent = 5600 * time.Millisecond },
			"bytes over bandwidth 1.12"},
		"with other rows":         {func(c *figures.Copy) { c.Differ = true }, "differences 1"},
		"with nothing to be sent": {func(c *figures.Copy) { c.Sent, c.Phases.Sent = 0, time.Hour }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			one := c
			change.do(&one)
			missed := figures.Copies("First copies", []figures.Copy{one}).Missed()
			if change.want == "" {
				g.Expect(missed).To(BeEmpty())
				return
			}
			g.Expect(missed).To(ConsistOf(ContainSubstring(change.want)))
		})
	}
	g := NewWithT(t)
	g.Expect(c.Limit()).To(Equal(8 * time.Second))
	c.Overlap = time.Second
	g.Expect(c.Limit()).To(Equal(7 * time.Second))
	g.Expect(figures.Copies("First copies", []figures.Copy{c}).Markdown()).To(ContainSubstring(
		"| Snapshot | 10.00 | 8 Mbit/s, 77 ms | 5.00 | 1.00 | 1.00 | 5.40 | 1.00 | 2.00 | 1.00 | 11.40 | 5.00 | " +
			"7.00 | 1.63 | 12 | 2 |"))
}
