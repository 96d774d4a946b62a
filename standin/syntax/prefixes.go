// SPDX-License-Identifier: Apache-2.0

package syntax

import (
	"strings"

	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/syntax/fault"
	"geosql.dev/standin/syntax/token"
)

// maxDefinedPrefixes is how many names the name of an object that a statement defines or changes may have before it:
// database and schema, no server (docs/t-sql/statements/create-table-transact-sql.md and its kin, Syntax).
const maxDefinedPrefixes = 2

// prefixes refuses names with more parts than the statement's syntax has (117), and names of a database where it has
// none (166).
func (f *finisher) prefixes(node ast.Statement) {
	for _, name := range tablesDefined(node) {
		f.within(node, name, "object", maxDefinedPrefixes)
	}
	switch n := node.(type) {
	case *ast.CreateSequenceStatement:
		f.withoutDatabase(n, n.Name, "CREATE SEQUENCE")
	case *ast.AlterSequenceStatement:
		f.withoutDatabase(n, n.Name, "ALTER SEQUENCE")
	case *ast.CreateSynonymStatement:
		f.withoutDatabase(n, n.Name, "CREATE SYNONYM")
		f.within(n, n.ForName, "object", fault.MaxPrefixes)
	case *ast.CreateTypeUddtStatement:
		f.within(n, n.Name, "type", fault.MaxTypePrefixes)
	case *ast.CreateTypeTableStatement:
		f.within(n, n.Name, "type", fault.MaxTypePrefixes)
	case *ast.DropTypeStatement:
		f.within(n, n.Name, "type", fault.MaxTypePrefixes)
	case *ast.DropSchemaStatement:
		if n.Schema != nil && n.Schema.SchemaIdentifier != nil && f.err == nil {
			f.err = token.Near(f.tokens, f.tokenOf(n.Schema)+1)
		}
	}
}

// tablesDefined are the names of the tables that a statement defines or changes.
func tablesDefined(node ast.Statement) []*ast.SchemaObjectName {
	switch n := node.(type) {
	case *ast.CreateTableStatement:
		return []*ast.SchemaObjectName{n.SchemaObjectName}
	case *ast.AlterTableAddTableElementStatement:
		return []*ast.SchemaObjectName{n.SchemaObjectName}
	case *ast.AlterTableAlterColumnStatement:
		return []*ast.SchemaObjectName{n.SchemaObjectName}
	case *ast.AlterTableConstraintModificationStatement:
		return []*ast.SchemaObjectName{n.SchemaObjectName}
	case *ast.AlterTableDropTableElementStatement:
		return []*ast.SchemaObjectName{n.SchemaObjectName}
	case *ast.AlterTableRebuildStatement:
		return []*ast.SchemaObjectName{n.SchemaObjectName}
	case *ast.AlterTableSetStatement:
		return []*ast.SchemaObjectName{n.SchemaObjectName}
	case *ast.AlterTableSwitchStatement:
		return []*ast.SchemaObjectName{n.SchemaObjectName, n.TargetTable}
	case *ast.AlterTableTriggerModificationStatement:
		return []*ast.SchemaObjectName{n.SchemaObjectName}
	case *ast.DropTableStatement:
		return n.Objects
	case *ast.TruncateTableStatement:
		return []*ast.SchemaObjectName{n.TableName}
	case *ast.SelectStatement:
		return []*ast.SchemaObjectName{n.Into}
	}
	return tablesServed(node)
}

// tablesServed are the names of the tables whose indexes, statistics, triggers or options a statement is about.
func tablesServed(node ast.Statement) []*ast.SchemaObjectName {
	switch n := node.(type) {
	case *ast.CreateIndexStatement:
		return []*ast.SchemaObjectName{n.OnName}
	case *ast.AlterIndexStatement:
		return []*ast.SchemaObjectName{n.OnName}
	case *ast.DropIndexStatement:
		var names []*ast.SchemaObjectName
		for _, clause := range n.DropIndexClauses {
			names = append(names, clause.Object)
		}
		return names
	case *ast.CreateStatisticsStatement:
		return []*ast.SchemaObjectName{n.OnName}
	case *ast.UpdateStatisticsStatement:
		return []*ast.SchemaObjectName{n.SchemaObjectName}
	case *ast.BulkInsertStatement:
		return []*ast.SchemaObjectName{n.To}
	case *ast.SetIdentityInsertStatement:
		return []*ast.SchemaObjectName{n.Table}
	case *ast.EnableDisableTriggerStatement:
		if n.TriggerObject != nil {
			return []*ast.SchemaObjectName{n.TriggerObject.Name}
		}
	}
	return nil
}

func (f *finisher) within(node ast.Statement, name *ast.SchemaObjectName, kind string, most int) {
	if name != nil && len(name.Identifiers) > most+1 {
		f.refuse(117, node, kind, dotted(name), most)
	}
}

func (f *finisher) withoutDatabase(node ast.Statement, name *ast.SchemaObjectName, statement string) {
	if name != nil && len(name.Identifiers) > maxDefinedPrefixes {
		f.refuse(166, node, statement)
	}
}

// tooDeepType is 117 for the name of a data type with more than its schema before it.
func tooDeepType(t *ast.UserDataTypeReference) *sqlerr.Error {
	if t.Name == nil || len(t.Name.Identifiers) <= fault.MaxTypePrefixes+1 {
		return nil
	}
	return sqlerr.New(117, 1, "type", dotted(t.Name), fault.MaxTypePrefixes)
}

func dotted(name *ast.SchemaObjectName) string {
	parts := make([]string, len(name.Identifiers))
	for i, part := range name.Identifiers {
		if part != nil {
			parts[i] = part.Value
		}
	}
	return strings.Join(parts, ".")
}
