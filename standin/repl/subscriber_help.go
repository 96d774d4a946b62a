// SPDX-License-Identifier: Apache-2.0

package repl

import (
	"context"

	"geosql.dev/standin/engine"
	"geosql.dev/standin/repl/agent"
	"geosql.dev/standin/sqltype"
)

// installOther registers procedures that pages call and the catalog has not.
func (e *Extension) installOther(r *engine.Registry) {
	e.procedure(
		r,
		"sp_helpsubscriberinfo",
		owners,
		[]engine.Parameter{
			{Name: "@subscriber", Type: sqltype.Sysname, Default: "%"},
			{Name: "@publisher", Type: sqltype.Sysname},
		},
		e.helpSubscriberInfo,
	)
	// docs/database-engine/availability-groups/windows/configure-replication-for-always-on-availability-groups-sql-server.md
	// asks it whether replication's components are there: they are.
	e.procedure(
		r,
		"sp_MS_replication_installed",
		anyone,
		[]engine.Parameter{},
		func(_ context.Context, call *engine.ProcCall) error {
			call.SetStatus(1)
			return nil
		},
	)
}

// helpSubscriberInfo tells of this publisher's subscribers. No schedules are kept with them: those columns are NULL
// (docs/relational-databases/system-stored-procedures/sp-helpsubscriberinfo-transact-sql.md).
func (e *Extension) helpSubscriberInfo(ctx context.Context, call *engine.ProcCall) error {
	if publisher := call.String("@publisher"); publisher != "" && !agent.SameServer(publisher, e.serverName()) {
		return raise(21023, 1, "@publisher = N'"+publisher+"'")
	}
	d, err := e.distributorOf(ctx, call.Session)
	if err != nil {
		return err
	}
	r, err := e.atDistributor(
		ctx,
		call.Session,
		"USE "+bracket(
			d.database,
		)+`; SELECT publisher, subscriber, type, login, CAST(CASE WHEN password IS NULL THEN NULL ELSE N'**********' END AS sysname) AS password,
		CAST(NULL AS int) AS commit_batch_size, CAST(NULL AS int) AS status_batch_size, CAST(NULL AS int) AS flush_frequency, CAST(NULL AS int) AS frequency_type,
		CAST(NULL AS int) AS frequency_interval, CAST(NULL AS int) AS frequency_relative_interval, CAST(NULL AS int) AS frequency_recurrence_factor, CAST(NULL AS int) AS frequency_subday,
		CAST(NULL AS int) AS frequency_subday_interval, CAST(NULL AS int) AS active_start_time_of_day, CAST(NULL AS int) AS active_end_time_of_day, CAST(NULL AS int) AS active_start_date,
		CAST(NULL AS int) AS active_end_date, CAST(NULL AS int) AS retryattempt, CAST(NULL AS int) AS retrydelay, description, security_mode, CAST(NULL AS int) AS frequency_type2,
		CAST(NULL AS int) AS frequency_interval2, CAST(NULL AS int) AS frequency_relative_interval2, CAST(NULL AS int) AS frequency_recurrence_factor2, CAST(NULL AS int) AS frequency_subday2,
		CAST(NULL AS int) AS frequency_subday_interval2, CAST(NULL AS int) AS active_start_time_of_day2, CAST(NULL AS int) AS active_end_time_of_day2, CAST(NULL AS int) AS active_start_date2,
		CAST(NULL AS int) AS active_end_date2 FROM dbo.MSsubscriber_info WHERE publisher = ? AND subscriber LIKE ? ORDER BY subscriber`,
		e.serverName(),
		pattern(call.String("@subscriber")),
	)
	if err != nil {
		return err
	}
	return call.ResultSet(r.Columns, r.Rows)
}
