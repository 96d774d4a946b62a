// SPDX-License-Identifier: Apache-2.0

package syntax

import (
	"reflect"
	"strings"

	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/syntax/token"
)

// maxCaseDepth is how deep CASE may be nested (docs/t-sql/language-elements/case-transact-sql.md, Remarks); IIF is one
// (docs/t-sql/functions/logical-functions-iif-transact-sql.md).
const maxCaseDepth = 10

// place is where in a statement a node stands.
type place struct {
	line int32
	// outer holds until a query's own parts: the next query is the statement's, not one within it.
	outer bool
	// nested is within a subquery, a derived table, a view, a function, a constraint; exempt among the tables that a
	// change joins.
	nested, exempt bool
	// clause is the part of a query that takes no value of a sequence, conditional the arms of CASE and its kin, aggregate
	// an aggregate's arguments.
	clause, conditional, aggregate bool
	// ofMerge is within a clause of MERGE that begins with WHEN, tableArgument among the arguments of a table-valued
	// function.
	ofMerge, tableArgument bool
	// distinct, ordered and limited are those of the query, change is UPDATE or MERGE.
	distinct, ordered, limited, change bool
	// scalar is the body of a function that returns a value.
	scalar bool
	// stored is an expression that a table keeps, sole that of a default and nothing around it.
	stored, sole bool
	depth        int
}

// placeWords are what a batch has that placeFaults may find something in.
var placeWords = token.Words(
	`NEXT PRINT RETURN NOLOCK READUNCOMMITTED HOLDLOCK SERIALIZABLE REPEATABLEREAD READCOMMITTED ROWLOCK PAGLOCK TABLOCK TABLOCKX
	INDEX FORCESEEK PROC PROCEDURE FUNCTION VIEW TRIGGER TEXT NTEXT IMAGE NEWSEQUENTIALID CHECK PRECEDING FOLLOWING`,
)

// mayBeMisplaced spares batches without any of those words the walk through their nodes.
func mayBeMisplaced(tokens []token.Token) bool {
	cases := 0
	for i, t := range tokens {
		if t.Kind == token.Variable && i > 0 && mayBeNamed(tokens[i-1]) {
			return true
		}
		if t.Kind != token.Word {
			continue
		}
		if placeWords[t.Fold] {
			return true
		}
		if t.Is("CASE") || t.Is("IIF") {
			if cases++; cases > maxCaseDepth {
				return true
			}
		}
	}
	return false
}

// mayBeNamed tells whether a variable after a token may be meant as the name of a column or a table.
func mayBeNamed(t token.Token) bool {
	return t.Is(")") || t.Is("AS") || t.Is("END") || t.Kind != token.Word && t.Kind != token.Punct ||
		t.Kind == token.Word && !t.Reserved
}

// placeFaults judges what is right by itself and may not stand where it does: NEXT VALUE FOR, hints that contradict
// each other or the statement, CASE that is nested too deeply, RETURN without a value. It is nil when all of a
// statement is in its place. Of this package's own statements MERGE alone has nodes to walk through.
func (f *finisher) placeFaults(statement ast.Statement) *sqlerr.Error {
	if m, ok := statement.(*Merge); ok {
		statement = m.MergeStatement
	}
	if IsOwn(statement) {
		return nil
	}
	return f.placed(reflect.ValueOf(statement), place{line: Line(statement), outer: true})
}

func (f *finisher) placed(v reflect.Value, p place) *sqlerr.Error {
	switch v.Kind() {
	case reflect.Interface, reflect.Pointer:
		if v.IsNil() {
			return nil
		}
		if v.Kind() == reflect.Interface || v.Elem().Kind() != reflect.Struct {
			return f.placed(v.Elem(), p)
		}
		node := v.Interface()
		if at := Line(node); at > 0 {
			p.line = at
		}
		if err := f.judgeNode(node, &p); err != nil {
			if err.Line == 0 {
				err.Line = p.line
			}
			return err
		}
		return f.parts(node, v.Elem(), p)
	case reflect.Slice:
		if k := v.Type().Elem().Kind(); k != reflect.Pointer && k != reflect.Interface {
			return nil
		}
		n := v.Len()
		if v.Type() == reflect.TypeFor[[]*ast.RowValue]() {
			n = min(n, rowsLookedAt)
		}
		for i := range n {
			if err := f.placed(v.Index(i), p); err != nil {
				return err
			}
		}
	}
	return nil
}

// parts judges the fields of a node, each in its place.
func (f *finisher) parts(node any, v reflect.Value, p place) *sqlerr.Error {
	for i := range v.NumField() {
		field := v.Type().Field(i)
		if !field.IsExported() {
			continue
		}
		switch field.Type.Kind() {
		case reflect.Interface, reflect.Pointer, reflect.Slice:
			if err := f.placed(v.Field(i), partOf(node, field.Name, p)); err != nil {
				return err
			}
		}
	}
	return nil
}

// partOf is the place of a node's field.
func partOf(node any, field string, p place) place {
	if _, inside := node.(*ast.ParenthesisExpression); !inside {
		_, ofDefault := node.(*ast.DefaultConstraintDefinition)
		p.sole = ofDefault && field == "Expression"
	}
	switch n := node.(type) {
	case *ast.QuerySpecification:
		p.outer = false
		p.clause = p.clause || field != "SelectElements" && field != "FromClause"
	case *ast.BinaryQueryExpression:
		p.clause = p.clause || field == "OrderByClause"
	case *ast.QualifiedJoin:
		p.clause = p.clause || field == "SearchCondition"
	case *ast.UpdateSpecification, *ast.DeleteSpecification:
		p.exempt = p.exempt || field == "FromClause"
		p.clause = p.clause || field == "WhereClause" || field == "OutputClause" || field == "TopRowFilter"
	case *ast.InsertSpecification:
		p.clause = p.clause || field == "OutputClause" || field == "TopRowFilter"
	case *ast.MergeSpecification:
		p.clause = p.clause || field == "OutputClause" || field == "TopRowFilter" || field == "SearchCondition"
	case *ast.MergeActionClause:
		p.ofMerge = true
		p.clause = p.clause || field == "SearchCondition"
	case *ast.SchemaObjectFunctionTableReference:
		p.tableArgument = p.tableArgument || field == "Parameters"
	case *ast.ColumnDefinition:
		p.nested = p.nested || field == "ComputedColumnExpression"
	case *ast.FunctionCall:
		name := ""
		if n.FunctionName != nil {
			name = token.Upper(n.FunctionName.Value)
		}
		if field == "Parameters" {
			p.aggregate = p.aggregate || aggregates[name]
			p.conditional = p.conditional || name == "ISNULL"
		}
		p.clause = p.clause || field == "OverClause"
	}
	return p
}

var aggregates = token.Words(
	"APPROX_COUNT_DISTINCT APPROX_PERCENTILE_CONT APPROX_PERCENTILE_DISC AVG CHECKSUM_AGG COUNT COUNT_BIG MAX MIN " +
		"STDEV STDEVP STRING_AGG SUM VAR VARP",
)

// judgeNode judges one node and says what it makes of the place of its parts.
func (f *finisher) judgeNode(node any, p *place) *sqlerr.Error {
	switch n := node.(type) {
	case *ast.NextValueForExpression:
		return misplacedNext(n, *p)
	case *ast.SetVariableStatement:
		return f.sameSequence(reflect.ValueOf(n.Expression), true)
	case *ast.QuerySpecification:
		if err := f.sameSequence(reflect.ValueOf(n.SelectElements), assigns(n.SelectElements)); err != nil {
			return err
		}
		p.nested, p.depth, p.stored = p.nested || !p.outer, 0, false
		p.distinct = p.distinct || strings.EqualFold(n.UniqueRowFilter, "Distinct")
		p.ordered = p.ordered || n.OrderByClause != nil
		p.limited = p.limited || n.TopRowFilter != nil || n.OffsetClause != nil
	case *ast.BinaryQueryExpression:
		p.distinct, p.nested = true, p.nested || !p.outer
	case *ast.CheckConstraintDefinition:
		p.nested, p.stored = true, true
	case *ast.FunctionCall:
		return misplacedCall(n, *p)
	case *ast.DeclareVariableElement:
		return formerLocal(n.DataType)
	case *ast.ScalarSubquery, *ast.InlineDerivedTable, *ast.CommonTableExpression, *ast.ExistsPredicate,
		*ast.CreateTypeTableStatement:
		p.nested = true
	case *ast.UpdateSpecification:
		p.change, p.limited = true, n.TopRowFilter != nil
		return dirtyTarget(n.Target, false)
	case *ast.DeleteSpecification:
		return dirtyTarget(n.Target, false)
	case *ast.InsertSpecification:
		p.limited = n.TopRowFilter != nil
		return dirtyTarget(n.Target, false)
	case *ast.MergeSpecification:
		p.change = true
		return dirtyTarget(n.Target, true)
	case *ast.SelectScalarExpression:
		if n.ColumnName != nil {
			return f.variableAsName(n.ColumnName.Identifier)
		}
	case *ast.QueryDerivedTable:
		p.nested = true
		return f.variableAsName(n.Alias)
	case *ast.NamedTableReference:
		if err := f.variableAsName(n.Alias); err != nil {
			return err
		}
		return conflictingHints(n.TableHints)
	case *ast.SearchedCaseExpression, *ast.SimpleCaseExpression, *ast.IIfCall:
		p.conditional = true
		if p.depth++; p.depth > maxCaseDepth {
			return sqlerr.New(125, 4, maxCaseDepth)
		}
	case *ast.CoalesceExpression, *ast.NullIfExpression:
		p.conditional = true
	case *ast.WindowDelimiter:
		return f.frameOffset(n)
	case *ast.PrintStatement:
		return nameToPrint(n.Expression)
	case *ast.ReturnStatement:
		if p.scalar && n.Expression == nil {
			return sqlerr.New(1075, 1)
		}
	default:
		return f.judgeModule(node, p)
	}
	return nil
}

// judgeModule judges the name and the parameters of a module.
func (f *finisher) judgeModule(node any, p *place) *sqlerr.Error {
	switch n := node.(type) {
	case *ast.CreateViewStatement:
		p.nested = true
		return ofDatabase(n.SchemaObjectName, "CREATE VIEW")
	case *ast.CreateOrAlterViewStatement:
		p.nested = true
		return ofDatabase(n.SchemaObjectName, "CREATE VIEW")
	case *ast.AlterViewStatement:
		p.nested = true
		return ofDatabase(n.SchemaObjectName, "ALTER VIEW")
	case *ast.CreateFunctionStatement:
		return ofFunction(n.Name, n.ReturnType, p)
	case *ast.CreateOrAlterFunctionStatement:
		return ofFunction(n.Name, n.ReturnType, p)
	case *ast.AlterFunctionStatement:
		return ofFunction(n.Name, n.ReturnType, p)
	case *ast.CreateTriggerStatement:
		return ofDatabase(n.Name, "CREATE TRIGGER")
	case *ast.ProcedureParameter:
		return f.badDefault(n.Value)
	case *ast.CreateProcedureStatement:
		return ofProcedure(n.ProcedureReference)
	case *ast.CreateOrAlterProcedureStatement:
		return ofProcedure(n.ProcedureReference)
	case *ast.AlterProcedureStatement:
		return ofProcedure(n.ProcedureReference)
	}
	return nil
}

func ofFunction(name *ast.SchemaObjectName, returns ast.FunctionReturnType, p *place) *sqlerr.Error {
	p.nested = true
	scalar, ok := returns.(*ast.ScalarFunctionReturnType)
	if p.scalar = ok; ok {
		if t, named := scalar.DataType.(*ast.SqlDataTypeReference); named && t != nil &&
			neverReturned[token.Upper(t.SqlDataTypeOption)] {
			return sqlerr.New(2733, 1, strings.ToLower(t.SqlDataTypeOption))
		}
	}
	return ofDatabase(name, "CREATE FUNCTION")
}

// neverReturned are the types that no function returns
// (docs/relational-databases/user-defined-functions/user-defined-functions.md, Types of functions).
var neverReturned = token.Words("TEXT NTEXT IMAGE TIMESTAMP ROWVERSION CURSOR")

// frameOffset holds the number of rows of a window's frame to what the grammar has, an integer without a sign
// (docs/t-sql/queries/select-over-clause-transact-sql.md, unsigned_value_specification).
func (f *finisher) frameOffset(n *ast.WindowDelimiter) *sqlerr.Error {
	if n.OffsetValue == nil || !n.HasSpan() {
		return nil
	}
	at := f.tokenOf(n)
	if _, ok := n.OffsetValue.(*ast.IntegerLiteral); ok && f.tokens[at].Kind == token.Integer {
		return nil
	}
	return token.Near(f.tokens, at)
}

func ofProcedure(r *ast.ProcedureReference) *sqlerr.Error {
	if r == nil {
		return nil
	}
	return ofDatabase(r.Name, "CREATE/ALTER PROCEDURE")
}

// ofDatabase refuses the name of a module that says of which database it is to be.
func ofDatabase(name *ast.SchemaObjectName, statement string) *sqlerr.Error {
	if name == nil || name.DatabaseIdentifier == nil {
		return nil
	}
	return sqlerr.New(166, 1, statement)
}

// badDefault refuses expressions where a parameter's default has to be a constant.
func (f *finisher) badDefault(value ast.ScalarExpression) *sqlerr.Error {
	switch n := value.(type) {
	case *ast.FunctionCall:
		if at := f.tokenOf(n) + 1; fragment(n).HasSpan() && f.tokens[at].Is("(") {
			return token.Near(f.tokens, at)
		}
	case *ast.BinaryExpression:
		if first := fragment(n.FirstExpression); first != nil && first.HasSpan() {
			return token.Near(f.tokens, f.lastOf(n.FirstExpression)+1)
		}
	}
	return nil
}

// nameToPrint is 128 for a name without quotes in what PRINT has to say.
func nameToPrint(e ast.ScalarExpression) *sqlerr.Error {
	switch n := e.(type) {
	case *ast.ParenthesisExpression:
		return nameToPrint(n.Expression)
	case *ast.BinaryExpression:
		if err := nameToPrint(n.FirstExpression); err != nil {
			return err
		}
		return nameToPrint(n.SecondExpression)
	case *ast.ColumnReferenceExpression:
		if m := n.MultiPartIdentifier; m != nil && len(m.Identifiers) == 1 {
			return sqlerr.New(128, 1, m.Identifiers[0].Value)
		}
	}
	return nil
}

// isolationHints are hints of which a table may have one alone, by what they ask for; NOLOCK also asks for no locks of
// any size (docs/t-sql/queries/hints-transact-sql-table.md, Remarks).
var isolationHints = map[string]string{
	"nolock":          "dirty",
	"readuncommitted": "dirty",
	"readcommitted":   "committed",
	"repeatableread":  "repeatable",
	"holdlock":        "serializable",
	"serializable":    "serializable",
}

// variableAsName refuses a variable where a column or a table is named: that is an identifier
// (docs/t-sql/queries/select-clause-transact-sql.md, column_alias).
func (f *finisher) variableAsName(name *ast.Identifier) *sqlerr.Error {
	if name == nil || !strings.HasPrefix(name.Value, "@") || !name.HasSpan() {
		return nil
	}
	if at := f.tokenOf(name); f.tokens[at].Kind == token.Variable {
		return token.Near(f.tokens, at)
	}
	return nil
}

var sizeHints = map[string]string{
	"nolock":          "none",
	"readuncommitted": "none",
	"rowlock":         "row",
	"paglock":         "page",
	"tablock":         "table",
	"tablockx":        "table",
}

func conflictingHints(hints []ast.TableHintType) *sqlerr.Error {
	isolation, size := "", ""
	for _, hint := range hints {
		h, ok := hint.(*ast.TableHint)
		if !ok {
			continue
		}
		kind := strings.ToLower(h.HintKind)
		for chosen, choices := range map[*string]map[string]string{&isolation: isolationHints, &size: sizeHints} {
			choice := choices[kind]
			if choice != "" && *chosen != "" && *chosen != choice {
				return sqlerr.New(1047, 1)
			}
			if choice != "" {
				*chosen = choice
			}
		}
	}
	return nil
}

// dirtyTarget refuses to read what a statement changes without locks, and hints that say how to find it, of which MERGE
// alone takes INDEX (docs/t-sql/queries/hints-transact-sql-table.md, Table_Hint_Limited;
// docs/t-sql/statements/merge-transact-sql.md, merge_hint). Hints in FROM are passed over there.
func dirtyTarget(target ast.TableReference, merged bool) *sqlerr.Error {
	n, ok := target.(*ast.NamedTableReference)
	if !ok {
		return nil
	}
	for _, hint := range n.TableHints {
		switch h := hint.(type) {
		case *ast.TableHint:
			if isolationHints[strings.ToLower(h.HintKind)] == "dirty" {
				return sqlerr.New(1065, 1)
			}
		case *ast.IndexTableHint:
			if !merged {
				return sqlerr.New(1069, 1)
			}
		case *ast.ForceSeekTableHint:
			return sqlerr.New(10724, 1)
		}
	}
	return nil
}

// misplacedNext judges NEXT VALUE FOR (docs/t-sql/functions/next-value-for-transact-sql.md, Limitations and
// restrictions).
func misplacedNext(n *ast.NextValueForExpression, p place) *sqlerr.Error {
	number := int32(0)
	switch o := n.OverClause; {
	case p.exempt:
	case p.tableArgument:
		number = 11724
	case p.ofMerge && p.clause:
		number = 11722
	case p.ofMerge:
		number = 11742
	case p.sole && n.SequenceName != nil && n.SequenceName.DatabaseIdentifier != nil:
		number = 11730
	case p.nested:
		number = 11719
	case p.conditional:
		number = 11741
	case p.aggregate:
		number = 11725
	case p.clause:
		number = 11720
	case p.distinct:
		number = 11721
	case o != nil && p.change:
		number = 11717
	case o != nil && o.OrderByClause == nil && len(o.Partitions) == 0 && o.WindowName == nil:
		number = 11718
	case o != nil && len(o.Partitions) > 0:
		number = 11716
	case o != nil && o.WindowFrameClause != nil:
		number = 11737
	case p.ordered && o == nil:
		number = 11723
	case p.limited:
		number = 11739
	}
	if number == 0 {
		return nil
	}
	return sqlerr.New(number, 1)
}

// misplacedCall judges functions that some places alone have: aggregates not in a constraint (175), NEWSEQUENTIALID as
// a column's default (302; docs/t-sql/functions/newsequentialid-transact-sql.md).
func misplacedCall(n *ast.FunctionCall, p place) *sqlerr.Error {
	if n.FunctionName == nil || n.CallTarget != nil {
		return nil
	}
	switch name := token.Upper(n.FunctionName.Value); {
	case name == "NEWSEQUENTIALID" && !p.sole:
		return sqlerr.New(302, 0)
	case p.stored && aggregates[name] && n.OverClause == nil:
		return sqlerr.New(175, 1)
	}
	return nil
}

// formerLocal refuses the former large types for variables; parameters may have them.
func formerLocal(t *ast.SqlDataTypeReference) *sqlerr.Error {
	if t == nil {
		return nil
	}
	switch token.Upper(t.SqlDataTypeOption) {
	case "TEXT", "NTEXT", "IMAGE":
		return sqlerr.New(2739, 1)
	}
	return nil
}
