// SPDX-License-Identifier: Apache-2.0

// Package control shows that a drill's checker sees what it is there to see. It plants errors in copies of the run's
// own evidence and judges each copy by the code that gives the verdict. A run whose evidence has nothing to plant an
// error in says so: that one was not shown.
package control

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/drill/verdict"
	"geosql.dev/operator/internal/reconcile/conditions"
	"geosql.dev/operator/internal/workload/history"
	"geosql.dev/operator/internal/workload/history/listappend"
)

// Run is what is judged: the drill with its group's objectives, and what was measured of it. Measured.History is what
// Evidence says.
type Run struct {
	Spec     v1alpha1.DrillSpec
	Group    *v1alpha1.Objectives
	Evidence history.Evidence
	Measured verdict.Measured
}

// judged is a run with its judgement.
type judged struct {
	Run
	verdict.Judgement
}

func (r Run) judge() judged { return judged{r, verdict.Judge(r.Spec, r.Group, r.Measured)} }

// check judges the histories of a copy anew.
func (r Run) check() Run {
	r.Measured.History = history.Check(r.Evidence)
	return r
}

// objective of a judgement; false when it has none of that name.
func (j judged) objective(name string) (v1alpha1.ObjectiveResult, bool) {
	for _, o := range j.Objectives {
		if o.Name == name {
			return o, true
		}
	}
	return v1alpha1.ObjectiveResult{}, false
}

// plant is an error.
type plant struct {
	name string
	// into plants it in a copy of a run, judged anew; false and why when there is nothing to plant it in.
	into func(r Run) (Run, bool, string)
	// found says how the judgement shows it; empty when it does not.
	found func(without, with judged) string
}

// Check plants every error, one at a time. What is asked is what the plant adds: an error that the run has without it
// does not count.
func Check(r Run) []v1alpha1.DrillControl {
	without := r.judge()
	var list []v1alpha1.DrillControl
	for _, p := range plants() {
		one := v1alpha1.DrillControl{Planted: p.name, Result: v1alpha1.ControlNothing}
		with, planted, why := p.into(r)
		one.Evidence = why
		if planted {
			one.Result = v1alpha1.ControlNotFound
			if seen := p.found(without, with.judge()); seen != "" {
				one.Result, one.Evidence = v1alpha1.ControlFound, seen
			}
		}
		one.Evidence = conditions.Shorten(one.Evidence, 512)
		list = append(list, one)
	}
	return list
}

// Missed names the planted errors that were not found.
func Missed(list []v1alpha1.DrillControl) []string {
	var names []string
	for _, c := range list {
		if c.Result == v1alpha1.ControlNotFound {
			names = append(names, c.Planted)
		}
	}
	return names
}

// plants are all of them, those on lists last.
func plants() []plant {
	list := []plant{
		{"an acknowledged row that is gone from one copy", deleteRow, rowsFound("lostRows",
			func(c history.Counts) int { return c.Lost })},
		{"a row that is there twice", duplicateRow, rowsFound("consistency",
			func(c history.Counts) int { return c.Duplicated })},
		{"a row that nobody wrote", inventRow, rowsFound("consistency",
			func(c history.Counts) int { return c.Phantom })},
		{"a transaction of which one copy has a part", tearRow, contentsFound(
			func(c history.Contents) int { return c.Torn.Count })},
		{"a table that is another one in one copy", alterTable, contentsFound(
			func(c history.Contents) int { return c.Altered.Count })},
		{"a row that the subscriber lacks though it has later ones", undeliver, undeliveredFound},
		{"two servers that acknowledge in one term", secondServer, secondServerFound},
		{"a stale read of a register", staleRead, staleReadFound},
		{"a clock that was shifted by a minute", shiftClock, shiftFound},
		{"a client that is never served again", killClient, deadClientFound},
		{"a fault that strikes nothing", strikeNothing, strikeFound},
	}
	for _, p := range listappend.Plants() {
		list = append(list, onLists(p))
	}
	return list
}

// rowsFound asks whether more rows are counted, and whether the objective speaks of it.
func rowsFound(objective string, count func(history.Counts) int) func(without, with judged) string {
	return func(without, with judged) string {
		before, after := count(without.Measured.History.Counts), count(with.Measured.History.Counts)
		was, _ := without.objective(objective)
		is, ok := with.objective(objective)
		if after <= before || !ok || was == is {
			return ""
		}
		return shown(is)
	}
}

// shown is an objective as a control's evidence.
func shown(o v1alpha1.ObjectiveResult) string {
	text := fmt.Sprintf("%s %s", o.Name, o.Verdict)
	if o.Measured != "" {
		text += ": " + o.Measured
	}
	if o.Evidence != "" {
		text += ": " + o.Evidence
	}
	return text
}

// strikeNothing takes the proof from a fault that was seen to take effect.
func strikeNothing(r Run) (Run, bool, string) {
	r.Measured.Faults = slices.Clone(r.Measured.Faults)
	for i := range r.Measured.Faults {
		f := &r.Measured.Faults[i]
		if f.Effect != nil && f.Effect.Status == metav1.ConditionTrue {
			f.Effect = &v1alpha1.FaultEffect{Status: metav1.ConditionFalse, Seen: "planted: it strikes nothing"}
			return r, true, ""
		}
	}
	return r, false, "no fault was seen to take effect"
}

func strikeFound(_, with judged) string {
	if o, ok := with.objective("effect"); ok && o.Verdict != v1alpha1.VerdictPassed &&
		strings.Contains(o.Evidence, "planted: it strikes nothing") {
		return shown(o)
	}
	return ""
}

// onLists plants an error in transactions on lists.
func onLists(p listappend.Plant) plant {
	return plant{
		"on lists: " + p.Name,
		func(r Run) (Run, bool, string) {
			h := r.Evidence.Lists()
			switch {
			case len(h.Sessions) == 0:
				return r, false, "no lists were used"
			case r.partial():
				return r, false, missing
			}
			with, ok := p.Into(h)
			if !ok {
				return r, false, "no transactions that it could be planted in"
			}
			r.Measured.History.Order = history.JudgeOrder(with)
			return r, true, ""
		},
		func(without, with judged) string {
			o, _ := with.objective("order")
			for _, k := range p.Kinds {
				i := slices.IndexFunc(with.Measured.History.Order.Anomalies, func(a listappend.Anomaly) bool { return a.Kind == k })
				if with.Measured.History.Order.Counts[k] > without.Measured.History.Order.Counts[k] && i >= 0 &&
					o.Verdict == v1alpha1.VerdictFailed {
					return fmt.Sprintf("order Failed: %s: %s", k, with.Measured.History.Order.Anomalies[i].Message)
				}
			}
			return ""
		},
	}
}
