// SPDX-License-Identifier: Apache-2.0

// Package report makes a drill's report of the Drill object and its archive: a page that needs no network, Markdown, or
// JSON. It is a function of the two alone, so a report can be made again a year later; what the archive says is judged
// again on the way, and a page whose archive disagrees with the object's status says so.
package report

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/drill/archive"
	"geosql.dev/operator/internal/workload/history"
)

// Format of a report.
type Format string

const (
	// HTML is one page that refers to nothing outside itself.
	HTML Format = "html"
	// Markdown is the page's text and tables.
	Markdown Format = "md"
	// JSON is the Report.
	JSON Format = "json"
)

// Formats are all of them.
func Formats() []Format { return []Format{HTML, Markdown, JSON} }

// ErrNotOver says that a drill has no verdict yet, so there is nothing to report.
var ErrNotOver = errors.New("the drill has no verdict yet")

// Report is what is known of one run.
type Report struct {
	Namespace string `json:"namespace"`
	Drill     string `json:"drill"`
	RunID     string `json:"runID"`
	// Target as in kubectl: availabilitygroup/NAME and so on.
	Target   string                `json:"target"`
	Database string                `json:"database,omitempty"`
	Verdict  v1alpha1.DrillVerdict `json:"verdict"`
	Reason   string                `json:"reason,omitempty"`
	Message  string                `json:"message,omitempty"`
	// Accepted, Started (the faults' times count from it) and Completed as in the status.
	Accepted  time.Time `json:"accepted"`
	Started   time.Time `json:"started"`
	Completed time.Time `json:"completed"`

	Objectives []v1alpha1.ObjectiveResult    `json:"objectives"`
	Controls   []v1alpha1.DrillControl       `json:"controls,omitempty"`
	Counts     *v1alpha1.DrillCounts         `json:"counts,omitempty"`
	Figures    []v1alpha1.FaultClientFigures `json:"figures,omitempty"`
	// Undisturbed is what clients saw of the baseline.
	Undisturbed []v1alpha1.UndisturbedFigures `json:"undisturbed,omitempty"`
	Arrivals    []v1alpha1.DrillArrival       `json:"arrivals,omitempty"`
	Faults      []v1alpha1.FaultStatus        `json:"faults,omitempty"`
	Timeline    []v1alpha1.DrillEvent         `json:"timeline,omitempty"`
	Versions    []v1alpha1.DrillVersion       `json:"versions,omitempty"`
	Archive     *v1alpha1.DrillArchive        `json:"archive,omitempty"`
	// Recheck is what the archive says when it is judged again; nil without an archive.
	Recheck *Recheck `json:"recheck,omitempty"`
	// Interactions and Stages of the workload, from the archive.
	Interactions []Interaction `json:"interactions,omitempty"`
	Stages       []Stage       `json:"stages,omitempty"`
	// Measured over time, from the archive; nil without one.
	Measured *Measured `json:"measured,omitempty"`

	archive *archive.Archive
}

// Recheck compares the archive's verdict with the status.
type Recheck struct {
	// Result of the histories alone; objectives such as the RTO are not in it.
	Result  history.Result `json:"result"`
	Reasons []string       `json:"reasons,omitempty"`
	Counts  history.Counts `json:"counts"`
	// Served is what counted as being served again, and Loops what operations of each client waited for: open, closed, or
	// nothing where its histories do not tell.
	Served history.Served          `json:"served,omitzero"`
	Loops  map[string]history.Loop `json:"loops,omitempty"`
	Terms  []Term                  `json:"terms,omitempty"`
	// Registers says whether their history is linearizable.
	Registers history.Registers `json:"registers"`
	// Order says whether transactions on lists were atomic, and had an order.
	Order history.Order `json:"order"`
	// Differences between the status and the archive: any means that one of them was changed, or judged wrongly.
	Differences []string `json:"differences,omitempty"`
}

// Term is one server's time as the one that acknowledged.
type Term struct {
	Term         int64     `json:"term"`
	Server       string    `json:"server"`
	First        time.Time `json:"first"`
	Last         time.Time `json:"last"`
	Acknowledged int       `json:"acknowledged"`
}

// Render makes a drill's report. The archive may be nil: then the report says that there is none and shows what the
// status has. It returns ErrNotOver, wrapped, while there is no verdict.
func Render(d *v1alpha1.Drill, a *archive.Archive, format Format) ([]byte, error) {
	r, err := Build(d, a)
	if err != nil {
		return nil, err
	}
	switch format {
	case HTML:
		return r.html()
	case Markdown:
		return r.markdown(), nil
	case JSON:
		data, err := json.MarshalIndent(r, "", "  ")
		if err != nil {
			return nil, fmt.Errorf("encode the report of drill %s: %w", d.Name, err)
		}
		return append(data, '\n'), nil
	}
	return nil, fmt.Errorf("format %q is not known: html, md and json are", format)
}

// Build gathers the report, as Render does.
func Build(d *v1alpha1.Drill, a *archive.Archive) (Report, error) {
	if d.Status.Verdict == "" {
		return Report{}, fmt.Errorf(
			"report drill %s/%s: it is %s: %w",
			d.Namespace,
			d.Name,
			cmp.Or(string(d.Status.Phase), "not begun"),
			ErrNotOver,
		)
	}
	s := d.Status
	r := Report{
		Namespace: d.Namespace, Drill: d.Name, RunID: s.RunID, Target: target(d), Database: s.Database,
		Verdict: s.Verdict, Reason: s.Reason, Message: s.Message,
		Objectives: s.Objectives, Controls: s.Controls, Counts: s.Counts, Figures: s.Figures, Arrivals: s.Arrivals,
		Undisturbed: s.Undisturbed, Faults: s.Faults, Versions: s.Versions, Archive: s.Archive,
	}
	r.Timeline = slices.SortedStableFunc(
		slices.Values(s.Timeline),
		func(x, y v1alpha1.DrillEvent) int { return x.Time.Compare(y.Time.Time) },
	)
	if s.Accepted != nil {
		r.Accepted = s.Accepted.UTC()
	}
	if s.Started != nil {
		r.Started = s.Started.UTC()
	}
	if s.Completed != nil {
		r.Completed = s.Completed.UTC()
	}
	if a == nil {
		return r, nil
	}
	if a.Run.Namespace != d.Namespace || a.Run.Drill != d.Name || a.Run.ID != s.RunID {
		return Report{}, fmt.Errorf(
			"report drill %s/%s, run %q: the archive is of %s: %w",
			d.Namespace,
			d.Name,
			s.RunID,
			a.Run,
			archive.ErrForeign,
		)
	}
	e, err := a.Evidence()
	if err != nil {
		return Report{}, err
	}
	r.archive = a
	r.Recheck = recheck(s, history.Check(e))
	r.Measured = measure(r, e.Runs, a.Samples)
	r.Interactions, r.Stages = interactions(e.Runs), r.Measured.stages(d.Spec.Workload.Stages, e.Runs)
	return r, r.Measured.addArrivals(a)
}

func target(d *v1alpha1.Drill) string {
	switch t := d.Spec.Target; {
	case t.AvailabilityGroup != "":
		return "availabilitygroup/" + string(t.AvailabilityGroup)
	case t.Subscription != "":
		return "subscription/" + string(t.Subscription)
	default:
		return "topology/" + string(t.Topology)
	}
}

// recheck compares what the histories say with what the status says.
func recheck(s v1alpha1.DrillStatus, v history.Verdict) *Recheck {
	r := &Recheck{Result: v.Result, Reasons: v.Reasons, Counts: v.Counts, Registers: v.Registers, Order: v.Order,
		Served: v.Served, Loops: v.Loops}
	for _, t := range v.Terms {
		r.Terms = append(
			r.Terms,
			Term{Term: t.Term, Server: t.Server, First: t.First.Time(), Last: t.Last.Time(), Acknowledged: t.Acknowledged},
		)
	}
	differ := func(what string, status int64, kept int) {
		if status != int64(kept) {
			r.Differences = append(r.Differences, fmt.Sprintf("%s: %d in the status, %d in the archive", what, status, kept))
		}
	}
	if c := s.Counts; c != nil {
		differ("attempted", c.Attempted, v.Counts.Attempted)
		differ("acknowledged", c.Acknowledged, v.Counts.Acknowledged)
		differ("failed", c.Failed, v.Counts.Failed)
		differ("unknown", c.Unknown, v.Counts.Unknown)
		differ("lost", c.Lost, v.Counts.Lost)
		differ("duplicated", c.Duplicated, v.Counts.Duplicated)
		differ("phantom", c.Phantom, v.Counts.Phantom)
		differ("diverging", c.Diverging, v.Counts.Diverging)
		differ("altered", c.Altered, v.Contents.Corrupted.Count+v.Contents.Altered.Count)
		differ("torn", c.Torn, v.Contents.Torn.Count)
	}
	// Inconclusive is no contradiction: clocks of several machines cannot order reads and writes, and the other objectives
	// stand without that.
	if s.Verdict == v1alpha1.VerdictPassed && v.Result == history.Failed {
		r.Differences = append(
			r.Differences,
			fmt.Sprintf("verdict: Passed in the status, and the histories alone are %s", v.Result),
		)
	}
	return r
}
