// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"strconv"
	"strings"

	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/sqltype"
	"geosql.dev/standin/tds"
)

// installWho registers sp_who and sp_who2 (docs/relational-databases/system-stored-procedures/sp-who-transact-sql.md).
func installWho(r *Registry) {
	for name, run := range map[string]func(context.Context, *ProcCall) error{"sp_who": who, "sp_who2": who2} {
		r.Procedure(Procedure{Name: name, Parameters: []Parameter{{Name: "@loginame", Type: sqltype.Sysname}}, Run: run})
	}
}

// sessionsNamed refuses a login that there is not, of sp_who and sp_who2, which take a login, the number of a session
// or "active".
func sessionsNamed(c *ProcCall) error {
	name := c.String("@loginame")
	if _, err := strconv.Atoi(name); name == "" || err == nil || strings.EqualFold(name, "active") {
		return nil
	}
	found, err := c.Session.Query(
		c.Session.context(),
		"SELECT name FROM sys.server_principals WHERE name = @p1 AND type <> 'R'",
		name,
	)
	if err == nil && found.Len() == 0 {
		return sqlerr.New(15007, 1, name)
	}
	return err
}

func who(ctx context.Context, c *ProcCall) error {
	wide := sqltype.Type{Kind: sqltype.NChar, Length: 128}
	cols := []tds.Column{
		Column("spid", sqltype.SmallIntType),
		Column("ecid", sqltype.SmallIntType),
		Column("status", sqltype.Type{Kind: sqltype.NChar, Length: 30}),
		Column("loginame", wide),
		Column(
			"hostname",
			wide,
		),
		Column("blk", sqltype.Type{Kind: sqltype.Char, Length: 5}),
		Column("dbname", wide),
		Column("cmd", sqltype.Type{Kind: sqltype.NChar, Length: 26}),
		Column("request_id", sqltype.IntType),
	}
	if err := sessionsNamed(c); err != nil {
		return err
	}
	wanted := c.String("@loginame")
	var rows [][]any
	for _, s := range c.Session.inst.Sessions() {
		s.status.mu.Lock()
		running, command, blocked, dbID := s.status.running, s.status.command, s.status.blockedBy, s.status.database
		s.status.mu.Unlock()
		if wanted != "" && !strings.EqualFold(wanted, s.original.Name) && wanted != itoa(int32(s.spid)) &&
			!(strings.EqualFold(wanted, "active") && running) {
			continue
		}
		state := "sleeping"
		if running {
			state = "runnable"
		}
		if command == "" {
			command = s.snapshot().command
		}
		name := any(nil)
		if db := c.Session.inst.DatabaseByID(dbID); db != nil {
			name = db.Name()
		}
		rows = append(
			rows,
			[]any{
				int64(s.spid),
				int64(0),
				state,
				s.original.Name,
				s.request.HostName,
				itoa(int32(blocked)),
				name,
				command,
				int64(0),
			},
		)
	}
	return c.ResultSet(cols, rows)
}

func who2(ctx context.Context, c *ProcCall) error {
	if err := sessionsNamed(c); err != nil {
		return err
	}
	return c.Exec(
		ctx,
		`SELECT CAST(s.session_id AS char(5)) AS SPID, CAST(s.status AS nvarchar(30)) AS Status, s.login_name AS Login, ISNULL(s.host_name, '  .') AS HostName,
			CAST(ISNULL(NULLIF(CAST(r.blocking_session_id AS varchar(5)), '0'), '  .') AS char(5)) AS BlkBy, DB_NAME(s.database_id) AS DBName, ISNULL(r.command, 'AWAITING COMMAND') AS Command,
			CAST(s.cpu_time AS varchar(30)) AS CPUTime, CAST(s.reads + s.writes AS varchar(30)) AS DiskIO, CAST(FORMAT(s.last_request_start_time, 'MM/dd HH:mm:ss') AS varchar(16)) AS LastBatch,
			s.program_name AS ProgramName, CAST(s.session_id AS char(5)) AS [SPID ], CAST(ISNULL(r.request_id, 0) AS char(5)) AS REQUESTID
		FROM sys.dm_exec_sessions s LEFT JOIN sys.dm_exec_requests r ON r.session_id = s.session_id WHERE @p1 IS NULL OR s.login_name = @p1 OR CAST(s.session_id AS sysname) = @p1 OR @p1 = 'active' AND r.session_id IS NOT NULL ORDER BY s.session_id`,
		c.Value("@loginame"),
	)
}
