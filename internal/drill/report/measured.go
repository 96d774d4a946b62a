// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"geosql.dev/operator/internal/drill/archive"
	"geosql.dev/operator/internal/workload/history"
)

// Measured is what was seen over time. Positions are seconds from the end of the baseline, by wall clocks.
type Measured struct {
	// From and To bound everything that was seen.
	From float64 `json:"from"`
	To   float64 `json:"to"`
	// Bin is the width in seconds of the bins of Throughput, NotAcknowledged and latencies.
	Bin float64 `json:"bin"`
	// Throughput is inserts and writes acknowledged per second, by client.
	Throughput []Series `json:"throughput"`
	// NotAcknowledged are inserts and writes per second that failed or whose outcome is unknown, of all clients.
	NotAcknowledged []Series `json:"notAcknowledged"`
	// Latency of inserts and writes in milliseconds, of all clients: p50 and p99 of how long users waited, from when
	// operations were to begin, by the bin of the acknowledgement. What never answered is there at its age, in the bin in
	// which it was sent.
	Latency []Series `json:"latency"`
	// SendQueue and RedoQueue of each replica in KB.
	SendQueue []Series `json:"sendQueue,omitempty"`
	RedoQueue []Series `json:"redoQueue,omitempty"`
	// RoundTrip in milliseconds and Loss in percent of each link that was probed.
	RoundTrip []Series `json:"roundTrip,omitempty"`
	Loss      []Series `json:"loss,omitempty"`
	// Undelivered commands and DeliveryLatency in seconds of each subscription.
	Undelivered     []Series `json:"undelivered,omitempty"`
	DeliveryLatency []Series `json:"deliveryLatency,omitempty"`
	// Roles and Synchronization of each replica, by its server's name.
	Roles           []Lane `json:"roles,omitempty"`
	Synchronization []Lane `json:"synchronization,omitempty"`
	// Acknowledging is the server that acknowledged, as each client's histories have it.
	Acknowledging []Lane `json:"acknowledging,omitempty"`

	zero time.Time
}

// Series is one line of a chart.
type Series struct {
	Name   string  `json:"name"`
	Points []Point `json:"points"`
}

// Point of a series. Without a value nothing was seen then.
type Point struct {
	At    float64  `json:"at"`
	Value *float64 `json:"value"`
}

// Lane is a state over time.
type Lane struct {
	Name  string `json:"name"`
	Spans []Span `json:"spans"`
}

// Span of a lane. An empty state was not known.
type Span struct {
	From  float64 `json:"from"`
	To    float64 `json:"to"`
	State string  `json:"state"`
}

// bins are the widths in seconds that are used, so that there are at most maxBins.
var bins = []float64{1, 2, 5, 10, 30, 60, 300, 900, 3600, 4 * 3600, 24 * 3600, 7 * 24 * 3600}

const maxBins = 360

// measure makes the series of a report.
func measure(r Report, runs []history.Run, samples archive.Samples) *Measured {
	m := &Measured{zero: r.zero(runs)}
	at := func(t time.Time) float64 { return t.Sub(m.zero).Seconds() }
	m.From, m.To = bounds(r, runs, samples, at)
	for _, m.Bin = range bins {
		if (m.To-m.From)/m.Bin <= maxBins {
			break
		}
	}
	m.addOperations(runs, at)
	m.addReplicas(samples.Replicas, at)
	m.addLinks(samples.Links, at)
	m.addDeliveries(samples.Deliveries, at)
	m.Acknowledging = acknowledging(runs, at)
	return m
}

// zero is where positions count from: the end of the baseline, or without one the first thing that was seen.
func (r Report) zero(runs []history.Run) time.Time {
	if !r.Started.IsZero() {
		return r.Started
	}
	if !r.Accepted.IsZero() || len(runs) == 0 {
		return r.Accepted
	}
	return runs[0].Started.Time()
}

// bounds of everything that has a time.
func bounds(r Report, runs []history.Run, samples archive.Samples, at func(time.Time) float64) (from, to float64) {
	see := func(t time.Time) {
		if !t.IsZero() {
			from, to = min(from, at(t)), max(to, at(t))
		}
	}
	for _, run := range runs {
		for _, o := range run.Operations {
			see(o.Invoked.Time())
			if o.Completed.Wall != 0 {
				see(o.Completed.Time())
			}
		}
	}
	for _, s := range samples.Replicas {
		see(s.At)
	}
	for _, s := range samples.Links {
		see(s.At)
	}
	for _, s := range samples.Deliveries {
		see(s.At)
	}
	for _, f := range r.Faults {
		if f.Injected != nil {
			see(f.Injected.Time)
		}
		if f.Removed != nil {
			see(f.Removed.Time)
		}
	}
	return from, max(to, from+1)
}

// index of the bin that a position is in.
func (m *Measured) index(at float64) int {
	return min(max(int((at-m.From)/m.Bin), 0), m.count()-1)
}

func (m *Measured) count() int { return int((m.To-m.From)/m.Bin) + 1 }

// series has one point in the middle of each bin.
func (m *Measured) series(name string, value func(bin int) *float64) Series {
	s := Series{Name: name}
	for i := range m.count() {
		s.Points = append(s.Points, Point{At: min(m.From+(float64(i)+0.5)*m.Bin, m.To), Value: value(i)})
	}
	return s
}

// perSecond is a series of counts as rates, up to the bin after which nothing is known. The last bin ends where
// everything ends.
func (m *Measured) perSecond(name string, counts []int, known int) Series {
	return m.series(name, func(bin int) *float64 {
		if bin > known {
			return nil
		}
		width := min(m.Bin, m.To-(m.From+float64(bin)*m.Bin))
		rate := float64(counts[bin]) / max(width, m.Bin/4)
		return &rate
	})
}

// addOperations counts what clients did.
func (m *Measured) addOperations(runs []history.Run, at func(time.Time) float64) {
	acknowledged, known := map[string][]int{}, map[string]int{}
	bad := make([]int, m.count())
	latencies := make([][]history.Wait, m.count())
	for _, run := range runs {
		if acknowledged[run.Client] == nil {
			acknowledged[run.Client] = make([]int, m.count())
		}
		if run.Ended {
			known[run.Client] = m.count() - 1
		}
		for _, o := range run.Operations {
			wait, counts := run.Waited(o)
			known[run.Client] = max(known[run.Client], m.index(at(o.Invoked.Time())), m.index(at(o.Completed.Time())))
			switch {
			case !o.Function.Changes():
			case o.Outcome == history.OK:
				bin := m.index(at(o.Completed.Time()))
				acknowledged[run.Client][bin]++
				latencies[bin] = append(latencies[bin], wait)
			default:
				bin := m.index(at(o.Invoked.Time()))
				bad[bin]++
				if counts {
					latencies[bin] = append(latencies[bin], wait)
				}
			}
		}
	}
	for _, client := range slices.Sorted(maps.Keys(acknowledged)) {
		m.Throughput = append(m.Throughput, m.perSecond(client, acknowledged[client], known[client]))
	}
	m.NotAcknowledged = []Series{m.perSecond("failed or unknown", bad, m.count()-1)}
	for _, p := range []struct {
		name string
		p    float64
	}{{"p50", 0.5}, {"p99", 0.99}} {
		m.Latency = append(m.Latency, m.series(p.name, func(bin int) *float64 {
			wait, ok := history.PercentileOfWaits(latencies[bin], p.p)
			if !ok {
				return nil
			}
			ms := float64(wait.Took) / float64(time.Millisecond)
			return &ms
		}))
	}
}

// lines gathers points by the name of their line.
type lines map[string][]Point

func (l lines) add(name string, at float64, value *float64) {
	l[name] = append(l[name], Point{At: at, Value: value})
}

func (l lines) series() []Series {
	var all []Series
	for _, name := range slices.Sorted(maps.Keys(l)) {
		points := l[name]
		if !slices.ContainsFunc(points, func(p Point) bool { return p.Value != nil }) {
			continue
		}
		slices.SortStableFunc(points, func(x, y Point) int { return cmp.Compare(x.At, y.At) })
		all = append(all, Series{Name: name, Points: points})
	}
	return all
}

func number(v *int64) *float64 {
	if v == nil {
		return nil
	}
	f := float64(*v)
	return &f
}

func scaled(v *time.Duration, unit time.Duration) *float64 {
	if v == nil {
		return nil
	}
	f := float64(*v) / float64(unit)
	return &f
}

func (m *Measured) addReplicas(samples []archive.ReplicaSample, at func(time.Time) float64) {
	send, redo := lines{}, lines{}
	roles, synchronization := newLanes(), newLanes()
	for _, s := range slices.SortedStableFunc(slices.Values(samples),
		func(x, y archive.ReplicaSample) int { return x.At.Compare(y.At) }) {
		t := at(s.At)
		send.add(s.Server, t, number(s.SendQueueKB))
		redo.add(s.Server, t, number(s.RedoQueueKB))
		roles.add(s.Server, t, s.Role)
		synchronization.add(s.Server, t, s.Synchronization)
	}
	m.SendQueue, m.RedoQueue = send.series(), redo.series()
	m.Roles, m.Synchronization = roles.until(m.To), synchronization.until(m.To)
}

func (m *Measured) addLinks(samples []archive.LinkSample, at func(time.Time) float64) {
	rtt, loss := lines{}, lines{}
	for _, s := range samples {
		name := s.From + " – " + s.To
		rtt.add(name, at(s.At), scaled(s.RTT, time.Millisecond))
		if s.Sent > 0 {
			lost := 100 * float64(s.Lost) / float64(s.Sent)
			loss.add(name, at(s.At), &lost)
		}
	}
	m.RoundTrip, m.Loss = rtt.series(), loss.series()
}

func (m *Measured) addDeliveries(samples []archive.DeliverySample, at func(time.Time) float64) {
	undelivered, latency := lines{}, lines{}
	for _, s := range samples {
		undelivered.add(s.Subscription, at(s.At), number(s.Undelivered))
		latency.add(s.Subscription, at(s.At), scaled(s.Latency, time.Second))
	}
	m.Undelivered, m.DeliveryLatency = undelivered.series(), latency.series()
}

// lanes gathers states by the name of their lane; samples come in the order of time.
type lanes map[string][]Span

func newLanes() lanes { return lanes{} }

// silent is how many seconds after a sample nothing is known any more.
const silent = 10

// add says that a state was seen. It began when it was first seen and lasts until another one is seen, or until nobody
// has looked for too long.
func (l lanes) add(name string, at float64, state string) {
	spans := l[name]
	if n := len(spans); n > 0 {
		if last := &spans[n-1]; at-last.To > silent {
			spans = append(spans, Span{From: last.To, To: at})
		} else {
			last.To = at
		}
	}
	if n := len(spans); n == 0 || spans[n-1].State != state {
		spans = append(spans, Span{From: at, To: at, State: state})
	}
	l[name] = spans
}

// until closes the lanes at a position.
func (l lanes) until(to float64) []Lane {
	var all []Lane
	for _, name := range slices.Sorted(maps.Keys(l)) {
		spans := l[name]
		if last := &spans[len(spans)-1]; to-last.To <= silent {
			last.To = to
		} else {
			spans = append(spans, Span{From: last.To, To: to})
		}
		if slices.ContainsFunc(spans, func(s Span) bool { return s.State != "" }) {
			all = append(all, Lane{Name: name, Spans: spans})
		}
	}
	return all
}

// acknowledging has, for each client, which server acknowledged: from the first to the last acknowledgement in a row.
// Between the spans nobody did.
func acknowledging(runs []history.Run, at func(time.Time) float64) []Lane {
	byClient := map[string][]history.Operation{}
	for _, run := range runs {
		for _, o := range run.Operations {
			if o.Outcome == history.OK && o.Function.Changes() && o.Server != "" {
				byClient[run.Client] = append(byClient[run.Client], o)
			}
		}
	}
	var all []Lane
	for _, client := range slices.Sorted(maps.Keys(byClient)) {
		operations := byClient[client]
		slices.SortStableFunc(
			operations,
			func(x, y history.Operation) int { return cmp.Compare(x.Completed.Wall, y.Completed.Wall) },
		)
		lane := Lane{Name: client}
		for _, o := range operations {
			t := at(o.Completed.Time())
			if n := len(lane.Spans); n > 0 && lane.Spans[n-1].State == o.Server && t-lane.Spans[n-1].To <= unserved {
				lane.Spans[n-1].To = t
				continue
			}
			lane.Spans = append(lane.Spans, Span{From: t, To: t, State: o.Server})
		}
		all = append(all, lane)
	}
	return all
}

// unserved is how many seconds without an acknowledgement are shown as a gap.
const unserved = 1.5
