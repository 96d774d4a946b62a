// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"strings"

	"zombiezen.com/go/sqlite"

	"geosql.dev/standin/bind"
	"geosql.dev/standin/builtin"
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/sqltype"
	"geosql.dev/standin/xmlmethod"
)

func init() {
	addBuiltins(
		xmlmethod.Functions(
			func(e *evaluation) *xmlmethod.Kept { return e.session.keptXML() },
			func(e *evaluation) *builtin.Evaluation { return &e.Evaluation },
		),
	)
}

// keptXML is the session's; what runs without a session gets one of its own each time.
func (s *Session) keptXML() *xmlmethod.Kept {
	if s == nil {
		return &xmlmethod.Kept{}
	}
	return &s.xml
}

// installXML registers the rows of nodes().
func installXML(r *Registry) {
	r.TableFunction(
		TableFunction{
			Schema:     "sys",
			Name:       strings.TrimPrefix(bind.NodesView, "sys."),
			Parameters: []sqltype.Type{bigT, nmax, nmax, bigT, nmax},
			Columns:    columns("node bigint, instance bigint"),
			Rows:       func(_ context.Context, s *Session, args []any) ([][]any, error) { return s.keptXML().Nodes(args) },
		},
	)
}

// knowsInstance tells whether the session keeps the instance of a number.
func (st *connState) knowsInstance(args []sqlite.Value) (any, *sqlerr.Error) {
	if st.session == nil || !st.session.xml.Knows(args[0].Int64()) {
		return int64(0), nil
	}
	return int64(1), nil
}
