// SPDX-License-Identifier: Apache-2.0

package sqlerr

import "maps"

// formats has the texts of messages, worded in SQL Server's manner. The verbs (always %v, so that a text never spoils
// an error) are in the order of catalog.Error(number).Parameters.
var formats = func() map[int32]string {
	all := map[int32]string{}
	for _, family := range []map[int32]string{syntaxFormats, nameFormats, conversionFormats, constraintFormats,
		objectFormats, hadrFormats, sessionFormats, databaseFormats, backupFormats, loginFormats, principalFormats,
		certificateFormats,
		procedureFormats, agentFormats, replicationFormats} {
		maps.Copy(all, family)
	}
	return all
}()

// events4000 is the list of events that has numbers which the catalog's selection leaves out.
const events4000 = "docs/relational-databases/errors-events/database-engine-events-and-errors-4000-to-4999.md"

// eventsList is the list of all events.
const eventsList = "docs/relational-databases/errors-events/database-engine-events-and-errors.md"

// notListed has the severities of numbers that catalog does not list, with the document that gives them.
var notListed = map[int32]struct {
	severity uint8
	doc      string
}{
	7139: {16, "docs/database-engine/configure-windows/configure-the-max-text-repl-size-server-configuration-option.md"},
	4508: {16, events4000}, 4606: {16, events4000}, 4613: {16, events4000}, 4621: {16, events4000}, 4624: {16, events4000},
	6101: {16, "docs/t-sql/language-elements/kill-transact-sql.md (a session_id that none can have)"},
	6104: {16, "docs/t-sql/language-elements/kill-transact-sql.md (a session may not kill itself)"},
	6106: {16, "docs/t-sql/language-elements/kill-transact-sql.md (process id is not active)"},
	6107: {14, "docs/t-sql/language-elements/kill-transact-sql.md (only user processes can be killed)"},
	7202: {
		11,
		"docs/relational-databases/system-stored-procedures/sp-addlinkedserver-transact-sql.md (server not in sys.servers)",
	},
	7940:  {16, "docs/relational-databases/system-stored-procedures/sp-detach-db-transact-sql.md (a system database)"},
	15151: {16, "docs/t-sql/statements/alter-login-transact-sql.md (Remarks)"},
	25023: {16, eventsList},
	22022: {16, "docs/relational-databases/system-stored-procedures/sp-start-job-transact-sql.md (SQLServerAgent error)"},
}

var syntaxFormats = map[int32]string{
	101: "WAITFOR cannot wait for this query.",
	102: "Incorrect syntax near '%v'.",
	103: "The %v that starts with '%v' is too long. Maximum length is %v.",
	104: "ORDER BY items must appear in the select list if the statement contains a UNION, INTERSECT or EXCEPT operator.",
	105: "Unclosed quotation mark after the character string '%v'.",
	108: "The ORDER BY position number %v is out of range of the number of items in the select list.",
	109: "There are more columns in the INSERT statement than values specified in the VALUES clause. The number of " +
		"values in the VALUES clause must match the number of columns specified in the INSERT statement.",
	110: "There are fewer columns in the INSERT statement than values specified in the VALUES clause. The number of " +
		"values in the VALUES clause must match the number of columns specified in the INSERT statement.",
	111: "'%v' must be the first statement in a query batch.",
	112: "Variables are not allowed in the %v statement.",
	113: "Missing end comment mark '*/'.",
	116: "Only one expression can be specified in the select list when the subquery is not introduced with EXISTS.",
	119: "Parameter number %v and those after it must be passed as '@name = value': once a parameter is passed by " +
		"name, all that follow it must be.",
	120: "The select list for the INSERT statement contains fewer items than the insert list. The number of SELECT " +
		"values must match the number of INSERT columns.",
	121: "The select list for the INSERT statement contains more items than the insert list. The number of SELECT " +
		"values must match the number of INSERT columns.",
	122: "The %v option is allowed only with %v syntax.",
	126: "Invalid pseudocolumn \"%v\".",
	127: "A TOP N or FETCH rowcount value may not be negative.",
	128: "The name \"%v\" is not permitted in this context. Valid expressions are constants, constant expressions, " +
		"and (in some contexts) variables. Column names are not permitted.",
	135: "Cannot use a BREAK statement outside the scope of a WHILE statement.",
	136: "Cannot use a CONTINUE statement outside the scope of a WHILE statement.",
	141: "A SELECT statement that assigns a value to a variable must not be combined with data-retrieval operations.",
	142: "Incorrect syntax for definition of the '%v' constraint.",
	144: "Cannot use an aggregate or a subquery in an expression used for the group by list of a GROUP BY clause.",
	145: "ORDER BY items must appear in the select list if SELECT DISTINCT is specified.",
	147: "An aggregate may not appear in the WHERE clause unless it is in a subquery of a HAVING clause or a select " +
		"list, and the column being aggregated is an outer reference.",
	148: "Incorrect time syntax in time string '%v' used with WAITFOR.",
	153: "Invalid usage of the option %v in the %v statement.",
	154: "%v is not allowed in %v.",
	155: "'%v' is not a recognized %v option.",
	156: "Incorrect syntax near the keyword '%v'.",
	157: "An aggregate may not appear in the set list of an UPDATE statement.",
	159: "Must specify the table name and index name for the DROP INDEX statement.",
	166: "'%v' does not allow specifying the database name as a prefix to the object name.",
	169: "A column has been specified more than once in the order by list. Columns in the order by list must be unique.",
	173: "The definition for column '%v' must include a data type.",
	174: "The %v function requires %v argument(s).",
	178: "A RETURN statement with a return value cannot be used in this context.",
	179: "Cannot use the OUTPUT option when passing a constant to a stored procedure.",
	180: "There are too many parameters in this %v statement. The maximum number is %v.",
	188: "Cannot specify a log file in a CREATE DATABASE statement without also specifying at least one data file.",
	189: "The %v function requires %v to %v arguments.",
	191: "Some part of your SQL statement is nested too deeply. Rewrite the query or break it up into smaller queries.",
	205: "All queries combined using a UNION, INTERSECT or EXCEPT operator must have an equal number of expressions " +
		"in their target lists.",
	213: "Column name or number of supplied values does not match table definition.",
	263: "Must specify table to select from.",
	319: "Incorrect syntax near the keyword 'with'. If this statement is a common table expression, an xmlnamespaces " +
		"clause or a change tracking context clause, the previous statement must be terminated with a semicolon.",
	321: "\"%v\" is not a recognized table hints option. If it is intended as a parameter to a table-valued function " +
		"or to the CHANGETABLE function, ensure that your database compatibility mode is set to 90.",
	336: "Incorrect syntax near '%v'. If this is intended to be a common table expression, you need to explicitly " +
		"terminate the previous statement with a semicolon.",
	343: "Unknown object type '%v' used in a CREATE, DROP, or ALTER statement.",
	346: "The parameter \"%v\" can not be declared READONLY since it is not a table-valued parameter.",
	401: "The statement or expression %v is not supported.",
	487: "An invalid option was specified for the statement \"%v\".",
	507: "Invalid argument for SET ROWCOUNT. Must be a non-null non-negative integer.",
	1015: "An aggregate cannot appear in an ON clause unless it is in a subquery contained in a HAVING clause or " +
		"select list, and the column being aggregated is an outer reference.",
	1018: "Incorrect syntax near '%v'. If this is intended as a part of a table hint, a WITH keyword and parenthesis " +
		"are now required.",
	1023: "Invalid parameter %v specified for %v.",
	1033: "The ORDER BY clause is invalid in views, inline functions, derived tables, subqueries, and common table " +
		"expressions, unless TOP, OFFSET or FOR XML is also specified.",
	1035: "Incorrect syntax near '%v', expected '%v'.",
	1039: "Option '%v' is specified more than once.",
	1043: "'%v' is not supported.",
	1060: "The number of rows provided for a TOP or FETCH clauses row count parameter must be an integer.",
	1080: "The integer value %v is out of range.",
	4145: "An expression of non-boolean type specified in a context where a condition is expected, near '%v'.",
	7801: "The required parameter %v was not specified.",
}

var nameFormats = map[int32]string{
	107: "The column prefix '%v' does not match with a table name or alias name used in the query.",
	117: "The %v name '%v' contains more than the maximum number of prefixes. The maximum is %v.",
	131: "The size (%v) given to the %v '%v' exceeds the maximum allowed for any data type (%v).",
	132: "The label '%v' has already been declared. Label names must be unique within a query batch or stored procedure.",
	133: "A GOTO statement references the label '%v' but the label has not been declared.",
	134: "The variable name '%v' has already been declared. Variable names must be unique within a query batch or " +
		"stored procedure.",
	137: "Must declare the scalar variable \"%v\".",
	193: "The object or column name starting with '%v' is too long. The maximum length is %v characters.",
	195: "'%v' is not a recognized %v.",
	203: "The name '%v' is not a valid identifier.",
	207: "Invalid column name '%v'.",
	208: "Invalid object name '%v'.",
	209: "Ambiguous column name '%v'.",
	217: "Maximum stored procedure, function, trigger, or view nesting level exceeded (limit %v).",
	264: "The column name '%v' is specified more than once in the SET clause or column list of an INSERT. A column " +
		"cannot be assigned more than one value in the same clause.",
	270: "Object '%v' cannot be modified.",
	271: "The column \"%v\" cannot be modified because it is either a computed column or is the result of a " +
		"UNION operator.",
	1011: "The correlation name '%v' is specified multiple times in a FROM clause.",
	1012: "The correlation name '%v' has the same exposed name as table '%v'.",
	1013: "The objects \"%v\" and \"%v\" in the FROM clause have the same exposed names. Use correlation names to " +
		"distinguish them.",
	1038: "An object or column name is missing or empty. For SELECT INTO statements, verify each column has a name.",
	1055: "'%v' is an invalid name because it contains a NULL character or an invalid unicode character.",
	1087: "Must declare the table variable \"%v\".",
	1088: "Cannot find the object \"%v\" because it does not exist or you do not have permissions.",
	4101: "Aggregates on the right side of an APPLY cannot reference columns from the left side.",
	4104: "The multi-part identifier \"%v\" could not be bound.",
	4115: "The reference to column \"%v\" is not allowed in an argument to a TOP, OFFSET, or FETCH clause. Only " +
		"references to columns at an outer scope or standalone expressions and subqueries are allowed here.",
	4121: "Cannot find either column \"%v\" or the user-defined function or aggregate \"%v\", or the name is ambiguous.",
	8154: "The table '%v' is ambiguous.",
	8155: "No column name was specified for column %v of '%v'.",
	8156: "The column '%v' was specified multiple times for '%v'.",
	8158: "'%v' has more columns than were specified in the column list.",
	8159: "'%v' has fewer columns than were specified in the column list.",
	4108: "Windowed functions can only appear in the SELECT or ORDER BY clauses.",
	4109: "Windowed functions cannot be used in the context of another windowed function or aggregate.",
	4112: "The function '%v' must have an OVER clause with ORDER BY.",
	4113: "The function '%v' is not a valid windowing function, and cannot be used with the OVER clause.",
	8117: "Operand data type %v is invalid for %v operator.",
	8118: "Column '%v.%v' is invalid in the select list because it is not contained in an aggregate function and there " +
		"is no GROUP BY clause.",
	8119: "Column '%v.%v' is invalid in the HAVING clause because it is not contained in an aggregate function and " +
		"there is no GROUP BY clause.",
	8120: "Column '%v.%v' is invalid in the select list because it is not contained in either an aggregate function or " +
		"the GROUP BY clause.",
	8121: "Column '%v.%v' is invalid in the HAVING clause because it is not contained in either an aggregate function " +
		"or the GROUP BY clause.",
	8124: "Multiple columns are specified in an aggregated expression containing an outer reference. If an expression " +
		"being aggregated contains an outer reference, then that outer reference must be the only column referenced in " +
		"the expression.",
	8127: "Column \"%v.%v\" is invalid in the ORDER BY clause because it is not contained in either an aggregate " +
		"function or the GROUP BY clause.",
}

var conversionFormats = map[int32]string{
	183: "The scale (%v) for column '%v' must be within the range %v to %v.",
	192: "The scale must be less than or equal to the precision.",
	206: "Operand type clash: %v is incompatible with %v.",
	210: "Conversion failed when converting datetime from binary/varbinary string.",
	220: "Arithmetic overflow error for data type %v, value = %v.",
	232: "Arithmetic overflow error for type %v, value = %v.",
	235: "Cannot convert a char value to money. The char value has incorrect syntax.",
	241: "Conversion failed when converting date and/or time from character string.",
	242: "The conversion of a %v data type to a %v data type resulted in an out-of-range value.",
	243: "Type %v is not a defined system type.",
	244: "The conversion of the %v value '%v' overflowed an %v column. Use a larger integer column.",
	245: "Conversion failed when converting the %v value '%v' to data type %v.",
	248: "The conversion of the %v value '%v' overflowed an int column.",
	257: "Implicit conversion from data type %v to %v is not allowed. Use the CONVERT function to run this query.",
	258: "Cannot call methods on %v.",
	260: "Disallowed implicit conversion from data type %v to data type %v, table '%v', column '%v'. Use the CONVERT " +
		"function to run this query.",
	281: "%v is not a valid style number when converting from %v to a character string.",
	291: "CAST or CONVERT: invalid attributes specified for type '%v'.",
	295: "Conversion failed when converting character string to smalldatetime data type.",
	448: "Invalid collation '%v'.",
	453: "Collation '%v' is supported on Unicode data types only and cannot be set at the database or server level.",
	459: "Collation '%v' is supported on Unicode data types only and cannot be applied to char, varchar or text " +
		"data types.",
	517: "Adding a value to a '%v' column caused an overflow.",
	529: "Explicit conversion from data type %v to %v is not allowed.",
	535: "The %v function resulted in an overflow. The number of dateparts separating two date/time instances is too " +
		"large. Try to use %v with a less precise datepart.",
	537:  "Invalid length parameter passed to the LEFT or SUBSTRING function.",
	1001: "Line %v: Length or precision specification %v is invalid.",
	1002: "Line %v: Specified scale %v is invalid.",
	1003: "Line %v: %v clause allowed only for %v.",
	2628: "String or binary data would be truncated in table '%v', column '%v'. Truncated value: '%v'.",
	2715: "Column, parameter, or variable #%v: Cannot find data type %v.",
	2716: "Column, parameter, or variable #%v: cannot specify a column width on data type %v.",
	2717: "The size (%v) given to the %v '%v' exceeds the maximum allowed (%v).",
	2750: "Column or parameter #%v: Specified column precision %v is greater than the maximum precision of %v.",
	8114: "Error converting data type %v to %v.",
	8115: "Arithmetic overflow error converting %v to data type %v.",
	8116: "Argument data type %v is invalid for argument %v of %v function.",
	8133: "At least one of the result expressions in a CASE specification must be an expression other than the " +
		"NULL constant.",
	8134: "Divide by zero error encountered.",
	8152: "String or binary data would be truncated.",
	8153: "Warning: null value is eliminated by an aggregate or other SET operation.",
	8183: "Only UNIQUE or PRIMARY KEY constraints can be created on computed columns, while CHECK, FOREIGN KEY, and " +
		"NOT NULL constraints require that computed columns be persisted.",
	8169: "Conversion failed when converting from a character string to uniqueidentifier.",
	8170: "Insufficient result space to convert uniqueidentifier value to char.",
	9803: "Invalid data for type \"%v\".",
	9804: "Column or parameter #%v: specified fractional second precision %v for %v is greater than the maximum of %v.",
	9807: "The input character string does not follow style %v, either change the input character string or use a " +
		"different style.",
	9809: "The style %v is not supported for conversions from %v to %v.",
	9810: "The datepart %v is not supported by date function %v for data type %v.",
	9819: "Error converting string value '%v' into data type %v using culture '%v'.",
}

var constraintFormats = map[int32]string{
	272: "Cannot update a timestamp column.",
	273: "Cannot insert an explicit value into a timestamp column. Use INSERT with a column list to exclude the " +
		"timestamp column, or insert a DEFAULT into the timestamp column.",
	512: "Subquery returned more than 1 value. This is not permitted when the subquery follows =, !=, <, <= , >, >= " +
		"or when the subquery is used as an expression.",
	515: "Cannot insert the value NULL into column '%v', table '%v'; column does not allow nulls. %v fails.",
	544: "Cannot insert explicit value for identity column in table '%v' when IDENTITY_INSERT is set to OFF.",
	545: "Explicit value must be specified for identity column in table '%v' either when IDENTITY_INSERT is set to ON " +
		"or when a replication user is inserting into a NOT FOR REPLICATION identity column.",
	547: "The %v statement conflicted with the %v constraint \"%v\". The conflict occurred in database \"%v\", table " +
		"\"%v\"%v%v%v.",
	1505: "The CREATE UNIQUE INDEX statement terminated because a duplicate key was found for the object name '%v' and " +
		"the index name '%v'. The duplicate key value is %v.",
	1750: "Could not create constraint or index. See previous errors.",
	1752: "Column '%v' in table '%v' is invalid for creating a default constraint.",
	1753: "Column '%v.%v' is not the same length or scale as referencing column '%v.%v' in foreign key '%v'. Columns " +
		"participating in a foreign key relationship must be defined with the same length and scale.",
	1767: "Foreign key '%v' references invalid table '%v'.",
	1769: "Foreign key '%v' references invalid column '%v' in referencing table '%v'.",
	1770: "Foreign key '%v' references invalid column '%v' in referenced table '%v'.",
	1774: "The number of columns in the referencing column list for foreign key '%v' does not match those of the " +
		"primary key in the referenced table '%v'.",
	1776: "There are no primary or candidate keys in the referenced table '%v' that match the referencing column list " +
		"in the foreign key '%v'.",
	1778: "Column '%v.%v' is not the same data type as referencing column '%v.%v' in foreign key '%v'.",
	1779: "Table '%v' already has a primary key defined on it.",
	1781: "Column already has a DEFAULT bound to it.",
	1785: "Introducing FOREIGN KEY constraint '%v' on table '%v' may cause cycles or multiple cascade paths.",
	2601: "Cannot insert duplicate key row in object '%v' with unique index '%v'. The duplicate key value is %v.",
	2627: "Violation of %v constraint '%v'. Cannot insert duplicate key in object '%v'. The duplicate key value is %v.",
	8101: "An explicit value for the identity column in table '%v' can only be specified when a column list is used " +
		"and IDENTITY_INSERT is ON.",
	8102: "Cannot update identity column '%v'.",
	8106: "Table '%v' does not have the identity property. Cannot perform SET operation.",
	8107: "IDENTITY_INSERT is already ON for table '%v.%v.%v'. Cannot perform SET operation for table '%v'.",
	8108: "Cannot add identity column, using the SELECT INTO statement, to table '%v', which already has column '%v' " +
		"that inherits the identity property.",
	8110: "Cannot add multiple PRIMARY KEY constraints to table '%v'.",
	8111: "Cannot define PRIMARY KEY constraint on nullable column in table '%v'.",
	8112: "Cannot add more than one clustered index for constraints on table '%v'.",
	8135: "Table level constraint does not specify column list, table '%v'.",
	8136: "Duplicate columns specified in %v constraint key list, table '%v'.",
	8139: "Number of referencing columns in foreign key differs from number of referenced columns, table '%v'.",
	8141: "Column %v constraint for column '%v' references another column, table '%v'.",
	8147: "Could not create IDENTITY attribute on nullable column '%v', table '%v'.",
	8150: "Multiple NULL constraints were specified for column '%v', table '%v'.",
	8148: "More than one %v constraint specified for %v '%v', table '%v'.",
}
