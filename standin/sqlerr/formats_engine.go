// SPDX-License-Identifier: Apache-2.0

package sqlerr

import (
	"fmt"
	"maps"
)

// engineFormats has the texts of what the engine's binder and statements raise besides the commoner errors.
var engineFormats = map[int32]string{
	130:  "Cannot perform an aggregate function on an expression containing an aggregate or a subquery.",
	164:  "Each GROUP BY expression must contain at least one column that is not an outer reference.",
	168:  "The floating point value '%v' is out of the range of computer representation (%v bytes).",
	239:  "Duplicate common table expression name '%v' was specified.",
	177:  "The IDENTITY function can only be used when the SELECT statement has an INTO clause.",
	247:  "An anchor member was found in the recursive part of recursive query \"%v\".",
	8109: "Attempting to add multiple identity columns to table '%v' using the SELECT INTO statement.",
	10760: "Scale argument is not valid. Valid expressions for data type %v scale argument are integer constants and " +
		"integer constant expressions.",
	246: "No anchor member was specified for recursive query \"%v\".",
	158: "An aggregate may not appear in the OUTPUT clause.",
	240: "Types don't match between the anchor and the recursive part in column \"%v\" of recursive query \"%v\".",
	252: "Recursive common table expression '%v' does not contain a top-level UNION ALL operator.",
	259: "Ad hoc updates to system catalogs are not allowed.",
	289: "Cannot construct data type %v, some of the arguments have values which are not valid.",
	305: "The XML data type cannot be compared or sorted, except when using the IS NULL operator.",
	306: "The text, ntext, and image data types cannot be compared or sorted, except when using IS NULL or " +
		"LIKE operator.",
	313: "An insufficient number of arguments were supplied for the procedure or function %v.",
	339: "DEFAULT or NULL are not allowed as explicit identity values.",
	402: "The data types %v and %v are incompatible in the %v operator.",
	408: "A constant expression was encountered in the ORDER BY list, position %v.",
	443: "Invalid use of a side-effecting operator '%v' within a function.",
	447: "Expression type %v is invalid for COLLATE clause.",
	468: "Cannot resolve the collation conflict between \"%v\" and \"%v\" in the %v.",
	506: "The invalid escape character \"%v\" was specified in a %v predicate.",
	536: "Invalid length parameter passed to the %v function.",
	957: "Database '%v' is enabled for database mirroring or has joined an availability group. The name of the " +
		"database cannot be changed.",
	1007: "The %v '%v' is out of the range for numeric representation (maximum precision 38).",
	1046: "Subqueries are not allowed in this context. Only scalar expressions are allowed.",
	1062: "The TOP N WITH TIES clause is not allowed without a corresponding ORDER BY clause.",
	1223: "Cannot release the application lock (Database Principal: '%v', Resource: '%v') because it is not " +
		"currently held.",
	1754: "Defaults cannot be created on columns with an IDENTITY attribute. Table '%v', column '%v'.",
	1755: "Defaults cannot be created on columns of data type timestamp. Table '%v', column '%v'.",
	1763: "Cross-database foreign key references are not supported. Foreign key '%v'.",
	1773: "Foreign key '%v' has implicit reference to object '%v' which does not have a primary key defined on it.",
	1909: "Cannot use duplicate column names in %v. Column name '%v' listed more than once.",
	1919: "Column '%v' in table '%v' is of a type that is invalid for use as a key column in an index.",
	2501: "Cannot find a table or object with the name \"%v\". Check the system catalog.",
	2583: "An incorrect number of parameters was given to the DBCC statement.",
	2702: "Database '%v' does not exist.",
	2727: "Cannot find index '%v'.",
	2741: "SET DATEFORMAT date order '%v' is invalid.",
	2744: "Multiple identity columns specified for table '%v'. Only one identity column per table is allowed.",
	2749: "Identity column '%v' must be of data type int, bigint, smallint or tinyint, and constrained to be " +
		"nonnullable.",
	2786: "The data type of substitution parameter %v does not match the expected type of the format specification.",
	2787: "Invalid format specification: '%v'.",
	3021: "Cannot perform a backup or restore operation within a transaction.",
	3044: "Invalid zero-length device name. Reissue the BACKUP statement with a valid device name.",
	3108: "To restore the master database, the server must be running in single-user mode.",
	3153: "The database is already fully recovered.",
	824: "SQL Server detected a logical consistency-based I/O error: %v. It occurred during a %v of page %v in " +
		"database ID %v at offset %v in file '%v'. Additional messages in the SQL Server error log or operating system " +
		"error log may provide more detail. This is a severe error condition that threatens database integrity and must " +
		"be corrected immediately. Complete a full database consistency check (DBCC CHECKDB). This error can be caused by " +
		"many factors; for more information, see https://go.microsoft.com/fwlink/?linkid=2252374.",
	9004: "An error occurred while processing the log for database '%v'. If possible, restore from backup. If a " +
		"backup is not available, it might be necessary to rebuild the log.",
	1036: "File option %v is required in this CREATE/ALTER DATABASE statement.",
	3623: "An invalid floating point operation occurred.",
	4127: "At least one of the arguments to COALESCE must be an expression that is not the NULL constant.",
	330:  "The target '%v' of the OUTPUT INTO clause cannot be a view or common table expression.",
	331:  "The target table '%v' of the OUTPUT INTO clause cannot have any enabled triggers.",
	332: "The target table '%v' of the OUTPUT INTO clause cannot be on either side of a (primary key, foreign key) " +
		"relationship. Found reference constraint '%v'.",
	333: "The target table '%v' of the OUTPUT INTO clause cannot have any enabled check constraints or any enabled " +
		"rules. Found check constraint or rule '%v'.",
	421:  "The %v data type cannot be selected as DISTINCT because it is not comparable.",
	1048: "Conflicting cursor options %v and %v.",
	1031: "Percent values must be between 0 and 100.",
	1761: "Cannot create the foreign key \"%v\" with the SET NULL referential action, because one or more referencing " +
		"columns are not nullable.",
	1762: "Cannot create the foreign key \"%v\" with the SET DEFAULT referential action, because one or more " +
		"referencing not-nullable columns lack a default constraint.",
	2753: "Identity column '%v' contains invalid INCREMENT.",
	2772: "Cannot access temporary tables from within a function.",
	4116: "The function 'ntile' takes only a positive int or bigint expression as its input.",
	4151: "The type of the first argument to NULLIF cannot be the NULL constant because the type of the first " +
		"argument has to be known.",
	4193: "'%v' is not a valid window frame and cannot be used with the OVER clause.",
	4194: "RANGE is only supported with UNBOUNDED and CURRENT ROW window frame delimiters.",
	5335: "The data type %v cannot be used as an operand to the UNION, INTERSECT or EXCEPT operators because it is " +
		"not comparable.",
	8730:  "Offset parameter for Lag and Lead functions cannot be a negative value.",
	10705: "Subqueries are not allowed in the OUTPUT clause.",
	10752: "The function '%v' may not have a window frame.",
	10756: "Window frame with ROWS or RANGE must have an ORDER BY clause.",
	10759: "Use of DISTINCT is not allowed with the OVER clause.",
	2010:  "Cannot perform alter on '%v' because it is an incompatible object type.",
	4514:  "CREATE FUNCTION failed because a column name is not specified for column %v.",
	4511:  "Create View or Function failed because no column name was specified for column %v.",
	4701:  "Cannot find the object \"%v\" because it does not exist or you do not have permissions.",
	4711:  "Cannot truncate the table '%v' because it is published for replication or enabled for Change Data Capture.",
	4712:  "Cannot truncate table '%v' because it is being referenced by a FOREIGN KEY constraint.",
	4917:  "Constraint '%v' does not exist.",
	4923: "ALTER TABLE DROP COLUMN failed because '%v' is the only data column in table '%v'. A table must have at " +
		"least one data column.",
	4927: "Cannot alter column '%v' to be data type %v.",
	5009: "One or more files listed in the statement could not be found or could not be initialized.",
	5016: "Cannot change the name of the system database %v.",
	5020: "The primary data or log file cannot be removed from a database.",
	5040: "MODIFY FILE failed for database '%v', file id %v. Size of file (%v KB) is greater than MAXSIZE (%v KB).",
	5170: "Cannot create file '%v' because it already exists. Change the file path or the file name, and retry " +
		"the operation.",
	5308: "Windowed functions and aggregates do not support integer indices or constants as ORDER BY clause expressions.",
	6004: "User does not have permission to perform this action.",
	6005: "SHUTDOWN is in progress.%v",
	6102: "User does not have permission to use the KILL statement.",
	6401: "Cannot %v %v. No transaction or savepoint of that name was found.",
	7119: "Attempting to grow LOB beyond maximum allowed size of 2147483647 bytes.",
	7357: "Cannot process the object \"%v\". The OLE DB provider \"%v\" for linked server \"%v\" indicates that " +
		"either the object has no columns or the current user does not have permissions on that object.",
	7729: "Cannot specify partition number in the %v statement as the %v '%v' is not partitioned.",
	7997: "'%v' does not contain an identity column.",
	8164: "An INSERT EXEC statement cannot be nested.",
	8946: "The data file failed its consistency check: %v",
	8711: "Multiple ordered aggregate functions in the same scope have mutually incompatible orderings.",
	9812: "The timezone provided to builtin function %v is invalid.",
	9813: "The timezone provided to builtin function %v would cause the datetimeoffset to overflow the range of valid " +
		"date range in either UTC or local time.",
	9820: "The time zone parameter '%v' provided to AT TIME ZONE clause is invalid.",
	9829: "STRING_AGG aggregation result exceeded the limit of 8000 bytes. Use LOB types to avoid result truncation.",
	9828: "The second and third arguments of the TRANSLATE built-in function must contain an equal number of characters.",
	10704: "To rethrow an error, a THROW statement must be used inside a CATCH block. Insert the THROW statement " +
		"inside a CATCH block, or add error parameters to the THROW statement.",
	10709: "The number of columns for each row in a table value constructor must be the same.",
	10735: "Incorrect WHERE clause for filtered index: %v.",
	10738: "The number of row value expressions in the INSERT statement exceeds the maximum allowed number of %v " +
		"row values.",
	10741: "A TOP can not be used in the same query or sub-query as a OFFSET.",
	2520: "Could not find database '%v'. The database either does not exist, or was dropped before a statement tried " +
		"to use it. Verify if the database exists by querying the sys.databases catalog view.",
	7955:  "Invalid SPID %v specified.",
	11702: "The sequence object '%v' must be of data type int, bigint, smallint or tinyint.",
	11728: "The sequence object '%v' has reached its minimum or maximum value. Restart the sequence object to allow " +
		"new values to be generated.",
	15048: "Valid values of the database compatibility level are %v.",
	15135: "Object is invalid. Extended properties are not permitted on '%v', or the object does not exist.",
	15223: "Error: The input parameter '%v' is not allowed to be null.",
	15248: "Either the parameter @objname is ambiguous or the claimed @objtype (%v) is wrong.",
	15249: "Error: Explicit @objtype '%v' is unrecognized.",
	18054: "Error %v, severity and state were raised, but no message with that error number was found in sys.messages.",
	35100: "Error number %v in the THROW statement is outside the valid range. Specify an error number in the valid " +
		"range of 50000 to 2147483647.",
	35220: "Could not process the operation. The server instance has no availability groups manager running " +
		"(MSSQL_ENABLE_HADR).",
}

// eventsPage is the list of events that has numbers which the catalog's selection leaves out.
func eventsPage(first, last int) string {
	return fmt.Sprintf(
		"docs/relational-databases/errors-events/database-engine-events-and-errors-%d-to-%d.md",
		first,
		last,
	)
}

func init() {
	maps.Copy(formats, engineFormats)
	for page, numbers := range map[string][]int32{
		eventsPage(0, 999): {158, 177, 247, 408, 447}, eventsPage(1000, 1999): {1036, 1761, 1762},
		eventsPage(2000, 2999): {2010, 2583, 2753},
		eventsPage(4000, 4999): {4116, 4151, 4193, 4194, 4511, 4514, 4701, 4711, 4712},
		eventsPage(5000, 5999): {5170, 5308, 5335}, eventsPage(6000, 6999): {6004, 6005, 6102, 6401},
		eventsPage(7000, 7999): {7119, 7729, 7955, 7997},
		eventsPage(8000, 8999): {8109, 8711, 8730, 8946}, eventsPage(9000, 9999): {9829},
		eventsPage(10000, 10999): {10760, 10704, 10705, 10709, 10752, 10756, 10759, 10735, 10738, 10741},
		eventsPage(11000, 12999): {11702, 11728},
		eventsPage(15000, 15999): {15048, 15135, 15249}, eventsPage(18000, 18999): {18054}, eventsPage(31000, 41399): {35100},
	} {
		for _, n := range numbers {
			if _, known := notListed[n]; known {
				continue
			}
			severity := uint8(16)
			switch n {
			case 158, 177, 408, 1036, 5308, 10705, 10709, 10738, 10741:
				severity = 15
			case 6102, 6004, 6005:
				severity = 14
			}
			notListed[n] = struct {
				severity uint8
				doc      string
			}{severity, page}
		}
	}
}
