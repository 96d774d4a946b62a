// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"slices"
	"sort"

	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/bind"
	"geosql.dev/standin/metadata"
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/syntax"
	"geosql.dev/standin/tds"
)

// createSchema is CREATE SCHEMA with its elements: all of it is kept, or nothing
// (docs/t-sql/statements/create-schema-transact-sql.md, Remarks).
func (s *Session) createSchema(ctx context.Context, n *ast.CreateSchemaStatement, w tds.Writer) error {
	if n.Name == nil {
		return s.schemaWithoutName(ctx, n)
	}
	return s.Atomically(ctx, func() error {
		if err := s.addSchema(ctx, n); err != nil {
			return err
		}
		s.newSchema = n.Name.Value
		defer func() { s.newSchema = "" }()
		for _, element := range schemaElements(n) {
			s.line, s.frame().node = syntax.Line(element), element
			if err := s.dispatch(ctx, element, w); err != nil {
				return withConsequence(element, err)
			}
		}
		return nil
	})
}

// schemaWithoutName is CREATE SCHEMA AUTHORIZATION owner, which is no error and makes no schema
// (docs/t-sql/statements/create-schema-transact-sql.md, Remarks).
func (s *Session) schemaWithoutName(ctx context.Context, n *ast.CreateSchemaStatement) error {
	if len(listOf(n.StatementList)) > 0 {
		return unsupported("CREATE SCHEMA with elements and without a name")
	}
	return s.RequireDDL(ctx, bind.ObjectName{}, "CREATE SCHEMA")
}

// withConsequence is what came of an element that is no statement by itself.
func withConsequence(element ast.Statement, err error) error {
	if e := (*sqlerr.Error)(nil); errors.As(err, &e) {
		if then := consequence(element, e); then != nil {
			return sqlerr.Together([]*sqlerr.Error{e, then})
		}
	}
	return err
}

// schemaElements are the elements in the order in which they are made, which may be listed in any: tables, their
// foreign keys to tables that come later, views, and permissions.
func schemaElements(n *ast.CreateSchemaStatement) []ast.Statement {
	var tables, keys, views, rest []ast.Statement
	all := listOf(n.StatementList)
	for i, st := range all {
		switch st := st.(type) {
		case *ast.CreateTableStatement:
			table, add := withoutKeysTo(laterTables(all[i+1:]), st)
			tables = append(tables, table)
			if add != nil {
				keys = append(keys, add)
			}
		case *ast.CreateViewStatement:
			views = append(views, st)
		default:
			rest = append(rest, st)
		}
	}
	return slices.Concat(tables, keys, views, rest)
}

func laterTables(list []ast.Statement) map[string]bool {
	names := map[string]bool{}
	for _, st := range list {
		if table, ok := st.(*ast.CreateTableStatement); ok {
			names[lower(bind.NameOf(table.SchemaObjectName).Name)] = true
		}
	}
	return names
}

// withoutKeysTo takes the foreign keys to tables that are not there yet out of CREATE TABLE, into a statement that adds
// them, nil for none. The statement stays as it is: batches are kept parsed.
func withoutKeysTo(later map[string]bool, n *ast.CreateTableStatement) (*ast.CreateTableStatement, ast.Statement) {
	if n.Definition == nil || len(later) == 0 {
		return n, nil
	}
	table, definition := *n, *n.Definition
	definition.TableConstraints, definition.ColumnDefinitions = nil, nil
	var keys []ast.TableConstraint
	for _, c := range n.Definition.TableConstraints {
		if key, ok := c.(*ast.ForeignKeyConstraintDefinition); ok && later[lower(bind.NameOf(key.ReferenceTableName).Name)] {
			keys = append(keys, key)
			continue
		}
		definition.TableConstraints = append(definition.TableConstraints, c)
	}
	for _, c := range n.Definition.ColumnDefinitions {
		column := *c
		column.Constraints = nil
		for _, x := range c.Constraints {
			if key, ok := x.(*ast.ForeignKeyConstraintDefinition); ok && later[lower(bind.NameOf(key.ReferenceTableName).Name)] {
				ofTable := *key
				ofTable.Columns = []*ast.Identifier{c.ColumnIdentifier}
				keys = append(keys, &ofTable)
				continue
			}
			column.Constraints = append(column.Constraints, x)
		}
		definition.ColumnDefinitions = append(definition.ColumnDefinitions, &column)
	}
	if len(keys) == 0 {
		return n, nil
	}
	table.Definition = &definition
	add := &ast.AlterTableAddTableElementStatement{
		Fragment:         n.Fragment,
		SchemaObjectName: n.SchemaObjectName,
		Definition:       &ast.TableDefinition{TableConstraints: keys},
	}
	return &table, add
}

// addSchema makes the schema itself.
func (s *Session) addSchema(ctx context.Context, n *ast.CreateSchemaStatement) error {
	if err := s.RequireDDL(ctx, bind.ObjectName{}, "CREATE SCHEMA"); err != nil {
		return err
	}
	u, err := s.userIn(ctx, s.db)
	if err != nil {
		return err
	}
	owner := int64(u.ID)
	if n.Owner != nil {
		if owner, err = s.principalID(ctx, n.Owner.Value); err != nil {
			return err
		}
	}
	return s.ChangeSchema(ctx, bind.ObjectName{}, func(d *SchemaChange) error {
		if d.sch.SchemaByName(n.Name.Value) != nil {
			return sqlerr.New(2714, 6, n.Name.Value)
		}
		ids := make([]int, 0, len(d.sch.Schemas))
		for id := range d.sch.Schemas {
			if id < 16384 {
				ids = append(ids, int(id))
			}
		}
		sort.Ints(ids)
		id := int64(ids[len(ids)-1] + 1)
		d.sch.Schemas[int32(id)] = &metadata.Schema{ID: int32(id), Name: n.Name.Value, Principal: int32(owner)}
		return d.Exec("INSERT INTO __schemas VALUES (?, ?, ?)", id, n.Name.Value, owner)
	})
}
