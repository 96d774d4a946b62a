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

// An interaction that nobody was answered took no time that could be shown.
func TestAnInteractionThatAlwaysFailed(t *testing.T) {
	g := NewWithT(t)
	d, a := fixture()
	s := begin(9, "shop")
	for i := range 40 {
		s.number++
		s.line("invoke", float64(i), map[string]any{"n": s.number, "f": history.Query, "i": "browse"})
		s.line(string(history.Unknown), float64(i)+0.9, map[string]any{"n": s.number})
	}
	s.line("end", 41, nil)
	a.Histories = map[string][]byte{"shop": s.out.Bytes()}
	text, err := report.Render(d, a, report.Markdown)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(text)).To(MatchRegexp(`(?m)^\| browse \| 0 \| 0 \| 40 \| 0\.0 \| +\| +\| +\| +\|`))
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
