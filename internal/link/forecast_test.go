// SPDX-License-Identifier: Apache-2.0

package link_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"pgregory.net/rapid"

	"geosql.dev/operator/internal/link"
	"geosql.dev/operator/test/support/checkout"
)

// measured is a row of the table of agents over a wide-area network (standin/docs/engine.md).
type measured struct {
	way         string
	streams     int
	link        link.Link
	rows, limit float64
}

// measurements reads that table.
func measurements(g *WithT) (all []measured) {
	text, err := os.ReadFile(filepath.Join(checkout.Root(), "standin", "docs", "engine.md"))
	g.Expect(err).NotTo(HaveOccurred())
	const head = "| way | streams | round trip (measured) | rate | rows/s | limit | ratio |"
	_, table, found := strings.Cut(string(text), head)
	g.Expect(found).To(BeTrue())
	for line := range strings.Lines(table[strings.Index(table, "\n| ")+1:]) {
		cells := strings.Split(strings.Trim(line, "| \n"), " | ")
		if strings.HasPrefix(line, "|---") {
			continue
		}
		if len(cells) < 5 {
			break
		}
		var m measured
		m.way = cells[0]
		m.streams, err = strconv.Atoi(cells[1])
		g.Expect(err).NotTo(HaveOccurred())
		if roundTrip, _, _ := strings.Cut(cells[2], " "); roundTrip != "none" {
			m.link.RoundTrip, err = time.ParseDuration(roundTrip)
			g.Expect(err).NotTo(HaveOccurred())
			m.link.Bandwidth = strings.NewReplacer("mbit", "Mbit", "gbit", "Gbit").Replace(cells[3])
			m.limit, err = strconv.ParseFloat(cells[5], 64)
			g.Expect(err).NotTo(HaveOccurred())
		}
		m.rows, err = strconv.ParseFloat(cells[4], 64)
		g.Expect(err).NotTo(HaveOccurred())
		all = append(all, m)
	}
	return all
}

// The forecast of each link that was measured is within a tenth of the limit that was computed then or, where bandwidth
// bounds it, of the rows that were measured: that limit leaves the headers out.
func TestForecastsOfTheLinksThatWereMeasured(t *testing.T) {
	g := NewWithT(t)
	type agent struct {
		way     string
		streams int
	}
	apply, cells := map[agent]float64{}, 0
	for _, m := range measurements(g) {
		who := agent{m.way, m.streams}
		if m.link.RoundTrip == 0 {
			apply[who] = m.rows
			continue
		}
		cells++
		agents := apply[who]
		if m.way != "push" && m.link.Bandwidth == "1Gbit" {
			// The limit is what the agents did without delay; some rows were measured again at another time.
			agents = m.limit
		}
		f := m.link.Forecast(link.Flow{Waits: m.way == "push", Streams: m.streams, RowBytes: 1024, Window: 16_000_000,
			Apply: agents})
		near := m.limit
		if f.Bound == link.BoundBandwidth {
			near = m.rows
		}
		g.Expect(f.Rows/near).To(BeNumerically("~", 1, 0.1), "%+v: %+v", m, f)
	}
	g.Expect(cells).To(Equal(36))
}

// What bounds a flow, with figures that can be done by hand: a row of 1,024 bytes takes 1,136 x 1514/1448 = 1187.8 of
// the link to an agent at the subscriber.
func TestWhatBoundsAFlow(t *testing.T) {
	far := link.Link{RoundTrip: 150 * time.Millisecond, Bandwidth: "1Gbit"}
	row := link.Flow{RowBytes: 1024, Window: 18 << 20}
	with := func(change func(*link.Flow)) link.Flow {
		f := row
		change(&f)
		return f
	}
	for name, c := range map[string]struct {
		link  link.Link
		flow  link.Flow
		bound link.Bound
		rows  float64
	}{
		// 1e9 / 8 / 1187.8.
		"a stream in a window that is wide enough": {far, row, link.BoundBandwidth, 105_239},
		// 65,536 / 0.15 / 1136.
		"a window of 64 KiB": {far, with(func(f *link.Flow) { f.Window = 64 << 10 }), link.BoundWindow, 384.6},
		// 1e9 / 8 / 1187.8 / 3.
		"a link that three share": {far, with(func(f *link.Flow) { f.Sharing = 3 }), link.BoundBandwidth, 35_080},
		// 40,960 / 1,079 = 37.96 rows in 0.15 s and 37.96 x 1376 / 125e6 s.
		"an agent that waits": {far, with(func(f *link.Flow) { f.Waits = true }), link.BoundRoundTrip, 252.4},
		"one that waits on sixteen connections": {far, with(func(f *link.Flow) { f.Waits, f.Streams = true, 16 }),
			link.BoundRoundTrip, 4038},
		"streams of an agent that reads": {far, with(func(f *link.Flow) { f.Streams = 16 }), link.BoundBandwidth, 105_239},
		// 1e6 / 8 / 1376 of each: sixteen buffers are more than the link takes.
		"sixteen over a narrow link": {link.Link{RoundTrip: 77 * time.Millisecond, Bandwidth: "1Mbit"},
			with(func(f *link.Flow) { f.Waits, f.Streams = true, 16 }), link.BoundBandwidth, 90.84},
		// A row that is larger than the buffer is sent alone: 1 / (0.15 + 1,048,868 x 1514/1448 / 125e6).
		"rows of 1 MiB": {far, link.Flow{Waits: true, RowBytes: 1 << 20, Window: 18 << 20}, link.BoundRoundTrip, 6.299},
		"agents that are slower than the link": {far, with(func(f *link.Flow) { f.Apply = 17_821 }), link.BoundAgents,
			17_821},
		"no round trip": {link.Link{Bandwidth: "1Gbit"}, row, link.BoundUnknown, 0},
		"no bandwidth":  {link.Link{RoundTrip: time.Second}, row, link.BoundUnknown, 0},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			f := c.link.Forecast(c.flow)
			g.Expect(f.Bound).To(Equal(c.bound), "%+v", f)
			g.Expect(f.Rows).To(BeNumerically("~", c.rows, c.rows/1000), "%+v", f)
		})
	}
}

// A connection has what the smaller of its two buffers holds, half of which is data on its way.
func TestTheWindowOfAConnection(t *testing.T) {
	g := NewWithT(t)
	g.Expect(link.Window(36<<20, 36<<20)).To(BeEquivalentTo(18 << 20))
	g.Expect(link.Window(link.LeastBuffer, link.KernelMost)).To(BeEquivalentTo(2<<20), "the kernel's own")
	g.Expect(link.Window(link.WindowBuffer(64<<10), 36<<20)).To(BeEquivalentTo(64 << 10))
}

// Whoever shares less, has more streams, a wider window, a wider or shorter link, or smaller rows gets as many rows or
// more; the bounds are in order, and the least is the forecast.
func TestForecastsAreMonotone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		of := func(megabits, milliseconds int, f link.Flow) link.Forecast {
			return link.Link{RoundTrip: time.Duration(milliseconds) * time.Millisecond,
				Bandwidth: strconv.Itoa(megabits) + "Mbit"}.Forecast(f)
		}
		megabits, milliseconds := rapid.IntRange(1, 100_000).Draw(t, "megabits"), rapid.IntRange(1, 2_000).Draw(t, "ms")
		f := link.Flow{Waits: rapid.Bool().Draw(t, "waits"), Streams: rapid.IntRange(0, 64).Draw(t, "streams"),
			RowBytes: rapid.Float64Range(0, 1e7).Draw(t, "row"), Sharing: rapid.IntRange(0, 50).Draw(t, "sharing"),
			Window: rapid.Int64Range(0, 32<<20).Draw(t, "window"), Apply: rapid.OneOf(rapid.Just(0.0),
				rapid.Float64Range(1e-3, 1e6)).Draw(t, "apply")}
		least := of(megabits, milliseconds, f)
		if least.Rows <= 0 || least.Most != least.All[0] {
			t.Fatalf("%+v", least)
		}
		for i := range least.All[1:] {
			if least.All[i].Rows > least.All[i+1].Rows {
				t.Fatalf("not in order: %+v", least.All)
			}
		}
		better := f
		better.Streams += rapid.IntRange(0, 8).Draw(t, "more streams")
		better.RowBytes *= rapid.Float64Range(0, 1).Draw(t, "smaller")
		better.Sharing = min(better.Sharing, rapid.IntRange(1, 50).Draw(t, "less shared"))
		if better.Window > 0 {
			better.Window += rapid.Int64Range(0, 1<<20).Draw(t, "wider window")
		}
		more := of(megabits+rapid.IntRange(0, 1000).Draw(t, "wider"), max(1, milliseconds-5), better)
		if more.Rows < least.Rows*(1-1e-9) {
			t.Fatalf("%+v is less than %+v", more, least)
		}
	})
}
