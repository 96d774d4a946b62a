// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"reflect"

	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/bind"
	"geosql.dev/standin/metadata"
	"geosql.dev/standin/sqltype"
)

// reference is an object that a module's text names.
type reference struct {
	name bind.ObjectName
	// updated and selected tell how a statement of the module uses it; called is a procedure.
	updated, selected, called bool
}

// references are the objects that the text of a module names, in its order and each once: tables and views, functions
// with a schema, and procedures. Common table expressions, temporary tables and table variables are none.
func references(o *metadata.Object) []*reference {
	_, node, err := bind.ParseModule(o)
	if err != nil {
		return nil
	}
	own, targets, list := map[string]bool{}, map[any]bool{}, []*reference(nil)
	seen := map[string]*reference{}
	note := func(name bind.ObjectName) *reference {
		key := lower(name.String())
		if name.Name == "" || name.Name[0] == '#' || name.Schema == "" && own[lower(name.Name)] {
			return &reference{}
		}
		if seen[key] == nil {
			seen[key] = &reference{name: name}
			list = append(list, seen[key])
		}
		return seen[key]
	}
	target := func(t ast.TableReference) {
		if n, ok := t.(*ast.NamedTableReference); ok {
			targets[n] = true
		}
	}
	bind.EachNode(reflect.ValueOf(node), func(n any) {
		switch n := n.(type) {
		case *ast.CommonTableExpression:
			own[lower(n.ExpressionName.Value)] = true
		case *ast.InsertSpecification:
			target(n.Target)
		case *ast.UpdateSpecification:
			target(n.Target)
		case *ast.DeleteSpecification:
			target(n.Target)
		}
	})
	if o.Kind == metadata.KindTrigger {
		own["inserted"], own["deleted"] = true, true
	}
	bind.EachNode(reflect.ValueOf(node), func(n any) {
		switch n := n.(type) {
		case *ast.NamedTableReference:
			r := note(bind.NameOf(n.SchemaObject))
			r.updated, r.selected = r.updated || targets[n], r.selected || !targets[n]
		case *ast.SchemaObjectFunctionTableReference:
			note(bind.NameOf(n.SchemaObject)).selected = true
		case *ast.FunctionCall:
			if t, ok := n.CallTarget.(*ast.MultiPartIdentifierCallTarget); ok {
				if parts := bind.Identifiers(t.MultiPartIdentifier); len(parts) == 1 {
					note(bind.ObjectName{Schema: parts[0], Name: n.FunctionName.Value}).selected = true
				}
			}
		case *ast.ExecutableProcedureReference:
			if p := n.ProcedureReference; p != nil && p.ProcedureReference != nil {
				note(bind.NameOf(p.ProcedureReference.Name)).called = true
			}
		}
	})
	return list
}

// dependencyRecords is sys.sql_expression_dependencies, by the texts of modules; constraints and computed columns are
// not searched.
func dependencyRecords(ctx context.Context, s *Session) ([]record, error) {
	sch, err := s.Catalog(ctx, s.viewDatabase())
	if err != nil {
		return nil, err
	}
	var out []record
	before := s.db
	s.db = s.viewDatabase() // names are those of the database that the view is of
	defer func() { s.db = before }()
	sight := s.Sight(ctx, s.db.ID())
	for _, o := range sch.Sorted() {
		if sight(sch, o) != SeenThrough || o.Definition == "" || o.Kind == metadata.KindCheck ||
			o.Kind == metadata.KindDefault {
			continue
		}
		for _, r := range references(o) {
			rec := record{
				"referencing_id":            o.ID,
				"referencing_minor_id":      0,
				"referencing_class":         1,
				"referencing_class_desc":    "OBJECT_OR_COLUMN",
				"is_schema_bound_reference": IsSchemaBound(o),
				"referenced_class":          1,
				"referenced_class_desc":     "OBJECT_OR_COLUMN",
				"referenced_server_name":    TextOrNull(r.name.Server),
				"referenced_database_name":  TextOrNull(r.name.Database),
				"referenced_schema_name":    TextOrNull(r.name.Schema),
				"referenced_entity_name":    r.name.Name,
				"referenced_minor_id":       0,
				"is_caller_dependent":       r.called && r.name.Schema == "",
				"is_ambiguous":              false,
				"updated":                   r.updated,
				"selected":                  r.selected,
			}
			if r.name.Server == "" && r.name.Database == "" {
				if id := s.objectIDOf(o, r.name, ""); id != nil && !(r.called && r.name.Schema == "") {
					rec["referenced_id"] = id
				}
			}
			out = append(out, rec)
		}
	}
	return out, nil
}

// installReferences registers the views and functions that tell which object names which
// (docs/relational-databases/system-catalog-views/sys-sql-expression-dependencies-transact-sql.md,
// docs/relational-databases/system-dynamic-management-views/sys-dm-sql-referenced-entities-transact-sql.md and its
// counterpart).
func installReferences(r *Registry) {
	r.RecordView(
		"",
		"sys",
		"sql_expression_dependencies",
		"referencing_id int, referencing_minor_id int, referencing_class tinyint, referencing_class_desc nvarchar(60), "+
			"is_schema_bound_reference bit, referenced_class tinyint, "+
			"referenced_class_desc nvarchar(60), referenced_server_name sysname, referenced_database_name sysname, "+
			"referenced_schema_name sysname, referenced_entity_name sysname, referenced_id int, referenced_minor_id int, "+
			"is_caller_dependent bit, is_ambiguous bit",
		dependencyRecords,
	)
	r.RecordView(
		"",
		"sys",
		"sql_dependencies",
		"class tinyint, class_desc nvarchar(60), object_id int, column_id int, referenced_major_id int, "+
			"referenced_minor_id int, is_selected bit, is_updated bit, is_select_all bit",
		func(ctx context.Context, s *Session) ([]record, error) {
			list, err := dependencyRecords(ctx, s)
			var out []record
			for _, d := range list {
				if d["referenced_id"] != nil {
					out = append(
						out,
						record{
							"class":               0,
							"class_desc":          "OBJECT_OR_COLUMN_REFERENCE_NON_SCHEMA_BOUND",
							"object_id":           d["referencing_id"],
							"column_id":           0,
							"referenced_major_id": d["referenced_id"],
							"referenced_minor_id": 0,
							"is_selected":         d["selected"],
							"is_updated":          d["updated"],
							"is_select_all":       false,
						},
					)
				}
			}
			return out, err
		},
	)
	two := []sqltype.Type{sqltype.NVarCharOf(517), sqltype.NVarCharOf(60)}
	r.TextFunction(
		"sys",
		"dm_sql_referenced_entities",
		"referencing_minor_id int, referenced_server_name sysname, referenced_database_name sysname, "+
			"referenced_schema_name sysname, referenced_entity_name sysname, referenced_minor_name sysname, "+
			"referenced_id int, referenced_minor_id int, referenced_class tinyint, referenced_class_desc nvarchar(60), "+
			"is_caller_dependent bit, is_ambiguous bit, is_selected bit, is_updated bit, is_select_all bit, "+
			"is_all_columns_found bit, "+
			"is_insert_all bit, is_incomplete bit",
		`SELECT 0, d.referenced_server_name, d.referenced_database_name, d.referenced_schema_name, d.referenced_entity_name, NULL, d.referenced_id, 0, d.referenced_class, d.referenced_class_desc, d.is_caller_dependent, d.is_ambiguous,
				ISNULL(s.is_selected, 0), ISNULL(s.is_updated, 0), CAST(0 AS bit), CAST(0 AS bit), CAST(0 AS bit), CAST(0 AS bit)
			FROM sys.sql_expression_dependencies d LEFT JOIN sys.sql_dependencies s ON s.object_id = d.referencing_id AND s.referenced_major_id = d.referenced_id WHERE d.referencing_id = OBJECT_ID(@p1) AND @p2 = 'OBJECT'`,
		two...)
	r.TextFunction(
		"sys",
		"dm_sql_referencing_entities",
		"referencing_schema_name sysname, referencing_entity_name sysname, referencing_id int, referencing_class tinyint, "+
			"referencing_class_desc nvarchar(60), is_caller_dependent bit",
		`SELECT OBJECT_SCHEMA_NAME(referencing_id), OBJECT_NAME(referencing_id), referencing_id, referencing_class, referencing_class_desc, is_caller_dependent FROM sys.sql_expression_dependencies WHERE referenced_id = OBJECT_ID(@p1) AND @p2 = 'OBJECT'`,
		two...)
	r.TextProcedure("sp_depends", "@objname! nvarchar(776)", `DECLARE @id int = OBJECT_ID(@p1);
		IF @id IS NULL BEGIN DECLARE @db sysname = DB_NAME(); RAISERROR(15009, 16, 1, @p1, @db); RETURN END
		IF NOT EXISTS (SELECT 1 FROM sys.sql_dependencies WHERE @id IN (object_id, referenced_major_id)) BEGIN PRINT 'Object does not reference any object, and no objects reference it.'; RETURN END
		IF EXISTS (SELECT 1 FROM sys.sql_dependencies WHERE object_id = @id) BEGIN
			PRINT 'In the current database, the specified object references the following:';
			SELECT CAST(OBJECT_SCHEMA_NAME(o.object_id) + N'.' + o.name AS nvarchar(776)) AS name, CAST(LOWER(REPLACE(o.type_desc, '_', ' ')) AS nvarchar(31)) AS type, CAST(IIF(d.is_updated = 1, 'yes', 'no') AS varchar(7)) AS updated,
				CAST(IIF(d.is_selected = 1, 'yes', 'no') AS varchar(8)) AS selected, CAST(NULL AS sysname) AS [column]
			FROM sys.sql_dependencies d JOIN sys.objects o ON o.object_id = d.referenced_major_id WHERE d.object_id = @id ORDER BY name END
		IF EXISTS (SELECT 1 FROM sys.sql_dependencies WHERE referenced_major_id = @id) BEGIN
			PRINT 'In the current database, the specified object is referenced by the following:';
			SELECT CAST(OBJECT_SCHEMA_NAME(o.object_id) + N'.' + o.name AS nvarchar(776)) AS name, CAST(LOWER(REPLACE(o.type_desc, '_', ' ')) AS nvarchar(31)) AS type
			FROM sys.sql_dependencies d JOIN sys.objects o ON o.object_id = d.object_id WHERE d.referenced_major_id = @id ORDER BY name END`)
}
