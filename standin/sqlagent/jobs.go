// SPDX-License-Identifier: Apache-2.0

package sqlagent

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"geosql.dev/standin/engine"
	"geosql.dev/standin/sqlerr"
)

func (e *Extension) installJobs(r *engine.Registry) {
	e.procedure(r, "sp_add_job", nil, e.addJob)
	e.procedure(r, "sp_update_job", nil, e.updateJob)
	e.procedure(r, "sp_delete_job", nil, e.deleteJob)
	e.procedure(r, "sp_add_jobserver", nil, e.addJobServer)
	e.procedure(r, "sp_start_job", nil, e.startJob)
	e.procedure(r, "sp_stop_job", nil, e.stopJob)
}

// job identifies a job by the parameters @job_id and @job_name: 14294 when it is not exactly one of them, 14262 when
// there is none.
func (e *Extension) job(ctx context.Context, call *engine.ProcCall) (uuid.UUID, string, error) {
	byID, byName := !call.IsNull("@job_id"), !call.IsNull("@job_name")
	if byID == byName {
		return uuid.UUID{}, "", sqlerr.New(14294, 1, "@job_id", "@job_name")
	}
	if byID {
		id := call.UUID("@job_id")
		return e.findJob(ctx, call.Session, "job_id = @p1", id, "@job_id", strings.ToUpper(id.String()))
	}
	name := call.String("@job_name")
	return e.findJob(ctx, call.Session, "name = @p1", name, "@job_name", name)
}

func (e *Extension) findJob(
	ctx context.Context,
	s *engine.Session,
	where string,
	value any,
	parameter, shown string,
) (uuid.UUID, string, error) {
	r, err := s.Query(ctx, "SELECT job_id, name FROM msdb.dbo.sysjobs WHERE "+where, value)
	if err != nil {
		return uuid.UUID{}, "", err
	}
	if r.Len() == 0 {
		return uuid.UUID{}, "", sqlerr.New(14262, 1, parameter, shown)
	}
	return r.UUID(0, "job_id"), r.String(0, "name"), nil
}

func (e *Extension) category(ctx context.Context, call *engine.ProcCall) (int64, error) {
	where, value := "category_id = @p1", any(int64(0))
	switch {
	case !call.IsNull("@category_name"):
		where, value = "name = @p1", call.String("@category_name")
	case !call.IsNull("@category_id"):
		value = call.Int("@category_id")
	}
	r, err := call.Session.Query(ctx, "SELECT category_id FROM msdb.dbo.syscategories WHERE "+where, value)
	if err != nil {
		return 0, err
	}
	if r.Len() == 0 {
		return 0, sqlerr.New(14234, 1, "@category_name", "sp_help_category")
	}
	return r.Int(0, "category_id"), nil
}

// owner is the SID of @owner_login_name, else the caller's: 14234 when there is no such login.
func (e *Extension) owner(ctx context.Context, call *engine.ProcCall) ([]byte, error) {
	if call.IsNull("@owner_login_name") {
		return call.Session.OriginalLogin().SID, nil
	}
	r, err := call.Session.Query(ctx, "SELECT SUSER_SID(@p1) AS sid", call.String("@owner_login_name"))
	if err != nil {
		return nil, err
	}
	if sid := r.Bytes(0, "sid"); len(sid) > 0 {
		return sid, nil
	}
	return nil, sqlerr.New(14234, 1, "@owner_login_name", "sp_helplogins")
}

// refuseOperators refuses what would need operators to notify, of which there are none.
func refuseOperators(call *engine.ProcCall) error {
	for _, p := range []string{"@notify_email_operator_name", "@notify_netsend_operator_name",
		"@notify_page_operator_name"} {
		if call.String(p) != "" {
			return sqlerr.New(14234, 1, p, "sp_help_operator")
		}
	}
	for _, p := range []string{"@notify_level_email", "@notify_level_netsend", "@notify_level_page"} {
		if call.Int(p) != 0 {
			return sqlerr.New(14266, 1, p, "0 (operators are not supported)")
		}
	}
	return nil
}

func within(call *engine.ProcCall, parameter string, lo, hi int64) error {
	if call.IsNull(parameter) {
		return nil
	}
	if v := call.Int(parameter); v < lo || v > hi {
		return sqlerr.New(14266, 1, parameter, fmt.Sprintf("%d..%d", lo, hi))
	}
	return nil
}

func (e *Extension) addJob(ctx context.Context, call *engine.ProcCall) error {
	name := strings.TrimSpace(call.String("@job_name"))
	if name == "" {
		return sqlerr.New(14234, 2, "@job_name", "sp_help_job")
	}
	if call.Given("@job_id") && !call.IsNull("@job_id") {
		return sqlerr.New(14284, 1)
	}
	for parameter, hi := range map[string]int64{"@enabled": 1, "@notify_level_eventlog": 3, "@delete_level": 3} {
		if err := within(call, parameter, 0, hi); err != nil {
			return err
		}
	}
	if err := refuseOperators(call); err != nil {
		return err
	}
	r, err := call.Session.Query(ctx, "SELECT 1 AS n FROM msdb.dbo.sysjobs WHERE name = @p1", name)
	if err != nil {
		return err
	}
	if r.Len() > 0 {
		return sqlerr.New(14261, 1, "@job_name", name)
	}
	category, err := e.category(ctx, call)
	if err != nil {
		return err
	}
	owner, err := e.owner(ctx, call)
	if err != nil {
		return err
	}
	id := uuid.New()
	err = call.Session.Exec(
		ctx,
		`INSERT INTO msdb.dbo.sysjobs VALUES (@p1, 0, @p2, @p3, @p4, @p5, @p6, @p7, @p8, 0, 0, 0, 0, 0, 0, @p9, GETDATE(), GETDATE(), 1)`,
		id,
		name,
		call.Int("@enabled"),
		call.Value("@description"),
		call.Int("@start_step_id"),
		category,
		owner,
		call.Int("@notify_level_eventlog"),
		call.Int("@delete_level"),
	)
	if err != nil {
		return err
	}
	call.SetOutput("@job_id", id)
	return nil
}

// assignments collects the columns that an sp_update procedure was given.
type assignments struct {
	text   []string
	values []any
}

func (a *assignments) add(column string, value any) {
	a.values = append(a.values, value)
	a.text = append(a.text, fmt.Sprintf("%s = @p%d", column, len(a.values)))
}

// given adds column = parameter's value when the caller gave the parameter and it is not NULL.
func (a *assignments) given(call *engine.ProcCall, column, parameter string) {
	if call.Given(parameter) && !call.IsNull(parameter) {
		a.add(column, call.Value(parameter))
	}
}

func (a *assignments) run(ctx context.Context, s *engine.Session, table, where string, keys ...any) error {
	if len(a.text) == 0 {
		return nil
	}
	for i := range keys {
		where = strings.ReplaceAll(where, fmt.Sprintf("@k%d", i+1), fmt.Sprintf("@p%d", len(a.values)+i+1))
	}
	return s.Exec(ctx, "UPDATE "+table+" SET "+strings.Join(a.text, ", ")+" WHERE "+where, append(a.values, keys...)...)
}

func (e *Extension) updateJob(ctx context.Context, call *engine.ProcCall) error {
	id, _, err := e.job(ctx, call)
	if err != nil {
		return err
	}
	if err := refuseOperators(call); err != nil {
		return err
	}
	for parameter, hi := range map[string]int64{"@enabled": 1, "@notify_level_eventlog": 3, "@delete_level": 3} {
		if err := within(call, parameter, 0, hi); err != nil {
			return err
		}
	}
	var a assignments
	if name := call.String("@new_name"); name != "" {
		r, err := call.Session.Query(ctx, "SELECT 1 AS n FROM msdb.dbo.sysjobs WHERE name = @p1 AND job_id <> @p2", name, id)
		if err != nil {
			return err
		}
		if r.Len() > 0 {
			return sqlerr.New(14261, 1, "@new_name", name)
		}
		a.add("name", name)
	}
	a.given(call, "enabled", "@enabled")
	a.given(call, "description", "@description")
	a.given(call, "start_step_id", "@start_step_id")
	a.given(call, "notify_level_eventlog", "@notify_level_eventlog")
	a.given(call, "delete_level", "@delete_level")
	if !call.IsNull("@category_name") {
		category, err := e.category(ctx, call)
		if err != nil {
			return err
		}
		a.add("category_id", category)
	}
	if !call.IsNull("@owner_login_name") {
		owner, err := e.owner(ctx, call)
		if err != nil {
			return err
		}
		a.add("owner_sid", owner)
	}
	a.text = append(a.text, "date_modified = GETDATE()", "version_number = version_number + 1")
	defer e.refresh()
	return a.run(ctx, call.Session, "msdb.dbo.sysjobs", "job_id = @k1", id)
}

func (e *Extension) deleteJob(ctx context.Context, call *engine.ProcCall) error {
	id, _, err := e.job(ctx, call)
	if err != nil {
		return err
	}
	e.halt(id, "the job was deleted")
	text := `BEGIN TRANSACTION;
		DELETE FROM msdb.dbo.sysjobsteps WHERE job_id = @p1;
		DELETE FROM msdb.dbo.sysjobservers WHERE job_id = @p1;
		DELETE FROM msdb.dbo.sysjobactivity WHERE job_id = @p1;`
	if call.Bool("@delete_unused_schedule") {
		text += `DELETE FROM msdb.dbo.sysschedules WHERE schedule_id IN (SELECT schedule_id FROM msdb.dbo.sysjobschedules WHERE job_id = @p1)
			AND schedule_id NOT IN (SELECT schedule_id FROM msdb.dbo.sysjobschedules WHERE job_id <> @p1);`
	}
	text += `DELETE FROM msdb.dbo.sysjobschedules WHERE job_id = @p1;`
	if call.Bool("@delete_history") {
		text += `DELETE FROM msdb.dbo.sysjobhistory WHERE job_id = @p1;`
	}
	text += `DELETE FROM msdb.dbo.sysjobs WHERE job_id = @p1; COMMIT TRANSACTION;`
	defer e.refresh()
	return call.Session.Exec(ctx, text, id)
}

// local tells whether a server name of a procedure means this instance.
func (e *Extension) local(name string) bool {
	return name == "" || strings.EqualFold(name, "(LOCAL)") || strings.EqualFold(name, e.inst.Config().ServerName)
}

func (e *Extension) addJobServer(ctx context.Context, call *engine.ProcCall) error {
	id, name, err := e.job(ctx, call)
	if err != nil {
		return err
	}
	if server := call.String("@server_name"); !e.local(server) {
		return sqlerr.New(14262, 1, "@server_name", server)
	}
	r, err := call.Session.Query(ctx, "SELECT 1 AS n FROM msdb.dbo.sysjobservers WHERE job_id = @p1", id)
	if err != nil {
		return err
	}
	if r.Len() > 0 {
		return sqlerr.New(14269, 1, name, e.inst.Config().ServerName)
	}
	defer e.refresh()
	return call.Session.Exec(ctx, "INSERT INTO msdb.dbo.sysjobservers VALUES (@p1, 0, 5, NULL, 0, 0, 0)", id)
}

func (e *Extension) startJob(ctx context.Context, call *engine.ProcCall) error {
	id, name, err := e.job(ctx, call)
	if err != nil {
		return err
	}
	if server := call.String("@server_name"); !e.local(server) {
		return sqlerr.New(14262, 1, "@server_name", server)
	}
	if !e.enabled() {
		return sqlerr.New(22022, 1, "SQLServerAgent is not currently running so it cannot be notified of this action.")
	}
	r, err := call.Session.Query(ctx, "SELECT 1 AS n FROM msdb.dbo.sysjobservers WHERE job_id = @p1", id)
	if err != nil {
		return err
	}
	if r.Len() == 0 {
		return sqlerr.New(14256, 1, name, id.String())
	}
	step := 0
	if stepName := call.String("@step_name"); stepName != "" {
		r, err := call.Session.Query(
			ctx,
			"SELECT step_id FROM msdb.dbo.sysjobsteps WHERE job_id = @p1 AND step_name = @p2",
			id,
			stepName,
		)
		if err != nil {
			return err
		}
		if r.Len() == 0 {
			return sqlerr.New(14262, 1, "@step_name", stepName)
		}
		step = int(r.Int(0, "step_id"))
	}
	starts := !e.runs(id)
	if starts {
		// A job that its own transaction has made is there for others once that has committed.
		call.Session.AfterCommit(func() { starts = e.begin(id, name, step, "User "+call.Session.OriginalLogin().Name, 4) })
	}
	if !starts {
		return sqlerr.New(
			22022,
			1,
			fmt.Sprintf(
				"Request to run job %s (from User %s) refused because the job is already running.",
				name,
				call.Session.OriginalLogin().Name,
			),
		)
	}
	return call.Writer.Message(
		&sqlerr.Error{Number: 14243, Class: 0, State: 1, Message: sqlerr.Text(14243, name), Procedure: "sp_start_job"},
	)
}

func (e *Extension) stopJob(ctx context.Context, call *engine.ProcCall) error {
	id, name, err := e.job(ctx, call)
	if err != nil {
		return err
	}
	if !e.enabled() {
		return sqlerr.New(22022, 1, "SQLServerAgent is not currently running so it cannot be notified of this action.")
	}
	if !e.halt(id, "The job was stopped prior to completion by User "+call.Session.OriginalLogin().Name+".") {
		return sqlerr.New(
			22022,
			1,
			fmt.Sprintf(
				"Request to stop job %s (from User %s) refused because the job is not currently running.",
				name,
				call.Session.OriginalLogin().Name,
			),
		)
	}
	return call.Writer.Message(
		&sqlerr.Error{Number: 14254, Class: 0, State: 1, Message: sqlerr.Text(14254, name), Procedure: "sp_stop_job"},
	)
}
