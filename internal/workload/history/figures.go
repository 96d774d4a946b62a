// SPDX-License-Identifier: Apache-2.0

package history

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"time"
)

// FaultFigures are what one fault did to the clients.
type FaultFigures struct {
	Fault
	// Lost rows that are put down to this fault.
	Lost int `json:"lost"`
	// RPO is the time from the newest acknowledgement below which nothing is missing to the fault, or to the newest
	// acknowledgement that is lost, where that came later; 0 when nothing is lost. Where nothing that was acknowledged
	// earlier is left, it counts from the oldest that is lost: it was at least that long.
	RPO time.Duration `json:"rpo"`
	// CatchUp is the time from the end of the fault (its beginning, when there was nothing to take back) until all
	// replicas were synchronized; nil when that was not seen.
	CatchUp *time.Duration `json:"catchUp,omitempty"`
	// Clients with their times.
	Clients []ClientFigures `json:"clients"`
}

// ClientFigures are what one client saw of one fault.
type ClientFigures struct {
	Client string `json:"client"`
	// Isolated says that the fault itself kept the client from reaching anything.
	Isolated bool `json:"isolated,omitempty"`
	// RTO is the longest time between two acknowledgements that follow each other, the first of them not before the last
	// one ahead of the fault, the second not after the next fault. After the last fault it is at least the time from the
	// last acknowledgement to the last thing that the client did: a client that was not served any more until its history
	// ends went without that long. Nil when there is none, and Missing says why.
	RTO     *time.Duration `json:"rto,omitempty"`
	Missing string         `json:"missing,omitempty"`
	// Usual is the median time between two acknowledgements in the 10 seconds before the fault, beneath which no RTO means
	// anything.
	Usual time.Duration `json:"usual"`
	// Stall is how long the slowest acknowledged operation took in that time.
	Stall time.Duration `json:"stall"`
}

// usualWithin is the time before a fault from which the usual time between acknowledgements is taken.
const usualWithin = 10 * time.Second

// measureFaults gives each fault its figures. Faults are sorted by their beginning; the time of a fault ends when the
// next one begins.
func measureFaults(e Evidence, a axis, lost []Operation) []FaultFigures {
	faults := slices.SortedFunc(
		slices.Values(e.Faults),
		func(x, y Fault) int { return cmp.Compare(a.of(x.Injected), a.of(y.Injected)) },
	)
	own := ownAxes(e.Runs, a)
	acks, ends := acknowledged(e.Runs, own), lastDone(e.Runs, own)
	figures := make([]FaultFigures, len(faults))
	for i, f := range faults {
		until, last := int64(math.MaxInt64), i+1 == len(faults)
		if !last {
			until = a.of(faults[i+1].Injected)
		}
		figures[i] = FaultFigures{Fault: f, CatchUp: catchUp(f, a)}
		for _, client := range slices.Sorted(maps.Keys(acks)) {
			c := measureClient(acks[client], a, own[client], a.of(f.Injected), until)
			if last && c.RTO != nil {
				newest := acks[client][len(acks[client])-1]
				*c.RTO = max(*c.RTO, time.Duration(ends[client]-own[client].of(newest.Completed)))
			}
			c.Client, c.Isolated = client, slices.Contains(f.Isolated, client)
			figures[i].Clients = append(figures[i].Clients, c)
		}
	}
	putDownLosses(figures, a, acks, lost)
	return figures
}

func catchUp(f Fault, a axis) *time.Duration {
	if f.Settled == (Instant{}) {
		return nil
	}
	from := f.Healed
	if from == (Instant{}) {
		from = f.Injected
	}
	d := a.since(f.Settled, from)
	return &d
}

// ownAxes are the axes on which what one client has seen is measured: its machine's monotonic clock, though several
// machines can be compared by their wall clocks alone. Of a client whose machine was started anew it is the common one.
func ownAxes(runs []Run, common axis) map[string]axis {
	own, boots := map[string]axis{}, map[string]string{}
	for _, run := range runs {
		boot, known := boots[run.Client]
		if !known {
			boots[run.Client], own[run.Client] = run.Boot, axis{}
		}
		if run.Boot == "" || known && run.Boot != boot {
			own[run.Client] = common
		}
	}
	return own
}

// acknowledged are every client's acknowledged operations that changed something, in the order of their
// acknowledgement. Runs of a client that was restarted count as one.
func acknowledged(runs []Run, own map[string]axis) map[string][]Operation {
	acks := map[string][]Operation{}
	for _, run := range runs {
		for _, o := range run.Operations {
			if o.Outcome == OK && o.Function.Changes() {
				acks[run.Client] = append(acks[run.Client], o)
			}
		}
		if acks[run.Client] == nil {
			acks[run.Client] = []Operation{}
		}
	}
	for client, list := range acks {
		a := own[client]
		slices.SortFunc(list, func(x, y Operation) int { return cmp.Compare(a.of(x.Completed), a.of(y.Completed)) })
	}
	return acks
}

// lastDone is when every client, on its own axis, did the last thing that its histories know: it was answered, or tried
// without an answer.
func lastDone(runs []Run, own map[string]axis) map[string]int64 {
	ends := map[string]int64{}
	for _, run := range runs {
		a := own[run.Client]
		for _, o := range run.Operations {
			ends[run.Client] = max(ends[run.Client], a.of(o.Invoked), a.of(o.Completed))
		}
	}
	return ends
}

// measureClient looks at a client's acknowledgements from the last one before `from` to the last one before `until`,
// both on the common axis a. How long something took is measured on the client's own.
func measureClient(acks []Operation, a, own axis, from, until int64) ClientFigures {
	var c ClientFigures
	var usual []time.Duration
	last, longest := -1, time.Duration(0)
	after := false
	for i, o := range acks {
		at := a.of(o.Completed)
		if at >= until {
			break
		}
		if at < from && !after {
			if i > 0 && at >= from-int64(usualWithin) {
				usual = append(usual, own.since(o.Completed, acks[i-1].Completed))
			}
			last = i
			continue
		}
		after = true
		c.Stall = max(c.Stall, own.since(o.Completed, o.Invoked))
		if last >= 0 {
			longest = max(longest, own.since(o.Completed, acks[last].Completed))
		}
		last = i
	}
	c.Usual = Percentile(usual, 0.5)
	switch {
	case !after:
		c.Missing = "no acknowledgement after it"
	case last < 0 || a.of(acks[0].Completed) >= from:
		c.Missing = "no acknowledgement before it"
	default:
		c.RTO = &longest
	}
	return c
}

// putDownLosses gives each lost row to a fault: the one in whose disturbance (from its beginning until all replicas
// were synchronized again) it was acknowledged, else the next fault; with none after it, the last.
func putDownLosses(figures []FaultFigures, a axis, acks map[string][]Operation, lost []Operation) {
	oldest, newest := map[int]Operation{}, map[int]int64{}
	for _, o := range lost {
		at, to := a.of(o.Completed), -1
		for i, f := range figures {
			if at < a.of(f.Injected) || f.Settled == (Instant{}) || at < a.of(f.Settled) {
				to = i
				break
			}
		}
		if to < 0 {
			if to = len(figures) - 1; to < 0 {
				return
			}
		}
		figures[to].Lost++
		newest[to] = max(newest[to], at)
		if first, found := oldest[to]; !found || at < a.of(first.Completed) {
			oldest[to] = o
		}
	}
	for i, first := range oldest {
		below := int64(math.MinInt64)
		for _, list := range acks {
			for _, o := range list {
				if at := a.of(o.Completed); at < a.of(first.Completed) && at > below {
					below = at
				}
			}
		}
		if below == math.MinInt64 {
			below = a.of(first.Completed)
		}
		figures[i].RPO = time.Duration(max(a.of(figures[i].Injected), newest[i]) - below)
	}
}

// Percentile is the nearest-rank percentile p, above 0 up to 1, of the samples; 0 of none.
func Percentile(samples []time.Duration, p float64) time.Duration {
	if len(samples) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(samples))
	return sorted[max(int(math.Ceil(p*float64(len(sorted)))), 1)-1]
}
