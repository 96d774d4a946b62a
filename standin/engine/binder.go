// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/operator/standin/sqlerr"
	"geosql.dev/operator/standin/sqltype"
	"geosql.dev/operator/standin/tds"
	"geosql.dev/operator/standin/xmldata"
)

// tempSpace is the space of a session's temporary tables and table variables, which live in a SQLite database of the
// session's own. Other spaces are database IDs.
const tempSpace int32 = -1

// binder turns a T-SQL statement into SQLite's SQL. Errors travel as panics of bindError inside of it.
type binder struct {
	ctx context.Context
	s   *Session
	// home is the space whose connection executes the statement; tables of others are virtual tables there.
	home   int32
	params []param
	index  map[string]int
	needs  []need
	spaces map[int32]*schema
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
	// sequenceRow is the row of VALUES, from 1, for which NEXT VALUE FOR is bound; everyRow where a query gives the rows.
	sequenceRow int
	// sequenceUses counts what takes values of sequences for each row, randoms the calls of RAND.
	sequenceUses, randoms int
	// inDefault tells that a column's default is bound, drawn are the sequences that values are taken of, while somebody asks.
	inDefault bool
	drawn     map[int32]bool
	// varies tells that equal rows may give other results, rough that float or real takes part in them.
	varies, rough bool
	// tables are the databases of the tables that are read or changed as the session's isolation level says, levelled tells of a hint that says another.
	tables   map[int32]bool
	levelled bool
	// permissions were asked for, and are asked for again when the plan is used again.
	permissions []Permission
	// namesAll tells to go on after a column that is not found, so that missing has all of them.
	namesAll bool
	missing  []*sqlerr.Error
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
	column *Column
}

// need is a virtual table that the statement reads.
type need struct {
	view    string
	args    int
	columns []tds.Column
	space   int32
	version int64
	object  *Object
}

func newBinder(ctx context.Context, s *Session, home int32) *binder {
	return &binder{ctx: ctx, s: s, home: home, index: map[string]int{}, maxRecursion: 100, spaces: map[int32]*schema{}, used: map[int32]bool{}, tables: map[int32]bool{}}
}

// notFound is the error of a column's name that means nothing: where all of them are to be told, what is bound goes on with NULL.
func (b *binder) notFound(number int32, name, shown string) expr {
	err := sqlerr.New(number, 1, shown)
	if !b.namesAll {
		panic(bindError{err})
	}
	b.missing = append(b.missing, err)
	return expr{sql: "NULL", typ: sqltype.IntType, null: true, nullable: true, name: name}
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
	// nullable is what SQL Server says of the expression: columns, constants, @@ variables, ISNULL and little else may be told never to be NULL,
	// since overflows and failed conversions give NULL under some options (docs/t-sql/statements/create-table-transact-sql.md,
	// computed columns).
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
	if b.assigning[lower(name)] {
		b.accumulates = true
		return b.goCall(variableNow, []expr{literal(sqltype.VarCharMax, lower(name))}, v.typ, false)
	}
	if v.bound != "" {
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

// convert makes a value of another type of e.
func (b *binder) convert(e expr, to sqltype.Type, mode sqltype.Mode, style int, try bool) expr {
	if e.null {
		out := literal(to, nil)
		return out
	}
	if try {
		if err := sqltype.Convertible(e.typ, to, mode); err != nil {
			b.failWith(err)
		}
	} else if err := sqltype.Convertible(e.typ, to, mode); err != nil {
		b.failWith(err)
	}
	b.varies = b.varies || dependsOnSettings(e.typ, to, style)
	b.rough = b.rough || to.Kind.IsApproximate()
	if e.hasLit && !try {
		v, err := sqltype.Convert(e.lit, e.typ, to, b.s.style(style), mode)
		if err == nil {
			out := literal(to, v)
			out.name, out.nullable = e.name, out.nullable || e.nullable
			return out
		}
	}
	out := e
	out.typ = to
	out.hasLit, out.param, out.column, out.name = false, 0, nil, ""
	if to.Kind.IsCharacter() && out.collation == "" {
		out.collation = "tsql_ci_as"
	}
	if !to.Kind.IsCharacter() {
		out.collation, out.explicit, out.implicit = "", false, false
	}
	if storedAlike(e.typ, to) {
		out.param = e.param
		if e.param > 0 && e.typ != to {
			out.param = 0
		}
		return out
	}
	if e.param > 0 && !try && style == 0 && b.params[e.param-1].to.Kind == sqltype.Unknown && mode != sqltype.Explicit {
		p := b.params[e.param-1]
		p.to = to
		return b.parameter(fmt.Sprintf("%s>%d", b.paramKey(e.param), sqltype.Pack(to)), p)
	}
	m := int(mode)
	if try {
		m += tryMode
	}
	// What overflows may be NULL; a wider number cannot.
	widened := mode != sqltype.Explicit && !try && e.typ.Kind.IsNumeric() && to.Kind.IsNumeric() && sqltype.Union(e.typ, to) == to
	out.nullable = out.nullable || !widened
	if e.typ.Kind.IsInteger() && to.Kind == sqltype.Float {
		out.sql = "CAST(" + e.sql + " AS REAL)"
		return out
	}
	out.sql = fmt.Sprintf("tsql_conv(%s,%d,%d,%d,%d)", e.sql, sqltype.Pack(e.typ), sqltype.Pack(to), m, style)
	return out
}

// dependsOnSettings tells whether a conversion between text and dates is one that goes by the language
// (docs/t-sql/functions/cast-and-convert-transact-sql.md, Deterministic and nondeterministic styles).
func dependsOnSettings(from, to sqltype.Type, style int) bool {
	old := from.Kind == sqltype.DateTime || from.Kind == sqltype.SmallDateTime
	if !(from.Kind.IsCharacter() && to.Kind.IsTemporal() || old && to.Kind.IsCharacter()) {
		return false
	}
	switch style {
	case 20, 21:
		return false
	case 106, 107, 109, 113:
		return true
	}
	return style <= 100
}

func (b *binder) paramKey(n int) string {
	for k, i := range b.index {
		if i == n {
			return k
		}
	}
	return ""
}

// storedAlike tells whether every value of from is stored as the same value of to is, so that nothing is to be done.
func storedAlike(from, to sqltype.Type) bool {
	if from == to {
		return true
	}
	f, t := from.Kind, to.Kind
	switch {
	case f == sqltype.Bit && t.IsInteger():
		return true
	case f.IsInteger() && t.IsInteger():
		return f <= t
	case (f == sqltype.VarChar || f == sqltype.NVarChar || f == sqltype.Char || f == sqltype.NChar) && (t == sqltype.VarChar || t == sqltype.NVarChar):
		wide := to.Length == sqltype.MaxLength || from.Length != sqltype.MaxLength && from.Length <= to.Length
		return wide && (t == sqltype.NVarChar || f == sqltype.VarChar || f == sqltype.Char)
	case f.IsCharacter() && t == sqltype.NText:
		return true
	case f == sqltype.Text && t == sqltype.VarChar, f == sqltype.NText && t == sqltype.NVarChar:
		return to.Length == sqltype.MaxLength
	case (f == sqltype.VarChar || f == sqltype.Char) && t == sqltype.Text:
		return true
	case (f == sqltype.VarBinary || f == sqltype.Binary) && t == sqltype.VarBinary:
		return to.Length == sqltype.MaxLength || from.Length != sqltype.MaxLength && from.Length <= to.Length
	case f.IsBinary() && t == sqltype.Image:
		return true
	case f == sqltype.Real && t == sqltype.Float:
		return true
	case f == sqltype.Decimal && t == sqltype.Decimal:
		return to.Scale >= from.Scale && to.Precision-to.Scale >= from.Precision-from.Scale
	case f == sqltype.SmallMoney && t == sqltype.Money:
		return true
	case t == sqltype.DateTime2 && to.Scale == 7:
		return f == sqltype.Date || f == sqltype.DateTime || f == sqltype.SmallDateTime || f == sqltype.DateTime2
	case f == sqltype.DateTime2 && t == sqltype.DateTime2, f == sqltype.Time && t == sqltype.Time:
		return to.Scale >= from.Scale
	}
	return false
}

// commonType is the one type that all of the expressions convert to: int when all are NULL without a type.
func commonType(list []expr) sqltype.Type {
	t := sqltype.Type{}
	for _, e := range list {
		if !e.null {
			t = sqltype.Union(t, e.typ)
		}
	}
	if t.Kind == sqltype.Unknown {
		return sqltype.IntType
	}
	return t
}

// unify converts expressions to one type (comparison, CASE, UNION, IN).
func (b *binder) unify(list ...expr) ([]expr, sqltype.Type) {
	t := commonType(list)
	out := make([]expr, len(list))
	for i, e := range list {
		if e.typ.Kind.IsCharacter() && t.Kind.IsCharacter() && !e.null || comparedAlike(e.typ, t) && !e.null {
			out[i] = e
			continue
		}
		out[i] = b.convert(e, t, sqltype.Implicit, 0, false)
	}
	if t.Kind == sqltype.SQLVariant {
		for i := range out {
			out[i].sql, out[i].hasLit, out[i].param = variantKeySQL(out[i].sql), false, 0
		}
	}
	return out, t
}

// comparedAlike tells whether SQLite compares stored values of both types rightly without a conversion.
func comparedAlike(a, t sqltype.Type) bool {
	switch {
	case (a.Kind.IsInteger() || a.Kind == sqltype.Bit) && (t.Kind.IsInteger() || t.Kind == sqltype.Bit):
		return true
	case a.Kind.IsInteger() && t.Kind.IsApproximate():
		return false
	case a.Kind.IsExact() && t.Kind.IsExact(), a.Kind.IsBinary() && t.Kind.IsBinary():
		return true
	case a.Kind.IsTemporal() && t.Kind.IsTemporal():
		return a.Kind != sqltype.DateTimeOffset && t.Kind != sqltype.DateTimeOffset && a.Kind != sqltype.Time && t.Kind != sqltype.Time
	}
	return storedAlike(a, t)
}

// collate picks the collation for a comparison of character values: an explicit one, else a column's, else the default.
func (b *binder) collate(operation string, list ...expr) string {
	chosen, other := precedingCollation(list)
	if other != nil {
		b.failWith(sqlerr.New(468, 9, other.collationShown(), chosen.collationShown(), operation+" operation"))
	}
	return chosen.collation
}

// collateResult is collate for what an operator gives: a conflict is 457 for varchar, 451 for nvarchar, as its result cannot be sent.
func (b *binder) collateResult(operator string, t sqltype.Type, list ...expr) expr {
	chosen, other := precedingCollation(list)
	switch {
	case other == nil:
	case t.Kind == sqltype.NVarChar || t.Kind == sqltype.NChar || t.Kind == sqltype.NText:
		b.fail(451, other.collationShown(), chosen.collationShown(), operator, "SELECT", 1)
	default:
		b.fail(457, t.Kind, t.Kind, other.collationShown(), chosen.collationShown(), operator)
	}
	return chosen
}

// precedingCollation is the expression whose collation goes before those of the others
// (docs/t-sql/statements/collation-precedence-transact-sql.md), and one that is its equal and has another.
func precedingCollation(list []expr) (chosen expr, other *expr) {
	for i, e := range list {
		if e.collation == "" {
			continue
		}
		switch {
		case chosen.collation == "", e.explicit && !chosen.explicit, e.implicit && !chosen.implicit && !chosen.explicit:
			chosen = e
		case (e.explicit && chosen.explicit || e.explicit == chosen.explicit && e.implicit && chosen.implicit) && differentCollations(e, chosen):
			return chosen, &list[i]
		}
	}
	if chosen.collation == "" {
		chosen.collation = "tsql_ci_as"
	}
	return chosen, nil
}

func differentCollations(l, r expr) bool {
	if l.collationName == "" || r.collationName == "" {
		return l.collation != r.collation
	}
	return !strings.EqualFold(l.collationName, r.collationName)
}

// collationShown is what messages call an expression's collation.
func (e expr) collationShown() string {
	if e.collationName == "" {
		return sqltype.DefaultCollation
	}
	return e.collationName
}

// collated is e's SQL with its collation, for ORDER BY, GROUP BY, DISTINCT and comparisons.
func (e expr) collated() string {
	if e.typ.Kind.IsCharacter() && e.collation != "" {
		return e.sql + " COLLATE " + e.collation
	}
	return e.sql
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
