// SPDX-License-Identifier: Apache-2.0

package sysviews

import (
	"context"
	"time"

	"geosql.dev/standin/builtin"
	"geosql.dev/standin/engine"
)

// installSettingViews registers catalog views of features whose settings are always the same here: no mirroring.
func installSettingViews(r *engine.Registry) {
	r.TextView(
		"sys",
		"database_mirroring",
		"database_id int, mirroring_guid uniqueidentifier, mirroring_state tinyint, mirroring_state_desc nvarchar(60), "+
			"mirroring_role tinyint, mirroring_role_desc nvarchar(60), mirroring_role_sequence int, "+
			"mirroring_safety_level tinyint, mirroring_safety_level_desc nvarchar(60), mirroring_safety_sequence int, "+
			"mirroring_partner_name nvarchar(128), mirroring_partner_instance nvarchar(128), mirroring_witness_name "+
			"nvarchar(128), "+
			"mirroring_witness_state tinyint, mirroring_witness_state_desc nvarchar(60), mirroring_failover_lsn "+
			"numeric(25,0), mirroring_connection_timeout int, mirroring_redo_queue int, mirroring_redo_queue_type "+
			"nvarchar(60), "+
			"mirroring_end_of_log_lsn numeric(25,0), mirroring_replication_lsn numeric(25,0)",
		"SELECT database_id, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, "+
			"NULL, NULL, NULL, NULL, NULL FROM sys.databases",
	)
	r.RecordView(
		"",
		"sys",
		"time_zone_info",
		"name sysname, current_utc_offset nvarchar(6), is_currently_dst bit",
		func(context.Context, *engine.Session) ([]engine.Record, error) {
			var out []engine.Record
			for _, name := range builtin.TimeZones() {
				zone, err := builtin.TimeZone(name)
				if err != nil {
					return nil, err
				}
				now := time.Now().In(zone)
				out = append(
					out,
					engine.Record{"name": name, "current_utc_offset": now.Format("-07:00"), "is_currently_dst": now.IsDST()},
				)
			}
			return out, nil
		},
	)
	token := "principal_id int, sid varbinary(85), name nvarchar(128), type nvarchar(128), usage nvarchar(128)"
	r.TextView(
		"sys",
		"login_token",
		token,
		`SELECT principal_id, sid, name, CAST(IIF(type = 'R', 'SERVER ROLE', 'SQL LOGIN') AS nvarchar(128)), CAST('GRANT OR DENY' AS nvarchar(128)) FROM sys.server_principals
		WHERE name = SUSER_SNAME() OR type = 'R' AND (name = 'public' OR IS_SRVROLEMEMBER(name) = 1)`,
	)
	r.TextView(
		"sys",
		"user_token",
		token,
		`SELECT principal_id, sid, name, CAST(IIF(type = 'R', 'ROLE', 'SQL USER') AS nvarchar(128)), CAST('GRANT OR DENY' AS nvarchar(128)) FROM sys.database_principals
		WHERE name = USER_NAME() OR type = 'R' AND (name = 'public' OR IS_ROLEMEMBER(name) = 1)`,
	)
}
