// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"cmp"
	"context"
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

func installProcedures(r *Registry) {
	r.Procedure(Procedure{Name: "sp_executesql", Variadic: true, Parameters: []Parameter{
		{
			Name:     "@stmt",
			Alias:    "@statement",
			Type:     nmax,
			Required: true,
		}, {Name: "@params", Alias: "@parameters", Type: nmax}}, Run: nil})
	r.Procedure(Procedure{Name: "sp_set_session_context", Run: setSessionContext})
	r.Procedure(
		Procedure{
			Name: "sp_configure",
			Parameters: []Parameter{
				{Name: "@configname", Type: sqltype.NVarCharOf(35)},
				{Name: "@configvalue", Type: sqltype.IntType},
			},
			Run: configure,
		},
	)
	r.Procedure(Procedure{Name: "sp_getapplock", Run: getAppLock})
	r.Procedure(
		Procedure{
			Name: "sp_releaseapplock",
			Parameters: []Parameter{{Name: "@Resource", Type: sqltype.NVarCharOf(255), Required: true},
				{
					Name:    "@LockOwner",
					Type:    sqltype.NVarCharOf(32),
					Default: "Transaction",
				}, {Name: "@DbPrincipal", Type: sqltype.Sysname, Default: "public"}},
			Run: releaseAppLock,
		},
	)
	r.Procedure(Procedure{Name: "sp_addextendedproperty", Run: extendedProperty("add")})
	r.Procedure(Procedure{Name: "sp_updateextendedproperty", Run: extendedProperty("update")})
	r.Procedure(
		Procedure{Name: "sp_dropextendedproperty", Parameters: propertyParameters(false), Run: extendedProperty("drop")},
	)
	r.Procedure(
		Procedure{
			Name: "sp_rename",
			Parameters: []Parameter{{Name: "@objname", Type: sqltype.NVarCharOf(1035), Required: true},
				{
					Name:     "@newname",
					Type:     sqltype.Sysname,
					Required: true,
				}, {Name: "@objtype", Type: sqltype.Type{Kind: sqltype.VarChar, Length: 13}}},
			Run: rename,
		},
	)
	r.Procedure(
		Procedure{
			Name: "sp_helptext",
			Parameters: []Parameter{
				{Name: "@objname", Type: sqltype.NVarCharOf(776), Required: true},
				{Name: "@columnname", Type: sqltype.Sysname},
			},
			Run: helpText,
		},
	)
	r.Procedure(
		Procedure{
			Name:       "sp_reset_connection",
			Parameters: []Parameter{},
			Run:        func(ctx context.Context, c *ProcCall) error { return c.Session.Reset(ctx, false) },
		},
	)
	r.procedures["sp_executesql"].Run = executeSQL
	installPreparedProcedures(r)
	installCursorProcedures(r)
	installOptionProcedures(r)
	installWho(r)
	installJSON(r)
	installXML(r)
	installOpenXML(r)
	installMessages(r)
	installDescriptions(r)
	installDetach(r)
	installUpkeep(r)
	installSequenceRange(r)
}

// wideText are the types that a statement's text may have.
func wideText(t sqltype.Type) bool {
	switch t.Kind {
	case sqltype.NVarChar, sqltype.NChar, sqltype.NText:
		return true
	}
	return false
}

// wide is 214 where a parameter was given as text that is not Unicode; shown is its name in the message.
func (c *ProcCall) wide(name, shown string) error {
	if t := c.givenTypes[name]; t.Kind != sqltype.Unknown && !wideText(t) {
		return sqlerr.New(214, 2, shown, "ntext/nchar/nvarchar")
	}
	return nil
}

// executeSQL is EXEC sp_executesql in a batch; the protocol calls Session.Execute itself.
func executeSQL(ctx context.Context, c *ProcCall) error {
	text, ok := c.Value("@stmt").(string)
	if !ok {
		return nil
	}
	if err := c.wide("@stmt", "@statement"); err != nil {
		return err
	}
	return runText(ctx, c, text, c.String("@params"))
}

// runText runs a text whose parameters are what the caller gave besides those of the procedure itself.
func runText(ctx context.Context, c *ProcCall, text, declaration string) error {
	s, args := c.Session, c.extra
	params := make([]tds.Param, len(args))
	for i, a := range args {
		params[i] = tds.Param{Name: a.name, Type: a.typ, Value: a.value, Output: a.output != nil}
		if a.typ.Kind == sqltype.Unknown {
			params[i].Type = sqltype.NVarCharMax
		}
		if params[i].Table = a.rows; a.table != nil {
			params[i].Value = a.table
		}
	}
	err := s.executeText(ctx, text, declaration, params, c.Writer, false)
	for i, a := range args {
		if a.output != nil && err == nil {
			v, e := sqltype.Convert(params[i].Value, sqltype.TypeOf(params[i].Value), a.output.typ, 0, sqltype.Explicit)
			if e != nil {
				return e
			}
			a.output.value = v
		}
	}
	return err
}

func setSessionContext(ctx context.Context, c *ProcCall) error {
	key := lower(c.String("@key"))
	if key == "" {
		return sqlerr.New(15600, 1, "sp_set_session_context")
	}
	old, exists := c.Session.sessionKeys[key]
	if exists && old.readOnly {
		return sqlerr.New(15664, 1, c.String("@key"))
	}
	if c.IsNull("@value") {
		delete(c.Session.sessionKeys, key)
		return nil
	}
	c.Session.sessionKeys[key] = sessionValue{value: c.values["@value"], readOnly: c.Bool("@read_only")}
	return nil
}

func propertyParameters(value bool) []Parameter {
	out := []Parameter{{Name: "@name", Type: sqltype.Sysname, Required: true}}
	if value {
		out = append(out, Parameter{Name: "@value", Type: sqltype.VariantType})
	}
	for _, level := range []string{"0", "1", "2"} {
		out = append(
			out,
			Parameter{Name: "@level" + level + "type", Type: sqltype.Type{Kind: sqltype.VarChar, Length: 128}},
			Parameter{Name: "@level" + level + "name", Type: sqltype.Sysname},
		)
	}
	return out
}

// extendedProperty is sp_addextendedproperty and its kin.
func extendedProperty(verb string) func(context.Context, *ProcCall) error {
	return func(ctx context.Context, c *ProcCall) error {
		s := c.Session
		sch, err := s.schema(ctx, s.db.ID())
		if err != nil {
			return err
		}
		at, err := s.propertyPlace(ctx, sch, c)
		if err != nil {
			return err
		}
		return s.write(ctx, s.db, func(tx *storage.Tx) error {
			return changeProperty(tx.Conn(), verb, c, at.class, at.major, at.minor)
		})
	}
}

func changeProperty(conn *sqlite.Conn, verb string, c *ProcCall, class, major, minor int64) error {
	name := c.String("@name")
	exists := false
	err := sqlitex.Execute(
		conn,
		"SELECT 1 FROM __properties WHERE class = ? AND major = ? AND minor = ? AND name = ? COLLATE tsql_ci_as",
		&sqlitex.ExecOptions{
			Args: []any{class, major, minor, name}, ResultFunc: func(*sqlite.Stmt) error { exists = true; return nil }},
	)
	if err != nil {
		return err
	}
	object := "object specified"
	if exists && verb == "add" {
		return sqlerr.New(15233, 1, name, object)
	}
	if !exists && verb != "add" {
		return sqlerr.New(15217, 1, name, object)
	}
	if verb != "add" {
		err = sqlitex.Execute(
			conn,
			"DELETE FROM __properties WHERE class = ? AND major = ? AND minor = ? AND name = ? COLLATE tsql_ci_as",
			&sqlitex.ExecOptions{Args: []any{class, major, minor, name}},
		)
		if err != nil || verb == "drop" {
			return err
		}
	}
	raw, err := sqltype.Encode(sqltype.VariantType, c.values["@value"])
	if err != nil {
		return err
	}
	return sqlitex.Execute(
		conn,
		"INSERT INTO __properties (class, major, minor, name, value) VALUES (?, ?, ?, ?, ?)",
		&sqlitex.ExecOptions{Args: []any{class, major, minor, name, raw}},
	)
}

// renamedKind is what sp_rename renames when no type is given: an object, else a column or an index (or the constraint
// that it belongs to) of the table that the name's part before the last dot is.
func renamedKind(ctx context.Context, s *Session, text string, name bind.ObjectName) (string, error) {
	table := quoteName(name.Schema)
	for _, part := range []string{name.Database, name.Server} {
		if part != "" {
			table = quoteName(part) + "." + table
		}
	}
	found, err := s.Query(
		ctx,
		`SELECT CASE WHEN OBJECT_ID(@p1) IS NOT NULL THEN '' WHEN COL_LENGTH(@p2, @p3) IS NOT NULL THEN 'COLUMN'
		WHEN INDEXPROPERTY(OBJECT_ID(@p2), @p3, 'IndexID') IS NOT NULL THEN 'INDEX' ELSE '' END AS kind`,
		text,
		table,
		name.Name,
	)
	if err != nil {
		return "", err
	}
	return found.String(0, "kind"), nil
}

// errRenamed is what sp_rename says of an object or column that has another name now.
var errRenamed = &sqlerr.Error{
	Number:  15477,
	State:   1,
	Message: "Caution: Changing any part of an object name could break scripts and stored procedures.",
}

// rename is sp_rename (docs/relational-databases/system-stored-procedures/sp-rename-transact-sql.md).
func rename(ctx context.Context, c *ProcCall) error {
	s := c.Session
	kind := strings.ToUpper(c.String("@objtype"))
	old, newName := c.String("@objname"), c.String("@newname")
	name := bind.SplitName(old)
	if newName == "" {
		return sqlerr.New(15223, 1, "@newname")
	}
	if kind == "" && name.Schema != "" {
		var err error
		if kind, err = renamedKind(ctx, s, old, name); err != nil {
			return err
		}
	}
	if kind == "DATABASE" {
		return c.Exec(ctx, "ALTER DATABASE "+quoteName(name.Name)+" MODIFY NAME = "+quoteName(newName))
	}
	parent := name
	if kind == "COLUMN" || kind == "INDEX" || kind == "STATISTICS" {
		parent = bind.ObjectName{Name: name.Schema, Schema: name.Database, Database: name.Server}
	}
	return s.ChangeSchema(ctx, bind.ObjectName{Database: parent.Database}, func(d *SchemaChange) error {
		stored := parent
		if kind == "USERDATATYPE" {
			stored.Name = metadata.AliasTypePrefix + stored.Name
		}
		o := d.LookUp(stored)
		if o == nil {
			return sqlerr.New(15225, 1, old, d.db.Name(), cmp.Or(c.String("@objtype"), "(null)"))
		}
		if s.requireRename(ctx, d, o) != nil {
			return sqlerr.New(15247, 1)
		}
		if err := s.ObjectEvent(ctx, d, "RENAME", o); err != nil {
			return err
		}
		switch kind {
		case "COLUMN":
			if err := d.renameColumn(o, name.Name, newName, old); err != nil {
				return err
			}
			return c.Writer.Message(errRenamed)
		case "INDEX":
			return d.renameIndex(o, name.Name, newName)
		case "STATISTICS":
			return d.renameStatistics(o, name.Name, newName)
		case "USERDATATYPE":
			return d.renameType(o, newName)
		case "", "OBJECT":
			if d.BoundTo(o, nil) != "" {
				return sqlerr.New(15336, 1, old)
			}
			if err := d.renameObject(o, newName); err != nil {
				return err
			}
			return c.Writer.Message(errRenamed)
		}
		return sqlerr.New(15249, 1, kind)
	})
}

// renameColumn renames a column that no computed column and no check is made of; text is how it was named.
func (d *SchemaChange) renameColumn(o *metadata.Object, old, name, text string) error {
	if o.Table == nil || o.Table.Column(old) == nil {
		return sqlerr.New(15248, 1, "COLUMN")
	}
	col := o.Table.Column(old)
	if other := o.Table.Column(name); other != nil && other != col {
		return sqlerr.New(15335, 1, name, "COLUMN")
	}
	if o.Kind == metadata.KindTable {
		used, err := d.enforced(o, col)
		if err != nil {
			return err
		}
		if used {
			return sqlerr.New(15336, 1, text)
		}
	}
	col.Name = name
	return d.Modify(o)
}

// renameIndex renames the constraint that an index serves, too.
func (d *SchemaChange) renameIndex(o *metadata.Object, old, name string) error {
	if o.Table == nil {
		return sqlerr.New(15248, 1, "INDEX")
	}
	for _, i := range o.Table.Indexes {
		if !strings.EqualFold(i.Name, old) {
			continue
		}
		i.Name = name
		if con := d.sch.Objects[i.Constraint]; con != nil {
			renamed := *con
			renamed.Name = name
			if err := d.Save(&renamed); err != nil {
				return err
			}
		}
		return d.Modify(o)
	}
	return sqlerr.New(15248, 1, "INDEX")
}

// renameObject renames the index of a constraint, too.
func (d *SchemaChange) renameObject(o *metadata.Object, name string) error {
	if d.sch.Named(o.Schema, name) != nil && !strings.EqualFold(o.Name, name) {
		return sqlerr.New(15335, 1, name, "OBJECT")
	}
	renamed := *o
	renamed.Name = name
	if p := d.sch.Objects[o.Parent]; p != nil && p.Table != nil {
		for _, i := range p.Table.Indexes {
			if i.Constraint != o.ID {
				continue
			}
			i.Name = name
			if err := d.Modify(p); err != nil {
				return err
			}
		}
	}
	return d.Modify(&renamed)
}

func helpText(ctx context.Context, c *ProcCall) error {
	o := c.Session.objectByID(c.Session.objectID(c.String("@objname"), ""))
	if o == nil {
		name := bind.SplitName(c.String("@objname"))
		if p, _ := c.Session.findProcedure(name); p != nil || c.Session.findView(name) != nil {
			// What the stand-in has of its own has no text in T-SQL.
			return sqlerr.New(15197, 1, c.String("@objname"))
		}
		return sqlerr.New(15009, 1, c.String("@objname"), c.Session.db.Name())
	}
	if o.Definition == "" {
		return sqlerr.New(15197, 1, o.Name)
	}
	if sch, err := c.Session.schema(ctx, c.Session.db.ID()); err != nil ||
		c.Session.DefinitionSeen(sch, o) == nil && !o.Encrypted {
		return sqlerr.New(15197, 1, o.Name)
	}
	if o.Encrypted {
		return c.Writer.Message(sqlerr.New(15471, 1, o.Name))
	}
	var rows [][]any
	for _, line := range strings.SplitAfter(o.Definition, "\n") {
		for rest := line; rest != ""; {
			part := sqltype.Cut(rest, 255)
			rows, rest = append(rows, []any{part}), rest[len(part):]
		}
	}
	return c.ResultSet([]tds.Column{Column("Text", sqltype.NVarCharOf(255))}, rows)
}
