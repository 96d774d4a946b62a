// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"strings"

	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/bind"
	"geosql.dev/standin/metadata"
	"geosql.dev/standin/sqltype"
	"geosql.dev/standin/storage"
)

// Execution is a call of a procedure whose execution is published (Object.ExecutionPublished).
type Execution struct {
	Database  *Database
	Procedure *metadata.Object
	// Arguments are those of the procedure's parameters up to the last one that the caller gave, in their order.
	Arguments []Argument
	// Serializable says that the call is in a serializable transaction that was begun explicitly.
	Serializable bool
}

// Argument is what a parameter of a call got; Default is true for one that was left out.
type Argument struct {
	Type    sqltype.Type
	Value   any
	Default bool
}

// ExecutionFunc says what the log is to say of a published call: call has its place before the changes, part is with
// each of them (storage.Tx.PartOf). An empty part means that the call is no different from others. It is asked when the
// call has the write lock of its database, before it changes anything.
type ExecutionFunc func(ctx context.Context, x Execution) (call storage.Mark, part []byte, err error)

// OnExecution sets who hears of the calls of procedures whose execution is published.
func (r *Registry) OnExecution(f ExecutionFunc) { r.execution = f }

// execution is a published call that runs. The log has it in the first transaction that it writes in. When that is
// rolled back, there was no call: what the procedure does afterwards is its rows.
type execution struct {
	Execution
	place executionPlace
	// saves counts the savepoints that were set before the call.
	saves int
	part  []byte
}

// executionPlace says where a published call is.
type executionPlace uint8

const (
	executionUnwritten executionPlace = iota
	executionOpen
	executionCommitted
	executionNone
)

// beginExecution is called before a user's procedure runs. end is called after it, with its error.
func (s *Session) beginExecution(
	ctx context.Context,
	db *Database,
	o *metadata.Object,
	params []*ast.ProcedureParameter,
	args []argument,
	f *frame,
) (end func(error) error, err error) {
	nothing := func(err error) error { return err }
	// Calls within a published call are repeated with it.
	if !o.ExecutionPublished || s.inst.registry.execution == nil || s.execution != nil || db == nil {
		return nothing, nil
	}
	serializable := s.settings.isolation == 4 && s.count > 0
	if s.settings.isolation < 2 || o.SerializableOnly && !serializable || db.Info().ReadOnly || db.Storage() == nil ||
		db.Storage().Mode() != storage.Primary {
		return nothing, nil
	}
	x := &execution{
		Execution: Execution{Database: db, Procedure: o, Arguments: argumentsOf(params, args, f), Serializable: serializable},
		saves:     len(s.saves),
	}
	s.execution = x
	if open := s.open[db.ID()]; open != nil {
		if err := s.joinExecution(ctx, open); err != nil {
			s.execution = nil
			return nothing, err
		}
	}
	return func(err error) error { return s.endExecution(ctx, x, err) }, nil
}

// argumentsOf are the values that a call's parameters got.
func argumentsOf(params []*ast.ProcedureParameter, args []argument, f *frame) []Argument {
	given := map[int]bool{}
	last := -1
	for i, a := range args {
		at := i
		for n, p := range params {
			if a.name != "" && lower(p.VariableName.Value) == lower(a.name) {
				at = n
			}
		}
		given[at] = !a.isDefault
		last = max(last, at)
	}
	out := make([]Argument, last+1)
	for i := range out {
		v := f.variables[lower(params[i].VariableName.Value)]
		out[i] = Argument{Type: v.typ, Value: v.value, Default: !given[i]}
	}
	return out
}

// joinExecution writes the running call into a transaction that begins in its database, or the mark that its changes
// are a part of it.
func (s *Session) joinExecution(ctx context.Context, o *openTx) error {
	x := s.execution
	if x == nil || x.Database != o.db || x.place == executionNone {
		return nil
	}
	if x.place == executionCommitted {
		return s.partOf(ctx, o.db, x.part)
	}
	call, part, err := s.inst.registry.execution(ctx, x.Execution)
	if err != nil {
		return err
	}
	x.part = part
	if len(x.part) == 0 {
		x.place = executionNone
		return nil
	}
	if err := s.inTx(ctx, o, func(tx *storage.Tx) error { return tx.MarkHere(call.Kind, call.Payload) }); err != nil {
		return err
	}
	x.place = executionOpen
	o.after = append(o.after, func() { x.place = executionCommitted })
	o.undo = append(o.undo, func() {
		if x.place == executionOpen {
			x.place = executionUnwritten
		}
	})
	return s.partOf(ctx, o.db, x.part)
}

// partOf says in the session's transaction in a database, when there is one, what its changes are a part of.
func (s *Session) partOf(ctx context.Context, db *Database, what []byte) error {
	o := s.open[db.ID()]
	if o == nil {
		return nil
	}
	return s.inTx(ctx, o, func(tx *storage.Tx) error { return tx.PartOf(what) })
}

// Parameter kinds that no published call can have.
const (
	TableParameter   = "table-valued"
	VariantParameter = "sql_variant"
)

// UnpublishableParameter is the name and kind of the first parameter of a procedure whose value cannot be sent to
// another server; empty when there is none.
func UnpublishableParameter(o *metadata.Object) (name, kind string, err error) {
	_, node, perr := bind.ParseModule(o)
	if perr != nil {
		return "", "", perr
	}
	for _, p := range bind.ModuleOf(node).Parameters {
		if strings.EqualFold(p.Modifier, "ReadOnly") {
			return p.VariableName.Value, TableParameter, nil
		}
		if t, e := bind.DataTypeOf(p.DataType, false); e == nil && t.Kind == sqltype.SQLVariant {
			return p.VariableName.Value, VariantParameter, nil
		}
	}
	return "", "", nil
}

// takenBack is called when the session rolls back, to the savepoint of that index, or everything (-1). It tells whether
// that took the call back.
func (x *execution) takenBack(savepoint int) bool {
	if x == nil || x.place == executionCommitted || x.place == executionNone || savepoint >= 0 && savepoint >= x.saves {
		return false
	}
	x.place = executionNone
	return true
}

// endExecution ends a published call. One that has not written anything goes into the log by itself.
func (s *Session) endExecution(ctx context.Context, x *execution, err error) error {
	if err == nil && x.place == executionUnwritten && !s.doomed {
		err = s.write(ctx, x.Database, func(*storage.Tx) error { return nil })
	}
	s.execution = nil
	if s.broken.err() != nil {
		return err
	}
	if e := s.partOf(ctx, x.Database, nil); e != nil && !s.doomed {
		return errors.Join(err, e)
	}
	return err
}
