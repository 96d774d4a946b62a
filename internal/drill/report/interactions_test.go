// SPDX-License-Identifier: Apache-2.0

package report_test

import (
	"bytes"
	"html"
	"regexp"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/drill/report"
	"geosql.dev/operator/internal/workload/history"
)

// What users did is shown by interaction and by stage, with nothing counted twice or left out.
func TestInteractionsAndStages(t *testing.T) {
	g := NewWithT(t)
	d, a := fixture()
	s := begin(9, "shop")
	for i := range 40 {
		at, name, f := -10+float64(i), "browse", history.Query
		if i%4 == 0 {
			name, f = "buy", history.Insert
		}
		s.number++
		s.line("invoke", at, map[string]any{"n": s.number, "f": f, "i": name})
		outcome := history.OK
		if i == 1 {
			outcome = history.Fail
		}
		s.line(string(outcome), at+0.25, map[string]any{"n": s.number})
	}
	s.line("end", 31, nil)
	a.Histories = map[string][]byte{"shop": s.out.Bytes()}
	d.Spec.Workload.Stages = []v1alpha1.DrillStage{
		{Users: 10, Duration: metav1.Duration{Duration: 10 * time.Second}},
		{Users: 20, Duration: metav1.Duration{Duration: 5 * time.Second}},
	}
	r, err := report.Build(d, a)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(r.Interactions).To(HaveLen(2))
	browse, buy := r.Interactions[0], r.Interactions[1]
	g.Expect(browse).
		To(And(HaveField("Name", "browse"), HaveField("OK", 29), HaveField("Failed", 1),
			HaveField("P99", HaveValue(BeNumerically("~", 250, 1)))))
	g.Expect(buy).
		To(And(HaveField("Name", "buy"), HaveField("OK", 10), HaveField("PerSecond", BeNumerically("~", 10/39.25, 0.01))))
	g.Expect(r.Stages).To(HaveLen(2))
	g.Expect(r.Stages[0].OK + r.Stages[0].Failed + r.Stages[1].OK).To(Equal(40))
	g.Expect(r.Stages[0]).
		To(And(HaveField("Users", 10), HaveField("From", BeNumerically("~", -15, 0.1)),
			HaveField("To", BeNumerically("~", -5, 0.1)), HaveField("OK", 4)))
	g.Expect(r.Stages[1].To).To(BeNumerically("~", 29.25, 0.1), "the last stage's users stay")
	text, err := report.Render(d, a, report.Markdown)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(text)).
		To(And(ContainSubstring("What users did"), ContainSubstring("Stages of users"), ContainSubstring("browse")))
}

// How rows arrived is in the tables, and over time in the chart.
func TestArrivalsAreShown(t *testing.T) {
	g := NewWithT(t)
	d, a := fixture()
	d.Status.Arrivals = []v1alpha1.DrillArrival{
		{
			Server:       "dubsub",
			Kind:         "Subscriber",
			Acknowledged: 100,
			Seen:         99,
			P50:          &metav1.Duration{Duration: 1234 * time.Millisecond},
			Delivered:    99,
			Lost:         1,
		},
	}
	folder := t.TempDir()
	recorder, err := history.CreateArrivals(folder, "dubsub-0")
	g.Expect(err).NotTo(HaveOccurred())
	for i := range 50 {
		g.Expect(recorder.Row(history.Arrival{RowID: history.RowID{Run: 1, Number: int64(i + 1)}, Written: after(float64(i)),
			Seen: after(float64(i) + 1.5), Early: i == 0})).
			To(Succeed())
	}
	g.Expect(recorder.End()).To(Succeed())
	var packed bytes.Buffer
	g.Expect(history.ExportArrivals(folder, &packed)).To(Succeed())
	a.Arrivals = map[string][]byte{"dubsub": packed.Bytes()}
	r, err := report.Build(d, a)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(r.Measured.DeliveryLatency).To(HaveLen(1))
	seen := 0
	for _, p := range r.Measured.DeliveryLatency[0].Points {
		if p.Value != nil {
			seen++
			g.Expect(*p.Value).To(BeNumerically("~", 1.5, 0.01))
		}
	}
	g.Expect(seen).To(Equal(49), "the row that was there at the first look was not seen to come")
	page, err := report.Render(d, a, report.HTML)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(page)).
		To(And(ContainSubstring("Arrival of the rows"), ContainSubstring("1.234s"),
			ContainSubstring("99 delivered, 0 not yet, 1 lost")))
}

// An interaction that was always refused took no time that could be shown, and one that nobody was answered at least as
// long as it was tried.
func TestAnInteractionThatAlwaysFailed(t *testing.T) {
	g := NewWithT(t)
	d, a := fixture()
	s := begin(9, "shop")
	for i := range 80 {
		s.number++
		name, outcome := "browse", history.Unknown
		if i%2 == 1 {
			name, outcome = "search", history.Fail
		}
		s.line("invoke", float64(i)/2, map[string]any{"n": s.number, "f": history.Query, "i": name})
		s.line(string(outcome), float64(i)/2+0.4, map[string]any{"n": s.number})
	}
	s.line("end", 41, nil)
	a.Histories = map[string][]byte{"shop": s.out.Bytes()}
	text, err := report.Render(d, a, report.Markdown)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(text)).To(MatchRegexp(`(?m)^\| search \| 0 \| 40 \| 0 \| 0 \| 0 \| 0\.0 \| +\| +\| +\| +\|`))
	g.Expect(string(text)).To(MatchRegexp(`(?m)^\| browse \| 0 \| 0 \| 40 \| 0 \| 0 \| 0\.0 (\| ≥ 400\.0 ms ){4}\|`))
}

// Of clients whose history broke off nothing is known any more: they were not seen to be unserved.
func TestAHistoryThatBrokeOff(t *testing.T) {
	g := NewWithT(t)
	d, a := fixture()
	one, two := begin(8, "gone"), begin(9, "shop")
	for at := -15.0; at < 80; at++ {
		if at < 30 {
			one.insert(at, 0.01, history.OK, "sql-tuk-1-0", 1)
		}
		if at < 50 {
			two.insert(at, 0.01, history.OK, "sql-tuk-1-0", 1)
		}
	}
	two.line("end", 80, nil)
	a.Histories = map[string][]byte{"gone": one.out.Bytes(), "shop": two.out.Bytes()}
	r, err := report.Build(d, a)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(r.Measured.Throughput).To(HaveLen(2))
	for i, known := range []bool{false, true} {
		for _, p := range r.Measured.Throughput[i].Points {
			g.Expect(p.Value != nil).To(Equal(known || p.At < 30), "%s at %.1f s", r.Measured.Throughput[i].Name, p.At)
		}
	}
}

// A line without a gap is one stroke, however wide the bins of a long run are.
func TestChartsOfLongRuns(t *testing.T) {
	for _, minutes := range []int{50, 65} {
		g := NewWithT(t)
		d, a := fixture()
		s := begin(9, "shop")
		for at := -15.0; at < float64(minutes*60); at++ {
			s.insert(at, 0.01, history.OK, "sql-tuk-1-0", 1)
		}
		s.line("end", float64(minutes*60), nil)
		a.Histories = map[string][]byte{"shop": s.out.Bytes()}
		page, err := report.Render(d, a, report.HTML)
		g.Expect(err).NotTo(HaveOccurred())
		_, chart, found := strings.Cut(html.UnescapeString(string(page)), "Throughput")
		g.Expect(found).To(BeTrue())
		path := regexp.MustCompile(` d="(M[0-9.]+ [0-9.]+h[^"]+)"`).FindStringSubmatch(chart)
		g.Expect(path).NotTo(BeNil())
		g.Expect(strings.Count(path[1], "M")).To(Equal(1), "%d minutes", minutes)
	}
}

// Times are from when operations were due: what another one held up waited, and what never answered or was never begun
// is there as a bound. Histories of an earlier release do not tell, and the report says so.
func TestTimesFromWhenOperationsWereDue(t *testing.T) {
	for name, due := range map[string]bool{"by a schedule": true, "of an earlier release": false} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			d, a := fixture()
			header := map[string]any{"run": 9, "client": "shop", "boot": "shop"}
			if due {
				header["loop"], header["every"] = history.Open, time.Second
			}
			s := &scribe{}
			s.line("begin", 0, map[string]any{"format": "geosql-history/1", "header": header})
			// One a second is due from 1 s on. The first takes 10 s, the second is never answered in 2, and the others take
			// 0.1 s each. After 13 s the client is asked to stop, with two due.
			at := 1.0
			for n, took := range []float64{10, 2, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1} {
				first := map[string]any{"n": n + 1, "f": history.Insert}
				if due && n == 0 {
					first["d"] = instant(1).Monotonic
				}
				s.line("invoke", at, first)
				outcome := history.OK
				if n == 1 {
					outcome = history.Unknown
				}
				at += took
				s.line(string(outcome), at, map[string]any{"n": n + 1})
			}
			end := map[string]any{}
			if due {
				end["d"], end["u"] = instant(12).Monotonic, instant(13).Monotonic
			}
			s.line("end", 14, end)
			a.Histories = map[string][]byte{"shop": s.out.Bytes()}
			r, err := report.Build(d, a)
			g.Expect(err).NotTo(HaveOccurred())
			text, err := report.Render(d, a, report.Markdown)
			g.Expect(err).NotTo(HaveOccurred())
			last := r.Interactions[len(r.Interactions)-1]
			if !due {
				g.Expect(r.Interactions).To(HaveLen(1))
				g.Expect(last).To(And(HaveField("P50", HaveValue(BeNumerically("~", 100, 1))), HaveField("Late", 0),
					HaveField("Unsent", 0), HaveField("AtLeast", ConsistOf("p90"))))
				g.Expect(string(text)).To(ContainSubstring("Histories of shop were recorded by a release that did not note"))
				return
			}
			g.Expect(last).To(And(HaveField("Name", "all"), HaveField("Unsent", 2), HaveField("Late", 10),
				HaveField("P50", HaveValue(BeNumerically(">", 5000))), HaveField("Max", HaveValue(BeNumerically("~", 11_000, 1))),
				HaveField("AtLeast", ConsistOf("p99", "max"))))
			g.Expect(string(text)).NotTo(ContainSubstring("did not note"))
			g.Expect(string(text)).To(ContainSubstring("≥ 11000.0 ms"))
			slowest := 0.0
			for _, p := range r.Measured.Latency[1].Points {
				if p.Value != nil {
					slowest = max(slowest, *p.Value)
				}
			}
			g.Expect(slowest).To(BeNumerically("~", 11_000, 1), "the chart shows it, too")
		})
	}
}
