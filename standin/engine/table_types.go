// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"strings"

	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/bind"
	"geosql.dev/standin/metadata"
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/sqltype"
	"geosql.dev/standin/tds"
)

// userType is a type that CREATE TYPE has made; nil when there is none of that name.
func (s *Session) userType(ctx context.Context, name bind.ObjectName) *metadata.Object {
	sch, err := s.schema(ctx, s.db.ID())
	if err != nil || name.Name == "" {
		return nil
	}
	name.Name = metadata.AliasTypePrefix + name.Name
	return s.lookUp(s.db.ID(), sch, name)
}

// aliasType is a type made by CREATE TYPE ... FROM; nil when there is none.
func (s *Session) aliasType(ctx context.Context, name bind.ObjectName) *sqltype.Type {
	if o := s.userType(ctx, name); o != nil && o.Kind == metadata.KindAlias {
		return &o.Table.Columns[0].Type
	}
	return nil
}

// tableType is a type made by CREATE TYPE ... AS TABLE; nil when there is none.
func (s *Session) tableType(ctx context.Context, name bind.ObjectName) *metadata.Object {
	if o := s.userType(ctx, name); o != nil && o.Kind == metadata.KindTableType {
		return o
	}
	return nil
}

// TableOfDefinition makes a table that lives as long as the running batch or module.
func (s *Session) TableOfDefinition(
	ctx context.Context,
	variable string,
	def *ast.TableDefinition,
) (*metadata.Object, error) {
	var o *metadata.Object
	full := bind.ObjectName{Name: variableTableName(variable, s.frame())}
	err := s.ChangeSchema(ctx, full, func(d *SchemaChange) (err error) {
		if old := d.sch.Named(1, full.Name); old != nil {
			if err := d.run("DROP TABLE IF EXISTS " + old.StorageName()); err != nil {
				return err
			}
			if err := d.Remove(old); err != nil {
				return err
			}
		}
		o, err = d.makeTable(full, def, nil)
		return err
	})
	return o, err
}

// typedTable makes an empty table of a type for a variable or parameter of the frame f.
func (s *Session) typedTable(
	ctx context.Context,
	f *frame,
	variable string,
	t *metadata.Object,
) (*metadata.Object, error) {
	batch, node, perr := bind.ParseModule(t)
	if perr != nil {
		return nil, perr
	}
	def, ok := node.(*ast.CreateTypeTableStatement)
	if !ok {
		return nil, sqlerr.New(4413, 1, t.TypeName())
	}
	outer := f.batch
	f.batch = batch // the texts of its constraints are in the type's definition
	s.frames = append(s.frames, f)
	o, err := s.TableOfDefinition(ctx, variable, def.Definition)
	s.frames = s.frames[:len(s.frames)-1]
	f.batch = outer
	return o, err
}

// typeNameIn is the name of a type in a declaration.
func (s *Session) typeNameIn(node ast.DataTypeReference) bind.ObjectName {
	switch n := node.(type) {
	case *ast.UserDataTypeReference:
		return bind.NameOf(n.Name)
	case *ast.SqlDataTypeReference:
		switch f := s.frame(); {
		case n == nil || n.SqlDataTypeOption != "":
		case n.Name != nil:
			return bind.NameOf(n.Name)
		case f != nil && f.batch != nil:
			return bind.SplitName(f.batch.TextOf(n))
		}
	}
	return bind.ObjectName{}
}

// declareTyped declares a variable of a table type; false when the type is none.
func (s *Session) declareTyped(ctx context.Context, name string, d *ast.DeclareVariableElement) (bool, error) {
	if d.DataType == nil {
		return false, nil
	}
	t := s.tableType(ctx, s.typeNameIn(d.DataType))
	if t == nil {
		return false, nil
	}
	if d.Value != nil {
		return true, sqlerr.New(206, 2, t.TypeName(), "table")
	}
	if v := s.variable(name); v != nil && v.table != nil {
		return true, nil
	}
	o, err := s.typedTable(ctx, s.frame(), name, t)
	if err != nil {
		return true, err
	}
	v := s.declare(name, o.Table.Columns[0].Type, nil)
	v.table, v.tableType = o, t
	return true, nil
}

// tableArgument makes the variable of a parameter of a table type: the caller's table, the rows that a client has sent,
// or no rows (docs/relational-databases/tables/use-table-valued-parameters-database-engine.md).
func (s *Session) tableArgument(
	ctx context.Context,
	f *frame,
	name string,
	t *metadata.Object,
	a *argument,
) (*variable, error) {
	v := &variable{name: name, typ: t.Table.Columns[0].Type, tableType: t, readOnly: true}
	f.variables[lower(name)] = v
	if a != nil && a.table != nil && a.table.table != nil {
		if a.table.tableType == nil || a.table.tableType.ID != t.ID {
			return nil, sqlerr.New(206, 2, "table", t.TypeName())
		}
		v.table = a.table.table
		return v, nil
	}
	// A call that is described alone has no rows to give.
	described := s.settings.fmtOnly && a != nil && a.typ.Kind == sqltype.Unknown
	if a != nil && !a.isDefault && a.rows == nil && !described {
		return nil, sqlerr.New(206, 2, a.typ.Kind, t.TypeName())
	}
	o, err := s.typedTable(ctx, f, name, t)
	if err != nil {
		return nil, err
	}
	v.table = o
	if a == nil || a.rows == nil {
		return v, nil
	}
	return v, s.fillTyped(ctx, o, a.rows)
}

// fillTyped stores the rows of a table-valued parameter.
func (s *Session) fillTyped(ctx context.Context, o *metadata.Object, rows *tds.Table) error {
	if len(rows.Columns) == 0 {
		return nil
	}
	if len(rows.Columns) != len(o.Table.Columns) {
		return sqlerr.New(500, 1, len(rows.Columns), len(o.Table.Columns))
	}
	var columns []*metadata.Column
	var types []tds.Column
	var at []int
	sent := -1
	for i, c := range o.Table.Columns {
		if rows.Default[i] {
			continue
		}
		if sent++; c.Computed != "" || c.Identity != nil {
			continue
		}
		columns, types, at = append(columns, c), append(types, rows.Columns[i]), append(at, sent)
	}
	list := make([][]any, len(rows.Rows))
	for i, row := range rows.Rows {
		list[i] = make([]any, len(at))
		for j, from := range at {
			list[i][j] = row[from]
		}
	}
	_, err := s.insertValues(ctx, bind.TempSpace, o, columns, types, list, false)
	return err
}

// checkTableParameters are the rules for a module's parameters of table types: 352 and 346.
func (s *Session) checkTableParameters(ctx context.Context, params []*ast.ProcedureParameter) error {
	for _, p := range params {
		readOnly := strings.EqualFold(p.Modifier, "ReadOnly")
		switch t := s.tableType(ctx, s.typeNameIn(p.DataType)); {
		case t != nil && !readOnly:
			return sqlerr.New(352, 1, p.VariableName.Value)
		case t == nil && readOnly:
			return sqlerr.New(346, 1, p.VariableName.Value)
		}
	}
	return nil
}

// UserOfType is an object that has a column or parameter of a type; nil when there is none.
func UserOfType(s *metadata.Catalog, t *metadata.Object) *metadata.Object {
	for _, o := range s.Sorted() {
		if o.Table != nil && o.ID != t.ID {
			for _, c := range o.Table.Columns {
				if c.UserTypeID == t.UserTypeID() {
					return o
				}
			}
		}
		if !o.TakesParameters() {
			continue
		}
		_, node, err := bind.ParseModule(o)
		if err != nil {
			continue
		}
		for _, p := range bind.ModuleOf(node).Parameters {
			if u, ok := p.DataType.(*ast.UserDataTypeReference); ok &&
				strings.EqualFold(bind.NameOf(u.Name).Name, t.TypeName()) {
				return o
			}
		}
	}
	return nil
}

// AliasOf is the system type that a type's name in a statement is an alias of; nil when it is none.
func (s *Session) AliasOf(ctx context.Context, node ast.DataTypeReference) *sqltype.Type {
	return s.aliasType(ctx, s.typeNameIn(node))
}
