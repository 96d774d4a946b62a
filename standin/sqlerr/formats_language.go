// SPDX-License-Identifier: Apache-2.0

package sqlerr

import "maps"

// languageFormats has the texts of what MERGE, triggers and other parts of the language raise.
var languageFormats = map[int32]string{
	334: "The target table '%v' of the DML statement cannot have any enabled triggers if the statement contains an " +
		"OUTPUT clause without INTO clause.",
	1034: "Duplicate specification of the action \"%v\" in the trigger declaration.",
	2103: "Cannot create trigger '%v' because its schema is different from the schema of the target table or view.",
	2108: "Cannot create trigger '%v' because the target '%v' is not in the current database.",
	2111: "Cannot create trigger '%v' on %v because an INSTEAD OF %v trigger already exists on this object.",
	2526: "Incorrect DBCC statement. Check the documentation for the correct DBCC syntax and options.",
	4403: "Cannot update the view or function '%v' because it contains aggregates, or a DISTINCT or GROUP BY clause, " +
		"or PIVOT or UNPIVOT operator.",
	4405: "View or function '%v' is not updatable because the modification affects multiple base tables.",
	4406: "Update or insert of view or function '%v' failed because it contains a derived or constant field.",
	4506: "Column names in each view or function must be unique. Column name '%v' in view or function '%v' is " +
		"specified more than once.",
	5324: "In a MERGE statement, a '%v' clause with a search condition cannot appear after a '%v' clause with no " +
		"search condition.",
	8161:  "Argument %v of the %v function does not match any of the expressions in the GROUP BY clause.",
	16905: "The cursor is already open.",
	16911: "%v: The fetch type %v cannot be used with forward only cursors.",
	16915: "A cursor with the name '%v' already exists.",
	16916: "A cursor with the name '%v' does not exist.",
	16917: "Cursor is not open.",
	16929: "The cursor is READ ONLY.",
	16931: "There are no rows in the current fetch buffer.",
	16933: "The cursor does not include the table being modified or the table is not updatable through the cursor.",
	16950: "The variable '%v' does not currently have a cursor allocated to it.",
	16924: "Cursorfetch: The number of variables declared in the INTO list must match that of selected columns.",
	8197:  "The object '%v' does not exist or is invalid for this operation.",
	8672: "The MERGE statement attempted to UPDATE or DELETE the same row more than once. This happens when a target " +
		"row matches more than one source row. Refine the ON clause to ensure a target row matches at most one source " +
		"row, or use the GROUP BY clause to group the source rows.",
	11700: "The increment for sequence object '%v' cannot be zero.",
	11703: "The start value for sequence object '%v' must be between the minimum and maximum value of the " +
		"sequence object.",
	11705: "The minimum value for sequence object '%v' must be less than its maximum value.",
	15250: "The database name component of the object qualifier must be the name of the current database.",
	352:   "The table-valued parameter \"%v\" must be declared with the READONLY option.",
	500: "Trying to pass a table-valued parameter with %v column(s) where the corresponding user-defined table type " +
		"requires %v column(s).",
	10700: "The table-valued parameter \"%v\" is READONLY and cannot be modified.",
	15036: "The data type '%v' does not exist.",
	218:   "Could not find the type '%v'. Either it does not exist or you do not have the necessary permission.",
	219:   "The type '%v' already exists, or you do not have permission to create it.",
	3732: "Cannot drop type '%v' because it is being referenced by object '%v'. There may be other objects that " +
		"reference this type.",
	444:  "Select statements included within a function cannot return data to a client.",
	455:  "The last statement included within a function must be a return statement.",
	7116: "Offset %v is not in the range of available LOB data.",
	7135: "Deletion length %v is not in the range of available text, ntext, or image data.",
	310:  "The value %v specified for the MAXRECURSION option exceeds the allowed maximum of %v.",
	530:  "The statement terminated. The maximum recursion %v has been exhausted before statement completion.",
	557:  "Only functions and some extended stored procedures can be executed from within a function.",
	4199: "Argument value %v is invalid for argument %v of %v function.",
	5373: "All the input parameters should be of the same type. Supported types are tinyint, smallint, int, bigint, " +
		"decimal and numeric.",
	9834:  "Bucket width value passed to DATE_BUCKET function must be positive.",
	10754: "The function '%v' must have a WITHIN GROUP clause.",
	3604:  "Duplicate key was ignored.",
	3606:  "Arithmetic overflow occurred.",
	3607:  "Division by zero occurred.",
	15040: "User-defined error messages must have an ID greater than 50000.",
	15041: "User-defined error messages must have a severity level between 1 and 25.",
	15043: "You must specify 'REPLACE' to overwrite an existing message.",
	15179: "The message number %v or specified language version does not exist.",
	1921:  "Invalid %v '%v' specified.",
	1916:  "CREATE INDEX options %v and %v are mutually exclusive.",
	10742: "The offset specified in a OFFSET clause may not be negative.",
	10744: "The number of rows provided for a FETCH clause must be greater then zero.",
	10726: "A nested INSERT, UPDATE, DELETE, or MERGE statement must have an OUTPUT clause.",
	10729: "A nested INSERT, UPDATE, DELETE, or MERGE statement is not allowed in a SELECT statement that is not the " +
		"immediate source of rows for an INSERT statement.",
	1711: "Cannot define PRIMARY KEY constraint on column '%v' in table '%v'. The computed column has to be persisted " +
		"and not nullable.",
	1715: "Foreign key '%v' creation failed. Only NO ACTION referential update action is allowed for referencing " +
		"computed column '%v'.",
	1765: "Foreign key '%v' creation failed. Only NO ACTION and CASCADE referential delete actions are allowed for " +
		"referencing computed column '%v'.",
	1764: "Computed Column '%v' in table '%v' is invalid for use in '%v' because it is not persisted.",
	2729: "Column '%v' in %v '%v' cannot be used in an index or statistics or as a partition key because it is " +
		"non-deterministic.",
	2799: "Cannot create index or statistics '%v' on table '%v' because the computed column '%v' is imprecise and not " +
		"persisted. Consider removing column from index or statistics key or marking computed column persisted.",
	4936: "Computed column '%v' in table '%v' cannot be persisted because the column is non-deterministic.",
	10610: "Filtered %v '%v' cannot be created on table '%v' because the column '%v' in the filter expression is a " +
		"computed column. Rewrite the filter expression so that it does not include this column.",
	1759:  "Computed column '%v' in table '%v' is not allowed to be used in another computed-column definition.",
	10710: "An action of type '%v' is not allowed in the '%v' clause of a MERGE statement.",
	10711: "An action of type '%v' is not allowed in the '%v' clause of a MERGE statement.",
	10714: "An action of type '%v' cannot appear more than once in a '%v' clause of a MERGE statement.",
	10753: "The function '%v' must have an OVER clause.",
	10713: "A MERGE statement must be terminated by a semi-colon (;).",
}

const mergePage = "docs/t-sql/statements/merge-transact-sql.md"

func init() {
	maps.Copy(formats, languageFormats)
	for n, severity := range map[int32]uint8{2103: 15, 2108: 15, 11700: 16, 11703: 16, 11705: 16, 15250: 16, 4403: 16,
		4405: 16, 4406: 16, 4506: 16, 10753: 15, 5324: 15, 8672: 16, 10710: 15, 10711: 15, 10726: 15, 10742: 15, 10744: 15,
		1916: 16, 15179: 16, 4199: 16, 5373: 16, 10754: 15, 2111: 16, 7116: 16, 7135: 16, 10700: 16, 10729: 15, 1759: 16,
		1711: 16, 1715: 16, 1764: 16, 1765: 16, 2729: 16, 2799: 16, 4936: 16, 10610: 16, 10713: 15, 10714: 15} {
		page := mergePage
		switch n {
		case 4403, 4405, 4406, 4506:
			page = "docs/t-sql/statements/create-view-transact-sql.md"
		case 11700, 11703, 11705:
			page = "docs/t-sql/statements/alter-sequence-transact-sql.md"
		case 15250:
			page = "docs/relational-databases/system-stored-procedures/sp-help-transact-sql.md"
		case 10753:
			page = "docs/t-sql/queries/select-over-clause-transact-sql.md"
		}
		switch {
		case n == 2729, n == 2799, n == 10610:
			page = "docs/relational-databases/indexes/indexes-on-computed-columns.md"
		case n == 1759, n == 1711, n == 1715, n == 1764, n == 1765, n == 4936:
			page = "docs/t-sql/statements/create-table-transact-sql.md"
		case n == 10742, n == 10744:
			page = "docs/t-sql/queries/select-order-by-clause-transact-sql.md"
		case n == 1916:
			page = "docs/t-sql/statements/create-index-transact-sql.md"
		case n == 15179:
			page = "docs/relational-databases/system-stored-procedures/sp-dropmessage-transact-sql.md"
		case n == 4199, n == 5373:
			page = "docs/t-sql/functions/generate-series-transact-sql.md"
		case n == 10754:
			page = "docs/t-sql/functions/percentile-cont-transact-sql.md"
		case n == 7116, n == 7135:
			page = "docs/t-sql/queries/update-transact-sql.md"
		case n == 10700:
			page = "docs/relational-databases/tables/use-table-valued-parameters-database-engine.md"
		case n == 10726, n == 10729:
			page = "docs/t-sql/queries/from-transact-sql.md"
		case n < 3000:
			page = "docs/t-sql/statements/create-trigger-transact-sql.md"
		}
		notListed[n] = struct {
			severity uint8
			doc      string
		}{severity, page}
	}
}
