// SPDX-License-Identifier: Apache-2.0

package repl

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"geosql.dev/standin/engine"
	"geosql.dev/standin/metadata"
	"geosql.dev/standin/repl/article"
	"geosql.dev/standin/repl/stored"
)

// tableScripts are a snapshot's scripts of an article: before the rows and after them. Batches are separated by GO.
type tableScripts struct{ table, indexes string }

func (e *Extension) scripts(
	ctx context.Context,
	s *engine.Session,
	db *engine.Database,
	a *article.Article,
) (tableScripts, error) {
	var out tableScripts
	if a.IsModule() {
		text, err := a.Definition()
		return tableScripts{table: text}, err
	}
	var b strings.Builder
	if a.Options&article.OptionScript != 0 {
		b.WriteString(a.CreateSchema())
		switch a.PreCreation {
		case 1:
			fmt.Fprintf(&b, "DROP TABLE IF EXISTS %s\nGO\n", a.Destination())
		case 2, 3:
			fmt.Fprintf(&b, "IF OBJECT_ID(%s) IS NOT NULL DELETE FROM %s\nGO\n", stored.Literal(a.Destination()),
				a.Destination())
		}
		create, err := e.createTable(ctx, s, db, a)
		if err != nil {
			return out, err
		}
		if a.PreCreation == 1 {
			b.WriteString(create)
		} else {
			fmt.Fprintf(&b, "IF OBJECT_ID(%s) IS NULL\nBEGIN\n%s\nEND", stored.Literal(a.Destination()), create)
		}
		b.WriteString("\nGO\n")
		properties, err := a.ExtendedProperties(ctx, s, db)
		if err != nil {
			return out, err
		}
		b.WriteString(properties)
	}
	if a.Options&article.OptionProcedures != 0 {
		b.WriteString(a.Procedures())
	}
	out.table = b.String()
	b.Reset()
	for _, i := range a.Table.Table.Indexes {
		if text := a.Index(i); text != "" {
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
	a *article.Article,
) (string, error) {
	constraints, err := s.Constraints(ctx, db, a.Table)
	if err != nil {
		return "", err
	}
	published := map[int32]bool{}
	var lines []string
	for _, c := range a.Made() {
		published[c.ID] = true
		if c.Computed != "" {
			lines = append(lines, "\t"+bracket(c.Name)+" AS "+computedAs(c))
			continue
		}
		line := "\t" + bracket(c.Name) + " " + article.TypeName(c)
		if slices.Contains(a.Versions, c) {
			line = "\t" + bracket(c.Name) + " rowversion"
		}
		if a.Options&article.OptionCollation != 0 && c.Collation != "" && c.Type.Kind.IsCharacter() {
			line += " COLLATE " + c.Collation
		}
		if a.Options&article.OptionIdentity != 0 && c.Identity != nil {
			line += fmt.Sprintf(" IDENTITY(%d,%d) NOT FOR REPLICATION", c.Identity.Seed, c.Identity.Increment)
		}
		if c.Nullable {
			line += " NULL"
		} else {
			line += " NOT NULL"
		}
		for _, o := range constraints {
			if a.Options&article.OptionDefaults != 0 && o.Kind == "D" && o.Column == c.ID {
				line += " CONSTRAINT " + bracket(o.Name) + " DEFAULT " + o.Definition
			}
		}
		lines = append(lines, line)
	}
	for _, i := range a.Table.Table.Indexes {
		if i.PrimaryKey {
			// The primary key is made with the table: without it the table of the stand-in would be another one.
			lines = append(lines, "\tCONSTRAINT "+bracket(i.Name)+" PRIMARY KEY "+article.Clustered(i)+" ("+a.KeyColumns(i)+")")
		}
	}
	for _, o := range constraints {
		if a.Options&article.OptionChecks != 0 && o.Kind == "C" {
			lines = append(lines, "\tCONSTRAINT "+bracket(o.Name)+" CHECK NOT FOR REPLICATION "+o.Definition)
		}
	}
	text := "CREATE TABLE " + a.Destination() + " (\n" + strings.Join(lines, ",\n") + "\n)"
	if n := a.Table.Table.Compression; a.Options&article.OptionCompression != 0 && n > 0 {
		text += " WITH (DATA_COMPRESSION = " + [...]string{"NONE", "ROW", "PAGE"}[n] + ")"
	}
	return text, nil
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
