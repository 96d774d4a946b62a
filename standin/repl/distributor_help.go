// SPDX-License-Identifier: Apache-2.0

package repl

import (
	"context"
	"strings"

	"geosql.dev/standin/engine"
)

func (e *Extension) getDistributor(ctx context.Context, call *engine.ProcCall) error {
	s := call.Session
	installed, err := linkExists(ctx, s)
	if err != nil {
		return err
	}
	name, db, publisher, remote := any(nil), 0, 0, 0
	if installed {
		d, err := e.distributorOf(ctx, s)
		if err == nil {
			name, publisher = d.name, 1
		}
	}
	local, err := e.isDistributor(ctx, s)
	if err != nil {
		return err
	}
	if local {
		name = e.serverName()
		r, err := s.Query(ctx, "SELECT COUNT(*) AS n FROM msdb.dbo.MSdistributiondbs")
		if err != nil {
			return err
		}
		if r.Int(0, "n") > 0 {
			db = 1
		}
		if r, err = s.Query(ctx,
			"SELECT COUNT(*) AS n FROM msdb.dbo.MSdistpublishers WHERE name <> @@SERVERNAME"); err != nil {
			return err
		}
		if r.Int(0, "n") > 0 {
			remote = 1
		}
	}
	return call.Exec(
		ctx,
		`SELECT CAST(@p1 AS int) AS [installed], CAST(@p2 AS sysname) AS [distribution server], CAST(@p3 AS int) AS [distribution db installed],
		CAST(@p4 AS int) AS [is distribution publisher], CAST(@p5 AS int) AS [has remote distribution publisher]`,
		installed,
		name,
		db,
		publisher,
		remote,
	)
}

func (e *Extension) helpDistributor(ctx context.Context, call *engine.ProcCall) error {
	s := call.Session
	installed, err := linkExists(ctx, s)
	if err != nil {
		return err
	}
	if !installed {
		return raise(21043, 1)
	}
	publisher := call.String("@publisher")
	if publisher == "" {
		publisher = e.serverName()
	}
	r, err := e.atDistributor(
		ctx,
		s,
		`SELECT CAST(@@SERVERNAME AS sysname) AS name, d.name AS db, d.min_distretention, d.max_distretention, d.history_retention, p.working_directory
		FROM msdb.dbo.MSdistributiondbs AS d LEFT JOIN msdb.dbo.MSdistpublishers AS p ON p.distribution_db = d.name AND p.name = ? ORDER BY CASE WHEN p.name IS NULL THEN 1 ELSE 0 END`,
		publisher,
	)
	if err != nil {
		return err
	}
	out := map[string]any{
		"@distributor":       r.Value(0, "name"),
		"@distribdb":         r.Value(0, "db"),
		"@directory":         r.Value(0, "working_directory"),
		"@account":           "mssql",
		"@min_distretention": r.Value(0, "min_distretention"),
		"@max_distretention": r.Value(0, "max_distretention"),
		"@history_retention": r.Value(
			0,
			"history_retention",
		),
		"@rpcsrvname":     distributorLink,
		"@publisher_type": "MSSQLSERVER",
	}
	if db := r.String(0, "db"); db != "" {
		out["@history_cleanupagent"], out["@distrib_cleanupagent"] = "Agent history clean up: "+db,
			"Distribution clean up: "+db
	}
	for name, v := range out {
		call.SetOutput(name, v)
	}
	if strings.EqualFold(call.String("@local"), "local") {
		return nil
	}
	return call.Exec(
		ctx,
		`SELECT CAST(@p1 AS sysname) AS [distributor], CAST(@p2 AS sysname) AS [distribution database], CAST(@p3 AS nvarchar(255)) AS [directory],
		CAST(@p4 AS nvarchar(255)) AS [account], CAST(@p5 AS int) AS [min distrib retention], CAST(@p6 AS int) AS [max distrib retention],
		CAST(@p7 AS int) AS [history retention], CAST(@p8 AS nvarchar(100)) AS [history cleanup agent], CAST(@p9 AS nvarchar(100)) AS [distribution cleanup agent],
		CAST(@p10 AS sysname) AS [rpc server name], CAST(@p11 AS sysname) AS [rpc login name], CAST(@p12 AS sysname) AS [publisher type]`,
		out["@distributor"],
		out["@distribdb"],
		out["@directory"],
		out["@account"],
		out["@min_distretention"],
		out["@max_distretention"],
		out["@history_retention"],
		out["@history_cleanupagent"],
		out["@distrib_cleanupagent"],
		distributorLink,
		distributorLogin,
		"MSSQLSERVER",
	)
}

func (e *Extension) helpDistributionDB(ctx context.Context, call *engine.ProcCall) error {
	s, name := call.Session, call.String("@database")
	if err := e.requireDistributor(ctx, s); err != nil {
		return err
	}
	if name == "" {
		name = "%"
	}
	return call.Exec(
		ctx,
		`SELECT d.name, d.min_distretention, d.max_distretention, d.history_retention AS [history retention],
		CAST(N'Agent history clean up: ' + d.name AS sysname) AS history_cleanup_agent, CAST(N'Distribution clean up: ' + d.name AS sysname) AS distribution_cleanup_agent,
		0 AS status, CAST(N'' AS nvarchar(255)) AS data_folder, CAST(f.physical_name AS nvarchar(255)) AS data_file, f.size AS data_file_size,
		CAST(N'' AS nvarchar(255)) AS log_folder, CAST(g.physical_name AS nvarchar(255)) AS log_file, g.size AS log_file_size
		FROM msdb.dbo.MSdistributiondbs AS d
		JOIN sys.databases AS b ON b.name = d.name
		JOIN sys.master_files AS f ON f.database_id = b.database_id AND f.type = 0
		JOIN sys.master_files AS g ON g.database_id = b.database_id AND g.type = 1
		WHERE d.name LIKE @p1`,
		name,
	)
}

func (e *Extension) helpDistPublisher(ctx context.Context, call *engine.ProcCall) error {
	s, name := call.Session, call.String("@publisher")
	if err := e.requireDistributor(ctx, s); err != nil {
		return err
	}
	if name == "" {
		name = "%"
	}
	return call.Exec(
		ctx,
		`SELECT name, distribution_db, security_mode, login, CAST(N'**********' AS nvarchar(524)) AS password, active, working_directory,
		trusted, third_party AS thirdparty_flag, publisher_type, CAST(NULL AS nvarchar(4000)) AS publisher_data_source
		FROM msdb.dbo.MSdistpublishers WHERE name LIKE @p1`,
		name,
	)
}

// getDistributionDB tells agents which distribution database serves a publisher.
func (e *Extension) getDistributionDB(ctx context.Context, call *engine.ProcCall) error {
	r, err := e.publisherRow(ctx, call.Session, call.String("@publisher"))
	if err != nil {
		return err
	}
	return call.Exec(
		ctx,
		"SELECT CAST(@p1 AS sysname) AS distribution_db, CAST(@p2 AS nvarchar(255)) AS working_directory",
		r.String(0, "distribution_db"),
		r.String(0, "working_directory"),
	)
}
