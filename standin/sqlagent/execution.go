// SPDX-License-Identifier: Apache-2.0

package sqlagent

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"geosql.dev/standin/engine"
	"geosql.dev/standin/sqlerr"
)

// Outcomes of steps and jobs (sysjobhistory.run_status).
const (
	outcomeFailed    = 0
	outcomeSucceeded = 1
	outcomeRetry     = 2
	outcomeCanceled  = 3
)

// Execution states of jobs (sp_help_job, current_execution_status).
const (
	stateExecuting     = 1
	stateBetweenRetry  = 3
	stateIdle          = 4
	stateCompletionAct = 7
)

// execution is a job that runs.
type execution struct {
	job       uuid.UUID
	name      string
	startStep int
	invoker   string
	requested time.Time
	cancel    context.CancelCauseFunc
	done      chan struct{}

	// step, stepName, state and retry are guarded by Extension.mu.
	step     int
	stepName string
	state    int
	retry    int
}

// step is a row of sysjobsteps.
type step struct {
	id                            int
	name, subsystem, command, db  string
	onSuccess, onSuccessStep      int
	onFail, onFailStep            int
	retryAttempts, retryIntervals int
}

// begin starts a job in the background; false when it is running already or the agent is not. source is
// sysjobactivity.run_requested_source: 1 scheduler, 3 agent start, 4 user.
func (e *Extension) begin(job uuid.UUID, name string, startStep int, invoker string, source int) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.ctx == nil || e.ctx.Err() != nil || e.running[job] != nil {
		return false
	}
	ctx, cancel := context.WithCancelCause(e.ctx)
	x := &execution{job: job, name: name, startStep: startStep, invoker: invoker, requested: e.now(), cancel: cancel,
		done: make(chan struct{}), state: stateExecuting}
	e.running[job] = x
	e.work.Add(1)
	go func() {
		defer e.work.Done()
		defer close(x.done)
		e.execute(ctx, x, source)
		cancel(nil)
		e.mu.Lock()
		delete(e.running, job)
		e.mu.Unlock()
	}()
	return true
}

// runs tells whether a job runs now.
func (e *Extension) runs(job uuid.UUID) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.running[job] != nil
}

// stopWithin is how long sp_stop_job and sp_delete_job wait for the job to end.
const stopWithin = 10 * time.Second

// halt ends a running job and waits for its end, within bounds; false when it does not run.
func (e *Extension) halt(job uuid.UUID, reason string) bool {
	e.mu.Lock()
	x := e.running[job]
	e.mu.Unlock()
	if x == nil {
		return false
	}
	x.cancel(errors.New(reason))
	select {
	case <-x.done:
	case <-time.After(stopWithin):
	}
	return true
}

func (e *Extension) note(x *execution, st step, state, retry int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	x.step, x.stepName, x.state, x.retry = st.id, st.name, state, retry
}

// execute runs a job's steps and writes its history.
func (e *Extension) execute(ctx context.Context, x *execution, source int) {
	record := context.WithoutCancel(ctx)
	s, err := e.system(record)
	if err != nil {
		e.inst.Log().Error("SQLServerAgent: a job could not be started", "job", x.name, "error", err.Error())
		return
	}
	defer s.Close()
	warn := func(err error) {
		if err != nil {
			e.inst.Log().Warn("SQLServerAgent: history could not be written", "job", x.name, "error", err.Error())
		}
	}
	steps, first, err := e.readSteps(record, s, x)
	if err != nil {
		warn(err)
		return
	}
	warn(s.Exec(record, `BEGIN TRANSACTION;
		DELETE FROM msdb.dbo.sysjobactivity WHERE session_id = @p1 AND job_id = @p2;
		INSERT INTO msdb.dbo.sysjobactivity (session_id, job_id, run_requested_date, run_requested_source, start_execution_date, next_scheduled_run_date) VALUES (@p1, @p2, @p3, @p4, @p3, @p5);
		COMMIT TRANSACTION`, e.session, x.job, x.requested, fmt.Sprint(source), e.nextRun(x.job)))
	outcome, last := e.runSteps(ctx, s, x, steps, first)
	message := fmt.Sprintf(
		"The job %s.  The Job was invoked by %s.  The last step to run was step %d (%s).",
		word(outcome),
		x.invoker,
		last.id,
		last.name,
	)
	if outcome == outcomeCanceled {
		message = fmt.Sprintf("%v  %s", context.Cause(ctx), message)
	}
	e.note(x, last, stateCompletionAct, 0)
	instance, err := e.writeHistory(record, s, x, step{name: "(Job outcome)"}, outcome, message, x.requested, 0, nil)
	warn(err)
	warn(
		s.Exec(
			record,
			`UPDATE msdb.dbo.sysjobservers SET last_run_outcome = @p2, last_outcome_message = @p3, last_run_date = @p4, last_run_time = @p5, last_run_duration = @p6 WHERE job_id = @p1;
		UPDATE msdb.dbo.sysjobactivity SET stop_execution_date = GETDATE(), job_history_id = @p8 WHERE session_id = @p7 AND job_id = @p1`,
			x.job,
			outcome,
			message,
			dateNumber(x.requested),
			timeNumber(x.requested),
			duration(e.now().Sub(x.requested)),
			e.session,
			instance,
		),
	)
}

func word(outcome int) string {
	switch outcome {
	case outcomeSucceeded:
		return "succeeded"
	case outcomeCanceled:
		return "was stopped prior to completion"
	}
	return "failed"
}

// duration is HHMMSS as a number.
func duration(d time.Duration) int64 {
	sec := int64(d.Seconds())
	return sec/3600*10000 + sec/60%60*100 + sec%60
}

func (e *Extension) readSteps(ctx context.Context, s *engine.Session, x *execution) (map[int]step, int, error) {
	r, err := s.Query(
		ctx,
		`SELECT t.*, j.start_step_id FROM msdb.dbo.sysjobsteps AS t JOIN msdb.dbo.sysjobs AS j ON j.job_id = t.job_id WHERE t.job_id = @p1 ORDER BY t.step_id`,
		x.job,
	)
	if err != nil {
		return nil, 0, err
	}
	steps := map[int]step{}
	first := x.startStep
	for i := range r.Len() {
		if first == 0 {
			first = int(r.Int(i, "start_step_id"))
		}
		st := step{
			id:        int(r.Int(i, "step_id")),
			name:      r.String(i, "step_name"),
			subsystem: r.String(i, "subsystem"),
			command:   r.String(i, "command"),
			db: r.String(
				i,
				"database_name",
			),
			onSuccess:      int(r.Int(i, "on_success_action")),
			onSuccessStep:  int(r.Int(i, "on_success_step_id")),
			onFail:         int(r.Int(i, "on_fail_action")),
			onFailStep:     int(r.Int(i, "on_fail_step_id")),
			retryAttempts:  int(r.Int(i, "retry_attempts")),
			retryIntervals: int(r.Int(i, "retry_interval")),
		}
		steps[st.id] = st
	}
	return steps, first, nil
}

// maxSteps bounds a job whose steps go in a circle.
const maxSteps = 1000

// runSteps follows the steps' actions: 1 quit with success, 2 quit with failure, 3 next step, 4 the given step.
func (e *Extension) runSteps(
	ctx context.Context,
	s *engine.Session,
	x *execution,
	steps map[int]step,
	at int,
) (outcome int, last step) {
	for range maxSteps {
		st, ok := steps[at]
		if !ok {
			return outcomeFailed, last
		}
		last = st
		result := e.runStep(ctx, s, x, st)
		if result == outcomeCanceled {
			return outcomeCanceled, last
		}
		action, target := st.onSuccess, st.onSuccessStep
		if result != outcomeSucceeded {
			action, target = st.onFail, st.onFailStep
		}
		switch action {
		case 1:
			return outcomeSucceeded, last
		case 2:
			return outcomeFailed, last
		case 3:
			at++
		default:
			at = target
		}
	}
	return outcomeFailed, last
}

// runStep runs a step with its retries.
func (e *Extension) runStep(ctx context.Context, s *engine.Session, x *execution, st step) int {
	record := context.WithoutCancel(ctx)
	for attempt := 0; ; attempt++ {
		e.note(x, st, stateExecuting, attempt)
		started := e.now()
		message, err := e.subsystemRun(ctx, x, st, attempt < st.retryAttempts)
		outcome := outcomeSucceeded
		switch {
		case ctx.Err() != nil:
			outcome = outcomeCanceled
			message = strings.TrimSpace(message + " The step was cancelled: " + context.Cause(ctx).Error())
		case err != nil && attempt < st.retryAttempts:
			outcome = outcomeRetry
		case err != nil:
			outcome = outcomeFailed
		}
		if _, e2 := e.writeHistory(record, s, x, st, outcome, message, started, attempt, err); e2 != nil {
			e.inst.Log().Warn("SQLServerAgent: history could not be written", "job", x.name, "error", e2.Error())
		}
		if outcome != outcomeRetry {
			return outcome
		}
		e.note(x, st, stateBetweenRetry, attempt+1)
		wait := time.NewTimer(max(time.Duration(st.retryIntervals)*time.Minute, time.Second))
		select {
		case <-ctx.Done():
		case <-wait.C:
		}
		wait.Stop()
	}
}

// subsystemRun executes the step's text once; again says that it is tried again when it fails.
func (e *Extension) subsystemRun(ctx context.Context, x *execution, st step, again bool) (string, error) {
	if st.subsystem == "TSQL" {
		err := e.runTSQL(ctx, x, st)
		if err != nil {
			return err.Error() + "  The step failed.", err
		}
		return "The step succeeded.", nil
	}
	run := e.options.Subsystems[st.subsystem]
	if run == nil {
		err := fmt.Errorf("the subsystem %s is not supported", st.subsystem)
		return err.Error(), err
	}
	if err := e.mayRun(ctx, x, st); err != nil {
		return err.Error(), err
	}
	message, err := run(
		ctx,
		Step{JobID: x.job, JobName: x.name, StepID: st.id, Command: st.command, Database: st.db, Again: again},
	)
	if err != nil {
		return strings.TrimSpace(message+" "+err.Error()) + "  The step failed.", err
	}
	return strings.TrimSpace(message) + "  The step succeeded.", nil
}

// mayRun refuses a step of another subsystem than TSQL in a job whose owner is no sysadmin: it would act as the server,
// and there are no proxies.
func (e *Extension) mayRun(ctx context.Context, x *execution, st step) error {
	s, err := e.inst.Session(ctx, engine.SystemLogin, "msdb", "SQLAgent - Step History Logger")
	if err != nil {
		return err
	}
	defer s.Close()
	_, sysadmin, err := jobOwner(ctx, s, x)
	if err == nil && !sysadmin {
		err = fmt.Errorf(
			"the owner of job '%s' is no member of sysadmin: its steps of the subsystem %s need a proxy account, and proxies "+
				"are not supported",
			x.name,
			st.subsystem,
		)
	}
	return err
}

// jobOwner is the login that owns a job.
func jobOwner(ctx context.Context, s *engine.Session, x *execution) (name string, sysadmin bool, err error) {
	r, err := s.Query(
		ctx,
		"SELECT SUSER_SNAME(owner_sid) AS owner, IS_SRVROLEMEMBER('sysadmin', SUSER_SNAME(owner_sid)) AS admin FROM "+
			"msdb.dbo.sysjobs WHERE job_id = @p1",
		x.job,
	)
	if err != nil {
		return "", false, err
	}
	if name = r.String(0, "owner"); name == "" {
		return "", false, errors.New(
			"the job's owner is no login any more; give the job another one with sp_update_job @owner_login_name",
		)
	}
	return name, r.Int(0, "admin") == 1, nil
}

// runTSQL runs a T-SQL step as the job's owner; a sysadmin's job runs as the agent.
func (e *Extension) runTSQL(ctx context.Context, x *execution, st step) error {
	if st.db == "" {
		st.db = "master"
	}
	s, err := e.inst.Session(
		ctx,
		engine.SystemLogin,
		st.db,
		"SQLAgent - TSQL JobStep ("+x.name+" : Step "+fmt.Sprint(st.id)+")",
	)
	if err != nil {
		return err
	}
	defer s.Close()
	owner, sysadmin, err := jobOwner(ctx, s, x)
	if err != nil {
		return err
	}
	text := st.command
	if !sysadmin {
		if err := s.Exec(ctx, "EXECUTE AS LOGIN = N'"+strings.ReplaceAll(owner, "'", "''")+"'"); err != nil {
			return err
		}
	}
	return s.Exec(ctx, text)
}

// writeHistory adds a row to sysjobhistory and notes the outcome with the step.
func (e *Extension) writeHistory(
	ctx context.Context,
	s *engine.Session,
	x *execution,
	st step,
	outcome int,
	message string,
	started time.Time,
	retries int,
	cause error,
) (int64, error) {
	number, severity := int64(0), int64(0)
	var sqlError *sqlerr.Error
	if errors.As(cause, &sqlError) {
		number, severity = int64(sqlError.Number), int64(sqlError.Class)
	}
	if len(message) > 3900 {
		message = strings.ToValidUTF8(message[:3900], "")
	}
	took := duration(e.now().Sub(started))
	r, err := s.Query(
		ctx,
		`INSERT INTO msdb.dbo.sysjobhistory (job_id, step_id, step_name, sql_message_id, sql_severity, [message], run_status, run_date, run_time,
		run_duration, operator_id_emailed, operator_id_netsent, operator_id_paged, retries_attempted, server)
		VALUES (@p1, @p2, @p3, @p4, @p5, @p6, @p7, @p8, @p9, @p10, 0, 0, 0, @p11, @p12);
		SELECT CAST(SCOPE_IDENTITY() AS int) AS id`,
		x.job,
		st.id,
		st.name,
		number,
		severity,
		message,
		outcome,
		dateNumber(started),
		timeNumber(started),
		took,
		retries,
		e.inst.Config().ServerName,
	)
	if err != nil || st.id == 0 {
		return r.Int(0, "id"), err
	}
	return r.Int(
			0,
			"id",
		), s.Exec(
			ctx,
			`UPDATE msdb.dbo.sysjobsteps SET last_run_outcome = @p3, last_run_duration = @p4, last_run_retries = @p5, last_run_date = @p6, last_run_time = @p7 WHERE job_id = @p1 AND step_id = @p2;
		UPDATE msdb.dbo.sysjobactivity SET last_executed_step_id = @p2, last_executed_step_date = GETDATE() WHERE session_id = @p8 AND job_id = @p1`,
			x.job,
			st.id,
			outcome,
			took,
			retries,
			dateNumber(started),
			timeNumber(started),
			e.session,
		)
}
