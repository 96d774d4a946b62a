// SPDX-License-Identifier: Apache-2.0

package verdict_test

import (
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/drill/verdict"
	"geosql.dev/operator/internal/workload/history"
)

// seen are figures of rows that took these times, of which some more were not seen for a minute.
func seen(due int, each time.Duration, unseen int, unsure time.Duration) *history.ArrivalFigures {
	f := &history.ArrivalFigures{Due: due, Seen: due - unseen, Uncertainty: &unsure}
	f.Times = slices.Repeat([]time.Duration{each}, due-unseen)
	f.AtLeast = slices.Repeat([]time.Duration{time.Minute}, unseen)
	return f
}

// An arrival time is judged with what the clocks leave open, and a row that never came counts as the latest.
func TestArrivals(t *testing.T) {
	const goal = time.Second
	for name, c := range map[string]struct {
		place verdict.Place
		want  v1alpha1.DrillVerdict
		says  string
	}{
		"in time": {verdict.Place{Figures: seen(100, 300*time.Millisecond, 0, 50*time.Millisecond)},
			v1alpha1.VerdictPassed, "300ms dubsub: 100 of 100"},
		"late": {verdict.Place{Figures: seen(100, 2*time.Second, 0, 50*time.Millisecond)},
			v1alpha1.VerdictFailed, "2s"},
		"within the uncertainty": {verdict.Place{Figures: seen(100, 980*time.Millisecond, 0, 50*time.Millisecond)},
			v1alpha1.VerdictInconclusive, "lies within"},
		"clocks were not compared": {verdict.Place{Figures: &history.ArrivalFigures{Due: 100, Seen: 100,
			Times: make([]time.Duration, 100)}}, v1alpha1.VerdictInconclusive, "never compared"},
		"one of a hundred missing": {verdict.Place{Figures: seen(100, 300*time.Millisecond, 1, 0)}, v1alpha1.VerdictPassed,
			"99 of 100"},
		"two of a hundred missing": {verdict.Place{Figures: seen(100, 300*time.Millisecond, 2, 0)}, v1alpha1.VerdictFailed,
			"more than 1m0s"},
		"rows that came too early": {verdict.Place{Figures: &history.ArrivalFigures{Due: 100, Seen: 50,
			Times: make([]time.Duration, 50), Uncertainty: new(time.Duration)}}, v1alpha1.VerdictInconclusive,
			"too many were not seen"},
		"few rows": {verdict.Place{Figures: seen(19, 0, 0, 0)}, v1alpha1.VerdictInconclusive, "at least 20"},
		"no reader": {verdict.Place{Missing: "its record is lost"}, v1alpha1.VerdictInconclusive,
			"record is lost"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			c.place.Server, c.place.Kind = "dubsub", verdict.PlaceSubscriber
			m := good()
			// A place to which nothing had to come, and one where rows came sooner, do not hide another.
			m.Places = []verdict.Place{
				{Server: "tukpub", Figures: &history.ArrivalFigures{}},
				{Server: "quisec", Figures: seen(100, time.Millisecond, 0, 0)},
				c.place,
			}
			j := verdict.Judge(
				v1alpha1.DrillSpec{Objectives: v1alpha1.DrillObjectives{ArrivalP99: &metav1.Duration{Duration: goal}}},
				nil,
				m,
			)
			i := slices.IndexFunc(j.Objectives, func(o v1alpha1.ObjectiveResult) bool { return o.Name == "arrivalP99" })
			g.Expect(i).To(BeNumerically(">=", 0))
			g.Expect(j.Objectives[i].Verdict).To(Equal(c.want), j.Objectives[i].Evidence)
			g.Expect(j.Objectives[i].Measured + " " + j.Objectives[i].Evidence).To(ContainSubstring(c.says))
			g.Expect(j.Verdict).To(Equal(c.want))
		})
	}
}

// Nothing is passed when nobody looked.
func TestArrivalsWithoutPlaces(t *testing.T) {
	j := verdict.Judge(
		v1alpha1.DrillSpec{Objectives: v1alpha1.DrillObjectives{ArrivalP50: &metav1.Duration{Duration: time.Hour}}},
		nil,
		good(),
	)
	NewWithT(t).Expect(j.Verdict).To(Equal(v1alpha1.VerdictInconclusive))
}

// What is at the subscriber at the end decides, whether arrival was asked for or not.
func TestDelivery(t *testing.T) {
	for want, d := range map[v1alpha1.DrillVerdict][]history.Delivery{
		v1alpha1.VerdictPassed:       {{Acknowledged: 10, Delivered: 10}},
		v1alpha1.VerdictInconclusive: {{Acknowledged: 10, Delivered: 9, Undelivered: 1}, {}},
		v1alpha1.VerdictFailed: {{Acknowledged: 10, Delivered: 9, Lost: 1},
			{Acknowledged: 10, Delivered: 10, Phantom: 1}},
	} {
		for _, one := range d {
			m := good()
			m.Places = []verdict.Place{{Server: "dubsub", Kind: verdict.PlaceSubscriber, Delivery: &one}}
			j := verdict.Judge(v1alpha1.DrillSpec{}, nil, m)
			NewWithT(t).Expect(j.Verdict).To(Equal(want), "%+v", one)
		}
	}
}

// Rows that could be compared and were not, as when the subscriber did not answer any more, pass nothing.
func TestDeliveryThatNobodyCompared(t *testing.T) {
	g := NewWithT(t)
	m := good()
	m.Places = []verdict.Place{
		{Server: "dubsub", Kind: verdict.PlaceSubscriber, NotCompared: "its rows could not be read"},
	}
	j := verdict.Judge(v1alpha1.DrillSpec{}, nil, m)
	g.Expect(j.Verdict).To(Equal(v1alpha1.VerdictInconclusive))
	g.Expect(j.Message).To(ContainSubstring("delivery dubsub: its rows could not be read"))
	g.Expect(m.Places[0].Status().Message).To(Equal("its rows could not be read"))
	m.Places = append(
		m.Places,
		verdict.Place{
			Server:   "quisub",
			Kind:     verdict.PlaceSubscriber,
			Delivery: &history.Delivery{Acknowledged: 10, Lost: 1},
		},
	)
	g.Expect(verdict.Judge(v1alpha1.DrillSpec{}, nil, m).Verdict).To(Equal(v1alpha1.VerdictFailed))
}

// Rows that only the subscriber has are phantoms where all clients have ended: others may have written on between the
// readings of both.
func TestRowsThatTheSubscriberAloneHas(t *testing.T) {
	for unstopped, want := range map[string]v1alpha1.DrillVerdict{
		"": v1alpha1.VerdictFailed, "quincy": v1alpha1.VerdictInconclusive,
	} {
		g := NewWithT(t)
		m := good()
		if unstopped != "" {
			m.Unstopped = []string{unstopped}
		}
		m.Places = []verdict.Place{{Server: "dubsub", Kind: verdict.PlaceSubscriber,
			Delivery: &history.Delivery{Acknowledged: 10, Delivered: 10, Phantom: 1}}}
		g.Expect(verdict.Judge(v1alpha1.DrillSpec{}, nil, m).Objectives).
			To(ContainElement(And(HaveField("Name", "delivery"), HaveField("Verdict", want))))
		m.Places[0].Delivery.Lost = 1
		g.Expect(verdict.Judge(v1alpha1.DrillSpec{}, nil, m).Objectives).
			To(ContainElement(And(HaveField("Name", "delivery"), HaveField("Verdict", v1alpha1.VerdictFailed))))
	}
}

// What is said of a place and of its objective ends between two characters when it is too long.
func TestLongTextsOfArrivals(t *testing.T) {
	g := NewWithT(t)
	for _, before := range []string{"", "a", "ab"} {
		m := good()
		m.Places = []verdict.Place{
			{Server: "dubsub", Kind: verdict.PlaceSubscriber, Missing: before + strings.Repeat("€", 2000)},
		}
		g.Expect(utf8.ValidString(m.Places[0].Status().Message)).To(BeTrue(), "after %q", before)
		j := verdict.Judge(
			v1alpha1.DrillSpec{Objectives: v1alpha1.DrillObjectives{ArrivalP99: &metav1.Duration{Duration: time.Second}}},
			nil,
			m,
		)
		for _, o := range j.Objectives {
			g.Expect(utf8.ValidString(o.Evidence) && utf8.ValidString(o.Measured)).To(BeTrue(), "%s after %q", o.Name, before)
		}
	}
}
