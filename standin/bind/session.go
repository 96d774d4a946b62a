// SPDX-License-Identifier: Apache-2.0

package bind

import (
	"context"

	"geosql.dev/standin/builtin"
	"geosql.dev/standin/metadata"
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/sqltype"
	"geosql.dev/standin/syntax"
	"geosql.dev/standin/tds"
)

// Session is what binding asks of the session whose statement it binds, and what the values of parameters ask of it
// when the statement is executed.
type Session interface {
	Names
	Rules
	Moment
}

// Names are what the names of a statement mean in a session.
type Names interface {
	// Database is the name of the current database, DatabaseID its space.
	Database() string
	DatabaseID() int32
	// DatabaseNamed is the space of a database, DatabaseByID the one of a space; ok is false where there is none.
	DatabaseNamed(name string) (space int32, ok bool)
	DatabaseByID(space int32) (db Database, ok bool)
	// Enter asks whether the session may use a database.
	Enter(ctx context.Context, space int32) *sqlerr.Error
	// InDatabase makes a database the current one until leave is called, Within makes a module the one where names
	// without a schema are looked for.
	InDatabase(space int32) (leave func())
	Within(module *metadata.Object) (leave func())
	// InFunction makes the parameters of a function those of what is bound, until leave is called.
	InFunction(function *metadata.Object, batch *syntax.Batch, parameters map[string]Variable) (leave func())
	// Catalog is what is in a space.
	Catalog(ctx context.Context, space int32) (*metadata.Catalog, *sqlerr.Error)
	// Schemas are those in which a name without a schema is looked for, in this order.
	Schemas(space int32, sch *metadata.Catalog) []string
	// Variable is what a name with its @ stands for, nil for nothing.
	Variable(name string) *Variable
	// Local is a temporary object, or the table of a table variable, as it is now.
	Local(o *metadata.Object) *metadata.Object
	// TriggerRows is the table of the running trigger's rows that a name stands for, inserted or deleted; nil for no
	// such name, and outside of triggers.
	TriggerRows(name ObjectName) *metadata.Object
	// ChangedRows are those of the OUTPUT clause that a nested change gives to the INSERT around it, nil outside of one.
	ChangedRows() *metadata.Object
	// SystemView, TableFunction, Function and Global are what the server itself has under a name; nil for nothing.
	SystemView(name ObjectName) *SystemView
	TableFunction(key string) *SystemFunction
	Function(name string) *ScalarFunction
	Global(name string) *SystemVariable
	// AliasType is the system type that a name is an alias of, nil for none.
	AliasType(ctx context.Context, name ObjectName) *sqltype.Type
	// Remote is the result of a query at a linked server.
	Remote(ctx context.Context, server, text string) (columns []tds.Column, rows [][]any, err *sqlerr.Error)
	// Cursor is where a cursor stands.
	Cursor(name string) (*CursorPosition, *sqlerr.Error)
}

// Rules are what a session's settings, rights and triggers say of a statement.
type Rules interface {
	// Chained tells that no permission is asked for: the module that runs and the object have the same owner.
	Chained(permission string, space int32, sch *metadata.Catalog, o *metadata.Object) bool
	// Require is the error of a right that the session has not.
	Require(ctx context.Context, a Access) *sqlerr.Error
	// InCodePage is a type with the code page of the current database's collation.
	InCodePage(t sqltype.Type) sqltype.Type
	// NullsEqual is ANSI_NULLS OFF, NullIsEmpty CONCAT_NULL_YIELDS_NULL OFF.
	NullsEqual() bool
	NullIsEmpty() bool
	// DateStyle is a style of CONVERT, or that of the session's dates for 0.
	DateStyle(given int) int
	// Culture is the one of the session's language.
	Culture() string
	// Line is that of the statement.
	Line() int32
	// Convert converts a constant; Refuses tells whether the error of it is one under the session's settings.
	Convert(v any, from, to sqltype.Type, mode sqltype.Mode) (any, *sqlerr.Error)
	Refuses(err *sqlerr.Error) bool
	// IdentityInsert tells whether SET IDENTITY_INSERT is ON for a table, GivesIdentity whether the session is one that
	// gives the values of an identity column whatever that says.
	IdentityInsert(space, table int32) bool
	GivesIdentity(c *metadata.Column) bool
	// Spares tells whether the session's changes do not fire a trigger, Runs whether it is running.
	Spares(trigger *metadata.Object) bool
	Runs(trigger *metadata.Object) bool
	// TriggerTable is the table of the running trigger, nil outside of one.
	TriggerTable() *metadata.Object
}

// Moment is what a statement asks for when it is executed. The values are as sqltype.Type says.
type Moment interface {
	// Clock is the time of the statement.
	Clock(t sqltype.Type) any
	// UserName, LoginName and Random are what USER_NAME(), SUSER_SNAME() and RAND() have.
	UserName() any
	LoginName() any
	Random() *builtin.Random
	// TriggerDepth is how many triggers run, one within the other.
	TriggerDepth() int64
	// Updated tells whether the statement that fired the trigger gives values to a column, ColumnsUpdated is
	// COLUMNS_UPDATED().
	Updated(column int32) bool
	ColumnsUpdated() []byte
	// TakeIdentity is the next identity value of a table, NextOfSequence the next value of a sequence. An error of them
	// is nil here, and fails the statement.
	TakeIdentity(t *Target) any
	NextOfSequence(space int32, o *metadata.Object) any
	// SequenceExecution is a number of its own for an execution whose rows take values of sequences.
	SequenceExecution() int64
}

// Database is a database as what is bound knows it.
type Database interface {
	ID() int32
	Name() string
	// VerboseTruncation tells whether a text that is cut off is reported with its place (2628).
	VerboseTruncation() bool
}

// Variable is a variable or a parameter.
type Variable struct {
	Type sqltype.Type
	// Table is set for a table variable, ReadOnly for a parameter of a table type.
	Table    *metadata.Object
	ReadOnly bool
	// Cursor is set for a variable of type cursor.
	Cursor bool
	// Bound is the SQL of a parameter of an inline function that is being expanded.
	Bound string
	// Lateral tells that it has something of what the function is applied to.
	Lateral bool
}

// SystemView is a view that the server itself has.
type SystemView struct {
	// Database is where it is visible, empty for every database.
	Database, Schema, Name string
	Columns                []tds.Column
}

// SystemFunction is a table-valued function that the server itself has.
type SystemFunction struct {
	Schema, Name string
	// Parameters are the types that arguments are converted to.
	Parameters []sqltype.Type
	Columns    []tds.Column
}

// ScalarFunction is a function that is evaluated in Go.
type ScalarFunction struct {
	// Min and Max are how many arguments there are; no more than 0 for Max of a built-in one, and -1 of another, is any
	// number.
	Min, Max int
	// Parameters are the types that arguments are converted to, the last one repeated.
	Parameters []sqltype.Type
	// Type is the result's, where Infer does not find it by those of the arguments.
	Type  sqltype.Type
	Infer func(types []sqltype.Type) sqltype.Type
	// Pure functions depend on their arguments alone.
	Pure bool
	// Builtin tells that it is one of T-SQL, not one of a system database's.
	Builtin bool
}

// SystemVariable is a @@name.
type SystemVariable struct {
	Type     sqltype.Type
	Nullable bool
	Value    func(Session) any
}

// Access is a right to an object that a statement needs.
type Access struct {
	// Permission is SELECT, INSERT, UPDATE ...
	Permission string
	Space      int32
	// Schema, Object and ObjectID name the object.
	Schema, Object string
	ObjectID       int32
}

// CursorPosition is where a cursor stands, for WHERE CURRENT OF.
type CursorPosition struct {
	Open, ReadOnly bool
	// Updates are the columns of FOR UPDATE OF in lower case, none where all may be changed.
	Updates []string
	// Tables are the base tables of its query, Rows the numbers in them of the row that was fetched; nil before the
	// first and behind the last.
	Tables []*Source
	Rows   []int64
}
