// SPDX-License-Identifier: Apache-2.0

package sql

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/term"

	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/plugin/cli"
)

// outputs are the forms of result sets.
const (
	outputTable = "table"
	outputCSV   = "csv"
	outputJSON  = "json"
)

// newSink makes one that writes result sets to out and nothing else; what the server says is for people, in notes.
func newSink(output string, out, notes io.Writer) mssql.Sink {
	to := &results{out: bufio.NewWriter(out), notes: notes}
	switch output {
	case outputCSV:
		return &csvSink{results: to}
	case outputJSON:
		return &jsonSink{results: to}
	}
	return harmless{&tableSink{results: to}}
}

// harmless has the texts of a result set as a terminal may have them.
type harmless struct{ mssql.Sink }

// Columns begins a result set.
func (h harmless) Columns(columns []mssql.Column) error {
	columns = slices.Clone(columns)
	for i := range columns {
		columns[i].Name = cli.Shown(columns[i].Name)
	}
	return h.Sink.Columns(columns)
}

// Row writes one.
func (h harmless) Row(values []any) error {
	for i, v := range values {
		if text, is := v.(string); is {
			values[i] = cli.Shown(text)
		}
	}
	return h.Sink.Row(values)
}

// sink is for whoever reads out. Other programs are given each text as it is, a terminal is not.
func (f *flags) sink(out, notes io.Writer) mssql.Sink {
	sink := newSink(f.output, out, notes)
	if file, is := out.(*os.File); is && term.IsTerminal(descriptor(file)) {
		return harmless{sink}
	}
	return sink
}

// results are what all forms have in common.
type results struct {
	out   *bufio.Writer
	notes io.Writer
	// sets that were begun.
	sets    int
	columns []mssql.Column
}

// begin notes the columns, and parts a result set from the one before.
func (r *results) begin(columns []mssql.Column, between string) error {
	r.columns = columns
	if r.sets++; r.sets == 1 {
		return nil
	}
	_, err := r.out.WriteString(between)
	return err
}

// Affected tells how many rows there were.
func (r *results) Affected(rows int64) error {
	ending := "s"
	if rows == 1 {
		ending = ""
	}
	return r.note("(%d row%s affected)\n", rows, ending)
}

// Message tells what the server says, an error as SQL Server's tools do.
func (r *results) Message(m mssql.Message) error {
	if !m.Failed() {
		return r.note("%s\n", cli.Said(m.Text))
	}
	procedure := ""
	if m.Procedure != "" {
		procedure = ", Procedure " + cli.Shown(m.Procedure)
	}
	return r.note("Msg %d, Level %d, State %d, Server %s%s, Line %d\n%s\n", m.Number, m.Level, m.State,
		cli.Shown(m.Server), procedure, m.Line, cli.Said(m.Text))
}

// note comes after the rows that came before it.
func (r *results) note(format string, args ...any) error {
	if err := r.out.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(r.notes, format, args...)
	return err
}

// widest is how wide a column is at most, in characters: longer values reach beyond it.
const widest = 60

// measured is after how many rows the widths of columns stay, so that a large result set is not kept.
const measured = 200

// tableSink writes columns under their names.
type tableSink struct {
	*results
	widths []int
	held   [][]string
	going  bool
}

// Columns begins a result set.
func (s *tableSink) Columns(columns []mssql.Column) error {
	if err := s.begin(columns, "\n"); err != nil {
		return err
	}
	s.widths, s.held, s.going = make([]int, len(columns)), nil, false
	heads := make([]string, len(columns))
	for i, c := range columns {
		heads[i] = c.Name
	}
	return s.hold(heads)
}

// Row writes one, or holds it while widths are measured.
func (s *tableSink) Row(values []any) error {
	cells := make([]string, len(values))
	for i, v := range values {
		text, there := textOf(s.columns[i], v)
		if !there {
			text = "NULL"
		}
		cells[i] = text
	}
	if s.going {
		return s.write(cells)
	}
	return s.hold(cells)
}

func (s *tableSink) hold(cells []string) error {
	s.held = append(s.held, cells)
	for i, cell := range cells {
		s.widths[i] = min(max(s.widths[i], utf8.RuneCountInString(cell), 1), widest)
	}
	if len(s.held) <= measured {
		return nil
	}
	return s.release()
}

// release writes what was held, with a line under the names.
func (s *tableSink) release() error {
	s.going = true
	for i, cells := range s.held {
		if err := s.write(cells); err != nil {
			return err
		}
		if i > 0 {
			continue
		}
		line := make([]string, len(cells))
		for n, width := range s.widths {
			line[n] = strings.Repeat("-", width)
		}
		if err := s.write(line); err != nil {
			return err
		}
	}
	s.held = nil
	return nil
}

func (s *tableSink) write(cells []string) error {
	for i, cell := range cells {
		if i > 0 {
			fmt.Fprint(s.out, "  ")
		}
		fmt.Fprint(s.out, cell)
		if i < len(cells)-1 {
			fmt.Fprint(s.out, strings.Repeat(" ", max(s.widths[i]-utf8.RuneCountInString(cell), 0)))
		}
	}
	return s.out.WriteByte('\n')
}

// End ends the result set.
func (s *tableSink) End() error {
	if !s.going {
		if err := s.release(); err != nil {
			return err
		}
	}
	return s.out.Flush()
}

// csvSink writes RFC 4180, with an empty field for NULL and "" for a string that is empty.
type csvSink struct{ *results }

// Columns begins a result set.
func (s *csvSink) Columns(columns []mssql.Column) error {
	if err := s.begin(columns, "\n"); err != nil {
		return err
	}
	for i, name := range names(columns) {
		s.field(i, name, true)
	}
	return s.out.WriteByte('\n')
}

// Row writes one.
func (s *csvSink) Row(values []any) error {
	for i, v := range values {
		text, there := textOf(s.columns[i], v)
		s.field(i, text, there)
	}
	return s.out.WriteByte('\n')
}

// field writes one; the writer keeps its first error.
func (s *csvSink) field(i int, text string, there bool) {
	if i > 0 {
		fmt.Fprint(s.out, ",")
	}
	switch {
	case !there:
	case text == "", strings.ContainsAny(text, "\",\r\n"):
		fmt.Fprint(s.out, `"`+strings.ReplaceAll(text, `"`, `""`)+`"`)
	default:
		fmt.Fprint(s.out, text)
	}
}

// End ends the result set.
func (s *csvSink) End() error { return s.out.Flush() }

// jsonSink writes an array of objects for each result set, a row in a line.
type jsonSink struct {
	*results
	keys [][]byte
	rows int
}

// Columns begins a result set.
func (s *jsonSink) Columns(columns []mssql.Column) error {
	if err := s.begin(columns, ""); err != nil {
		return err
	}
	s.keys, s.rows = nil, 0
	for _, name := range names(columns) {
		key, err := plainJSON(name)
		if err != nil {
			return err
		}
		s.keys = append(s.keys, key)
	}
	_, err := s.out.WriteString("[")
	return err
}

// Row writes one.
func (s *jsonSink) Row(values []any) error {
	before := ",\n{"
	if s.rows++; s.rows == 1 {
		before = "\n{"
	}
	fmt.Fprint(s.out, before)
	for i, v := range values {
		value, err := valueJSON(s.columns[i], v)
		if err != nil {
			return fmt.Errorf("write column %s as JSON: %w", s.keys[i], err)
		}
		if i > 0 {
			fmt.Fprint(s.out, ",")
		}
		fmt.Fprintf(s.out, "%s", s.keys[i])
		fmt.Fprint(s.out, ":")
		fmt.Fprintf(s.out, "%s", value)
	}
	return s.out.WriteByte('}')
}

// End ends the result set.
func (s *jsonSink) End() error {
	fmt.Fprint(s.out, "\n]\n")
	return s.out.Flush()
}

// valueJSON has numbers with all of their digits, and all else that is neither a bit nor NULL as text.
func valueJSON(c mssql.Column, value any) ([]byte, error) {
	switch v := value.(type) {
	case nil:
		return []byte("null"), nil
	case bool:
		return json.Marshal(v)
	case int64, float64:
		text, _ := textOf(c, v)
		return []byte(text), nil
	case []byte:
		if fixedPoint(c) {
			return v, nil
		}
	}
	text, _ := textOf(c, value)
	return plainJSON(text)
}

// plainJSON leaves <, > and & as they are.
func plainJSON(text string) ([]byte, error) {
	var b strings.Builder
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(text); err != nil {
		return nil, err
	}
	return []byte(strings.TrimSuffix(b.String(), "\n")), nil
}
