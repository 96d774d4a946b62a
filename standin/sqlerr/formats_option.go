// SPDX-License-Identifier: Apache-2.0

package sqlerr

import "maps"

// optionFormats are messages of the options and scoped configurations of a database.
var optionFormats = map[int32]string{
	12104: "ALTER DATABASE CURRENT failed because '%v' is a system database. System databases cannot be altered by using the CURRENT keyword. Use the database name to alter a system database.",
	12108: "'%v' is out of range for the database scoped configuration option '%v'. See sp_configure option '%v' for valid values.",
	12109: "Statement '%v' failed, because it attempted to set the value to '%v' for the primary replica. A settings can only be set to '%v' when the setting is applied to the secondary.",
	12110: "Statement '%v' failed, because it attempted to set the '%v' option for the secondaries replica while this option is only allowed to be set for the primary.",
	12117: "Cannot free the plan because a plan was not found in the database plan cache that corresponds to the specified plan handle. Specify a cached plan handle for the database. " +
		"For a list of cached plan handles, query the sys.dm_exec_query_stats dynamic management view.",
	12121: "Time value %v used with PAUSED_RESUMABLE_INDEX_ABORT_DURATION_MINUTES is not a valid value; PAUSED_RESUMABLE_INDEX_ABORT_DURATION_MINUTES wait time must be greater or equal to 0 and less or equal to %v.",
}

func init() {
	maps.Copy(formats, optionFormats)
	for number, severity := range map[int32]uint8{12104: 15, 12108: 16, 12109: 16, 12110: 16, 12117: 16, 12121: 15} {
		notListed[number] = struct {
			severity uint8
			doc      string
		}{severity, eventsPage(11000, 12999)}
	}
}
