// SPDX-License-Identifier: Apache-2.0

package sqlerr

import (
	"maps"

	"geosql.dev/standin/catalog"
)

// dbccFormats has the texts of what DBCC, KILL and the procedures of options say.
var dbccFormats = map[int32]string{
	2521: "Could not find database ID %v. The database ID either does not exist, or the database was dropped before a " +
		"statement tried to use it. Verify if the database ID exists by querying the sys.databases catalog view.",
	2523: "Filegroup %v is invalid.",
	2528: "DBCC execution completed. If DBCC printed error messages, contact your system administrator.",
	2532: "One or more WITH options specified are not valid for this command.",
	2536: "DBCC results for '%v'.",
	2555: "Cannot move all contents of file \"%v\" to other places to complete the emptyfile operation.",
	2593: "There are %v rows in %v pages for object \"%v\".",
	5201: "DBCC SHRINKDATABASE: File ID %v of database ID %v was skipped because the file does not have enough free " +
		"space to reclaim.",
	5241: "File ID %v of database ID %v cannot be shrunk as the target shrink size (%v KB) is greater than the actual " +
		"file size (%v KB).",
	6110: "The distributed transaction with UOW %v does not exist.",
	6115: "KILL command cannot be used inside user transactions.",
	6120: "Status report cannot be obtained. Rollback operation for Process ID %v is not in progress.",
	6121: "Status report cannot be obtained. Rollback operation for UOW %v is not in progress.",
	7919: "Repair statement not processed. Database needs to be in single user mode.",
	8920: "Cannot perform a %v operation inside a user transaction. Terminate the transaction and reissue the statement.",
	8985: "Could not locate file '%v' for database '%v' in sys.database_files. The file either does not exist, or " +
		"was dropped.",
	8989: "%v found %v allocation errors and %v consistency errors in database '%v'.",
	2599: "Cannot switch to in row text in table \"%v\".",
	15388: "There is no user table matching the input name '%v' in the current database or you do not have permission " +
		"to access the user table.",
	9206: "The query notification subscription with ID '%v' cannot be deleted because it does not exist or it has " +
		"already been fired.",
}

func init() {
	maps.Copy(formats, dbccFormats)
	for n := range dbccFormats {
		if _, listed := catalog.Error(n); listed {
			continue
		}
		severity := uint8(16)
		switch n {
		case 2536, 2593, 5201, 5241, 8989:
			severity = 10
		case 15388:
			severity = 11
		}
		notListed[n] = struct {
			severity uint8
			doc      string
		}{severity, eventsList}
	}
}
