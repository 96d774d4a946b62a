// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"zombiezen.com/go/sqlite"

	"geosql.dev/operator/standin/metadata"
	"geosql.dev/operator/standin/sqlerr"
)

// NOT FOR REPLICATION: triggers of such tables do not fire, and such constraints and identities do not hold, for what a
// replication agent changes (docs/t-sql/statements/create-table-transact-sql.md and create-trigger-transact-sql.md,
// Arguments; docs/relational-databases/replication/publish/replicate-identity-columns.md).

// Replicate makes the session that of a replication agent, for good.
func (s *Session) Replicate() {
	s.replicates = true
	s.plans = planCache{} // bound statements know the former setting
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
