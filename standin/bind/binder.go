// SPDX-License-Identifier: Apache-2.0

// Package bind turns statements of Transact-SQL into SQLite's SQL. It executes nothing. What it has to know of a
// session it asks by the interface Session (session.go).
//
// The binder looks names up in the metadata (resolve.go, named_table.go, package metadata), gives every expression its
// type and collation (scope.go, expression.go, predicate.go, conversion.go, collation.go), and makes a SELECT
// (query.go, from.go), a change (insert.go, update.go, merge.go) or a cursor into a plan (plan.go): the SQL, the
// parameters that it takes, and the virtual tables that it reads. A change that SQLite cannot make in one statement is
// one that is made row by row (rowwise.go).
package bind

import (
	"context"
	"strconv"

	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/metadata"
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/sqltype"
	"geosql.dev/standin/syntax"
	"geosql.dev/standin/tds"
	"geosql.dev/standin/xmldata"
)

// TempSpace is the space of a session's temporary tables and table variables, which live in a SQLite database of the
// session's own. Other spaces are database IDs.
const TempSpace int32 = -1

// Binder turns a T-SQL statement into SQLite's SQL. Errors travel as panics of bindError inside of it.
type Binder struct {
	ctx     context.Context
	session Session
	// Home is the space whose connection executes the statement; tables of others are virtual tables there.
	Home int32
	// collated counts the COLLATE clauses around what is bound: a result of several collations has none, and gets that of
	// the clause.
	collated int
	// sensitive is the function around what is bound that takes no text whose collation is unresolved.
	sensitive string
	// Params are the parameters of the SQL, index their numbers by what they are.
	Params []Parameter
	index  map[string]int
	// Needs are the virtual tables that it reads, Spaces what is in the spaces that were looked into.
	Needs  []VirtualTable
	Spaces map[int32]*metadata.Catalog
	// Used are the spaces that the statement reads base tables of.
	Used    map[int32]bool
	aliases int
	// CTEs are the common table expressions that names may stand for.
	CTEs []*cte
	// target is the reference of the FROM clause that is bound that rows are changed through, nil for none.
	target *joinedTarget
	// maxRecursion is MAXRECURSION of the statement, 0 for no limit.
	maxRecursion int64
	// recursives are all recursive common table expressions, of views and functions too.
	recursives []*cte
	// depth is the nesting of views.
	depth int
	// locks is set when a table hint asks for locks, Volatile when the plan must not be kept.
	locks, Volatile bool
	// Kept is set for a condition that outlives the statement, which has no parameters.
	Kept bool
	// assigning are the variables that the select list sets, accumulates tells that it reads one of them, too.
	assigning   map[string]bool
	accumulates bool
	// groupSet is the grouping set that a query is bound for, windows are the named windows of the query.
	groupSet *groupingSet
	windows  []*ast.WindowDefinition
	// parts are those of the query that is bound, nil outside of one.
	parts *selectParts
	// namespaces are those of WITH XMLNAMESPACES.
	namespaces []xmldata.Binding
	// nullableSide tells that what is bound is the side of an outer join that may have no row.
	nullableSide bool
	// lateral counts the uses of parameters of inline functions that have something from around the function.
	lateral int
	// sequenceRow is the row of VALUES, from 1, for which NEXT VALUE FOR is bound; everyRow where a query gives the rows.
	sequenceRow int
	// sequenceUses counts what takes values of sequences for each row, randoms the calls of RAND.
	sequenceUses, randoms int
	// inDefault tells that a column's default is bound, drawn are the sequences that values are taken of, while somebody
	// asks.
	inDefault bool
	drawn     map[int32]bool
	// Usage is told of the columns that the query names, while somebody asks.
	Usage func(o *metadata.Object, column string)
	// Varies tells that equal rows may give other results, Rough that float or real takes part in them.
	Varies, Rough bool
	// Tables are the databases of the tables that are read or changed as the session's isolation level says, levelled
	// tells of a hint that says another.
	Tables   map[int32]bool
	levelled bool
	// permissions were asked for, and are asked for again when the plan is used again.
	permissions []Access
	// namesAll tells to go on after a column that is not found, so that missing has all of them.
	namesAll bool
	missing  []*sqlerr.Error
	// OfText tells that what is bound is of the text whose lines errors carry, at is the line in it of the name that is
	// looked for, 0 when that is not known.
	OfText bool
	at     int32
}

type bindError struct{ err *sqlerr.Error }

// Parameter is a parameter of the SQLite statement: a variable, or a value that is computed when the statement starts.
type Parameter struct {
	// Variable is the name in lower case, with its @; empty for a Value.
	Variable string
	Value    func(Session) any
	Type     sqltype.Type
	// To is what the value is converted to before it is bound; Unknown for no conversion.
	To sqltype.Type
	// Column is the column that it is stored in, for the messages of 515 and 2628.
	Column *metadata.Column
}

// VirtualTable is a virtual table that the statement reads.
type VirtualTable struct {
	// View is the system view or table-valued function whose rows it has, and Args the number of its arguments.
	View    string
	Args    int
	Columns []tds.Column
	// Object is the table of another space that it shows, as it is in a Version of what is there.
	Space   int32
	Version int64
	Object  *metadata.Object
	// Packed is the number of columns of packed rows that are read; the others are empty then.
	Packed int
}

// New binds a statement of a session that the connection of a space executes.
func New(ctx context.Context, s Session, home int32) *Binder {
	return &Binder{
		ctx:          ctx,
		session:      s,
		Home:         home,
		index:        map[string]int{},
		maxRecursion: 100,
		Spaces:       map[int32]*metadata.Catalog{},
		Used:         map[int32]bool{},
		Tables:       map[int32]bool{},
	}
}

// notFound is the error of a column's name that means nothing: where all of them are to be told, what is bound goes on
// with NULL.
func (b *Binder) notFound(number int32, name, shown string) Expr {
	err := b.named(sqlerr.New(number, 1, shown))
	if !b.namesAll {
		panic(bindError{err})
	}
	b.missing = append(b.missing, err)
	return Expr{SQL: "NULL", Type: sqltype.IntType, Null: true, Nullable: true, name: name}
}

// named gives an error about a name the line where the name is, which can be one far down in its statement.
func (b *Binder) named(err *sqlerr.Error) *sqlerr.Error {
	if b.OfText && b.depth == 0 && b.at > 0 {
		return err.At(b.at)
	}
	return err
}

// atName makes the line of a name that of errors about it until the returned func is called.
func (b *Binder) atName(name *ast.MultiPartIdentifier) func() {
	before := b.at
	b.at = 0
	if name != nil && len(name.Identifiers) > 0 {
		b.at = syntax.Line(name.Identifiers[0])
	}
	return func() { b.at = before }
}

// noColumn tells that a table has no such column to change.
func (b *Binder) noColumn(n *ast.ColumnReferenceExpression) {
	defer b.atName(n.MultiPartIdentifier)()
	parts := Identifiers(n.MultiPartIdentifier)
	b.notFound(207, "", parts[len(parts)-1])
}

// Naming is Safely of a whole statement, whose error names all columns that are not found.
func (b *Binder) Naming(f func()) *sqlerr.Error {
	b.namesAll = true
	err := Safely(f)
	b.namesAll = false
	if len(b.missing) == 0 {
		return err
	}
	if err != nil && Unresolved(err) {
		b.missing = append(b.missing, err)
	}
	return sqlerr.Together(b.missing)
}

// Safely runs f and turns the panics of fail into an error.
func Safely(f func()) (err *sqlerr.Error) {
	defer func() {
		if r := recover(); r != nil {
			b, ok := r.(bindError)
			if !ok {
				panic(r)
			}
			err = b.err
		}
	}()
	f()
	return nil
}

// Fail ends what is bound with an error of SQL Server, within Safely.
func (b *Binder) Fail(number int32, args ...any) { panic(bindError{sqlerr.New(number, 1, args...)}) }

// FailWith is Fail with an error that there is already.
func (b *Binder) FailWith(err *sqlerr.Error) {
	copied := *err
	panic(bindError{&copied})
}

// Refuse is the error for T-SQL that the stand-in does not execute.
func (b *Binder) Refuse(what string) {
	panic(bindError{sqlerr.Unsupported(what)})
}

// Expr is a bound scalar expression.
type Expr struct {
	SQL  string
	Type sqltype.Type
	// Null is an untyped NULL.
	Null bool
	// Nullable is what SQL Server says of the expression: columns, constants, @@ variables, ISNULL and little else may be
	// told never to be NULL, since overflows and failed conversions give NULL under some options
	// (docs/t-sql/statements/create-table-transact-sql.md, computed columns).
	Nullable bool
	// collation is the key for character values; explicit is true for COLLATE, implicit for a column.
	collation          string
	explicit, implicit bool
	// CollationName is what the collation is called, empty where that is not known: several have the same key.
	CollationName string
	// Literal is the value of a literal.
	Literal    any
	HasLiteral bool
	// param is the parameter's number when the expression is nothing else, from 1.
	param int
	// column is set for a plain column, name is what a result column is called without alias.
	column *SourceColumn
	name   string
	// Free are the columns outside of aggregates, for grouped queries.
	Free []*SourceColumn
	// Aggregate is true when it contains an aggregate of the current query.
	Aggregate bool
	Window    bool
	// json marks JSON that FOR JSON and JSON_MODIFY take as it is, xml what has a method of xml in it.
	json, XML bool
}

// literal is a constant of a type.
func literal(t sqltype.Type, v any) Expr {
	e := Expr{Type: t, Literal: v, HasLiteral: true, Nullable: v == nil, Null: false}
	raw, err := sqltype.Encode(t, v)
	if err != nil {
		panic(bindError{sqlerr.Internal(err)})
	}
	e.SQL = sqltype.StoredLiteral(raw)
	if t.Kind.IsCharacter() {
		e.collation = "tsql_ci_as"
	}
	return e
}

// Parameter adds a variable or computed value.
func (b *Binder) Parameter(key string, p Parameter) Expr {
	b.Varies = true
	n, ok := b.index[key]
	if !ok {
		b.Params = append(b.Params, p)
		n = len(b.Params)
		b.index[key] = n
	}
	t := p.Type
	if p.To.Kind != sqltype.Unknown {
		t = p.To
	}
	e := Expr{SQL: "?" + strconv.Itoa(n), Type: t, Nullable: true, param: n}
	if t.Kind.IsCharacter() {
		e.collation = "tsql_ci_as"
	}
	return e
}

// Variable binds @name.
func (b *Binder) Variable(name string) Expr {
	v := b.session.Variable(name)
	if v == nil {
		b.Fail(137, name)
	}
	if v.Table != nil {
		b.Fail(137, name)
	}
	if v.Cursor {
		b.Fail(16949, name)
	}
	if b.assigning[lower(name)] {
		b.accumulates = true
		return b.goCall(VariableNow, []Expr{literal(sqltype.VarCharMax, lower(name))}, v.Type, false)
	}
	if v.Bound != "" {
		if v.Lateral {
			b.lateral++
		}
		e := Expr{SQL: v.Bound, Type: v.Type, Nullable: true}
		if v.Type.Kind.IsCharacter() {
			e.collation = "tsql_ci_as"
		}
		return e
	}
	return b.Parameter(lower(name), Parameter{Variable: lower(name), Type: v.Type})
}

// computed binds a value that is the same for all rows of the statement.
func (b *Binder) computed(key string, t sqltype.Type, value func(Session) any) Expr {
	if b.Kept {
		if _, f := Momentary(key); f != nil {
			return b.momentaryValue(key, t)
		}
	}
	return b.Parameter("="+key, Parameter{Value: value, Type: t})
}

func (b *Binder) paramKey(n int) string {
	for k, i := range b.index {
		if i == n {
			return k
		}
	}
	return ""
}

// key is e's SQL as rows are told apart by it: equal values of sql_variant may have several types.
func (e Expr) key() string {
	if e.Type.Kind == sqltype.SQLVariant {
		return VariantKeySQL(e.SQL)
	}
	return e.collated()
}

// VariantKeySQL is the SQL by which values of sql_variant are told apart: equal ones may have several types.
func VariantKeySQL(sql string) string { return "tsql_vkey(" + sql + ")" }

// merge collects what an expression inherits from its parts.
func merge(out Expr, parts ...Expr) Expr {
	for _, p := range parts {
		out.Free = append(out.Free, p.Free...)
		out.Aggregate = out.Aggregate || p.Aggregate
		out.Window = out.Window || p.Window
		out.XML = out.XML || p.XML
	}
	return out
}

// Unresolved tells whether an error is one of the resolution of names, which a TRY block does not catch at the level at
// which it comes up (docs/t-sql/language-elements/try-catch-transact-sql.md, "Errors unaffected by a TRY...CATCH
// construct").
func Unresolved(e *sqlerr.Error) bool {
	switch e.Number {
	case 207, 208, 209, 4104:
		return true
	}
	return false
}
