// SPDX-License-Identifier: Apache-2.0

package sql

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/mssql"
)

// answer is two result sets, with what comes before, between and after them.
func answer(g Gomega, sink mssql.Sink) {
	columns := []mssql.Column{{Name: "id", Type: "INT"}, {Name: "name", Type: "NVARCHAR"}, {Name: "", Type: "BIT"},
		{Name: "name", Type: "DECIMAL", Scale: 2}}
	g.Expect(sink.Message(mssql.Message{Number: 5701, Text: "Changed database context to 'Content'."})).To(Succeed())
	g.Expect(sink.Columns(columns)).To(Succeed())
	g.Expect(sink.Row([]any{int64(1), "a \"b\", c", true, []byte("1.50")})).To(Succeed())
	g.Expect(sink.Row([]any{int64(-20), "", nil, nil})).To(Succeed())
	g.Expect(sink.End()).To(Succeed())
	g.Expect(sink.Affected(2)).To(Succeed())
	g.Expect(sink.Message(mssql.Message{Number: 547, Level: 16, State: 3, Server: "tukpub-0", Procedure: "dbo.p", Line: 7,
		Text: "No.\r\nNever."})).To(Succeed())
	g.Expect(sink.Columns([]mssql.Column{{Name: "one", Type: "INT"}})).To(Succeed())
	g.Expect(sink.End()).To(Succeed())
	g.Expect(sink.Affected(1)).To(Succeed())
}

// Standard output has result sets and nothing else, in each form.
func TestForms(t *testing.T) {
	for output, want := range map[string]string{
		outputTable: "id   name            name\n" +
			"---  --------  ----  ----\n" +
			"1    a \"b\", c  1     1.50\n" +
			"-20            NULL  NULL\n" +
			"\none\n---\n",
		outputCSV: "id,name,column3,name_2\n1,\"a \"\"b\"\", c\",1,1.50\n-20,\"\",,\n\none\n",
		outputJSON: "[\n{\"id\":1,\"name\":\"a \\\"b\\\", c\",\"column3\":true,\"name_2\":1.50},\n" +
			"{\"id\":-20,\"name\":\"\",\"column3\":null,\"name_2\":null}\n]\n[\n]\n",
	} {
		t.Run(output, func(t *testing.T) {
			g := NewWithT(t)
			var out, notes bytes.Buffer
			answer(g, newSink(output, &out, &notes))
			g.Expect(out.String()).To(Equal(want))
			g.Expect(notes.String()).To(Equal("Changed database context to 'Content'.\n(2 rows affected)\n" +
				"Msg 547, Level 16, State 3, Server tukpub-0, Procedure dbo.p, Line 7\nNo.\nNever.\n(1 row affected)\n"))
		})
	}
}

// What other programs read they understand.
func TestFormsAreReadByOthers(t *testing.T) {
	g := NewWithT(t)
	var out bytes.Buffer
	answer(g, newSink(outputJSON, &out, io.Discard))
	decoder := json.NewDecoder(&out)
	var rows, none []map[string]any
	g.Expect(decoder.Decode(&rows)).To(Succeed())
	g.Expect(decoder.Decode(&none)).To(Succeed())
	g.Expect(rows).To(HaveLen(2))
	g.Expect(rows[0]).To(And(HaveKeyWithValue("name", "a \"b\", c"), HaveKeyWithValue("name_2", 1.5)))
	g.Expect(none).To(BeEmpty())

	out.Reset()
	sink := newSink(outputCSV, &out, io.Discard)
	g.Expect(sink.Columns([]mssql.Column{{Name: "a,b"}, {Name: "c"}})).To(Succeed())
	g.Expect(sink.Row([]any{"line\nline", "\"x\""})).To(Succeed())
	g.Expect(sink.End()).To(Succeed())
	records, err := csv.NewReader(&out).ReadAll()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(records).To(Equal([][]string{{"a,b", "c"}, {"line\nline", "\"x\""}}))
}

// Values look as SQL Server's tools show them.
func TestValues(t *testing.T) {
	at := time.Date(2026, 11, 30, 3, 4, 5, 678_900_000, time.FixedZone("", 2*3600))
	for _, c := range []struct {
		column     mssql.Column
		value      any
		text, json string
	}{
		{mssql.Column{Type: "BIGINT"}, int64(9007199254740993), "9007199254740993", "9007199254740993"},
		{mssql.Column{Type: "FLOAT"}, 0.1, "0.1", "0.1"},
		{mssql.Column{Type: "REAL"}, float64(float32(0.1)), "0.1", "0.1"},
		{mssql.Column{Type: "MONEY"}, []byte("-0.0100"), "-0.0100", "-0.0100"},
		{mssql.Column{Type: "VARBINARY"}, []byte{0, 0xab}, "0x00AB", `"0x00AB"`},
		{mssql.Column{Type: "UNIQUEIDENTIFIER"},
			[]byte{0x33, 0x22, 0x11, 0, 0x55, 0x44, 0x77, 0x66, 0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff},
			"00112233-4455-6677-8899-AABBCCDDEEFF", `"00112233-4455-6677-8899-AABBCCDDEEFF"`},
		{mssql.Column{Type: "DATE"}, at, "2026-11-30", `"2026-11-30"`},
		{mssql.Column{Type: "TIME", Scale: 3}, at, "03:04:05.678", `"03:04:05.678"`},
		{mssql.Column{Type: "SMALLDATETIME"}, at, "2026-11-30 03:04", `"2026-11-30 03:04"`},
		{mssql.Column{Type: "DATETIME"}, at, "2026-11-30 03:04:05.678", `"2026-11-30 03:04:05.678"`},
		{mssql.Column{Type: "DATETIME2", Scale: 7}, at, "2026-11-30 03:04:05.6789000", `"2026-11-30 03:04:05.6789000"`},
		{mssql.Column{Type: "DATETIME2"}, at, "2026-11-30 03:04:05", `"2026-11-30 03:04:05"`},
		{mssql.Column{Type: "DATETIMEOFFSET"}, at, "2026-11-30 03:04:05 +02:00", `"2026-11-30 03:04:05 +02:00"`},
		{mssql.Column{Type: "BIT"}, false, "0", "false"},
		{mssql.Column{Type: "NVARCHAR"}, "<a> & b", "<a> & b", `"<a> & b"`},
	} {
		g := NewWithT(t)
		text, there := textOf(c.column, c.value)
		g.Expect(there).To(BeTrue())
		g.Expect(text).To(Equal(c.text), c.column.Type)
		as, err := valueJSON(c.column, c.value)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(string(as)).To(Equal(c.json), c.column.Type)
	}
}

// What somebody has written into a table does not move the cursor of whoever reads it.
func TestATerminalIsToldNothing(t *testing.T) {
	g := NewWithT(t)
	var out, notes bytes.Buffer
	sink := newSink(outputTable, &out, &notes)
	g.Expect(sink.Columns([]mssql.Column{{Name: "a\x1b[2J", Type: "NVARCHAR"}})).To(Succeed())
	g.Expect(sink.Row([]any{"b\x1b]0;c\a\nd\u202e"})).To(Succeed())
	g.Expect(sink.End()).To(Succeed())
	g.Expect(sink.Message(mssql.Message{Level: 16, Server: "s\x1b[1m", Text: "e\x1b[1m\nf\tg"})).To(Succeed())
	g.Expect(out.String()).To(And(ContainSubstring(`a\x1b[2J`), ContainSubstring(`b\x1b]0;c\a\nd\u202e`)))
	g.Expect(notes.String()).To(HaveSuffix("e\\x1b[1m\nf\tg\n"))
	g.Expect(out.String() + notes.String()).NotTo(ContainSubstring("\x1b"))
}

// At a terminal the other forms are no more dangerous; programs are given what there is.
func TestEachFormIsHarmlessAtATerminal(t *testing.T) {
	_, program := pseudoTerminal(t)
	for _, output := range []string{outputCSV, outputJSON} {
		g := NewWithT(t)
		f := &flags{output: output}
		g.Expect(f.sink(program, io.Discard)).To(BeAssignableToTypeOf(harmless{}), output)
		g.Expect(f.sink(&bytes.Buffer{}, io.Discard)).NotTo(BeAssignableToTypeOf(harmless{}), output)
	}
	g := NewWithT(t)
	for terminal, want := range map[bool]string{true: "a\\u009b2J\n\\x1b]0;c\\a\n", false: "a\u009b2J\n\x1b]0;c\a\n"} {
		var out bytes.Buffer
		sink := newSink(outputCSV, &out, io.Discard)
		if terminal {
			sink = harmless{sink}
		}
		g.Expect(sink.Columns([]mssql.Column{{Name: "a\u009b2J", Type: "NVARCHAR"}})).To(Succeed())
		g.Expect(sink.Row([]any{"\x1b]0;c\a"})).To(Succeed())
		g.Expect(sink.End()).To(Succeed())
		g.Expect(out.String()).To(Equal(want))
	}
}

// A result set without end needs no memory without end, and one that nobody reads ends the batch.
func TestALargeResultSetIsWrittenAsItComes(t *testing.T) {
	g := NewWithT(t)
	var out bytes.Buffer
	sink := newSink(outputTable, &out, io.Discard)
	g.Expect(sink.Columns([]mssql.Column{{Name: "n", Type: "INT"}, {Name: "text", Type: "NVARCHAR"}})).To(Succeed())
	wide := strings.Repeat("w", 2*widest)
	for n := range 1000 {
		g.Expect(sink.Row([]any{int64(n), wide})).To(Succeed())
	}
	g.Expect(out.Len()).To(BeNumerically(">", 500*len(wide)), "rows that have come are written before the end")
	g.Expect(sink.End()).To(Succeed())
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	g.Expect(lines).To(HaveLen(1002))
	g.Expect(lines[1]).To(Equal("---  " + strings.Repeat("-", widest)))
	g.Expect(lines[1001]).To(Equal("999  " + wide))

	for _, output := range []string{outputTable, outputCSV, outputJSON} {
		closed := newSink(output, closedPipe{}, io.Discard)
		g.Expect(closed.Columns([]mssql.Column{{Name: "n", Type: "NVARCHAR"}})).To(Succeed())
		ended := func() error {
			for n := range 100_000 {
				if err := closed.Row([]any{fmt.Sprintf("row %d", n)}); err != nil {
					return err
				}
			}
			return nil
		}()
		g.Expect(ended).To(MatchError(errClosed), output)
	}
}

var errClosed = errors.New("nobody reads this any more")

type closedPipe struct{}

func (closedPipe) Write([]byte) (int, error) { return 0, errClosed }
