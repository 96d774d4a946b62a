// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"slices"
	"strings"

	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/sqltype"
	"geosql.dev/standin/tds"
)

// everywhere is the argument of DBCC TRACEON and its kin that means the whole instance. Here every flag is one of the
// whole instance.
const everywhere = -1

// traceFlags is DBCC TRACEON and TRACEOFF.
func (s *Session) traceFlags(ctx context.Context, n *ast.DbccStatement) error {
	if s.require(ctx, Permission{Name: "CONTROL SERVER"}) != nil {
		return &sqlerr.Error{
			Number:  2571,
			Class:   14,
			State:   3,
			Message: "User '" + s.login.Name + "' does not have permission to run DBCC " + strings.ToUpper(n.Command) + ".",
		}
	}
	for _, l := range n.Literals {
		v, err := s.evaluateInt(ctx, l.Value)
		if err != nil {
			return err
		}
		if v != everywhere {
			s.inst.setTraceFlag(int(v), strings.EqualFold(n.Command, "traceon"))
		}
	}
	return nil
}

// traceStatus is DBCC TRACESTATUS: the flags that are asked for, or those that are on.
func (s *Session) traceStatus(ctx context.Context, n *ast.DbccStatement, w tds.Writer) error {
	var flags []int
	for _, l := range n.Literals {
		v, err := s.evaluateInt(ctx, l.Value)
		if err != nil {
			return err
		}
		if v != everywhere {
			flags = append(flags, int(v))
		}
	}
	if len(flags) == 0 {
		flags = s.inst.traceFlagsOn()
	}
	slices.Sort(flags)
	if err := w.Columns([]tds.Column{Column("TraceFlag", sqltype.SmallIntType), Column("Status", sqltype.SmallIntType),
		Column("Global", sqltype.SmallIntType), Column("Session", sqltype.SmallIntType)}); err != nil {
		return err
	}
	for _, f := range flags {
		on := int64(0)
		if s.inst.TraceFlag(f) {
			on = 1
		}
		if err := w.Row([]any{int64(f), on, on, int64(0)}); err != nil {
			return err
		}
	}
	return w.Done(tds.Rows(int64(len(flags))))
}

func (inst *Instance) setTraceFlag(flag int, on bool) {
	inst.mu.Lock()
	defer inst.mu.Unlock()
	if inst.traceFlags == nil {
		inst.traceFlags = map[int]bool{}
		for _, f := range inst.config.TraceFlags {
			inst.traceFlags[f] = true
		}
	}
	inst.traceFlags[flag] = on
}

// traceFlagsOn are the trace flags that are on.
func (inst *Instance) traceFlagsOn() []int {
	inst.mu.Lock()
	defer inst.mu.Unlock()
	if inst.traceFlags == nil {
		return slices.Clone(inst.config.TraceFlags)
	}
	var on []int
	for f, is := range inst.traceFlags {
		if is {
			on = append(on, f)
		}
	}
	return on
}
