// SPDX-License-Identifier: Apache-2.0

// Package verdict judges what was measured of a Drill by its objectives.
package verdict

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/drill"
	"geosql.dev/operator/internal/drill/fault"
	"geosql.dev/operator/internal/reconcile/conditions"
	"geosql.dev/operator/internal/workload/history"
)

const (
	defaultAcknowledged = 100
	// sampleGap is how long a queue may not have been known before a ceiling of it cannot be said to have been kept.
	sampleGap = 15 * time.Second
)

// Queue is the greatest queue that was seen.
type Queue struct {
	KB     int64
	Server string
	At     time.Time
}

// Measured is all that a verdict is made of.
type Measured struct {
	// History is what the clients' histories say.
	History history.Verdict
	// Faults as they were done.
	Faults []v1alpha1.FaultStatus
	// Missing are clients whose history was lost, and Unread replicas that should have been read and were not.
	Missing, Unread []string
	// Unstopped are clients that may have gone on after their history was fetched.
	Unstopped []string
	// Read are the replicas whose rows were compared.
	Read []string
	// Send and Redo are the greatest queues, nil when none was seen; SendGap and RedoGap are the longest times in which
	// nobody knew one of them.
	Send, Redo       *Queue
	SendGap, RedoGap time.Duration
	// Waited is how long after the end of the last fault it was looked whether the replicas had caught up; 0 when all had.
	Waited time.Duration
	// Aborted is why the drill was ended early; empty when it was not.
	Aborted string
	// NotRecovered says what was not well when the time for the recovery was over; empty when all was.
	NotRecovered string
	// NoGroup says that the target has no replicas whose redo could be looked at.
	NoGroup bool
	// Places are where rows had to arrive.
	Places []Place
	// Controls are errors that were planted in copies of this; none where it was not tried.
	Controls []v1alpha1.DrillControl
}

// Judgement is the verdict with its reasons.
type Judgement struct {
	Verdict    v1alpha1.DrillVerdict
	Reason     string
	Message    string
	Objectives []v1alpha1.ObjectiveResult
	// Witnessed is what clients say of each fault that was to move service.
	Witnessed map[string]Witness
}

// Judge compares what was measured with the objectives; group's count where the drill has none. What cannot be told is
// Inconclusive, never a pass.
func Judge(s v1alpha1.DrillSpec, group *v1alpha1.Objectives, m Measured) Judgement {
	o := s.Objectives
	if group != nil && (len(s.Faults) > 0 || len(m.Faults) > 0) {
		o.RPO, o.RTO, o.RedoCatchUp = first(o.RPO, group.RPO), first(o.RTO, group.RTO),
			first(o.RedoCatchUp, group.RedoCatchUp)
	}
	var witnessed map[string]Witness
	m.Faults, witnessed = m.witnessed(s)
	j := Judgement{Witnessed: witnessed}
	j.Objectives = []v1alpha1.ObjectiveResult{evidence(o, m), effects(s, m), consistency(m), lostRows(o, m)}
	add := func(set bool, judge func() v1alpha1.ObjectiveResult) {
		if set {
			j.Objectives = append(j.Objectives, judge())
		}
	}
	add(o.RPO != nil, func() v1alpha1.ObjectiveResult { return rpo(o.RPO.Duration, m) })
	add(o.RTO != nil, func() v1alpha1.ObjectiveResult { return rto(o.RTO.Duration, m) })
	add(o.RedoCatchUp != nil, func() v1alpha1.ObjectiveResult { return catchUp(o.RedoCatchUp.Duration, m) })
	add(
		o.SendQueueKB != nil,
		func() v1alpha1.ObjectiveResult { return ceiling("sendQueueKB", *o.SendQueueKB, m.Send, m.SendGap) },
	)
	add(
		o.RedoQueueKB != nil,
		func() v1alpha1.ObjectiveResult { return ceiling("redoQueueKB", *o.RedoQueueKB, m.Redo, m.RedoGap) },
	)
	add(o.ErrorPercent != nil, func() v1alpha1.ObjectiveResult { return errorRate(*o.ErrorPercent, m) })
	add(
		o.ArrivalP50 != nil,
		func() v1alpha1.ObjectiveResult { return arrivals("arrivalP50", 0.50, o.ArrivalP50.Duration, m.Places) },
	)
	add(
		o.ArrivalP99 != nil,
		func() v1alpha1.ObjectiveResult { return arrivals("arrivalP99", 0.99, o.ArrivalP99.Duration, m.Places) },
	)
	add(
		slices.ContainsFunc(m.Places, Place.Followed),
		func() v1alpha1.ObjectiveResult { return delivery(m.Places, m.unknown()) },
	)
	add(m.History.Order.Used(), func() v1alpha1.ObjectiveResult { return order(m) })
	add(len(m.Controls) > 0, func() v1alpha1.ObjectiveResult { return controls(m.Controls) })
	j.sumUp()
	return j
}

func first(a, b *metav1.Duration) *metav1.Duration {
	if a != nil {
		return a
	}
	return b
}

func (j *Judgement) sumUp() {
	var failed, open []string
	for _, o := range j.Objectives {
		text := o.Name
		if o.Measured != "" {
			text += " " + o.Measured + " (goal " + o.Goal + ")"
		}
		if o.Evidence != "" && (o.Measured == "" || o.Verdict == v1alpha1.VerdictInconclusive) {
			text += ": " + o.Evidence
		}
		switch o.Verdict {
		case v1alpha1.VerdictFailed:
			failed = append(failed, text)
		case v1alpha1.VerdictInconclusive:
			open = append(open, text)
		}
	}
	switch {
	case len(failed) > 0:
		j.Verdict, j.Reason, j.Message = v1alpha1.VerdictFailed, v1alpha1.ReasonObjectivesMissed, "missed: "+strings.Join(
			failed,
			"; ",
		)
	case len(open) > 0:
		j.Verdict, j.Reason, j.Message = v1alpha1.VerdictInconclusive, v1alpha1.ReasonEvidenceMissing,
			"cannot be told: "+strings.Join(
				open,
				"; ",
			)
	default:
		j.Verdict, j.Reason, j.Message = v1alpha1.VerdictPassed, v1alpha1.ReasonObjectivesMet, fmt.Sprintf(
			"all %d objectives were met",
			len(j.Objectives),
		)
	}
}

func result(name, goal string) v1alpha1.ObjectiveResult {
	return v1alpha1.ObjectiveResult{Name: name, Goal: goal, Verdict: v1alpha1.VerdictPassed}
}

func held(is bool) v1alpha1.DrillVerdict {
	if is {
		return v1alpha1.VerdictPassed
	}
	return v1alpha1.VerdictFailed
}

// evidence asks whether there is enough to say anything at all.
func evidence(o v1alpha1.DrillObjectives, m Measured) v1alpha1.ObjectiveResult {
	least := int64(defaultAcknowledged)
	if o.AcknowledgedAtLeast != nil {
		least = *o.AcknowledgedAtLeast
	}
	r := result("evidence", fmt.Sprintf("at least %d acknowledged rows, every history, every readable replica", least))
	var lacks []string
	lack := func(is bool, format string, args ...any) {
		if is {
			lacks = append(lacks, fmt.Sprintf(format, args...))
		}
	}
	r.Measured = fmt.Sprintf("%d acknowledged rows, %d replicas read", m.History.Counts.Acknowledged, len(m.Read))
	lack(m.Aborted != "", "the drill was ended early: %s", m.Aborted)
	lack(
		m.NotRecovered != "",
		"the target had not recovered %s after the last fault: %s",
		m.Waited.Round(time.Second),
		m.NotRecovered,
	)
	lack(
		int64(m.History.Counts.Acknowledged) < least,
		"%d rows were acknowledged, at least %d are needed",
		m.History.Counts.Acknowledged,
		least,
	)
	lack(len(m.Missing) > 0, "the histories of %s are lost", strings.Join(m.Missing, ", "))
	lack(len(m.Unstopped) > 0, "the clients of %s were not seen to stop: what they did last may not be in their histories",
		strings.Join(m.Unstopped, ", "))
	lack(len(m.Read) == 0, "no replica was read")
	lack(len(m.Unread) > 0, "%s did not answer when its rows were to be read", strings.Join(m.Unread, ", "))
	lack(
		m.History.Counts.Unrecorded > 0,
		"%d rows come after the end of a history that broke off",
		m.History.Counts.Unrecorded,
	)
	r.Evidence = clip("rows of " + strings.Join(m.Read, ", ") + m.strayed())
	if len(lacks) > 0 {
		r.Verdict, r.Evidence, r.Measured = v1alpha1.VerdictInconclusive, clip(strings.Join(lacks, "; ")+m.strayed()), ""
	}
	return r
}

// strayed tells of clocks that drifted or were set during the run: what rests on them has that in its bound.
func (m Measured) strayed() string {
	text := ""
	for _, c := range m.History.Clocks {
		if one := c.String(); one != "" {
			text += "; " + one
		}
	}
	return text
}

// effects asks whether every fault was seen to have taken effect, and to be over.
func effects(s v1alpha1.DrillSpec, m Measured) v1alpha1.ObjectiveResult {
	r := result("effect", "every fault takes effect and is taken back")
	var lacks []string
	seen, least := 0, 1.0
	for _, f := range m.Faults {
		short := ""
		for _, o := range drill.Expand(s.Faults) {
			if o.Name != f.Name {
				continue
			}
			short = fault.TooShort(f, o)
			if seen, asked := fault.InForce(f, o); asked && float64(seen)/float64(o.Lasts()) < least {
				least = float64(seen) / float64(o.Lasts())
				r.Evidence = fmt.Sprintf("%s was seen to be in force for %s of %s, the others for a greater part of their time",
					f.Name, seen.Round(time.Second), o.Lasts())
			}
		}
		switch {
		case f.State == v1alpha1.FaultSkipped:
			lacks = append(lacks, fmt.Sprintf("%s was not done: %s", f.Name, f.Message))
		case f.Effect == nil || f.Effect.Status != metav1.ConditionTrue:
			text := "nobody could look"
			if f.Effect != nil && f.Effect.Seen != "" {
				text = f.Effect.Seen
			}
			lacks = append(lacks, fmt.Sprintf("%s was not seen to take effect: %s", f.Name, text))
		case short != "":
			lacks = append(lacks, fmt.Sprintf("%s was seen to take effect, and %s", f.Name, short))
		case f.State != v1alpha1.FaultRemoved:
			lacks = append(lacks, fmt.Sprintf("%s was not seen to be over", f.Name))
		case fault.StillThere(f) != "":
			lacks = append(lacks, fmt.Sprintf("%s was not seen to be over: %s", f.Name, fault.StillThere(f)))
		default:
			seen++
		}
	}
	r.Measured = fmt.Sprintf("%d of %d", seen, len(m.Faults))
	if len(lacks) > 0 {
		r.Verdict, r.Evidence = v1alpha1.VerdictInconclusive, clip(strings.Join(lacks, "; "))
	}
	return r
}

// clip keeps evidence within what a status takes.
func clip(s string) string { return conditions.Shorten(s, 2048) }

// consistency asks for what must never be seen, whatever the objectives.
func consistency(m Measured) v1alpha1.ObjectiveResult {
	c, h := m.History.Counts, m.History
	copies := "equal copies"
	if len(m.Read) < 2 {
		copies = "whole transactions in the one copy"
	}
	r := result("consistency", "no row twice, none that nobody wrote, "+copies+", one server at a time")
	var wrong []string
	fault := func(is bool, format string, args ...any) {
		if is {
			wrong = append(wrong, fmt.Sprintf(format, args...))
		}
	}
	fault(c.FailedPresent > 0, "%d rows are there although their clients were told that they failed", c.FailedPresent)
	fault(c.Duplicated > 0, "%d rows are there more than once", c.Duplicated)
	// What clients did whose history is lost looks like phantoms, and like registers that changed by themselves.
	unknown := m.unknown()
	whole := len(unknown) == 0
	fault(whole && c.Phantom > 0, "%d rows are there that nobody wrote", c.Phantom)
	diverging := c.Diverging
	if !whole {
		diverging -= c.DivergingUnrecorded // their clients may have written on while one replica was read after the other
	}
	fault(diverging > 0, "%d rows are in some replicas and not in others", diverging)
	fault(whole && h.Registers.Result == history.Failed, "registers are not linearizable: %s", h.Registers.Reason)
	for _, o := range h.Overlaps {
		fault(true, "%s", o.Message)
	}
	text := h.Contents.Wrong()
	if !whole {
		text = h.Contents.Corruption()
	}
	fault(text != "", "%s", text)
	r.Evidence = fmt.Sprintf(
		"%d rows, %d terms, %d operations on registers",
		c.Attempted,
		len(h.Terms),
		h.Registers.Operations,
	)
	if len(wrong) > 0 {
		r.Verdict, r.Evidence = v1alpha1.VerdictFailed, clip(strings.Join(wrong, "; "))
		return r
	}
	switch {
	case len(m.Read) == 0:
		r.Verdict, r.Evidence = v1alpha1.VerdictInconclusive, "no replica was read"
		return r
	case !whole:
		r.Verdict, r.Evidence = v1alpha1.VerdictInconclusive, fmt.Sprintf(
			"without all of the histories of %s nobody can say who wrote what is there", strings.Join(unknown, ", "))
		return r
	}
	r.Evidence += m.readOf()
	if h.Registers.Reason != "" {
		r.Evidence += "; registers: " + h.Registers.Reason
	}
	if len(h.Untold) > 0 {
		r.Evidence = clip(r.Evidence + "; " + strings.Join(h.Untold, "; "))
	}
	if h.Registers.Result == history.Inconclusive && h.Registers.Operations > 0 || len(h.Untold) > 0 {
		r.Verdict = v1alpha1.VerdictInconclusive
	}
	return r
}

// unknown are clients of which nobody knows all that they wrote, nor that they have ended.
func (m Measured) unknown() []string { return slices.Concat(m.Missing, m.Unstopped) }

// readOf says what was read to compare; one copy alone is equal to none.
func (m Measured) readOf() string {
	switch c := m.History.Contents; {
	case len(m.Read) == 1 && c.Copies < 2:
		return "; one copy alone was read, " + m.Read[0] + ": nothing is said of others"
	case c.Copies > 1:
		return fmt.Sprintf("; every row that clients wrote was read and compared at %d copies", c.Copies)
	}
	return ""
}

// nothingAtRisk names a fault while which nobody was acknowledged anything: that no row was lost proves nothing then.
func (m Measured) nothingAtRisk() string {
	for _, f := range m.History.Faults {
		if f.Acknowledged == 0 {
			return fmt.Sprintf("no row was acknowledged while fault %s on %s lasted, so that none was at risk", f.Name, f.Target)
		}
	}
	return ""
}

func lostRows(o v1alpha1.DrillObjectives, m Measured) v1alpha1.ObjectiveResult {
	goal := int64(0)
	if o.LostRows != nil {
		goal = *o.LostRows
	}
	r := result("lostRows", fmt.Sprintf("at most %d", goal))
	if len(m.Read) == 0 {
		r.Verdict, r.Evidence = v1alpha1.VerdictInconclusive, "no replica was read"
		return r
	}
	lost := m.History.Counts.Lost
	r.Verdict, r.Measured = held(int64(lost) <= goal),
		fmt.Sprintf("%d of %d acknowledged", lost, m.History.Counts.Acknowledged)
	r.Evidence = "rows of " + strings.Join(m.Read, ", ")
	if len(m.Read) == 1 {
		r.Evidence += " alone"
	}
	for _, id := range m.History.Examples["lost"] {
		r.Evidence += fmt.Sprintf("; run %d operation %d is missing", id.Run, id.Number)
	}
	if name := m.nothingAtRisk(); name != "" && r.Verdict == v1alpha1.VerdictPassed {
		r.Verdict, r.Evidence = v1alpha1.VerdictInconclusive, name
	}
	return r
}

func ceiling(name string, goal int64, q *Queue, gap time.Duration) v1alpha1.ObjectiveResult {
	r := result(name, fmt.Sprintf("at most %d KB", goal))
	if q != nil {
		r.Measured, r.Evidence = fmt.Sprintf("%d KB", q.KB),
			fmt.Sprintf("%s at %s", q.Server, q.At.UTC().Format(time.RFC3339))
	}
	switch {
	case q != nil && q.KB > goal:
		r.Verdict = v1alpha1.VerdictFailed
	case q == nil:
		r.Verdict, r.Evidence = v1alpha1.VerdictInconclusive, "no queue was seen"
	case gap > sampleGap:
		r.Verdict, r.Evidence = v1alpha1.VerdictInconclusive,
			fmt.Sprintf("nobody could tell how long it was for %s", gap.Round(time.Second))
	}
	return r
}

func errorRate(goal int32, m Measured) v1alpha1.ObjectiveResult {
	c := m.History.Operations
	r := result("errorPercent", fmt.Sprintf("at most %d %%", goal))
	if c.Attempted == 0 {
		r.Verdict, r.Evidence = v1alpha1.VerdictInconclusive, "nothing was attempted"
		return r
	}
	bad := c.Failed + c.Unknown
	r.Verdict = held(100*bad <= int(goal)*c.Attempted)
	r.Measured = fmt.Sprintf("%.2f %%", 100*float64(bad)/float64(c.Attempted))
	r.Evidence = fmt.Sprintf("%d failed and %d unknown of %d", c.Failed, c.Unknown, c.Attempted)
	if c.CutOff > 0 {
		r.Evidence += fmt.Sprintf("; %d of clients that a fault cut off are left out", c.CutOff)
	}
	return r
}
