// SPDX-License-Identifier: Apache-2.0

package dbcc

import (
	"context"
	"slices"
	"strings"

	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/engine"
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/sqltype"
	"geosql.dev/standin/tds"
)

// everywhere is the argument of DBCC TRACEON and its kin that means the whole instance. Here every flag is one of the
// whole instance.
const everywhere = -1

// traceFlags is DBCC TRACEON and TRACEOFF.
func traceFlags(ctx context.Context, s *engine.Session, n *ast.DbccStatement) error {
	if s.Require(ctx, engine.Permission{Name: "CONTROL SERVER"}) != nil {
		return &sqlerr.Error{
			Number:  2571,
			Class:   14,
			State:   3,
			Message: "User '" + s.Login().Name + "' does not have permission to run DBCC " + strings.ToUpper(n.Command) + ".",
		}
	}
	for _, l := range n.Literals {
		v, err := s.EvaluateInt(ctx, l.Value)
		if err != nil {
			return err
		}
		if v != everywhere {
			s.Instance().SetTraceFlag(int(v), strings.EqualFold(n.Command, "traceon"))
		}
	}
	return nil
}

// traceStatus is DBCC TRACESTATUS: the flags that are asked for, or those that are on.
func traceStatus(ctx context.Context, s *engine.Session, n *ast.DbccStatement, w tds.Writer) error {
	var flags []int
	for _, l := range n.Literals {
		v, err := s.EvaluateInt(ctx, l.Value)
		if err != nil {
			return err
		}
		if v != everywhere {
			flags = append(flags, int(v))
		}
	}
	if len(flags) == 0 {
		flags = s.Instance().TraceFlags()
	}
	slices.Sort(flags)
	if err := w.Columns([]tds.Column{
		engine.Column("TraceFlag", sqltype.SmallIntType),
		engine.Column("Status", sqltype.SmallIntType),
		engine.Column("Global", sqltype.SmallIntType),
		engine.Column("Session", sqltype.SmallIntType),
	}); err != nil {
		return err
	}
	for _, f := range flags {
		on := int64(0)
		if s.Instance().TraceFlag(f) {
			on = 1
		}
		if err := w.Row([]any{int64(f), on, on, int64(0)}); err != nil {
			return err
		}
	}
	return w.Done(tds.Rows(int64(len(flags))))
}
