// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"errors"
	"fmt"

	"geosql.dev/standin/syntax"
)

// errEnded is that of a script within which the subscriber's transaction ended, with other changes in it.
var errEnded = errors.New("a posted script ended the transaction that it was posted in: post it in one of its own")

// runPosted runs a posted script within the subscriber's transaction. Errors that are passed over are told in the
// history.
func (w *writer) runPosted(ctx context.Context, script string, skip bool) error {
	for _, text := range Batches(script) {
		err := w.to.exec(ctx, text)
		if err == nil || w.skip(err) {
			continue
		}
		if !skip || NumberOf(err) == 0 {
			return fmt.Errorf("run the posted script of transaction 0x%x: %w", w.last, err)
		}
		w.skipped = append(
			w.skipped,
			skipped{number: NumberOf(err), message: err.Error(), failedCommand: failedCommand{w.last, w.nth}},
		)
	}
	return w.afterPosted(ctx)
}

// afterPosted makes the session what it was before a script, which sqlcmd would have given one of its own: a
// transaction that it leaves open is rolled back, and so is all that came before an error that ends transactions. Where
// the script stands alone in the subscriber's transaction nothing else is lost with that, and a new one gets the
// position; otherwise the agent fails, and everything comes again.
func (w *writer) afterPosted(ctx context.Context) error {
	state, err := w.to.Query(
		ctx,
		"USE "+syntax.QuoteName(w.d.args.str("-SubscriberDB"))+"; SELECT CAST(@@TRANCOUNT AS bigint) AS open_transactions",
	)
	if err != nil {
		return err
	}
	if state.num(0, "open_transactions") == 1 {
		return nil
	}
	if !w.position || w.transactions != 1 || w.nth != 1 {
		return fmt.Errorf("transaction 0x%x: %w", w.last, errEnded)
	}
	if err := w.to.exec(ctx, "IF @@TRANCOUNT > 0 ROLLBACK TRANSACTION"); err != nil {
		return err
	}
	w.open = false
	var b batch
	if err := w.begin(ctx, &b); err != nil {
		return err
	}
	return w.flush(ctx, &b)
}
