// SPDX-License-Identifier: Apache-2.0

package replica

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"geosql.dev/standin/hadr/endpoint"
	"geosql.dev/standin/storage"
)

// A regular backup of the log at a secondary goes on with the chain that all replicas of a database have together: the
// primary says where it begins, lets nobody else back up the log meanwhile, and notes where it ended
// (docs/database-engine/availability-groups/windows/
// active-secondaries-backup-on-secondary-replicas-always-on-availability-groups.md, Backup Types Supported on Secondary
// Replicas).

// aliveInterval is how often a secondary says that its backup goes on.
const aliveInterval = time.Second

// backupSource is the group through which a local copy takes log: the distributed one at a forwarder.
func (m *Manager) backupSource(database string) *Group {
	g := m.GroupOf(database)
	if g != nil && g.Role() == Primary && g.forwarding() {
		return g.Above()
	}
	return g
}

// MayBackUp is 3062 for a secondary copy that is neither SYNCHRONIZED nor SYNCHRONIZING, or whose primary is not heard
// of.
func (m *Manager) MayBackUp(database string) error {
	if g := m.backupSource(database); g == nil || !g.synchronizing(database) {
		return failure(3062)
	}
	return nil
}

func (g *Group) synchronizing(database string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	id, c := g.copyNamedLocked(database)
	if c == nil || !g.connectedLocked() {
		return false
	}
	d := g.configLocked().Database(id)
	if d == nil {
		return false
	}
	switch g.localStateLocked(g.configLocked(), d).State {
	case Synchronized, Synchronizing:
		return true
	}
	return false
}

// BackUpLog has a secondary copy's log backed up: write stores the backup and says up to where it goes. noted is false
// where the backup is stored and nobody knows whether the primary has noted it.
func (m *Manager) BackUpLog(
	ctx context.Context,
	database string,
	write func() (storage.LSN, error),
) (noted bool, err error) {
	g, db := m.backupSource(database), m.host.Database(database)
	if g == nil || db == nil {
		return false, failure(35294, database)
	}
	conn, epoch, point, err := g.backupPoint(ctx, database)
	if err != nil {
		g.host.Log().
			Error("availability group: a backup of the log cannot begin", "group", g.Name(), "database", database, "error", err)
		return false, failure(35294, database)
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	if err := db.SetChain(point.Chain); err != nil {
		return false, err
	}
	last, err := writeAlive(conn, write)
	if err != nil {
		return false, err
	}
	var answer backupNoted
	_ = conn.SetDeadline(time.Now().Add(helloTimeout))
	if err := conn.SendValue(msgBackupDone, backupDone{Last: last}); err != nil {
		return false, nil
	}
	if err := conn.ReceiveValue(msgBackupNoted, &answer); err != nil {
		return false, nil
	}
	if !answer.OK {
		g.host.Log().
			Error("availability group: the primary has not noted a backup of the log", "group", g.Name(), "database", database,
				"reason", answer.Reason)
		return false, failure(35296, database)
	}
	g.mu.Lock()
	id, _ := g.copyNamedLocked(database)
	cs := g.copyStateLocked(id)
	cs.backedUp, cs.backedUpEpoch = last, epoch
	g.mu.Unlock()
	point.Log = last
	return true, db.SetChain(point.Chain)
}

// takeChain takes the primary's chain of backups. A message of before this copy's own backup tells of less.
func (g *Group) takeChain(epoch uint32, p primaryDatabase, db *storage.Database) error {
	g.mu.Lock()
	cs := g.copyStateLocked(p.ID)
	late := epoch == cs.backedUpEpoch && p.Chain.Log.Less(cs.backedUp)
	g.mu.Unlock()
	if late {
		return nil
	}
	return db.SetChain(p.Chain)
}

// writeAlive stores the backup, and tells the primary meanwhile that it goes on.
func writeAlive(conn *endpoint.Conn, write func() (storage.LSN, error)) (storage.LSN, error) {
	ended, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(aliveInterval)
		defer tick.Stop()
		for {
			select {
			case <-ended:
				return
			case <-tick.C:
				if conn.Send(msgBackupAlive, nil) != nil {
					return
				}
			}
		}
	}()
	last, err := write()
	close(ended)
	<-done
	return last, err
}

// backupPoint asks the primary of an epoch where the backup begins.
func (g *Group) backupPoint(
	ctx context.Context,
	database string,
) (conn *endpoint.Conn, epoch uint32, point backupPoint, err error) {
	g.mu.Lock()
	id, _ := g.copyNamedLocked(database)
	primary := g.st.Accepted.Replica(g.contact.primary)
	if primary == nil {
		g.mu.Unlock()
		return nil, 0, point, errors.New("there is no primary")
	}
	url, h := primary.EndpointURL, hello{
		Purpose:  purposeBackup,
		Group:    g.id,
		Name:     g.name,
		From:     g.self,
		Epoch:    g.st.Accepted.Epoch(),
		Database: id,
	}
	timeout := primary.Timeout()
	g.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	if conn, err = g.m.dial(ctx, url, h); err != nil {
		return nil, 0, point, err
	}
	_ = conn.SetDeadline(time.Now().Add(timeout))
	err = conn.ReceiveValue(msgBackupPoint, &point)
	if err == nil && !point.OK {
		err = errors.New(point.Reason)
	}
	if err != nil {
		conn.Close()
		return nil, 0, point, err
	}
	_ = conn.SetDeadline(time.Time{})
	return conn, h.Epoch, point, nil
}

// serveBackup is the primary's side of a backup of the log at a secondary.
func (g *Group) serveBackup(ctx context.Context, conn *endpoint.Conn, h hello) error {
	timeout := helloTimeout
	if r := g.Configuration().Replica(h.From); r != nil {
		timeout = r.Timeout()
	}
	refuse := func(err error) error {
		return conn.SendValue(msgBackupPoint, backupPoint{Reason: err.Error()})
	}
	db, err := g.backedUp(h.Epoch, h.Database)
	if err != nil {
		return refuse(err)
	}
	wait, cancel := context.WithTimeout(ctx, timeout/2)
	release, err := db.LogBackupTurn(wait)
	cancel()
	if err != nil {
		return refuse(err)
	}
	defer release()
	if err := conn.SendValue(msgBackupPoint, backupPoint{OK: true, Chain: db.Chain()}); err != nil {
		return err
	}
	for {
		_ = conn.SetDeadline(time.Now().Add(timeout))
		kind, message, err := conn.Receive()
		switch {
		case err != nil:
			return err
		case kind == msgBackupAlive:
			continue
		case kind != msgBackupDone:
			return fmt.Errorf("message %d from %s instead of the end of a backup", kind, h.Server)
		}
		answer := backupNoted{OK: true}
		if err := g.noteBackup(h, db, message); err != nil {
			answer = backupNoted{Reason: err.Error()}
		}
		return conn.SendValue(msgBackupNoted, answer)
	}
}

// backedUp is the primary copy of a database while this replica leads in the epoch.
func (g *Group) backedUp(epoch uint32, id uuid.UUID) (*storage.Database, error) {
	if g.forwarding() {
		return nil, errors.New("the primary is a forwarder: backups of its secondaries do not go on with the chain")
	}
	db := g.localDatabase(id)
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.role != Primary || g.lead == nil || !g.lead.open || g.lead.epoch != epoch || !g.leaseValidLocked() || db == nil ||
		db.Mode() != storage.Primary {
		return nil, errNotLeading
	}
	return db, nil
}

// noteBackup notes a secondary's backup; its log is let go of.
func (g *Group) noteBackup(h hello, db *storage.Database, message []byte) error {
	var done backupDone
	if err := json.Unmarshal(message, &done); err != nil {
		return fmt.Errorf("decode the end of a backup: %w", err)
	}
	if now, err := g.backedUp(h.Epoch, h.Database); err != nil || now != db {
		return errors.Join(errNotLeading, err)
	}
	if end := db.Log().End(); done.Last.Less(db.Chain().Log) || end.Less(done.Last) {
		return fmt.Errorf("the backup ends at %s; the chain is at %s, the log at %s", done.Last, db.Chain().Log, end)
	}
	return db.NoteLogBackup(storage.BackupHeader{Kind: storage.LogBackup, Last: done.Last})
}
