// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"strconv"
	"strings"

	"geosql.dev/standin/bind"
	"geosql.dev/standin/metadata"
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/sqltype"
)

// installOptionProcedures registers sp_tableoption and sp_indexoption: what they set is recorded and shown, pages and
// locks are not what it speaks of (docs/relational-databases/system-stored-procedures/sp-tableoption-transact-sql.md,
// sp-indexoption-transact-sql.md).
func installOptionProcedures(r *Registry) {
	option := []Parameter{
		{Name: "@OptionName", Type: sqltype.NVarCharOf(35), Required: true},
		{Name: "@OptionValue", Type: sqltype.NVarCharOf(12), Required: true},
	}
	r.Procedure(
		Procedure{
			Name: "sp_tableoption",
			Parameters: append(
				[]Parameter{{Name: "@TableNamePattern", Type: sqltype.NVarCharOf(776), Required: true}},
				option...),
			Run: tableOption,
		},
	)
	r.Procedure(
		Procedure{
			Name: "sp_indexoption",
			Parameters: append(
				[]Parameter{{Name: "@IndexNamePattern", Type: sqltype.NVarCharOf(1035), Required: true}},
				option...),
			Run: indexOption,
		},
	)
}

// switchValue reads the value of an option that is on or off; error 15600 for anything else.
func switchValue(c *ProcCall) (bool, error) {
	switch lower(strings.TrimSpace(c.String("@OptionValue"))) {
	case "true", "on", "yes", "1":
		return true, nil
	case "false", "off", "no", "0":
		return false, nil
	}
	return false, sqlerr.New(15600, 1, "sys."+lower(c.procedure.Name))
}

func tableOption(ctx context.Context, c *ProcCall) error {
	name := bind.SplitName(c.String("@TableNamePattern"))
	if err := c.ofDatabase(name.Database); err != nil {
		return err
	}
	return c.Session.ChangeSchema(ctx, name, func(d *SchemaChange) error {
		o, err := d.TableToChange(name, 15388)
		if err != nil {
			return err
		}
		if lower(c.String("@OptionName")) == "text in row" {
			err = textInRow(c, o)
		} else {
			err = setTableOption(c, o)
		}
		if err != nil {
			return err
		}
		return d.Modify(o)
	})
}

func setTableOption(c *ProcCall, o *metadata.Object) error {
	option := lower(c.String("@OptionName"))
	if option == "vardecimal storage format" {
		return unsupported("The vardecimal storage format")
	}
	on, err := switchValue(c)
	if err != nil {
		return err
	}
	switch option {
	case "large value types out of row":
		o.Table.OutOfRow = on
	case "table lock on bulk load":
		o.Table.BulkLock = on
	case "insert row lock": // has no effect any more, says the page
	default:
		return sqlerr.New(15600, 1, "sys.sp_tableoption")
	}
	return nil
}

// textInRow is the option text in row: a limit of 24 to 7000 bytes, 256 for ON, of a table that has columns of text
// (2599).
func textInRow(c *ProcCall, o *metadata.Object) error {
	limit, err := strconv.Atoi(strings.TrimSpace(c.String("@OptionValue")))
	if err != nil {
		on, e := switchValue(c)
		if e != nil {
			return e
		}
		if limit = 0; on {
			limit = 256
		}
	}
	if limit != 0 && (limit < 24 || limit > 7000) {
		return sqlerr.New(15600, 1, "sys.sp_tableoption")
	}
	for _, column := range o.Table.Columns {
		switch column.Type.Kind {
		case sqltype.Text, sqltype.NText, sqltype.Image:
			o.Table.TextInRow = limit
			return nil
		}
	}
	return sqlerr.New(2599, 1, o.Name)
}

// indexOption sets an option of one index, or of all of a table and of its heap.
func indexOption(ctx context.Context, c *ProcCall) error {
	option := lower(c.String("@OptionName"))
	on, err := switchValue(c)
	if err != nil {
		return err
	}
	if strings.HasPrefix(option, "disallow") {
		option, on = strings.TrimPrefix(option, "dis"), !on
	}
	if option != "allowrowlocks" && option != "allowpagelocks" {
		return sqlerr.New(15600, 1, "sys.sp_indexoption")
	}
	table, index, err := c.tableOrIndex(ctx)
	if err != nil {
		return err
	}
	return c.Session.ChangeSchema(ctx, table, func(d *SchemaChange) error {
		o, err := d.TableToChange(table, 15388)
		if err != nil {
			return err
		}
		for _, i := range o.Table.Indexes {
			if index == "" || strings.EqualFold(i.Name, index) {
				i.Locks.Set(option, on)
			}
		}
		if index == "" {
			o.Table.HeapLocks.Set(option, on)
		}
		return d.Modify(o)
	})
}

// ofDatabase refuses a name of another database than the current one (15250).
func (c *ProcCall) ofDatabase(name string) error {
	if name != "" && !strings.EqualFold(name, c.Database.Name()) {
		return sqlerr.New(15250, 1)
	}
	return nil
}

// tableOrIndex reads a name that is a table's, or a table's with an index's behind it.
func (c *ProcCall) tableOrIndex(ctx context.Context) (table bind.ObjectName, index string, err error) {
	name := bind.SplitName(c.String("@IndexNamePattern"))
	sch, err := c.Session.schema(ctx, c.Database.ID())
	if err != nil {
		return name, "", err
	}
	table = bind.ObjectName{Schema: name.Database, Name: name.Schema}
	if o := c.Session.lookUp(c.Database.ID(), sch, table); o != nil && o.Table != nil {
		for _, i := range o.Table.Indexes {
			if strings.EqualFold(i.Name, name.Name) {
				return table, i.Name, c.ofDatabase(name.Server)
			}
		}
	}
	if o := c.Session.lookUp(c.Database.ID(), sch, name); o != nil && o.Table != nil {
		return name, "", c.ofDatabase(name.Database)
	}
	return name, "", sqlerr.New(15388, 1, c.String("@IndexNamePattern"))
}
