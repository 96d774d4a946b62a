// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"strings"

	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/metadata"
	"geosql.dev/standin/sqltype"
)

// remoteTable binds server.database.schema.table by reading the table there.
func (b *binder) remoteTable(sc *scope, name ObjectName, alias string) string {
	text := "SELECT * FROM "
	for i, p := range []string{name.Database, name.Schema, name.Name} {
		if i > 0 {
			text += "."
		}
		if p != "" {
			text += quoteName(p)
		}
	}
	if alias == "" {
		alias = name.Name
	}
	return b.remoteQuery(sc, name.Server, text, alias)
}

// openQuery binds OPENQUERY(server, 'text').
func (b *binder) openQuery(sc *scope, n *ast.OpenQueryTableReference) string {
	lit, ok := n.Query.(*ast.StringLiteral)
	if !ok {
		b.fail(102, "OPENQUERY")
	}
	return b.remoteQuery(sc, n.LinkedServer.Value, lit.Value, aliasOf(n.Alias))
}

// remoteQuery runs text at a linked server and makes its rows a source. It is run when the statement is bound, which
// is each time that it is executed.
func (b *binder) remoteQuery(sc *scope, server, text, alias string) string {
	if b.s.inst.registry.remote == nil {
		b.fail(7202, server)
	}
	result, err := b.s.inst.registry.remote.Query(b.ctx, b.s, server, text)
	if err != nil {
		panic(bindError{AsError(err)})
	}
	b.volatile = true
	src := &source{alias: alias, sqlite: b.nextAlias()}
	if result == nil || len(result.Columns) == 0 {
		b.fail(7357, text, "MSOLEDBSQL", server)
	}
	columns := make([]string, len(result.Columns))
	for i, c := range result.Columns {
		columns[i] = "NULL AS " + metadata.ColumnName(int32(i+1))
		collation := ""
		if c.Type.Kind.IsCharacter() {
			collation = "tsql_ci_as"
		}
		src.addColumn(c.Name, src.sqlite+"."+metadata.ColumnName(int32(i+1)), c.Type, true, collation, nil)
	}
	sc.add(src)
	selects := []string{}
	for _, row := range result.Rows {
		values := make([]string, len(row))
		for i, v := range row {
			raw, err := sqltype.Encode(result.Columns[i].Type, v)
			if err != nil {
				panic(bindError{internalError(err)})
			}
			values[i] = sqltype.StoredLiteral(raw)
		}
		selects = append(selects, "("+strings.Join(values, ",")+")")
	}
	if len(selects) == 0 {
		return "(SELECT " + strings.Join(columns, ", ") + " WHERE 0) AS " + src.sqlite
	}
	names := make([]string, len(result.Columns))
	for i := range names {
		names[i] = "column" + itoa(int32(i+1)) + " AS " + metadata.ColumnName(int32(i+1))
	}
	return "(SELECT " + strings.Join(names, ", ") + " FROM (VALUES " + strings.Join(selects, ",") + ")) AS " + src.sqlite
}
