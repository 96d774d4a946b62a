// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"geosql.dev/operator/standin/sqlerr"
)

// installServerProcedures registers what people type to see a server and to go through its databases and tables
// (docs/relational-databases/system-stored-procedures; sp_MSforeachdb and sp_MSforeachtable are not documented, and known to all).
func installServerProcedures(r *Registry) {
	installDetach(r)
	each := "@command1! nvarchar(2000), @replacechar nchar(1) = ?, @command2 nvarchar(2000), @command3 nvarchar(2000)"
	loop := func(list, name string) string {
		return `DECLARE @n sysname = N'', @t nvarchar(max); WHILE 1 = 1 BEGIN SET @n = (SELECT MIN(name) FROM ` + list + ` x WHERE name > @n); IF @n IS NULL BREAK;
			SET @t = REPLACE(CONCAT(@p1, NCHAR(10), @p3, NCHAR(10), @p4), @p2, ` + name + `); EXEC (@t); END`
	}
	r.TextProcedure("sp_MSforeachdb", each, loop("(SELECT name FROM sys.databases WHERE state = 0)", "@n"))
	r.TextProcedure("sp_MSforeachtable", each, loop("(SELECT QUOTENAME(SCHEMA_NAME(schema_id)) + N'.' + QUOTENAME(name) AS name FROM sys.tables)", "@n"))
	r.TextProcedure("sp_helpfilegroup", "@filegroupname sysname", `SELECT name AS groupname, CAST(data_space_id AS smallint) AS groupid, CAST((SELECT COUNT(*) FROM sys.database_files f WHERE f.data_space_id = g.data_space_id) AS int) AS filecount
		FROM sys.filegroups g WHERE @p1 IS NULL OR name = @p1;
		IF @p1 IS NOT NULL `+fileText("name AS file_in_group", "", "nvarchar(15)")+`data_space_id = FILEGROUP_ID(@p1) ORDER BY file_id`)
	r.TextProcedure("sp_helpsort", "", `SELECT CAST('Latin1-General, case-insensitive, accent-sensitive, kanatype-insensitive, width-insensitive for Unicode Data, SQL Server Sort Order 52 on Code Page 1252 for non-Unicode Data' AS nvarchar(4000)) AS [Server default collation]`)
	r.TextProcedure("sp_helpstats", "@objname! nvarchar(776), @results nvarchar(5) = STATS", `SELECT s.name AS statistics_name, (SELECT STRING_AGG(COL_NAME(c.object_id, c.column_id), ', ') WITHIN GROUP (ORDER BY c.key_ordinal) FROM sys.index_columns c
			WHERE c.object_id = s.object_id AND c.index_id = s.stats_id AND c.is_included_column = 0) AS statistics_keys FROM sys.stats s WHERE s.object_id = OBJECT_ID(@p1) ORDER BY s.stats_id`)
	r.TextProcedure("sp_autostats", "@tblname! nvarchar(776), @flagc varchar(10), @indname sysname", `IF @p2 IS NOT NULL AND @p2 <> 'ON' BEGIN RAISERROR('The stand-in keeps no statistics of its own; automatic updates cannot be switched off.', 16, 1); RETURN END
		SELECT QUOTENAME(s.name) AS [Index Name], CAST('ON' AS varchar(3)) AS [AUTOSTATS], STATS_DATE(s.object_id, s.stats_id) AS [Last Updated] FROM sys.stats s WHERE s.object_id = OBJECT_ID(@p1)`)
	installUpkeep(r)
	installHostProcedures(r)
	r.TextProcedure("sp_linkedservers_rowset", "@srvname! sysname", `SELECT name AS SVR_NAME, CAST(product AS nvarchar(128)) AS SVR_PRODUCT, CAST(provider AS nvarchar(128)) AS SVR_PROVIDERNAME, data_source AS SVR_DATASOURCE FROM sys.servers WHERE name = @p1`)
	r.TextProcedure("sp_lock", "@spid1 int, @spid2 int", `SELECT CAST(request_session_id AS smallint) AS spid, CAST(resource_database_id AS smallint) AS dbid, CAST(ISNULL(IIF(resource_type = 'OBJECT', resource_associated_entity_id, 0), 0) AS int) AS ObjId,
			CAST(0 AS smallint) AS IndId, CAST(CASE resource_type WHEN 'DATABASE' THEN 'DB' WHEN 'APPLICATION' THEN 'APP' ELSE 'TAB' END AS nchar(4)) AS Type, CAST(resource_description AS nchar(32)) AS Resource, CAST(request_mode AS nvarchar(8)) AS Mode,
			CAST(request_status AS nvarchar(5)) AS Status FROM sys.dm_tran_locks WHERE @p1 IS NULL OR request_session_id IN (@p1, @p2) ORDER BY spid, dbid`)
	r.Procedure(Procedure{Name: "xp_msver", Parameters: ParameterList("@optname sysname"), Run: versionInformation})
	log := ParameterList("@p1 int = 0, @p2 int = 1, @p3 nvarchar(4000), @p4 nvarchar(4000), @p5 datetime, @p6 datetime, @p7 nvarchar(10) = asc")
	r.Procedure(Procedure{Name: "sp_readerrorlog", Parameters: log[:4], Run: readErrorLog})
	r.Procedure(Procedure{Name: "xp_readerrorlog", Parameters: log, Run: readErrorLog})
}

// versionInformation is xp_msver.
func versionInformation(ctx context.Context, c *ProcCall) error {
	property := func(name string) string {
		if f := c.Session.inst.registry.properties[lower(name)]; f != nil {
			s, _ := f(c.Session.inst).(string)
			return s
		}
		return ""
	}
	var rows [][]any
	for i, a := range []struct {
		name  string
		value any
	}{{"ProductName", "Microsoft SQL Server"}, {"ProductVersion", property("ProductVersion")}, {"Language", "English (United States)"}, {"Platform", "Linux x64"}, {"Comments", "geosql stand-in, not Microsoft SQL Server"}} {
		if want := c.String("@optname"); want == "" || strings.EqualFold(want, a.name) {
			rows = append(rows, []any{int64(i + 1), a.name, nil, a.value})
		}
	}
	return c.ResultSet(columns("Index smallint, Name sysname, Internal_Value int, Character_Value nvarchar(1024)"), rows)
}

// readErrorLog is sp_readerrorlog (docs/relational-databases/system-stored-procedures/sp-readerrorlog-transact-sql.md): the
// lines of one of the logs that have both texts in them.
func readErrorLog(ctx context.Context, c *ProcCall) error {
	if err := c.Session.require(ctx, Permission{Name: "VIEW SERVER STATE"}); err != nil {
		return err
	}
	if c.Int("@p2") == 2 {
		return &sqlerr.Error{Number: 22004, Class: 16, State: 1, Message: "the log of SQL Server Agent is in msdb.dbo.sysjobhistory only"}
	}
	path, _ := c.Session.inst.registry.properties["errorlogfilename"](c.Session.inst).(string)
	if n := c.Int("@p1"); n > 0 {
		path += fmt.Sprintf(".%d", n)
	}
	f, err := os.Open(filepath.Clean(path))
	if err != nil {
		return &sqlerr.Error{Number: 22004, Class: 16, State: 1, Message: "the error log cannot be opened"}
	}
	defer f.Close()
	var rows [][]any
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := lines.Text()
		// 2026-01-02 03:04:05.67 Server      text
		if len(line) < 35 {
			continue
		}
		at, err := time.Parse("2006-01-02 15:04:05.00", line[:22])
		text := line[35:]
		if err != nil || !containsFold(text, c.String("@p3")) || !containsFold(text, c.String("@p4")) {
			continue
		}
		rows = append(rows, []any{at, strings.TrimSpace(line[23:35]), text})
	}
	return c.ResultSet(columns("LogDate datetime, ProcessInfo nvarchar(50), Text nvarchar(4000)"), rows)
}

func containsFold(text, part string) bool { return strings.Contains(lower(text), lower(part)) }
