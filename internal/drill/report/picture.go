// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"geosql.dev/operator/api/v1alpha1"
)

// picture is the part of the page that is drawn.
type picture struct {
	// Zero says when the axis of time is at 0.
	Zero string
	// EventNames are the events that are drawn.
	EventNames string
	// RoleNote explains the lanes of replicas, if there are any.
	RoleNote string
	Ticks    []tick
	Lanes    []laneView
	Charts   []*chart
	Bands    []mark
	Events   []mark
}

// mark is a band or a line across a chart, in the drawing's own units.
type mark struct {
	X, W  float64
	Class string
	Title string
}

// laneView is a lane with its spans in percent of the width.
type laneView struct {
	Name, Class string
	Spans       []spanView
}

type spanView struct {
	Left, Width float64
	Colour, Ink string
	Text, Title string
	// Place of a fault's name: inside, before, or after its span.
	Place string
}

// drawnEvents are the moments that are drawn through all charts.
var drawnEvents = []string{"Suspected", "Claimed", "Fenced", "Promoted", "FirstWrite"}

func (r Report) picture() *picture {
	m := r.Measured
	if m == nil {
		return nil
	}
	a := axis{m.From, m.To}
	p := &picture{Zero: "the first thing that was seen", Ticks: a.ticks()}
	if !r.Started.IsZero() {
		p.Zero = r.Started.Format("2006-01-02 15:04:05 UTC")
	}
	p.mark(r, a)
	p.addLanes(r, a)
	for _, c := range []*chart{
		draw(a, "Throughput", "acknowledged writes per second", m.Throughput),
		draw(a, "Not acknowledged", "writes per second, all clients", m.NotAcknowledged),
		draw(a, "Latency", "ms, writes of all clients from when they were to begin", m.Latency),
		draw(a, "Send queue", "KB", m.SendQueue),
		draw(a, "Redo queue", "KB", m.RedoQueue),
		draw(a, "Undelivered commands", "commands", m.Undelivered),
		draw(a, "Delivery latency", "s", m.DeliveryLatency),
		draw(a, "Round trip", "ms", m.RoundTrip),
		draw(a, "Probes lost", "%", m.Loss),
	} {
		if c != nil {
			p.Charts = append(p.Charts, c)
		}
	}
	return p
}

// position of a moment on the axis.
func (r Report) seconds(at time.Time) float64 {
	return at.Sub(r.Measured.zero).Seconds()
}

// mark shades the faults and draws the events.
func (p *picture) mark(r Report, a axis) {
	unit := across / 100
	for _, f := range r.Faults {
		if f.Injected == nil {
			continue
		}
		from, to := a.percent(r.seconds(f.Injected.Time)), 100.0
		if f.Removed != nil {
			to = a.percent(r.seconds(f.Removed.Time))
		}
		p.Bands = append(p.Bands, mark{X: unit * from, W: max(unit*(to-from), 2), Class: "band", Title: describe(f)})
		if f.Settled != nil && f.Settled.After(r.overAt(f)) {
			settled := a.percent(r.seconds(f.Settled.Time))
			p.Bands = append(
				p.Bands,
				mark{
					X:     unit * to,
					W:     unit * (settled - to),
					Class: "tail",
					Title: f.Name + ": until all replicas were synchronized again",
				},
			)
		}
	}
	var names []string
	for _, e := range r.Timeline {
		if !slices.Contains(drawnEvents, e.Event) {
			continue
		}
		p.Events = append(
			p.Events,
			mark{
				X:     unit * a.percent(r.seconds(e.Time.Time)),
				Title: strings.TrimSpace(e.Event + " " + r.offset(e.Time.Time) + " " + e.Message),
			},
		)
		if !slices.Contains(names, e.Event) {
			names = append(names, e.Event)
		}
	}
	p.EventNames = strings.Join(names, ", ")
}

// overAt is when a fault was taken back, or injected when there was nothing to take back.
func (r Report) overAt(f v1alpha1.FaultStatus) time.Time {
	if f.Removed != nil {
		return f.Removed.Time
	}
	return f.Injected.Time
}

func describe(f v1alpha1.FaultStatus) string {
	return fmt.Sprintf("%s: %s %s", f.Name, f.Kind, strings.Join(f.Targets, ", "))
}

// roleLooks and synchronizationLooks are the colours of states; those of a state that is not there are grey.
var (
	roleLooks = map[string][2]string{
		"PRIMARY": {"#0072b2", "#ffffff"}, "SECONDARY": {"#cfe5f3", "#1a1a1a"}, "RESOLVING": {"#f0b429", "#1a1a1a"},
	}
	synchronizationLooks = map[string][2]string{
		"SYNCHRONIZED": {
			"#009e73",
			"#ffffff",
		}, "SYNCHRONIZING": {"#f0e442", "#1a1a1a"}, "NOT SYNCHRONIZING": {"#d55e00", "#ffffff"},
	}
)

func (p *picture) addLanes(r Report, a axis) {
	p.Lanes = append(p.Lanes, r.faultLanes(a)...)
	m := r.Measured
	if len(m.Roles) > 0 {
		p.RoleNote = "Beneath each replica's role: synchronized green, synchronizing yellow, not synchronizing orange; " +
			"hatched: nobody knows."
	}
	first := " first"
	for _, roles := range m.Roles {
		p.Lanes = append(
			p.Lanes,
			lane(a, roles, roles.Name, "role"+first, func(state string) [2]string { return look(roleLooks, state) }),
		)
		first = ""
		for _, s := range m.Synchronization {
			if s.Name == roles.Name {
				p.Lanes = append(
					p.Lanes,
					lane(a, s, "", "thin", func(state string) [2]string { return look(synchronizationLooks, state) }),
				)
			}
		}
	}
	var servers []string
	first = " first"
	for _, clients := range m.Acknowledging {
		p.Lanes = append(p.Lanes, lane(a, clients, "seen at "+clients.Name, "clients"+first, func(server string) [2]string {
			if !slices.Contains(servers, server) {
				servers = append(servers, server)
			}
			return [2]string{palette[slices.Index(servers, server)%len(palette)].Colour, "#ffffff"}
		}))
		first = ""
	}
}

func look(looks map[string][2]string, state string) [2]string {
	if l, known := looks[state]; known {
		return l
	}
	return [2]string{"#bbbbbb", "#1a1a1a"}
}

// lane leaves out what was not known.
func lane(a axis, l Lane, name, class string, look func(state string) [2]string) laneView {
	v := laneView{Name: name, Class: class}
	for _, s := range l.Spans {
		if s.State == "" {
			continue
		}
		left, width := a.percent(s.From), a.percent(s.To)-a.percent(s.From)
		colours := look(s.State)
		text := s.State
		if class == "thin" || width < 4 {
			text = ""
		}
		v.Spans = append(
			v.Spans,
			spanView{
				Left:   left,
				Width:  width,
				Colour: colours[0],
				Ink:    colours[1],
				Text:   text,
				Title:  fmt.Sprintf("%s %s – %s", s.State, clock(s.From), clock(s.To)),
			},
		)
	}
	return v
}

// faultLanes puts faults beneath each other where their names would overlap.
func (r Report) faultLanes(a axis) []laneView {
	var all []laneView
	var ends []float64
	for _, f := range r.Faults {
		if f.Injected == nil {
			continue
		}
		left, right := a.percent(r.seconds(f.Injected.Time)), 100.0
		if f.Removed != nil {
			right = a.percent(r.seconds(f.Removed.Time))
		}
		// A letter takes about 0.8 % of a wide page, and up to 3 % of a phone's.
		need := 3 * float64(len(f.Name)+1)
		at := slices.IndexFunc(ends, func(end float64) bool { return end < left })
		if at < 0 {
			at = len(ends)
			ends = append(ends, 0)
			all = append(all, laneView{Class: "faults"})
		}
		span := spanView{
			Left:   left,
			Width:  right - left,
			Colour: "#d55e00",
			Ink:    "#1a1a1a",
			Title:  describe(f),
			Text:   f.Name,
			Place:  "after",
		}
		switch {
		case right-left >= need:
			span.Place = "inside"
		case left > 70:
			span.Place = "before"
		}
		ends[at] = max(right, left+need)
		all[at].Spans = append(all[at].Spans, span)
	}
	if len(all) > 0 {
		all[0].Name = "faults"
	}
	return all
}
