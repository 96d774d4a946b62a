// SPDX-License-Identifier: Apache-2.0

package sqlagent

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"geosql.dev/standin/engine"
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/sqltype"
)

func (e *Extension) installSteps(r *engine.Registry) {
	e.procedure(r, "sp_add_jobstep", nil, e.addJobStep)
	e.procedure(r, "sp_update_jobstep", nil, e.updateJobStep)
	e.procedure(r, "sp_delete_jobstep", []engine.Parameter{
		{Name: "@job_id", Type: sqltype.GUIDType}, {Name: "@job_name", Type: sqltype.NVarCharOf(128)},
		{Name: "@step_id", Type: sqltype.IntType, Required: true}}, e.deleteJobStep)
}

// subsystem checks that steps of a subsystem can be executed and gives its name as sysjobsteps shows it.
func (e *Extension) subsystem(name string) (string, error) {
	if strings.EqualFold(name, "TSQL") {
		return "TSQL", nil
	}
	known := []string{"TSQL"}
	for s := range e.options.Subsystems {
		if strings.EqualFold(s, name) {
			return s, nil
		}
		known = append(known, s)
	}
	return "", sqlerr.New(14266, 1, "@subsystem", strings.Join(known, ", ")+" (others are not supported)")
}

// refuseStepOptions refuses what would change how a step runs and is not supported.
func refuseStepOptions(call *engine.ProcCall) error {
	for _, p := range []string{"@proxy_id", "@proxy_name", "@output_file_name", "@database_user_name",
		"@additional_parameters"} {
		if call.Given(p) && !call.IsNull(p) && call.Value(p) != "" {
			return sqlerr.New(14266, 1, p, "NULL (it is not supported)")
		}
	}
	for _, p := range []string{"@on_success_action", "@on_fail_action"} {
		if err := within(call, p, 1, 4); err != nil {
			return err
		}
	}
	if err := within(call, "@retry_attempts", 0, 1<<31-1); err != nil {
		return err
	}
	return within(call, "@retry_interval", 0, 9999)
}

func (e *Extension) addJobStep(ctx context.Context, call *engine.ProcCall) error {
	job, _, err := e.job(ctx, call)
	if err != nil {
		return err
	}
	subsystem, err := e.subsystem(call.String("@subsystem"))
	if err != nil {
		return err
	}
	if err := refuseStepOptions(call); err != nil {
		return err
	}
	s := call.Session
	name := call.String("@step_name")
	r, err := s.Query(
		ctx,
		"SELECT COUNT(*) AS n, SUM(CASE WHEN step_name = @p2 THEN 1 ELSE 0 END) AS taken FROM msdb.dbo.sysjobsteps WHERE "+
			"job_id = @p1",
		job,
		name,
	)
	if err != nil {
		return err
	}
	if r.Int(0, "taken") > 0 {
		return sqlerr.New(14261, 1, "@step_name", name)
	}
	count := r.Int(0, "n")
	id := count + 1
	if call.Given("@step_id") && !call.IsNull("@step_id") {
		id = call.Int("@step_id")
		if id < 1 || id > count+1 {
			return sqlerr.New(14266, 1, "@step_id", fmt.Sprintf("1..%d", count+1))
		}
	}
	for at := count; at >= id; at-- { // steps from the new one on move up
		if err := s.Exec(ctx, "UPDATE msdb.dbo.sysjobsteps SET step_id = @p3 WHERE job_id = @p1 AND step_id = @p2", job, at,
			at+1); err != nil {
			return err
		}
	}
	err = s.Exec(
		ctx,
		`INSERT INTO msdb.dbo.sysjobsteps (job_id, step_id, step_name, subsystem, command, flags, cmdexec_success_code, on_success_action,
		on_success_step_id, on_fail_action, on_fail_step_id, server, database_name, retry_attempts, retry_interval, os_run_priority,
		last_run_outcome, last_run_duration, last_run_retries, last_run_date, last_run_time, step_uid)
		VALUES (@p1,@p2,@p3,@p4,@p5,@p6,@p7,@p8,@p9,@p10,@p11,@p12,@p13,@p14,@p15,0, 5,0,0,0,0,@p16)`,
		job,
		id,
		name,
		subsystem,
		call.Value("@command"),
		call.Int("@flags"),
		call.Int("@cmdexec_success_code"),
		call.Int(
			"@on_success_action",
		),
		call.Int("@on_success_step_id"),
		call.Int("@on_fail_action"),
		call.Int("@on_fail_step_id"),
		call.Value(
			"@server",
		),
		e.stepDatabase(call, subsystem),
		call.Int("@retry_attempts"),
		call.Int("@retry_interval"),
		uuid.New(),
	)
	if err != nil {
		return err
	}
	return touch(ctx, s, job)
}

// stepDatabase is @database_name; a TSQL step without one runs in master.
func (e *Extension) stepDatabase(call *engine.ProcCall, subsystem string) any {
	if name := call.String("@database_name"); name != "" {
		return name
	}
	if subsystem == "TSQL" {
		return "master"
	}
	return nil
}

// touch notes that a job was changed.
func touch(ctx context.Context, s *engine.Session, job uuid.UUID) error {
	return s.Exec(
		ctx,
		"UPDATE msdb.dbo.sysjobs SET date_modified = GETDATE(), version_number = version_number + 1 WHERE job_id = @p1",
		job,
	)
}

// stepExists is 14262 unless the job has the step.
func stepExists(ctx context.Context, s *engine.Session, job uuid.UUID, id int64) error {
	r, err := s.Query(ctx, "SELECT 1 AS n FROM msdb.dbo.sysjobsteps WHERE job_id = @p1 AND step_id = @p2", job, id)
	if err != nil {
		return err
	}
	if r.Len() == 0 {
		return sqlerr.New(14262, 1, "@step_id", fmt.Sprint(id))
	}
	return nil
}

func (e *Extension) updateJobStep(ctx context.Context, call *engine.ProcCall) error {
	job, _, err := e.job(ctx, call)
	if err != nil {
		return err
	}
	if err := refuseStepOptions(call); err != nil {
		return err
	}
	s, id := call.Session, call.Int("@step_id")
	if err := stepExists(ctx, s, job, id); err != nil {
		return err
	}
	var a assignments
	if name := call.String("@step_name"); name != "" {
		r, err := s.Query(
			ctx,
			"SELECT 1 AS n FROM msdb.dbo.sysjobsteps WHERE job_id = @p1 AND step_id <> @p2 AND step_name = @p3",
			job,
			id,
			name,
		)
		if err != nil {
			return err
		}
		if r.Len() > 0 {
			return sqlerr.New(14261, 1, "@step_name", name)
		}
		a.add("step_name", name)
	}
	if !call.IsNull("@subsystem") {
		subsystem, err := e.subsystem(call.String("@subsystem"))
		if err != nil {
			return err
		}
		a.add("subsystem", subsystem)
	}
	for _, c := range []string{"command", "cmdexec_success_code", "on_success_action", "on_success_step_id",
		"on_fail_action",
		"on_fail_step_id", "server", "database_name", "retry_attempts", "retry_interval", "flags"} {
		a.given(call, c, "@"+c)
	}
	if err := a.run(ctx, s, "msdb.dbo.sysjobsteps", "job_id = @k1 AND step_id = @k2", job, id); err != nil {
		return err
	}
	return touch(ctx, s, job)
}

func (e *Extension) deleteJobStep(ctx context.Context, call *engine.ProcCall) error {
	job, _, err := e.job(ctx, call)
	if err != nil {
		return err
	}
	s, id := call.Session, call.Int("@step_id")
	if id == 0 {
		if err := s.Exec(ctx, "DELETE FROM msdb.dbo.sysjobsteps WHERE job_id = @p1", job); err != nil {
			return err
		}
		return touch(ctx, s, job)
	}
	if err := stepExists(ctx, s, job, id); err != nil {
		return err
	}
	err = s.Exec(ctx, `DELETE FROM msdb.dbo.sysjobsteps WHERE job_id = @p1 AND step_id = @p2;
		UPDATE msdb.dbo.sysjobsteps SET step_id = step_id - 1 WHERE job_id = @p1 AND step_id > @p2`, job, id)
	if err != nil {
		return err
	}
	return touch(ctx, s, job)
}
