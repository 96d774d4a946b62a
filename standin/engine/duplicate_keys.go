// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"errors"
	"math"
	"strings"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"geosql.dev/standin/bind"
	"geosql.dev/standin/metadata"
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/sqltype"
	"geosql.dev/standin/storage"
)

// search looks for the row at which an INSERT of several rows collided: SQLite tells the index, not the row.
type search struct {
	// raw is the key of that row, once it is found.
	raw []any
	// drawn counts the identity values that the search made use of. They are none of the table's.
	drawn int64
}

// identity is a value in place of the table's next one, which nothing else has.
func (s *search) identity() int64 {
	s.drawn++
	return math.MinInt64/2 + s.drawn
}

// collided keeps the key of the row that the statement is at, and ends it.
func (st *connState) collided(args []sqlite.Value) (any, *sqlerr.Error) {
	if st.search != nil && st.search.raw == nil {
		for _, a := range args {
			st.search.raw = append(st.search.raw, storage.ArgumentValue(a))
		}
	}
	return nil, sqlerr.New(3621, 0)
}

// collidedKeys are the values, as messages show them, that the row at which an INSERT collided has in the columns of an
// index: the INSERT is begun once more, and stopped at that row. Empty when they cannot be told.
func (s *Session) collidedKeys(p *bind.Plan, conn *sqlite.Conn, index *metadata.Index) map[int32]string {
	if p.Modification.Again == "" || index == nil || strings.Contains(p.Modification.Again, "tsql_sequence") {
		return nil
	}
	t := p.Modification.Object.Table
	var excluded []string
	for _, k := range index.Keys {
		if t.ColumnByID(k.Column).Computed != "" {
			return nil
		}
		excluded = append(excluded, "excluded."+metadata.ColumnName(k.Column))
	}
	first := metadata.ColumnName(index.Keys[0].Column)
	text := p.Modification.Again + " ON CONFLICT DO UPDATE SET " + first + " = " + first +
		" WHERE tsql_collided(" + strings.Join(
		excluded,
		", ",
	) + ")"
	stmt, st, err := s.prepareText(p, text, conn)
	if err != nil {
		return nil
	}
	defer st.statements.put(text, stmt)
	if err := s.bindParams(p, stmt); err != nil {
		return nil
	}
	found, err := s.searched(conn, stmt, st)
	if err == nil || len(found) != len(index.Keys) {
		return nil
	}
	values := map[int32]string{}
	for i, k := range index.Keys {
		values[k.Column] = showKey(t.ColumnByID(k.Column).Type, found[i])
	}
	return values
}

// errSearched undoes what a search wrote.
var errSearched = errors.New("a search keeps no rows")

// searched is the key of the row at which the statement of a search collides. What it inserts is undone also when it
// comes to its end, which it does where identity values collided, or values that differ from one execution to the next.
func (s *Session) searched(conn *sqlite.Conn, stmt *sqlite.Stmt, st *connState) (found []any, err error) {
	undone := errSearched
	defer sqlitex.Save(conn)(&undone)
	st.search = &search{}
	for more := true; more && err == nil; {
		more, err = stmt.Step()
	}
	found, st.search = st.search.raw, nil
	_ = st.take()
	return found, errors.Join(err, stmt.Reset())
}

// duplicateRow is a key that several rows of a table have, as the message of 1505 shows it.
func (d *SchemaChange) duplicateRow(o *metadata.Object, i *metadata.Index, keys []string, where string) string {
	plain := make([]string, len(keys))
	for n, k := range keys {
		plain[n] = strings.TrimSuffix(k, " DESC")
	}
	list := strings.Join(plain, ", ")
	stmt, _, err := d.conn.PrepareTransient(
		"SELECT " + list + " FROM " + o.StorageName() + where + " GROUP BY " + list + " HAVING count(*) > 1 LIMIT 1",
	)
	if err != nil {
		return "(not known)"
	}
	defer func() { _ = stmt.Finalize() }()
	if more, err := stmt.Step(); err != nil || !more {
		return "(not known)"
	}
	values := make([]string, len(i.Keys))
	for n, k := range i.Keys {
		c := o.Table.ColumnByID(k.Column)
		if c.Computed != "" || c.Type.Kind == sqltype.SQLVariant {
			return "(not known)"
		}
		values[n] = showKey(c.Type, storage.ColumnValue(stmt, n))
	}
	return "(" + strings.Join(values, ", ") + ")"
}
