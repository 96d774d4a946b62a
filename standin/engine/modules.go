// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"geosql.dev/standin/bind"
	"geosql.dev/standin/metadata"
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/sqltype"
	"geosql.dev/standin/storage"
	"geosql.dev/standin/tds"
)

// Two kinds of virtual tables exist as temporary tables of a connection, made when a statement first names them:
//
//	tsql_view(key, columns...)               a system view or table function; the hidden columns a1, a2 ... are arguments
//	tsql_foreign(space, table, columns...)   a table of another database, read through the session's connection there
func registerModules(conn *sqlite.Conn, st *connState) error {
	if err := conn.SetModule("tsql_view", &sqlite.Module{UseConnectAsCreate: true, Connect: st.connectView}); err != nil {
		return err
	}
	return conn.SetModule("tsql_foreign", &sqlite.Module{UseConnectAsCreate: true, Connect: st.connectForeign})
}

// moduleText reads a module argument that moduleArgument wrote.
func moduleText(s string) string {
	return strings.ReplaceAll(strings.Trim(strings.TrimSpace(s), "'"), "''", "'")
}

func moduleArgument(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

func (st *connState) connectView(
	_ *sqlite.Conn,
	o *sqlite.VTableConnectOptions,
) (sqlite.VTable, *sqlite.VTableConfig, error) {
	key := moduleText(o.Args[0])
	args, err := strconv.Atoi(moduleText(o.Args[1]))
	if err != nil {
		return nil, nil, fmt.Errorf("a view's number of arguments: %w", err)
	}
	columns := o.Args[2:]
	declared := make([]string, 0, len(columns)+args)
	for _, c := range columns {
		declared = append(declared, moduleText(c))
	}
	for i := 1; i <= args; i++ {
		declared = append(declared, fmt.Sprintf("a%d HIDDEN", i))
	}
	return &viewTable{st: st, key: key, columns: len(columns), args: args},
		&sqlite.VTableConfig{Declaration: "CREATE TABLE x(" + strings.Join(declared, ", ") + ")", AllowIndirect: true}, nil
}

func (st *connState) connectForeign(
	_ *sqlite.Conn,
	o *sqlite.VTableConnectOptions,
) (sqlite.VTable, *sqlite.VTableConfig, error) {
	space, err := strconv.Atoi(moduleText(o.Args[0]))
	if err != nil {
		return nil, nil, fmt.Errorf("a foreign table's database: %w", err)
	}
	t := &foreignTable{st: st, space: int32(space), table: moduleText(o.Args[1])}
	declared := make([]string, 0, len(o.Args))
	for _, c := range o.Args[2:] {
		declared = append(declared, moduleText(c))
		name, _, _ := strings.Cut(moduleText(c), " ")
		t.columns = append(t.columns, name)
	}
	return t, &sqlite.VTableConfig{
		Declaration:   "CREATE TABLE x(" + strings.Join(declared, ", ") + ")",
		AllowIndirect: true,
	}, nil
}

type foreignTable struct {
	st      *connState
	space   int32
	table   string
	columns []string
}

// BestIndex hands equality on to the other connection, whose table has the same collations.
func (t *foreignTable) BestIndex(in *sqlite.IndexInputs) (*sqlite.IndexOutputs, error) {
	out := &sqlite.IndexOutputs{ConstraintUsage: make([]sqlite.IndexConstraintUsage, len(in.Constraints)),
		EstimatedCost: 1e6, EstimatedRows: 10000}
	var terms []string
	for i, c := range in.Constraints {
		if c.Op != sqlite.IndexConstraintEq || !c.Usable || c.Column < 0 {
			continue
		}
		terms = append(terms, strconv.Itoa(c.Column))
		out.ConstraintUsage[i] = sqlite.IndexConstraintUsage{ArgvIndex: len(terms)}
	}
	if len(terms) > 0 {
		out.EstimatedCost, out.EstimatedRows = 100, 10
	}
	out.ID.String = strings.Join(terms, ",")
	return out, nil
}

func (t *foreignTable) Open() (sqlite.VTableCursor, error) { return &foreignCursor{table: t}, nil }
func (t *foreignTable) Disconnect() error                  { return nil }
func (t *foreignTable) Destroy() error                     { return nil }

type foreignCursor struct {
	table *foreignTable
	stmt  *sqlite.Stmt
	more  bool
}

func (c *foreignCursor) Filter(id sqlite.IndexID, argv []sqlite.Value) error {
	t := c.table
	if err := c.Close(); err != nil {
		return err
	}
	if t.st.session == nil {
		return fmt.Errorf("table %s of another database is read without a session", t.table)
	}
	conn, err := t.st.session.foreignConn(t.space)
	if err != nil {
		return t.st.fail(AsError(err))
	}
	text := "SELECT " + strings.Join(append(t.columns[:len(t.columns):len(t.columns)], "rowid"), ", ") + " FROM " + t.table
	if id.String != "" {
		for i, term := range strings.Split(id.String, ",") {
			col, err := strconv.Atoi(term)
			if err != nil {
				return err
			}
			word := " AND "
			if i == 0 {
				word = " WHERE "
			}
			text += word + t.columns[col] + " = ?"
		}
	}
	if c.stmt, _, err = conn.PrepareTransient(text); err != nil {
		return fmt.Errorf("read table %s of another database: %w", t.table, err)
	}
	for i, a := range argv {
		storage.BindValue(c.stmt, i+1, storage.ArgumentValue(a))
	}
	return c.Next()
}

func (c *foreignCursor) Next() error {
	more, err := c.stmt.Step()
	c.more = more
	return err
}

func (c *foreignCursor) Column(i int, _ bool) (sqlite.Value, error) {
	return storage.ResultValue(storage.ColumnValue(c.stmt, i)), nil
}

// RowID is the row's own number: outer joins tell rows apart by it over several scans.
func (c *foreignCursor) RowID() (int64, error) {
	return c.stmt.ColumnInt64(len(c.table.columns)), nil
}

func (c *foreignCursor) EOF() bool { return !c.more }

func (c *foreignCursor) Close() error {
	if c.stmt == nil {
		return nil
	}
	err := c.stmt.Finalize()
	c.stmt = nil
	return err
}

// ensureView makes a view's virtual table on a connection and returns its name.
func (st *connState) ensureView(key string, args int, cols []tds.Column) (string, error) {
	name := "v_" + bind.IdentifierSafe(key)
	if st.hasVirtual(name) {
		return name, nil
	}
	parts := []string{moduleArgument(key), strconv.Itoa(args)}
	for i, c := range cols {
		decl := metadata.ColumnName(int32(i + 1))
		if c.Type.Kind.IsCharacter() {
			decl += " COLLATE tsql_ci_as"
		}
		parts = append(parts, moduleArgument(decl))
	}
	return name, st.makeVirtual(name, "tsql_view", parts)
}

// ensureForeign makes the virtual table that stands for a table of another database.
func (st *connState) ensureForeign(space int32, version int64, o *metadata.Object) (string, error) {
	name := bind.ForeignName(space, version, o)
	if st.hasVirtual(name) {
		return name, nil
	}
	parts := []string{strconv.Itoa(int(space)), moduleArgument(o.StorageName())}
	for _, decl := range bind.ForeignColumns(o) {
		parts = append(parts, moduleArgument(decl))
	}
	return name, st.makeVirtual(name, "tsql_foreign", parts)
}

func (st *connState) makeVirtual(name, module string, parts []string) error {
	err := sqlitex.ExecuteTransient(
		st.conn,
		"CREATE VIRTUAL TABLE temp."+name+" USING "+module+"("+strings.Join(parts, ", ")+")",
		nil,
	)
	if err != nil {
		return fmt.Errorf("make the virtual table %s: %w", name, err)
	}
	return nil
}

// hasVirtual asks SQLite, because a rollback takes temporary tables back, too.
func (st *connState) hasVirtual(name string) bool {
	stmt, err := st.conn.Prepare("SELECT 1 FROM temp.sqlite_schema WHERE name = ?")
	if err != nil {
		return false
	}
	defer stmt.Reset()
	stmt.BindText(1, name)
	found, err := stmt.Step()
	return found && err == nil
}

// viewRows evaluates a system view or table function for the session.
func (s *Session) viewRows(ctx context.Context, key string, raw []any) ([]tds.Column, [][]any, error) {
	if strings.HasPrefix(key, bind.FunctionKey) {
		return s.functionRows(ctx, key, raw)
	}
	key, database, named := strings.Cut(key, "@")
	if named {
		before := s.viewDB
		if s.viewDB = s.inst.Database(database); s.viewDB == nil {
			return nil, nil, sqlerr.New(911, 1, database)
		}
		defer func() { s.viewDB = before }()
	}
	if v := s.inst.registry.views[key]; v != nil {
		rows, err := v.Rows(ctx, s)
		return v.Columns, rows, err
	}
	f := s.inst.registry.tableFunctions[key]
	if f == nil {
		return nil, nil, fmt.Errorf("there is no view %s", key)
	}
	args := make([]any, len(raw))
	for i := range raw {
		v, err := sqltype.Decode(f.Parameters[i], raw[i])
		if err != nil {
			return nil, nil, err
		}
		args[i] = v
	}
	rows, err := f.Rows(ctx, s, args)
	return f.Columns, rows, err
}
