// SPDX-License-Identifier: Apache-2.0

package repl

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"geosql.dev/standin/catalog"
	"geosql.dev/standin/engine"
	"geosql.dev/standin/repl/agent"
)

// thisServer stands for the server's own name among harmless values.
const thisServer = "<this server>"

var (
	falseOnly     = []string{"false", "0"}
	publisherOnly = map[string][]string{"@publisher": {thisServer}}
	subscriberDTS = map[string][]string{
		"@dts_package_name":     nil,
		"@dts_package_password": nil,
		"@dts_package_location": {"distributor", "0"},
	}
	agentOffload = map[string][]string{
		"@offloadagent":        falseOnly,
		"@offloadserver":       nil,
		"@enabled_for_syncmgr": falseOnly,
	}
	otherVendors = map[string][]string{
		"@subscriber_provider":        nil,
		"@subscriber_datasrc":         nil,
		"@subscriber_location":        nil,
		"@subscriber_provider_string": nil,
		"@subscriber_catalog":         nil,
	}
	certificate = map[string][]string{
		"@encrypt_distributor_connection":       {"optional", "mandatory", "yes", "no", "true", "false"},
		"@host_name_in_distributor_certificate": nil,
	}
)

// refusedParameters would change what a procedure does, and are not supported. NULL, an empty text and the documented
// default change nothing; the values listed do not either.
var refusedParameters = map[string]map[string][]string{
	"sp_add_agent_profile": {"@profile_type": {"1", "true"}},
	"sp_addarticle": with(
		publisherOnly,
		map[string][]string{
			"@sync_object_owner":         nil,
			"@filter_owner":              nil,
			"@pub_identity_range":        nil,
			"@identity_range":            nil,
			"@threshold":                 nil,
			"@use_default_datatypes":     {"1", "true"},
			"@fire_triggers_on_snapshot": falseOnly,
		},
	),
	"sp_adddistpublisher": {
		"@trusted":                   falseOnly,
		"@encrypted_password":        falseOnly,
		"@thirdparty_flag":           {"0"},
		"@storage_connection_string": nil,
	},
	"sp_adddistributor":        certificate,
	"sp_addlogreader_agent":    publisherOnly,
	"sp_changelogreader_agent": publisherOnly,
	"sp_addpublication": with(
		publisherOnly,
		map[string][]string{
			"@ftp_port":                     {"21"},
			"@ftp_login":                    {"anonymous"},
			"@ftp_password":                 nil,
			"@conflict_policy":              nil,
			"@conflict_retention":           nil,
			"@add_to_active_directory":      falseOnly,
			"@qreader_job_name":             nil,
			"@p2p_originator_id":            nil,
			"@p2p_continue_onconflict":      falseOnly,
			"@allow_drop":                   falseOnly,
			"@p2p_conflictdetection_policy": nil,
		},
	),
	"sp_addpublication_snapshot": publisherOnly,
	"sp_addpullsubscription":     {"@independent_agent": {"true", "1"}},
	"sp_addpullsubscription_agent": with(
		subscriberDTS,
		agentOffload,
		map[string][]string{
			"@encrypted_distributor_password": falseOnly,
			"@ftp_address":                    nil,
			"@ftp_port":                       {"21"},
			"@ftp_login":                      {"anonymous"},
			"@ftp_password":                   nil,
			"@use_ftp":                        falseOnly,
			"@reserved":                       nil,
		},
	),
	"sp_addpushsubscription_agent": with(
		publisherOnly,
		subscriberDTS,
		otherVendors,
		map[string][]string{"@enabled_for_syncmgr": falseOnly, "@distribution_job_name": nil},
	),
	"sp_addsubscription": with(
		publisherOnly,
		subscriberDTS,
		agentOffload,
		map[string][]string{"@optional_command_line": nil, "@distribution_job_name": nil,
			"@mediapassword": nil, "@password": nil, "@memory_optimized": falseOnly},
	),
	"sp_article_validation":         publisherOnly,
	"sp_articlecolumn":              with(publisherOnly, map[string][]string{"@ignore_distributor": falseOnly}),
	"sp_articlefilter":              publisherOnly,
	"sp_articleview":                publisherOnly,
	"sp_browsereplcmds":             {"@originator_id": nil, "@agent_id": nil},
	"sp_changearticle":              publisherOnly,
	"sp_changedistpublisher":        {"@storage_connection_string": nil},
	"sp_changepublication":          publisherOnly,
	"sp_changepublication_snapshot": publisherOnly,
	"sp_changesubscription":         with(publisherOnly, map[string][]string{"@article": {"all"}}),
	"sp_changesubstatus": with(
		publisherOnly,
		subscriberDTS,
		map[string][]string{
			"@offloadagent":          falseOnly,
			"@offloadserver":         nil,
			"@optional_command_line": nil,
			"@ignore_distributor":    falseOnly,
			"@distribution_job_name": nil,
		},
	),
	"sp_droparticle":              publisherOnly,
	"sp_dropdistributiondb":       {"@former_ag_secondary": falseOnly},
	"sp_droppublication":          publisherOnly,
	"sp_dropsubscription":         publisherOnly,
	"sp_get_redirected_publisher": certificate,
	"sp_help_publication_access":  {"@return_granted": {"1", "true"}},
	"sp_helparticle":              with(publisherOnly, map[string][]string{"@returnfilter": {"1", "true"}}),
	"sp_helparticlecolumns":       publisherOnly,
	"sp_helplogreader_agent":      publisherOnly,
	"sp_helppublication":          publisherOnly,
	"sp_helppublication_snapshot": publisherOnly,
	"sp_helpsubscription":         publisherOnly,
	"sp_posttracertoken":          publisherOnly,
	"sp_publication_validation":   publisherOnly,
	"sp_reinitsubscription": with(
		publisherOnly,
		map[string][]string{"@ignore_distributor_failure": falseOnly},
	),
	"sp_removedbreplication":                  {"@type": {"tran", "both"}},
	"sp_replmonitorhelppublication":           {"@publication_type": nil},
	"sp_replmonitorhelppublicationthresholds": {"@thresholdmetricname": nil},
	"sp_startpublication_snapshot":            publisherOnly,
	// Subscriptions of merge publications are not supported.
	"sp_change_subscription_properties": {"@publication_type": {"0", "1"}},
	"sp_validate_redirected_publisher":  certificate,
}

// idleParameters have nothing to change here, whatever they say: what they are about does not exist, or SQL Server's
// own procedures pass them to each other, or the page calls them deprecated. standin/README.md names those that
// somebody could miss.
var idleParameters = map[string]string{
	"sp_adddistributiondb": "@data_file_size @log_file_size @login @password @createmode " +
		"@from_scripting @deletebatchsize_xact @deletebatchsize_cmd",
	"sp_adddistributor": "@heartbeat_interval @from_scripting @security_mode " +
		"@trust_distributor_certificate",
	"sp_addlogreader_agent":    "@job_password @job_security_mode",
	"sp_changelogreader_agent": "@job_password",
	"sp_addpublication":        "@taskid @restricted @autogen_sync_procs",
	"sp_addpublication_snapshot": "@job_password @distributor_security_mode @distributor_login " +
		"@distributor_password @job_security_mode",
	"sp_addpullsubscription_agent": "@subscriber @subscriber_db @subscriber_security_mode @subscriber_login " +
		"@subscriber_password @distribution_db @job_password @job_security_mode",
	"sp_addpushsubscription_agent": "@job_password @job_security_mode",
	"sp_addsubscription": "@status " + subscriptionSchedule +
		" @unload @subscriber_security_mode @subscriber_login @subscriber_password",
	"sp_article_validation": "@reserved",
	"sp_articlecolumn":      "@refresh_synctran_procs @change_active @internal",
	"sp_articlefilter":      "@filter_name",
	"sp_articleview":        "@change_active @refreshsynctranprocs @internal",
	"sp_attachsubscription": "@dbname @filename @subscriber_security_mode @subscriber_login " +
		"@subscriber_password @distributor_security_mode @distributor_login @distributor_password " +
		"@publisher_security_mode @publisher_login @publisher_password @job_login @job_password @db_master_key_password",
	"sp_browsereplcmds":    "@compatibility_level",
	"sp_changepublication": "@force_reinit_subscription",
	"sp_changesubstatus": subscriptionSchedule +
		" @distribution_jobid @from_auto_sync @skipobjectactivation",
	"sp_droparticle":                         "@from_drop_publication",
	"sp_dropdistpublisher":                   "@ignore_distributor",
	"sp_dropdistributor":                     "@ignore_distributor",
	"sp_droppublication":                     "@from_backup",
	"sp_droppullsubscription":                "@reserved @from_backup",
	"sp_dropsubscription":                    "@reserved",
	"sp_get_redirected_publisher":            "@multi_subnet_failover @trust_distributor_certificate",
	"sp_grant_publication_access":            "@reserved",
	"sp_help_publication_access":             "@initial_list",
	"sp_helpdistpublisher":                   "@check_user",
	"sp_helpreplicationdboption":             "@reserved",
	"sp_reinitsubscription":                  "@for_schema_change",
	"sp_repldone":                            "@xactid @time",
	"sp_replicationdboption":                 "@from_scripting",
	"sp_replmonitorhelppublication":          "@refreshpolicy",
	"sp_replmonitorhelppublisher":            "@refreshpolicy",
	"sp_replmonitorhelpsubscription":         "@exclude_anonymous @refreshpolicy",
	"sp_replmonitorsubscriptionpendingcmds":  "@subdb_version",
	"sp_subscription_cleanup":                "@reserved",
	"sp_table_validation":                    "@shutdown_agent", // the agent that calls it does what it says
	"sp_validate_redirected_publisher":       "@multi_subnet_failover @trust_distributor_certificate",
	"sp_MSchange_logreader_agent_properties": "@job_login @job_password @publisher_type",
}

// subscriptionSchedule is the schedule that sp_addpushsubscription_agent gives the agent.
const subscriptionSchedule = "@frequency_type @frequency_interval @frequency_relative_interval " +
	"@frequency_recurrence_factor @frequency_subday @frequency_subday_interval " +
	"@active_start_time_of_day @active_end_time_of_day @active_start_date @active_end_date"

func with(parts ...map[string][]string) map[string][]string {
	out := map[string][]string{}
	for _, p := range parts {
		maps.Copy(out, p)
	}
	return out
}

// refuseParameters is 21023 for a parameter of refusedParameters with a value that asks for something.
func (e *Extension) refuseParameters(call *engine.ProcCall, procedure string) error {
	refused := refusedParameters[procedure]
	if len(refused) == 0 {
		return nil
	}
	info, ok := catalog.Procedure(procedure)
	if !ok {
		return nil
	}
	for _, p := range info.Parameters {
		harmless, known := refused[p.Name]
		if !known || !call.Given(p.Name) || call.IsNull(p.Name) {
			continue
		}
		value := strings.ToLower(strings.TrimSpace(fmt.Sprint(call.Value(p.Name))))
		if b, isBit := call.Value(p.Name).(bool); isBit {
			value = map[bool]string{true: "1", false: "0"}[b]
		}
		if value == "" || p.Default != nil && strings.EqualFold(value, *p.Default) || slices.Contains(harmless, value) ||
			slices.Contains(harmless, thisServer) && agent.SameServer(value, e.serverName()) {
			continue
		}
		return raise(21023, 1, p.Name+" = "+value)
	}
	return nil
}
