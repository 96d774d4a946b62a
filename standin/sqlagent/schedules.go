// SPDX-License-Identifier: Apache-2.0

package sqlagent

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"geosql.dev/standin/engine"
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/sqltype"
)

// Frequency types of schedules (sysschedules.freq_type).
const (
	freqOnce            = 1
	freqDaily           = 4
	freqWeekly          = 8
	freqMonthly         = 16
	freqMonthlyRelative = 32
	freqAgentStart      = 64
)

func (e *Extension) installSchedules(r *engine.Registry) {
	e.procedure(r, "sp_add_schedule", nil, func(ctx context.Context, call *engine.ProcCall) error {
		_, err := e.makeSchedule(ctx, call, call.String("@schedule_name"))
		return err
	})
	e.procedure(r, "sp_attach_schedule", nil, e.attachSchedule)
	e.procedure(r, "sp_add_jobschedule", nil, e.addJobSchedule)
	e.procedure(
		r,
		"sp_delete_jobschedule",
		engine.ParameterList(
			"@job_id uniqueidentifier, @job_name nvarchar(128), @name! nvarchar(128), @keep_schedule int = 0",
		),
		e.deleteJobSchedule,
	)
	e.procedure(r, "sp_detach_schedule", []engine.Parameter{
		{Name: "@job_id", Type: sqltype.GUIDType}, {Name: "@job_name", Type: sqltype.NVarCharOf(128)},
		{Name: "@schedule_id", Type: sqltype.IntType}, {Name: "@schedule_name", Type: sqltype.NVarCharOf(128)},
		{Name: "@delete_unused_schedule", Type: sqltype.BitType, Default: false}}, e.detachSchedule)
}

// timing is when a schedule is due.
type timing struct {
	kind, interval             int64
	subdayType, subdayInterval int64
	relative, recurrence       int64
	startDate, endDate         int64
	startTime, endTime         int64
}

// check is 14266, 14278 or 14287 for what cannot be a schedule.
func (t timing) check() error {
	if err := t.checkTimes(); err != nil {
		return err
	}
	switch t.kind {
	case freqOnce, freqAgentStart:
		return nil
	case freqDaily:
		if t.interval < 1 {
			return sqlerr.New(14266, 1, "@freq_interval", "1 or more days")
		}
	case freqWeekly:
		if t.interval < 1 || t.interval > 127 || t.recurrence < 1 {
			return sqlerr.New(14266, 1, "@freq_interval", "1..127, the days of the week, with @freq_recurrence_factor 1 or more")
		}
	case freqMonthly:
		if t.interval < 1 || t.interval > 31 || t.recurrence < 1 {
			return sqlerr.New(14266, 1, "@freq_interval", "1..31, the day of the month, with @freq_recurrence_factor 1 or more")
		}
	case freqMonthlyRelative:
		if t.interval < 1 || t.interval > 10 || t.recurrence < 1 {
			return sqlerr.New(
				14266,
				1,
				"@freq_interval",
				"1..10, a day of the week, 8 a day, 9 a weekday, 10 a day of the weekend, with @freq_recurrence_factor 1 or more",
			)
		}
		if _, ok := ordinals[t.relative]; !ok && t.relative != lastOfMonth {
			return sqlerr.New(14266, 1, "@freq_relative_interval", "0x1, 0x2, 0x4, 0x8, 0x10")
		}
	default:
		return sqlerr.New(14266, 1, "@freq_type", "0x1, 0x4, 0x8, 0x10, 0x20, 0x40 (0x80 is not supported)")
	}
	switch t.subdayType {
	case 1:
	case 2, 4, 8:
		if t.subdayInterval < 1 {
			return sqlerr.New(14278, 1, "@freq_subday_interval must be 1 or more")
		}
	default:
		return sqlerr.New(14266, 1, "@freq_subday_type", "0x1, 0x2, 0x4, 0x8")
	}
	if t.endDate < t.startDate {
		return sqlerr.New(14288, 1, "@active_end_date", "@active_start_date")
	}
	return nil
}

// checkTimes is 14266 or 14287 for what is no date or time of day.
func (t timing) checkTimes() error {
	for _, d := range []struct {
		name string
		n    int64
	}{{"@active_start_date", t.startDate}, {"@active_end_date", t.endDate}} {
		switch last := calendar(d.n/100*100+1).AddDate(0, 1, -1); {
		case d.n == 0: // the parameter's default
		case d.n < 19900101 || d.n > 99991231:
			return sqlerr.New(14266, 1, d.name, "19900101..99991231")
		case d.n/100%100 < 1 || d.n/100%100 > 12:
			return sqlerr.New(14287, 1, d.name, "month")
		case d.n%100 < 1 || d.n%100 > int64(last.Day()):
			return sqlerr.New(14287, 1, d.name, "day")
		}
	}
	for _, d := range []struct {
		name string
		n    int64
	}{{"@active_start_time", t.startTime}, {"@active_end_time", t.endTime}} {
		switch {
		case d.n < 0 || d.n > 235959:
			return sqlerr.New(14266, 1, d.name, "000000..235959")
		case d.n/100%100 > 59:
			return sqlerr.New(14287, 1, d.name, "minute")
		case d.n%100 > 59:
			return sqlerr.New(14287, 1, d.name, "second")
		}
	}
	return nil
}

// Which of a month's days a monthly-relative schedule is due on (sysschedules.freq_relative_interval).
var ordinals = map[int64]int{1: 1, 2: 2, 4: 3, 8: 4}

const lastOfMonth = 16

// onRelativeDay tells whether a day is the one of its month that a monthly-relative schedule is due on.
func (t timing) onRelativeDay(day time.Time) bool {
	if !t.isKindOfDay(day) {
		return false
	}
	n := 1
	for d := day.AddDate(0, 0, -1); d.Month() == day.Month(); d = d.AddDate(0, 0, -1) {
		if t.isKindOfDay(d) {
			n++
		}
	}
	if t.relative != lastOfMonth {
		return n == ordinals[t.relative]
	}
	for d := day.AddDate(0, 0, 1); d.Month() == day.Month(); d = d.AddDate(0, 0, 1) {
		if t.isKindOfDay(d) {
			return false
		}
	}
	return true
}

// isKindOfDay tells whether a day is of the kind that freq_interval names: 1 to 7 a day of the week from Sunday on, 8
// any, 9 a weekday, 10 one of the weekend.
func (t timing) isKindOfDay(day time.Time) bool {
	weekend := day.Weekday() == time.Saturday || day.Weekday() == time.Sunday
	switch t.interval {
	case 8:
		return true
	case 9:
		return !weekend
	case 10:
		return weekend
	}
	return int64(day.Weekday())+1 == t.interval
}

// clock is a time of day of HHMMSS, calendar a date of yyyymmdd.
func clock(n int64) time.Duration {
	return time.Duration(n/10000)*time.Hour + time.Duration(n/100%100)*time.Minute + time.Duration(n%100)*time.Second
}

func calendar(n int64) time.Time {
	return time.Date(int(n/10000), time.Month(n/100%100), int(n%100), 0, 0, 0, 0, time.UTC)
}

func dateNumber(t time.Time) int64 {
	return int64(t.Year()*10000 + int(t.Month())*100 + t.Day())
}

func timeNumber(t time.Time) int64 {
	return int64(t.Hour()*10000 + t.Minute()*100 + t.Second())
}

// onDay tells whether the schedule is due on a day.
func (t timing) onDay(day time.Time) bool {
	start := calendar(t.startDate)
	days := int64(day.Sub(start).Hours() / 24)
	switch t.kind {
	case freqOnce:
		return days == 0
	case freqDaily:
		return days >= 0 && days%t.interval == 0
	case freqWeekly:
		weeks := (days + int64(start.Weekday())) / 7
		return days >= 0 && t.interval&(1<<day.Weekday()) != 0 && weeks%t.recurrence == 0
	case freqMonthly, freqMonthlyRelative:
		months := int64((day.Year()-start.Year())*12) + int64(day.Month()-start.Month())
		if days < 0 || months%t.recurrence != 0 {
			return false
		}
		return t.kind == freqMonthly && int64(day.Day()) == t.interval ||
			t.kind == freqMonthlyRelative && t.onRelativeDay(day)
	}
	return false
}

// next is the first time after the given one at which the schedule is due; zero when there is none within four years.
func (t timing) next(after time.Time) time.Time {
	after = after.UTC()
	if t.kind == freqAgentStart {
		return time.Time{}
	}
	day := time.Date(after.Year(), after.Month(), after.Day(), 0, 0, 0, 0, time.UTC)
	if start := calendar(t.startDate); start.After(day) {
		day = start
	}
	last := day.AddDate(4, 0, 1)
	if end := calendar(min(t.endDate, 99991231)); end.Before(last) {
		last = end
	}
	for ; !day.After(last); day = day.AddDate(0, 0, 1) {
		if !t.onDay(day) {
			continue
		}
		if at := t.nextOn(day, after); !at.IsZero() {
			return at
		}
	}
	return time.Time{}
}

func (t timing) nextOn(day, after time.Time) time.Time {
	first := day.Add(clock(t.startTime))
	if first.After(after) {
		return first
	}
	if t.kind == freqOnce || t.subdayType <= 1 {
		return time.Time{}
	}
	step := time.Duration(
		t.subdayInterval,
	) * map[int64]time.Duration{2: time.Second, 4: time.Minute, 8: time.Hour}[t.subdayType]
	at := first.Add((after.Sub(first)/step + 1) * step)
	if at.After(day.Add(clock(t.endTime))) || at.Sub(day) >= 24*time.Hour {
		return time.Time{}
	}
	return at
}

func (e *Extension) makeSchedule(ctx context.Context, call *engine.ProcCall, name string) (int64, error) {
	if name == "" {
		return 0, sqlerr.New(14234, 1, "@schedule_name", "sp_help_schedule")
	}
	t := timing{
		kind:           call.Int("@freq_type"),
		interval:       call.Int("@freq_interval"),
		subdayType:     call.Int("@freq_subday_type"),
		subdayInterval: call.Int("@freq_subday_interval"),
		recurrence:     call.Int("@freq_recurrence_factor"),
		relative: call.Int(
			"@freq_relative_interval",
		),
		startDate: call.Int("@active_start_date"),
		endDate:   call.Int("@active_end_date"),
		startTime: call.Int("@active_start_time"),
		endTime:   call.Int("@active_end_time"),
	}
	if t.subdayType == 0 {
		t.subdayType = 1
	}
	if t.kind != freqMonthlyRelative {
		t.relative = 0
	}
	if t.startDate == 0 {
		t.startDate = dateNumber(e.now().UTC())
	}
	if err := t.check(); err != nil {
		return 0, err
	}
	if err := within(call, "@enabled", 0, 1); err != nil {
		return 0, err
	}
	owner, err := e.owner(ctx, call)
	if err != nil {
		return 0, err
	}
	uid := uuid.New()
	r, err := call.Session.Query(
		ctx,
		`INSERT INTO msdb.dbo.sysschedules (schedule_uid, originating_server_id, name, owner_sid, enabled, freq_type, freq_interval,
		freq_subday_type, freq_subday_interval, freq_relative_interval, freq_recurrence_factor, active_start_date, active_end_date,
		active_start_time, active_end_time, date_created, date_modified, version_number)
		VALUES (@p1, 0, @p2, @p3, @p4, @p5, @p6, @p7, @p8, @p14, @p9, @p10, @p11, @p12, @p13, GETDATE(), GETDATE(), 1);
		SELECT schedule_id FROM msdb.dbo.sysschedules WHERE schedule_uid = @p1`,
		uid,
		name,
		owner,
		call.Int("@enabled"),
		t.kind,
		t.interval,
		t.subdayType,
		t.subdayInterval,
		t.recurrence,
		t.startDate,
		t.endDate,
		t.startTime,
		t.endTime,
		t.relative,
	)
	if err != nil {
		return 0, err
	}
	id := r.Int(0, "schedule_id")
	call.SetOutput("@schedule_id", id)
	call.SetOutput("@schedule_uid", uid)
	return id, nil
}

// findSchedule identifies a schedule by @schedule_id or by the parameter that takes its name: 14262, and 14373 also
// when the name is not unique.
func findSchedule(ctx context.Context, call *engine.ProcCall, parameter string) (int64, error) {
	byID, byName := !call.IsNull("@schedule_id"), !call.IsNull(parameter)
	if byID == byName {
		return 0, sqlerr.New(14373, 1, "@schedule_id", parameter)
	}
	where, value := "schedule_id = @p1", call.Value("@schedule_id")
	if byName {
		where, value = "name = @p1", call.Value(parameter)
	}
	r, err := call.Session.Query(ctx, "SELECT schedule_id FROM msdb.dbo.sysschedules WHERE "+where, value)
	if err != nil {
		return 0, err
	}
	if r.Len() == 0 {
		if byName {
			return 0, sqlerr.New(14262, 1, parameter, value)
		}
		return 0, sqlerr.New(14262, 1, "@schedule_id", fmt.Sprint(value))
	}
	if r.Len() > 1 {
		return 0, sqlerr.New(14373, 2, "@schedule_id", "@schedule_id (the name is not unique)")
	}
	return r.Int(0, "schedule_id"), nil
}

// deleteJobSchedule takes a schedule from a job, and deletes it when no other job has it and it is not to be kept
// (docs/relational-databases/system-stored-procedures/sp-delete-jobschedule-transact-sql.md).
func (e *Extension) deleteJobSchedule(ctx context.Context, call *engine.ProcCall) error {
	job, _, err := e.job(ctx, call)
	if err != nil {
		return err
	}
	r, err := call.Session.Query(
		ctx,
		`SELECT c.schedule_id FROM msdb.dbo.sysschedules AS c JOIN msdb.dbo.sysjobschedules AS a ON a.schedule_id = c.schedule_id
		WHERE a.job_id = @p1 AND c.name = @p2`,
		job,
		call.String("@name"),
	)
	if err != nil {
		return err
	}
	switch r.Len() {
	case 0:
		return sqlerr.New(14262, 1, "@schedule_name", call.String("@name"))
	case 1:
	default:
		return sqlerr.New(14373, 2, "@schedule_id", "@schedule_id (the name is not unique)")
	}
	defer e.refresh()
	return call.Session.Exec(ctx, `DELETE FROM msdb.dbo.sysjobschedules WHERE job_id = @p1 AND schedule_id = @p2;
		DELETE FROM msdb.dbo.sysschedules WHERE schedule_id = @p2 AND @p3 = 0 AND schedule_id NOT IN (SELECT schedule_id FROM msdb.dbo.sysjobschedules)`, job, r.Int(0, "schedule_id"), call.Int("@keep_schedule"))
}

func (e *Extension) attachSchedule(ctx context.Context, call *engine.ProcCall) error {
	job, _, err := e.job(ctx, call)
	if err != nil {
		return err
	}
	schedule, err := findSchedule(ctx, call, "@schedule_name")
	if err != nil {
		return err
	}
	return e.attach(ctx, call.Session, job, schedule)
}

func (e *Extension) attach(ctx context.Context, s *engine.Session, job uuid.UUID, schedule int64) error {
	defer e.refresh()
	return s.Exec(ctx, `IF NOT EXISTS (SELECT 1 FROM msdb.dbo.sysjobschedules WHERE job_id = @p1 AND schedule_id = @p2)
		INSERT INTO msdb.dbo.sysjobschedules VALUES (@p2, @p1, 0, 0)`, job, schedule)
}

func (e *Extension) addJobSchedule(ctx context.Context, call *engine.ProcCall) error {
	job, _, err := e.job(ctx, call)
	if err != nil {
		return err
	}
	schedule, err := e.makeSchedule(ctx, call, call.String("@name"))
	if err != nil {
		return err
	}
	return e.attach(ctx, call.Session, job, schedule)
}

func (e *Extension) detachSchedule(ctx context.Context, call *engine.ProcCall) error {
	job, name, err := e.job(ctx, call)
	if err != nil {
		return err
	}
	schedule, err := findSchedule(ctx, call, "@schedule_name")
	if err != nil {
		return err
	}
	r, err := call.Session.Query(
		ctx,
		"SELECT 1 AS n FROM msdb.dbo.sysjobschedules WHERE job_id = @p1 AND schedule_id = @p2",
		job,
		schedule,
	)
	if err != nil {
		return err
	}
	if r.Len() == 0 {
		return sqlerr.New(14374, 1, fmt.Sprint(schedule), name)
	}
	text := "DELETE FROM msdb.dbo.sysjobschedules WHERE job_id = @p1 AND schedule_id = @p2;"
	if call.Bool("@delete_unused_schedule") {
		text += "DELETE FROM msdb.dbo.sysschedules WHERE schedule_id = @p2 AND schedule_id NOT IN (SELECT schedule_id " +
			"FROM msdb.dbo.sysjobschedules)"
	}
	defer e.refresh()
	return call.Session.Exec(ctx, text, job, schedule)
}
