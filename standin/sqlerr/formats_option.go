// SPDX-License-Identifier: Apache-2.0

package sqlerr

import "maps"

// optionFormats are messages of the options and scoped configurations of a database.
var optionFormats = map[int32]string{
	5005: "Specified recovery time of %v seconds is less than zero or more than the maximum of %v seconds.",
	5062: "The option \"%v\" conflicts with another requested option. The options cannot both be requested at " +
		"the same time.",
	5082: "Cannot change the versioning state on database \"%v\" together with another database state.",
	5083: "The termination option is not supported when making versioning state changes.",
	12104: "ALTER DATABASE CURRENT failed because '%v' is a system database. System databases cannot be altered by " +
		"using the CURRENT keyword. Use the database name to alter a system database.",
	12108: "'%v' is out of range for the database scoped configuration option '%v'. See sp_configure option '%v' for " +
		"valid values.",
	12109: "Statement '%v' failed, because it attempted to set the value to '%v' for the primary replica. A settings " +
		"can only be set to '%v' when the setting is applied to the secondary.",
	12110: "Statement '%v' failed, because it attempted to set the '%v' option for the secondaries replica while this " +
		"option is only allowed to be set for the primary.",
	12117: "Cannot free the plan because a plan was not found in the database plan cache that corresponds to the " +
		"specified plan handle. Specify a cached plan handle for the database. " +
		"For a list of cached plan handles, query the sys.dm_exec_query_stats dynamic management view.",
	12121: "Time value %v used with PAUSED_RESUMABLE_INDEX_ABORT_DURATION_MINUTES is not a valid value; " +
		"PAUSED_RESUMABLE_INDEX_ABORT_DURATION_MINUTES wait time must be greater or equal to 0 and less or equal to %v.",
	12401: "The %v option '%v' was specified more than once. Each option can be specified only once.",
	12404: "The command failed because the query store is not in read-write mode for database (%v). Make sure that the " +
		"query store is in read-write mode and rerun the command.",
	12405: "The command failed because the query store is not enabled for database (%v). Make sure that the query " +
		"store is enabled for the database and rerun the command.",
	12417: "Only one Query Store option can be given in ALTER DATABASE statement.",
	12418: "Mutually incompatible options for both database state change and for Query Store given in ALTER " +
		"DATABASE statement.",
	12421: "User does not have necessary permissions to execute Query Store stored procedure.",
	12432: "Query Store Interval length cannot be changed because an invalid value was provided. Please try again with " +
		"a valid value (1, 5, 10, 15, 30 & 60).",
	12438: "Cannot perform action because Query Store cannot be enabled on system database %v.",
	12453: "Invalid value provided for %v option %v. The value must be between %v %v and %v %v.",
	33102: "Cannot encrypt a system database. Database encryption operations cannot be performed for 'master', " +
		"'model', 'tempdb', 'msdb', or 'resource' databases.",
	33106: "Cannot change database encryption state because no database encryption key is set.",
}

func init() {
	maps.Copy(formats, optionFormats)
	for page, list := range map[string]map[int32]uint8{
		eventsPage(5000, 5999): {5005: 16, 5062: 16, 5082: 16, 5083: 16},
		eventsPage(11000, 12999): {12104: 15, 12108: 16, 12109: 16, 12110: 16, 12117: 16, 12121: 15, 12401: 15, 12404: 16,
			12405: 16, 12417: 15, 12418: 16, 12421: 14,
			12432: 16, 12438: 16, 12453: 16},
		eventsPage(31000, 41399): {33102: 16, 33106: 16},
	} {
		for number, severity := range list {
			notListed[number] = struct {
				severity uint8
				doc      string
			}{severity, page}
		}
	}
}
