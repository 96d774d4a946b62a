// SPDX-License-Identifier: Apache-2.0

package sqlerr

import "maps"

// loadFormats are messages of bulk loads, samples, statistics, triggers and temporary modules.
var loadFormats = map[int32]string{
	129:   "Fillfactor %v is not a valid percentage; fillfactor must be between 1 and 100.",
	491:   "A correlation name must be specified for the bulk rowset in the from clause.",
	494:   "The TABLESAMPLE clause can only be used with local tables.",
	497:   "Variables are not allowed in the TABLESAMPLE or REPEATABLE clauses.",
	498:   "Invalid value in the TABLESAMPLE or REPEATABLE clause.",
	1074:  "Creation of temporary functions is not allowed.",
	1084:  "'%v' is an invalid event type.",
	1094:  "Cannot specify a schema name as a prefix to the trigger name for database and server level triggers.",
	1095:  "\"%v\" has already been specified as an event type.",
	1098:  "The specified event type(s) is/are not valid on the specified target object.",
	15125: "Trigger '%v' is not a trigger for '%v'.",
	15130: "There already exists a '%v' trigger for '%v'.",
	15133: "INSTEAD OF trigger '%v' cannot be associated with an order.",
	1927:  "There are already statistics on table '%v' named '%v'.",
	2706:  "Table '%v' does not exist.",
	2767:  "Could not locate statistics '%v' in the system catalogs.",
	3739:  "Cannot %v the index '%v' because it is not a statistics collection.",
	4103:  "%v: Temporary views are not allowed.",
	4834:  "You do not have permission to use the bulk load statement.",
	4860:  "Cannot bulk load. The file \"%v\" does not exist or you don't have file access rights.",
	4861:  "Cannot bulk load because the file \"%v\" could not be opened. Operating system error code %v.",
	4863:  "Bulk load data conversion error (truncation) for row %v, column %v (%v).",
	4864: "Bulk load data conversion error (type mismatch or invalid character for the specified codepage) for row " +
		"%v, column %v (%v).",
	4865: "Cannot bulk load because the maximum number of errors (%v) was exceeded.",
	4866: "The bulk load failed. The column is too long in the data file for row %v, column %v. Verify that the field " +
		"terminator and row terminator are specified correctly.",
	4832: "Bulk load: An unexpected end of file was encountered in the data file.",
	4869: "The bulk load failed. Unexpected NULL value in data file row %v, column %v. The destination column (%v) is " +
		"defined as NOT NULL.",
	7998:  "Checking identity information: current identity value '%v', current column value '%v'.",
	9818:  "The culture parameter '%v' provided in the function call is not supported.",
	10761: "Invalid data type %v in function %v.",
	16951: "The variable '%v' cannot be used as a parameter because a CURSOR OUTPUT parameter must not have a cursor " +
		"allocated to it before execution of the procedure.",
}

func init() {
	maps.Copy(formats, loadFormats)
	for page, numbers := range map[string][]int32{
		eventsPage(0, 999): {129, 491, 494, 497, 498}, eventsPage(1000, 1999): {1074, 1084, 1094, 1098},
		eventsPage(15000, 15999): {15125, 15130, 15133}, eventsPage(3000, 3999): {3739},
		eventsPage(4000, 4999): {4103, 4832, 4834, 4860, 4861, 4863, 4864, 4865, 4866, 4869}, eventsPage(7000, 7999): {7998},
		"docs/t-sql/functions/parse-transact-sql.md": {9818, 10761},
	} {
		for _, n := range numbers {
			if _, known := notListed[n]; known {
				continue
			}
			severity := uint8(16)
			switch n {
			case 129, 1074, 1084, 1094, 1098, 4103, 10761:
				severity = 15
			case 3739:
				severity = 11
			}
			notListed[n] = struct {
				severity uint8
				doc      string
			}{severity, page}
		}
	}
}
