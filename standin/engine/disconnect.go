// SPDX-License-Identifier: Apache-2.0

package engine

// Disconnect ends the connections of clients whose current database is db, as a change of its availability group role
// does. A client that does not read what it is sent would otherwise hold up the change.
func (inst *Instance) Disconnect(db *Database) {
	for _, s := range inst.UsersOf(db, nil) {
		s.interrupt()
		if inst.config.KillSession != nil {
			inst.config.KillSession(s.spid)
		}
	}
}
