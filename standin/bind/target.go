// SPDX-License-Identifier: Apache-2.0

package bind

import (
	"fmt"
	"strconv"
	"strings"

	"geosql.dev/standin/metadata"
	"geosql.dev/standin/sqlerr"
)

// failedColumns are the columns in "UNIQUE constraint failed: t1.c1, t1.c2".
func (t *Target) failedColumns(text string) []*metadata.Column {
	_, list, ok := strings.Cut(text, "constraint failed: ")
	if !ok {
		return nil
	}
	list, _, _ = strings.Cut(list, " (")
	var out []*metadata.Column
	for _, part := range strings.Split(list, ",") {
		_, name, _ := strings.Cut(strings.TrimSpace(part), ".")
		id, err := strconv.ParseInt(strings.TrimPrefix(name, "c"), 10, 32)
		if err != nil {
			return nil
		}
		if c := t.Object.Table.ColumnByID(int32(id)); c != nil {
			out = append(out, c)
		}
	}
	return out
}

// FailedColumn is the column in the text of SQLite's error, nil when it names none.
func (t *Target) FailedColumn(text string) *metadata.Column {
	if list := t.failedColumns(text); len(list) > 0 {
		return list[0]
	}
	return nil
}

// FailedIndex is the unique index in the text of SQLite's error, nil when it names none.
func (t *Target) FailedIndex(text string) *metadata.Index {
	if _, rest, ok := strings.Cut(text, "index '"); ok {
		// A unique index's twin for NULLs is named after it.
		name, _, _ := strings.Cut(rest, "'")
		for _, i := range t.Object.Table.Indexes {
			if strings.TrimSuffix(name, "n") == IndexStorageName(t.Object.ID, i.ID) {
				return i
			}
		}
	}
	columns := t.failedColumns(text)
	for _, i := range t.Object.Table.Indexes {
		if !i.Unique || len(i.Keys) != len(columns) {
			continue
		}
		same := true
		for n, k := range i.Keys {
			same = same && k.Column == columns[n].ID
		}
		if same {
			return i
		}
	}
	return nil
}

// IndexStorageName is what SQLite calls an index.
func IndexStorageName(object, index int32) string {
	return fmt.Sprintf("i%d_%d", uint32(object), index)
}

// mayBeWritten refuses changes of a table that is, or has an index, in a file group that is read-only (652), and new
// rows where the file group has no files (622).
func mayBeWritten(s *metadata.Catalog, o *metadata.Object, t Target) *sqlerr.Error {
	if !s.HasPlacements() || o.Table == nil {
		return nil
	}
	for id, p := range o.Table.Places() {
		g := s.FileGroupByID(p.DataSpace())
		if scheme, _ := s.SchemeOf(p.DataSpace()); scheme != nil {
			// What a statement does to the rows of one partition is not known before it runs: all of its file groups have to be
			// read-only.
			g = s.FileGroupByID(scheme.Groups[0])
			for _, id := range scheme.Groups {
				if other := s.FileGroupByID(id); other != nil && !other.FileGroup.ReadOnly && s.HasFiles(id) {
					g = other
				}
			}
		}
		switch {
		case g == nil:
		case g.FileGroup.ReadOnly:
			name := ""
			for _, i := range o.Table.Indexes {
				if i.ID == id {
					name = i.Name
				}
			}
			return sqlerr.New(652, 1, name, t.String(), metadata.PartitionID(o.ID, id, 1), g.Name)
		case (t.Verb == "INSERT" || t.Verb == "MERGE") && !s.HasFiles(g.FileGroup.ID):
			return sqlerr.New(622, 3, g.Name)
		}
	}
	return nil
}
