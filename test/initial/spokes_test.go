// SPDX-License-Identifier: Apache-2.0

//go:build integration

package initial_test

import (
	"fmt"
	"testing"
	"time"

	"geosql.dev/operator/test/support/figures"
)

const (
	// spokesRoundTrip of the links between hub and spokes.
	spokesRoundTrip = 77 * time.Millisecond
	// reportBytes are what each spoke of the field report had.
	reportBytes = 1e9
	// mostPreseeded and sharePreseeded are what a pre-seeded cell over the slowest link may take, beside its limit, and of
	// the bytes.
	mostPreseeded  = 1.3
	sharePreseeded = 0.01
)

// fleetCells are those of the table over so many spokes: what is not pre-seeded has bytes by which it takes about so
// long where nothing shrinks.
func fleetCells(spokes, preseeded int, long time.Duration) (all []cell) {
	for _, collects := range []bool{false, true} {
		for _, rate := range []float64{1e9, 1.5e6, 512e3, 256e3} {
			// Where all spokes share processors the machine is the limit.
			bytes := min(rate/8*long.Seconds(), float64(preseeded)/2)
			settings := []setting{untuned, tuned}
			if collects {
				// One stream serves one spoke after the other.
				bytes /= float64(spokes)
				settings = append(settings, widest)
			}
			for _, s := range settings {
				all = append(all, cell{link: linkOf(rate), setting: s, bytes: int(bytes), collects: collects})
			}
		}
	}
	for _, rate := range []float64{1e9, 512e3, 256e3, 64e3} {
		all = append(all, cell{link: linkOf(rate), setting: tuned, bytes: preseeded, preseeded: true})
	}
	return all
}

// linkOf is a link of the round trip that all between hub and spokes have.
func linkOf(rate float64) figures.Link { return figures.Link{Rate: rate, RoundTrip: spokesRoundTrip} }

// fleetTable is that of cells.
func fleetTable(spokes int) *figures.Table {
	return &figures.Table{Title: fmt.Sprintf("A hub and %d spokes", spokes),
		Head: []string{"what", "setting", "link of each spoke", "MB of each", "of the report's", "sent MB of each", "share",
			"listed s", "searched s", "fetched s", "verified s", "all s", "alone s", "limit s", "times the limit"},
		Note: "Phases are those of the spoke that had everything last. Alone: all, in the same run, without a link. Limit: " +
			"bytes as sent over bandwidth, or what fetching them takes alone where that is longer, and listing, searching and " +
			"verifying alone. A spoke of the report had 1 GB."}
}

// fleetRow moves a cell over all routes, without its link and with it.
func fleetRow(t testing.TB, f *fleet, table *figures.Table, c cell) outcome {
	t.Helper()
	bare := c
	bare.link = figures.Link{}
	alone, o := f.run(t, bare, f.routes(c), nil), f.run(t, c, f.routes(c), nil)
	limit := max(c.link.Least(o.each(o.sent)), alone.fetched) + alone.listed + alone.searched + alone.verified
	share := float64(o.sent) / float64(o.total)
	bars := []figures.Bar{{What: "files that differ", Value: float64(o.differ + alone.differ), Most: 0}}
	if c.preseeded {
		bars = append(bars, figures.Bar{What: "share", Value: share, Most: sharePreseeded})
		if c.link.Rate <= 64e3 {
			bars = append(bars, figures.Bar{What: "times the limit", Value: o.took.Seconds() / limit.Seconds(),
				Most: mostPreseeded})
		}
	}
	what := "hub to spokes"
	switch {
	case c.collects:
		what = "spokes to hub"
	case c.preseeded:
		what = "hub to spokes, pre-seeded"
	}
	table.Add([]string{what, c.setting.name, c.link.String(), figures.MB(int64(c.bytes)),
		fmt.Sprintf("1/%.0f", reportBytes/float64(c.bytes)), figures.MB(o.each(o.sent)), fmt.Sprintf("%.2f %%", 100*share),
		figures.Seconds(o.listed), figures.Seconds(o.searched), figures.Seconds(o.fetched), figures.Seconds(o.verified),
		figures.Seconds(o.took), figures.Seconds(alone.took), figures.Seconds(limit), figures.Times(o.took, limit)}, bars...)
	return o
}
