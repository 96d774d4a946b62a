// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"fmt"
	"reflect"
	"strings"

	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/bind"
	"geosql.dev/standin/metadata"
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/sqltype"
	"geosql.dev/standin/syntax"
)

// undeclared finds the types of the parameters of a batch that sp_describe_undeclared_parameters asks for. A type is
// taken from the column or the procedure's parameter that a parameter meets; of expressions, only the operand beside it
// is looked at, and what cannot be told is error 11503, as documented for types that cannot be deduced.
type undeclared struct {
	ctx      context.Context
	s        *Session
	declared map[string]bool
	order    []string
	names    map[string]string
	types    map[string]describedType
	// formal are the names that a call gives to its arguments.
	formal map[*ast.VariableReference]bool
	err    error
	// tables are those of the statement at hand, by alias and name.
	tables map[string]map[string]describedType
}

// describedType is a type as the catalog views have it.
type describedType struct {
	typ    sqltype.Type
	output bool
	formal string
	// table is a type of CREATE TYPE ... AS TABLE, of the schema of that name.
	table  *metadata.Object
	schema string
}

// known tells that there is a type.
func (d describedType) known() bool { return d.typ.Kind != sqltype.Unknown || d.table != nil }

// declaration is the type as a list of parameters has it.
func (d describedType) declaration() string {
	if d.table == nil {
		return d.typ.String()
	}
	return syntax.QuoteName(d.schema) + "." + syntax.QuoteName(d.table.TypeName()) + " READONLY"
}

func describeUndeclared(ctx context.Context, c *ProcCall) error {
	text := c.String("@tsql")
	declarations, perr := syntax.ParseParameters(c.String("@params"))
	if perr != nil {
		return perr
	}
	u, err := c.Session.undeclaredParameters(ctx, text, declarations)
	if err != nil {
		return err
	}
	for _, name := range u.order {
		if _, ok := u.types[name]; !ok {
			return &sqlerr.Error{Number: 11503, Class: 16, State: 1,
				Message: fmt.Sprintf(
					"The parameter type cannot be deduced because no expression beside the parameter '%s' has a type; declare it "+
						"in @params.",
					u.names[name],
				)}
		}
	}
	return u.result(c)
}

// undeclaredParameters are those of a batch that the declarations lack, with the types that they meet.
func (s *Session) undeclaredParameters(
	ctx context.Context,
	text string,
	declarations []syntax.Parameter,
) (*undeclared, error) {
	batch, err := s.batches.parse(text, "describe", s.settings.options["QuotedIdentifier"])
	if err != nil {
		return nil, err
	}
	u := &undeclared{
		ctx:      ctx,
		s:        s,
		declared: map[string]bool{},
		names:    map[string]string{},
		types:    map[string]describedType{},
		formal:   map[*ast.VariableReference]bool{},
	}
	for _, d := range declarations {
		u.declared[lower(d.Name)] = true
	}
	for _, st := range batch.Statements {
		u.tables = map[string]map[string]describedType{}
		u.collectTables(reflect.ValueOf(st.Node))
		u.walk(reflect.ValueOf(st.Node))
	}
	return u, u.err
}

// declare adds to a list of declarations the parameters that it lacks and whose types can be told.
func (u *undeclared) declare(params string) string {
	list := []string{}
	if params != "" {
		list = append(list, params)
	}
	for _, name := range u.order {
		if d, ok := u.types[name]; ok {
			list = append(list, u.names[name]+" "+d.declaration())
		}
	}
	return strings.Join(list, ", ")
}

const undeclaredColumns = "parameter_ordinal int, name sysname, suggested_system_type_id int, " +
	"suggested_system_type_name nvarchar(256), suggested_max_length smallint, " +
	"suggested_precision tinyint, suggested_scale tinyint, suggested_user_type_id int, suggested_user_type_database " +
	"sysname, suggested_user_type_schema sysname, " +
	"suggested_user_type_name sysname, suggested_assembly_qualified_type_name nvarchar(4000), " +
	"suggested_xml_collection_id int, suggested_xml_collection_database sysname, " +
	"suggested_xml_collection_schema sysname, suggested_xml_collection_name sysname, suggested_is_xml_document bit, " +
	"suggested_is_case_sensitive bit, " +
	"suggested_is_fixed_length_clr_type bit, suggested_is_input bit, suggested_is_output bit, formal_parameter_name " +
	"sysname, suggested_tds_type_id int, suggested_tds_length int"

// tableTypeID is system_type_id of table types in sys.types, and the token of table-valued parameters ([MS-TDS]
// 2.2.5.5.5).
const tableTypeID int64 = 243

func (u *undeclared) result(c *ProcCall) error {
	rows := make([][]any, len(u.order))
	for i, name := range u.order {
		d := u.types[name]
		if d.table != nil {
			rows[i] = []any{
				int64(i + 1),
				u.names[name],
				tableTypeID,
				nil,
				int64(-1),
				int64(0),
				int64(0),
				d.table.UserTypeID(),
				c.Session.Database(),
				d.schema,
				d.table.TypeName(),
				nil,
				nil,
				nil,
				nil,
				nil,
				false,
				false,
				false,
				true,
				false,
				TextOrNull(d.formal),
				tableTypeID,
				nil,
			}
			continue
		}
		t := d.typ
		id, length := tdsTypeOf(t)
		rows[i] = []any{
			int64(i + 1),
			u.names[name],
			t.SystemTypeID(),
			t.String(),
			int64(t.MaxBytes()),
			int64(t.DisplayPrecision()),
			int64(t.DisplayScale()),
			nil,
			nil,
			nil,
			nil,
			nil,
			nil,
			nil,
			nil,
			nil,
			false,
			false,
			false,
			true,
			d.output,
			TextOrNull(d.formal),
			id,
			length,
		}
	}
	return c.ResultSet(columns(undeclaredColumns), rows)
}

// tdsTypeOf is a type's token of the protocol and its length in bytes, 65535 for (max) ([MS-TDS] 2.2.5.4).
func tdsTypeOf(t sqltype.Type) (id, length int64) {
	tokens := map[sqltype.Kind]int64{
		sqltype.Bit: 104, sqltype.TinyInt: 38, sqltype.SmallInt: 38, sqltype.Int: 38, sqltype.BigInt: 38,
		sqltype.SmallMoney: 110, sqltype.Money: 110,
		sqltype.Real: 109, sqltype.Float: 109, sqltype.SmallDateTime: 111, sqltype.DateTime: 111, sqltype.Decimal: 106,
		sqltype.RowVersion: 173}
	length = int64(t.MaxBytes())
	if length < 0 {
		length = 65535
	}
	if t.Kind == sqltype.Decimal {
		length = 17
	}
	if id = tokens[t.Kind]; id == 0 {
		id = t.SystemTypeID()
	}
	return id, length
}

// note records a parameter with the type that it meets.
func (u *undeclared) note(e ast.ScalarExpression, d describedType, known bool) {
	for {
		p, ok := e.(*ast.ParenthesisExpression)
		if !ok {
			break
		}
		e = p.Expression
	}
	v, ok := e.(*ast.VariableReference)
	if !ok || !known || u.declared[lower(v.Name)] {
		return
	}
	u.mention(v.Name)
	if _, ok := u.types[lower(v.Name)]; !ok {
		u.types[lower(v.Name)] = d
	}
}

func (u *undeclared) mention(name string) {
	if k := lower(name); u.names[k] == "" && !u.declared[k] {
		u.names[k], u.order = name, append(u.order, k)
	}
}

// typeOf is the type of an expression: a column, a conversion or a literal.
func (u *undeclared) typeOf(e ast.ScalarExpression) (describedType, bool) {
	switch n := e.(type) {
	case *ast.ParenthesisExpression:
		return u.typeOf(n.Expression)
	case *ast.ColumnReferenceExpression:
		if n.MultiPartIdentifier == nil {
			return describedType{}, false
		}
		return u.column(bind.Identifiers(n.MultiPartIdentifier))
	case *ast.IntegerLiteral:
		return describedType{typ: sqltype.IntType}, true
	case *ast.StringLiteral:
		if n.IsNational {
			return describedType{typ: sqltype.NVarCharOf(4000)}, true
		}
		return describedType{typ: sqltype.Type{Kind: sqltype.VarChar, Length: 8000}}, true
	case *ast.BinaryExpression:
		if d, ok := u.typeOf(n.FirstExpression); ok {
			return d, true
		}
		return u.typeOf(n.SecondExpression)
	case *ast.CastCall:
		return u.castType(n.DataType)
	case *ast.ConvertCall:
		return u.castType(n.DataType)
	}
	return describedType{}, false
}

func (u *undeclared) castType(r ast.DataTypeReference) (describedType, bool) {
	t, err := bind.DataTypeOf(r, true)
	return describedType{typ: t}, err == nil
}

// column finds a column by its name, with or without its table's name or alias.
func (u *undeclared) column(parts []string) (describedType, bool) {
	name := lower(parts[len(parts)-1])
	if len(parts) > 1 {
		d, ok := u.tables[lower(parts[len(parts)-2])][name]
		return d, ok
	}
	for _, t := range u.tables {
		if d, ok := t[name]; ok {
			return d, true
		}
	}
	return describedType{}, false
}

// collectTables notes the columns of every table that a statement names.
func (u *undeclared) collectTables(v reflect.Value) {
	bind.EachNode(v, func(node any) {
		n, ok := node.(*ast.NamedTableReference)
		if !ok || n.SchemaObject == nil {
			return
		}
		name := bind.NameOf(n.SchemaObject)
		columns := map[string]describedType{}
		if o := u.object(name); o != nil && o.Table != nil {
			for _, c := range o.Table.Columns {
				columns[lower(c.Name)] = describedType{typ: c.Type}
			}
		} else if v := u.s.findView(name); o == nil && v != nil {
			for _, c := range v.Columns {
				columns[lower(c.Name)] = describedType{typ: c.Type}
			}
		} else {
			return
		}
		u.tables[lower(name.Name)] = columns
		if n.Alias != nil {
			u.tables[lower(n.Alias.Value)] = columns
		}
	})
}

// object is a user object, nil when there is none that the session may see.
func (u *undeclared) object(name bind.ObjectName) (o *metadata.Object) {
	s := u.s
	b := newBinder(u.ctx, s, s.db.ID())
	err := bind.Safely(func() { _, _, o = b.Resolve(name) })
	switch {
	case u.err != nil:
	case err != nil:
		u.err = err
	case o == nil && s.findView(name) == nil:
		u.err = sqlerr.New(208, 1, name.String())
	}
	return o
}

// walk notes the parameters of a statement where they meet something with a type.
func (u *undeclared) walk(v reflect.Value) {
	bind.EachNode(v, func(node any) {
		switch n := node.(type) {
		case *ast.VariableReference:
			if !u.formal[n] {
				u.mention(n.Name)
			}
		case *ast.ExecuteParameter:
			u.formal[n.Variable] = true
		case *ast.DeclareVariableElement:
			u.declared[lower(n.VariableName.Value)] = true
		case *ast.InsertSpecification:
			u.inserted(n)
		case *ast.AssignmentSetClause:
			if n.Column != nil {
				u.meet(n.NewValue, n.Column)
			}
		case *ast.BooleanComparisonExpression:
			u.meet(n.FirstExpression, n.SecondExpression)
			u.meet(n.SecondExpression, n.FirstExpression)
		case *ast.BinaryExpression:
			u.meet(n.FirstExpression, n.SecondExpression)
			u.meet(n.SecondExpression, n.FirstExpression)
		case *ast.BooleanTernaryExpression:
			u.meet(n.SecondExpression, n.FirstExpression)
			u.meet(n.ThirdExpression, n.FirstExpression)
			u.meet(n.FirstExpression, n.SecondExpression)
		case *ast.BooleanInExpression:
			for _, e := range n.Values {
				u.meet(e, n.Expression)
			}
		case *ast.BooleanLikeExpression:
			u.meet(n.SecondExpression, n.FirstExpression)
		case *ast.TopRowFilter:
			u.note(n.Expression, describedType{typ: sqltype.BigIntType}, true)
		case *ast.CastCall:
			d, ok := u.castType(n.DataType)
			u.note(n.Parameter, d, ok)
		case *ast.ConvertCall:
			d, ok := u.castType(n.DataType)
			u.note(n.Parameter, d, ok)
		case *ast.ExecutableProcedureReference:
			u.executed(n)
		}
	})
}

func (u *undeclared) meet(parameter, other ast.ScalarExpression) {
	d, ok := u.typeOf(other)
	u.note(parameter, d, ok)
}

// inserted gives the values of an INSERT the types of their columns.
func (u *undeclared) inserted(n *ast.InsertSpecification) {
	target, ok := n.Target.(*ast.NamedTableReference)
	if !ok || target.SchemaObject == nil {
		return
	}
	values, ok := n.InsertSource.(*ast.ValuesInsertSource)
	o := u.object(bind.NameOf(target.SchemaObject))
	if !ok || o == nil || o.Table == nil {
		return
	}
	var types []describedType
	if len(n.Columns) > 0 {
		for _, c := range n.Columns {
			d := u.tables[lower(o.Name)][lower(last(bind.Identifiers(c.MultiPartIdentifier)))]
			types = append(types, d)
		}
	} else {
		for _, c := range o.Table.Columns {
			if c.Identity == nil && c.Computed == "" {
				types = append(types, describedType{typ: c.Type})
			}
		}
	}
	for _, row := range values.RowValues {
		for i, e := range row.ColumnValues {
			if i < len(types) {
				u.note(e, types[i], types[i].typ.Kind != sqltype.Unknown)
			}
		}
	}
}

func last(parts []string) string {
	if len(parts) == 0 {
		return ""
	}
	return parts[len(parts)-1]
}

// executed gives the arguments of a procedure the types of its parameters.
func (u *undeclared) executed(n *ast.ExecutableProcedureReference) {
	if n.ProcedureReference == nil || n.ProcedureReference.ProcedureReference == nil {
		return
	}
	for i, a := range n.Parameters {
		for j, p := range u.parametersOf(bind.NameOf(n.ProcedureReference.ProcedureReference.Name)) {
			if (a.Variable == nil && i == j) || (a.Variable != nil && strings.EqualFold(a.Variable.Name, p.formal)) {
				p.output = a.IsOutput
				u.note(a.ParameterValue, p, p.known())
			}
		}
	}
}

// parametersOf are the parameters of a procedure, the system's or a user's.
func (u *undeclared) parametersOf(name bind.ObjectName) []describedType {
	var out []describedType
	if p, _ := u.s.findProcedure(name); p != nil {
		for _, parameter := range p.Parameters {
			out = append(out, describedType{typ: parameter.Type, formal: parameter.Name})
		}
		return out
	}
	o := u.object(name)
	if o == nil {
		return nil
	}
	_, node, perr := bind.ParseModule(o)
	if perr != nil {
		return nil
	}
	for _, parameter := range bind.ModuleOf(node).Parameters {
		d := describedType{formal: parameter.VariableName.Value}
		if named, ok := parameter.DataType.(*ast.UserDataTypeReference); ok {
			d.typ, d.table, d.schema = u.userTyped(bind.NameOf(named.Name))
		}
		if !d.known() {
			d.typ, _ = bind.DataTypeOf(parameter.DataType, false)
		}
		out = append(out, d)
	}
	return out
}

// userTyped is a type of CREATE TYPE: the one that an alias stands for, or a table type and its schema.
func (u *undeclared) userTyped(name bind.ObjectName) (sqltype.Type, *metadata.Object, string) {
	o := u.s.userType(u.ctx, name)
	switch sch, err := u.s.schema(u.ctx, u.s.db.ID()); {
	case o == nil || err != nil:
		return sqltype.Type{}, nil, ""
	case o.Kind == metadata.KindAlias:
		return o.Table.Columns[0].Type, nil, ""
	default:
		return sqltype.Type{}, o, sch.SchemaName(o)
	}
}
