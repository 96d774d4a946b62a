// SPDX-License-Identifier: Apache-2.0

package replica

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"geosql.dev/standin/hadr/endpoint"
	"geosql.dev/standin/hadr/group"
	"geosql.dev/standin/storage"
)

// catchUpBytes is how close to the end of the log a secondary has to be for commits to begin to wait for it.
const catchUpBytes = 256 << 10

const (
	holdOwnerPrefix = storage.HoldReplica + " "
	// holdGroup holds, on a secondary, what any replica may need should this one become primary.
	holdGroup = holdOwnerPrefix + "group"
)

// holdOwner holds what a replica may need.
func holdOwner(replica uuid.UUID) string { return holdOwnerPrefix + replica.String() }

// work sends a database's log to the secondary until something breaks. Where the secondary has no copy, or none that
// the log could continue, it seeds one.
func (p *peer) work(ctx context.Context, id uuid.UUID) error {
	g := p.l.g
	db := g.localDatabase(id)
	if db == nil {
		return fmt.Errorf("the primary's own copy is not open")
	}
	g.mu.Lock()
	spec := p.l.committed.Replica(p.id)
	if spec == nil {
		g.mu.Unlock()
		return errNotLeading
	}
	url, timeout, automatic := spec.EndpointURL, spec.Timeout(), spec.AutomaticSeeding
	g.mu.Unlock()
	dial, cancel := context.WithTimeout(ctx, min(timeout, dialTimeout))
	conn, err := g.m.dial(
		dial,
		url,
		hello{Purpose: purposeLog, Group: g.id, Name: g.name, From: g.self, Epoch: p.l.epoch, Database: id},
	)
	cancel()
	if err != nil {
		return err
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	status, from, err := p.negotiate(conn, db, timeout)
	switch {
	case err != nil:
		return err
	case status == logAbsent && automatic:
		conn.Close()
		return p.seed(ctx, db, id, false)
	case status == logReseed && automatic:
		conn.Close()
		return p.seed(ctx, db, id, true)
	case status != logReady:
		return nil
	}
	return p.stream(ctx, conn, db, id, from, timeout)
}

// negotiate finds where the two logs part, has the secondary take back what only it has, and says where to go on.
func (p *peer) negotiate(
	conn *endpoint.Conn,
	db *storage.Database,
	timeout time.Duration,
) (string, storage.LSN, error) {
	_ = conn.SetDeadline(time.Now().Add(timeout))
	var reply logReply
	if err := conn.ReceiveValue(msgLogReply, &reply); err != nil {
		return "", storage.LSN{}, err
	}
	if reply.Status == logRefused {
		return "", storage.LSN{}, fmt.Errorf("the secondary takes no log: %s", reply.Reason)
	}
	if reply.Status != logReady {
		return reply.Status, storage.LSN{}, nil
	}
	id := db.Identity()
	if id.Family != reply.Family {
		return "", storage.LSN{}, fmt.Errorf("the secondary's database of that name is another database")
	}
	shared, ok := id.SharedPosition(db.Log().End(), reply.Forks, reply.End)
	if !ok {
		return logReseed, shared, nil
	}
	if err := db.HoldLog(holdOwner(p.id), shared); err != nil {
		return "", shared, err
	}
	f, err := db.Log().Follow(shared)
	if errors.Is(err, storage.ErrLogTruncated) {
		return logReseed, shared, nil
	}
	if err != nil {
		return "", shared, err
	}
	f.Close()
	start := logStart{Undo: shared.Less(reply.End), UndoTo: shared, End: db.Log().End()}
	if err := conn.SendValue(msgLogStart, start); err != nil {
		return "", shared, err
	}
	if start.Undo {
		// Taking back may take long.
		_ = conn.SetDeadline(time.Time{})
	}
	if err := conn.ReceiveValue(msgLogReply, &reply); err != nil {
		return "", shared, err
	}
	if reply.Status == logRefused {
		return "", shared, fmt.Errorf("the secondary takes no log: %s", reply.Reason)
	}
	return reply.Status, reply.End, nil
}

// stream sends blocks as they come, and takes acknowledgements in a goroutine of its own.
func (p *peer) stream(
	ctx context.Context,
	conn *endpoint.Conn,
	db *storage.Database,
	id uuid.UUID,
	from storage.LSN,
	timeout time.Duration,
) error {
	g := p.l.g
	f, err := db.Log().Follow(from)
	if err != nil {
		return err
	}
	defer f.Close()
	_ = conn.SetDeadline(time.Time{})
	g.mu.Lock()
	rem := p.l.remoteLocked(p.id, id)
	rem.progress, rem.streaming, rem.gating = progress{}, true, false
	rem.Suspended, rem.sent, rem.sentTime = false, from, time.Now().UTC()
	g.broadcastLocked()
	g.mu.Unlock()
	ctx, cancel := context.WithCancelCause(ctx)
	acks := make(chan struct{})
	go func() {
		defer close(acks)
		cancel(p.takeAcks(conn, db, id))
	}()
	defer func() {
		conn.Close()
		<-acks
	}()
	for {
		b, err := f.TryNext()
		if err == nil && b == nil {
			_ = conn.SetWriteDeadline(time.Now().Add(timeout))
			if err = conn.Flush(); err == nil {
				b, err = f.Next(ctx)
			}
		}
		if err != nil {
			return err
		}
		_ = conn.SetWriteDeadline(time.Now().Add(timeout))
		if err := conn.Put(msgBlock, b.Raw); err != nil {
			return err
		}
		g.mu.Lock()
		rem.sent, rem.sentTime = b.End(), time.Now().UTC()
		rem.sendRate.note(b.Position + uint64(len(b.Raw)))
		g.mu.Unlock()
	}
}

// takeAcks notes how far the secondary is, until the connection ends.
func (p *peer) takeAcks(conn *endpoint.Conn, db *storage.Database, id uuid.UUID) error {
	l, g := p.l, p.l.g
	for {
		var a progress
		if err := conn.ReceiveValue(msgAck, &a); err != nil {
			return err
		}
		g.mu.Lock()
		if g.lead != l {
			g.mu.Unlock()
			return errNotLeading
		}
		rem := l.remoteLocked(p.id, id)
		rem.progress, rem.shown = a, a
		l.considerGateLocked(p.id, id, db)
		g.broadcastLocked()
		g.mu.Unlock()
		if err := db.HoldLog(holdOwner(p.id), a.Hardened); err != nil {
			return err
		}
	}
}

// considerGateLocked lets commits begin to wait for a secondary that may be called synchronized soon: it is, as this
// primary, in synchronous mode, and near the end of the log.
func (l *leadership) considerGateLocked(replica, database uuid.UUID, db *storage.Database) {
	rem := l.remoteLocked(replica, database)
	r, self := l.committed.Replica(replica), l.committed.Replica(l.g.self)
	if r == nil || self == nil || r.Mode != group.Synchronous || self.Mode != group.Synchronous || !rem.streaming ||
		rem.gating ||
		rem.Hardened.IsZero() ||
		slices.Contains(synchronizedIn(l.committed, database), replica) {
		return
	}
	log := db.Log()
	if end, have := log.Bytes(log.End()), log.Bytes(rem.Hardened); end > have && end-have >= catchUpBytes {
		return
	}
	// Every commit acknowledged so far is before the end, every later one waits for this secondary.
	rem.gating, rem.gateAt = true, log.End()
}
