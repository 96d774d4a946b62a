// SPDX-License-Identifier: Apache-2.0

package sqlagent

import (
	"context"
	"fmt"
	"strings"

	"geosql.dev/standin/engine"
	"geosql.dev/standin/sqlerr"
)

// installUpkeep registers what looks at schedules and servers of jobs, changes and removes them, and what removes old
// history (docs/relational-databases/system-stored-procedures: sp-help-jobschedule-transact-sql.md,
// sp-help-schedule-transact-sql.md, sp-update-schedule-transact-sql.md, sp-delete-schedule-transact-sql.md,
// sp-help-jobs-in-schedule-transact-sql.md, sp-help-jobcount-transact-sql.md, sp-help-jobserver-transact-sql.md,
// sp-delete-jobserver-transact-sql.md, sp-purge-jobhistory-transact-sql.md).
func (e *Extension) installUpkeep(r *engine.Registry) {
	job := "@job_id uniqueidentifier, @job_name nvarchar(128), "
	schedule := "@schedule_name nvarchar(128), @schedule_id int"
	e.procedure(
		r,
		"sp_help_jobschedule",
		engine.ParameterList(job+schedule+", @include_description bit = 0"),
		e.helpJobSchedule,
	)
	e.procedure(
		r,
		"sp_help_schedule",
		engine.ParameterList(
			"@schedule_id int, @schedule_name nvarchar(128), @attached_schedules_only bit = 0, @include_description bit = 0",
		),
		e.helpSchedule,
	)
	e.procedure(
		r,
		"sp_update_schedule",
		engine.ParameterList(
			"@schedule_id int, @name nvarchar(128), @new_name nvarchar(128), @enabled tinyint, @freq_type int, "+
				"@freq_interval int, @freq_subday_type int, "+
				"@freq_subday_interval int, @freq_relative_interval int, @freq_recurrence_factor int, @active_start_date int, "+
				"@active_end_date int, @active_start_time int, @active_end_time int, "+
				"@owner_login_name nvarchar(128), @automatic_post bit = 1",
		),
		e.updateSchedule,
	)
	e.procedure(
		r,
		"sp_delete_schedule",
		engine.ParameterList("@schedule_id int, @schedule_name nvarchar(128), @force_delete bit = 0"),
		e.deleteSchedule,
	)
	e.procedure(r, "sp_help_jobs_in_schedule", engine.ParameterList(schedule), e.helpJobsInSchedule)
	e.procedure(r, "sp_help_jobcount", engine.ParameterList(schedule), e.helpJobCount)
	e.procedure(r, "sp_help_jobserver", engine.ParameterList(job+"@show_last_run_details tinyint = 0"), e.helpJobServer)
	e.procedure(r, "sp_delete_jobserver", engine.ParameterList(job+"@server_name! nvarchar(30)"), e.deleteJobServer)
	e.procedure(r, "sp_purge_jobhistory", engine.ParameterList(job+"@oldest_date datetime"), e.purgeJobHistory)
}

const (
	scheduleTimes = `c.enabled, c.freq_type, c.freq_interval, c.freq_subday_type, c.freq_subday_interval,
		c.freq_relative_interval, c.freq_recurrence_factor, c.active_start_date, c.active_end_date, c.active_start_time, c.active_end_time,
		c.date_created, CAST(N'(Description not requested)' AS nvarchar(4000)) AS schedule_description`
	scheduleJobs = `(SELECT COUNT(*) FROM msdb.dbo.sysjobschedules AS x WHERE x.schedule_id = c.schedule_id) AS job_count`
	// jobSchedules are the schedules of jobs, as sp_help_jobschedule and sp_help_job show them.
	jobSchedules = `SELECT c.schedule_id, c.name AS schedule_name, ` + scheduleTimes + `, a.next_run_date, a.next_run_time, c.schedule_uid, ` + scheduleJobs + `
		FROM msdb.dbo.sysjobschedules AS a JOIN msdb.dbo.sysschedules AS c ON c.schedule_id = a.schedule_id WHERE `
)

// sendSchedules sends schedules, with what they say in words where the caller asks for it.
func (e *Extension) sendSchedules(ctx context.Context, call *engine.ProcCall, text string, args ...any) error {
	r, err := call.Session.Query(ctx, text, args...)
	if err != nil {
		return err
	}
	for i, c := range r.Columns {
		if c.Name != "schedule_description" || !call.Bool("@include_description") {
			continue
		}
		for n, row := range r.Rows {
			row[i] = timingOf(r, n).words()
		}
	}
	return call.ResultSet(r.Columns, r.Rows)
}

// words say in English when a schedule is due. SQL Server's own words are not documented.
func (t timing) words() string {
	at := func(n int64) string { return fmt.Sprintf("%02d:%02d:%02d", n/10000, n/100%100, n%100) }
	var text string
	switch t.kind {
	case freqOnce:
		return "Once on " + calendar(t.startDate).Format("2006-01-02") + " at " + at(t.startTime)
	case freqAgentStart:
		return "Automatically when SQLServerAgent starts"
	case freqWeekly:
		var days []string
		for d := range 7 {
			if t.interval&(1<<d) != 0 {
				days = append(days, []string{"Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"}[d])
			}
		}
		text = fmt.Sprintf("Every %d week(s) on %s", t.recurrence, strings.Join(days, ", "))
	case freqMonthly:
		text = fmt.Sprintf("Every %d month(s) on day %d of that month", t.recurrence, t.interval)
	case freqMonthlyRelative:
		text = fmt.Sprintf(
			"Every %d month(s) on the %s %s of that month",
			t.recurrence,
			map[int64]string{1: "first", 2: "second", 4: "third", 8: "fourth", lastOfMonth: "last"}[t.relative],
			[]string{"Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "day", "weekday",
				"day of the weekend"}[t.interval-1],
		)
	default:
		text = fmt.Sprintf("Every %d day(s)", t.interval)
	}
	if t.subdayType <= 1 {
		return text + " at " + at(t.startTime)
	}
	unit := map[int64]string{2: "second(s)", 4: "minute(s)", 8: "hour(s)"}[t.subdayType]
	return fmt.Sprintf("%s every %d %s between %s and %s", text, t.subdayInterval, unit, at(t.startTime), at(t.endTime))
}

func (e *Extension) helpJobSchedule(ctx context.Context, call *engine.ProcCall) error {
	if !call.IsNull("@schedule_id") && call.IsNull("@job_id") && call.IsNull("@job_name") {
		return e.sendSchedules(ctx, call, jobSchedules+"c.schedule_id = @p1", call.Value("@schedule_id"))
	}
	id, _, err := e.job(ctx, call)
	if err != nil {
		return err
	}
	return e.sendSchedules(
		ctx,
		call,
		jobSchedules+"a.job_id = @p1 AND (@p2 IS NULL OR c.name = @p2) AND (@p3 IS NULL OR c.schedule_id = @p3)",
		id,
		call.Value("@schedule_name"),
		call.Value("@schedule_id"),
	)
}

func (e *Extension) helpSchedule(ctx context.Context, call *engine.ProcCall) error {
	text, args := `SELECT c.schedule_id, c.schedule_uid, c.name AS schedule_name, `+scheduleTimes+`, `+scheduleJobs+` FROM msdb.dbo.sysschedules AS c WHERE 1 = 1`, []any{}
	if !call.IsNull("@schedule_id") || !call.IsNull("@schedule_name") {
		id, err := findSchedule(ctx, call, "@schedule_name")
		if err != nil {
			return err
		}
		text, args = text+" AND c.schedule_id = @p1", append(args, id)
	}
	if call.Bool("@attached_schedules_only") {
		text += " AND c.schedule_id IN (SELECT schedule_id FROM msdb.dbo.sysjobschedules)"
	}
	return e.sendSchedules(ctx, call, text, args...)
}

func (e *Extension) updateSchedule(ctx context.Context, call *engine.ProcCall) error {
	id, err := findSchedule(ctx, call, "@name")
	if err != nil {
		return err
	}
	if err := within(call, "@enabled", 0, 1); err != nil {
		return err
	}
	r, err := call.Session.Query(ctx, "SELECT * FROM msdb.dbo.sysschedules WHERE schedule_id = @p1", id)
	if err != nil {
		return err
	}
	t := timingOf(r, 0)
	var a assignments
	for _, one := range []struct {
		name  string
		field *int64
	}{{"freq_type", &t.kind}, {"freq_interval", &t.interval}, {"freq_subday_type", &t.subdayType},
		{"freq_subday_interval", &t.subdayInterval}, {"freq_relative_interval", &t.relative},
		{"freq_recurrence_factor", &t.recurrence},
		{"active_start_date", &t.startDate}, {"active_end_date", &t.endDate}, {"active_start_time", &t.startTime},
		{"active_end_time", &t.endTime}} {
		if !call.IsNull("@" + one.name) {
			*one.field = call.Int("@" + one.name)
			a.add(one.name, *one.field)
		}
	}
	if t.kind == freqOnce && t.subdayType == 0 {
		t.subdayType = 1
	}
	if err := t.check(); err != nil {
		return err
	}
	a.given(call, "name", "@new_name")
	a.given(call, "enabled", "@enabled")
	if !call.IsNull("@owner_login_name") {
		owner, err := e.owner(ctx, call)
		if err != nil {
			return err
		}
		a.add("owner_sid", owner)
	}
	a.text = append(a.text, "date_modified = GETDATE()", "version_number = version_number + 1")
	defer e.refresh()
	return a.run(ctx, call.Session, "msdb.dbo.sysschedules", "schedule_id = @k1", id)
}

func (e *Extension) deleteSchedule(ctx context.Context, call *engine.ProcCall) error {
	id, err := findSchedule(ctx, call, "@schedule_name")
	if err != nil {
		return err
	}
	r, err := call.Session.Query(ctx, "SELECT COUNT(*) AS n FROM msdb.dbo.sysjobschedules WHERE schedule_id = @p1", id)
	if err != nil {
		return err
	}
	if r.Int(0, "n") > 0 && !call.Bool("@force_delete") {
		return sqlerr.New(14372, 1)
	}
	defer e.refresh()
	return call.Session.Exec(ctx, `BEGIN TRANSACTION;
		DELETE FROM msdb.dbo.sysjobschedules WHERE schedule_id = @p1;
		DELETE FROM msdb.dbo.sysschedules WHERE schedule_id = @p1; COMMIT TRANSACTION`, id)
}

func (e *Extension) helpJobsInSchedule(ctx context.Context, call *engine.ProcCall) error {
	id, err := findSchedule(ctx, call, "@schedule_name")
	if err != nil {
		return err
	}
	r, err := call.Session.Query(
		ctx,
		helpJobColumns+" WHERE j.job_id IN (SELECT job_id FROM msdb.dbo.sysjobschedules WHERE schedule_id = @p1)",
		id,
	)
	if err != nil {
		return err
	}
	return e.sendJobs(call, r)
}

func (e *Extension) helpJobCount(ctx context.Context, call *engine.ProcCall) error {
	id, err := findSchedule(ctx, call, "@schedule_name")
	if err != nil {
		return err
	}
	return call.Exec(ctx, "SELECT COUNT(*) AS JobCount FROM msdb.dbo.sysjobschedules WHERE schedule_id = @p1", id)
}

func (e *Extension) helpJobServer(ctx context.Context, call *engine.ProcCall) error {
	id, _, err := e.job(ctx, call)
	if err != nil {
		return err
	}
	details := ""
	if call.Int("@show_last_run_details") == 1 {
		details = `, v.last_run_date, v.last_run_time, v.last_run_duration, CAST(v.last_outcome_message AS nvarchar(1024)) AS last_outcome_message, CAST(v.last_run_outcome AS int) AS last_run_outcome`
	}
	return call.Exec(
		ctx,
		`SELECT v.server_id, CAST(@@SERVERNAME AS nvarchar(30)) AS server_name, CAST(NULL AS datetime) AS enlist_date, CAST(NULL AS datetime) AS last_poll_date`+details+`
		FROM msdb.dbo.sysjobservers AS v WHERE v.job_id = @p1`,
		id,
	)
}

func (e *Extension) deleteJobServer(ctx context.Context, call *engine.ProcCall) error {
	id, name, err := e.job(ctx, call)
	if err != nil {
		return err
	}
	server := call.String("@server_name")
	r, err := call.Session.Query(ctx, "SELECT COUNT(*) AS n FROM msdb.dbo.sysjobservers WHERE job_id = @p1", id)
	if err != nil {
		return err
	}
	if !e.local(server) {
		return sqlerr.New(14262, 1, "@server_name", server)
	}
	if r.Int(0, "n") == 0 {
		return sqlerr.New(14270, 1, name, server)
	}
	defer e.refresh()
	return call.Session.Exec(ctx, "DELETE FROM msdb.dbo.sysjobservers WHERE job_id = @p1", id)
}

// purgeJobHistory removes what is older than @oldest_date, of one job or of all, and tells how much (14226).
func (e *Extension) purgeJobHistory(ctx context.Context, call *engine.ProcCall) error {
	id, one, err := e.optionalJob(ctx, call)
	if err != nil {
		return err
	}
	var job any
	if one {
		job = id
	}
	const old = ` FROM msdb.dbo.sysjobhistory WHERE (@p1 IS NULL OR job_id = @p1) AND (@p2 IS NULL OR run_date < CAST(CONVERT(char(8), @p2, 112) AS int)
		OR run_date = CAST(CONVERT(char(8), @p2, 112) AS int) AND run_time < CAST(REPLACE(CONVERT(char(8), @p2, 108), ':', '') AS int))`
	r, err := call.Session.Query(ctx, "DELETE"+old+"; SELECT @@ROWCOUNT AS n", job, call.Value("@oldest_date"))
	if err != nil {
		return err
	}
	return call.Writer.Message(
		&sqlerr.Error{
			Number:    14226,
			Class:     0,
			State:     1,
			Message:   sqlerr.Text(14226, r.Int(0, "n")),
			Procedure: "sp_purge_jobhistory",
		},
	)
}
