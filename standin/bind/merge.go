// SPDX-License-Identifier: Apache-2.0

package bind

import (
	"fmt"
	"strings"

	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/metadata"
	"geosql.dev/standin/tds"
)

// mergeBinder binds MERGE (docs/t-sql/statements/merge-transact-sql.md): each WHEN clause is a query that finds the
// rows it changes, without those of the clauses of its kind before it.
type mergeBinder struct {
	*Binder
	c *change
	// into is the target as it is written.
	into ast.TableReference
	// alias is the target's correlation name; without one its columns may have its schema's name before them.
	alias string
	r     *RowByRow
	// target, source and on are the two tables and the condition in SQLite's SQL; wanted is what OUTPUT needs of source.
	source, on string
	others     []*Source
	wanted     []string
	// bySource is a second binding of the source, for NOT MATCHED BY SOURCE.
	notExists, notFound string
	earlier             map[string][]string
	actions             map[string]bool
}

// Merge binds MERGE; into is OUTPUT INTO's table, nil for none.
func (b *Binder) Merge(n *ast.MergeStatement, into *ast.OutputIntoClause) *Plan {
	spec := n.MergeSpecification
	b.options(n.OptimizerHints)
	b.With(n.WithCtesAndXmlNamespaces)
	m := &mergeBinder{
		Binder:  b,
		into:    n.MergeSpecification.Target,
		earlier: map[string][]string{},
		actions: map[string]bool{},
	}
	target := spec.Target
	if named, ok := target.(*ast.NamedTableReference); ok {
		if name := NameOf(named.SchemaObject); name.Schema == "" && b.findCTE(name.Name) != nil {
			b.Refuse("MERGE through a common table expression")
		}
		b.hints(named.TableHints)
	}
	c := &change{}
	c.space, c.sch, c.obj, m.alias = b.Writable(target, "MERGE")
	if spec.TableAlias != nil {
		m.alias = spec.TableAlias.Value
	}
	for _, o := range c.sch.Children(c.obj.ID) {
		if o.Kind == metadata.KindTrigger && !o.Disabled && o.Properties[metadata.InsteadOf] != "" {
			b.Refuse("MERGE into a table with INSTEAD OF triggers")
		}
	}
	c.d = b.Modification("MERGE", c.space, c.sch, c.obj)
	c.sc = &Scope{}
	c.from = b.BaseTable(c.sc, c.space, c.sch, c.obj, m.alias, ObjectName{Name: c.obj.Name})
	c.src = c.sc.Sources[0]
	m.c = c
	m.source = b.from(c.sc, []ast.TableReference{spec.TableReference})
	m.others = c.otherSources()
	m.on = b.Predicate(c.sc, spec.SearchCondition).SQL
	m.bindNotExists(spec)
	output := spec.OutputClause
	if into != nil {
		output = nil
	}
	m.bindTriggers(spec, output)
	m.r = b.newRowwise(c.sch, c.obj)
	if top := spec.TopRowFilter; top != nil {
		if top.Percent {
			b.Refuse("MERGE TOP ... PERCENT")
		}
		m.r.Limit = "SELECT " + b.topOfChange(top)
	}
	var cols []tds.Column
	m.wanted, cols = b.rowOutput(m.r, output, into, c.d, []string{"inserted", "deleted"}, m.others)
	for _, clause := range spec.ActionClauses {
		m.clause(clause)
	}
	p := b.rowwisePlan(m.r, c.d, cols)
	for i := range m.r.Findings {
		m.r.Findings[i].Query = b.withClause() + m.r.Findings[i].Query
	}
	return p
}

// bindNotExists binds the two tables once more, so that each can be asked for within a query over the other.
func (m *mergeBinder) bindNotExists(spec *ast.MergeSpecification) {
	told := len(m.missing) // the same names are not found again
	defer func() { m.missing = m.missing[:told] }()
	sc := &Scope{Sources: []*Source{m.c.src}}
	from := m.from(sc, []ast.TableReference{spec.TableReference})
	m.notFound = "NOT EXISTS (SELECT 1 FROM " + from + " WHERE " + m.Predicate(sc, spec.SearchCondition).SQL + ")"
	other := &Scope{}
	target := m.BaseTable(other, m.c.space, m.c.sch, m.c.obj, m.alias, ObjectName{Name: m.c.obj.Name})
	other.Sources = append(other.Sources, m.others...)
	m.notExists = "NOT EXISTS (SELECT 1 FROM " + target + " WHERE " + m.Predicate(other, spec.SearchCondition).SQL + ")"
	for _, src := range m.others {
		src.scope = m.c.sc
	}
	m.c.src.scope = m.c.sc
}

func (m *mergeBinder) bindTriggers(spec *ast.MergeSpecification, output *ast.OutputClause) {
	verbs := map[string]bool{}
	for _, clause := range spec.ActionClauses {
		switch clause.Action.(type) {
		case *ast.UpdateMergeAction:
			verbs["UPDATE"] = true
		case *ast.DeleteMergeAction:
			verbs["DELETE"] = true
		case *ast.InsertMergeAction:
			verbs["INSERT"] = true
		}
	}
	for _, verb := range []string{"INSERT", "UPDATE", "DELETE"} {
		if !verbs[verb] {
			continue
		}
		m.Require(verb, m.c.space, m.c.sch, m.c.obj)
		for _, t := range m.TriggersOf(m.c.sch, m.c.obj, verb) {
			known := false
			for _, other := range m.c.d.Triggers {
				known = known || other == t
			}
			if !known {
				m.c.d.Triggers = append(m.c.d.Triggers, t)
			}
		}
	}
	m.noOutputWithTriggers(m.c.d, output)
}

// clause binds one WHEN clause.
func (m *mergeBinder) clause(n *ast.MergeActionClause) {
	kind := n.Condition
	if kind == "NotMatchedByTarget" {
		kind = "NotMatched"
	}
	sc := m.c.sc
	switch kind {
	case "NotMatched":
		sc = &Scope{Sources: m.others}
	case "NotMatchedBySource":
		sc = &Scope{Sources: []*Source{m.c.src}}
	}
	m.order(n, kind)
	var where []string
	for _, cond := range m.earlier[kind] {
		where = append(where, "("+cond+") IS NOT TRUE")
	}
	own := "1"
	if n.SearchCondition != nil {
		own = m.Predicate(sc, n.SearchCondition).SQL
		where = append(where, "("+own+")")
	}
	m.earlier[kind] = append(m.earlier[kind], own)
	from := m.c.from + " JOIN " + m.source + " ON " + m.on
	switch kind {
	case "NotMatched":
		from = m.source
		where = append(where, m.notExists)
	case "NotMatchedBySource":
		from = m.c.from
		where = append(where, m.notFound)
	}
	condition := ""
	if len(where) > 0 {
		condition = " WHERE " + strings.Join(where, " AND ")
	}
	m.action(n.Action, kind, sc, from+condition)
}

// order refuses clauses that no row can reach (5324) or that the kind does not allow (10710, 10711).
func (m *mergeBinder) order(n *ast.MergeActionClause, kind string) {
	list := m.earlier[kind]
	if len(list) > 0 && list[len(list)-1] == "1" {
		m.Fail(5324, clauseWords[kind], clauseWords[kind])
	}
	word := "UPDATE"
	if isMergeDelete(n.Action) {
		word = "DELETE"
	}
	if m.actions[kind+word] {
		m.Fail(10714, word, clauseWords[kind])
	}
	m.actions[kind+word] = true
	_, inserts := n.Action.(*ast.InsertMergeAction)
	switch {
	case inserts && kind != "NotMatched":
		m.Fail(10711, "INSERT", clauseWords[kind])
	case !inserts && kind == "NotMatched":
		m.Fail(10710, word, clauseWords[kind])
	}
}

func isMergeDelete(a ast.MergeAction) bool { _, ok := a.(*ast.DeleteMergeAction); return ok }

var clauseWords = map[string]string{
	"Matched":            "WHEN MATCHED",
	"NotMatched":         "WHEN NOT MATCHED",
	"NotMatchedBySource": "WHEN NOT MATCHED BY SOURCE",
}

func (m *mergeBinder) action(action ast.MergeAction, kind string, sc *Scope, from string) {
	wanted := m.wanted
	if kind == "NotMatchedBySource" {
		wanted = make([]string, len(m.wanted))
		for i := range wanted {
			wanted[i] = "NULL"
		}
	}
	rowid := m.c.src.sqlite + ".rowid"
	switch a := action.(type) {
	case *ast.DeleteMergeAction:
		list := append(append([]string{rowid}, m.r.imageOf(m.c.src)...), wanted...)
		m.r.add(Finding{Action: "DELETE", Once: true, Query: "SELECT " + strings.Join(list, ", ") + " FROM " + from}, m.c.obj)
	case *ast.UpdateMergeAction:
		columns, values := m.sets(a.SetClauses, sc)
		list := append(append([]string{rowid}, values...), m.r.imageOf(m.c.src)...)
		list = append(list, wanted...)
		m.r.add(Finding{Action: "UPDATE", Once: true, Set: columns, Query: "SELECT " + strings.Join(list, ", ") + " FROM " +
			from}, m.c.obj)
	case *ast.InsertMergeAction:
		columns, values := m.insert(a, sc)
		list := append(append([]string{"0"}, values...), wanted...)
		m.r.add(Finding{Action: "INSERT", Set: columns, Query: "SELECT " + strings.Join(list, ", ") + " FROM " + from},
			m.c.obj)
	default:
		m.Refuse(fmt.Sprintf("The action %T of MERGE", action))
	}
}

func (m *mergeBinder) sets(clauses []ast.SetClause, sc *Scope) ([]*metadata.Column, []string) {
	var columns []*metadata.Column
	var values []string
	seen := map[int32]bool{}
	target := m.c.d.Target
	target.Verb = "UPDATE"
	inner := *m.c
	inner.sc = sc
	for _, set := range clauses {
		a, ok := set.(*ast.AssignmentSetClause)
		if !ok || a.Column == nil || a.Variable != nil {
			m.Refuse("SET of a variable or method in MERGE")
		}
		parts := Identifiers(a.Column.MultiPartIdentifier)
		col := m.c.obj.Table.Column(parts[len(parts)-1])
		if col == nil {
			m.noColumn(a.Column)
			continue
		}
		m.prefixOf(m.c, m.into, parts)
		m.updatable(col, seen)
		seen[col.ID] = true
		columns, values = append(columns, col), append(values, m.newValue(&inner, a, col))
	}
	return m.rowVersions(m.c, columns, values)
}

// insert binds INSERT (columns) VALUES (...) of a WHEN NOT MATCHED clause.
func (m *mergeBinder) insert(a *ast.InsertMergeAction, sc *Scope) ([]*metadata.Column, []string) {
	src, ok := a.Source.(*ast.ValuesInsertSource)
	if !ok || len(src.RowValues) > 1 {
		m.Fail(102, "VALUES")
	}
	d := m.c.d
	given := m.InsertColumns(a.Columns, m.c.obj, d)
	var row []ast.ScalarExpression
	if !src.IsDefaultValues {
		if len(src.RowValues) == 1 {
			row = src.RowValues[0].ColumnValues
		}
		named := len(a.Columns) > 0
		if len(row) < len(given) {
			m.Fail(pick(named, 109, 213))
		}
		if len(row) > len(given) {
			m.Fail(pick(named, 110, 213))
		}
	} else {
		given = nil
	}
	all := m.AllColumns(m.c.obj, given, d)
	values := make([]string, len(all))
	for i, c := range all {
		if i >= len(given) {
			values[i] = m.Automatic(m.c.sch, m.c.obj, c, d, true, 0)
			continue
		}
		if _, isDefault := row[i].(*ast.DefaultLiteral); isDefault {
			values[i] = m.Automatic(m.c.sch, m.c.obj, c, d, true, 0)
			continue
		}
		m.sequenceRow = everyRow
		values[i] = m.Store(m.Scalar(sc, row[i]), c, &d.Target)
		m.sequenceRow = 0
	}
	return all, values
}
