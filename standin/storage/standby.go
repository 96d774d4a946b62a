// SPDX-License-Identifier: Apache-2.0

package storage

import "fmt"

// SetStandby lets a database in Restoring mode take reads between two restores, or ends that where file is empty
// (docs/t-sql/statements/restore-statements-arguments-transact-sql.md, STANDBY). Only whole transactions are ever
// redone: none has to be taken back for the readers, and the standby file, which is remembered, has nothing to keep.
func (db *Database) SetStandby(file string) error {
	if db.Mode() != Restoring {
		return fmt.Errorf("make database %q a standby: it is not restoring", db.opts.Name)
	}
	if err := db.changeState(func(s *state) { s.Standby = file }); err != nil {
		return err
	}
	if file == "" {
		db.breakAll(ErrReadOnly)
	}
	return nil
}

// Standby is the standby file of a database that takes reads between two restores; empty otherwise.
func (db *Database) Standby() string { return db.currentState().Standby }
