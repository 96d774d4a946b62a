// SPDX-License-Identifier: Apache-2.0

//go:build integration

package initial_test

import (
	"fmt"
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/test/support/figures"
)

const (
	// mostAgain is what may come over a link that was cut at half, beside what there is to send.
	mostAgain = 1.05
	// longestChunk bounds what comes again for one wrong bit, in bytes.
	longestChunk = 4 << 20
)

// incidentsTable is that of what goes wrong, and of what is sent twice.
func incidentsTable() *figures.Table {
	return &figures.Table{Title: "Cuts, wrong bits, two at a site",
		Head: []string{"what", "link", "MB", "moved MB", "times", "s"},
		Note: "Moved: what came over the link, as it was sent. Times: beside the bytes of the files, which were sent as " +
			"they are; of two subscribers at a site, beside what one of them fetches."}
}

// cutAtHalf cuts the link when half is there, until the sidecar has given up, and mends it.
func cutAtHalf(t testing.TB, f *fleet, table *figures.Table, c cell) {
	t.Helper()
	c.setting = plain
	routes := f.routes(c)[:1]
	to := routes[0].to
	o := f.run(t, c, routes, func() {
		to.await(t, "half of the bytes", func() bool {
			return to.copies[routes[0].subscription].status.MovedBytes >= int64(c.bytes)/2
		})
		f.net.Cut(t, 0)
		to.await(t, "that the sidecar gives up", func() bool { return to.copies[routes[0].subscription].failed })
		f.net.Mend(t, 0)
	})
	again := float64(o.moved) / float64(o.total)
	table.Add([]string{"cut at half, and mended", c.link.String(), figures.MB(o.total), figures.MB(o.moved),
		fmt.Sprintf("%.3f", again), figures.Seconds(o.took)},
		figures.Bar{What: "times", Value: again, Most: mostAgain},
		figures.Bar{What: "files that differ", Value: float64(o.differ)})
}

// flipped has one bit be wrong that TLS does not see: it is flipped before the source encrypts it.
func flipped(t testing.TB, f *fleet, table *figures.Table, c cell) {
	t.Helper()
	c.setting, c.flips = plain, true
	o := f.run(t, c, f.routes(c)[:1], nil)
	again := o.moved - o.total
	NewWithT(t).Expect(again).To(BeNumerically(">", 0), "what came with a wrong bit is asked for again")
	table.Add([]string{"a flipped bit", c.link.String(), figures.MB(o.total), figures.MB(o.moved),
		fmt.Sprintf("%.3f", float64(o.moved)/float64(o.total)), figures.Seconds(o.took)},
		figures.Bar{What: "files that differ", Value: float64(o.differ)},
		figures.Bar{What: "bytes again", Value: float64(again), Most: longestChunk + 1<<10})
}

// twoAtASite has two servers of the first spoke's site fetch the same snapshot over its link.
func twoAtASite(t testing.TB, f *fleet, table *figures.Table, c cell) {
	t.Helper()
	one := f.run(t, c, f.routes(c)[:1], nil)
	second := startSidecar(t, f.ca, f.net.Spokes[0], 1, "second")
	routes := f.routes(c)[:1]
	routes = append(routes, route{from: f.hub, to: second, address: routes[0].address, subscription: "to-the-second"})
	two := f.run(t, c, routes, nil)
	table.Add([]string{"two subscribers at a site", c.link.String(), figures.MB(two.total / 2), figures.MB(two.sent),
		fmt.Sprintf("%.3f", float64(two.sent)/float64(one.sent)), figures.Seconds(two.took)},
		figures.Bar{What: "files that differ", Value: float64(one.differ + two.differ)})
}

// usageTable is that of what a sidecar takes.
func usageTable() *figures.Table {
	return &figures.Table{Title: "What a sidecar takes", Head: []string{"who", "compression", "MB", "MB/s", "CPU s",
		"processors at 100 MB/s", "most memory MB"},
		Note: "Without a link, of bytes of the files; listing and verifying count. Memory is the process's VmHWM, all of " +
			"it; Go is given nine tenths of the container's 256 MiB as its limit."}
}

// usages moves a cell to one spoke, and measures both sidecars.
func usages(t testing.TB, f *fleet, table *figures.Table, c cell) {
	t.Helper()
	g := NewWithT(t)
	c.link = figures.Link{}
	for _, s := range []setting{plain, tuned} {
		c.setting = s
		both := []*sidecar{f.hub, f.spokes[0]}
		before := make([]usage, len(both))
		for i, one := range both {
			g.Expect(one.fresh()).To(Succeed())
			var err error
			before[i], err = one.usage()
			g.Expect(err).NotTo(HaveOccurred())
		}
		o := f.run(t, c, f.routes(c)[:1], nil)
		for i, who := range []string{"sends", "receives"} {
			after, err := both[i].usage()
			g.Expect(err).NotTo(HaveOccurred())
			used := after.cpu - before[i].cpu
			name := "Auto"
			if s.transfers.Compression != "" {
				name = string(s.transfers.Compression)
			}
			table.Add([]string{who, name, figures.MB(o.total), fmt.Sprintf("%.0f", float64(o.total)/1e6/o.took.Seconds()),
				figures.Seconds(used), fmt.Sprintf("%.2f", used.Seconds()/(float64(o.total)/100e6)), figures.MB(after.peak)},
				figures.Bar{What: "files that differ", Value: float64(o.differ)})
		}
	}
}
