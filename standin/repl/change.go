// SPDX-License-Identifier: Apache-2.0

package repl

import (
	"context"

	"geosql.dev/standin/engine"
)

// change registers a procedure that changes more than one row. What it did is undone when it fails, and when the caller
// or the engine is gone before its end: an article that is there at the publisher and half there at the distributor
// would wait for its snapshot for ever. Such a procedure keeps the writers of its database waiting until the
// distributor has answered, as sp_addarticle does, which locks the table; those for subscriptions must not, and are not
// changes: a Snapshot Agent comes in between.
func (e *Extension) change(
	r *engine.Registry,
	name string,
	who access,
	parameters []engine.Parameter,
	run func(context.Context, *engine.ProcCall) error,
) {
	e.procedure(r, name, who, parameters, func(ctx context.Context, call *engine.ProcCall) error {
		return call.Session.Atomically(ctx, func() error { return run(ctx, call) })
	})
}
