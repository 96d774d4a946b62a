// SPDX-License-Identifier: Apache-2.0

//go:build integration

package initial_test

import (
	"cmp"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"geosql.dev/operator/test/support/figures"
	"geosql.dev/operator/test/support/wan"
)

const (
	// resultsVariable names an environment variable with the folder into which the report is written.
	resultsVariable = "GEOSQL_BENCH_RESULTS"
	// partsVariable names an environment variable with the parts that are measured, with commas between them: all unless
	// given.
	partsVariable = "GEOSQL_BENCH_PARTS"
	// percentVariable names an environment variable with how many percent of the bytes are moved, 1 to 100: 100 unless
	// given. With less, bars of time say little.
	percentVariable = "GEOSQL_BENCH_PERCENT"
	reportName      = "first-copies"
)

// Of the part about spokes in its long form.
const (
	spokesOfAll = 8
	// preseededBytes are those of each spoke's older version, of which under a hundredth may be sent.
	preseededBytes = 128_000_000
	// longestCell is about how long a cell takes over a slow link with what does not shrink.
	longestCell = 100 * time.Second
)

// parts of the benchmark, in their order.
var parts = []struct {
	name    string
	measure func(b *testing.B, r *figures.Report, percent int)
}{{"ways", ways}, {"spokes", spokes}}

// BenchmarkFirstCopies measures all parts, prints the report and writes it into GEOSQL_BENCH_RESULTS. It fails where a
// row misses its bar.
//
//	go test -tags integration -run '^$' -bench FirstCopies -benchtime 1x -timeout 60m ./test/initial
func BenchmarkFirstCopies(b *testing.B) {
	if why := wan.Missing(); why != "" {
		b.Fatal(why)
	}
	var asked []string
	if text := os.Getenv(partsVariable); text != "" {
		asked = strings.Split(text, ",")
	}
	percent := 100
	if text := os.Getenv(percentVariable); text != "" {
		var err error
		if percent, err = strconv.Atoi(text); err != nil || percent < 1 || percent > 100 {
			b.Fatalf("%s=%s: 1 to 100", percentVariable, text)
		}
	}
	r := &figures.Report{Title: "How a far subscriber begins", About: []string{machine()}}
	if percent < 100 {
		r.About = append(r.About, fmt.Sprintf("With %d %% of the bytes: bars of time say little.", percent))
	}
	// What was measured is told, whatever becomes of the rest.
	defer told(b, r)
	measured := 0
	for _, p := range parts {
		if len(asked) == 0 || slices.Contains(asked, p.name) {
			p.measure(b, r, percent)
			measured++
		}
	}
	if measured != cmp.Or(len(asked), len(parts)) {
		b.Fatalf("%s=%s: not all of these are parts", partsVariable, strings.Join(asked, ","))
	}
}

// told prints and writes the report, and fails the benchmark for each bar that is missed.
func told(b *testing.B, r *figures.Report) {
	b.Helper()
	fmt.Printf("\n%s\n", r.Markdown())
	if folder := os.Getenv(resultsVariable); folder != "" {
		if err := r.Write(folder, reportName); err != nil {
			b.Error(err)
		}
	}
	for _, missed := range r.Missed() {
		b.Error(missed)
	}
}

// machine says where it was measured.
func machine() string {
	var u unix.Utsname
	_ = unix.Uname(&u) // then it has no name
	return fmt.Sprintf("Measured at %s on %d processors (%s, Linux %s) with everything on one machine.",
		time.Now().UTC().Format("2006-01-02 15:04"), runtime.NumCPU(), runtime.GOARCH,
		unix.ByteSliceToString(u.Release[:]))
}

// progress says what is measured next.
func progress(what ...any) { fmt.Fprintln(os.Stderr, append([]any{"bench:"}, what...)...) }

// spokes measures a hub and its spokes, what goes wrong, and what a sidecar takes.
func spokes(b *testing.B, r *figures.Report, percent int) {
	most := preseededBytes / 100 * percent
	f := newFleet(b, spokesOfAll, most)
	r.About = append(r.About, fmt.Sprintf("Links between hub and spokes have %s for congestion control, and a queue of a "+
		"bandwidth-delay product, 32 KiB at least.", f.net.Congestion))
	table := fleetTable(len(f.spokes))
	r.Tables = append(r.Tables, table)
	for _, c := range fleetCells(len(f.spokes), most, longestCell/100*time.Duration(percent)) {
		progress("spokes,", c.setting.name+",", c.link)
		fleetRow(b, f, table, c)
	}
	incidents, usage := incidentsTable(), usageTable()
	r.Tables = append(r.Tables, incidents, usage)
	c := cell{link: linkOf(100e6), setting: tuned, bytes: most}
	progress("a cut, a wrong bit, two at a site")
	cutAtHalf(b, f, incidents, c)
	flipped(b, f, incidents, c)
	twoAtASite(b, f, incidents, c)
	usages(b, f, usage, c)
}
