// SPDX-License-Identifier: Apache-2.0

package article

import (
	"cmp"
	"slices"
	"strings"

	"geosql.dev/standin/metadata"
	"geosql.dev/standin/sqltype"
	"geosql.dev/standin/syntax"
)

// TypeName is a type as CREATE TABLE takes it.
func TypeName(c *metadata.Column) string {
	if c.UserType != "" && strings.EqualFold(c.UserType, "sysname") {
		return "nvarchar(128)"
	}
	if c.Type.Kind == sqltype.RowVersion {
		return "binary(8)"
	}
	return c.Type.String()
}

// Made are the columns of the subscriber's table in their order: those that are published and, where all are, those
// that are computed of them.
func (a *Article) Made() []*metadata.Column {
	made := append(slices.Clone(a.Columns), a.Versions...)
	var computed []*metadata.Column
	whole := true
	for _, c := range a.Table.Table.Columns {
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

// Clustered is the word for an index, CLUSTERED or NONCLUSTERED.
func Clustered(i *metadata.Index) string {
	if i.Clustered {
		return "CLUSTERED"
	}
	return "NONCLUSTERED"
}

// KeyColumns are the key columns of an index with their order, in brackets.
func (a *Article) KeyColumns(i *metadata.Index) string {
	parts := make([]string, len(i.Keys))
	for n, k := range i.Keys {
		parts[n] = syntax.QuoteName(a.Table.Table.ColumnByID(k.Column).Name)
		if k.Descending {
			parts[n] += " DESC"
		}
	}
	return strings.Join(parts, ", ")
}

// Index is the statement that makes an index or unique constraint at the subscriber, empty for those that the schema
// options leave out or that cover a column which is not published.
func (a *Article) Index(i *metadata.Index) string {
	if i.PrimaryKey || i.Disabled || i.Filter != "" && (a.Options&optionFiltered == 0 || !a.sees(i.Filter)) {
		return ""
	}
	published := map[int32]bool{}
	for _, c := range a.Made() {
		published[c.ID] = true
	}
	for _, k := range i.Keys {
		if !published[k.Column] {
			return ""
		}
	}
	if i.Constraint != 0 {
		if a.Options&optionUnique == 0 {
			return ""
		}
		return "ALTER TABLE " + a.Destination() + " ADD CONSTRAINT " + syntax.QuoteName(
			i.Name,
		) + " UNIQUE " + Clustered(
			i,
		) + " (" + a.KeyColumns(
			i,
		) + ")"
	}
	if i.Clustered && a.Options&optionClustered == 0 || !i.Clustered && a.Options&optionNonclustered == 0 {
		return ""
	}
	unique := ""
	if i.Unique {
		unique = "UNIQUE "
	}
	text := "CREATE " + unique + Clustered(
		i,
	) + " INDEX " + syntax.QuoteName(
		i.Name,
	) + " ON " + a.Destination() + " (" + a.KeyColumns(
		i,
	) + ")"
	var included []string
	for _, id := range i.Included {
		if published[id] {
			included = append(included, syntax.QuoteName(a.Table.Table.ColumnByID(id).Name))
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
func (a *Article) sees(condition string) bool {
	for _, c := range a.Table.Table.Columns {
		if !slices.Contains(a.Columns, c) && strings.Contains(strings.ToLower(condition), strings.ToLower(c.Name)) {
			return false
		}
	}
	return true
}
