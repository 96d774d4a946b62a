// SPDX-License-Identifier: Apache-2.0

package repl

import (
	"context"
	"strings"

	"geosql.dev/standin/engine"
)

func (e *Extension) helpArticle(ctx context.Context, call *engine.ProcCall) error {
	pub, err := findPublication(ctx, call.Session, call.String("@publication"))
	if err != nil {
		return err
	}
	name := call.String("@article")
	if name == "" {
		name = "%"
	}
	r, err := call.Session.Query(
		ctx,
		"SELECT COUNT(*) AS n FROM dbo.sysarticles WHERE pubid = @p1 AND name LIKE @p2",
		pub.id,
		name,
	)
	if err != nil {
		return err
	}
	if r.Int(0, "n") == 0 && !strings.Contains(name, "%") && !call.Given("@found") {
		return raise(20027, 1, name)
	}
	call.SetOutput("@found", min(r.Int(0, "n"), 1))
	return call.Exec(
		ctx,
		`SELECT a.artid AS [article id], a.name AS [article name], CAST(s.name + N'.' + o.name AS nvarchar(257)) AS [base object], a.dest_table AS [destination object],
		CAST(ISNULL(w.name, s.name) + N'.' + ISNULL(v.name, o.name) AS nvarchar(257)) AS [synchronization object], CAST(a.type AS smallint) AS [type], a.status, CAST(NULL AS nvarchar(257)) AS [filter],
		a.description, a.ins_cmd AS insert_command, a.upd_cmd AS update_command, a.del_cmd AS delete_command, a.creation_script AS [creation script path],
		CAST(CASE WHEN a.type & 1 = 1 AND (SELECT COUNT(*) FROM dbo.sysarticlecolumns AS c WHERE c.artid = a.artid) < (SELECT COUNT(*) FROM sys.columns AS k WHERE k.object_id = a.objid AND k.is_computed = 0) THEN 1 ELSE 0 END AS bit) AS [vertical partition],
		a.pre_creation_cmd, CAST(a.filter_clause AS ntext) AS filter_clause, a.schema_option, a.dest_owner, s.name AS source_owner, o.name AS unqua_source_object, CAST(ISNULL(w.name, s.name) AS sysname) AS sync_object_owner,
		CAST(ISNULL(v.name, o.name) AS sysname) AS unqualified_sync_object, CAST(NULL AS sysname) AS filter_owner, CAST(NULL AS sysname) AS unqua_filter, 0 AS auto_identity_range,
		CAST(NULL AS int) AS publisher_identity_range, CAST(NULL AS bigint) AS identity_range, CAST(NULL AS bigint) AS threshold,
		1 AS identityrangemanagementoption, a.fire_triggers_on_snapshot
		FROM dbo.sysarticles AS a JOIN sys.objects AS o ON o.object_id = a.objid JOIN sys.schemas AS s ON s.schema_id = o.schema_id
		LEFT JOIN sys.objects AS v ON v.object_id = a.sync_objid LEFT JOIN sys.schemas AS w ON w.schema_id = v.schema_id
		WHERE a.pubid = @p1 AND a.name LIKE @p2`,
		pub.id,
		name,
	)
}

func (e *Extension) helpArticleColumns(ctx context.Context, call *engine.ProcCall) error {
	pub, err := findPublication(ctx, call.Session, call.String("@publication"))
	if err != nil {
		return err
	}
	a, err := e.findArticle(ctx, call.Session, call.Database, pub, call.String("@article"))
	if err != nil {
		return err
	}
	return call.Exec(
		ctx,
		`SELECT k.column_id AS [column id], k.name AS [column], CAST(CASE WHEN c.artid IS NULL THEN 0 ELSE 1 END AS bit) AS published,
		CAST(t.name AS sysname) AS [publisher type], CAST(t.name AS sysname) AS [subscriber type]
		FROM sys.columns AS k JOIN sys.types AS t ON t.user_type_id = k.user_type_id
		LEFT JOIN dbo.sysarticlecolumns AS c ON c.artid = @p1 AND c.colid = k.column_id WHERE k.object_id = @p2 ORDER BY k.column_id`,
		a.ID,
		int64(a.Object),
	)
}
