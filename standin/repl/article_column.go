// SPDX-License-Identifier: Apache-2.0

package repl

import (
	"context"
	"strings"

	"geosql.dev/standin/engine"
	"geosql.dev/standin/metadata"
	"geosql.dev/standin/repl/article"
	"geosql.dev/standin/repl/stored"
	"geosql.dev/standin/sqltype"
)

// replColumnParameters are the parameters of sp_repladdcolumn and sp_repldropcolumn, in the documented order; more are
// those that only the former has (docs/relational-databases/system-stored-procedures/sp-repladdcolumn-transact-sql.md).
func replColumnParameters(more ...engine.Parameter) []engine.Parameter {
	out := append(
		[]engine.Parameter{
			{Name: "@source_object", Type: sqltype.NVarCharOf(358), Required: true},
			{Name: "@column", Type: sqltype.NVarCharOf(128), Required: true},
		},
		more...)
	return append(out, engine.Parameter{Name: "@from_agent", Type: sqltype.IntType, Default: int64(0)},
		engine.Parameter{Name: "@schema_change_script", Type: sqltype.NVarCharMax},
		engine.Parameter{Name: "@force_invalidate_snapshot", Type: sqltype.BitType, Default: true},
		engine.Parameter{Name: "@force_reinit_subscription", Type: sqltype.BitType, Default: false})
}

// replColumn finds the published table and the column that a call names: 21246, 21245 when a publication is given that
// does not have the table. The column is nil when the table has none of that name.
func (e *Extension) replColumn(
	ctx context.Context,
	call *engine.ProcCall,
	publication string,
) (*metadata.Object, string, *metadata.Column, error) {
	s := call.Session
	if _, err := e.publisher(ctx, call); err != nil {
		return nil, "", nil, err
	}
	if call.String("@schema_change_script") != "" {
		return nil, "", nil, raise(21023, 1, "@schema_change_script")
	}
	schema, name := sourceName(call)
	table, err := s.Table(ctx, call.Database, schema, name)
	if err != nil {
		return nil, "", nil, err
	}
	if table == nil {
		return nil, "", nil, raise(14027, 1, name)
	}
	list, err := s.Query(
		ctx,
		`SELECT p.name FROM dbo.sysarticles AS a JOIN dbo.syspublications AS p ON p.pubid = a.pubid WHERE a.objid = @p1 AND (@p2 = N'all' OR p.name = @p2)`,
		int64(table.ID),
		publication,
	)
	if err != nil {
		return nil, "", nil, err
	}
	switch {
	case list.Len() == 0 && strings.EqualFold(publication, "all"):
		return nil, "", nil, raise(21246, 1, name)
	case list.Len() == 0:
		return nil, "", nil, raise(21245, 1, name, publication)
	}
	return table, stored.TwoPart(schema, name), table.Table.Column(call.String("@column")), nil
}

// replAddColumn adds a column to a published table and to one publication of it, or to all. The snapshot stays as it
// is: the change comes after it.
func (e *Extension) replAddColumn(ctx context.Context, call *engine.ProcCall) error {
	publication := call.String("@publication_to_add")
	table, name, column, err := e.replColumn(ctx, call, publication)
	if err != nil {
		return err
	}
	if column != nil {
		return raise(21255, 1, column.Name, table.Name)
	}
	text := "ALTER TABLE " + name + " ADD " + bracket(call.String("@column")) + " " + call.String("@typetext")
	if !article.OneStatement(text) {
		return raise(21023, 1, "@typetext = N'"+call.String("@typetext")+"'")
	}
	return call.Session.Exec(context.WithValue(ctx, columnPublication{}, publication), text)
}

// replDropColumn drops a column of a published table here and at the subscribers of all publications.
func (e *Extension) replDropColumn(ctx context.Context, call *engine.ProcCall) error {
	table, name, column, err := e.replColumn(ctx, call, "all")
	if err != nil {
		return err
	}
	if pk := table.Table.PrimaryKey(); column != nil && pk != nil {
		for _, k := range pk.Keys {
			if k.Column == column.ID {
				return raise(21264, 1, column.Name, table.Name)
			}
		}
	}
	return call.Session.Exec(
		context.WithValue(ctx, columnPublication{}, "all"),
		"ALTER TABLE "+name+" DROP COLUMN "+bracket(call.String("@column")),
	)
}
