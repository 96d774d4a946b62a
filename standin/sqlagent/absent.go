// SPDX-License-Identifier: Apache-2.0

package sqlagent

import (
	"context"

	"geosql.dev/standin/engine"
	"geosql.dev/standin/sqlerr"
)

// absentList is a procedure that lists what an Agent without operators, alerts, proxies, target servers, plans of
// maintenance and mail does not have: nothing is in the list, and a name is one that does not exist (14262;
// docs/relational-databases/system-stored-procedures).
type absentList struct {
	name, parameters, columns string
	// names are the parameters that name one of what is listed.
	names []string
}

var absentLists = []absentList{
	{
		"sp_help_operator",
		"@operator_name sysname, @operator_id int",
		`id int, name sysname, enabled tinyint, email_address nvarchar(100), last_email_date int, last_email_time int, pager_address nvarchar(100), last_pager_date int,
		last_pager_time int, weekday_pager_start_time int, weekday_pager_end_time int, Saturday_pager_start_time int, Saturday_pager_end_time int, Sunday_pager_start_time int, Sunday_pager_end_time int, pager_days tinyint,
		netsend_address nvarchar(100), last_netsend_date int, last_netsend_time int, category_name sysname`,
		[]string{"@operator_name", "@operator_id"},
	},
	{
		"sp_help_alert",
		"@alert_name sysname, @order_by sysname, @alert_id int, @category_name sysname, @legacy_format bit",
		`id int, name sysname, event_source nvarchar(100), event_category_id int, event_id int, message_id int, severity int,
		enabled tinyint, delay_between_responses int, last_occurrence_date int, last_occurrence_time int, last_response_date int, last_response_time int, notification_message nvarchar(512), include_event_description tinyint,
		database_name sysname, event_description_keyword nvarchar(100), occurrence_count int, count_reset_date int, count_reset_time int, job_id uniqueidentifier, job_name sysname, has_notification int, flags int,
		performance_condition nvarchar(512), category_name sysname, type int`,
		[]string{"@alert_name", "@alert_id"},
	},
	{
		"sp_help_proxy",
		"@proxy_id int, @proxy_name sysname, @subsystem_name sysname, @name nvarchar(256)",
		`proxy_id int, name sysname, credential_identity sysname, enabled tinyint, description nvarchar(1024), user_sid varbinary(85),
		credential_id int, credential_identity_exists int`,
		[]string{"@proxy_id", "@proxy_name"},
	},
	{
		"sp_help_targetserver",
		"@server_name sysname",
		`server_id int, server_name sysname, location nvarchar(200), time_zone_adjustment int, enlist_date datetime, last_poll_date datetime, status int, unread_instructions int, local_time datetime,
		enlisted_by_nt_user nvarchar(100), poll_interval int`,
		[]string{"@server_name"},
	},
	{"sp_help_targetservergroup", "@name sysname", "servergroup_id int, name sysname", []string{"@name"}},
	{
		"sp_help_maintenance_plan",
		"@plan_id uniqueidentifier",
		"plan_id uniqueidentifier, plan_name sysname, date_created datetime, owner sysname, max_history_rows int, " +
			"remote_history_server int, max_remote_history_rows int, user_defined_1 int, user_defined_2 nvarchar(100), " +
			"user_defined_3 datetime, user_defined_4 uniqueidentifier",
		nil,
	},
	{
		"sysmail_help_profile_sp",
		"@profile_id int, @profile_name sysname",
		"profile_id int, name sysname, description nvarchar(256)",
		nil,
	},
	{
		"sysmail_help_account_sp",
		"@account_id int, @account_name sysname",
		"account_id int, name sysname, description nvarchar(256), email_address nvarchar(128), display_name " +
			"nvarchar(128), replyto_address nvarchar(128), servertype sysname, servername sysname, port int, username " +
			"nvarchar(128), use_default_credentials bit, enable_ssl bit",
		nil,
	},
	{
		"sysmail_help_profileaccount_sp",
		"@profile_id int, @profile_name sysname, @account_id int, @account_name sysname",
		"profile_id int, profile_name sysname, account_id int, account_name sysname, sequence_number int",
		nil,
	},
	{
		"sysmail_help_principalprofile_sp",
		"@principal_id int, @principal_name sysname, @profile_id int, @profile_name sysname",
		"principal_id int, principal_name sysname, profile_id int, profile_name sysname, is_default bit",
		nil,
	},
}

// installAbsentLists registers those, and that mail is not started (sysmail-help-status-sp-transact-sql.md).
func (e *Extension) installAbsentLists(r *engine.Registry) {
	for _, list := range absentLists {
		columns := engine.ColumnList(list.columns)
		e.procedure(
			r,
			list.name,
			engine.ParameterList(list.parameters),
			func(_ context.Context, call *engine.ProcCall) error {
				for _, name := range list.names {
					if !call.IsNull(name) {
						return sqlerr.New(14262, 1, name, call.Value(name))
					}
				}
				return call.ResultSet(columns, nil)
			},
		)
	}
	e.procedure(r, "sysmail_help_status_sp", []engine.Parameter{}, func(_ context.Context, call *engine.ProcCall) error {
		return call.ResultSet(engine.ColumnList("Status nvarchar(7)"), [][]any{{"STOPPED"}})
	})
	e.procedure(
		r,
		"sp_enum_sqlagent_subsystems",
		[]engine.Parameter{},
		func(ctx context.Context, call *engine.ProcCall) error {
			r, err := call.Session.Query(
				ctx,
				`SELECT subsystem, CAST(NULL AS nvarchar(512)) AS description, subsystem_dll, agent_exe, start_entry_point, event_entry_point, stop_entry_point, max_worker_threads, subsystem_id
			FROM msdb.dbo.syssubsystems ORDER BY subsystem_id`,
			)
			if err != nil {
				return err
			}
			return call.ResultSet(r.Columns, r.Rows)
		},
	)
}
