// SPDX-License-Identifier: Apache-2.0

package engine

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

// tempSpace is the space of a session's temporary tables and table variables, which live in a SQLite database of the
// session's own. Other spaces are database IDs.
const tempSpace int32 = -1

// binder turns a T-SQL statement into SQLite's SQL. Errors travel as panics of bindError inside of it.
type binder struct {
	ctx context.Context
	s   *Session
	// home is the space whose connection executes the statement; tables of others are virtual tables there.
	home int32
	// collated counts the COLLATE clauses around what is bound: a result of several collations has none, and gets that of
	// the clause.
	collated int
	// sensitive is the function around what is bound that takes no text whose collation is unresolved.
	sensitive string
	params    []param
	index     map[string]int
	needs     []need
	spaces    map[int32]*metadata.Catalog
	// used are the spaces that the statement reads base tables of.
	used    map[int32]bool
	aliases int
	ctes    []*cte
	// target is the reference of the FROM clause that is bound that rows are changed through, nil for none.
	target *joinedTarget
	// maxRecursion is MAXRECURSION of the statement, 0 for no limit.
	maxRecursion int64
	// recursives are all recursive common table expressions, of views and functions too.
	recursives []*cte
	// depth is the nesting of views.
	depth int
	// locks is set when a table hint asks for locks, volatile when the plan must not be kept.
	locks, volatile bool
	// kept is set for a condition that outlives the statement, which has no parameters.
	kept bool
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
	// usage is told of the columns that the query names, while somebody asks.
	usage func(o *metadata.Object, column string)
	// varies tells that equal rows may give other results, rough that float or real takes part in them.
	varies, rough bool
	// tables are the databases of the tables that are read or changed as the session's isolation level says, levelled
	// tells of a hint that says another.
	tables   map[int32]bool
	levelled bool
	// permissions were asked for, and are asked for again when the plan is used again.
	permissions []Permission
	// namesAll tells to go on after a column that is not found, so that missing has all of them.
	namesAll bool
	missing  []*sqlerr.Error
	// ofText tells that what is bound is of the text whose lines errors carry, at is the line in it of the name that is
	// looked for, 0 when that is not known.
	ofText bool
	at     int32
}

type bindError struct{ err *sqlerr.Error }

// param is a parameter of the SQLite statement: a variable, or a value that is computed when the statement starts.
type param struct {
	variable string // lower case, with @
	value    func(*Session) any
	typ      sqltype.Type
	// to is what the value is converted to before it is bound; Unknown for no conversion.
	to sqltype.Type
	// column is the column that it is stored in, for the messages of 515 and 2628.
	column *metadata.Column
}

// need is a virtual table that the statement reads.
type need struct {
	view    string
	args    int
	columns []tds.Column
	space   int32
	version int64
	object  *metadata.Object
	// packed is the number of columns of packed rows that are read; the others are empty then.
	packed int
}

func newBinder(ctx context.Context, s *Session, home int32) *binder {
	return &binder{
		ctx:          ctx,
		s:            s,
		home:         home,
		index:        map[string]int{},
		maxRecursion: 100,
		spaces:       map[int32]*metadata.Catalog{},
		used:         map[int32]bool{},
		tables:       map[int32]bool{},
	}
}

// notFound is the error of a column's name that means nothing: where all of them are to be told, what is bound goes on
// with NULL.
func (b *binder) notFound(number int32, name, shown string) expr {
	err := b.named(sqlerr.New(number, 1, shown))
	if !b.namesAll {
		panic(bindError{err})
	}
	b.missing = append(b.missing, err)
	return expr{sql: "NULL", typ: sqltype.IntType, null: true, nullable: true, name: name}
}

// named gives an error about a name the line where the name is, which can be one far down in its statement.
func (b *binder) named(err *sqlerr.Error) *sqlerr.Error {
	if b.ofText && b.depth == 0 && b.at > 0 {
		return err.At(b.at)
	}
	return err
}

// atName makes the line of a name that of errors about it until the returned func is called.
func (b *binder) atName(name *ast.MultiPartIdentifier) func() {
	before := b.at
	b.at = 0
	if name != nil && len(name.Identifiers) > 0 {
		b.at = syntax.Line(name.Identifiers[0])
	}
	return func() { b.at = before }
}

// noColumn tells that a table has no such column to change.
func (b *binder) noColumn(n *ast.ColumnReferenceExpression) {
	defer b.atName(n.MultiPartIdentifier)()
	parts := identifiers(n.MultiPartIdentifier)
	b.notFound(207, "", parts[len(parts)-1])
}

// bindNaming is bindSafely of a whole statement, whose error names all columns that are not found.
func (b *binder) bindNaming(f func()) *sqlerr.Error {
	b.namesAll = true
	err := bindSafely(f)
	b.namesAll = false
	if len(b.missing) == 0 {
		return err
	}
	if err != nil && unresolved(err) {
		b.missing = append(b.missing, err)
	}
	return sqlerr.Together(b.missing)
}

// bindSafely runs f and turns the panics of fail into an error.
func bindSafely(f func()) (err *sqlerr.Error) {
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

func (b *binder) fail(number int32, args ...any) { panic(bindError{sqlerr.New(number, 1, args...)}) }

func (b *binder) failWith(err *sqlerr.Error) {
	copied := *err
	panic(bindError{&copied})
}

// refuse is the error for T-SQL that the stand-in does not execute.
func (b *binder) refuse(what string) {
	panic(bindError{unsupported(what)})
}

// unsupported is error 40510's kin for T-SQL that SQL Server has and the stand-in has not.
func unsupported(what string) *sqlerr.Error {
	return sqlerr.Unsupported(what)
}

// expr is a bound scalar expression.
type expr struct {
	sql string
	typ sqltype.Type
	// null is an untyped NULL.
	null bool
	// nullable is what SQL Server says of the expression: columns, constants, @@ variables, ISNULL and little else may be
	// told never to be NULL, since overflows and failed conversions give NULL under some options
	// (docs/t-sql/statements/create-table-transact-sql.md, computed columns).
	nullable bool
	// collation is the key for character values; explicit is true for COLLATE, implicit for a column.
	collation          string
	explicit, implicit bool
	// collationName is what the collation is called, empty where that is not known: several have the same key.
	collationName string
	// lit is the value of a literal.
	lit    any
	hasLit bool
	// param is the parameter's number when the expression is nothing else, from 1.
	param int
	// column is set for a plain column, name is what a result column is called without alias.
	column *sourceColumn
	name   string
	// free are the columns outside of aggregates, for grouped queries.
	free []*sourceColumn
	// aggregate is true when it contains an aggregate of the current query.
	aggregate bool
	window    bool
	// json marks JSON that FOR JSON and JSON_MODIFY take as it is, xml what has a method of xml in it.
	json, xml bool
}

// literal is a constant of a type.
func literal(t sqltype.Type, v any) expr {
	e := expr{typ: t, lit: v, hasLit: true, nullable: v == nil, null: false}
	raw, err := sqltype.Encode(t, v)
	if err != nil {
		panic(bindError{internalError(err)})
	}
	e.sql = sqltype.StoredLiteral(raw)
	if t.Kind.IsCharacter() {
		e.collation = "tsql_ci_as"
	}
	return e
}

// parameter adds a variable or computed value.
func (b *binder) parameter(key string, p param) expr {
	b.varies = true
	n, ok := b.index[key]
	if !ok {
		b.params = append(b.params, p)
		n = len(b.params)
		b.index[key] = n
	}
	t := p.typ
	if p.to.Kind != sqltype.Unknown {
		t = p.to
	}
	e := expr{sql: "?" + strconv.Itoa(n), typ: t, nullable: true, param: n}
	if t.Kind.IsCharacter() {
		e.collation = "tsql_ci_as"
	}
	return e
}

// variable binds @name.
func (b *binder) variable(name string) expr {
	v := b.s.variable(name)
	if v == nil {
		b.fail(137, name)
	}
	if v.table != nil {
		b.fail(137, name)
	}
	if v.isCursor {
		b.fail(16949, name)
	}
	if b.assigning[lower(name)] {
		b.accumulates = true
		return b.goCall(variableNow, []expr{literal(sqltype.VarCharMax, lower(name))}, v.typ, false)
	}
	if v.bound != "" {
		if v.lateral {
			b.lateral++
		}
		e := expr{sql: v.bound, typ: v.typ, nullable: true}
		if v.typ.Kind.IsCharacter() {
			e.collation = "tsql_ci_as"
		}
		return e
	}
	return b.parameter(lower(name), param{variable: lower(name), typ: v.typ})
}

// computed binds a value that is the same for all rows of the statement.
func (b *binder) computed(key string, t sqltype.Type, value func(*Session) any) expr {
	if b.kept {
		if _, f := momentary(key); f != nil {
			return b.momentaryValue(key, t)
		}
	}
	return b.parameter("="+key, param{value: value, typ: t})
}

func (b *binder) paramKey(n int) string {
	for k, i := range b.index {
		if i == n {
			return k
		}
	}
	return ""
}

// key is e's SQL as rows are told apart by it: equal values of sql_variant may have several types.
func (e expr) key() string {
	if e.typ.Kind == sqltype.SQLVariant {
		return variantKeySQL(e.sql)
	}
	return e.collated()
}

func variantKeySQL(sql string) string { return "tsql_vkey(" + sql + ")" }

// merge collects what an expression inherits from its parts.
func merge(out expr, parts ...expr) expr {
	for _, p := range parts {
		out.free = append(out.free, p.free...)
		out.aggregate = out.aggregate || p.aggregate
		out.window = out.window || p.window
		out.xml = out.xml || p.xml
	}
	return out
}
