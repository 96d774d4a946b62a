// SPDX-License-Identifier: Apache-2.0

package sqlerr

import "maps"

// sequenceFormats are messages about sequences and where their values may be asked for, beside those of placeFormats.
var sequenceFormats = map[int32]string{
	11701: "The absolute value of the increment for sequence object '%v' must be less than or equal to the difference " +
		"between the minimum and maximum value of the sequence object.",
	11704: "The current value '%v' for sequence object '%v' must be between the minimum and maximum value of the " +
		"sequence object.",
	11706: "The cache size for sequence object '%v' must be greater than 0.",
	11707: "The cache size for sequence object '%v' has been set to NO CACHE.",
	11708: "An invalid value was specified for argument '%v' for the given data type.",
	11709: "The 'RESTART WITH' argument cannot be used in a CREATE SEQUENCE statement.",
	11710: "Argument 'START WITH' cannot be used in an ALTER SEQUENCE statement.",
	11711: "Argument 'AS' cannot be used in an ALTER SEQUENCE statement.",
	11712: "Argument '%v' can not be specified more than once.",
	11714: "Invalid sequence name '%v'.",
	11715: "No properties specified for ALTER SEQUENCE.",
	11722: "NEXT VALUE FOR function is not allowed in the WHEN MATCHED clause, the WHEN NOT MATCHED clause, or the " +
		"WHEN NOT MATCHED BY SOURCE clause of a merge statement.",
	11724: "An expression that contains a NEXT VALUE FOR function cannot be passed as an argument to a " +
		"table-valued function.",
	11727: "NEXT VALUE FOR functions for a given sequence object must have exactly the same OVER clause definition.",
	11730: "Database name cannot be specified for the sequence object in default constraints.",
	11731: "A column that uses a sequence object in the default constraint must be present in the target columns list, " +
		"if the same sequence object appears in a row constructor.",
	11729: "The sequence object '%v' cache size is greater than the number of available values.",
	11732: "The requested range for sequence object '%v' exceeds the maximum or minimum limit. Retry with a " +
		"smaller range.",
	11733: "Parameter '%v' must be a positive integer.",
	11736: "Only one instance of NEXT VALUE FOR function per sequence object is allowed in SET or SELECT with variable " +
		"assignment.",
	11742: "NEXT VALUE FOR function can only be used with MERGE if it is defined within a default constraint on the " +
		"target table for insert actions.",
}

func init() {
	maps.Copy(formats, sequenceFormats)
	for n := range sequenceFormats {
		severity := uint8(16)
		switch n {
		case 11707, 11729:
			severity = 10
		case 11709, 11710, 11711, 11712, 11714, 11715, 11722, 11724:
			severity = 15
		}
		notListed[n] = struct {
			severity uint8
			doc      string
		}{severity, eventsPage(11000, 12999)}
	}
}
