// SPDX-License-Identifier: Apache-2.0

package history_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/workload/history"
)

func everything(history.Operation) bool { return false }

// figures are those of one client's acknowledgements at faults.
func figures(operations []history.Operation, faults ...history.Fault) []history.FaultFigures {
	runs := []history.Run{run(1, "tukwila", operations...)}
	return history.Check(
		history.Evidence{Runs: runs, Replicas: replicas(present(runs, everything)...), Faults: faults},
	).Faults
}

// acks are inserts that took so long and were acknowledged at these milliseconds.
func acks(took int64, at ...int64) (list []history.Operation) {
	for i, ms := range at {
		list = append(list, insert(int64(i+1), ms-took, ms, history.OK, "a-0", 1))
	}
	return list
}

// What is acknowledged at the very moment of a fault comes after it, and at that of the next one belongs to the next.
func TestFiguresAtTheMomentsOfFaults(t *testing.T) {
	g := NewWithT(t)
	first, second := fault("first", 10_000, 0, 11_000), fault("second", 20_000, 0, 21_000)
	f := figures(acks(700, 9000, 10_000, 12_000, 20_000, 20_500), first, second)
	g.Expect(f[0].Clients[0]).
		To(And(HaveField("RTO", HaveValue(Equal(2*time.Second))), HaveField("Stall", 700*time.Millisecond),
			HaveField("Usual", time.Duration(0))))
	g.Expect(f[1].Clients[0].RTO).To(HaveValue(Equal(8 * time.Second)))
	slow := acks(10, 9000, 10_000, 12_000)
	slow[1].Invoked = at(9200)
	g.Expect(figures(slow, first)[0].Clients[0].Stall).To(Equal(800 * time.Millisecond))

	g.Expect(figures(acks(5, 1000, 13_000), first)[0].Clients[0].RTO).
		To(HaveValue(Equal(12*time.Second)), "one before it is enough")
	g.Expect(figures(acks(5, 10_000, 13_000), first)[0].Clients[0]).
		To(And(HaveField("RTO", BeNil()), HaveField("Missing", "no acknowledgement before it")))
	g.Expect(figures(acks(5, 9000), first)[0].Clients[0]).
		To(And(HaveField("RTO", BeNil()), HaveField("Missing", "no acknowledgement after it")))
}

// The usual time is of the ten seconds before the fault, their first moment among them.
func TestTheUsualTimeIsOfTenSeconds(t *testing.T) {
	g := NewWithT(t)
	f := fault("kill", 20_000, 0, 21_000)
	g.Expect(figures(acks(5, 9900, 10_000, 11_000, 20_001), f)[0].Clients[0].Usual).To(Equal(100 * time.Millisecond))
	g.Expect(figures(acks(5, 9800, 9900, 9999, 11_000, 20_001), f)[0].Clients[0].Usual).To(Equal(1001 * time.Millisecond))
}

// An acknowledgement beyond the next fault ends the time of this one, though the wall clock is set back behind it.
func TestTheTimeOfAFaultEndsWithTheNext(t *testing.T) {
	near := run(1, "tukwila", acks(5, 9000, 11_000, 20_500, 27_000, 28_000)...)
	for i := range near.Operations[3:] {
		near.Operations[3+i].Completed.Wall -= int64(10 * time.Second)
	}
	other := run(2, "dublin", acks(5, 9500)...)
	other.Boot = "another"
	v := history.Check(
		history.Evidence{
			Runs:       []history.Run{near, other},
			ClockError: time.Millisecond,
			Faults:     []history.Fault{fault("first", 10_000, 0, 11_000), fault("second", 20_000, 0, 21_000)},
		},
	)
	NewWithT(
		t,
	).Expect(v.Faults[0].Clients[1]).
		To(And(HaveField("Client", "tukwila"), HaveField("RTO", HaveValue(Equal(2*time.Second)))))
}

// An outage just as long as is allowed passes.
func TestAnOutageThatIsJustAllowed(t *testing.T) {
	g := NewWithT(t)
	runs := []history.Run{run(1, "tukwila", acks(5, 9000, 12_000)...)}
	for allowed, want := range map[time.Duration]history.Result{3 * time.Second: history.Passed,
		2999 * time.Millisecond: history.Failed} {
		f := fault("kill", 10_000, 0, 11_000)
		f.RTO = allowed
		v := history.Check(
			history.Evidence{Runs: runs, Replicas: replicas(present(runs, everything)...), Faults: []history.Fault{f}},
		)
		g.Expect(v.Result).To(Equal(want), "%v", v.Reasons)
	}
}

// What is lost of what was acknowledged when all replicas were synchronized again belongs to the next fault; where that
// was never seen, to the one before.
func TestLossesAtTheEndOfAFault(t *testing.T) {
	lost := func(settled int64) []history.FaultFigures {
		runs := []history.Run{run(1, "tukwila", acks(5, 9000, 12_000, 13_000, 30_000)...)}
		first := fault("first", 10_000, 0, settled)
		if settled == 0 {
			first.Settled = history.Instant{}
		}
		gone := func(o history.Operation) bool { return o.Completed == at(12_000) }
		return history.Check(history.Evidence{Runs: runs, Replicas: replicas(present(runs, gone)...),
			Faults: []history.Fault{first, fault("second", 20_000, 0, 21_000)}}).Faults
	}
	for settled, to := range map[int64]int{12_001: 0, 12_000: 1, 11_000: 1, 0: 0} {
		f := lost(settled)
		NewWithT(t).Expect([]int{f[0].Lost, f[1].Lost}).To(Equal([]int{1 - to, to}), "settled at %d", settled)
	}
}

// Five examples of each kind are named, however many there are.
func TestExamplesAreFew(t *testing.T) {
	g := NewWithT(t)
	runs := []history.Run{run(1, "tukwila", steady(0, 900)...)}
	v := history.Check(history.Evidence{Runs: runs, Replicas: replicas(rows(1, 8)...)})
	g.Expect(v.Counts.Lost).To(Equal(8))
	g.Expect(v.Examples["lost"]).To(Equal(rows(1, 1, 2, 3, 4, 5)))
	d := history.CheckDelivery(nil, history.Replica{}, history.Replica{Rows: rows(1, 1, 2, 3, 4, 5, 6)})
	g.Expect(d).To(And(HaveField("Phantom", 6), HaveField("Examples", rows(1, 1, 2, 3, 4, 5))))
}

// A row with the number of the last operation, which was no insert, is nobody's, though the history broke off there.
func TestARowOfTheLastOperation(t *testing.T) {
	g := NewWithT(t)
	r := run(7, "tukwila", insert(1, 0, 1, history.OK, "a-0", 1), register(2, 2, 3, history.Read, 0, history.OK))
	r.Ended = false
	g.Expect(history.Check(history.Evidence{Runs: []history.Run{r}, Replicas: replicas(rows(7, 1, 2)...)}).Counts).
		To(And(HaveField("Phantom", 1), HaveField("Unrecorded", 0)))
	g.Expect(history.Check(history.Evidence{Runs: []history.Run{r}, Replicas: replicas(rows(7, 1, 3)...)}).Counts).
		To(And(HaveField("Phantom", 0), HaveField("Unrecorded", 1)))
}

// A term is known by its first and last acknowledgement, whoever of the clients had them and in whatever order they are
// read.
func TestTermsOfSeveralClients(t *testing.T) {
	g := NewWithT(t)
	var unnamed, outside history.Operation
	unnamed, outside = insert(3, 1, 2, history.OK, "", 3), insert(4, 3, 4, history.OK, "c-0", 0)
	outside.Configuration = 0
	runs := []history.Run{
		run(1, "x", insert(1, 20, 50, history.OK, "a-0", 1), insert(2, 60, 70, history.OK, "a-0", 1), unnamed, outside),
		run(
			2,
			"y",
			insert(1, 10, 40, history.OK, "a-0", 1),
			insert(2, 55, 90, history.OK, "a-0", 1),
			insert(3, 91, 92, history.Unknown, "a-0", 1),
		),
	}
	v := history.Check(history.Evidence{Runs: runs})
	g.Expect(v.Terms).To(HaveLen(1))
	g.Expect(v.Terms[0]).
		To(And(HaveField("Server", "a-0"), HaveField("First", at(40)), HaveField("Last", at(90)),
			HaveField("Acknowledged", 4)))

	// The last that the earlier one was sent is what counts, and the first that the later one acknowledged.
	later := run(3, "z", insert(1, 50, 65, history.OK, "b-0", 2), insert(2, 30, 58, history.OK, "b-0", 2))
	v = history.Check(history.Evidence{Runs: append(runs, later)})
	g.Expect(v.Overlaps).To(HaveLen(1))
	g.Expect(v.Overlaps[0].By).To(Equal(2 * time.Millisecond))
}

// Clocks that may be apart by just as much prove nothing.
func TestAnOverlapWithinTheClocksError(t *testing.T) {
	g := NewWithT(t)
	old, young := run(1, "x", insert(1, 40, 50, history.OK, "a-0", 1)),
		run(2, "y", insert(1, 20, 30, history.OK, "b-0", 2))
	young.Boot = "another"
	e := history.Evidence{Runs: []history.Run{old, young}, ClockError: 10 * time.Millisecond}
	g.Expect(history.Check(e).Overlaps).To(BeEmpty())
	e.ClockError--
	g.Expect(history.Check(e).Overlaps).To(HaveLen(1))
}

// Reads that were not answered say nothing of what a register began with, and bind no write.
func TestReadsWithoutAnAnswer(t *testing.T) {
	g := NewWithT(t)
	v := history.Check(
		history.Evidence{Runs: []history.Run{run(
			1,
			"x",
			register(1, 0, 1, history.Read, 77, history.OK),
			register(2, 2, 3, history.Read, 0, history.Fail),
			register(
				3,
				4,
				5,
				history.Write,
				5,
				history.Unknown,
			),
			register(4, 6, 7, history.Read, 5, history.Unknown),
			insert(5, 8, 9, history.OK, "a-0", 1),
		)}},
	)
	g.Expect(v.Registers).To(And(HaveField("Result", history.Passed), HaveField("Operations", 1)), "%v", v.Registers)
	var text bytes.Buffer
	g.Expect(v.WriteTable(&text)).To(Succeed())
	g.Expect(text.String()).To(ContainSubstring("registers: Passed, 1 operations\n"))
	text.Reset()
	g.Expect(history.Check(history.Evidence{}).WriteTable(&text)).To(Succeed())
	g.Expect(text.String()).To(ContainSubstring("registers: Passed, 0 operations (none were used)\n"))
}

// Only acknowledged inserts are to arrive.
func TestOnlyAcknowledgedInsertsAreDue(t *testing.T) {
	g := NewWithT(t)
	r := acknowledgedAt(1, "a", 1, 2, 3, 4)
	r.Operations[0].Function, r.Operations[1].Outcome = history.Write, history.Fail
	f := history.MeasureArrivals(
		history.Arrivals{
			First:  time.Unix(0, 1),
			Last:   time.Unix(9, 0),
			Clocks: []history.ClockSample{{Offset: -10 * time.Millisecond, RoundTrip: 4 * time.Millisecond}},
		},
		[]history.Run{r},
		func(string) bool { return false },
	)
	g.Expect(f.Due).To(Equal(2))
	g.Expect(f.Uncertainty).To(HaveValue(Equal(12 * time.Millisecond)))
	d := history.CheckDelivery([]history.Run{r}, history.Replica{Rows: rows(1, 4)}, history.Replica{Rows: rows(1, 4)})
	g.Expect(d).To(Equal(history.Delivery{Acknowledged: 2, Delivered: 1, Lost: 1, Examples: rows(1, 3)}))
}

// A line that is torn hides none behind it.
func TestTornLinesHideNothing(t *testing.T) {
	g := NewWithT(t)
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, err := io.WriteString(
		w,
		"{\"k\":\"begin\",\"format\":\"geosql-arrivals/1\",\"server\":\"s\"}\n"+
			"{\"k\":\"ro\n{\"k\":\"row\",\"run\":1,\"n\":2,\"w\":5}\n",
	)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(w.Close()).To(Succeed())
	a, err := history.LoadArrivals(&packed)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(a.Rows).To(HaveLen(1))

	folder := t.TempDir()
	text := "n\":1}\n{\"k\":\"invoke\",\"n\":2,\"f\":\"insert\",\"t\":7,\"w\":8}\n{\"k\":\"ok\",\"n\":2,\"t\":9,\"w\":9}\n"
	g.Expect(os.WriteFile(filepath.Join(folder, "tukwila-1.history"), []byte(text), 0o600)).To(Succeed())
	newest, err := history.Latest(folder)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(newest.Acknowledged).To(Equal(history.Instant{Monotonic: 7, Wall: 8}))
}

// Histories are exported as they are, one after another: only what is torn gets its end.
func TestHistoriesAreExportedAsTheyAre(t *testing.T) {
	g := NewWithT(t)
	folder := t.TempDir()
	for name, text := range map[string]string{"a.history": "one\ntwo\n", "b.history": "", "c.history": "torn",
		"d.history": "last\n"} {
		g.Expect(os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600)).To(Succeed())
	}
	var packed bytes.Buffer
	g.Expect(history.Export(folder, &packed)).To(Succeed())
	r, err := gzip.NewReader(&packed)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(io.ReadAll(r)).To(BeEquivalentTo("one\ntwo\ntorn\nlast\n"))
}

// Runs begin with 1, and so do the numbers of a run.
func TestRunsAndTheirNumbersBeginWithOne(t *testing.T) {
	g := NewWithT(t)
	_, err := history.Create(t.TempDir(), history.Header{Run: 0, Client: "x"})
	g.Expect(err).To(MatchError(ContainSubstring("run 0 is not at least 1")))
	r, err := history.Create(t.TempDir(), history.Header{Run: 1, Client: "x"})
	g.Expect(err).NotTo(HaveOccurred())
	for n := range int64(3) {
		g.Expect(r.Next()).To(Equal(n + 1))
		o, err := r.Invoke(history.Insert, 0, 0)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(o.Number).To(Equal(n + 1))
		o.Outcome = history.OK
		g.Expect(r.Complete(o)).To(Succeed())
	}
	g.Expect(r.End()).To(Succeed())
}

// Only what begins with both bytes of gzip's mark is unpacked.
func TestWhatIsNoGzipIsReadAsItIs(t *testing.T) {
	for _, text := range []string{"\x1f", "\x1fx\n", "x\x8b\n"} {
		_, err := history.Load(bytes.NewBufferString(text))
		NewWithT(t).Expect(err).NotTo(MatchError(ContainSubstring("unpack")), "%q", text)
	}
	_, err := history.Load(bytes.NewBufferString("\x1f\x8bx"))
	NewWithT(t).Expect(err).To(MatchError(ContainSubstring("unpack the histories")))
}
