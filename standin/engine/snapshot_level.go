// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"geosql.dev/standin/bind"
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/storage"
)

// snapshotLevel is the isolation level SNAPSHOT.
const snapshotLevel = 5

// mayBeSnapshot is 3952 where a statement at the level SNAPSHOT touches tables of a database that does not allow it
// (docs/t-sql/statements/set-transaction-isolation-level-transact-sql.md, SNAPSHOT). master and msdb do; tempdb, and
// what a readable secondary reads, need not.
func (s *Session) mayBeSnapshot(p *bind.Plan) error {
	if s.settings.isolation != snapshotLevel {
		return nil
	}
	for space := range p.Unlevelled {
		db := s.inst.DatabaseByID(space)
		if space == bind.TempSpace || db == nil || space <= 4 || db.Info().SnapshotIsolation {
			continue
		}
		if st := db.Storage(); st != nil && st.Mode() == storage.Primary {
			return sqlerr.New(3952, 1, db.Name())
		}
	}
	return nil
}
