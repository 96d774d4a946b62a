// SPDX-License-Identifier: Apache-2.0

package repl

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"geosql.dev/standin/engine"
	"geosql.dev/standin/metadata"
	"geosql.dev/standin/repl/stored"
	"geosql.dev/standin/sqltype"
)

// tableScripts are a snapshot's scripts of an article: before the rows and after them. Batches are separated by GO.
type tableScripts struct{ table, indexes string }

// typeName is a type as CREATE TABLE takes it.
func typeName(c *metadata.Column) string {
	if c.UserType != "" && strings.EqualFold(c.UserType, "sysname") {
		return "nvarchar(128)"
	}
	if c.Type.Kind == sqltype.RowVersion {
		return "binary(8)"
	}
	return c.Type.String()
}

func (e *Extension) scripts(
	ctx context.Context,
	s *engine.Session,
	db *engine.Database,
	a *article,
) (tableScripts, error) {
	var out tableScripts
	if a.isModule() {
		text, err := a.definition()
		return tableScripts{table: text}, err
	}
	var b strings.Builder
	if a.options&optionScript != 0 {
		b.WriteString(a.createSchema())
		switch a.preCreation {
		case 1:
			fmt.Fprintf(&b, "DROP TABLE IF EXISTS %s\nGO\n", a.destination())
		case 2, 3:
			fmt.Fprintf(&b, "IF OBJECT_ID(%s) IS NOT NULL DELETE FROM %s\nGO\n", stored.Literal(a.destination()),
				a.destination())
		}
		create, err := e.createTable(ctx, s, db, a)
		if err != nil {
			return out, err
		}
		if a.preCreation == 1 {
			b.WriteString(create)
		} else {
			fmt.Fprintf(&b, "IF OBJECT_ID(%s) IS NULL\nBEGIN\n%s\nEND", stored.Literal(a.destination()), create)
		}
		b.WriteString("\nGO\n")
		properties, err := a.extendedProperties(ctx, s, db)
		if err != nil {
			return out, err
		}
		b.WriteString(properties)
	}
	if a.options&optionProcedures != 0 {
		b.WriteString(a.procedures())
	}
	out.table = b.String()
	b.Reset()
	for _, i := range a.table.Table.Indexes {
		if text := a.index(i); text != "" {
			b.WriteString(text + "\nGO\n")
		}
	}
	out.indexes = b.String()
	return out, nil
}

func (e *Extension) createTable(
	ctx context.Context,
	s *engine.Session,
	db *engine.Database,
	a *article,
) (string, error) {
	constraints, err := s.Constraints(ctx, db, a.table)
	if err != nil {
		return "", err
	}
	published := map[int32]bool{}
	var lines []string
	for _, c := range a.made() {
		published[c.ID] = true
		if c.Computed != "" {
			lines = append(lines, "\t"+bracket(c.Name)+" AS "+computedAs(c))
			continue
		}
		line := "\t" + bracket(c.Name) + " " + typeName(c)
		if slices.Contains(a.versions, c) {
			line = "\t" + bracket(c.Name) + " rowversion"
		}
		if a.options&optionCollation != 0 && c.Collation != "" && c.Type.Kind.IsCharacter() {
			line += " COLLATE " + c.Collation
		}
		if a.options&optionIdentity != 0 && c.Identity != nil {
			line += fmt.Sprintf(" IDENTITY(%d,%d) NOT FOR REPLICATION", c.Identity.Seed, c.Identity.Increment)
		}
		if c.Nullable {
			line += " NULL"
		} else {
			line += " NOT NULL"
		}
		for _, o := range constraints {
			if a.options&optionDefaults != 0 && o.Kind == "D" && o.Column == c.ID {
				line += " CONSTRAINT " + bracket(o.Name) + " DEFAULT " + o.Definition
			}
		}
		lines = append(lines, line)
	}
	for _, i := range a.table.Table.Indexes {
		if i.PrimaryKey {
			// The primary key is made with the table: without it the table of the stand-in would be another one.
			lines = append(lines, "\tCONSTRAINT "+bracket(i.Name)+" PRIMARY KEY "+clustered(i)+" ("+a.keyColumns(i)+")")
		}
	}
	for _, o := range constraints {
		if a.options&optionChecks != 0 && o.Kind == "C" {
			lines = append(lines, "\tCONSTRAINT "+bracket(o.Name)+" CHECK NOT FOR REPLICATION "+o.Definition)
		}
	}
	text := "CREATE TABLE " + a.destination() + " (\n" + strings.Join(lines, ",\n") + "\n)"
	if n := a.table.Table.Compression; a.options&optionCompression != 0 && n > 0 {
		text += " WITH (DATA_COMPRESSION = " + [...]string{"NONE", "ROW", "PAGE"}[n] + ")"
	}
	return text, nil
}

// made are the columns of the subscriber's table in their order: those that are published and, where all are, those
// that are computed of them.
func (a *article) made() []*metadata.Column {
	made := append(slices.Clone(a.columns), a.versions...)
	var computed []*metadata.Column
	whole := true
	for _, c := range a.table.Table.Columns {
		if c.Computed != "" {
			computed = append(computed, c)
		} else {
			whole = whole && slices.Contains(made, c)
		}
	}
	if whole {
		made = append(made, computed...)
	}
	slices.SortFunc(made, func(x, y *metadata.Column) int { return cmp.Compare(x.ID, y.ID) })
	return made
}

// computedAs is the definition of a computed column.
func computedAs(c *metadata.Column) string {
	text := "(" + c.Computed + ")"
	if c.Persisted {
		text += " PERSISTED"
		if !c.Nullable {
			text += " NOT NULL"
		}
	}
	return text
}

func clustered(i *metadata.Index) string {
	if i.Clustered {
		return "CLUSTERED"
	}
	return "NONCLUSTERED"
}

func (a *article) keyColumns(i *metadata.Index) string {
	parts := make([]string, len(i.Keys))
	for n, k := range i.Keys {
		parts[n] = bracket(a.table.Table.ColumnByID(k.Column).Name)
		if k.Descending {
			parts[n] += " DESC"
		}
	}
	return strings.Join(parts, ", ")
}

// index is the statement that makes an index or unique constraint at the subscriber, empty for those that the schema
// options leave out or that cover a column which is not published.
func (a *article) index(i *metadata.Index) string {
	if i.PrimaryKey || i.Disabled || i.Filter != "" && (a.options&optionFiltered == 0 || !a.sees(i.Filter)) {
		return ""
	}
	published := map[int32]bool{}
	for _, c := range a.made() {
		published[c.ID] = true
	}
	for _, k := range i.Keys {
		if !published[k.Column] {
			return ""
		}
	}
	if i.Constraint != 0 {
		if a.options&optionUnique == 0 {
			return ""
		}
		return "ALTER TABLE " + a.destination() + " ADD CONSTRAINT " + bracket(
			i.Name,
		) + " UNIQUE " + clustered(
			i,
		) + " (" + a.keyColumns(
			i,
		) + ")"
	}
	if i.Clustered && a.options&optionClustered == 0 || !i.Clustered && a.options&optionNonclustered == 0 {
		return ""
	}
	unique := ""
	if i.Unique {
		unique = "UNIQUE "
	}
	text := "CREATE " + unique + clustered(
		i,
	) + " INDEX " + bracket(
		i.Name,
	) + " ON " + a.destination() + " (" + a.keyColumns(
		i,
	) + ")"
	var included []string
	for _, id := range i.Included {
		if published[id] {
			included = append(included, bracket(a.table.Table.ColumnByID(id).Name))
		}
	}
	if len(included) > 0 {
		text += " INCLUDE (" + strings.Join(included, ", ") + ")"
	}
	if i.Filter != "" {
		text += " WHERE " + strings.TrimSuffix(strings.TrimPrefix(i.Filter, "("), ")")
	}
	return text
}

// sees tells whether a condition is about published columns alone.
func (a *article) sees(condition string) bool {
	for _, c := range a.table.Table.Columns {
		if !slices.Contains(a.columns, c) && strings.Contains(strings.ToLower(condition), strings.ToLower(c.Name)) {
			return false
		}
	}
	return true
}
