// SPDX-License-Identifier: Apache-2.0

package article

import (
	"context"
	"fmt"
	"strings"

	"geosql.dev/standin/engine"
	"geosql.dev/standin/metadata"
	"geosql.dev/standin/repl/stored"
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/sqltype"
	"geosql.dev/standin/syntax"
)

// command checks @ins_cmd, @upd_cmd or @del_cmd and fills in the default. NULL is SQL, as the page's tables have it
// (docs/relational-databases/system-stored-procedures/sp-addarticle-transact-sql.md, Arguments).
func command(call *engine.ProcCall, parameter, verb, otherwise string, verbs ...string) (string, error) {
	given := strings.TrimSpace(call.String(parameter))
	switch {
	case !call.Given(parameter):
		return otherwise, nil
	case call.IsNull(parameter), strings.EqualFold(given, "NULL"):
		return "SQL", nil
	case given == "":
		return otherwise, nil
	}
	if strings.EqualFold(given, "SQL") || strings.EqualFold(given, "NONE") {
		return strings.ToUpper(given), nil
	}
	word, rest, _ := strings.Cut(given, " ")
	for _, v := range verbs {
		if strings.EqualFold(word, v) && strings.TrimSpace(rest) != "" {
			return strings.ToUpper(word) + " " + strings.TrimSpace(rest), nil
		}
	}
	return "", sqlerr.Raise(21023, 1, parameter+" = N'"+given+"'")
}

// SetCommands takes the commands that carry the article's changes (ins_cmd, upd_cmd, del_cmd).
func (a *Article) SetCommands(call *engine.ProcCall) (err error) {
	suffix := a.DestOwner + a.DestTable
	insert, update := syntax.QuoteName("sp_MSins_"+suffix), syntax.QuoteName("sp_MSupd_"+suffix)
	if a.Insert, err = command(call, "@ins_cmd", "CALL", "CALL "+insert, "CALL"); err != nil {
		return err
	}
	if a.Update, err = command(call, "@upd_cmd", "SCALL", "SCALL "+update, "CALL", "SCALL", "MCALL",
		"XCALL"); err != nil {
		return err
	}
	a.Delete, err = command(call, "@del_cmd", "CALL", "CALL "+syntax.QuoteName("sp_MSdel_"+suffix), "CALL", "XCALL")
	return err
}

// SchemaOption is @schema_option as a number; given is false for NULL.
func SchemaOption(b []byte) (options uint64, given bool) {
	for _, x := range b {
		options = options<<8 | uint64(x)
	}
	return options, b != nil
}

var preCreation = map[string]int64{"none": 0, "drop": 1, "delete": 2, "truncate": 3}

// PreCreationOf reads @pre_creation_cmd: 14061, and 21223 for what can be done to tables only.
func (a *Article) PreCreationOf(name string) (int64, error) {
	n, ok := preCreation[strings.ToLower(strings.TrimSpace(name))]
	if !ok {
		return 0, sqlerr.Raise(14061, 1)
	}
	if a.IsModule() && n > 1 {
		return 0, sqlerr.Raise(21223, 1)
	}
	return n, nil
}

// Bits of schema_option that replicate or convert what this server's snapshots do not. They are refused where a table
// has something that they are about (docs/relational-databases/system-stored-procedures/sp-addarticle-transact-sql.md,
// @schema_option).
const (
	OptionTriggers    = 0x100
	optionExtended    = 0x2000
	OptionXMLToText   = 0x10000000
	OptionMaxToText   = 0x20000000
	OptionPermissions = 0x40000000
	OptionDatesToText = 0x200000000
)

// ExtendedProperties are the statements that give the subscriber's table the properties of the published one and of its
// columns (schema_option 0x2000), where it does not have them.
func (a *Article) ExtendedProperties(ctx context.Context, s *engine.Session, db *engine.Database) (string, error) {
	if a.Options&optionExtended == 0 {
		return "", nil
	}
	r, err := s.Query(
		ctx,
		"SELECT name, minor_id, CAST(value AS nvarchar(4000)) AS value FROM "+syntax.QuoteName(
			db.Name(),
		)+".sys.extended_properties WHERE class = 1 AND major_id = @p1 ORDER BY minor_id, name",
		int64(a.Table.ID),
	)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for i := range r.Len() {
		column, minor := "", "0"
		if id := int32(r.Int(i, "minor_id")); id != 0 {
			c := a.Table.Table.ColumnByID(id)
			if c == nil || !a.Publishes(id) {
				continue
			}
			column = ", @level2type = N'COLUMN', @level2name = " + stored.Literal(c.Name)
			minor = "COLUMNPROPERTY(OBJECT_ID(" + stored.Literal(a.Destination()) + "), " + stored.Literal(c.Name) +
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
				a.Destination(),
			),
			minor,
			stored.Literal(r.String(i, "name")),
			stored.Literal(r.String(i, "name")),
			value,
			stored.Literal(a.DestOwner),
			stored.Literal(a.DestTable),
			column,
		)
	}
	return b.String(), nil
}

// RefuseSchemaOptions refuses options that a table's subscribers would see nothing of.
func RefuseSchemaOptions(
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
			option = OptionXMLToText
		case c.Type.Length == sqltype.MaxLength && (k.IsCharacter() || k.IsBinary()):
			option = OptionMaxToText
		case k == sqltype.Date, k == sqltype.Time, k == sqltype.DateTime2, k == sqltype.DateTimeOffset:
			option = OptionDatesToText
		}
		if options&option != 0 {
			return sqlerr.Raise(21023, 1, fmt.Sprintf("The schema option 0x%x with the column [%s]", option, c.Name))
		}
	}
	prefix := syntax.QuoteName(db.Name()) + ".sys."
	for option, text := range map[uint64]string{
		OptionTriggers: "SELECT COUNT(*) AS n FROM " + prefix + "triggers WHERE parent_id = @p1",
		OptionPermissions: "SELECT COUNT(*) AS n FROM " + prefix +
			"database_permissions WHERE class = 1 AND major_id = @p1",
	} {
		if options&option == 0 {
			continue
		}
		r, err := s.Query(ctx, text, int64(table.ID))
		if err != nil {
			return err
		}
		if r.Int(0, "n") > 0 {
			return sqlerr.Raise(21023, 1, fmt.Sprintf("The schema option 0x%x with what [%s] has of it", option, table.Name))
		}
	}
	return nil
}
