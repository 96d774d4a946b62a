// SPDX-License-Identifier: Apache-2.0

package sqlerr

import "maps"

// definitionFormats are messages about what a statement names or defines wrongly.
var definitionFormats = map[int32]string{
	215: "Parameters supplied for object '%v' which is not a function. If the parameters are intended as a table " +
		"hint, a WITH keyword is required.",
	216: "Parameters were not supplied for the function '%v'.",
	445: "COLLATE clause cannot be used on expressions containing a COLLATE clause.",
	446: "Cannot resolve collation conflict between \"%v\" and \"%v\" in %v operator for %v operation.",
	451: "Cannot resolve collation conflict between \"%v\" and \"%v\" in %v operator occurring in %v " +
		"statement column %v.",
	457: "Implicit conversion of %v value to %v cannot be performed because the collation of the value is unresolved " +
		"due to a collation conflict between \"%v\" and \"%v\" in %v operator.",
	1054: "Syntax '%v' is not allowed in schema-bound objects.",
	1058: "Cannot specify both READ_ONLY and FOR READ ONLY on a cursor declaration.",
	1701: "Creating or altering table '%v' failed because the minimum row size would be %v, including %v bytes of " +
		"internal overhead. This exceeds the maximum allowable table row size of %v bytes.",
	1731: "Cannot create the sparse column '%v' in the table '%v' because an option or data type specified is not " +
		"valid. A sparse column must be nullable and cannot have the ROWGUIDCOL, IDENTITY, or FILESTREAM properties, and " +
		"its data type cannot be text, ntext, image, or user-defined.",
	1756: "Skipping FOREIGN KEY constraint '%v' definition for temporary table. FOREIGN KEY constraints are not " +
		"enforced on local or global temporary tables.",
	2761: "The ROWGUIDCOL property can only be specified on the uniqueidentifier data type.",
	4512: "Cannot schema bind %v '%v' because name '%v' is invalid for schema binding. Names must be in two-part " +
		"format and an object cannot reference itself.",
	4513: "Cannot schema bind %v '%v'. '%v' is not schema bound.",
	4708: "Could not truncate object '%v' because it is not a table.",
	5318: "In a MERGE statement, the source and target cannot have the same name or alias. Use different aliases for " +
		"the source and target to ensure that they have unique names in the MERGE statement.",
	8196:  "Duplicate column specified as ROWGUIDCOL.",
	10796: "The SCHEMABINDING option is supported only for natively compiled modules, and is required for those modules.",
	15348: "Cannot transfer a schemabound object.",
	16932: "The cursor has a FOR UPDATE list and the requested column to be updated is not in this list.",
	16957: "FOR UPDATE cannot be specified on a READ ONLY cursor.",
}

func init() {
	maps.Copy(formats, definitionFormats)
	for n, listed := range map[int32]struct {
		severity uint8
		page     string
	}{
		445: {16, eventsPage(0, 999)}, 1054: {15, eventsPage(1000, 1999)}, 1058: {15, eventsPage(1000, 1999)},
		1731: {16, eventsPage(1000, 1999)}, 2761: {16, eventsPage(2000, 2999)},
		4512: {16, eventsPage(4000, 4999)}, 4513: {16, eventsPage(4000, 4999)}, 4708: {16, eventsPage(4000, 4999)},
		5318:  {15, eventsPage(5000, 5999)},
		10796: {15, eventsPage(10000, 10999)}, 15348: {16, eventsPage(15000, 15999)},
	} {
		notListed[n] = struct {
			severity uint8
			doc      string
		}{listed.severity, listed.page}
	}
}
