// SPDX-License-Identifier: Apache-2.0

package replica

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"geosql.dev/standin/hadr/endpoint"
	"geosql.dev/standin/storage"
)

// stream is a log connection from the primary.
type stream struct {
	conn  *endpoint.Conn
	epoch uint32
}

// ackInterval is how often progress is told when nothing new was hardened (redo goes on).
const ackInterval = 200 * time.Millisecond

// serveLog takes a database's log from the primary.
func (g *Group) serveLog(ctx context.Context, conn *endpoint.Conn, h hello) error {
	db, reply, s := g.openStream(conn, h)
	if reply.Status != logReady {
		return conn.SendValue(msgLogReply, reply)
	}
	defer g.closeStream(h.Database, s)
	_ = conn.SetDeadline(time.Now().Add(helloTimeout))
	if err := conn.SendValue(msgLogReply, reply); err != nil {
		return err
	}
	var start logStart
	if err := conn.ReceiveValue(msgLogStart, &start); err != nil {
		return err
	}
	_ = conn.SetDeadline(time.Time{})
	g.mu.Lock()
	if cs := g.copyStateLocked(h.Database); start.End.Less(cs.initializing) {
		// Another primary than the one that it was taken back for, with less log.
		cs.initializing = start.End
	}
	g.mu.Unlock()
	reply = logReply{Status: logReady}
	if start.Undo {
		if err := g.revert(ctx, h.Database, db, start); errors.Is(err, storage.ErrNoUndo) {
			reply.Status = logReseed
			g.undoFailed(h.Database, false, err)
		} else if err != nil {
			reply = logReply{Status: logRefused, Reason: err.Error()}
			g.undoFailed(h.Database, true, err)
		}
	}
	reply.End = db.Log().End()
	if err := conn.SendValue(msgLogReply, reply); err != nil || reply.Status != logReady {
		return err
	}
	if db.RedoError() != nil {
		db.ResumeRedo()
	}
	ackCtx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		// A failed acknowledgement ends the connection.
		if g.acknowledge(ackCtx, conn, h, db) != nil {
			conn.Close()
		}
	}()
	err := g.receive(conn, h, db)
	cancel()
	conn.Close()
	<-done
	return err
}

// openStream decides whether log is taken on the connection.
func (g *Group) openStream(conn *endpoint.Conn, h hello) (*storage.Database, logReply, *stream) {
	refuse := func(reason string) (*storage.Database, logReply, *stream) {
		return nil, logReply{Status: logRefused, Reason: reason}, nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	c := g.st.Databases[h.Database]
	switch {
	case h.Epoch < g.st.Promised || g.stopped:
		return refuse("a newer primary was elected")
	case !g.followsLocked(h.From):
		return refuse("the replica does not follow this primary; run SET (ROLE = SECONDARY) on it")
	case g.st.Accepted.Epoch() != h.Epoch || g.st.Accepted.Database(h.Database) == nil:
		return refuse("the configuration has not arrived yet")
	case g.copyStateLocked(h.Database).seeding:
		return refuse("the database is being seeded")
	case g.settlingLocked():
		return refuse("the replica is a secondary since a moment ago")
	}
	if c == nil || g.host.Database(c.Name) == nil {
		return nil, logReply{Status: logAbsent}, nil
	}
	if c.Suspended {
		return nil, logReply{Status: logSuspended}, nil
	}
	db := g.host.Database(c.Name)
	if !c.Joined || db.Mode() != storage.Redo {
		return refuse("the database has not joined the group")
	}
	if old := g.streams[h.Database]; old != nil {
		old.conn.Close()
	}
	s := &stream{conn: conn, epoch: h.Epoch}
	g.streams[h.Database] = s
	id := db.Identity()
	return db, logReply{
		Status: logReady,
		Forks:  id.Forks,
		Family: id.Family,
		End:    db.Log().End(),
		Last:   db.Log().LastBlock(),
	}, s
}

func (g *Group) closeStream(id uuid.UUID, s *stream) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.streams[id] == s {
		delete(g.streams, id)
	}
	g.broadcastLocked()
}

// revert takes back what only this copy has.
func (g *Group) revert(ctx context.Context, id uuid.UUID, db *storage.Database, start logStart) error {
	to := start.UndoTo
	g.setReverting(id, true)
	defer g.setReverting(id, false)
	g.transition.Lock()
	defer g.transition.Unlock()
	g.host.Log().
		Info("availability group: taking back transactions that the primary does not have", "group", g.Name(), "database", id,
			"to", to.String())
	// The other replicas of the local group have that log from here: they take it back when they ask again.
	g.breakShipping()
	if err := db.UndoTo(ctx, to); err != nil {
		return err
	}
	g.breakShipping()
	g.mu.Lock()
	cs := g.copyStateLocked(id)
	cs.recovery = storage.LSN{}
	if to.Less(start.End) {
		cs.initializing = start.End
	}
	g.mu.Unlock()
	db.ResumeRedo()
	return nil
}

// undoFailed suspends a copy that could not take back its own log, unless it will be seeded again.
func (g *Group) undoFailed(id uuid.UUID, always bool, reason error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	self, c := g.st.Accepted.Replica(g.self), g.st.Databases[id]
	if c == nil || (!always && self != nil && self.AutomaticSeeding) {
		return
	}
	g.host.Log().
		Error("availability group: a database could not take back what only it has; it is suspended", "group", g.name,
			"database", c.Name, "error", reason)
	g.suspendLocked(id, suspendUndo)
}

func (g *Group) setReverting(id uuid.UUID, on bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.copyStateLocked(id).reverting = on
	g.broadcastLocked()
}

// receive appends the primary's blocks until the connection ends.
func (g *Group) receive(conn *endpoint.Conn, h hello, db *storage.Database) error {
	for {
		kind, payload, err := conn.Receive()
		if err != nil {
			return err
		}
		if kind != msgBlock {
			return fmt.Errorf("message %d instead of log", kind)
		}
		g.mu.Lock()
		fenced := g.st.Promised > h.Epoch || !g.followsLocked(h.From)
		g.copyStateLocked(h.Database).receivedTime = time.Now().UTC()
		g.mu.Unlock()
		if fenced {
			return errNotLeading
		}
		if _, err := db.Log().Append(payload); err != nil {
			return err
		}
	}
}

// acknowledge hardens what has arrived and says so. Nothing is acknowledged to a primary once a newer epoch was
// promised: what the next primary has decides then.
func (g *Group) acknowledge(ctx context.Context, conn *endpoint.Conn, h hello, db *storage.Database) error {
	var last progress
	tick := time.NewTicker(ackInterval)
	defer tick.Stop()
	for first := true; ; first = false {
		changed := db.Log().Changed()
		end := db.Log().End()
		if err := db.Log().Harden(ctx, end); err != nil {
			return err
		}
		g.mu.Lock()
		if g.st.Promised > h.Epoch || !g.followsLocked(h.From) {
			g.mu.Unlock()
			return errNotLeading
		}
		cs := g.copyStateLocked(h.Database)
		if last.Hardened != end {
			cs.hardenedTime = time.Now().UTC()
		}
		if !cs.initializing.IsZero() && !end.Less(cs.initializing) {
			cs.initializing = storage.LSN{}
			g.broadcastLocked()
		}
		p := g.progressLocked(h.Database, db)
		// What arrived meanwhile is not hardened by this round.
		p.Hardened = end
		g.mu.Unlock()
		if first || p.Hardened != last.Hardened || p.Redone != last.Redone || p.RedoRate != last.RedoRate {
			if err := conn.SendValue(msgAck, p); err != nil {
				return err
			}
			last = p
		}
		select {
		case <-changed:
		case <-tick.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
