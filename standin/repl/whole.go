// SPDX-License-Identifier: Apache-2.0

package repl

import (
	"context"

	"geosql.dev/operator/standin/engine"
)

// change registers a procedure that changes more than one row. What it did is undone when it fails, and when the caller or
// the engine is gone before its end: an article that is there at the publisher and half there at the distributor would
// wait for its snapshot for ever. Such a procedure keeps the writers of its database waiting until the distributor has
// answered, as sp_addarticle does, which locks the table; those for subscriptions must not, and are not changes: a Snapshot
// Agent comes in between.
func (e *Extension) change(r *engine.Registry, name string, who access, parameters []engine.Parameter, run func(context.Context, *engine.ProcCall) error) {
	e.procedure(r, name, who, parameters, func(ctx context.Context, call *engine.ProcCall) error {
		return whole(ctx, call.Session, func() error { return run(ctx, call) })
	})
}

// savepoint is what a change within a caller's transaction goes back to.
const savepoint = "geosql_repl_change"

// whole makes what change does one transaction, or a part of the caller's that can be undone alone.
func whole(ctx context.Context, s *engine.Session, change func() error) error {
	begin, undo := "BEGIN TRANSACTION", "IF @@TRANCOUNT > 0 ROLLBACK TRANSACTION"
	if s.InTransaction() != 0 {
		begin, undo = "SAVE TRANSACTION "+savepoint, "IF XACT_STATE() = 1 ROLLBACK TRANSACTION "+savepoint
	}
	if err := s.Exec(ctx, begin); err != nil {
		return err
	}
	if err := change(); err != nil {
		_ = s.Exec(context.WithoutCancel(ctx), undo) // the first error is the one to tell
		return err
	}
	if begin != "BEGIN TRANSACTION" {
		return nil
	}
	return s.Exec(ctx, "COMMIT TRANSACTION")
}
