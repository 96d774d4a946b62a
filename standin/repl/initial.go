// SPDX-License-Identifier: Apache-2.0

package repl

import (
	"context"

	"geosql.dev/standin/engine"
	"geosql.dev/standin/repl/stored"
	"geosql.dev/standin/repl/tables"
)

// prepareSubscriber makes the subscription tables and, for a push subscription, its row.
func (e *Extension) prepareSubscriber(ctx context.Context, call *engine.ProcCall) error {
	s := call.Session
	if err := tables.Make(ctx, s, call.Database.Name(), tables.Subscription); err != nil {
		return err
	}
	if call.Int("@subscription_type") == stored.PullType {
		return nil // sp_addpullsubscription makes the row
	}
	return s.Exec(
		ctx,
		`IF NOT EXISTS (SELECT 1 FROM dbo.MSreplication_subscriptions WHERE publisher = @p1 AND publisher_db = @p2 AND publication = @p3)
		INSERT INTO dbo.MSreplication_subscriptions (publisher, publisher_db, publication, independent_agent, subscription_type, time, transaction_timestamp, update_mode, immediate_sync)
		VALUES (@p1, @p2, @p3, 1, 0, GETDATE(), 0x00, 0, 0)`,
		call.String("@publisher"),
		call.String("@publisher_db"),
		call.String("@publication"),
	)
}
