// SPDX-License-Identifier: Apache-2.0

package repl

import (
	"context"
	"fmt"
	"strings"

	"geosql.dev/standin/engine"
	"geosql.dev/standin/metadata"
	"geosql.dev/standin/repl/stored"
	"geosql.dev/standin/sqltype"
)

// Bits of schema_option that replicate or convert what this server's snapshots do not. They are refused where a table
// has something that they are about (docs/relational-databases/system-stored-procedures/sp-addarticle-transact-sql.md,
// @schema_option).
const (
	optionTriggers    = 0x100
	optionExtended    = 0x2000
	optionXMLToText   = 0x10000000
	optionMaxToText   = 0x20000000
	optionPermissions = 0x40000000
	optionDatesToText = 0x200000000
)

// refuseSchemaOptions refuses options that a table's subscribers would see nothing of.
func refuseSchemaOptions(
	ctx context.Context,
	s *engine.Session,
	db *engine.Database,
	table *metadata.Object,
	options uint64,
) error {
	for _, c := range table.Table.Columns {
		var option uint64
		switch k := c.Type.Kind; {
		case k == sqltype.XML:
			option = optionXMLToText
		case c.Type.Length == sqltype.MaxLength && (k.IsCharacter() || k.IsBinary()):
			option = optionMaxToText
		case k == sqltype.Date, k == sqltype.Time, k == sqltype.DateTime2, k == sqltype.DateTimeOffset:
			option = optionDatesToText
		}
		if options&option != 0 {
			return raise(21023, 1, fmt.Sprintf("The schema option 0x%x with the column [%s]", option, c.Name))
		}
	}
	prefix := bracket(db.Name()) + ".sys."
	for option, text := range map[uint64]string{
		optionTriggers:    "SELECT COUNT(*) AS n FROM " + prefix + "triggers WHERE parent_id = @p1",
		optionPermissions: "SELECT COUNT(*) AS n FROM " + prefix + "database_permissions WHERE class = 1 AND major_id = @p1",
	} {
		if options&option == 0 {
			continue
		}
		r, err := s.Query(ctx, text, int64(table.ID))
		if err != nil {
			return err
		}
		if r.Int(0, "n") > 0 {
			return raise(21023, 1, fmt.Sprintf("The schema option 0x%x with what [%s] has of it", option, table.Name))
		}
	}
	return nil
}

// extendedProperties are the statements that give the subscriber's table the properties of the published one and of its
// columns (schema_option 0x2000), where it does not have them.
func (a *article) extendedProperties(ctx context.Context, s *engine.Session, db *engine.Database) (string, error) {
	if a.options&optionExtended == 0 {
		return "", nil
	}
	r, err := s.Query(
		ctx,
		"SELECT name, minor_id, CAST(value AS nvarchar(4000)) AS value FROM "+bracket(
			db.Name(),
		)+".sys.extended_properties WHERE class = 1 AND major_id = @p1 ORDER BY minor_id, name",
		int64(a.table.ID),
	)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for i := range r.Len() {
		column, minor := "", "0"
		if id := int32(r.Int(i, "minor_id")); id != 0 {
			c := a.table.Table.ColumnByID(id)
			if c == nil || !a.publishes(id) {
				continue
			}
			column = ", @level2type = N'COLUMN', @level2name = " + stored.Literal(c.Name)
			minor = "COLUMNPROPERTY(OBJECT_ID(" + stored.Literal(a.destination()) + "), " + stored.Literal(c.Name) +
				", 'ColumnId')"
		}
		value := "NULL"
		if r.Value(i, "value") != nil {
			value = stored.Literal(r.String(i, "value"))
		}
		fmt.Fprintf(
			&b,
			"IF NOT EXISTS (SELECT 1 FROM sys.extended_properties WHERE class = 1 AND major_id = OBJECT_ID(%s) AND minor_id "+
				"= %s AND name = %s)\n"+
				"\tEXEC sp_addextendedproperty @name = %s, @value = %s, @level0type = N'SCHEMA', @level0name = %s, @level1type "+
				"= N'TABLE', @level1name = %s%s\nGO\n",
			stored.Literal(
				a.destination(),
			),
			minor,
			stored.Literal(r.String(i, "name")),
			stored.Literal(r.String(i, "name")),
			value,
			stored.Literal(a.destOwner),
			stored.Literal(a.destTable),
			column,
		)
	}
	return b.String(), nil
}
