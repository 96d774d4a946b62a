// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
)

// table is one of a report's tables, whatever it is written in.
type table struct {
	Title, Note string
	Head        []string
	Rows        []row
	// Class is narrow for a table that fits a phone as it is.
	Class string
}

// long is from how many letters on a cell has a line of its own on a phone.
const long = 30

// Long says that a cell needs room.
func (r row) Long(i int) bool { return utf8.RuneCountInString(r.Cells[i]) > long }

// row of a table, with a class for what it says: passed, failed or inconclusive.
type row struct {
	Class string
	Cells []string
}

func (t *table) add(class string, cells ...string) { t.Rows = append(t.Rows, row{class, cells}) }

func class(v v1alpha1.DrillVerdict) string { return strings.ToLower(string(v)) }

// objectives decide on the verdict, so they come first.
func (r Report) objectives() table {
	t := table{Title: "Objectives", Head: []string{"Objective", "Verdict", "Goal", "Measured", "Evidence"}}
	for _, o := range r.Objectives {
		t.add(class(o.Verdict), o.Name, string(o.Verdict), o.Goal, o.Measured+bound(o.Bound), o.Evidence)
	}
	return t
}

// tables are all but the objectives.
func (r Report) tables() []table {
	return []table{
		r.faultTable(),
		r.effectTable(),
		r.figureTable(),
		r.countTable(),
		r.orderTable(),
		r.controlTable(),
		r.arrivalTable(),
		r.interactionTable(),
		r.stageTable(),
		r.timelineTable(),
		r.probeTable(),
		r.termTable(),
		r.versionTable(),
	}
}

func (r Report) faultTable() table {
	t := table{
		Title: "Faults",
		Note:  "Times count from the end of the baseline; in brackets, the looks between which a moment lies.",
		Head:  []string{"Fault", "Kind", "Struck", "Injected", "Removed", "All synchronized", "Remarks"},
	}
	for _, f := range r.Faults {
		remarks, tone := f.Message, ""
		if f.Injected == nil {
			remarks, tone = strings.TrimSpace("never injected ("+string(f.State)+") "+f.Message), "inconclusive"
		}
		b := f.Bounds
		if b == nil {
			b = &v1alpha1.FaultBounds{}
		}
		t.add(
			tone,
			f.Name,
			string(f.Kind),
			strings.Join(f.Targets, ", "),
			r.within(f.Injected, nil, b.BegunBy),
			r.within(f.Removed, b.StillThere, b.GoneBy),
			r.within(f.Settled, b.Behind, nil),
			remarks,
		)
	}
	return t
}

func (r Report) effectTable() table {
	t := table{
		Title: "Effects of the faults",
		Note:  "That a fault took effect is measured, not assumed.",
		Head:  []string{"Fault", "Effect", "Asked", "Seen", "The operator says"},
	}
	for _, f := range r.Faults {
		if f.Effect == nil {
			if f.Injected != nil {
				t.add("inconclusive", f.Name, "not looked for", "", "", "")
			}
			continue
		}
		effect, tone := "unknown", "inconclusive"
		switch f.Effect.Status {
		case metav1.ConditionTrue:
			effect, tone = "there", "passed"
		case metav1.ConditionFalse:
			effect, tone = "not there", "failed"
		}
		t.add(tone, f.Name, effect, f.Effect.Asked, f.Effect.Seen, f.Effect.Operator)
	}
	return t
}

// probeTable has a line for each fault and way that was probed.
func (r Report) probeTable() table {
	t := table{
		Title: "Probes",
		Note:  "Connections between the servers' pods, by the names that the engines use: median, slowest, failures.",
		Head:  []string{"Fault", "From", "To", "Before", "During", "After"},
	}
	for _, f := range r.Faults {
		if f.Effect == nil {
			continue
		}
		type way struct{ from, to string }
		var ways []way
		figures := map[way][3]string{}
		for i, list := range [][]v1alpha1.ProbeFigures{f.Effect.Before, f.Effect.During, f.Effect.After} {
			for _, p := range list {
				w := way{p.From, p.To}
				cells, known := figures[w]
				if !known {
					ways = append(ways, w)
				}
				cells[i] = probe(p)
				figures[w] = cells
			}
		}
		for _, w := range ways {
			t.add("", f.Name, w.from, w.to, figures[w][0], figures[w][1], figures[w][2])
		}
	}
	return t
}

func probe(p v1alpha1.ProbeFigures) string {
	text := fmt.Sprintf("%d of %d failed", p.Failures, p.Attempts)
	if p.Failures == 0 {
		text = "none failed"
	}
	if p.Slowest != nil {
		text = "slowest " + precise(p.Slowest.Duration) + ", " + text
	}
	if p.Connect != nil {
		text = precise(p.Connect.Duration) + ", " + text
	}
	return text
}

// precise writes short times to the hundredth of a millisecond, long ones to the millisecond.
func precise(d time.Duration) string {
	if d < 10*time.Millisecond {
		return d.Round(10 * time.Microsecond).String()
	}
	return d.Round(time.Millisecond).String()
}

// position of a moment on the report's axis, to the millisecond.
func (r Report) position(at *metav1.MicroTime) string {
	if at == nil || at.IsZero() {
		return ""
	}
	return r.offset(at.Time)
}

func (r Report) offset(at time.Time) string {
	if r.Started.IsZero() {
		return at.UTC().Format("15:04:05.000")
	}
	s := at.Sub(r.Started).Seconds()
	return fmt.Sprintf("%+.3f s", s)
}

func (r Report) figureTable() table {
	t := table{
		Title: "What clients saw of each fault",
		Note: "Without service is the longest time of a user around the fault from an acknowledgement to the next one" +
			r.heldFor() + ", without what faults cut off; usually is the median between two before it, beneath which that " +
			"time means nothing." + r.unscheduled() + " What clients saw of the baseline, in which nothing was done, " +
			"stands first: the longest time of a user between two acknowledgements, whether or not service held.",
		Head: []string{"Fault", "Clients at", "Without service", "First acknowledged", "Usually", "Slowest acknowledged",
			"Judged"},
	}
	for _, u := range r.Undisturbed {
		t.add("", "none", u.Client, longest(u.Longest, u.Bound), "", "", duration(u.Stall),
			"no: "+cmp.Or(u.Message, "the baseline"))
	}
	for _, f := range r.Figures {
		judged := "yes"
		if f.Isolated {
			judged = "but for the time in which the fault cut these clients off"
		}
		t.add("", f.Fault, f.Client, longest(f.RTO, f.Bound), first(f), duration(f.Usual), duration(f.Stall), judged)
	}
	return t
}

// first is how long it was to the first acknowledgement; empty where that is what counts.
func first(f v1alpha1.FaultClientFigures) string {
	if f.FirstServed == nil {
		return ""
	}
	return longest(f.FirstServed, f.FirstBound)
}

// longest is a time without service with what it may have been less.
func longest(d, bound *metav1.Duration) string {
	switch {
	case d == nil:
		return "not measured"
	case bound != nil && bound.Duration > 0:
		return duration(d) + " (up to " + precise(bound.Duration) + " less)"
	}
	return duration(d)
}

func duration(d *metav1.Duration) string {
	if d == nil {
		return ""
	}
	return d.Round(time.Millisecond).String()
}

// bound is by how much a figure may be wrong, behind it; empty where it is exact.
func bound(d *metav1.Duration) string {
	if d == nil || d.Duration == 0 {
		return ""
	}
	return " ± " + precise(d.Duration)
}

// within is a moment with the looks between which it lies; empty when it has not come.
func (r Report) within(at, earliest, latest *metav1.MicroTime) string {
	text := r.position(at)
	if text == "" || earliest == nil && latest == nil {
		return text
	}
	if earliest == nil {
		earliest = at
	}
	if latest == nil {
		latest = at
	}
	if from, until := r.position(earliest), r.position(latest); from != until {
		text += " (" + from + " to " + until + ")"
	}
	return text
}

func (r Report) countTable() table {
	t := table{Title: "Rows", Class: "narrow", Head: []string{"Rows", "Number", "Meaning"}}
	c := r.Counts
	if c == nil {
		return t
	}
	for _, line := range []struct {
		name    string
		number  int64
		bad     bool
		meaning string
	}{
		{"attempted", c.Attempted, false, "sent by clients"},
		{"acknowledged", c.Acknowledged, false, "confirmed to their client"},
		{"failed", c.Failed, false, "refused: they must not be there"},
		{"unknown", c.Unknown, false,
			fmt.Sprintf("sent and never answered: neither lost nor acknowledged; %d of them are there", c.UnknownPresent)},
		{"lost", c.Lost, c.Lost > 0, "acknowledged and missing from a replica"},
		{"failed and there", c.FailedPresent, c.FailedPresent > 0, "refused and there nevertheless"},
		{"duplicated", c.Duplicated, c.Duplicated > 0, "there more than once"},
		{"phantom", c.Phantom, c.Phantom > 0, "there, and nobody wrote them"},
		{"diverging", c.Diverging, c.Diverging > 0, "in some replicas and not in others"},
		{"altered", c.Altered, c.Altered > 0, "not what was written, or differ between copies: must be none"},
		{"torn", c.Torn, c.Torn > 0, "transactions that are there in part: must be none"},
	} {
		tone := ""
		if line.bad {
			tone = "failed"
		}
		t.add(tone, line.name, fmt.Sprint(line.number), line.meaning)
	}
	return t
}

func (r Report) timelineTable() table {
	t := table{
		Title: "Timeline",
		Class: "narrow timeline",
		Head:  []string{"Time", "Clock (UTC)", "Event", "Fault", "What happened"},
	}
	for _, e := range r.Timeline {
		t.add("", r.offset(e.Time.Time), e.Time.UTC().Format("15:04:05.000"), e.Event, e.Fault, e.Message)
	}
	return t
}

func (r Report) termTable() table {
	t := table{
		Title: "Terms",
		Note: "Which server acknowledged in which term of the group, from the clients' histories. Two at a time would be " +
			"two primaries.",
		Head: []string{"Term", "Server", "First acknowledgement", "Last", "Acknowledged"},
	}
	if r.Recheck == nil {
		return t
	}
	for _, e := range r.Recheck.Terms {
		t.add("", fmt.Sprint(e.Term), e.Server, r.offset(e.First), r.offset(e.Last), fmt.Sprint(e.Acknowledged))
	}
	return t
}

func (r Report) versionTable() table {
	t := table{Title: "What ran", Head: []string{"Component", "Site", "Version", "Image", "Digest"}}
	for _, v := range r.Versions {
		t.add("", v.Component, v.Site, v.Version, v.Image, v.Digest)
	}
	return t
}

// subtitle says what was drilled, and when.
func (r Report) subtitle() string {
	text := fmt.Sprintf("%s in namespace %s, run %s", r.Target, r.Namespace, r.RunID)
	if r.Database != "" {
		text += ", database " + r.Database
	}
	if !r.Accepted.IsZero() {
		text += ", begun " + r.Accepted.Format("2006-01-02 15:04:05 UTC")
		if !r.Completed.IsZero() {
			text += fmt.Sprintf(", took %s", r.Completed.Sub(r.Accepted).Round(time.Second))
		}
	}
	return text
}

// lead is the reason and the message in one sentence or two.
func (r Report) lead() string {
	switch {
	case r.Reason == "":
		return r.Message
	case r.Message == "":
		return r.Reason
	}
	return r.Reason + ": " + r.Message
}

// warnings are what nobody may overlook.
func (r Report) warnings() []string {
	var all []string
	if r.Recheck == nil {
		all = append(
			all,
			"The histories of this run were not at hand: what follows is what the Drill's status says, and nothing of it "+
				"could be checked again.",
		)
	} else if len(r.Recheck.Differences) > 0 {
		all = append(all,
			"The archive does not say what the status says. One of them was changed, or the verdict was wrong. "+strings.Join(
				r.Recheck.Differences, "; ")+".")
	}
	for _, v := range r.Versions {
		if strings.Contains(v.Version, "not Microsoft SQL Server") {
			return append(
				all,
				"The servers of this run were stand-ins: its figures describe the network, the protocol and the operator, never "+
					"SQL Server's speed.",
			)
		}
	}
	return all
}

// evidence says what the verdict rests on.
func (r Report) evidence() []string {
	var all []string
	if c := r.Recheck; c != nil {
		text := fmt.Sprintf("The clients' histories were judged again for this report: %s", c.Result)
		if len(c.Reasons) > 0 {
			text += " (" + strings.Join(c.Reasons, "; ") + ")"
		}
		text += fmt.Sprintf(
			". %d rows attempted, %d acknowledged, %d lost; registers %s over %d operations.",
			c.Counts.Attempted,
			c.Counts.Acknowledged,
			c.Counts.Lost,
			c.Registers.Result,
			c.Registers.Operations,
		)
		if len(c.Differences) == 0 && r.Counts != nil {
			text += " The Drill's status says the same."
		}
		all = append(all, text)
	}
	if a := r.Archive; a != nil {
		all = append(
			all,
			fmt.Sprintf(
				"Archive: ConfigMap %s and %d more in namespace %s, %d bytes, SHA-256 %s.",
				a.Name,
				a.Chunks,
				r.Namespace,
				a.Bytes,
				a.SHA256,
			),
		)
	}
	return all
}
