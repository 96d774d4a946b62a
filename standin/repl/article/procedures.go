// SPDX-License-Identifier: Apache-2.0

package article

import (
	"fmt"
	"slices"
	"strings"

	"geosql.dev/standin/metadata"
	"geosql.dev/standin/repl/stored"
	"geosql.dev/standin/syntax"
)

// Procedures are the custom procedures that commands call (schema_option 0x02). Their parameters are those of the call
// syntax
// (docs/relational-databases/replication/transactional/transactional-articles-specify-how-changes-are-propagated.md,
// Examples).
func (a *Article) Procedures() string {
	if a.IsModule() {
		return ""
	}
	return a.InsertProcedure() + a.UpdateProcedure() + a.DeleteProcedure()
}

// customProcedure is the script of a procedure, empty where the article's command calls none.
func customProcedure(command string, parameters []string, body string) string {
	word, name := verb(command)
	if word == "SQL" || word == "NONE" || body == "" {
		return ""
	}
	if !strings.Contains(name, "].[") {
		name = "[dbo]." + name
	}
	return fmt.Sprintf(
		"DROP PROCEDURE IF EXISTS %s\nGO\nCREATE PROCEDURE %s %s\nAS\nBEGIN\n%s\nEND\nGO\n",
		name,
		name,
		strings.Join(parameters, ", "),
		body,
	)
}

// declared are parameters of columns, numbered from a number on; more follows each type.
func declared(columns []*metadata.Column, prefix string, from int, more string) []string {
	out := make([]string, len(columns))
	for i, c := range columns {
		out[i] = fmt.Sprintf("@%s%d %s%s", prefix, from+i, TypeName(c), more)
	}
	return out
}

// settable tells whether an update may set a column at the subscriber.
func (a *Article) settable(c *metadata.Column) bool {
	return c.Identity == nil || a.Options&OptionIdentity == 0
}

// place is the number of a column among the article's, from 1 on.
func (a *Article) place(c *metadata.Column) int {
	return slices.IndexFunc(a.Columns, func(o *metadata.Column) bool { return o.ID == c.ID }) + 1
}

// keyIs is the condition on the key, whose values are the parameters of a prefix; byPlace says that these are numbered
// as the article's columns are.
func (a *Article) keyIs(prefix string, byPlace bool) string {
	parts := make([]string, len(a.Keys))
	for i, c := range a.Keys {
		n := i + 1
		if byPlace {
			n = a.place(c)
		}
		parts[i] = fmt.Sprintf("%s = @%s%d", syntax.QuoteName(c.Name), prefix, n)
	}
	return strings.Join(parts, " AND ")
}

// orMissing raises 20598 where the row to change is not there.
func (a *Article) orMissing(what string) string {
	return "\nIF @@ROWCOUNT = 0 EXEC sp_MSreplraiserror @errorid = 20598, @param1 = N'" + what + "', @param2 = " +
		stored.Literal(a.Destination())
}

// InsertProcedure creates the procedure that inserts a row at the subscriber.
func (a *Article) InsertProcedure() string {
	values := make([]string, len(a.Columns))
	identity := false
	for i, c := range a.Columns {
		values[i] = fmt.Sprintf("@c%d", i+1)
		identity = identity || !a.settable(c)
	}
	body := "INSERT INTO " + a.Destination() + " (" + a.Names(a.Columns) + ") VALUES (" + strings.Join(values, ", ") + ")"
	if identity {
		body = "SET IDENTITY_INSERT " + a.Destination() + " ON\n" + body + "\nSET IDENTITY_INSERT " + a.Destination() + " OFF"
	}
	return customProcedure(a.Insert, declared(a.Columns, "c", 1, ""), body)
}

// DeleteProcedure creates the one that deletes a row.
func (a *Article) DeleteProcedure() string {
	parameters, where := declared(a.Keys, "pkc", 1, ""), a.keyIs("pkc", false)
	if word, _ := verb(a.Delete); word == "XCALL" {
		parameters, where = declared(a.Columns, "c", 1, ""), a.keyIs("c", true)
	}
	return customProcedure(a.Delete, parameters, "DELETE FROM "+a.Destination()+" WHERE "+where+a.orMissing("Delete"))
}

// UpdateProcedure creates the one that updates a row.
func (a *Article) UpdateProcedure() string {
	word, _ := verb(a.Update)
	n := len(a.Columns)
	switch word {
	case "CALL":
		return customProcedure(
			a.Update,
			append(declared(a.Columns, "c", 1, ""), declared(a.Keys, "pkc", 1, "")...),
			a.setAll(1, a.keyIs("pkc", false)),
		)
	case "XCALL":
		return customProcedure(
			a.Update,
			append(declared(a.Columns, "c", 1, ""), declared(a.Columns, "c", n+1, "")...),
			a.setAll(n+1, a.keyIs("c", true)),
		)
	}
	// Of SCALL's values those that did not change are left out.
	absent := map[bool]string{true: " = NULL"}[word == "SCALL"]
	parameters := append(declared(a.Columns, "c", 1, absent), declared(a.Keys, "pkc", 1, absent)...)
	return customProcedure(
		a.Update,
		append(parameters, fmt.Sprintf("@bitmap binary(%d)", a.bitmapLength())),
		a.setChanged(),
	)
}

// setAll sets all columns to parameters that are numbered from a number on.
func (a *Article) setAll(from int, where string) string {
	var sets []string
	for i, c := range a.Columns {
		if a.settable(c) {
			sets = append(sets, fmt.Sprintf("%s = @c%d", syntax.QuoteName(c.Name), from+i))
		}
	}
	if len(sets) == 0 {
		return ""
	}
	return "UPDATE " + a.Destination() + " SET " + strings.Join(sets, ", ") + " WHERE " + where + a.orMissing("Update")
}

// inBitmap is the condition that the mask has a column.
func inBitmap(place int) string {
	bit := 1 << ((place - 1) % 8)
	return fmt.Sprintf("SUBSTRING(@bitmap, %d, 1) & %d = %d", (place-1)/8+1, bit, bit)
}

// setChanged sets the columns that the mask has. The key is set only where it changed: all indexes hang on it.
func (a *Article) setChanged() string {
	var sets, keys, changes []string
	for i, c := range a.Columns {
		if !a.settable(c) {
			continue
		}
		name := syntax.QuoteName(c.Name)
		set := fmt.Sprintf("%s = CASE WHEN %s THEN @c%d ELSE %s END", name, inBitmap(i+1), i+1, name)
		if slices.ContainsFunc(a.Keys, func(k *metadata.Column) bool { return k.ID == c.ID }) {
			keys, changes = append(keys, set), append(changes, inBitmap(i+1))
		} else {
			sets = append(sets, set)
		}
	}
	update := func(sets []string) string {
		return "UPDATE " + a.Destination() + " SET " + strings.Join(
			sets,
			", ",
		) + " WHERE " + a.keyIs(
			"pkc",
			false,
		) + a.orMissing(
			"Update",
		)
	}
	switch {
	case len(keys) == 0 && len(sets) == 0:
		return ""
	case len(keys) == 0:
		return update(sets)
	case len(sets) == 0:
		return update(keys)
	}
	return "IF " + strings.Join(
		changes,
		" OR ",
	) + "\nBEGIN\n" + update(
		append(keys, sets...),
	) + "\nEND\nELSE\nBEGIN\n" + update(
		sets,
	) + "\nEND"
}

// DynamicUpdateProcedure is the procedure of MCALL that makes its statement of the columns that the mask has: no index
// is touched of which no column changed.
func (a *Article) DynamicUpdateProcedure() string {
	var b strings.Builder
	b.WriteString(
		"DECLARE @stmt nvarchar(max), @spacer nvarchar(1)\nSELECT @spacer = N'', @stmt = N'UPDATE " + inLiteral(
			a.Destination(),
		) + " SET '\n",
	)
	for i, c := range a.Columns {
		if a.settable(c) {
			fmt.Fprintf(
				&b,
				"IF %s\n\tSELECT @stmt = @stmt + @spacer + N'%s = @c%d', @spacer = N','\n",
				inBitmap(i+1),
				inLiteral(syntax.QuoteName(c.Name)),
				i+1,
			)
		}
	}
	parameters := append(declared(a.Columns, "c", 1, ""), declared(a.Keys, "pkc", 1, "")...)
	names := make([]string, len(parameters))
	for i, p := range parameters {
		names[i], _, _ = strings.Cut(p, " ")
	}
	fmt.Fprintf(
		&b,
		"IF @spacer = N'' RETURN\nSELECT @stmt = @stmt + N' WHERE %s'\nEXEC sp_executesql @stmt, N'%s', %s",
		inLiteral(a.keyIs("pkc", false)),
		strings.Join(parameters, ", "),
		strings.Join(names, ", "),
	)
	b.WriteString(a.orMissing("Update"))
	script := customProcedure(
		a.Update,
		append(parameters, fmt.Sprintf("@bitmap binary(%d)", a.bitmapLength())),
		b.String(),
	)
	_, script, _ = strings.Cut(script, "\nGO\n")
	return strings.TrimSuffix(script, "\nGO\n")
}

// inLiteral is a text within a literal.
func inLiteral(text string) string { return strings.ReplaceAll(text, "'", "''") }
