// SPDX-License-Identifier: Apache-2.0

package replica

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"geosql.dev/standin/config"
	"geosql.dev/standin/hadr/endpoint"
	"geosql.dev/standin/hadr/group"
	"geosql.dev/standin/storage"
)

// helloTimeout bounds the first message of a connection.
const helloTimeout = 10 * time.Second

// errSilent ends the connection of another replica to one that answers nobody.
var errSilent = errors.New("the replica is OFFLINE and answers nobody")

// serve handles a connection from another replica.
func (m *Manager) serve(ctx context.Context, conn *endpoint.Conn) {
	_ = conn.SetDeadline(time.Now().Add(helloTimeout))
	var h hello
	if err := conn.ReceiveValue(msgHello, &h); err != nil {
		return
	}
	_ = conn.SetDeadline(time.Time{})
	var err error
	switch h.Purpose {
	case purposeControl:
		if m.deaf(h) {
			return
		}
		err = m.serveControl(conn, h, nil)
	case purposePrepare:
		err = m.servePrepare(conn, h)
	case purposeLog:
		if g := m.groupByID(h.Group); g != nil {
			err = g.serveLog(ctx, conn, h)
		}
	case purposeSeed:
		if g := m.groupByID(h.Group); g != nil {
			err = g.serveSeed(ctx, conn, h)
		}
	case purposeBackup:
		if g := m.groupByID(h.Group); g != nil {
			err = g.serveBackup(ctx, conn, h)
		}
	}
	if err != nil && ctx.Err() == nil {
		m.host.Log().
			Debug("availability group: a connection of another replica ended", "purpose", h.Purpose, "group", h.Name, "from",
				h.Server, "error", err)
	}
}

// serveControl answers a primary's regular messages until the connection ends. first is one that was received already,
// nil for none.
func (m *Manager) serveControl(conn *endpoint.Conn, h hello, first []byte) error {
	var held *Group
	defer func() {
		if held != nil {
			held.lostContact(conn)
		}
	}()
	for {
		var req controlRequest
		if err := receiveControl(conn, first, &req); err != nil {
			return err
		}
		first = nil
		g := m.groupByID(h.Group)
		if g != nil && !g.overPrimary() {
			// A distributed group is served where its member's primary is.
			return nil
		}
		if g != nil && !g.answers() {
			g.overhear(req)
			return errSilent
		}
		reply := controlReply{}
		if g != nil {
			held = g
			var err error
			if reply, err = g.control(conn, h.From, req); err != nil {
				return err
			}
		} else if req.Config != nil {
			m.offer(req.Config)
		}
		if err := conn.SendValue(msgControlReply, reply); err != nil {
			return err
		}
		if g != nil && reply.Known {
			g.applyPrimary(req)
		}
	}
}

// control takes a primary's message: the configuration is on disk before the answer says so.
func (g *Group) control(conn *endpoint.Conn, from uuid.UUID, req controlRequest) (controlReply, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	reply := controlReply{Known: true, CreateAnyDatabase: g.st.CreateAnyDatabase, ForcedSeen: g.st.ForcedSeen}
	refused := req.Epoch < g.st.Promised || g.stopped
	if from != g.self && g.unfencedLocked() {
		return controlReply{Known: true, Role: g.role}, nil
	}
	if !refused {
		if err := g.acceptLocked(req); err != nil {
			return reply, err
		}
		g.contact.primary, g.contact.at, g.contact.conn = from, time.Now(), conn
		g.heard, g.primaryOpened = true, req.Opened
		if err := g.drawnInLocked(from); err != nil {
			return reply, err
		}
		if g.role == Resolving && g.st.Intent == Secondary && g.lead == nil {
			g.role = Secondary
			g.broadcastLocked()
		}
	}
	reply.Promised = g.st.Promised
	reply.Role = g.role
	if !refused {
		reply.Follows = g.followsLocked(from)
	}
	if g.st.Accepted != nil {
		reply.Accepted = g.st.Accepted.Sequence
	}
	for id := range g.st.Databases {
		reply.Databases = append(reply.Databases, g.statusLocked(id))
	}
	return reply, nil
}

// overhear notes when the endpoint of a primary was opened that gets no answer: a latched former primary is silent
// after the very OFFLINE that it needs.
func (g *Group) overhear(req controlRequest) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if req.Epoch >= g.st.Promised {
		g.primaryOpened = req.Opened
	}
}

// drawnInLocked binds a RESOLVING replica to the primary that reaches it, where that needs no statement.
func (g *Group) drawnInLocked(primary uuid.UUID) error {
	if g.role != Resolving || g.st.Intent == Secondary || g.lead != nil || !g.host.Answers(config.ResolvingFollows) {
		return nil
	}
	return g.updateLocked(func(d *durable) { d.Intent, d.Following = Secondary, primary })
}

// acceptLocked takes the message's configuration and its epoch.
func (g *Group) acceptLocked(req controlRequest) error {
	c := req.Config
	newer := c != nil && (g.st.Accepted == nil || c.Sequence > g.st.Accepted.Sequence)
	if !newer && req.Epoch <= g.st.Promised {
		return g.suspendForcedLocked(req.Databases)
	}
	err := g.updateLocked(func(d *durable) {
		if c != nil {
			d.Accept(c)
		}
		d.Promised = max(d.Promised, req.Epoch)
		if d.Intent == Secondary && d.Following == uuid.Nil && c != nil {
			d.Following = c.Primary
		}
	})
	if err != nil {
		return err
	}
	g.fenceLocked(req.Epoch)
	return g.suspendForcedLocked(req.Databases)
}

// unfencedLocked tells whether this replica is a primary that nobody fences: without a cluster (CLUSTER_TYPE = NONE)
// nothing decides between two primaries, and a person takes one of them offline ("Forced manual failover with data
// loss" of the pages on read-scale groups).
func (g *Group) unfencedLocked() bool {
	return g.role == Primary && g.st.Accepted != nil && g.st.Accepted.Options.ClusterType == group.None
}

// fenceLocked ends what belongs to epochs before the promised one: this replica's own leadership, and log that comes
// from an older primary.
func (g *Group) fenceLocked(epoch uint32) {
	if l := g.lead; l != nil && l.epoch < epoch {
		go g.resign(l, Resolving, "a newer primary was elected")
	}
	for id, s := range g.streams {
		if s.epoch < epoch {
			s.conn.Close()
			delete(g.streams, id)
		}
	}
}

// followsLocked tells whether this replica takes log of that primary: it is a secondary, and was bound to it by JOIN or
// SET (ROLE = SECONDARY). After a failover to another server that has to be done again.
func (g *Group) followsLocked(primary uuid.UUID) bool {
	return g.role == Secondary && (g.st.Following == uuid.Nil || g.st.Following == primary)
}

// lostContact notes the end of a primary's control connection, if it is the one that the primary was last heard on: one
// of before a cut may end long after there is another. The primary counts as silent until it says something again.
func (g *Group) lostContact(conn *endpoint.Conn) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.contact.conn == conn {
		g.contact.at, g.contact.conn = time.Time{}, nil
		select {
		case g.m.lost <- struct{}{}:
		default:
		}
	}
	g.broadcastLocked()
}

// statusLocked describes the local copy of a database.
func (g *Group) statusLocked(id uuid.UUID) secondaryStatus {
	c := g.st.Databases[id]
	cs := g.copyStateLocked(id)
	s := secondaryStatus{ID: id, Joined: c.Joined, Suspended: c.Suspended, Reason: c.Reason, Reverting: cs.reverting,
		Initializing: !cs.initializing.IsZero(), Recovery: cs.recovery}
	if db := g.host.Database(c.Name); db != nil {
		s.Exists = true
		s.progress = g.progressLocked(id, db)
	}
	return s
}

func (g *Group) progressLocked(id uuid.UUID, db *storage.Database) progress {
	cs := g.copyStateLocked(id)
	l := db.Log()
	p := progress{Received: l.End(), Hardened: l.Hardened(), ReceivedTime: cs.receivedTime, HardenedTime: cs.hardenedTime}
	redone, at := db.Applied()
	p.Redone, p.RedoneCommit, p.RedoneTime = redone, at, db.AppliedAt()
	done := l.Bytes(db.AppliedEnd())
	if end := l.Bytes(p.Received); end > done {
		p.RedoQueue = end - done
	}
	p.RedoRate = cs.redo.note(done)
	return p
}

// applyPrimary does what a primary's message calls for outside the answer: log holds, and databases that came or went.
func (g *Group) applyPrimary(req controlRequest) {
	g.mu.Lock()
	l, c := g.lead, g.st.Accepted
	g.mu.Unlock()
	if l != nil {
		return
	}
	// A configuration that is only proposed may never come to be.
	committed := req.Committed >= c.Sequence
	if committed && c.Replica(g.Self()) == nil {
		g.removed()
		return
	}
	for _, p := range req.Databases {
		if db := g.localDatabase(p.ID); db != nil && db.Mode() == storage.Redo {
			// The log reader goes on here after a failover: what it has not read must be here then.
			err := errors.Join(
				db.HoldLog(holdGroup, p.Keep),
				g.releaseFormer(c, db),
				db.HoldLog(storage.HoldReplication, p.Replication),
				g.takeChain(req.Epoch, p, db),
				g.takeSettings(p),
			)
			g.noteHistory(p, db)
			if err != nil {
				g.host.Log().
					Error("availability group: what the primary says of a database could not be noted", "group", g.Name(), "error",
						err)
			}
		}
	}
	if committed {
		g.dropRemovedDatabases(c)
	}
	g.joinRestored(c)
}

// takeSettings has the copy have the primary's options, where they came with the message.
func (g *Group) takeSettings(p primaryDatabase) error {
	g.mu.Lock()
	c := g.st.Databases[p.ID]
	g.mu.Unlock()
	if c == nil || p.Settings == nil {
		return nil
	}
	return g.host.TakeSettings(g.m.ctx, c.Name, p.Settings)
}

// noteHistory compares the copy's history with the primary's, and suspends a copy whose redo has stopped.
func (g *Group) noteHistory(p primaryDatabase, db *storage.Database) {
	at, _ := db.Identity().Parts(db.Log().End(), p.Forks)
	failed := db.RedoError()
	g.mu.Lock()
	defer g.mu.Unlock()
	cs := g.copyStateLocked(p.ID)
	cs.recovery, cs.sendQueue = at, p.SendQueue
	if c := g.st.Databases[p.ID]; failed != nil && c != nil && !c.Suspended {
		g.host.Log().
			Error("availability group: redo of a database has stopped; it is suspended", "group", g.name, "database", c.Name,
				"error", failed)
		g.suspendLocked(p.ID, suspendRedo)
	}
}

// suspendLocked suspends the movement of the local copy for a reason of the server's own.
func (g *Group) suspendLocked(id uuid.UUID, reason uint8) {
	if err := g.updateLocked(func(d *durable) {
		d.Databases[id].Suspended, d.Databases[id].Reason = true,
			reason
	}); err != nil {
		g.host.Log().
			Error("availability group: a database could not be suspended", "group", g.name, "database", id, "error", err)
	}
	if s := g.streams[id]; s != nil {
		s.conn.Close()
	}
}

// receiveControl decodes the message that was received already, or waits for the next one.
func receiveControl(conn *endpoint.Conn, first []byte, req *controlRequest) error {
	if first == nil {
		return conn.ReceiveValue(msgControl, req)
	}
	if err := json.Unmarshal(first, req); err != nil {
		return fmt.Errorf("decode a primary's first message: %w", err)
	}
	return nil
}

// servePrepare answers a replica that wants to become primary, until it asks no more, or is primary and sends its
// regular messages.
func (m *Manager) servePrepare(conn *endpoint.Conn, h hello) error {
	for {
		_ = conn.SetDeadline(time.Now().Add(helloTimeout))
		kind, message, err := conn.Receive()
		if err != nil {
			return err
		}
		if kind == msgControl {
			_ = conn.SetDeadline(time.Time{})
			return m.serveControl(conn, h, message)
		}
		if kind != msgPrepare {
			return fmt.Errorf("message %d from %s instead of a question", kind, h.Server)
		}
		var req prepareRequest
		if err := json.Unmarshal(message, &req); err != nil {
			return fmt.Errorf("decode a question of %s: %w", h.Server, err)
		}
		g := m.groupByID(h.Group)
		if g == nil || !g.overPrimary() {
			return conn.SendValue(msgPromise, group.Promise{})
		}
		if !g.answers() {
			return errSilent
		}
		p, err := g.promise(req)
		if err != nil {
			return err
		}
		if err := conn.SendValue(msgPromise, p); err != nil {
			return err
		}
	}
}

func (g *Group) promise(req prepareRequest) (group.Promise, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	p := group.Promise{From: g.self}
	unfenced := g.unfencedLocked() && !g.distributed()
	asked := !req.Read || req.Candidate != uuid.Nil && g.yieldsLocked(req.Candidate)
	if asked && !g.stopped && !unfenced && req.Epoch > g.st.Promised {
		if err := g.updateLocked(func(d *durable) { p.Granted = d.Prepare(req.Epoch) }); err != nil {
			return p, err
		}
		g.fenceLocked(req.Epoch)
	}
	p.Promised, p.Accepted = g.st.Promised, g.st.Accepted
	return p, nil
}
