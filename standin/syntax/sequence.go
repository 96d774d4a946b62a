// SPDX-License-Identifier: Apache-2.0

package syntax

import (
	"reflect"
	"strings"

	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/sqlerr"
)

// sequenceArguments are what messages call the options of a sequence.
var sequenceArguments = map[string]string{
	"START":     "START WITH",
	"INCREMENT": "INCREMENT BY",
	"MINVALUE":  "MINVALUE",
	"MAXVALUE":  "MAXVALUE",
	"CYCLE":     "CYCLE",
	"CACHE":     "CACHE",
	"RESTART":   "RESTART WITH",
	"AS":        "AS",
}

// sequence judges the options of CREATE SEQUENCE and ALTER SEQUENCE
// (docs/t-sql/statements/create-sequence-transact-sql.md, alter-sequence-transact-sql.md, Syntax): those that the other
// statement alone has (11709, 11710, 11711), one that is there twice, an option and its NO being the same (11712), and
// none (11715).
func (f *finisher) sequence(node ast.Statement) {
	var options []any
	altered := false
	switch n := node.(type) {
	case *ast.CreateSequenceStatement:
		options = n.SequenceOptions
	case *ast.AlterSequenceStatement:
		options, altered = n.SequenceOptions, true
	}
	if altered && len(options) == 0 {
		f.refuse(11715, node)
		return
	}
	seen := map[string]bool{}
	for _, option := range options {
		kind := "AS"
		switch o := option.(type) {
		case *ast.ScalarExpressionSequenceOption:
			kind = strings.ToUpper(o.OptionKind)
		case *ast.SequenceOption:
			kind = strings.ToUpper(o.OptionKind)
		}
		switch {
		case seen[kind]:
			f.refuse(11712, node, sequenceArguments[kind])
		case kind == "RESTART" && !altered:
			f.refuse(11709, node)
		case kind == "START" && altered:
			f.refuse(11710, node)
		case kind == "AS" && altered:
			f.refuse(11711, node)
		}
		seen[kind] = true
	}
}

// refuse is an error of a node, unless there was one before.
func (f *finisher) refuse(number int32, node any, args ...any) {
	if f.err == nil {
		f.err = sqlerr.New(number, 1, args...).At(Line(node))
	}
}

// dropped refuses names of another database, or of this one, where DROP takes none
// (docs/t-sql/statements/drop-view-transact-sql.md and its kin, Syntax; DROP TABLE and DROP SYNONYM take one).
func (f *finisher) dropped(node ast.Statement) {
	var names []*ast.SchemaObjectName
	what := ""
	switch n := node.(type) {
	case *ast.DropProcedureStatement:
		names, what = n.Objects, "DROP PROCEDURE"
	case *ast.DropFunctionStatement:
		names, what = n.Objects, "DROP FUNCTION"
	case *ast.DropViewStatement:
		names, what = n.Objects, "DROP VIEW"
	case *ast.DropTriggerStatement:
		names, what = n.Objects, "DROP TRIGGER"
	}
	for _, name := range names {
		if name != nil && name.DatabaseIdentifier != nil {
			f.refuse(166, node, what)
		}
	}
}

// sameSequence judges the values that one query or SET takes of one sequence: the OVER clauses have to be the same
// (11727), and what assigns variables takes one value (11736; docs/t-sql/functions/next-value-for-transact-sql.md,
// Limitations and restrictions).
func (f *finisher) sameSequence(v reflect.Value, assigns bool) *sqlerr.Error {
	overs := map[string]string{}
	number := int32(0)
	nextValues(v, func(n *ast.NextValueForExpression) {
		name, over := "", ""
		if o := n.SequenceName; o != nil && o.BaseIdentifier != nil {
			if name = strings.ToLower(o.BaseIdentifier.Value); o.SchemaIdentifier != nil {
				name = strings.ToLower(o.SchemaIdentifier.Value) + "." + name
			}
		}
		if n.OverClause != nil {
			over = "OVER " + strings.ToLower(strings.Join(strings.Fields(f.batch.TextOf(n.OverClause)), " "))
		}
		before, again := overs[name]
		switch {
		case number != 0 || !again:
		case before != over:
			number = 11727
		case assigns:
			number = 11736
		}
		overs[name] = over
	})
	if number == 0 {
		return nil
	}
	return sqlerr.New(number, 1)
}

// assigns tells whether the elements of a select list set variables.
func assigns(elements []ast.SelectElement) bool {
	for _, e := range elements {
		if _, ok := e.(*ast.SelectSetVariable); ok {
			return true
		}
	}
	return false
}

// nextValues calls f with every NEXT VALUE FOR below v.
func nextValues(v reflect.Value, f func(*ast.NextValueForExpression)) {
	switch v.Kind() {
	case reflect.Interface, reflect.Pointer:
		if v.IsNil() {
			return
		}
		if n, ok := v.Interface().(*ast.NextValueForExpression); ok {
			f(n)
			return
		}
		nextValues(v.Elem(), f)
	case reflect.Slice:
		for i := range v.Len() {
			nextValues(v.Index(i), f)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				nextValues(v.Field(i), f)
			}
		}
	}
}
