// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"

	"zombiezen.com/go/sqlite"

	"geosql.dev/standin/metadata"
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/storage"
)

// NOT FOR REPLICATION: triggers of such tables do not fire, and such constraints and identities do not hold, for what a
// replication agent changes (docs/t-sql/statements/create-table-transact-sql.md and create-trigger-transact-sql.md,
// Arguments; docs/relational-databases/replication/publish/replicate-identity-columns.md).

// Replicate makes the session that of a replication agent, for good. The log has origin with each transaction that it
// makes in a published database; nil is nothing.
func (s *Session) Replicate(origin *storage.Mark) {
	s.replicates, s.origin = true, origin
	s.plans = planCache{} // bound statements know the former setting
}

// noteOrigin has the log say where the transaction of a replication agent comes from.
func (s *Session) noteOrigin(ctx context.Context, o *openTx) error {
	if s.origin == nil || !o.db.Info().Published {
		return nil
	}
	return s.inTx(ctx, o, func(tx *storage.Tx) error {
		tx.Mark(s.origin.Kind, s.origin.Payload)
		return nil
	})
}

// spares tells whether a trigger does not fire for the session.
func (s *Session) spares(trigger *metadata.Object) bool {
	return s.replicates && trigger.NotForReplication
}

// givesIdentity tells whether the session gives an identity column its values, as with IDENTITY_INSERT.
func (s *Session) givesIdentity(c *metadata.Column) bool {
	return s.replicates && c != nil && c.Identity != nil && c.Identity.NotForReplication
}

// judges is the condition in SQLite under which a check constraint or foreign key is looked at.
func judges(o *metadata.Object) string {
	if o.NotForReplication {
		return "tsql_judges()"
	}
	return "tsql_active()"
}

// judges computes tsql_judges().
func (st *connState) judges(args []sqlite.Value) (any, *sqlerr.Error) {
	if st.session != nil && st.session.replicates {
		return int64(0), nil
	}
	return st.active(args)
}
