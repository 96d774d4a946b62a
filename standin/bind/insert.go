// SPDX-License-Identifier: Apache-2.0

package bind

import (
	"fmt"
	"strings"

	"github.com/shopspring/decimal"
	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/metadata"
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/sqltype"
)

// Modification is what a plan has that changes rows of a table.
type Modification struct {
	Verb   string
	Space  int32
	Object *metadata.Object
	Target Target
	// written is what the statement calls its target.
	written string
	// Output tells that the statement's rows are the OUTPUT clause's; Into is OUTPUT INTO's table.
	Output      bool
	Into        *ObjectName
	IntoColumns []string
	// Stored is how many columns of the OUTPUT clauses go there; Shown are the elements of the clause beside it, whose
	// rows are sent.
	Stored int
	Shown  []ast.SelectElement
	// Assigned are variables that UPDATE sets to new values of columns.
	Assigned []Assignment
	// Identity is set when the statement makes identity values, Explicit when it gives them.
	Identity, Explicit bool
	// named tells that INSERT has a column list.
	named bool
	// Keys are the values of a single inserted row by column, for messages.
	Keys map[int32]string
	// Again is the INSERT of several rows in the form in which the row that collided is looked for.
	Again string
	// values is the number of rows of VALUES.
	values int
	// Rows is set for a change that is made row by row, slow for one that is when a unique key collides on the way.
	Rows *RowByRow
	Slow *Plan
	// Triggers fire after the statement.
	Triggers []*metadata.Object
	// Instead tells that the one trigger runs in place of the change.
	Instead bool
	// SelfKeys are the foreign keys of tables to themselves that the statement can violate on its way.
	SelfKeys []*metadata.Object
	// Ruled tells that an index of the table is kept under some SET options only.
	Ruled bool
}

// Target is the table that a statement writes, for messages.
type Target struct {
	Object       *metadata.Object
	DatabaseName string
	Schema       string
	Verb         string
	Database     Database
}

// String is the table with its schema, as messages show it.
func (t *Target) String() string { return t.Schema + "." + t.Object.ShownName() }

// Writable resolves the table that a statement writes to.
func (b *Binder) Writable(ref ast.TableReference, verb string) (int32, *metadata.Catalog, *metadata.Object, string) {
	var space int32
	var sch *metadata.Catalog
	var obj *metadata.Object
	alias := ""
	switch n := ref.(type) {
	case *ast.NamedTableReference:
		name := NameOf(n.SchemaObject)
		alias = AliasOf(n.Alias)
		if name.Server != "" {
			b.Refuse("Writing to a table of a linked server")
		}
		space, sch, obj = b.ResolveWrite(name)
		if obj == nil {
			if b.session.SystemView(name) != nil {
				b.Fail(259)
			}
			b.Fail(208, name.String())
		}
	case *ast.VariableTableReference:
		v := b.session.Variable(n.Variable.Name)
		if v == nil || v.Table == nil {
			b.Fail(1087, n.Variable.Name)
		}
		if v.ReadOnly {
			b.Fail(10700, n.Variable.Name)
		}
		space, sch, obj = TempSpace, b.Catalog(TempSpace), b.session.Local(v.Table)
		alias = AliasOf(n.Alias)
	default:
		b.Refuse(verb + " of the table reference " + NodeName(ref))
	}
	if obj.Kind != metadata.KindTable && obj.Kind != metadata.KindTableType {
		b.Fail(208, obj.Name)
	}
	if verb != "MERGE" { // whose clauses need more than one permission
		b.Require(verb, space, sch, obj)
	}
	b.Home = space
	return space, sch, obj, alias
}

// TableToWrite is ResolveWrite of a table; missing is the error of a name that is none's.
func (b *Binder) TableToWrite(name ObjectName, missing int32) (int32, *metadata.Catalog, *metadata.Object) {
	space, sch, o := b.ResolveWrite(name)
	if o == nil || o.Kind != metadata.KindTable {
		b.Fail(missing, name.String())
	}
	return space, sch, o
}

// ResolveWrite follows synonyms.
func (b *Binder) ResolveWrite(name ObjectName) (int32, *metadata.Catalog, *metadata.Object) {
	for range 8 {
		space, sch, obj := b.Resolve(name)
		if obj == nil || obj.Kind != metadata.KindSynonym {
			return space, sch, obj
		}
		name = SplitName(obj.Target)
	}
	return 0, nil, nil
}

// Modification is what a plan that changes a table has of it; the file groups of the table may refuse it.
func (b *Binder) Modification(verb string, space int32, sch *metadata.Catalog, obj *metadata.Object) *Modification {
	if !b.levelled {
		b.Tables[space] = true
	}
	t := Target{Object: obj, Schema: sch.SchemaName(obj), Verb: verb, DatabaseName: "tempdb"}
	if space > 0 {
		t.Database, _ = b.session.DatabaseByID(space)
		t.DatabaseName = t.Database.Name()
	}
	if e := mayBeWritten(sch, obj, t); e != nil {
		panic(bindError{e})
	}
	return &Modification{
		Verb:     verb,
		Space:    space,
		Object:   obj,
		Target:   t,
		SelfKeys: sch.SelfReferences(obj),
		Ruled:    obj.Table.NeedsSetOptions(),
	}
}

// stored is what store makes of e before it is measured.
func (b *Binder) stored(e Expr, c *metadata.Column, t *Target) string {
	if e.Null || e.HasLiteral && e.Literal == nil {
		if !c.Nullable {
			panic(bindError{NullError(t, c)})
		}
		return "NULL"
	}
	if err := sqltype.Convertible(e.Type, c.Type, sqltype.Assign); err != nil {
		if err.Number == 257 {
			b.Fail(257, e.Type.Kind, c.Type.Kind)
		}
		b.FailWith(err)
	}
	if e.HasLiteral {
		v, err := b.session.Convert(e.Literal, e.Type, c.Type, sqltype.Assign)
		if err == nil {
			return literal(c.Type, v).SQL
		}
		// What UPDATE assigns is judged with the first row that it changes, if there is one.
		if b.session.Refuses(err) && t.Verb != "UPDATE" {
			panic(bindError{TruncationError(err, t, c, e.Literal)})
		}
	}
	if e.param > 0 && b.Params[e.param-1].Column == nil && b.Params[e.param-1].To.Kind == sqltype.Unknown {
		p := b.Params[e.param-1]
		p.To, p.Column = c.Type, c
		return b.Parameter(fmt.Sprintf("%s>%d>%d", b.paramKey(e.param), sqltype.Pack(c.Type), c.ID), p).SQL
	}
	if StoredAlike(e.Type, c.Type) && (c.Nullable || !e.Nullable) {
		return e.SQL
	}
	return fmt.Sprintf("tsql_store(%s,%d,%d,%d)", e.SQL, sqltype.Pack(e.Type), sqltype.Pack(c.Type), c.ID)
}

// Insert binds INSERT ... VALUES, INSERT ... SELECT and INSERT ... DEFAULT VALUES.
func (b *Binder) Insert(n *ast.InsertStatement) *Plan {
	spec := n.InsertSpecification
	b.options(n.OptimizerHints)
	b.With(n.WithCtesAndXmlNamespaces)
	if t, space, sch, on := b.replacedBy("INSERT", spec.Target); t != nil {
		c, r := b.replaced("INSERT", t, space, sch, on, spec.OutputClause != nil || spec.OutputIntoClause != nil)
		return b.insteadOfInsert(spec, c, r)
	}
	space, sch, obj, refs := b.insertTarget(spec)
	d := b.Modification("INSERT", space, sch, obj)
	b.identityGiven(spec.InsertSource, refs, obj)
	columns := b.InsertColumns(refs, obj, d)
	if target, ok := spec.Target.(*ast.NamedTableReference); ok {
		d.written = NameOf(target.SchemaObject).String()
	}
	d.named = len(spec.Columns) > 0
	all := b.AllColumns(obj, columns, d)
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
				b.Fail(10738, maxInsertRows)
			}
			body = b.insertValues(sch, obj, columns, all, src.RowValues, d)
		}
	case *ast.SelectInsertSource:
		body = b.insertQuery(sch, obj, columns, all, src.Select, d)
	default:
		b.Refuse(fmt.Sprintf("INSERT from %s", NodeName(spec.InsertSource)))
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
	d.Triggers = b.TriggersOf(sch, obj, "INSERT")
	b.noOutputWithTriggers(d, spec.OutputClause)
	if obj.Table.IgnoresDuplicates() && len(names) > 0 {
		return b.insertFound(spec, sch, obj, d, all, body)
	}
	if len(d.Triggers) > 0 {
		return b.insertRowwise(spec, sch, obj, d, head+body)
	}
	returning, cols := b.outputClause(spec.OutputClause, spec.OutputIntoClause, obj, d, "inserted")
	p := b.Plan(head + body + returning)
	if d.Keys == nil && len(names) > 0 {
		d.Again = b.withClause() + head + "SELECT * FROM (" + body + ") WHERE 1"
	}
	p.Modification, p.Columns = d, cols
	return p
}

// insertTarget is the table that rows are inserted into, and the columns that are given: through a view, those of its
// table that the view's columns are.
func (b *Binder) insertTarget(
	spec *ast.InsertSpecification,
) (int32, *metadata.Catalog, *metadata.Object, []*ast.ColumnReferenceExpression) {
	t := b.changeThrough("INSERT", spec.Target)
	if t == nil {
		space, sch, obj, _ := b.Writable(spec.Target, "INSERT")
		return space, sch, obj, spec.Columns
	}
	var names []string
	for _, r := range spec.Columns {
		parts := Identifiers(r.MultiPartIdentifier)
		names = append(names, parts[len(parts)-1])
	}
	c := &change{sc: &Scope{}}
	c.from = b.bindThrough(c, c.sc, t, "INSERT", "", names)
	if len(names) == 0 {
		for _, col := range c.src.Columns {
			names = append(names, col.Name)
		}
	}
	var refs []*ast.ColumnReferenceExpression
	for _, name := range names {
		col := c.column(name)
		if col == nil {
			b.Fail(4406, t.name)
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

// InsertColumns are the columns that the statement gives values for.
func (b *Binder) InsertColumns(
	refs []*ast.ColumnReferenceExpression,
	obj *metadata.Object,
	d *Modification,
) []*metadata.Column {
	insertable := func(c *metadata.Column) bool { return c.Computed == "" }
	onIdentity := b.session.IdentityInsert(d.Space, obj.ID)
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
		parts := Identifiers(r.MultiPartIdentifier)
		c := obj.Table.Column(parts[len(parts)-1])
		if c == nil {
			b.noColumn(r)
			continue
		}
		if seen[c.ID] {
			b.Fail(264, c.Name)
		}
		seen[c.ID] = true
		switch {
		case c.Computed != "":
			b.Fail(271, c.Name)
		case c.Identity != nil && strings.HasPrefix(obj.Name, "@"):
			b.Fail(1077)
		case c.Identity != nil && !onIdentity && !b.session.GivesIdentity(c):
			b.Fail(544, obj.Name)
		case c.Identity != nil:
			d.Explicit, d.Identity = true, true
		}
		out = append(out, c)
	}
	if onIdentity && !d.Explicit && obj.Table.IdentityColumn() != nil {
		b.Fail(545, obj.Name)
	}
	return out
}

// AllColumns are the given columns and those that get defaults, identity values or row versions.
func (b *Binder) AllColumns(obj *metadata.Object, given []*metadata.Column, d *Modification) []*metadata.Column {
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
			d.Identity = true
		}
	}
	return out
}

// Automatic is the value of a column that the statement gives none for. rows tells whether it is made per row by
// SQLite.
func (b *Binder) Automatic(
	sch *metadata.Catalog,
	obj *metadata.Object,
	c *metadata.Column,
	d *Modification,
	perRow bool,
	row int,
) string {
	switch {
	case c.Identity != nil && perRow:
		return b.Convert(
			Expr{SQL: fmt.Sprintf("tsql_identity(%d)", obj.ID), Type: sqltype.BigIntType},
			identityType(c),
			sqltype.Explicit,
			0,
			false,
		).SQL
	case c.Identity != nil:
		target := d.Target
		return b.Parameter(fmt.Sprintf("=identity %d", row), Parameter{Type: identityType(c), Value: func(s Session) any {
			return CountedValue(identityType(c), s.TakeIdentity(&target))
		}}).SQL
	case c.Type.Kind == sqltype.RowVersion:
		return fmt.Sprintf("tsql_rowversion(%d)", d.Space)
	case c.Default != 0:
		outside := b.sequenceRow
		if b.sequenceRow = row + 1; perRow {
			b.sequenceRow = everyRow
		}
		defer func() { b.sequenceRow = outside }()
		return b.Store(b.DefaultValue(d.Space, sch, c), c, &d.Target)
	case !c.Nullable:
		panic(bindError{NullError(&d.Target, c)})
	}
	return "NULL"
}

// DefaultValue binds a column's default.
func (b *Binder) DefaultValue(space int32, sch *metadata.Catalog, c *metadata.Column) Expr {
	o := sch.Objects[c.Default]
	if o == nil {
		return Expr{SQL: "NULL", Null: true, Nullable: true, Type: sqltype.IntType}
	}
	node := ParseExpression(o.Definition)
	if node == nil {
		b.Fail(4413, o.Name)
	}
	defer b.InDatabase(space)()
	outside := b.inDefault
	b.inDefault = true
	defer func() { b.inDefault = outside }()
	return b.Scalar(&Scope{}, node)
}

func (b *Binder) insertValues(
	sch *metadata.Catalog,
	obj *metadata.Object,
	columns, all []*metadata.Column,
	rows []*ast.RowValue,
	d *Modification,
) string {
	d.values = len(rows)
	out := make([]string, len(rows))
	given, others := map[int32]bool{}, map[int32]bool{}
	defer func() { b.drawn = nil }()
	for i, r := range rows {
		if len(r.ColumnValues) != len(rows[0].ColumnValues) {
			b.Fail(10709)
		}
		b.countGiven(obj, columns, d, len(r.ColumnValues), 109, 110)
		parts := make([]string, len(all))
		for j, c := range all {
			if b.drawn = given; j >= len(columns) {
				b.drawn = others
				parts[j] = b.Automatic(sch, obj, c, d, false, i)
				continue
			}
			if _, isDefault := r.ColumnValues[j].(*ast.DefaultLiteral); isDefault {
				if c.Identity != nil {
					b.Fail(339)
				}
				b.drawn = nil
				parts[j] = b.Automatic(sch, obj, c, d, false, i)
				continue
			}
			if _, null := r.ColumnValues[j].(*ast.NullLiteral); null && c.Identity != nil {
				b.Fail(339)
			}
			if _, null := r.ColumnValues[j].(*ast.NullLiteral); null && c.Type.Kind == sqltype.RowVersion {
				// docs/relational-databases/xml/for-xml-support-for-the-timestamp-data-type.md inserts it.
				parts[j] = b.Automatic(sch, obj, c, d, false, i)
				continue
			}
			if c.Type.Kind == sqltype.RowVersion {
				b.Fail(273)
			}
			b.sequenceRow = i + 1
			parts[j] = b.Store(b.Scalar(&Scope{}, r.ColumnValues[j]), c, &d.Target)
			b.sequenceRow = 0
		}
		if len(rows) == 1 {
			d.Keys = map[int32]string{}
			for j, c := range all {
				d.Keys[c.ID] = parts[j]
			}
		}
		out[i] = "(" + strings.Join(parts, ",") + ")"
	}
	for id := range others {
		if given[id] && len(rows) > 1 {
			b.Fail(11731)
		}
	}
	return "VALUES " + strings.Join(out, ",")
}

func (b *Binder) insertQuery(
	sch *metadata.Catalog,
	obj *metadata.Object,
	columns, all []*metadata.Column,
	q ast.QueryExpression,
	d *Modification,
) string {
	bound := b.Query(&Scope{}, q, QueryOptions{})
	b.countGiven(obj, columns, d, len(bound.Outputs), 120, 121)
	parts := make([]string, len(all))
	for j, c := range all {
		if j >= len(columns) {
			parts[j] = b.Automatic(sch, obj, c, d, true, 0)
			continue
		}
		if c.Type.Kind == sqltype.RowVersion {
			b.Fail(273)
		}
		o := bound.Outputs[j].expr
		null := o.Null
		o = asColumn(o, j)
		if null && !c.Nullable {
			panic(bindError{NullError(&d.Target, c)})
		}
		parts[j] = b.Store(o, c, &d.Target)
	}
	// The WHERE keeps SQLite from reading a following ON as the start of an upsert.
	return "SELECT " + strings.Join(parts, ",") + " FROM (" + bound.sql + ") WHERE 1"
}

// NullError is 515.
func NullError(t *Target, c *metadata.Column) *sqlerr.Error {
	return sqlerr.New(515, 2, c.Name, t.DatabaseName+"."+t.String(), t.Verb)
}

// TruncationError turns "too long" into 2628 with the column's name, where the database has it so.
func TruncationError(err *sqlerr.Error, t *Target, c *metadata.Column, v any) *sqlerr.Error {
	if err != sqltype.ErrTruncated {
		copied := *err
		return &copied
	}
	if t.Database != nil && !t.Database.VerboseTruncation() {
		return sqlerr.New(8152, 30)
	}
	shown := ""
	switch x := v.(type) {
	case string:
		shown = sqltype.Cut(x, max(c.Type.Length, 0))
	case []byte:
		shown = fmt.Sprintf("%X", x[:min(len(x), max(c.Type.Length, 0))])
	}
	return sqlerr.New(2628, 1, t.DatabaseName+"."+t.String(), c.Name, shown)
}

// Ignored tells whether what SQLite said about an inserted row is a duplicate in an index that ignores them.
func (d *Modification) Ignored(err error) bool {
	if !IsCollision(err) {
		return false
	}
	i := d.Target.FailedIndex(err.Error())
	return i != nil && i.IgnoreDup
}

// Identity columns and sequences count in int64, whatever their type is: an integer, or a decimal without a scale
// (docs/t-sql/statements/create-table-transact-sql-identity-property.md, create-sequence-transact-sql.md).

// identityType is the type in which an identity's value is stored.
func identityType(c *metadata.Column) sqltype.Type {
	if c.Type.Kind == sqltype.Decimal {
		return c.Type
	}
	return sqltype.BigIntType
}

// CountedValue is a counted value as its type has it.
func CountedValue(t sqltype.Type, v any) any {
	if n, ok := v.(int64); ok && t.Kind == sqltype.Decimal {
		return decimal.NewFromInt(n)
	}
	return v
}
