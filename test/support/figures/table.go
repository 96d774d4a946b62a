// SPDX-License-Identifier: Apache-2.0

// Package figures makes the reports of benchmarks: tables of what was measured beside what it could be, with the bars
// that it has to hold. It measures nothing itself, so that a report of processes on one machine and one of clusters are
// of the same form.
package figures

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Bar is what a figure may be at most.
type Bar struct {
	// What the figure is, in a few words.
	What        string
	Value, Most float64
}

// Held tells that the figure is no more than it may be. NaN, as of what was not measured, holds no bar.
func (b Bar) Held() bool { return b.Value <= b.Most }

// String says what was measured and what is allowed.
func (b Bar) String() string {
	return fmt.Sprintf("%s %.4g, %.4g at most", b.What, b.Value, b.Most)
}

// Table of a report.
type Table struct {
	// Title of the table, and Note, which says below it how it was measured; empty for none.
	Title, Note string
	// Head are the columns' names.
	Head []string

	rows []row
}

type row struct {
	cells []string
	bars  []Bar
}

// Add adds a row with the bars that it has to hold. It has a cell for each column, else Add panics.
func (t *Table) Add(cells []string, bars ...Bar) {
	if len(cells) != len(t.Head) {
		panic(fmt.Sprintf("%s: %d cells for %d columns", t.Title, len(cells), len(t.Head)))
	}
	t.rows = append(t.rows, row{cells: cells, bars: bars})
}

// Missed are the bars that rows do not hold, each with the row's first cells.
func (t *Table) Missed() (all []string) {
	for _, r := range t.rows {
		for _, b := range r.bars {
			if !b.Held() {
				all = append(all, fmt.Sprintf("%s: %s: %s", t.Title, strings.Join(r.cells[:min(3, len(r.cells))], ", "), b))
			}
		}
	}
	return all
}

// Markdown is the table as documents have it. Where a row has bars there is a column for them.
func (t *Table) Markdown() string {
	head, barred := t.Head, false
	for _, r := range t.rows {
		barred = barred || len(r.bars) > 0
	}
	if barred {
		head = append(head[:len(head):len(head)], "bar")
	}
	var b strings.Builder
	fmt.Fprintf(&b, "## %s\n\n%s|%s\n", t.Title, line(head), strings.Repeat("---|", len(head)))
	for _, r := range t.rows {
		cells := r.cells
		if barred {
			cells = append(cells[:len(cells):len(cells)], judged(r.bars))
		}
		b.WriteString(line(cells))
	}
	if t.Note != "" {
		fmt.Fprintf(&b, "\n%s\n", t.Note)
	}
	return b.String()
}

func line(cells []string) string { return "| " + strings.Join(cells, " | ") + " |\n" }

// judged is the cell of a row's bars.
func judged(bars []Bar) string {
	var all []string
	for _, b := range bars {
		if b.Held() {
			all = append(all, b.String())
		} else {
			all = append(all, "**missed: "+b.String()+"**")
		}
	}
	return strings.Join(all, "; ")
}

// Report is what one command has measured.
type Report struct {
	// Title of the report, and About, paragraphs that say of what and where.
	Title string
	About []string
	// Tables in their order.
	Tables []*Table
}

// Missed are the bars that rows of any table do not hold.
func (r *Report) Missed() (all []string) {
	for _, t := range r.Tables {
		all = append(all, t.Missed()...)
	}
	return all
}

// Markdown is the report with all tables.
func (r *Report) Markdown() string {
	parts := append([]string{"# " + r.Title}, r.About...)
	for _, t := range r.Tables {
		parts = append(parts, strings.TrimRight(t.Markdown(), "\n"))
	}
	if missed := r.Missed(); len(missed) > 0 {
		parts = append(parts, "Missed:\n\n- "+strings.Join(missed, "\n- "))
	}
	return strings.Join(parts, "\n\n") + "\n"
}

// Write writes the report into a folder, as NAME.md.
func (r *Report) Write(folder, name string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return fmt.Errorf("make the folder of reports: %w", err)
	}
	if err := os.WriteFile(filepath.Join(folder, name+".md"), []byte(r.Markdown()), 0o644); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	return nil
}
