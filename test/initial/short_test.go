// SPDX-License-Identifier: Apache-2.0

//go:build integration

package initial_test

import (
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/test/support/figures"
)

// The part of the benchmark about spokes, in its short form. What a busy machine takes is judged by no bar here: a link
// can be slower than it is, and never faster.
func TestSpokesInShort(t *testing.T) {
	g := NewWithT(t)
	f := newFleet(t, 2, 8e6)
	table := fleetTable(len(f.spokes))
	link := figures.Link{Rate: 4e6, RoundTrip: 20 * time.Millisecond}
	for _, c := range []cell{
		{link: link, setting: tuned, bytes: 2e6},
		{link: link, setting: untuned, bytes: 1e6, collects: true},
		{link: link, setting: tuned, bytes: 8e6, preseeded: true},
	} {
		o := fleetRow(t, f, table, c)
		g.Expect(o.differ).To(BeZero())
		g.Expect(o.total).To(BeNumerically(">=", len(f.spokes)*c.bytes))
		g.Expect(o.took).To(BeNumerically(">", c.link.Least(o.each(o.sent))), "it went over the link")
		g.Expect(o.listed + o.searched + o.fetched + o.verified).To(Equal(o.took))
		switch {
		case c.preseeded:
			g.Expect(o.sent).To(BeNumerically("<", o.total/5), "what is there already is not sent")
		case c.setting == untuned:
			g.Expect(o.sent).To(BeNumerically(">", o.total))
		default:
			g.Expect(o.sent).To(BeNumerically("<", o.total), "rows shrink")
		}
	}
	incidents, usage := incidentsTable(), usageTable()
	c := cell{link: link, setting: tuned, bytes: 1e6}
	flipped(t, f, incidents, c)
	twoAtASite(t, f, incidents, c)
	usages(t, f, usage, c)
	g.Expect(append(incidents.Missed(), usage.Missed()...)).To(BeEmpty())
	r := figures.Report{Title: "In short", Tables: []*figures.Table{table, incidents, usage}}
	t.Log(r.Markdown())
}

// The part of the benchmark about ways, in its short form.
func TestWaysInShort(t *testing.T) {
	g := NewWithT(t)
	i := newInstallation(t)
	p := i.publish(t, 2)
	link := figures.Link{Rate: 10e6, RoundTrip: 20 * time.Millisecond}
	var all []figures.Copy
	for _, w := range allWays {
		c := i.copy(t, w, p, link)
		g.Expect(c.Differ).To(BeFalse(), w.name)
		g.Expect(c.Rows).To(Equal(p.rows))
		g.Expect(c.Written).To(BeNumerically(">", 0), w.name)
		g.Expect(c.Phases.All()).To(BeNumerically(">", 0))
		if w.keeps {
			g.Expect(c.Sent).To(BeZero(), w.name)
		} else {
			g.Expect(c.Sent).To(BeNumerically(">", 1e6/4))
			g.Expect(c.Phases.Made+c.Phases.Listed+c.Phases.Sent+c.Phases.Verified).
				To(BeNumerically(">", link.Least(c.Sent)), "it went over the link")
		}
		all = append(all, c)
	}
	i.forget(t, p)
	g.Expect(filepath.Join(i.MirrorOf(subscriber, distributor), tree)).NotTo(BeADirectory())
	t.Log(figures.Copies("In short", all).Markdown())
}
