// SPDX-License-Identifier: Apache-2.0

package replica

import (
	"context"
	"slices"

	"github.com/google/uuid"

	"geosql.dev/standin/storage"
)

// gate stands before a local database: it lets in what the role allows, and holds commits until they are hardened
// wherever the configuration demands.
type gate struct {
	g    *Group
	id   uuid.UUID
	name string
}

// Ensure that storage can use it.
var _ storage.Gate = (*gate)(nil)

// notInRole is an error that says that the replica's role does not allow the access.
func (g *Group) notInRole(id uuid.UUID) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.notInRoleLocked(id)
}

func (g *Group) notInRoleLocked(id uuid.UUID) error {
	name := ""
	if c := g.st.Databases[id]; c != nil {
		name = c.Name
	}
	return failure(983, name)
}

// Admit serves storage.Gate. Whether a reader has the intent that a secondary asks for is decided at the session (see
// Readable).
func (t *gate) Admit(write bool) error {
	if err := t.admit(write); err != nil {
		return err
	}
	return t.g.admitAbove(t.name, write, true)
}

func (t *gate) admit(write bool) error {
	t.g.mu.Lock()
	defer t.g.mu.Unlock()
	switch t.g.role {
	case Primary:
		if t.g.lead == nil || !t.g.lead.open || !t.g.leaseValidLocked() {
			return t.g.notInRoleLocked(t.id)
		}
		return nil
	case Secondary:
		if write {
			return nil // storage says that it takes no writes
		}
		return t.g.readableLocked(t.id, t.name, true)
	}
	return t.g.notInRoleLocked(t.id)
}

// readableLocked decides about reads at a secondary.
func (g *Group) readableLocked(id uuid.UUID, name string, intent bool) error {
	self := g.st.Accepted.Replica(g.self)
	c := g.st.Databases[id]
	if self == nil || c == nil || !c.Joined || g.copyStateLocked(id).seeding || g.copyStateLocked(id).reverting {
		return failure(976, name)
	}
	switch self.SecondaryConnections {
	case "ALL":
		return nil
	case "READ_ONLY":
		if intent {
			return nil
		}
		return failure(978, name)
	}
	return failure(976, name)
}

// Readable decides whether a session may enter the local copy of a database of the group.
func (g *Group) Readable(database string, readOnlyIntent bool) error {
	if err := g.readable(database, readOnlyIntent); err != nil {
		return err
	}
	return g.admitAbove(database, false, readOnlyIntent)
}

func (g *Group) readable(database string, readOnlyIntent bool) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	id, c := g.copyNamedLocked(database)
	if c == nil {
		return nil
	}
	switch g.role {
	case Primary:
		if g.lead == nil || !g.lead.open || !g.leaseValidLocked() {
			return g.notInRoleLocked(id)
		}
		self := g.lead.committed.Replica(g.self)
		if self != nil && self.PrimaryConnections == "READ_WRITE" && readOnlyIntent {
			return failure(979, c.Name)
		}
		return nil
	case Secondary:
		return g.readableLocked(id, c.Name, readOnlyIntent)
	}
	return g.notInRoleLocked(id)
}

// WaitHardened serves storage.Gate: it returns when the commit is on the disk of every synchronized secondary and of as
// many as the group requires, while this replica still is primary and its lease runs.
func (t *gate) WaitHardened(ctx context.Context, lsn storage.LSN) error {
	if err := t.waitHardened(ctx, lsn); err != nil {
		return err
	}
	return t.g.waitHardenedAbove(ctx, t.name, lsn)
}

func (t *gate) waitHardened(ctx context.Context, lsn storage.LSN) error {
	g := t.g
	g.mu.Lock()
	defer g.mu.Unlock()
	for {
		if g.role != Primary || g.lead == nil || !g.leaseValidLocked() {
			return g.notInRoleLocked(t.id)
		}
		if g.lead.hardenedLocked(t.id, lsn) {
			return nil
		}
		if err := g.waitLocked(ctx); err != nil {
			return err
		}
	}
}

// hardenedLocked tells whether a commit may be acknowledged.
func (l *leadership) hardenedLocked(database uuid.UUID, lsn storage.LSN) bool {
	if l.committed.Database(database) == nil && l.newestLocked().Database(database) == nil {
		// It was removed from the group while the commit waited.
		return true
	}
	n := 0
	for _, id := range l.requiredLocked(database) {
		r := l.remotes[remoteKey{id, database}]
		if r == nil || !lsn.Less(r.Hardened) {
			return false
		}
		if slices.Contains(synchronizedIn(l.committed, database), id) {
			n++
		}
	}
	return n >= l.committed.Options.RequiredSynchronized
}

// requiredLocked are the secondaries that a commit waits for: those that are called synchronized in the committed
// configuration or in the one that may become it, and those that are about to be called so.
func (l *leadership) requiredLocked(database uuid.UUID) []uuid.UUID {
	out := slices.Clone(synchronizedIn(l.committed, database))
	if l.proposed != nil {
		for _, id := range synchronizedIn(l.proposed, database) {
			if !slices.Contains(out, id) {
				out = append(out, id)
			}
		}
	}
	for key, r := range l.remotes {
		if key.database == database && r.gating && !slices.Contains(out, key.replica) {
			out = append(out, key.replica)
		}
	}
	return out
}
