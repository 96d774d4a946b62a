// SPDX-License-Identifier: Apache-2.0

package repl

import (
	"context"

	"geosql.dev/standin/engine"
	"geosql.dev/standin/repl/stored"
)

// The publisher's procedures about agents: all the work is done at the distributor, where the agents' jobs are.

// refuseJobLogin refuses a Windows account for the job: agents run as the server does.
func refuseJobLogin(call *engine.ProcCall) error {
	if call.String("@job_login") != "" {
		return raise(21797, 1, "@job_login", "sp_add_proxy (Windows accounts are not supported; leave it out)")
	}
	return nil
}

// securityMode checks a security mode: 0 SQL Server authentication, 1 Windows; others are refused.
func securityMode(call *engine.ProcCall, mode, login string) error {
	switch call.Int(mode) {
	case 0:
		if !call.IsNull(mode) && call.String(login) == "" {
			return raise(21694, 1, login, mode)
		}
	case 1:
	default:
		return raise(21023, 1, mode)
	}
	return nil
}

func (e *Extension) addLogReaderAgent(ctx context.Context, call *engine.ProcCall) error {
	p, err := e.publisher(ctx, call)
	if err != nil {
		return err
	}
	if err := refuseJobLogin(call); err != nil {
		return err
	}
	if err := securityMode(call, "@publisher_security_mode", "@publisher_login"); err != nil {
		return err
	}
	_, err = e.inDistributionOf(
		ctx,
		call.Session,
		p,
		"EXEC sp_MSadd_logreader_agent @publisher = ?, @publisher_db = ?, @mode = ?, @login = ?, @password = ?, "+
			"@job_name = ?",
		p.server,
		p.db.Name(),
		call.Int("@publisher_security_mode"),
		call.Value("@publisher_login"),
		call.Value("@publisher_password"),
		call.Value("@job_name"),
	)
	return err
}

func (e *Extension) changeLogReaderAgent(ctx context.Context, call *engine.ProcCall) error {
	p, err := e.publisher(ctx, call)
	if err != nil {
		return err
	}
	if err := refuseJobLogin(call); err != nil {
		return err
	}
	_, err = e.inDistributionOf(
		ctx,
		call.Session,
		p,
		"EXEC sp_MSchange_logreader_agent @publisher = ?, @publisher_db = ?, @mode = ?, @login = ?, @password = ?",
		p.server,
		p.db.Name(),
		call.Value("@publisher_security_mode"),
		call.Value("@publisher_login"),
		call.Value("@publisher_password"),
	)
	return err
}

func (e *Extension) helpLogReaderAgent(ctx context.Context, call *engine.ProcCall) error {
	p, err := e.publisher(ctx, call)
	if err != nil {
		return err
	}
	r, err := e.inDistributionOf(
		ctx,
		call.Session,
		p,
		`SELECT a.id, a.name, a.publisher_security_mode, a.publisher_login, CAST(N'**********' AS nvarchar(524)) AS publisher_password,
		CAST(a.job_id AS uniqueidentifier) AS job_id, CAST(NULL AS nvarchar(512)) AS job_login, CAST(NULL AS sysname) AS job_password
		FROM dbo.MSlogreader_agents AS a JOIN dbo.MSreplservers AS v ON v.srvid = a.publisher_id WHERE v.srvname = ? AND a.publisher_db = ?`,
		p.server,
		p.db.Name(),
	)
	if err != nil {
		return err
	}
	return call.ResultSet(r.Columns, r.Rows)
}

func (e *Extension) addPublicationSnapshot(ctx context.Context, call *engine.ProcCall) error {
	p, pub, err := e.published(ctx, call)
	if err != nil {
		return err
	}
	if err := refuseJobLogin(call); err != nil {
		return err
	}
	if err := securityMode(call, "@publisher_security_mode", "@publisher_login"); err != nil {
		return err
	}
	r, err := e.inDistributionOf(
		ctx,
		call.Session,
		p,
		`EXEC sp_MSadd_snapshot_agent @publisher = ?, @publisher_db = ?, @publication = ?, @mode = ?, @login = ?, @password = ?, @job_name = ?,
		@freq_type = ?, @freq_interval = ?, @freq_subday = ?, @freq_subday_interval = ?, @freq_relative = ?, @freq_recurrence = ?, @start_date = ?, @end_date = ?, @start_time = ?, @end_time = ?`,
		p.server,
		p.db.Name(),
		pub.name,
		call.Int("@publisher_security_mode"),
		call.Value("@publisher_login"),
		call.Value("@publisher_password"),
		call.Value("@snapshot_job_name"),
		call.Int(
			"@frequency_type",
		),
		call.Int("@frequency_interval"),
		call.Int("@frequency_subday"),
		call.Int("@frequency_subday_interval"),
		call.Int("@frequency_relative_interval"),
		call.Int("@frequency_recurrence_factor"),
		call.Int(
			"@active_start_date",
		),
		call.Int("@active_end_date"),
		call.Int("@active_start_time_of_day"),
		call.Int("@active_end_time_of_day"),
	)
	if err != nil {
		return err
	}
	return call.Session.Exec(
		ctx,
		"UPDATE dbo.syspublications SET snapshot_jobid = @p2 WHERE pubid = @p1",
		pub.id,
		r.Bytes(0, "job_id"),
	)
}

func (e *Extension) helpPublicationSnapshot(ctx context.Context, call *engine.ProcCall) error {
	p, pub, err := e.published(ctx, call)
	if err != nil {
		return err
	}
	r, err := e.inDistributionOf(
		ctx,
		call.Session,
		p,
		`SELECT a.id, a.name, a.publisher_security_mode, a.publisher_login, CAST(N'**********' AS nvarchar(524)) AS publisher_password,
		CAST(a.job_id AS uniqueidentifier) AS job_id, CAST(NULL AS nvarchar(512)) AS job_login, CAST(NULL AS sysname) AS job_password, c.name AS schedule_name,
		c.freq_type AS frequency_type, c.freq_interval AS frequency_interval, c.freq_subday_type AS frequency_subday_type, c.freq_subday_interval AS frequency_subday_interval,
		c.freq_relative_interval AS frequency_relative_interval, c.freq_recurrence_factor AS frequency_recurrence_factor, c.active_start_date, c.active_end_date,
		c.active_start_time, c.active_end_time
		FROM dbo.MSsnapshot_agents AS a JOIN dbo.MSreplservers AS v ON v.srvid = a.publisher_id
		LEFT JOIN msdb.dbo.sysjobschedules AS j ON j.job_id = CAST(a.job_id AS uniqueidentifier) LEFT JOIN msdb.dbo.sysschedules AS c ON c.schedule_id = j.schedule_id
		WHERE v.srvname = ? AND a.publisher_db = ? AND a.publication = ?`,
		p.server,
		p.db.Name(),
		pub.name,
	)
	if err != nil {
		return err
	}
	return call.ResultSet(r.Columns, r.Rows)
}

func (e *Extension) startPublicationSnapshot(ctx context.Context, call *engine.ProcCall) error {
	p, pub, err := e.published(ctx, call)
	if err != nil {
		return err
	}
	_, err = e.inDistributionOf(
		ctx,
		call.Session,
		p,
		"EXEC sp_MSstart_snapshot_agent @publisher = ?, @publisher_db = ?, @publication = ?",
		p.server,
		p.db.Name(),
		pub.name,
	)
	return err
}

func (e *Extension) addPushSubscriptionAgent(ctx context.Context, call *engine.ProcCall) error {
	s := call.Session
	p, pub, err := e.published(ctx, call)
	if err != nil {
		return err
	}
	if err := refuseJobLogin(call); err != nil {
		return err
	}
	if err := securityMode(call, "@subscriber_security_mode", "@subscriber_login"); err != nil {
		return err
	}
	subscriber, database := call.String("@subscriber"), call.String("@subscriber_db")
	r, err := s.Query(
		ctx,
		`SELECT s.subscription_type FROM dbo.syssubscriptions AS s JOIN dbo.sysarticles AS a ON a.artid = s.artid WHERE a.pubid = @p1 AND s.srvname = @p2 AND s.dest_db = @p3`,
		pub.id,
		subscriber,
		database,
	)
	if err != nil {
		return err
	}
	if r.Len() == 0 {
		return raise(14050, 1)
	}
	if r.Int(0, "subscription_type") != stored.PushType {
		return raise(21023, 1, "An agent of a pull subscription at the Distributor: sp_addpushsubscription_agent")
	}
	r, err = e.inDistributionOf(
		ctx,
		s,
		p,
		`EXEC sp_MSadd_push_agent @publisher = ?, @publisher_db = ?, @publication = ?, @subscriber = ?, @subscriber_db = ?, @mode = ?, @login = ?, @password = ?, @job_name = ?,
		@freq_type = ?, @freq_interval = ?, @freq_subday = ?, @freq_subday_interval = ?, @freq_relative = ?, @freq_recurrence = ?, @start_date = ?, @end_date = ?, @start_time = ?, @end_time = ?`,
		p.server,
		p.db.Name(),
		pub.name,
		subscriber,
		database,
		call.Int("@subscriber_security_mode"),
		call.Value("@subscriber_login"),
		call.Value("@subscriber_password"),
		call.Value("@job_name"),
		call.Int(
			"@frequency_type",
		),
		call.Int("@frequency_interval"),
		call.Int("@frequency_subday"),
		call.Int("@frequency_subday_interval"),
		call.Int("@frequency_relative_interval"),
		call.Int("@frequency_recurrence_factor"),
		call.Int(
			"@active_start_date",
		),
		call.Int("@active_end_date"),
		call.Int("@active_start_time_of_day"),
		call.Int("@active_end_time_of_day"),
	)
	if err != nil {
		return err
	}
	return s.Exec(
		ctx,
		`UPDATE dbo.syssubscriptions SET distribution_jobid = @p4 WHERE srvname = @p2 AND dest_db = @p3 AND artid IN (SELECT artid FROM dbo.sysarticles WHERE pubid = @p1)`,
		pub.id,
		subscriber,
		database,
		r.Bytes(0, "job_id"),
	)
}
