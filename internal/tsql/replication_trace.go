// SPDX-License-Identifier: Apache-2.0

package tsql

import "strconv"

// Sources of the statements of this file: docs/t-sql/database-console-commands/ (dbcc-traceon, dbcc-traceoff,
// dbcc-tracestatus and, for the flags, dbcc-traceon-trace-flags-transact-sql.md).

// TraceFlagLogReaderIgnoresAsynchronous lets the log reader go on although asynchronous secondaries have not hardened
// the log; synchronous ones hold it back all the same.
const TraceFlagLogReaderIgnoresAsynchronous = 1448

// TraceOn turns a trace flag on for the whole instance until it is restarted. It takes sysadmin.
func TraceOn(flag int) Statement {
	return text("DBCC TRACEON (" + strconv.Itoa(flag) + ", -1)").Because("turn trace flag " + strconv.Itoa(flag) + " on")
}

// TraceOff turns a trace flag off for the whole instance until it is restarted. It takes sysadmin.
func TraceOff(flag int) Statement {
	return text("DBCC TRACEOFF (" + strconv.Itoa(flag) + ", -1)").Because("turn trace flag " + strconv.Itoa(flag) + " off")
}

// TraceStatus selects TraceFlag, Status, Global and Session of a trace flag of the whole instance.
func TraceStatus(flag int) Statement {
	return text("DBCC TRACESTATUS (" + strconv.Itoa(flag) + ", -1)").Because("read trace flag " + strconv.Itoa(flag))
}
