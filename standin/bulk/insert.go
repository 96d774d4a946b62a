// SPDX-License-Identifier: Apache-2.0

package bulk

import (
	"context"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/bind"
	"geosql.dev/standin/datafile"
	"geosql.dev/standin/engine"
	"geosql.dev/standin/metadata"
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/sqltype"
	"geosql.dev/standin/tds"
)

// options are those of BULK INSERT ... WITH (docs/t-sql/statements/bulk-insert-transact-sql.md).
type options struct {
	format                              datafile.Format
	firstRow, lastRow, batch, maxErrors int64
	keepIdentity, keepNulls             bool
}

// openDataFile opens a data file for somebody who may load data in bulk. A relative path begins in the folder of the
// databases.
func openDataFile(ctx context.Context, s *engine.Session, path string) (*os.File, error) {
	if err := s.Require(ctx, engine.Permission{Name: "ADMINISTER BULK OPERATIONS"}); err != nil {
		return nil, sqlerr.New(4834, 1)
	}
	at := path
	if !filepath.IsAbs(at) {
		at = filepath.Join(s.Instance().Config().DataDir, at)
	}
	f, err := os.Open(at)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission):
		return nil, sqlerr.New(4860, 1, path)
	case err != nil:
		return nil, sqlerr.New(4861, 1, path, err)
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		_ = f.Close() // read only
		return nil, sqlerr.New(4861, 1, path, "5(it is no file)")
	}
	return f, nil
}

// insert is BULK INSERT.
func insert(ctx context.Context, s *engine.Session, n *ast.BulkInsertStatement, w tds.Writer) error {
	o, err := readOptions(ctx, s, n.Options)
	if err != nil {
		return err
	}
	name := bind.NameOf(n.To)
	space, sch, obj, err := s.TableToFill(ctx, name)
	if err != nil {
		return err
	}
	f, err := openDataFile(ctx, s, bind.PlainName(n.From))
	if err != nil {
		return err
	}
	defer f.Close()
	l := &load{s: s, ctx: ctx, w: w, options: o, file: datafile.NewReader(f, o.format)}
	l.choose(sch, obj)
	total := int64(0)
	for !l.ended {
		l.left = o.batch
		count, err := s.InsertFrom(ctx, space, obj, l.columns, l.types, l.row, o.keepIdentity)
		if err != nil {
			return err
		}
		total += count
	}
	return s.DoneRows(total, w)
}

// readOptions reads WITH ( ... ).
func readOptions(ctx context.Context, s *engine.Session, given []ast.BulkInsertOption) (options, error) {
	o := options{format: datafile.Format{Field: "\t", Row: "\n"}, firstRow: 1, maxErrors: 10}
	fieldGiven := false
	for _, opt := range given {
		switch n := opt.(type) {
		case *ast.BulkInsertOptionBase:
			switch n.OptionKind {
			case "KeepIdentity":
				o.keepIdentity = true
			case "KeepNulls":
				o.keepNulls = true
			case "TabLock", "CheckConstraints":
			default:
				return o, refusedOption(n.OptionKind)
			}
		case *ast.LiteralBulkInsertOption:
			fieldGiven = fieldGiven || n.OptionKind == "FieldTerminator"
			if err := readOption(ctx, s, &o, n); err != nil {
				return o, err
			}
		case *ast.OrderBulkInsertOption:
			// A promise about the file's order, which nothing here gains from.
		}
	}
	if o.format.CSV && !fieldGiven {
		o.format.Field = ","
	}
	return o, nil
}

// optionNames are the words of options that are refused, by what the parser calls them.
var optionNames = map[string]string{
	"FireTriggers":   "FIRE_TRIGGERS",
	"FormatFile":     "FORMATFILE",
	"ErrorFile":      "ERRORFILE",
	"DataFileFormat": "FORMAT",
	"DataFileType":   "DATAFILETYPE",
	"CodePage":       "CODEPAGE",
	"EscapeChar":     "ESCAPECHAR",
}

// knownOptions are the others of the page, which have no meaning here.
var knownOptions = map[string]bool{
	"DATA_SOURCE":            true,
	"ERRORFILE_DATA_SOURCE":  true,
	"FORMATFILE_DATA_SOURCE": true,
}

func refusedOption(kind string) error {
	if word := optionNames[kind]; word != "" {
		kind = word
	} else if !knownOptions[kind] {
		return sqlerr.New(155, 1, kind, "BULK INSERT")
	}
	return sqlerr.Unsupported("BULK INSERT WITH " + kind)
}

// readOption reads an option with a value.
func readOption(ctx context.Context, s *engine.Session, o *options, n *ast.LiteralBulkInsertOption) error {
	number := map[string]*int64{"FirstRow": &o.firstRow, "LastRow": &o.lastRow, "BatchSize": &o.batch,
		"MaxErrors": &o.maxErrors}[n.OptionKind]
	if number != nil {
		v, err := s.EvaluateInt(ctx, n.Value)
		*number = v
		return err
	}
	v, err := s.Evaluate(ctx, n.Value, sqltype.NVarCharMax)
	if err != nil {
		return err
	}
	text, _ := v.(string)
	known := true
	switch n.OptionKind {
	case "FieldTerminator":
		o.format.Field, o.format.ExactField = datafile.Terminator(text)
	case "RowTerminator":
		o.format.Row, o.format.ExactRow = datafile.Terminator(text)
	case "FieldQuote":
		o.format.Quote = text
	case "DataFileFormat":
		known = strings.EqualFold(text, "CSV")
		o.format.CSV = true
	case "DataFileType":
		o.format.Wide = strings.EqualFold(text, "widechar")
		known = o.format.Wide || strings.EqualFold(text, "char")
	case "CodePage":
		o.format.UTF8 = text == "65001"
		known = o.format.UTF8 || strings.EqualFold(text, "ACP") || strings.EqualFold(text, "RAW") || text == "1252"
	case "RowsPerBatch", "KilobytesPerBatch", "ROWS_PER_BATCH", "KILOBYTES_PER_BATCH":
	default:
		return refusedOption(n.OptionKind)
	}
	if !known {
		return sqlerr.Unsupported("BULK INSERT WITH " + optionNames[n.OptionKind] + " = '" + text + "'")
	}
	return nil
}

// load turns the records of a data file into rows of a table.
type load struct {
	s       *engine.Session
	ctx     context.Context
	w       tds.Writer
	options options
	file    *datafile.Reader
	// fields are the table's columns in the order of a record's fields, columns those that are stored.
	fields, columns []*metadata.Column
	types           []tds.Column
	// defaults are the expressions of the stored columns' defaults, nil for none.
	defaults []ast.ScalarExpression
	record   int64
	failures int64
	// left is how many rows the batch still takes, 0 for all; ended tells that the file has no more.
	left  int64
	ended bool
}

// choose tells which fields are stored where: those of computed and rowversion columns are in the file and ignored
// (docs/tools/bcp-utility.md, Computed columns and timestamp columns), those of identity columns are stored with
// KEEPIDENTITY only.
func (l *load) choose(sch *metadata.Catalog, obj *metadata.Object) {
	for _, c := range obj.Table.Columns {
		l.fields = append(l.fields, c)
		if c.Computed != "" || c.Identity != nil && !l.options.keepIdentity || c.Type.Kind == sqltype.RowVersion {
			continue
		}
		var given ast.ScalarExpression
		if o := sch.Objects[c.Default]; o != nil && !l.options.keepNulls {
			given = bind.ParseExpression(o.Definition)
		}
		l.columns, l.types, l.defaults = append(l.columns, c), append(l.types, tds.Column{Name: c.Name, Type: c.Type}),
			append(l.defaults, given)
	}
}

// row is the rowSource of a batch.
func (l *load) row() ([]any, error) {
	if l.options.batch > 0 {
		if l.left == 0 {
			return nil, io.EOF
		}
		l.left--
	}
	for {
		if l.options.lastRow > 0 && l.record >= l.options.lastRow {
			l.ended = true
			return nil, io.EOF
		}
		record, err := l.file.Next(len(l.fields))
		if errors.Is(err, io.EOF) {
			l.ended = true
		}
		if err != nil {
			return nil, err
		}
		l.record++
		if l.record < l.options.firstRow {
			continue
		}
		row, failed, err := l.values(record)
		if err != nil || failed == nil {
			return row, err
		}
		if err := l.note(failed); err != nil {
			return nil, err
		}
	}
}

// note reports a record that cannot be stored and is left out, as long as MAXERRORS allows it.
func (l *load) note(failed *sqlerr.Error) error {
	if l.s.InTry() {
		return failed
	}
	if err := l.w.Message(failed.At(l.s.Line())); err != nil {
		return err
	}
	if l.failures++; l.failures > l.options.maxErrors {
		return sqlerr.New(4865, 1, l.options.maxErrors)
	}
	return nil
}

// values are a record's values for the stored columns; failed says why there are none.
func (l *load) values(record []string) (row []any, failed *sqlerr.Error, err error) {
	at := 0
	for i, c := range l.fields {
		if at >= len(l.columns) || l.columns[at] != c {
			continue
		}
		var v any
		switch text := record[i]; {
		case text != "":
			var e *sqlerr.Error
			if v, e = l.fieldValue(text, c.Type); e != nil {
				if e.Number == sqltype.ErrTruncated.Number {
					return nil, sqlerr.New(4863, 1, l.record, i+1, c.Name), nil
				}
				return nil, sqlerr.New(4864, 1, l.record, i+1, c.Name), nil
			}
		case l.defaults[at] != nil:
			if v, err = l.s.Evaluate(l.ctx, l.defaults[at], c.Type); err != nil {
				return nil, nil, err
			}
		}
		if v == nil && !c.Nullable {
			return nil, sqlerr.New(4869, 1, l.record, i+1, c.Name), nil
		}
		row = append(row, v)
		at++
	}
	return row, nil, nil
}

// fieldValue is the value of a field's text, which has two hexadecimal digits for a byte.
func (l *load) fieldValue(text string, t sqltype.Type) (any, *sqlerr.Error) {
	if t.Kind != sqltype.Binary && t.Kind != sqltype.VarBinary {
		return l.s.Convert(text, sqltype.NVarCharMax, t, sqltype.Assign)
	}
	data, err := hex.DecodeString(strings.TrimPrefix(strings.TrimPrefix(text, "0x"), "0X"))
	if err != nil {
		return nil, sqlerr.New(4864, 1)
	}
	return l.s.Convert(data, sqltype.VarBinaryMax, t, sqltype.Assign)
}
