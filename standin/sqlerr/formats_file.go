// SPDX-License-Identifier: Apache-2.0

package sqlerr

import "maps"

// fileFormats are messages of files and file groups.
var fileFormats = map[int32]string{
	622: "The filegroup \"%v\" has no files assigned to it. Tables, indexes, text columns, ntext columns, and image " +
		"columns cannot be populated on this filegroup until a file is added.",
	652: "The index \"%v\" for table \"%v\" (RowsetId %v) resides on a read-only filegroup (\"%v\"), which cannot " +
		"be modified.",
	1709: "Cannot use TEXTIMAGE_ON when a table has no text, ntext, image, varchar(max), nvarchar(max), non-FILESTREAM " +
		"varbinary(max), xml or large CLR type columns.",
	1826: "User-defined filegroups are not allowed on \"%v\".",
	1924: "Filegroup '%v' is read-only.",
	3748: "Cannot drop nonclustered index '%v' using drop clustered index clause.",
	5004: "To use ALTER DATABASE, the database must be in a writable state in which a checkpoint can be executed.",
	5012: "The name of the primary filegroup cannot be changed.",
	5013: "The master and model databases cannot have files added to them. ALTER DATABASE was aborted.",
	5018: "The file \"%v\" has been modified in the system catalog. The new path will be used the next time the " +
		"database is started.",
	5021: "The %v name '%v' has been set.",
	5031: "Cannot remove the file '%v' because it is the only file in the DEFAULT filegroup.",
	5035: "Filegroup '%v' already exists in this database. Specify a different name or remove the conflicting " +
		"filegroup if it is empty.",
	5036: "MODIFY FILE failed. Specify logical name.",
	5038: "MODIFY FILE failed for file \"%v\". At least one property per file must be specified.",
	5039: "MODIFY FILE failed. Specified size is less than or equal to current size.",
	5044: "The %v '%v' has been removed.",
	5045: "The %v already has the '%v' property set.",
	5046: "The %v property '%v' has been set.",
	5047: "Cannot change the READONLY property of the PRIMARY filegroup.",
	5048: "Cannot add, remove, or modify files in filegroup '%v'. The filegroup is read-only.",
	5050: "Cannot change the properties of empty filegroup '%v'. The filegroup must contain at least one file.",
	5051: "Cannot have a filegroup with the name 'DEFAULT'.",
	5055: "Cannot add, remove, or modify file '%v'. The file is read-only.",
}

func init() {
	maps.Copy(formats, fileFormats)
	for page, numbers := range map[string][]int32{
		eventsPage(1000, 1999): {1709, 1826, 1924}, eventsPage(3000, 3999): {3748}, eventsPage(5000, 5999): {5047, 5051},
	} {
		for _, n := range numbers {
			notListed[n] = struct {
				severity uint8
				doc      string
			}{16, page}
		}
	}
}
