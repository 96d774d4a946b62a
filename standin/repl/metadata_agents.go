// SPDX-License-Identifier: Apache-2.0

package repl

import (
	"context"
	"fmt"

	"geosql.dev/standin/config"
	"geosql.dev/standin/engine"
	"geosql.dev/standin/repl/profile"
	"geosql.dev/standin/repl/stored"
)

// jobSpec is a job for an agent.
type jobSpec struct {
	name, category, subsystem, command string
	kind, interval, subday, subdayInterval, relative, recurrence,
	startDate, endDate, startTime, endTime int64
}

func schedule(call *engine.ProcCall, j jobSpec) jobSpec {
	j.kind, j.interval, j.subday, j.subdayInterval = call.Int("@freq_type"), call.Int("@freq_interval"),
		call.Int("@freq_subday"), call.Int("@freq_subday_interval")
	j.relative = call.Int("@freq_relative")
	j.recurrence, j.startDate, j.endDate = call.Int("@freq_recurrence"), call.Int("@start_date"), call.Int("@end_date")
	j.startTime, j.endTime = call.Int("@start_time"), call.Int("@end_time")
	return j
}

// onDemand is a frequency_type that gives no schedule.
const onDemand = 2

// makeJob makes a job for an agent and returns its id as binary(16). An existing job of that name is the agent's from
// an interrupted call, and is replaced.
func (e *Extension) makeJob(ctx context.Context, s *engine.Session, j jobSpec) ([]byte, error) {
	if err := e.deleteJob(ctx, s, j.name); err != nil {
		return nil, err
	}
	err := s.Exec(ctx, `EXEC msdb.dbo.sp_add_job @job_name = @p1, @category_name = @p2, @enabled = 1`, j.name, j.category)
	if err == nil {
		err = addSteps(ctx, s, j)
	}
	if err == nil {
		err = s.Exec(ctx, `EXEC msdb.dbo.sp_add_jobserver @job_name = @p1`, j.name)
	}
	if err != nil {
		return nil, err
	}
	if j.kind != onDemand {
		if j.endDate == 0 {
			j.endDate = 99991231
		}
		if j.endTime == 0 {
			j.endTime = 235959
		}
		var start any
		if j.startDate != 0 {
			start = j.startDate
		}
		if err := s.Exec(ctx, `EXEC msdb.dbo.sp_add_jobschedule @job_name = @p1, @name = N'Replication agent schedule.', @freq_type = @p2, @freq_interval = @p3, @freq_subday_type = @p4,
			@freq_subday_interval = @p5, @freq_recurrence_factor = @p6, @active_start_date = @p7, @active_end_date = @p8, @active_start_time = @p9, @active_end_time = @p10, @freq_relative_interval = @p11`,
			j.name, j.kind, j.interval, j.subday, j.subdayInterval, j.recurrence, start, j.endDate, j.startTime, j.endTime,
			j.relative); err != nil {
			return nil, err
		}
	}
	id, err := jobID(ctx, s, j.name)
	if err == nil && j.kind == 64 && e.inst.Config().AgentEnabled {
		err = s.Exec(ctx, "EXEC msdb.dbo.sp_start_job @job_name = @p1", j.name)
	}
	return id, err
}

// jobID is a job's id as binary(16): 14262 when there is no such job.
func jobID(ctx context.Context, s *engine.Session, name string) ([]byte, error) {
	r, err := s.Query(ctx, "SELECT CAST(job_id AS binary(16)) AS id FROM msdb.dbo.sysjobs WHERE name = @p1", name)
	if err == nil && r.Len() == 0 {
		err = raise(14262, 1, "@job_name", name)
	}
	return r.Bytes(0, "id"), err
}

// agentJob is the job of an agent: the one that is named, or a new one. local is false for a named one.
func (e *Extension) agentJob(ctx context.Context, call *engine.ProcCall, j jobSpec) (id []byte, local bool, err error) {
	if name := call.String("@job_name"); name != "" {
		id, err = jobID(ctx, call.Session, name)
		return id, false, err
	}
	id, err = e.makeJob(ctx, call.Session, j)
	return id, true, err
}

// existingLogReader is the id of the log reader agent of a database; 0 when there is none.
func existingLogReader(ctx context.Context, s *engine.Session, publisher int64, db string) (int64, error) {
	r, err := s.Query(
		ctx,
		"SELECT id FROM dbo.MSlogreader_agents WHERE publisher_id = @p1 AND publisher_db = @p2",
		publisher,
		db,
	)
	return r.Int(0, "id"), err
}

func (e *Extension) ensureLogReaderRow(ctx context.Context, call *engine.ProcCall) error {
	publisher, err := serverID(ctx, call.Session, call.String("@publisher"))
	if err != nil {
		return err
	}
	id, err := existingLogReader(ctx, call.Session, publisher, call.String("@publisher_db"))
	if err != nil || id != 0 {
		return err
	}
	return e.insertLogReader(ctx, call, publisher, 1, nil, "")
}

func (e *Extension) addLogReaderRow(ctx context.Context, call *engine.ProcCall) error {
	publisher, err := serverID(ctx, call.Session, call.String("@publisher"))
	if err != nil {
		return err
	}
	id, err := existingLogReader(ctx, call.Session, publisher, call.String("@publisher_db"))
	if err != nil {
		return err
	}
	if id != 0 {
		return raise(21831, 1, "Log Reader Agent", "sp_changelogreader_agent")
	}
	if err := e.wantMasterKey(ctx, call.Session, call.Database.Name(), call.String("@password")); err != nil {
		return err
	}
	err = e.insertLogReader(ctx, call, publisher, call.Int("@mode"), call.Value("@login"), call.String("@password"))
	if name := call.String("@job_name"); err == nil && name != "" && e.inst.Answers(config.AttachStartsJob) {
		err = call.Session.Exec(ctx, "EXEC msdb.dbo.sp_start_job @job_name = @p1", name)
	}
	return err
}

func (e *Extension) insertLogReader(
	ctx context.Context,
	call *engine.ProcCall,
	publisher, mode int64,
	login any,
	password string,
) error {
	s, db := call.Session, call.String("@publisher_db")
	profileID, err := profile.Default(ctx, s, stored.LogReaderAgent)
	if err != nil {
		return err
	}
	r, err := s.Query(ctx, "SELECT ISNULL(MAX(id), 0) + 1 AS n FROM dbo.MSlogreader_agents")
	if err != nil {
		return err
	}
	name := fmt.Sprintf("%s-%d", stored.Clip(call.String("@publisher")+"-"+db, 90), r.Int(0, "n"))
	job, local, err := e.agentJob(
		ctx,
		call,
		jobSpec{name: name, category: "REPL-LogReader", subsystem: "LogReader", kind: 64, subday: 1,
			command: fmt.Sprintf("-Publisher %s -PublisherDB %s -Distributor %s -DistributorSecurityMode 1 -Continuous",
				bracket(call.String("@publisher")), bracket(db), bracket(e.serverName()))},
	)
	if err != nil {
		return err
	}
	return s.Exec(
		ctx,
		`INSERT INTO dbo.MSlogreader_agents (name, publisher_id, publisher_db, publication, local_job, job_id, profile_id, publisher_security_mode, publisher_login, publisher_password)
		VALUES (@p1, @p2, @p3, N'ALL', @p4, @p5, @p6, @p7, @p8, @p9)`,
		name,
		publisher,
		db,
		local,
		job,
		profileID,
		mode,
		login,
		e.key.Seal(password),
	)
}

func (e *Extension) changeLogReaderRow(ctx context.Context, call *engine.ProcCall) error {
	publisher, err := serverID(ctx, call.Session, call.String("@publisher"))
	if err != nil {
		return err
	}
	id, err := existingLogReader(ctx, call.Session, publisher, call.String("@publisher_db"))
	if err != nil {
		return err
	}
	if id == 0 {
		return raise(21799, 1, "Log Reader", call.String("@publisher"), call.String("@publisher_db"), "ALL")
	}
	for parameter, column := range map[string]string{"@mode": "publisher_security_mode", "@login": "publisher_login"} {
		if call.IsNull(parameter) {
			continue
		}
		if err := call.Session.Exec(ctx, "UPDATE dbo.MSlogreader_agents SET "+column+" = @p2 WHERE id = @p1", id,
			call.Value(parameter)); err != nil {
			return err
		}
	}
	if call.IsNull("@password") {
		return nil
	}
	return call.Session.Exec(
		ctx,
		"UPDATE dbo.MSlogreader_agents SET publisher_password = @p2 WHERE id = @p1",
		id,
		e.key.Seal(call.String("@password")),
	)
}

func (e *Extension) addSnapshotRow(ctx context.Context, call *engine.ProcCall) error {
	s, db, publication := call.Session, call.String("@publisher_db"), call.String("@publication")
	p, err := distributedPublication(ctx, s, call.String("@publisher"), db, publication)
	if err != nil {
		return err
	}
	r, err := s.Query(
		ctx,
		"SELECT id FROM dbo.MSsnapshot_agents WHERE publisher_id = @p1 AND publisher_db = @p2 AND publication = @p3",
		p.publisher,
		db,
		publication,
	)
	if err != nil {
		return err
	}
	if r.Len() > 0 {
		return raise(14101, 1, publication)
	}
	if err := e.wantMasterKey(ctx, s, call.Database.Name(), call.String("@password")); err != nil {
		return err
	}
	profileID, err := profile.Default(ctx, s, stored.SnapshotAgent)
	if err != nil {
		return err
	}
	if r, err = s.Query(ctx, "SELECT ISNULL(MAX(id), 0) + 1 AS n FROM dbo.MSsnapshot_agents"); err != nil {
		return err
	}
	name := fmt.Sprintf("%s-%d", stored.Clip(call.String("@publisher")+"-"+db+"-"+publication, 90), r.Int(0, "n"))
	job, local, err := e.agentJob(
		ctx,
		call,
		schedule(call, jobSpec{name: name, category: "REPL-Snapshot", subsystem: "Snapshot",
			command: fmt.Sprintf("-Publisher %s -PublisherDB %s -Distributor %s -Publication %s -DistributorSecurityMode 1",
				bracket(call.String("@publisher")), bracket(db), bracket(e.serverName()), bracket(publication))}),
	)
	if err != nil {
		return err
	}
	if err := s.Exec(ctx, `INSERT INTO dbo.MSsnapshot_agents (name, publisher_id, publisher_db, publication, publication_type, local_job, job_id, profile_id, publisher_security_mode, publisher_login, publisher_password)
		VALUES (@p1, @p2, @p3, @p4, 0, @p5, @p6, @p7, @p8, @p9, @p10)`, name, p.publisher, db, publication, local, job, profileID, call.Int("@mode"), call.Value("@login"), e.key.Seal(call.String("@password"))); err != nil {
		return err
	}
	return call.Exec(ctx, "SELECT CAST(@p1 AS binary(16)) AS job_id", job)
}

func (e *Extension) startSnapshot(ctx context.Context, call *engine.ProcCall) error {
	s := call.Session
	r, err := s.Query(
		ctx,
		`SELECT CAST(a.job_id AS uniqueidentifier) AS job FROM dbo.MSsnapshot_agents AS a JOIN dbo.MSreplservers AS v ON v.srvid = a.publisher_id
		WHERE v.srvname = @p1 AND a.publisher_db = @p2 AND a.publication = @p3`,
		call.String("@publisher"),
		call.String("@publisher_db"),
		call.String("@publication"),
	)
	if err != nil {
		return err
	}
	if r.Len() == 0 {
		return raise(
			21799,
			1,
			"Snapshot",
			call.String("@publisher"),
			call.String("@publisher_db"),
			call.String("@publication"),
		)
	}
	return s.Exec(ctx, "EXEC msdb.dbo.sp_start_job @job_id = @p1", r.UUID(0, "job"))
}

func (e *Extension) addPushRow(ctx context.Context, call *engine.ProcCall) error {
	s := call.Session
	agent, err := agentOf(ctx, s, call)
	if err != nil {
		return err
	}
	if agent == 0 {
		return raise(14055, 1)
	}
	r, err := s.Query(ctx, "SELECT name, job_id FROM dbo.MSdistribution_agents WHERE id = @p1", agent)
	if err != nil {
		return err
	}
	if r.Bytes(0, "job_id") != nil {
		return raise(21837, 1, r.String(0, "name"))
	}
	if err := e.wantMasterKey(ctx, s, call.Database.Name(), call.String("@password")); err != nil {
		return err
	}
	command := fmt.Sprintf(
		"-Publisher %s -PublisherDB %s -Publication %s -Distributor %s -Subscriber %s -SubscriberDB %s "+
			"-DistributorSecurityMode 1 -SubscriptionType 0",
		bracket(
			call.String("@publisher"),
		),
		bracket(call.String("@publisher_db")),
		bracket(call.String("@publication")),
		bracket(e.serverName()),
		bracket(call.String("@subscriber")),
		bracket(call.String("@subscriber_db")),
	)
	spec := schedule(
		call,
		jobSpec{name: r.String(0, "name"), category: "REPL-Distribution", subsystem: "Distribution", command: command},
	)
	if spec.kind == 64 {
		spec.command += " -Continuous"
	}
	job, local, err := e.agentJob(ctx, call, spec)
	if err != nil {
		return err
	}
	if err := s.Exec(ctx,
		"UPDATE dbo.MSdistribution_agents SET job_id = @p2, local_job = @p3, subscriber_security_mode = @p4, "+
			"subscriber_login = @p5, subscriber_password = @p6 WHERE id = @p1",
		agent, job, local, call.Int("@mode"), call.Value("@login"), e.key.Seal(call.String("@password"))); err != nil {
		return err
	}
	return call.Exec(ctx, "SELECT CAST(@p1 AS binary(16)) AS job_id", job)
}
