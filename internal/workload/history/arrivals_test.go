// SPDX-License-Identifier: Apache-2.0

package history_test

import (
	"bytes"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/workload/history"
)

// What a reader records, over a restart, is what is read back: a row counts as it was first seen.
func TestArrivalsAreReadBack(t *testing.T) {
	g := NewWithT(t)
	folder := t.TempDir()
	at := time.Now().UTC().Truncate(time.Microsecond)
	first, err := history.FirstLook(folder)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(first.IsZero()).To(BeTrue())
	row := func(run, number int64, seen time.Duration, early bool) history.Arrival {
		return history.Arrival{RowID: history.RowID{Run: run, Number: number}, Written: at, Seen: at.Add(seen), Early: early}
	}
	for i, again := range [][]history.Arrival{{row(1, 1, 0, true), row(1, 2, time.Second, false)},
		{row(1, 2, time.Minute, true), row(1, 3, time.Minute, false)}} {
		r, err := history.CreateArrivals(folder, "dubsub-0")
		g.Expect(err).NotTo(HaveOccurred())
		for _, one := range again {
			g.Expect(r.Row(one)).To(Succeed())
		}
		g.Expect(r.Looked(at.Add(time.Duration(i) * time.Minute))).To(Succeed())
		g.Expect(r.Clock(history.ClockSample{Offset: time.Millisecond, RoundTrip: 4 * time.Millisecond})).To(Succeed())
		g.Expect(r.End()).To(Succeed())
	}
	var packed bytes.Buffer
	g.Expect(history.ExportArrivals(folder, &packed)).To(Succeed())
	a, err := history.LoadArrivals(&packed)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(a.Rows).
		To(Equal([]history.Arrival{row(1, 1, 0, true), row(1, 2, time.Second, false), row(1, 3, time.Minute, false)}))
	g.Expect(a).
		To(And(HaveField("Server", "dubsub-0"), HaveField("First", at), HaveField("Last", at.Add(time.Minute)),
			HaveField("Ended", true), HaveField("Clocks", HaveLen(2))))
	first, err = history.FirstLook(folder)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(first).To(Equal(at))
}

// acknowledgedAt is a run whose inserts were acknowledged by a server at these seconds.
func acknowledgedAt(run int64, server string, seconds ...int) history.Run {
	r := history.Run{Header: history.Header{Run: run}}
	for i, s := range seconds {
		t := history.Instant{Wall: int64(s) * int64(time.Second), Monotonic: int64(s) * int64(time.Second)}
		r.Operations = append(
			r.Operations,
			history.Operation{
				Number:    int64(i + 1),
				Function:  history.Insert,
				Outcome:   history.OK,
				Server:    server,
				Invoked:   t,
				Completed: t,
			},
		)
	}
	return r
}

// Rows are due that were not there at the first look and were written elsewhere; those that were not seen count as the
// latest, and took at least until the last thing that their client did.
func TestMeasureArrivals(t *testing.T) {
	g := NewWithT(t)
	second := func(n int) time.Time { return time.Unix(int64(n), 0) }
	came := func(run, number int64, written, seen int) history.Arrival {
		return history.Arrival{RowID: history.RowID{Run: run, Number: number}, Written: second(written), Seen: second(seen)}
	}
	there := came(1, 1, 5, 10)
	there.Early = true
	a := history.Arrivals{
		First:  second(10),
		Last:   second(100),
		Ended:  true,
		Clocks: []history.ClockSample{{2 * time.Second, time.Second}, {-time.Second / 10, time.Second / 10}},
		Rows:   []history.Arrival{there, came(1, 2, 20, 21), came(1, 3, 30, 33), came(2, 1, 40, 40)},
	}
	runs := []history.Run{acknowledgedAt(1, "tukpub-0", 5, 20, 30, 50, 90), acknowledgedAt(2, "quisec-0", 40)}
	runs[0].Operations[4].Function = history.Query
	secondary := func(server string) bool { return server == "quisec-0" }
	f := history.MeasureArrivals(a, runs, secondary)
	g.Expect(f).
		To(And(HaveField("Due", 3), HaveField("Seen", 2), HaveField("Times", []time.Duration{time.Second, 3 * time.Second}),
			HaveField("AtLeast", []time.Duration{40 * time.Second})))
	g.Expect(*f.Percentile(0.5)).To(Equal(3 * time.Second))
	g.Expect(f.Percentile(0.99)).To(BeNil(), "the third row was not seen")
	g.Expect(f.Floor(0.99)).To(Equal(40 * time.Second))
	// The quickest look bounds the difference by 150 ms, and the other proves that it was more than that.
	g.Expect(*f.Uncertainty).To(Equal(1500 * time.Millisecond))
	a.Ended = false
	g.Expect(history.MeasureArrivals(a, runs, secondary).AtLeast).
		To(Equal([]time.Duration{0}), "the reader may have ended before the row came")
	g.Expect(history.MeasureArrivals(history.Arrivals{}, runs, secondary)).
		To(And(HaveField("Due", 4), HaveField("Seen", 0), HaveField("AtLeast", HaveLen(4)),
			HaveField("Uncertainty", BeNil())), "a reader that has never looked has seen none of them")
}

// Which rows are due, and how long those took at least that were not seen, rests on no difference between the clock of
// a client and the reader's.
func TestArrivalsOfAClientWhoseClockIsElsewhere(t *testing.T) {
	for name, ahead := range map[string]int64{"at one with the reader's": 0, "40 s behind": -40, "an hour ahead": 3600} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			r := acknowledgedAt(1, "tukpub-0", 12, 20, 30, 70)
			for i := range r.Operations {
				o := &r.Operations[i]
				o.Invoked.Wall += ahead * int64(time.Second)
				o.Completed.Wall += ahead * int64(time.Second)
			}
			seen := func(number int64, at int) history.Arrival {
				return history.Arrival{RowID: history.RowID{Run: 1, Number: number}, Written: time.Unix(int64(at), 0),
					Seen: time.Unix(int64(at)+5, 0)}
			}
			f := history.MeasureArrivals(history.Arrivals{First: time.Unix(10, 0), Last: time.Unix(71, 0), Ended: true,
				Rows: []history.Arrival{seen(1, 12), seen(3, 30), seen(4, 70)}}, []history.Run{r},
				func(string) bool { return false })
			g.Expect(f.Due).To(Equal(4))
			g.Expect(f.Times).To(Equal([]time.Duration{5 * time.Second, 5 * time.Second, 5 * time.Second}))
			g.Expect(f.AtLeast).To(Equal([]time.Duration{50 * time.Second}))
		})
	}
}

// A row that is missing though a later one of its user is there is lost; one behind all others may be under way.
func TestCheckDelivery(t *testing.T) {
	g := NewWithT(t)
	id := func(run, number int64) history.RowID { return history.RowID{Run: run, Number: number} }
	runs := []history.Run{acknowledgedAt(1, "a", 1, 2, 3), acknowledgedAt(2, "a", 1, 2)}
	publisher := history.Replica{Rows: []history.RowID{id(1, 1), id(1, 2), id(1, 3), id(2, 1), id(2, 2), id(9, 9)}}
	d := history.CheckDelivery(
		runs,
		publisher,
		history.Replica{Rows: []history.RowID{id(1, 1), id(1, 3), id(2, 1), id(9, 9), id(8, 8)}},
	)
	g.Expect(d).
		To(Equal(history.Delivery{Acknowledged: 5, Delivered: 3, Undelivered: 1, Lost: 1, Phantom: 1,
			Examples: []history.RowID{id(8, 8), id(1, 2)}}))
}

// Rows that were there at the first look of a reader that was started again may have come at once: the least that a
// percentile can be counts them so, and the percentile itself is not told.
func TestRowsThatWereThereAtTheFirstLook(t *testing.T) {
	g := NewWithT(t)
	begin := at(0).Time()
	a := history.Arrivals{Server: "b-0", First: begin.Add(-time.Second), Last: begin.Add(time.Hour)}
	var operations []history.Operation
	for i := range int64(1000) {
		operations = append(operations, insert(i+1, i*100, i*100+5, history.OK, "a-0", 1))
		took := 10 * time.Millisecond
		if i >= 990 {
			took = time.Minute
		}
		written := at(i * 100).Time()
		a.Rows = append(a.Rows, history.Arrival{RowID: history.RowID{Run: 1, Number: i + 1}, Written: written,
			Seen: written.Add(took), Early: i < 500})
	}
	f := history.MeasureArrivals(a, []history.Run{run(1, "tukwila", operations...)}, func(string) bool { return false })
	g.Expect(f.Due).To(Equal(1000))
	g.Expect(f.Seen).To(Equal(500))
	g.Expect(f.Floor(0.99)).To(Equal(10 * time.Millisecond))
	g.Expect(f.Floor(1)).To(Equal(time.Minute))
	g.Expect(f.Percentile(0.99)).To(BeNil())
}
