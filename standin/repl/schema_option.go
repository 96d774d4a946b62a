// SPDX-License-Identifier: Apache-2.0

package repl

import (
	"context"
	"fmt"

	"geosql.dev/standin/engine"
	"geosql.dev/standin/metadata"
	"geosql.dev/standin/repl/article"
	"geosql.dev/standin/sqltype"
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
			option = article.OptionXMLToText
		case c.Type.Length == sqltype.MaxLength && (k.IsCharacter() || k.IsBinary()):
			option = article.OptionMaxToText
		case k == sqltype.Date, k == sqltype.Time, k == sqltype.DateTime2, k == sqltype.DateTimeOffset:
			option = article.OptionDatesToText
		}
		if options&option != 0 {
			return raise(21023, 1, fmt.Sprintf("The schema option 0x%x with the column [%s]", option, c.Name))
		}
	}
	prefix := bracket(db.Name()) + ".sys."
	for option, text := range map[uint64]string{
		article.OptionTriggers: "SELECT COUNT(*) AS n FROM " + prefix + "triggers WHERE parent_id = @p1",
		article.OptionPermissions: "SELECT COUNT(*) AS n FROM " + prefix +
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
			return raise(21023, 1, fmt.Sprintf("The schema option 0x%x with what [%s] has of it", option, table.Name))
		}
	}
	return nil
}
