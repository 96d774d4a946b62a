// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"strings"

	"geosql.dev/standin/bind"
	"geosql.dev/standin/sqltype"
)

// installOpenXML registers what OPENXML needs (docs/t-sql/functions/openxml-transact-sql.md,
// docs/relational-databases/system-stored-procedures/sp-xml-preparedocument-transact-sql.md,
// sp-xml-removedocument-transact-sql.md).
func installOpenXML(r *Registry) {
	r.Procedure(
		Procedure{
			Name: "sp_xml_preparedocument",
			Parameters: []Parameter{{Name: "@hdoc", Type: sqltype.IntType, Output: true},
				{
					Name: "@xmltext",
					Type: nmax,
					XML:  true,
				}, {Name: "@xpath_namespaces", Type: nmax, XML: true}},
			Run: prepareDocument,
		},
	)
	r.Procedure(
		Procedure{
			Name:       "sp_xml_removedocument",
			Parameters: []Parameter{{Name: "@hdoc", Type: sqltype.IntType, Required: true}},
			Run:        removeDocument,
		},
	)
	r.TableFunction(
		TableFunction{
			Schema:     "sys",
			Name:       strings.TrimPrefix(bind.OpenXMLView, "sys."),
			Parameters: []sqltype.Type{bigT, nmax},
			Columns:    columns("node bigint"),
			Rows: func(_ context.Context, s *Session, args []any) ([][]any, error) {
				return s.keptXML().Rows(args[0], args[1])
			},
		},
	)
}

func prepareDocument(_ context.Context, c *ProcCall) error {
	handle, err := c.Session.xml.Prepare(
		c.String("@xmltext"),
		!c.IsNull("@xmltext"),
		c.String("@xpath_namespaces"),
		!c.IsNull("@xpath_namespaces"),
	)
	if err != nil {
		return err
	}
	c.SetOutput("@hdoc", handle)
	return nil
}

func removeDocument(_ context.Context, c *ProcCall) error {
	if err := c.Session.xml.Remove(c.Value("@hdoc")); err != nil {
		return err
	}
	return nil
}
