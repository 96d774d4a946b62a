// SPDX-License-Identifier: Apache-2.0

package serverproc

import (
	"context"
	"strings"

	"geosql.dev/standin/engine"
	"geosql.dev/standin/sqlerr"
)

// installServerProcedures registers what people type to see a server and to go through its databases and tables
// (docs/relational-databases/system-stored-procedures; sp_MSforeachdb and sp_MSforeachtable are not documented, and
// known to all).
func installServerProcedures(r *engine.Registry) {
	each := "@command1! nvarchar(2000), @replacechar nchar(1) = ?, @command2 nvarchar(2000), @command3 nvarchar(2000)"
	loop := func(list, name string) string {
		return `DECLARE @n sysname = N'', @t nvarchar(max); WHILE 1 = 1 BEGIN SET @n = (SELECT MIN(name) FROM ` + list + ` x WHERE name > @n); IF @n IS NULL BREAK;
			SET @t = REPLACE(CONCAT(@p1, NCHAR(10), @p3, NCHAR(10), @p4), @p2, ` + name + `); EXEC (@t); END`
	}
	r.TextProcedure("sp_MSforeachdb", each, loop("(SELECT name FROM sys.databases WHERE state = 0)", "@n"))
	r.TextProcedure(
		"sp_MSforeachtable",
		each,
		loop("(SELECT QUOTENAME(SCHEMA_NAME(schema_id)) + N'.' + QUOTENAME(name) AS name FROM sys.tables)", "@n"),
	)
	r.TextProcedure(
		"sp_helpfilegroup",
		"@filegroupname sysname",
		`SELECT name AS groupname, CAST(data_space_id AS smallint) AS groupid, CAST((SELECT COUNT(*) FROM sys.database_files f WHERE f.data_space_id = g.data_space_id) AS int) AS filecount
		FROM sys.filegroups g WHERE @p1 IS NULL OR name = @p1;
		IF @p1 IS NOT NULL `+fileText(
			"name AS file_in_group",
			"",
			"nvarchar(15)",
		)+`data_space_id = FILEGROUP_ID(@p1) ORDER BY file_id`,
	)
	r.TextProcedure(
		"sp_helpsort",
		"",
		`SELECT CAST('Latin1-General, case-insensitive, accent-sensitive, kanatype-insensitive, width-insensitive for Unicode Data, SQL Server Sort Order 52 on Code Page 1252 for non-Unicode Data' AS nvarchar(4000)) AS [Server default collation]`,
	)
	r.TextProcedure(
		"sp_linkedservers_rowset",
		"@srvname! sysname",
		`SELECT name AS SVR_NAME, CAST(product AS nvarchar(128)) AS SVR_PRODUCT, CAST(provider AS nvarchar(128)) AS SVR_PROVIDERNAME, data_source AS SVR_DATASOURCE FROM sys.servers WHERE name = @p1`,
	)
	r.TextProcedure(
		"sp_lock",
		"@spid1 int, @spid2 int",
		`SELECT CAST(request_session_id AS smallint) AS spid, CAST(resource_database_id AS smallint) AS dbid, CAST(ISNULL(IIF(resource_type = 'OBJECT', resource_associated_entity_id, 0), 0) AS int) AS ObjId,
			CAST(0 AS smallint) AS IndId, CAST(CASE resource_type WHEN 'DATABASE' THEN 'DB' WHEN 'APPLICATION' THEN 'APP' ELSE 'TAB' END AS nchar(4)) AS Type, CAST(resource_description AS nchar(32)) AS Resource, CAST(request_mode AS nvarchar(8)) AS Mode,
			CAST(request_status AS nvarchar(5)) AS Status FROM sys.dm_tran_locks WHERE @p1 IS NULL OR request_session_id IN (@p1, @p2) ORDER BY spid, dbid`,
	)
	r.Procedure(
		engine.Procedure{Name: "xp_msver", Parameters: engine.ParameterList("@optname sysname"), Run: versionInformation},
	)
	r.Procedure(
		engine.Procedure{Name: "sp_resetstatus", Parameters: engine.ParameterList("@dbname! sysname"), Run: resetStatus},
	)
}

// versionInformation is xp_msver.
func versionInformation(_ context.Context, c *engine.ProcCall) error {
	var rows [][]any
	for i, a := range []struct {
		name  string
		value any
	}{{"ProductName", "Microsoft SQL Server"}, {"ProductVersion", c.Session.Instance().ServerProperty("ProductVersion")},
		{"Language", "English (United States)"}, {"Platform", "Linux x64"},
		{"Comments", "geosql stand-in, not Microsoft SQL Server"}} {
		if want := c.String("@optname"); want == "" || strings.EqualFold(want, a.name) {
			rows = append(rows, []any{int64(i + 1), a.name, nil, a.value})
		}
	}
	return c.ResultSet(
		engine.ColumnList("Index smallint, Name sysname, Internal_Value int, Character_Value nvarchar(1024)"),
		rows,
	)
}

// resetStatus is sp_resetstatus: whether a database is SUSPECT is found anew at every start, which the procedure's page
// asks for.
func resetStatus(_ context.Context, c *engine.ProcCall) error {
	if !c.Session.Login().Sysadmin {
		return sqlerr.New(15247, 1)
	}
	if c.Session.Instance().Database(c.String("@dbname")) == nil {
		return sqlerr.New(15010, 1, c.String("@dbname"))
	}
	return nil
}
