// SPDX-License-Identifier: Apache-2.0

package report_test

import (
	"encoding/json"
	"errors"
	"html"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/drill/archive"
	"geosql.dev/operator/internal/drill/report"
	"geosql.dev/operator/internal/workload/history"
)

func render(t *testing.T, d *v1alpha1.Drill, a *archive.Archive, f report.Format) string {
	t.Helper()
	data, err := report.Render(d, a, f)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return string(data)
}

func TestReportSaysWhatTheStatusSays(t *testing.T) {
	g := NewWithT(t)
	d, a := fixture()
	for _, f := range []report.Format{report.HTML, report.Markdown} {
		text := html.UnescapeString(render(t, d, a, f))
		for _, want := range []string{
			"Passed", "lose-the-primary", "every objective was met", "redoCatchUp", "18s", "+10.000 s", "+14.800 s",
			"latency 350ms", "± 1.5s", "(+9.100 s to +12.300 s)",
			"but for the time in which the fault cut these clients off", "1.507s, 1 of 5 failed", "sha256:0f0f", "feedbeef",
			"no: the baseline", "231ms (up to 7",
			"The Drill's status says the same", "2022-latest",
		} {
			g.Expect(strings.Contains(text, want)).To(BeTrue(), "%s: %s", f, want)
		}
		for _, not := range []string{"The archive does not say", "stand-ins"} {
			g.Expect(strings.Contains(text, not)).To(BeFalse(), "%s: %s", f, not)
		}
	}
}

func TestPageRefersToNothingOutsideItself(t *testing.T) {
	g := NewWithT(t)
	d, a := fixture()
	text := render(t, d, a, report.HTML)
	g.Expect(regexp.MustCompile(`(?i)\ssrc=|@import|url\(|<link|https?://`).FindString(text)).To(BeEmpty())
	for _, m := range regexp.MustCompile(`href="([^"]{0,40})`).FindAllStringSubmatch(text, -1) {
		g.Expect(m[1]).To(HavePrefix("data:application/x-tar;base64,"))
	}
	g.Expect(text).To(ContainSubstring(`content="default-src 'none'`), "and the browser is told so")
}

func TestRawHistoriesAreInThePage(t *testing.T) {
	g := NewWithT(t)
	d, a := fixture()
	link := regexp.MustCompile(`href="data:application/x-tar;base64,([^"]+)"`).
		FindStringSubmatch(render(t, d, a, report.HTML))
	g.Expect(link).To(HaveLen(2))
	back, err := archive.Unpack(decode(t, link[1]))
	g.Expect(err).NotTo(HaveOccurred())
	for name, data := range back.Histories {
		g.Expect(archive.Plain(data)).To(Equal(a.Histories[name]))
	}
	g.Expect(back.Histories).To(HaveLen(len(a.Histories)))
}

func TestTextOfOthersIsNotMarkup(t *testing.T) {
	g := NewWithT(t)
	d, a := fixture()
	evil := "<script>alert(1)</script> | `x` [a](b)"
	d.Status.Message, d.Status.Objectives[0].Evidence, d.Status.Timeline[1].Message = evil, evil, evil
	a.Samples.Replicas[0].Server, a.Samples.Replicas[0].Role = "\"><script>alert(2)</script>", "<b>"
	page := render(t, d, a, report.HTML)
	g.Expect(page).NotTo(ContainSubstring("<script>alert"))
	g.Expect(page).To(ContainSubstring("&lt;script&gt;alert(1)"))
	text := render(t, d, a, report.Markdown)
	g.Expect(text).NotTo(ContainSubstring("<script"))
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "| lostRows") {
			g.Expect(regexp.MustCompile(`[^\\]\|`).FindAllString(line, -1)).To(HaveLen(5), "no cell breaks its row: %s", line)
		}
	}
}

// TestArchiveThatDisagreesIsShouted changes the status as somebody might who wants a pass.
func TestArchiveThatDisagreesIsShouted(t *testing.T) {
	for name, change := range map[string]func(d *v1alpha1.Drill, a *archive.Archive){
		"rows are missing in the archive's replicas": func(_ *v1alpha1.Drill,
			a *archive.Archive) {
			a.Replicas[1].Rows = a.Replicas[1].Rows[10:]
		},
		"the status counts more rows": func(d *v1alpha1.Drill,
			_ *archive.Archive) {
			d.Status.Counts.Acknowledged++
		},
		"a history is gone": func(_ *v1alpha1.Drill,
			a *archive.Archive) {
			delete(a.Histories, "dublin")
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			d, a := fixture()
			change(d, a)
			for _, f := range []report.Format{report.HTML, report.Markdown} {
				g.Expect(render(t, d, a, f)).To(ContainSubstring("The archive does not say what the status says"), "%s", f)
			}
		})
	}
}

func TestReportWithoutAnArchiveSaysSo(t *testing.T) {
	g := NewWithT(t)
	d, _ := fixture()
	for _, f := range []report.Format{report.HTML, report.Markdown} {
		text := render(t, d, nil, f)
		g.Expect(text).To(And(ContainSubstring("could be checked again"), ContainSubstring("6.604s")), "%s", f)
		g.Expect(text).NotTo(ContainSubstring("<figure"))
	}
}

func TestThereIsNoReportOfWhatIsNotOver(t *testing.T) {
	g := NewWithT(t)
	d, a := fixture()
	d.Status.Verdict, d.Status.Phase = "", v1alpha1.DrillRunning
	_, err := report.Render(d, a, report.HTML)
	g.Expect(errors.Is(err, report.ErrNotOver)).To(BeTrue(), "%v", err)

	d, a = fixture()
	a.Run.ID = "another"
	_, err = report.Render(d, a, report.HTML)
	g.Expect(errors.Is(err, archive.ErrForeign)).To(BeTrue(), "%v", err)
	_, err = report.Render(d, nil, "pdf")
	g.Expect(err).To(MatchError(ContainSubstring("html, md and json")))
}

func TestStandInsAreNamed(t *testing.T) {
	g := NewWithT(t)
	d, a := fixture()
	d.Status.Versions[0].Version = "geosql stand-in 16.0.4000.0 (not Microsoft SQL Server)"
	g.Expect(render(t, d, a, report.HTML)).To(ContainSubstring("never SQL Server&#39;s speed"))
}

func TestFaultThatWasNotSeenIsNotHidden(t *testing.T) {
	g := NewWithT(t)
	d, a := fixture()
	d.Status.Faults[0].Effect = nil
	d.Status.Faults[1].Effect.Status = metav1.ConditionFalse
	d.Status.Faults = append(
		d.Status.Faults,
		v1alpha1.FaultStatus{
			Name:    "later",
			Kind:    v1alpha1.FaultFreeze,
			State:   v1alpha1.FaultSkipped,
			Message: "the drill was aborted",
		},
	)
	text := render(t, d, a, report.Markdown)
	g.Expect(text).To(ContainSubstring("| kill | not looked for |"))
	g.Expect(text).To(ContainSubstring("| slow-link | not there |"))
	g.Expect(text).To(ContainSubstring("never injected (Skipped) the drill was aborted"))
}

// at is the value of a series at a position.
func at(s report.Series, position float64) *float64 {
	i := slices.IndexFunc(s.Points, func(p report.Point) bool { return math.Abs(p.At-position) <= 0.5 })
	if i < 0 {
		return nil
	}
	return s.Points[i].Value
}

func named(t *testing.T, all []report.Series, name string) report.Series {
	t.Helper()
	i := slices.IndexFunc(all, func(s report.Series) bool { return s.Name == name })
	NewWithT(t).Expect(i).To(BeNumerically(">=", 0), name)
	return all[i]
}

func TestMeasuresShowTheOutageWhereItWas(t *testing.T) {
	g := NewWithT(t)
	d, a := fixture()
	r, err := report.Build(d, a)
	g.Expect(err).NotTo(HaveOccurred())
	m := r.Measured
	g.Expect(m.From).To(BeNumerically("~", -15, 0.1))
	g.Expect(m.Bin).To(Equal(1.0))
	dublin := named(t, m.Throughput, "dublin")
	g.Expect(*at(dublin, 5.5)).To(BeNumerically(">=", 8), "before the fault")
	g.Expect(*at(dublin, 13.5)).To(BeZero(), "nothing is acknowledged, and that is a value")
	g.Expect(*at(dublin, 30.5)).To(BeNumerically(">=", 8), "afterwards")
	g.Expect(at(m.Latency[0], 13.5)).To(BeNil(), "of nothing there is no latency")
	g.Expect(*at(m.Latency[0], 50.5)).To(BeNumerically("~", 430, 90), "p50 while the link is slow")
	g.Expect(*at(named(t, m.RedoQueue, "sql-tuk-1-0"), 20)).To(Equal(1600.0))
	g.Expect(at(named(t, m.RedoQueue, "sql-tuk-1-0"), 12)).To(BeNil())

	roles := m.Roles[slices.IndexFunc(m.Roles, func(l report.Lane) bool { return l.Name == "sql-tuk-1-0" })]
	var states []string
	for _, s := range roles.Spans {
		states = append(states, s.State)
	}
	g.Expect(states).To(Equal([]string{"PRIMARY", "", "SECONDARY"}), "a server that does not answer has no role")
	seen := m.Acknowledging[0]
	g.Expect(seen.Spans).To(HaveLen(2))
	g.Expect(seen.Spans[0].State).To(Equal("sql-tuk-1-0"))
	g.Expect(seen.Spans[0].To).To(BeNumerically("<", 10.1))
	g.Expect(seen.Spans[1].State).To(Equal("sql-qui-1-0"))
	g.Expect(seen.Spans[1].From).To(BeNumerically(">", 16))
}

func TestNobodyLookedMeansNobodyKnows(t *testing.T) {
	g := NewWithT(t)
	d, a := fixture()
	a.Samples.Replicas = slices.DeleteFunc(
		a.Samples.Replicas,
		func(s archive.ReplicaSample) bool { return s.At.After(after(30)) && s.At.Before(after(50)) },
	)
	a.Samples.Replicas = slices.DeleteFunc(
		a.Samples.Replicas,
		func(s archive.ReplicaSample) bool { return s.At.After(after(60)) },
	)
	r, err := report.Build(d, a)
	g.Expect(err).NotTo(HaveOccurred())
	for _, lane := range r.Measured.Roles {
		for _, position := range []float64{40, 80} {
			i := slices.IndexFunc(lane.Spans, func(s report.Span) bool { return s.From <= position && position < s.To })
			g.Expect(lane.Spans[i].State).To(BeEmpty(), "%s at %v", lane.Name, position)
		}
	}
}

// TestMeasuresAddUp draws any history: what the chart shows is as much as there was, and every position is within its
// bounds.
func TestMeasuresAddUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := NewWithT(t)
		d, a := fixture()
		d.Status.Counts = nil
		a.Histories, a.Replicas, a.Faults, a.Samples = map[string][]byte{}, nil, nil, archive.Samples{}
		acknowledged, span := 0, rapid.SampledFrom([]float64{0.5, 30, 4000, 700_000}).Draw(t, "span")
		for run := range rapid.IntRange(0, 3).Draw(t, "clients") {
			s, name := begin(int64(run+1), string(rune('a'+run))), string(rune('a'+run))
			now := -15.0
			for range rapid.IntRange(0, 40).Draw(t, "operations") {
				now += rapid.Float64Range(0, span/40).Draw(t, "pause")
				outcome := rapid.SampledFrom([]history.Outcome{history.OK, history.Fail, history.Unknown}).Draw(t, "outcome")
				took := rapid.Float64Range(0, span/40).Draw(t, "took")
				s.insert(now, took, outcome, "s", 1)
				now += took
				if outcome == history.OK {
					acknowledged++
				}
			}
			a.Histories[name] = s.out.Bytes()
		}
		for range rapid.IntRange(0, 20).Draw(t, "samples") {
			a.Samples.Replicas = append(
				a.Samples.Replicas,
				archive.ReplicaSample{
					At:     after(rapid.Float64Range(-15, span).Draw(t, "at")),
					Server: "s",
					Role:   rapid.SampledFrom([]string{"", "PRIMARY", "SECONDARY"}).Draw(t, "role"),
				},
			)
		}
		r, err := report.Build(d, a)
		g.Expect(err).NotTo(HaveOccurred())
		m := r.Measured
		total := 0.0
		for _, s := range m.Throughput {
			g.Expect(len(s.Points)).To(BeNumerically("<=", 361), "a report of a week is no larger than one of an hour")
			for i, p := range s.Points {
				g.Expect(p.At).To(And(BeNumerically(">=", m.From), BeNumerically("<=", m.To)))
				if p.Value == nil {
					continue // the history broke off
				}
				if i < len(s.Points)-1 {
					total += *p.Value * m.Bin
				} else {
					total += *p.Value * max(m.To-(m.From+float64(i)*m.Bin), m.Bin/4)
				}
			}
		}
		g.Expect(total).To(BeNumerically("~", acknowledged, 0.01))
		for _, lane := range m.Roles {
			for i, s := range lane.Spans {
				g.Expect(s.From <= s.To && s.From >= m.From && s.To <= m.To).To(BeTrue(), "%v", s)
				g.Expect(i == 0 || lane.Spans[i-1].To == s.From).To(BeTrue(), "%v", lane.Spans)
			}
		}
		for _, f := range report.Formats() {
			_, err := report.Render(d, a, f)
			g.Expect(err).NotTo(HaveOccurred())
		}
	})
}

func TestJSONIsTheReport(t *testing.T) {
	g := NewWithT(t)
	d, a := fixture()
	var r report.Report
	g.Expect(json.Unmarshal([]byte(render(t, d, a, report.JSON)), &r)).To(Succeed())
	g.Expect(r.Verdict).To(Equal(v1alpha1.VerdictPassed))
	g.Expect(r.Recheck.Result).To(Equal(history.Passed))
	g.Expect(r.Recheck.Terms).To(HaveLen(2))
	g.Expect(r.Measured.Throughput).To(HaveLen(3))
}
