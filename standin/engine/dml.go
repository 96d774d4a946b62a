// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"strings"

	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/metadata"
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/sqltype"
)

// dmlPlan is what a plan of INSERT, UPDATE or DELETE adds.
type dmlPlan struct {
	verb   string
	space  int32
	object *metadata.Object
	target writeTarget
	// written is what the statement calls its target.
	written string
	// output tells that the statement's rows are the OUTPUT clause's; into is OUTPUT INTO's table.
	output      bool
	into        *ObjectName
	intoColumns []string
	// stored is how many columns of the OUTPUT clauses go there; shown are the elements of the clause beside it, whose
	// rows are sent.
	stored int
	shown  []ast.SelectElement
	// assigned are variables that UPDATE sets to new values of columns.
	assigned []assignment
	// identity is set when the statement makes identity values, explicit when it gives them.
	identity, explicit bool
	// named tells that INSERT has a column list.
	named bool
	// keys are the values of a single inserted row by column, for messages.
	keys map[int32]string
	// again is the INSERT of several rows in the form in which the row that collided is looked for.
	again string
	// values is the number of rows of VALUES.
	values int
	// rows is set for a change that is made row by row, slow for one that is when a unique key collides on the way.
	rows *rowwise
	slow *plan
	// triggers fire after the statement.
	triggers []*metadata.Object
	// instead tells that the one trigger runs in place of the change.
	instead bool
	// selfKeys are the foreign keys of tables to themselves that the statement can violate on its way.
	selfKeys []*metadata.Object
	// ruled tells that an index of the table is kept under some SET options only.
	ruled bool
}

// writeTarget is the table that a statement writes, for messages.
type writeTarget struct {
	object   *metadata.Object
	database string
	schema   string
	verb     string
	db       *Database
}

func (t *writeTarget) String() string { return t.schema + "." + t.object.ShownName() }

// writable resolves the table that a statement writes to.
func (b *binder) writable(ref ast.TableReference, verb string) (int32, *metadata.Catalog, *metadata.Object, string) {
	var space int32
	var sch *metadata.Catalog
	var obj *metadata.Object
	alias := ""
	switch n := ref.(type) {
	case *ast.NamedTableReference:
		name := NameOf(n.SchemaObject)
		alias = aliasOf(n.Alias)
		if name.Server != "" {
			b.refuse("Writing to a table of a linked server")
		}
		space, sch, obj = b.resolveWrite(name)
		if obj == nil {
			if b.s.findView(name) != nil {
				b.fail(259)
			}
			b.fail(208, name.String())
		}
	case *ast.VariableTableReference:
		v := b.s.variable(n.Variable.Name)
		if v == nil || v.table == nil {
			b.fail(1087, n.Variable.Name)
		}
		if v.readOnly {
			b.fail(10700, n.Variable.Name)
		}
		space, sch, obj = tempSpace, b.schema(tempSpace), b.s.localObject(v.table)
		alias = aliasOf(n.Alias)
	default:
		b.refuse(verb + " of the table reference " + named(ref))
	}
	if obj.Kind != metadata.KindTable && obj.Kind != metadata.KindTableType {
		b.fail(208, obj.Name)
	}
	if verb != "MERGE" { // whose clauses need more than one permission
		b.require(verb, space, sch, obj)
	}
	b.home = space
	return space, sch, obj, alias
}

// tableToWrite is resolveWrite of a table; missing is the error of a name that is none's.
func (b *binder) tableToWrite(name ObjectName, missing int32) (int32, *metadata.Catalog, *metadata.Object) {
	space, sch, o := b.resolveWrite(name)
	if o == nil || o.Kind != metadata.KindTable {
		b.fail(missing, name.String())
	}
	return space, sch, o
}

// resolveWrite follows synonyms.
func (b *binder) resolveWrite(name ObjectName) (int32, *metadata.Catalog, *metadata.Object) {
	for range 8 {
		space, sch, obj := b.resolve(name)
		if obj == nil || obj.Kind != metadata.KindSynonym {
			return space, sch, obj
		}
		name = splitName(obj.Target)
	}
	return 0, nil, nil
}

func (b *binder) dmlPlan(verb string, space int32, sch *metadata.Catalog, obj *metadata.Object) *dmlPlan {
	if !b.levelled {
		b.tables[space] = true
	}
	t := writeTarget{object: obj, schema: sch.SchemaName(obj), verb: verb, database: "tempdb"}
	if space > 0 {
		t.db = b.s.inst.DatabaseByID(space)
		t.database = t.db.Name()
	}
	if e := mayBeWritten(sch, obj, t); e != nil {
		panic(bindError{e})
	}
	return &dmlPlan{
		verb:     verb,
		space:    space,
		object:   obj,
		target:   t,
		selfKeys: sch.SelfReferences(obj),
		ruled:    obj.Table.NeedsSetOptions(),
	}
}

// stored is what store makes of e before it is measured.
func (b *binder) stored(e expr, c *metadata.Column, t *writeTarget) string {
	if e.null || e.hasLit && e.lit == nil {
		if !c.Nullable {
			panic(bindError{nullError(t, c)})
		}
		return "NULL"
	}
	if err := sqltype.Convertible(e.typ, c.Type, sqltype.Assign); err != nil {
		if err.Number == 257 {
			b.fail(257, e.typ.Kind, c.Type.Kind)
		}
		b.failWith(err)
	}
	if e.hasLit {
		v, err := b.s.Convert(e.lit, e.typ, c.Type, sqltype.Assign)
		if err == nil {
			return literal(c.Type, v).sql
		}
		// What UPDATE assigns is judged with the first row that it changes, if there is one.
		if !b.s.cuts(err) && b.s.forgiven(err) == 0 && t.verb != "UPDATE" {
			panic(bindError{truncation(err, t, c, e.lit)})
		}
	}
	if e.param > 0 && b.params[e.param-1].column == nil && b.params[e.param-1].to.Kind == sqltype.Unknown {
		p := b.params[e.param-1]
		p.to, p.column = c.Type, c
		return b.parameter(fmt.Sprintf("%s>%d>%d", b.paramKey(e.param), sqltype.Pack(c.Type), c.ID), p).sql
	}
	if storedAlike(e.typ, c.Type) && (c.Nullable || !e.nullable) {
		return e.sql
	}
	return fmt.Sprintf("tsql_store(%s,%d,%d,%d)", e.sql, sqltype.Pack(e.typ), sqltype.Pack(c.Type), c.ID)
}

// insertPlan binds INSERT ... VALUES, INSERT ... SELECT and INSERT ... DEFAULT VALUES.
func (b *binder) insertPlan(n *ast.InsertStatement) *plan {
	spec := n.InsertSpecification
	b.options(n.OptimizerHints)
	b.with(n.WithCtesAndXmlNamespaces)
	if t, space, sch, on := b.replacedBy("INSERT", spec.Target); t != nil {
		c, r := b.replaced("INSERT", t, space, sch, on, spec.OutputClause != nil || spec.OutputIntoClause != nil)
		return b.insteadOfInsert(spec, c, r)
	}
	space, sch, obj, refs := b.insertTarget(spec)
	d := b.dmlPlan("INSERT", space, sch, obj)
	b.identityGiven(spec.InsertSource, refs, obj)
	columns := b.insertColumns(refs, obj, d)
	if target, ok := spec.Target.(*ast.NamedTableReference); ok {
		d.written = NameOf(target.SchemaObject).String()
	}
	d.named = len(spec.Columns) > 0
	all := b.allColumns(obj, columns, d)
	names := make([]string, len(all))
	for i, c := range all {
		names[i] = metadata.ColumnName(c.ID)
	}
	head := "INSERT INTO main." + obj.StorageName()
	if len(names) > 0 {
		head += " (" + strings.Join(names, ",") + ") "
	}
	var body string
	switch src := spec.InsertSource.(type) {
	case *ast.ValuesInsertSource:
		if src.IsDefaultValues {
			columns = nil
			body = b.insertValues(sch, obj, columns, all, []*ast.RowValue{{}}, d)
		} else {
			if len(src.RowValues) > maxInsertRows {
				b.fail(10738, maxInsertRows)
			}
			body = b.insertValues(sch, obj, columns, all, src.RowValues, d)
		}
	case *ast.SelectInsertSource:
		body = b.insertQuery(sch, obj, columns, all, src.Select, d)
	default:
		b.refuse(fmt.Sprintf("INSERT from %s", named(spec.InsertSource)))
	}
	if top := spec.TopRowFilter; top != nil {
		rows := "(" + body + ")"
		if body = "SELECT * FROM " + rows + " WHERE 1 LIMIT " + b.topOfChange(top); top.Percent {
			body = "SELECT * FROM " + rows + " WHERE 1" + b.percentOf(rows, top)
		}
	}
	if len(names) == 0 {
		body = "DEFAULT VALUES"
		head += " "
	}
	d.triggers = b.triggersOf(sch, obj, "INSERT")
	b.noOutputWithTriggers(d, spec.OutputClause)
	if obj.Table.IgnoresDuplicates() && len(names) > 0 {
		return b.insertFound(spec, sch, obj, d, all, body)
	}
	if len(d.triggers) > 0 {
		return b.insertRowwise(spec, sch, obj, d, head+body)
	}
	returning, cols := b.outputClause(spec.OutputClause, spec.OutputIntoClause, obj, d, "inserted")
	p := b.plan(head + body + returning)
	if d.keys == nil && len(names) > 0 {
		d.again = b.withClause() + head + "SELECT * FROM (" + body + ") WHERE 1"
	}
	p.dml, p.columns = d, cols
	return p
}

// insertTarget is the table that rows are inserted into, and the columns that are given: through a view, those of its
// table that the view's columns are.
func (b *binder) insertTarget(
	spec *ast.InsertSpecification,
) (int32, *metadata.Catalog, *metadata.Object, []*ast.ColumnReferenceExpression) {
	t := b.changeThrough("INSERT", spec.Target)
	if t == nil {
		space, sch, obj, _ := b.writable(spec.Target, "INSERT")
		return space, sch, obj, spec.Columns
	}
	var names []string
	for _, r := range spec.Columns {
		parts := identifiers(r.MultiPartIdentifier)
		names = append(names, parts[len(parts)-1])
	}
	c := &change{sc: &scope{}}
	c.from = b.bindThrough(c, c.sc, t, "INSERT", "", names)
	if len(names) == 0 {
		for _, col := range c.src.columns {
			names = append(names, col.name)
		}
	}
	var refs []*ast.ColumnReferenceExpression
	for _, name := range names {
		col := c.column(name)
		if col == nil {
			b.fail(4406, t.name)
		}
		if col.Identity != nil && len(spec.Columns) == 0 {
			continue
		}
		refs = append(
			refs,
			&ast.ColumnReferenceExpression{
				MultiPartIdentifier: &ast.MultiPartIdentifier{Identifiers: []*ast.Identifier{{Value: col.Name}}},
			},
		)
	}
	return c.space, c.sch, c.obj, refs
}

// insertColumns are the columns that the statement gives values for.
func (b *binder) insertColumns(
	refs []*ast.ColumnReferenceExpression,
	obj *metadata.Object,
	d *dmlPlan,
) []*metadata.Column {
	insertable := func(c *metadata.Column) bool { return c.Computed == "" }
	onIdentity := b.s.settings.identityInto == obj.ID && b.s.settings.identityDB == d.space
	var out []*metadata.Column
	if len(refs) == 0 {
		for _, c := range obj.Table.Columns {
			if insertable(c) && c.Identity == nil {
				out = append(out, c)
			}
		}
		return out
	}
	seen := map[int32]bool{}
	for _, r := range refs {
		parts := identifiers(r.MultiPartIdentifier)
		c := obj.Table.Column(parts[len(parts)-1])
		if c == nil {
			b.noColumn(r)
			continue
		}
		if seen[c.ID] {
			b.fail(264, c.Name)
		}
		seen[c.ID] = true
		switch {
		case c.Computed != "":
			b.fail(271, c.Name)
		case c.Identity != nil && strings.HasPrefix(obj.Name, "@"):
			b.fail(1077)
		case c.Identity != nil && !onIdentity && !b.s.givesIdentity(c):
			b.fail(544, obj.Name)
		case c.Identity != nil:
			d.explicit, d.identity = true, true
		}
		out = append(out, c)
	}
	if onIdentity && !d.explicit && obj.Table.IdentityColumn() != nil {
		b.fail(545, obj.Name)
	}
	return out
}

// allColumns are the given columns and those that get defaults, identity values or row versions.
func (b *binder) allColumns(obj *metadata.Object, given []*metadata.Column, d *dmlPlan) []*metadata.Column {
	out := append([]*metadata.Column(nil), given...)
	have := map[int32]bool{}
	for _, c := range given {
		have[c.ID] = true
	}
	for _, c := range obj.Table.Columns {
		if have[c.ID] || c.Computed != "" {
			continue
		}
		if c.Identity != nil || c.Default != 0 || c.Type.Kind == sqltype.RowVersion || !c.Nullable {
			out = append(out, c)
		}
		if c.Identity != nil {
			d.identity = true
		}
	}
	return out
}

// automatic is the value of a column that the statement gives none for. rows tells whether it is made per row by
// SQLite.
func (b *binder) automatic(
	sch *metadata.Catalog,
	obj *metadata.Object,
	c *metadata.Column,
	d *dmlPlan,
	perRow bool,
	row int,
) string {
	switch {
	case c.Identity != nil && perRow:
		return b.convert(
			expr{sql: fmt.Sprintf("tsql_identity(%d)", obj.ID), typ: sqltype.BigIntType},
			identityType(c),
			sqltype.Explicit,
			0,
			false,
		).sql
	case c.Identity != nil:
		target := d.target
		return b.parameter(fmt.Sprintf("=identity %d", row), param{typ: identityType(c), value: func(s *Session) any {
			return countedValue(identityType(c), s.takeIdentity(&target))
		}}).sql
	case c.Type.Kind == sqltype.RowVersion:
		return fmt.Sprintf("tsql_rowversion(%d)", d.space)
	case c.Default != 0:
		outside := b.sequenceRow
		if b.sequenceRow = row + 1; perRow {
			b.sequenceRow = everyRow
		}
		defer func() { b.sequenceRow = outside }()
		return b.store(b.defaultValue(d.space, sch, c), c, &d.target)
	case !c.Nullable:
		panic(bindError{nullError(&d.target, c)})
	}
	return "NULL"
}

// defaultValue binds a column's default.
func (b *binder) defaultValue(space int32, sch *metadata.Catalog, c *metadata.Column) expr {
	o := sch.Objects[c.Default]
	if o == nil {
		return expr{sql: "NULL", null: true, nullable: true, typ: sqltype.IntType}
	}
	node := parseExpression(o.Definition)
	if node == nil {
		b.fail(4413, o.Name)
	}
	defer b.inDatabase(space)()
	outside := b.inDefault
	b.inDefault = true
	defer func() { b.inDefault = outside }()
	return b.scalar(&scope{}, node)
}

func (b *binder) insertValues(
	sch *metadata.Catalog,
	obj *metadata.Object,
	columns, all []*metadata.Column,
	rows []*ast.RowValue,
	d *dmlPlan,
) string {
	d.values = len(rows)
	out := make([]string, len(rows))
	given, others := map[int32]bool{}, map[int32]bool{}
	defer func() { b.drawn = nil }()
	for i, r := range rows {
		if len(r.ColumnValues) != len(rows[0].ColumnValues) {
			b.fail(10709)
		}
		b.countGiven(obj, columns, d, len(r.ColumnValues), 109, 110)
		parts := make([]string, len(all))
		for j, c := range all {
			if b.drawn = given; j >= len(columns) {
				b.drawn = others
				parts[j] = b.automatic(sch, obj, c, d, false, i)
				continue
			}
			if _, isDefault := r.ColumnValues[j].(*ast.DefaultLiteral); isDefault {
				if c.Identity != nil {
					b.fail(339)
				}
				b.drawn = nil
				parts[j] = b.automatic(sch, obj, c, d, false, i)
				continue
			}
			if _, null := r.ColumnValues[j].(*ast.NullLiteral); null && c.Identity != nil {
				b.fail(339)
			}
			if _, null := r.ColumnValues[j].(*ast.NullLiteral); null && c.Type.Kind == sqltype.RowVersion {
				// docs/relational-databases/xml/for-xml-support-for-the-timestamp-data-type.md inserts it.
				parts[j] = b.automatic(sch, obj, c, d, false, i)
				continue
			}
			if c.Type.Kind == sqltype.RowVersion {
				b.fail(273)
			}
			b.sequenceRow = i + 1
			parts[j] = b.store(b.scalar(&scope{}, r.ColumnValues[j]), c, &d.target)
			b.sequenceRow = 0
		}
		if len(rows) == 1 {
			d.keys = map[int32]string{}
			for j, c := range all {
				d.keys[c.ID] = parts[j]
			}
		}
		out[i] = "(" + strings.Join(parts, ",") + ")"
	}
	for id := range others {
		if given[id] && len(rows) > 1 {
			b.fail(11731)
		}
	}
	return "VALUES " + strings.Join(out, ",")
}

func pick(first bool, a, b int32) int32 {
	if first {
		return a
	}
	return b
}

func (b *binder) insertQuery(
	sch *metadata.Catalog,
	obj *metadata.Object,
	columns, all []*metadata.Column,
	q ast.QueryExpression,
	d *dmlPlan,
) string {
	bound := b.query(&scope{}, q, queryOptions{})
	b.countGiven(obj, columns, d, len(bound.outputs), 120, 121)
	parts := make([]string, len(all))
	for j, c := range all {
		if j >= len(columns) {
			parts[j] = b.automatic(sch, obj, c, d, true, 0)
			continue
		}
		if c.Type.Kind == sqltype.RowVersion {
			b.fail(273)
		}
		o := bound.outputs[j].expr
		null := o.null
		o = asColumn(o, j)
		if null && !c.Nullable {
			panic(bindError{nullError(&d.target, c)})
		}
		parts[j] = b.store(o, c, &d.target)
	}
	// The WHERE keeps SQLite from reading a following ON as the start of an upsert.
	return "SELECT " + strings.Join(parts, ",") + " FROM (" + bound.sql + ") WHERE 1"
}

// nullError is 515.
func nullError(t *writeTarget, c *metadata.Column) *sqlerr.Error {
	return sqlerr.New(515, 2, c.Name, t.database+"."+t.String(), t.verb)
}

// truncation turns "too long" into 2628 with the column's name, where the database has it so.
func truncation(err *sqlerr.Error, t *writeTarget, c *metadata.Column, v any) *sqlerr.Error {
	if err != sqltype.ErrTruncated {
		copied := *err
		return &copied
	}
	if !t.verbose() {
		return sqlerr.New(8152, 30)
	}
	shown := ""
	switch x := v.(type) {
	case string:
		shown = sqltype.Cut(x, max(c.Type.Length, 0))
	case []byte:
		shown = fmt.Sprintf("%X", x[:min(len(x), max(c.Type.Length, 0))])
	}
	return sqlerr.New(2628, 1, t.database+"."+t.String(), c.Name, shown)
}
