// SPDX-License-Identifier: Apache-2.0

package bind

import (
	"strings"

	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/metadata"
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/sqltype"
	"geosql.dev/standin/syntax"
)

// remoteTable binds server.database.schema.table by reading the table there.
func (b *Binder) remoteTable(sc *Scope, name ObjectName, alias string) string {
	text := "SELECT * FROM "
	for i, p := range []string{name.Database, name.Schema, name.Name} {
		if i > 0 {
			text += "."
		}
		if p != "" {
			text += syntax.QuoteName(p)
		}
	}
	if alias == "" {
		alias = name.Name
	}
	return b.remoteQuery(sc, name.Server, text, alias)
}

// openQuery binds OPENQUERY(server, 'text').
func (b *Binder) openQuery(sc *Scope, n *ast.OpenQueryTableReference) string {
	lit, ok := n.Query.(*ast.StringLiteral)
	if !ok {
		b.Fail(102, "OPENQUERY")
	}
	return b.remoteQuery(sc, n.LinkedServer.Value, lit.Value, AliasOf(n.Alias))
}

// remoteQuery runs text at a linked server and makes its rows a source. It is run when the statement is bound, which
// is each time that it is executed.
func (b *Binder) remoteQuery(sc *Scope, server, text, alias string) string {
	result, rows, err := b.session.Remote(b.ctx, server, text)
	if err != nil {
		panic(bindError{err})
	}
	b.Volatile = true
	src := &Source{Alias: alias, sqlite: b.nextAlias()}
	if len(result) == 0 {
		b.Fail(7357, text, "MSOLEDBSQL", server)
	}
	columns := make([]string, len(result))
	for i, c := range result {
		columns[i] = "NULL AS " + metadata.ColumnName(int32(i+1))
		collation := ""
		if c.Type.Kind.IsCharacter() {
			collation = "tsql_ci_as"
		}
		src.AddColumn(c.Name, src.sqlite+"."+metadata.ColumnName(int32(i+1)), c.Type, true, collation, nil)
	}
	sc.Add(src)
	selects := []string{}
	for _, row := range rows {
		values := make([]string, len(row))
		for i, v := range row {
			raw, err := sqltype.Encode(result[i].Type, v)
			if err != nil {
				panic(bindError{sqlerr.Internal(err)})
			}
			values[i] = sqltype.StoredLiteral(raw)
		}
		selects = append(selects, "("+strings.Join(values, ",")+")")
	}
	if len(selects) == 0 {
		return "(SELECT " + strings.Join(columns, ", ") + " WHERE 0) AS " + src.sqlite
	}
	names := make([]string, len(result))
	for i := range names {
		names[i] = "column" + itoa(int32(i+1)) + " AS " + metadata.ColumnName(int32(i+1))
	}
	return "(SELECT " + strings.Join(names, ", ") + " FROM (VALUES " + strings.Join(selects, ",") + ")) AS " + src.sqlite
}
