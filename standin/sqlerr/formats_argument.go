// SPDX-License-Identifier: Apache-2.0

package sqlerr

import "maps"

// argumentFormats are messages about what functions, conversions and recursive queries are given.
var argumentFormats = map[int32]string{
	234: "There is insufficient result space to convert a money value to %v.",
	236: "The conversion from char data type to money resulted in a money overflow error.",
	253: "Recursive member of a common table expression '%v' has multiple recursive references.",
	293: "Cannot convert char value to smallmoney. The char value has incorrect syntax.",
	294: "The conversion from char data type to smallmoney data type resulted in a smallmoney overflow error.",
	307: "Index ID %v on table '%v' (specified in the FROM clause) does not exist.",
	308: "Index '%v' on table '%v' (specified in the FROM clause) does not exist.",
	403: "Invalid operator for data type. Operator equals %v, type equals %v.",
	460: "DISTINCT operator is not allowed in the recursive part of a recursive common table expression '%v'.",
	461: "The TOP or OFFSET operator is not allowed in the recursive part of a recursive common table expression '%v'.",
	462: "Outer join is not allowed in the recursive part of a recursive common table expression '%v'.",
	465: "Recursive references are not allowed in subqueries.",
	467: "GROUP BY, HAVING, or aggregate functions are not allowed in the recursive part of a recursive common table " +
		"expression '%v'.",
	1032: "Cannot use the column prefix '%v'. This must match the object in the UPDATE clause '%v'.",
	1069: "Index hints are only allowed in a FROM or OPTION clause.",
	3952: "Snapshot isolation transaction failed accessing database '%v' because snapshot isolation is not allowed in " +
		"this database. Use ALTER DATABASE to allow snapshot isolation.",
	4920:  "ALTER TABLE failed because trigger '%v' on table '%v' does not exist.",
	4114:  "The function '%v' takes exactly %v argument(s).",
	8160:  "A GROUPING or GROUPING_ID function can only be specified when there is a GROUP BY clause.",
	10724: "The FORCESEEK hint is not allowed for target tables of INSERT, UPDATE, or DELETE statements.",
	13618: "AS JSON option can be specified only for column of nvarchar(max) type in WITH clause.",
	13620: "ROOT option and WITHOUT_ARRAY_WRAPPER option cannot be used together in FOR JSON. Remove one of " +
		"these options.",
	10755: "The function '%v' takes between %v and %v arguments.",
}

func init() {
	maps.Copy(formats, argumentFormats)
	for n, severity := range map[int32]uint8{293: 16, 294: 16, 307: 16, 460: 16, 461: 16, 462: 16, 465: 16, 467: 16,
		1069: 16, 10724: 15, 10755: 15, 9813: 16, 13618: 16, 13620: 16} {
		page := eventsPage(0, 999)
		switch {
		case n > 13000:
			page = eventsPage(13000, 13999)
		case n > 10000:
			page = eventsPage(10000, 10999)
		case n > 1000:
			page = eventsPage(1000, 1999)
		}
		notListed[n] = struct {
			severity uint8
			doc      string
		}{severity, page}
	}
}
