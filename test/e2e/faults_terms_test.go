// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"fmt"
	"io"
	"testing"
	"text/tabwriter"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/internal/election/votes"
	"geosql.dev/operator/internal/workload/history"
)

// faultTerm is a term that began after a fault.
type faultTerm struct {
	fault string
	// injected is the fault's beginning on the wall clock that all machines of the bed share.
	injected time.Time
	line     votes.Timeline
}

// explainTerms keeps and logs what the elections since a fault did when, in seconds after it.
func (m *matrix) explainTerms(t *testing.T, fault string, since time.Time) {
	t.Helper()
	for _, l := range m.timelines() {
		if l.Suspected != nil && l.Suspected.After(since) {
			m.terms = append(m.terms, faultTerm{fault, since, l})
			t.Log(explain(l, since))
		}
	}
}

// termSpan is a part of a term's history.
type termSpan struct {
	name     string
	from, to func(faultTerm) *metav1.MicroTime
}

// termSpans lead from the fault to the first write; the last is all that the engines and agents did, without the wait
// before and without what clients need to notice.
var termSpans = []termSpan{
	{
		"FAULT-SUSPECTED",
		func(f faultTerm) *metav1.MicroTime { return &metav1.MicroTime{Time: f.injected} },
		func(f faultTerm) *metav1.MicroTime { return f.line.Suspected },
	},
	{
		"-CLAIMED",
		func(f faultTerm) *metav1.MicroTime { return f.line.Suspected },
		func(f faultTerm) *metav1.MicroTime { return f.line.Claimed },
	},
	{
		"-FENCED",
		func(f faultTerm) *metav1.MicroTime { return f.line.Claimed },
		func(f faultTerm) *metav1.MicroTime { return f.line.Fenced },
	},
	{
		"-PROMOTED",
		func(f faultTerm) *metav1.MicroTime { return f.line.Fenced },
		func(f faultTerm) *metav1.MicroTime { return f.line.Promoted },
	},
	{
		"SUSPECTED-FIRST WRITE",
		func(f faultTerm) *metav1.MicroTime { return f.line.Suspected },
		func(f faultTerm) *metav1.MicroTime { return f.line.FirstWrite },
	},
}

// writeTerms writes for each kind of fault how long its terms took, p50/p95/max in seconds, by the agents' own records.
// Terms that came to nothing are counted, their spans left out.
func writeTerms(w io.Writer, terms []faultTerm) {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(table, "\nFAULT\tTERMS\tIN VAIN\t")
	for _, s := range termSpans {
		fmt.Fprintf(table, "%s\t", s.name)
	}
	fmt.Fprintln(table)
	for len(terms) > 0 {
		var of, others []faultTerm
		for _, f := range terms {
			if f.fault == terms[0].fault {
				of = append(of, f)
			} else {
				others = append(others, f)
			}
		}
		writeTermsOf(table, of)
		terms = others
	}
	_ = table.Flush()
}

// writeTermsOf writes the line of one kind of fault.
func writeTermsOf(w io.Writer, terms []faultTerm) {
	inVain := 0
	for _, f := range terms {
		if f.line.FirstWrite == nil {
			inVain++
		}
	}
	fmt.Fprintf(w, "%s\t%d\t%d\t", terms[0].fault, len(terms), inVain)
	for _, s := range termSpans {
		var took []time.Duration
		for _, f := range terms {
			if from, to := s.from(f), s.to(f); f.line.FirstWrite != nil && from != nil && to != nil {
				took = append(took, to.Sub(from.Time))
			}
		}
		fmt.Fprintf(
			w,
			"%.2f/%.2f/%.2f\t",
			history.Percentile(took, 0.5).Seconds(),
			history.Percentile(took, 0.95).Seconds(),
			history.Percentile(took, 1).Seconds(),
		)
	}
	fmt.Fprintln(w)
}
