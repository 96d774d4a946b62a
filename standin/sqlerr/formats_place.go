// SPDX-License-Identifier: Apache-2.0

package sqlerr

import "maps"

// placeFormats are messages about what may not stand where it does.
var placeFormats = map[int32]string{
	125:  "Case expressions may only be nested to level %v.",
	1047: "Conflicting locking hints specified.",
	1065: "The NOLOCK and READUNCOMMITTED lock hints are not allowed for target tables of INSERT, UPDATE, DELETE or " +
		"MERGE statements.",
	1075: "RETURN statements in scalar valued functions must include an argument.",
	175:  "An aggregate may not appear in a computed column expression or check constraint.",
	302: "The newsequentialid() built-in function can only be used in a DEFAULT expression for a column of type " +
		"'uniqueidentifier' in a CREATE TABLE or ALTER TABLE statement. It cannot be combined with other operators to " +
		"form a complex scalar expression.",
	1008: "The SELECT item identified by the ORDER BY number %v contains a variable as part of the expression " +
		"identifying a column position. Variables are only allowed when ordering by an expression referencing a column name.",
	1077:  "INSERT into an identity column not allowed on table variables.",
	1757:  "Column '%v.%v' is not of same collation as referencing column '%v.%v' in foreign key '%v'.",
	1914:  "Index cannot be created on object '%v' because the object is not a user table or view.",
	1939:  "Cannot create %v on view '%v' because the view is not schema bound.",
	1940:  "Cannot create index on view '%v'. It does not have a unique clustered index.",
	2733:  "The %v data type is invalid for return values.",
	2739:  "The text, ntext, and image data types are invalid for local variables.",
	11716: "NEXT VALUE FOR function does not support the PARTITION BY clause.",
	11717: "NEXT VALUE FOR function does not support the OVER clause in default constraints, UPDATE statements, or " +
		"MERGE statements.",
	11718: "NEXT VALUE FOR function does not support an empty OVER clause.",
	11719: "NEXT VALUE FOR function is not allowed in check constraints, default objects, computed columns, views, " +
		"user-defined functions, user-defined aggregates, user-defined table types, sub-queries, common table " +
		"expressions, derived tables or return statements.",
	11720: "NEXT VALUE FOR function is not allowed in the TOP, OVER, OUTPUT, ON, WHERE, GROUP BY, HAVING, or ORDER " +
		"BY clauses.",
	11721: "NEXT VALUE FOR function cannot be used directly in a statement that uses a DISTINCT, UNION, UNION ALL, " +
		"EXCEPT or INTERSECT operator.",
	11723: "NEXT VALUE FOR function cannot be used directly in a statement that contains an ORDER BY clause unless the " +
		"OVER clause is specified.",
	11725: "An expression that contains a NEXT VALUE FOR function cannot be passed as an argument to an aggregate.",
	11726: "Object '%v' is not a sequence object.",
	11737: "NEXT VALUE FOR function does not support the ROWS and RANGE clauses.",
	11739: "NEXT VALUE FOR function cannot be used if ROWCOUNT option has been set, or the query contains TOP or OFFSET.",
	11741: "NEXT VALUE FOR function cannot be used within CASE, CHOOSE, COALESCE, IIF, ISNULL and NULLIF.",
}

func init() {
	maps.Copy(formats, placeFormats)
	for n, severity := range map[int32]uint8{1940: 16, 2733: 16, 11716: 15, 11717: 15, 11718: 15, 11719: 15, 11720: 15,
		11721: 15, 11723: 15, 11725: 15, 11726: 16, 11737: 15,
		11739: 16, 11741: 15} {
		page := eventsPage(11000, 12999)
		switch n {
		case 1940:
			page = eventsPage(1000, 1999)
		case 2733:
			page = eventsPage(2000, 2999)
		}
		notListed[n] = struct {
			severity uint8
			doc      string
		}{severity, page}
	}
}
