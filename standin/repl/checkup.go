// SPDX-License-Identifier: Apache-2.0

package repl

import (
	"context"
	"fmt"

	"geosql.dev/standin/engine"
	"geosql.dev/standin/repl/stored"
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/sqltype"
)

func (e *Extension) installCheckup(r *engine.Registry) {
	e.procedure(
		r,
		"sp_replication_agent_checkup",
		sysadmins,
		[]engine.Parameter{{Name: "@heartbeat_interval", Type: sqltype.IntType, Default: int64(10)}},
		e.checkAgents,
	)
	e.procedure(
		r,
		"sp_helpreplicationoption",
		anyone,
		[]engine.Parameter{{Name: "@optname", Type: sqltype.Sysname}},
		e.helpReplicationOption,
	)
}

// checkAgents raises 14151 for each agent that runs and has written no history for so many minutes, and writes that
// into its history (docs/relational-databases/system-stored-procedures/sp-replication-agent-checkup-transact-sql.md,
// Return Code Values).
func (e *Extension) checkAgents(ctx context.Context, call *engine.ProcCall) error {
	if err := e.requireDistributor(ctx, call.Session); err != nil {
		return err
	}
	minutes := call.Int("@heartbeat_interval")
	for _, db := range e.inst.Databases() {
		if db.Storage() == nil || !db.Info().Distributor || db.State() != engine.Online {
			continue
		}
		for _, kind := range []struct{ shown, name string }{{"Snapshot", "snapshot"}, {"Log Reader", "logreader"},
			{"Distribution", "distribution"}} {
			if err := e.checkAgentsOf(ctx, call, bracket(db.Name()), kind.shown, kind.name, minutes); err != nil {
				return err
			}
		}
	}
	return nil
}

func (e *Extension) checkAgentsOf(
	ctx context.Context,
	call *engine.ProcCall,
	database, shown, kind string,
	minutes int64,
) error {
	r, err := call.Session.Query(
		ctx,
		fmt.Sprintf(
			`SELECT a.id, a.name, CONVERT(nvarchar(23), h.start_time, 126) AS start_time FROM %[1]s.dbo.MS%[2]s_agents AS a JOIN %[1]s.dbo.MS%[2]s_history AS h ON h.agent_id = a.id
		WHERE h.timestamp = (SELECT MAX(x.timestamp) FROM %[1]s.dbo.MS%[2]s_history AS x WHERE x.agent_id = a.id) AND h.runstatus IN (1, 3, 4) AND DATEDIFF(second, h.time, GETDATE()) >= 60 * @p1 ORDER BY a.id`,
			database,
			kind,
		),
		minutes,
	)
	if err != nil {
		return err
	}
	text := sqlerr.Text(20554, minutes)
	for i := range r.Len() {
		if err := call.Session.Exec(ctx,
			"EXEC "+database+".sys.sp_MSadd_"+kind+"_history @agent_id = @p1, @runstatus = @p2, @comments = @p3, @start_time "+
				"= @p4, @transactions = 0, @commands = 0, @latency = 0, @total = 0, @verbose = 3",
			r.Int(i, "id"), stored.RunFailed, text, r.String(i, "start_time")); err != nil {
			return err
		}
		if err := call.Writer.Message(raise(14151, 1, shown, r.String(i, "name"), text)); err != nil {
			return err
		}
	}
	return nil
}

// helpReplicationOption tells that transactional replication is there; merge replication is not
// (docs/relational-databases/system-stored-procedures/sp-helpreplicationoption-transact-sql.md, Result Sets).
func (e *Extension) helpReplicationOption(ctx context.Context, call *engine.ProcCall) error {
	switch option := call.String("@optname"); option {
	case "", "merge":
		return nil
	case "transactional":
	default:
		return raise(21055, 1, "@optname", "sp_helpreplicationoption")
	}
	return call.ResultSet(
		columns(
			"optname",
			sqltype.Sysname,
			"value",
			sqltype.BitType,
			"major_version",
			sqltype.IntType,
			"minor_version",
			sqltype.IntType,
			"revision",
			sqltype.IntType,
			"install_failures",
			sqltype.IntType,
		),
		[][]any{{"transactional", true, int64(0), int64(0), int64(0), int64(0)}},
	)
}
