// SPDX-License-Identifier: Apache-2.0

package syntax

import (
	"reflect"

	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/syntax/token"
)

// required are fields that no node of their type is without, although teesql makes such nodes of halves of statements.
var required = map[reflect.Type][]string{
	nodeType[ast.QuerySpecification]():                 {"SelectElements"},
	nodeType[ast.BinaryQueryExpression]():              {"FirstQueryExpression", "SecondQueryExpression"},
	nodeType[ast.SelectStatement]():                    {"QueryExpression"},
	nodeType[ast.QueryDerivedTable]():                  {"QueryExpression"},
	nodeType[ast.ScalarSubquery]():                     {"QueryExpression"},
	nodeType[ast.ExistsPredicate]():                    {"Subquery"},
	nodeType[ast.CommonTableExpression]():              {"ExpressionName", "QueryExpression"},
	nodeType[ast.QualifiedJoin]():                      {"FirstTableReference", "SecondTableReference", "SearchCondition"},
	nodeType[ast.UnqualifiedJoin]():                    {"FirstTableReference", "SecondTableReference"},
	nodeType[ast.FromClause]():                         {"TableReferences"},
	nodeType[ast.NamedTableReference]():                {"SchemaObject"},
	nodeType[ast.WhereClause]():                        {},
	nodeType[ast.PivotedTableReference]():              {"Alias"},
	nodeType[ast.UnpivotedTableReference]():            {"Alias"},
	nodeType[ast.HavingClause]():                       {"SearchCondition"},
	nodeType[ast.GroupByClause]():                      {"GroupingSpecifications"},
	nodeType[ast.OrderByClause]():                      {"OrderByElements"},
	nodeType[ast.ExpressionWithSortOrder]():            {"Expression"},
	nodeType[ast.TopRowFilter]():                       {"Expression"},
	nodeType[ast.SelectScalarExpression]():             {"Expression"},
	nodeType[ast.BinaryExpression]():                   {"FirstExpression", "SecondExpression"},
	nodeType[ast.UnaryExpression]():                    {"Expression"},
	nodeType[ast.ParenthesisExpression]():              {"Expression"},
	nodeType[ast.BooleanComparisonExpression]():        {"FirstExpression", "SecondExpression"},
	nodeType[ast.BooleanBinaryExpression]():            {"FirstExpression", "SecondExpression"},
	nodeType[ast.BooleanNotExpression]():               {"Expression"},
	nodeType[ast.BooleanParenthesisExpression]():       {"Expression"},
	nodeType[ast.BooleanIsNullExpression]():            {"Expression"},
	nodeType[ast.BooleanLikeExpression]():              {"FirstExpression", "SecondExpression"},
	nodeType[ast.BooleanTernaryExpression]():           {"FirstExpression", "SecondExpression", "ThirdExpression"},
	nodeType[ast.BooleanInExpression]():                {"Expression"},
	nodeType[ast.CastCall]():                           {"DataType", "Parameter"},
	nodeType[ast.ConvertCall]():                        {"DataType", "Parameter"},
	nodeType[ast.TryCastCall]():                        {"DataType", "Parameter"},
	nodeType[ast.TryConvertCall]():                     {"DataType", "Parameter"},
	nodeType[ast.IIfCall]():                            {"Predicate", "ThenExpression", "ElseExpression"},
	nodeType[ast.NullIfExpression]():                   {"FirstExpression", "SecondExpression"},
	nodeType[ast.CoalesceExpression]():                 {"Expressions"},
	nodeType[ast.SearchedCaseExpression]():             {"WhenClauses"},
	nodeType[ast.SimpleCaseExpression]():               {"InputExpression", "WhenClauses"},
	nodeType[ast.InsertSpecification]():                {"Target", "InsertSource"},
	nodeType[ast.RowValue]():                           {"ColumnValues"},
	nodeType[ast.UpdateSpecification]():                {"Target", "SetClauses"},
	nodeType[ast.DeleteSpecification]():                {"Target"},
	nodeType[ast.AssignmentSetClause]():                {"NewValue"},
	nodeType[ast.MergeSpecification]():                 {"Target", "TableReference", "SearchCondition", "ActionClauses"},
	nodeType[ast.MergeActionClause]():                  {"Condition", "Action"},
	nodeType[ast.UpdateMergeAction]():                  {"SetClauses"},
	nodeType[ast.InsertMergeAction]():                  {"Source"},
	nodeType[ast.OutputClause]():                       {"SelectColumns"},
	nodeType[ast.OutputIntoClause]():                   {"SelectColumns", "IntoTable"},
	nodeType[ast.ColumnDefinition]():                   {"ColumnIdentifier"},
	nodeType[ast.CheckConstraintDefinition]():          {"CheckCondition"},
	nodeType[ast.DefaultConstraintDefinition]():        {"Expression"},
	nodeType[ast.ForeignKeyConstraintDefinition]():     {"ReferenceTableName"},
	nodeType[ast.CreateTableStatement]():               {"SchemaObjectName"},
	nodeType[ast.CreateIndexStatement]():               {"Name", "OnName"},
	nodeType[ast.CreateViewStatement]():                {"SchemaObjectName", "SelectStatement"},
	nodeType[ast.CreateFunctionStatement]():            {"Name"},
	nodeType[ast.CreateProcedureStatement]():           {"ProcedureReference"},
	nodeType[ast.CreateTriggerStatement]():             {"Name", "TriggerObject", "TriggerActions"},
	nodeType[ast.ProcedureReference]():                 {"Name"},
	nodeType[ast.ProcedureParameter]():                 {"VariableName", "DataType"},
	nodeType[ast.SetVariableStatement]():               {"Variable"},
	nodeType[ast.DeclareVariableElement]():             {"VariableName", "DataType"},
	nodeType[ast.IfStatement]():                        {"Predicate", "ThenStatement"},
	nodeType[ast.WhileStatement]():                     {"Predicate", "Statement"},
	nodeType[ast.PrintStatement]():                     {"Expression"},
	nodeType[ast.RaiseErrorStatement]():                {"FirstParameter", "SecondParameter", "ThirdParameter"},
	nodeType[ast.TruncateTableStatement]():             {"TableName"},
	nodeType[ast.UseStatement]():                       {"DatabaseName"},
	nodeType[ast.DropTableStatement]():                 {"Objects"},
	nodeType[ast.DropViewStatement]():                  {"Objects"},
	nodeType[ast.DropProcedureStatement]():             {"Objects"},
	nodeType[ast.DropFunctionStatement]():              {"Objects"},
	nodeType[ast.DropTriggerStatement]():               {"Objects"},
	nodeType[ast.DropIndexStatement]():                 {"DropIndexClauses"},
	nodeType[ast.AlterTableAddTableElementStatement](): {"SchemaObjectName", "Definition"},
	nodeType[ast.AlterTableAlterColumnStatement]():     {"SchemaObjectName", "ColumnIdentifier"},
	nodeType[ast.ExecuteSpecification]():               {"ExecutableEntity"},
	nodeType[ast.ExecuteParameter]():                   {"ParameterValue"},
}

func nodeType[T any]() reflect.Type { return reflect.TypeFor[T]() }

// rowsLookedAt bounds how many rows of a VALUES list are looked at: the others are as these.
const rowsLookedAt = 16

// half finds a node that lacks what it cannot be without; it returns the innermost node with a position around it.
func half(v reflect.Value, around any, parent reflect.Type) any {
	switch v.Kind() {
	case reflect.Interface, reflect.Pointer:
		if v.IsNil() {
			return nil
		}
		if f := v.Interface(); fragment(f) != nil && fragment(f).HasSpan() {
			around = f
		}
		return half(v.Elem(), around, parent)
	case reflect.Slice:
		if k := v.Type().Elem().Kind(); k != reflect.Pointer && k != reflect.Interface {
			return nil
		}
		n := v.Len()
		if v.Type().Elem() == reflect.TypeFor[*ast.RowValue]() {
			n = min(n, rowsLookedAt)
		}
		for i := range n {
			if at := half(v.Index(i), around, parent); at != nil {
				return at
			}
		}
	case reflect.Struct:
		if v.CanAddr() && misplaced(v.Addr().Interface(), parent) {
			return around
		}
		for _, name := range required[v.Type()] {
			if empty(v.FieldByName(name)) {
				return around
			}
		}
		for i := range v.NumField() {
			field := v.Field(i)
			switch field.Kind() {
			case reflect.Interface, reflect.Pointer, reflect.Slice, reflect.Struct:
				if !v.Type().Field(i).IsExported() {
					continue
				}
				if at := half(field, around, v.Type()); at != nil {
					return at
				}
			}
		}
	}
	return nil
}

// defaultTakers are the nodes in which the word DEFAULT may stand for a value.
var defaultTakers = map[reflect.Type]bool{
	nodeType[ast.RowValue](): true, nodeType[ast.AssignmentSetClause](): true, nodeType[ast.ExecuteParameter](): true,
	nodeType[ast.FunctionCall]():                       true,
	nodeType[ast.SchemaObjectFunctionTableReference](): true, nodeType[ast.GlobalFunctionTableReference](): true,
	nodeType[ast.BuiltInFunctionTableReference](): true,
}

// keywordNames are the nodes in which teesql has keywords as identifiers: LEFT and RIGHT are functions, for one.
var keywordNames = map[reflect.Type]bool{nodeType[ast.FunctionCall](): true}

// misplaced tells whether a node may not be what it is, or not where it is.
func misplaced(node any, parent reflect.Type) bool {
	switch n := node.(type) {
	case *ast.Identifier:
		return n.QuoteType == "NotQuoted" && n.HasSpan() && token.IsKeyword(n.Value) && !keywordNames[parent]
	case *ast.ColumnReferenceExpression:
		return unnamed(n) || n.ColumnType == "Wildcard" && parent != nodeType[ast.FunctionCall]()
	case *ast.DefaultLiteral:
		return !defaultTakers[parent]
	case *ast.BooleanScalarPlaceholder:
		return true
	case *ast.FunctionCall:
		for _, p := range n.Parameters {
			if ref, ok := p.(*ast.ColumnReferenceExpression); ok && ref.ColumnType == "Wildcard" && !takesStar(n) {
				return true
			}
		}
	case *ast.CreateTableStatement:
		if n.Definition == nil {
			return n.SelectStatement == nil && !n.AsFileTable && !n.AsNode && !n.AsEdge
		}
		return len(n.Definition.ColumnDefinitions) == 0
	case *ast.ValuesInsertSource:
		return !n.IsDefaultValues && len(n.RowValues) == 0
	}
	return false
}

// isMisplaced tells a node that stands where it may not from one that lacks a part.
func isMisplaced(node any) bool {
	switch node.(type) {
	case *ast.Identifier:
		return true
	case *ast.ColumnReferenceExpression, *ast.DefaultLiteral, *ast.FunctionCall:
		return misplaced(node, nil)
	}
	return false
}

// takesStar are the functions that may be called with *.
func takesStar(n *ast.FunctionCall) bool {
	if n.FunctionName == nil {
		return false
	}
	switch token.Upper(n.FunctionName.Value) {
	case "COUNT", "COUNT_BIG", "CHECKSUM", "BINARY_CHECKSUM":
		return true
	}
	return false
}

// unnamed tells whether a reference to a column names none.
func unnamed(ref *ast.ColumnReferenceExpression) bool {
	if ref.ColumnType != "" && ref.ColumnType != "Regular" {
		return false
	}
	if ref.MultiPartIdentifier == nil || len(ref.MultiPartIdentifier.Identifiers) == 0 {
		return true
	}
	last := ref.MultiPartIdentifier.Identifiers[len(ref.MultiPartIdentifier.Identifiers)-1]
	return last == nil || last.Value == ""
}

func empty(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Slice, reflect.String:
		return v.Len() == 0
	case reflect.Interface, reflect.Pointer:
		return v.IsNil()
	}
	return false
}

// whole refuses a statement that lacks a part, near its end.
func (f *finisher) whole(node ast.Statement) {
	if IsOwn(node) {
		return
	}
	at := half(reflect.ValueOf(node), node, nil)
	if at == nil || f.err != nil {
		return
	}
	last, end := f.lastOf(at), f.lastOf(node)
	_, scalar := at.(*ast.BooleanScalarPlaceholder)
	switch {
	case scalar:
		f.err = f.noCondition(at, last+1)
	case isMisplaced(at):
		f.err = token.Near(f.tokens, f.tokenOf(at))
	case last == end, f.tokens[end].Kind == token.Punct && !f.tokens[end].Is(")"):
		f.err = token.Near(f.tokens, end)
	default:
		f.err = token.Near(f.tokens, last+1)
	}
}

// noCondition is the error of an expression where a condition has to be: 4145, and 102 in the WHERE of an index, which
// takes comparisons alone (docs/t-sql/statements/create-index-transact-sql.md, filter_predicate).
func (f *finisher) noCondition(node any, next int) *sqlerr.Error {
	before := f.tokenOf(node) - 1
	for before > 0 && f.tokens[before].Is("(") {
		before--
	}
	if f.tokens[before].Is("WHERE") {
		return token.Near(f.tokens, next)
	}
	return sqlerr.New(4145, 1, f.tokens[next].Text).At(f.tokens[next].Line)
}
