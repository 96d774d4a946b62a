// SPDX-License-Identifier: Apache-2.0

package sqlagent

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"geosql.dev/standin/config"
	"geosql.dev/standin/engine"
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/sqltype"
	"geosql.dev/standin/tds"
)

func (e *Extension) installHelp(r *engine.Registry) {
	e.procedure(r, "sp_help_job", nil, e.helpJob)
	e.procedure(r, "sp_help_jobstep", nil, e.helpJobStep)
	e.procedure(r, "sp_help_jobactivity", nil, e.helpJobActivity)
	e.procedure(r, "sp_help_jobhistory", nil, e.helpJobHistory)
}

// optionalJob is the job that @job_id or @job_name name; ok is false when neither is given.
func (e *Extension) optionalJob(ctx context.Context, call *engine.ProcCall) (id uuid.UUID, ok bool, err error) {
	if call.IsNull("@job_id") && call.IsNull("@job_name") {
		return uuid.UUID{}, false, nil
	}
	id, _, err = e.job(ctx, call)
	return id, err == nil, err
}

const helpJobColumns = `SELECT j.job_id, CAST(@@SERVERNAME AS nvarchar(30)) AS originating_server, j.name, j.enabled, j.description, j.start_step_id,
	c.name AS category, CAST(SUSER_SNAME(j.owner_sid) AS nvarchar(128)) AS owner, j.notify_level_eventlog, j.notify_level_email,
	j.notify_level_netsend, j.notify_level_page, CAST(N'(unknown)' AS nvarchar(128)) AS notify_email_operator,
	CAST(N'(unknown)' AS nvarchar(128)) AS notify_netsend_operator, CAST(N'(unknown)' AS nvarchar(128)) AS notify_page_operator,
	j.delete_level, j.date_created, j.date_modified, j.version_number, ISNULL(v.last_run_date, 0) AS last_run_date,
	ISNULL(v.last_run_time, 0) AS last_run_time, CAST(ISNULL(v.last_run_outcome, 5) AS int) AS last_run_outcome,
	CAST(ISNULL(n.at / 1000000, 0) AS int) AS next_run_date, CAST(ISNULL(n.at % 1000000, 0) AS int) AS next_run_time,
	ISNULL((SELECT MIN(a.schedule_id) FROM msdb.dbo.sysjobschedules AS a WHERE a.job_id = j.job_id AND a.next_run_date = n.at / 1000000 AND a.next_run_time = n.at % 1000000), 0) AS next_run_schedule_id, 4 AS current_execution_status,
	CAST(N'0 (unknown)' AS nvarchar(128)) AS current_execution_step, 0 AS current_retry_attempt,
	(SELECT COUNT(*) FROM msdb.dbo.sysjobsteps AS t WHERE t.job_id = j.job_id) AS has_step,
	(SELECT COUNT(*) FROM msdb.dbo.sysjobschedules AS a WHERE a.job_id = j.job_id) AS has_schedule,
	CASE WHEN v.job_id IS NULL THEN 0 ELSE 1 END AS has_target, CASE WHEN v.job_id IS NULL THEN 0 ELSE 1 END AS type
	FROM msdb.dbo.sysjobs AS j JOIN msdb.dbo.syscategories AS c ON c.category_id = j.category_id
	LEFT JOIN msdb.dbo.sysjobservers AS v ON v.job_id = j.job_id
	LEFT JOIN (SELECT job_id, MIN(CAST(next_run_date AS bigint) * 1000000 + next_run_time) AS at FROM msdb.dbo.sysjobschedules WHERE next_run_date > 0 GROUP BY job_id) AS n ON n.job_id = j.job_id`

// jobFilters are the conditions that the parameters of sp_help_job stand for.
var jobFilters = []struct{ parameter, condition string }{
	{"@job_type", "CASE WHEN v.job_id IS NULL THEN N'' ELSE N'LOCAL' END = @p%d"},
	{"@owner_login_name", "SUSER_SNAME(j.owner_sid) = @p%d"},
	{"@subsystem", "EXISTS (SELECT 1 FROM msdb.dbo.sysjobsteps AS t WHERE t.job_id = j.job_id AND t.subsystem = @p%d)"},
	{"@category_name", "c.name = @p%d"},
	{"@enabled", "j.enabled = @p%d"},
	{"@date_created", "j.date_created {date_comparator} @p%d"},
	{"@date_last_modified", "j.date_modified {date_comparator} @p%d"},
	{"@description", "j.description LIKE @p%d"},
}

// filteredJobs are the conditions and values of a call: a job by itself, or what the filters let through
// (docs/relational-databases/system-stored-procedures/sp-help-job-transact-sql.md).
func filteredJobs(call *engine.ProcCall, id uuid.UUID, one bool) (where string, args []any, err error) {
	if one {
		for _, f := range jobFilters {
			if !call.IsNull(f.parameter) {
				return "", nil, sqlerr.New(14280, 1)
			}
		}
		return " WHERE j.job_id = @p1", []any{id}, nil
	}
	if kind := call.String("@job_type"); !call.IsNull("@job_type") && !strings.EqualFold(kind, "LOCAL") &&
		!strings.EqualFold(kind, "MULTI-SERVER") {
		return "", nil, sqlerr.New(14266, 1, "@job_type", "LOCAL, MULTI-SERVER")
	}
	comparator := strings.TrimSpace(call.String("@date_comparator"))
	if dated := !call.IsNull("@date_created") || !call.IsNull("@date_last_modified"); dated == (comparator == "") {
		return "", nil, sqlerr.New(14282, 1)
	}
	if comparator != "" && !strings.Contains("=<>", comparator) {
		return "", nil, sqlerr.New(14266, 1, "@date_comparator", "=, <, >")
	}
	where = " WHERE 1 = 1"
	for _, f := range jobFilters {
		if call.IsNull(f.parameter) {
			continue
		}
		args = append(args, call.Value(f.parameter))
		where += " AND " + fmt.Sprintf(strings.Replace(f.condition, "{date_comparator}", comparator, 1), len(args))
	}
	return where, args, nil
}

func (e *Extension) helpJob(ctx context.Context, call *engine.ProcCall) error {
	id, one, err := e.optionalJob(ctx, call)
	if err != nil {
		return err
	}
	where, args, err := filteredJobs(call, id, one)
	if err != nil {
		return err
	}
	r, err := call.Session.Query(ctx, helpJobColumns+where, args...)
	if err != nil {
		return err
	}
	aspect := strings.ToUpper(strings.TrimSpace(call.String("@job_aspect")))
	if aspect == "" && one {
		aspect = "ALL"
	}
	if aspect == "" || aspect == "JOB" || aspect == "ALL" || !one {
		if err := e.sendJobs(call, r); err != nil || !one {
			return err
		}
	}
	if aspect == "STEPS" || aspect == "ALL" {
		if err := e.sendSteps(ctx, call, id, true, "", nil); err != nil {
			return err
		}
	}
	if aspect == "SCHEDULES" || aspect == "ALL" {
		if err := call.Exec(ctx, jobSchedules+"a.job_id = @p1", id); err != nil {
			return err
		}
	}
	if aspect == "TARGETS" || aspect == "ALL" {
		return call.Exec(
			ctx,
			`SELECT v.server_id, CAST(@@SERVERNAME AS nvarchar(30)) AS server_name, CAST(NULL AS datetime) AS enlist_date, CAST(NULL AS datetime) AS last_poll_date,
			v.last_run_date, v.last_run_time, v.last_run_duration, v.last_run_outcome, CAST(v.last_outcome_message AS nvarchar(1024)) AS last_outcome_message
			FROM msdb.dbo.sysjobservers AS v WHERE v.job_id = @p1`,
			id,
		)
	}
	return nil
}

// sendJobs fills in what only the running agent knows.
func (e *Extension) sendJobs(call *engine.ProcCall, r *engine.Result) error {
	at := map[string]int{}
	for i, c := range r.Columns {
		at[c.Name] = i
	}
	wanted := call.Value("@execution_status")
	var rows [][]any
	e.mu.Lock()
	for i, row := range r.Rows {
		state := int64(stateIdle)
		if x := e.running[r.UUID(i, "job_id")]; x != nil {
			state = int64(x.state)
			row[at["current_execution_step"]] = fmt.Sprintf("%d (%s)", x.step, x.stepName)
			row[at["current_retry_attempt"]] = int64(x.retry)
		}
		row[at["current_execution_status"]] = state
		if wanted == nil || wanted == state || wanted == int64(0) && state != stateIdle {
			rows = append(rows, row)
		}
	}
	e.mu.Unlock()
	columns := r.Columns
	if e.inst.Answers(config.HelpJobHasMore) {
		columns = append([]tds.Column{{Name: "more", Type: sqltype.IntType}}, columns...)
		for i, row := range rows {
			rows[i] = append([]any{int64(0)}, row...)
		}
	}
	return call.ResultSet(columns, rows)
}

func (e *Extension) helpJobStep(ctx context.Context, call *engine.ProcCall) error {
	job, _, err := e.job(ctx, call)
	if err != nil {
		return err
	}
	return e.sendSteps(ctx, call, job, call.Bool("@suffix"), call.String("@step_name"), call.Value("@step_id"))
}

// described are the columns of a step's result set that are texts with a description behind the number where @suffix
// asks for it, as sp_help_job shows them
// (docs/relational-databases/system-stored-procedures/sp-help-job-transact-sql.md,
// docs/relational-databases/system-stored-procedures/sp-help-jobstep-transact-sql.md). The words of the descriptions
// are recalled, not read.
var described = strings.NewReplacer(
	"{flags}",
	`CAST(flags AS nvarchar(4000)) + IIF(flags = 0, N' (normal)', N'') AS flags`,
	"{on_success_action}",
	actionText("on_success_action"),
	"{on_fail_action}",
	actionText("on_fail_action"),
	"{os_run_priority}",
	`CAST(CONCAT(os_run_priority, IIF(os_run_priority = 0, ' (normal)', '')) AS varchar(4000)) AS os_run_priority`,
)

func actionText(column string) string {
	return fmt.Sprintf(
		`CAST(%[1]s AS nvarchar(4000)) + CASE %[1]s WHEN 1 THEN N' (quit with success)' WHEN 2 THEN N' (quit with failure)' WHEN 3 THEN N' (goto next step)' WHEN 4 THEN N' (goto step)' ELSE N'' END AS %[1]s`,
		column,
	)
}

func (e *Extension) sendSteps(
	ctx context.Context,
	call *engine.ProcCall,
	job uuid.UUID,
	suffix bool,
	name string,
	id any,
) error {
	columns := `step_id, step_name, subsystem, command, {flags}, cmdexec_success_code, {on_success_action}, on_success_step_id, {on_fail_action},
		on_fail_step_id, server, database_name, database_user_name, retry_attempts, retry_interval, {os_run_priority}, output_file_name,
		last_run_outcome, last_run_duration, last_run_retries, last_run_date, last_run_time, proxy_id`
	if suffix {
		columns = described.Replace(columns)
	} else {
		columns = strings.NewReplacer("{", "", "}", "").Replace(columns)
	}
	text := "SELECT " + columns + " FROM msdb.dbo.sysjobsteps WHERE job_id = @p1"
	args := []any{job}
	if id != nil {
		args = append(args, id)
		text += fmt.Sprintf(" AND step_id = @p%d", len(args))
	}
	if name != "" {
		args = append(args, name)
		text += fmt.Sprintf(" AND step_name = @p%d", len(args))
	}
	return call.Exec(ctx, text+" ORDER BY step_id", args...)
}

func (e *Extension) helpJobActivity(ctx context.Context, call *engine.ProcCall) error {
	id, one, err := e.optionalJob(ctx, call)
	if err != nil {
		return err
	}
	session := call.Value("@session_id")
	if session == nil {
		e.mu.Lock()
		session = e.session
		e.mu.Unlock()
	}
	text := `SELECT a.session_id, a.job_id, j.name AS job_name, a.run_requested_date, a.run_requested_source, a.queued_date, a.start_execution_date,
		a.last_executed_step_id, a.last_executed_step_date AS last_exectued_step_date, a.stop_execution_date, a.next_scheduled_run_date,
		a.job_history_id, CAST(h.message AS nvarchar(1024)) AS message, h.run_status, 0 AS operator_id_emailed, 0 AS operator_id_netsent, 0 AS operator_id_paged
		FROM msdb.dbo.sysjobactivity AS a JOIN msdb.dbo.sysjobs AS j ON j.job_id = a.job_id
		LEFT JOIN msdb.dbo.sysjobhistory AS h ON h.instance_id = a.job_history_id WHERE a.session_id = @p1`
	args := []any{session}
	if one {
		text, args = text+" AND a.job_id = @p2", append(args, id)
	}
	return call.Exec(ctx, text, args...)
}

func (e *Extension) helpJobHistory(ctx context.Context, call *engine.ProcCall) error {
	id, one, err := e.optionalJob(ctx, call)
	if err != nil {
		return err
	}
	mode := strings.ToUpper(strings.TrimSpace(call.String("@mode")))
	if mode != "" && mode != "FULL" && mode != "SUMMARY" {
		return sqlerr.New(14266, 1, "@mode", "FULL, SUMMARY")
	}
	if err := within(call, "@run_status", 0, 5); err != nil {
		return err
	}
	text := `SELECT h.instance_id, h.job_id, j.name AS job_name, h.step_id, h.step_name, h.sql_message_id, h.sql_severity,
		CAST(h.message AS nvarchar(1024)) AS message, h.run_status, h.run_date, h.run_time, h.run_duration,
		CAST(NULL AS nvarchar(20)) AS operator_emailed, CAST(NULL AS nvarchar(20)) AS operator_netsent,
		CAST(NULL AS nvarchar(20)) AS operator_paged, h.retries_attempted, CAST(h.server AS nvarchar(30)) AS server
		FROM msdb.dbo.sysjobhistory AS h JOIN msdb.dbo.sysjobs AS j ON j.job_id = h.job_id WHERE 1 = 1`
	var args []any
	where := func(condition string, value any) {
		args = append(args, value)
		text += fmt.Sprintf(" AND "+condition, len(args))
	}
	if one {
		where("h.job_id = @p%d", id)
	}
	for _, f := range []struct{ parameter, condition string }{
		{"@step_id", "h.step_id = @p%d"}, {"@sql_message_id", "h.sql_message_id = @p%d"},
		{"@sql_severity", "h.sql_severity = @p%d"},
		{"@start_run_date", "h.run_date >= @p%d"}, {"@end_run_date", "h.run_date <= @p%d"},
		{"@start_run_time", "h.run_time >= @p%d"},
		{"@end_run_time", "h.run_time <= @p%d"}, {"@minimum_run_duration", "h.run_duration >= @p%d"},
		{"@run_status", "h.run_status = @p%d"},
		{"@minimum_retries", "h.retries_attempted >= @p%d"}, {"@server", "h.server = @p%d"},
	} {
		if !call.IsNull(f.parameter) {
			where(f.condition, call.Value(f.parameter))
		}
	}
	order := " ORDER BY h.instance_id DESC"
	if call.Int("@oldest_first") == 1 {
		order = " ORDER BY h.instance_id"
	}
	r, err := call.Session.Query(ctx, text+order, args...)
	if err != nil {
		return err
	}
	if mode == "FULL" {
		return call.ResultSet(r.Columns, r.Rows)
	}
	cols, rows := summary(r)
	return call.ResultSet(cols, rows)
}

// summary leaves out the columns that only @mode = FULL shows.
func summary(r *engine.Result) ([]tds.Column, [][]any) {
	drop := map[string]bool{
		"instance_id":    true,
		"step_id":        true,
		"step_name":      true,
		"sql_message_id": true,
		"sql_severity":   true,
		"message":        true,
	}
	var keep []int
	var cols []tds.Column
	for i, c := range r.Columns {
		if !drop[c.Name] {
			keep, cols = append(keep, i), append(cols, c)
		}
	}
	rows := make([][]any, len(r.Rows))
	for i, row := range r.Rows {
		for _, k := range keep {
			rows[i] = append(rows[i], row[k])
		}
	}
	return cols, rows
}
