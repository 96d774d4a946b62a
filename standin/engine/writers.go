// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/sqltype"
	"geosql.dev/standin/tds"
)

// discardWriter drops everything but the first error.
type discardWriter struct{ err *sqlerr.Error }

func (w *discardWriter) Columns([]tds.Column) error { return nil }
func (w *discardWriter) Row([]any) error            { return nil }
func (w *discardWriter) Done(tds.Completion) error  { return nil }
func (w *discardWriter) Message(e *sqlerr.Error) error {
	if e.Class > 10 && w.err == nil {
		w.err = e
	}
	return nil
}
func (w *discardWriter) ReturnStatus(int32) error                    { return nil }
func (w *discardWriter) ReturnValue(string, sqltype.Type, any) error { return nil }
func (w *discardWriter) Database(string, string) error               { return nil }
func (w *discardWriter) Language(string, string) error               { return nil }

// collectWriter keeps all result sets.
type collectWriter struct {
	discardWriter
	results []*Result
	open    *Result
	count   int64
}

func (w *collectWriter) Columns(cols []tds.Column) error {
	w.open = &Result{Columns: cols, RowCount: -1}
	w.results = append(w.results, w.open)
	return nil
}

func (w *collectWriter) Row(values []any) error {
	w.open.Rows = append(w.open.Rows, append([]any(nil), values...))
	return nil
}

func (w *collectWriter) Done(end tds.Completion) error {
	if w.open != nil {
		w.open.RowCount = end.Count
		w.open = nil
	}
	w.count = end.Count
	return nil
}

func (w *collectWriter) first() *Result {
	if len(w.results) == 0 {
		return nil
	}
	return w.results[0]
}

// WriteResult sends a whole result set.
func WriteResult(w tds.Writer, cols []tds.Column, rows [][]any) error {
	if err := w.Columns(cols); err != nil {
		return err
	}
	for _, row := range rows {
		if err := w.Row(row); err != nil {
			return err
		}
	}
	return w.Done(tds.Rows(int64(len(rows))))
}
