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
	// Acknowledged inserts that came for certain while the fault or what it had disturbed lasted, or soon after it. Where
	// there is none no row was at risk.
	Acknowledged int `json:"acknowledged"`
	// Lost rows that are put down to this fault.
	Lost int `json:"lost"`
	// RPO is the time from the newest acknowledgement below which nothing is missing to the fault, or to the newest
	// acknowledgement that is lost, where that came later; 0 when nothing is lost. Where nothing that was acknowledged
	// earlier is left, it counts from the oldest that is lost: it was at least that long.
	RPO time.Duration `json:"rpo"`
	// RPOUnsure is by how much the clocks leave RPO open; RPOUntold says that they do not tell it at all.
	RPOUnsure time.Duration `json:"rpoUnsure,omitempty"`
	RPOUntold bool          `json:"rpoUntold,omitempty"`
	// CatchUp is the time from the end of the fault (its beginning, when there was nothing to take back) until all
	// replicas were synchronized; nil when that was not seen.
	CatchUp *time.Duration `json:"catchUp,omitempty"`
	// CatchUpLess and CatchUpMore are by how much it may have been shorter or longer, since nobody looks all the time.
	CatchUpLess time.Duration `json:"catchUpLess,omitempty"`
	CatchUpMore time.Duration `json:"catchUpMore,omitempty"`
	// Before is who acknowledged clients last before the fault, and After who did first in a higher term after it; nil
	// where nobody did, or the clocks do not tell.
	Before *Service `json:"before,omitempty"`
	After  *Service `json:"after,omitempty"`
	// Clients with their times.
	Clients []ClientFigures `json:"clients"`
}

// Service is a server that acknowledges, and the term in which it does.
type Service struct {
	Server string `json:"server"`
	Term   int64  `json:"term"`
}

// Moved says that clients were acknowledged by another server in a higher term.
func (f FaultFigures) Moved() bool {
	return f.Before != nil && f.After != nil && f.After.Server != f.Before.Server
}

// services are who acknowledged last before a window, and first in a higher term within it.
func services(runs []Run, a axis, w window) (before, after *Service) {
	each := func(yield func(o Operation, at int64, unsure time.Duration)) {
		for _, run := range runs {
			unsure, known := a.unsure(run.Boot)
			for _, o := range run.Operations {
				if known && o.Outcome == OK && o.Server != "" && o.Term() > 0 {
					yield(o, a.of(o.Completed), unsure)
				}
			}
		}
	}
	last, first := int64(math.MinInt64), int64(math.MaxInt64)
	each(func(o Operation, at int64, unsure time.Duration) {
		if at < add(w.from, -unsure) && at > last {
			last, before = at, &Service{o.Server, o.Term()}
		}
	})
	if before == nil {
		return nil, nil
	}
	each(func(o Operation, at int64, unsure time.Duration) {
		if at >= add(w.from, unsure) && at < add(w.until, -unsure) && o.Term() > before.Term && at < first {
			first, after = at, &Service{o.Server, o.Term()}
		}
	})
	return before, after
}

// measureFaults gives each fault its figures. Faults are sorted by their beginning; the time of a fault ends when the
// next one begins.
func measureFaults(e Evidence, a axis, lost []lostRow) []FaultFigures {
	faults := slices.SortedFunc(
		slices.Values(e.Faults),
		func(x, y Fault) int { return cmp.Compare(a.of(x.Injected), a.of(y.Injected)) },
	)
	clients := map[string][]Run{}
	for _, run := range e.Runs {
		clients[run.Client] = append(clients[run.Client], run)
	}
	loads := loadsOf(clients, e.Served, faults, a)
	figures := make([]FaultFigures, len(faults))
	for i, f := range faults {
		w := window{span: span{a.of(f.Injected), math.MaxInt64}, settled: math.MaxInt64}
		if i+1 < len(faults) {
			w.until = a.of(faults[i+1].Injected)
		}
		if f.Settled != (Instant{}) {
			w.settled = a.of(f.Settled)
		}
		figures[i] = FaultFigures{Fault: f, Acknowledged: atRisk(e.Runs, a, w)}
		figures[i].catchUp(a)
		figures[i].Before, figures[i].After = services(e.Runs, a, w)
		for _, client := range slices.Sorted(maps.Keys(clients)) {
			w.cut, w.perhapsCut = cutOff(client, faults, a)
			c := measureClient(clients[client], a, w, loads[client])
			c.Client, c.Isolated = client, slices.Contains(f.Isolated, client)
			figures[i].Clients = append(figures[i].Clients, c)
		}
	}
	putDownLosses(figures, a, e.Runs, lost)
	return figures
}

// soonAfter is how long after the end of a disturbance clients may need to be at work again.
const soonAfter = 5 * time.Second

// atRisk counts the inserts that were acknowledged while a fault or what it had disturbed lasted.
func atRisk(runs []Run, a axis, w window) int {
	n := 0
	for _, run := range runs {
		unsure, known := a.unsure(run.Boot)
		if !known {
			continue
		}
		risk := span{w.from, add(w.settled, soonAfter)}.less(unsure)
		for _, o := range run.Operations {
			at := a.of(o.Completed)
			if o.Function == Insert && o.Outcome == OK && at >= risk.from && at < risk.until {
				n++
			}
		}
	}
	return n
}

// cutOff are the times in which faults, whichever, kept a client from reaching anything: certainly, and perhaps. A
// fault that was taken back is over when the way is open again.
func cutOff(client string, faults []Fault, a axis) (certainly, perhaps []span) {
	for _, f := range faults {
		if !slices.Contains(f.Isolated, client) {
			continue
		}
		cut := span{a.of(f.Injected), math.MaxInt64}
		maybe := cut
		if f.Healed != (Instant{}) {
			cut.until, maybe.until = a.of(f.Healed), a.of(f.Healed)
		}
		b := f.Bounds
		if b.StillThere != (Instant{}) {
			cut.until = min(cut.until, a.of(b.StillThere))
		}
		if b.GoneBy != (Instant{}) {
			maybe.until = a.of(b.GoneBy)
		}
		if b.StillCut != (Instant{}) {
			cut.until, maybe.until = max(cut.until, a.of(b.StillCut)), math.MaxInt64
		}
		if b.OpenBy != (Instant{}) {
			maybe.until = a.of(b.OpenBy)
		}
		certainly, perhaps = append(certainly, cut), append(perhaps, maybe)
	}
	return certainly, perhaps
}

// catchUp takes the time from the end of a fault until the replicas were synchronized. Both lie between two looks.
func (f *FaultFigures) catchUp(a axis) {
	if f.Settled == (Instant{}) {
		return
	}
	b := f.Bounds
	from, earliest, latest := f.Healed, b.StillThere, b.GoneBy
	if from == (Instant{}) {
		from, earliest, latest = f.Injected, f.Injected, b.BegunBy
	}
	took := a.since(f.Settled, from)
	most, least := took, took
	if earliest != (Instant{}) {
		most = max(most, a.since(f.Settled, earliest))
	}
	if latest == (Instant{}) {
		latest = from
	}
	switch {
	case b.Behind != (Instant{}):
		least = max(min(least, a.since(b.Behind, latest)), 0)
	case b != (FaultBounds{}):
		least = 0 // whenever all were asked they were synchronized
	}
	f.CatchUp, f.CatchUpLess, f.CatchUpMore = &took, took-least+a.own, most-took+a.own
}

// putDownLosses gives each lost row to a fault: the one in whose disturbance (from its beginning until all replicas
// were synchronized again) it was acknowledged, else the next fault; with none after it, the last.
func putDownLosses(figures []FaultFigures, a axis, runs []Run, lost []lostRow) {
	oldest, newest := map[int]lostRow{}, map[int]int64{}
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
		figures[to].leaveOpen(a, o.boot)
	}
	for i, first := range oldest {
		below, boot := int64(math.MinInt64), first.boot
		for _, run := range runs {
			for _, o := range run.Operations {
				if o.Outcome != OK || !o.Function.Changes() {
					continue
				}
				if at := a.of(o.Completed); at < a.of(first.Completed) && at > below {
					below, boot = at, run.Boot
				}
			}
		}
		if below == math.MinInt64 {
			below = a.of(first.Completed)
		}
		figures[i].RPO = time.Duration(max(a.of(figures[i].Injected), newest[i]) - below)
		figures[i].leaveOpen(a, boot)
	}
}

// leaveOpen notes that RPO rests on what was done at a machine. Where that is compared with another machine's the
// clocks of both count, and that the fault began after it was asked for.
func (f *FaultFigures) leaveOpen(a axis, boot string) {
	unsure, known := a.unsure(boot)
	open := 2 * unsure
	if f.Bounds.BegunBy != (Instant{}) {
		open += max(a.since(f.Bounds.BegunBy, f.Injected), 0)
	}
	f.RPOUnsure, f.RPOUntold = max(f.RPOUnsure, open), f.RPOUntold || !known
}

// Percentile is the nearest-rank percentile p, above 0 up to 1, of the samples; 0 of none.
func Percentile(samples []time.Duration, p float64) time.Duration {
	if len(samples) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(samples))
	return sorted[rank(len(sorted), p)]
}

// rank is the place of the nearest-rank percentile p among n samples in their order.
func rank(n int, p float64) int { return max(int(math.Ceil(p*float64(n))), 1) - 1 }
