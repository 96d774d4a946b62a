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
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/storage"
)

// peer is another replica as the primary sees it. Its fields are guarded by the group's mu.
type peer struct {
	l  *leadership
	id uuid.UUID

	connected bool
	conn      *endpoint.Conn
	reply     controlReply
	lastReply time.Time
	// lostAt is when the connection ended; zero while connected.
	lostAt time.Time
	// accepted is the sequence number that the replica has accepted in this epoch.
	accepted uint64
	// sent is the newest configuration that the replica was sent, told the newest one that it knows to be committed.
	sent, told uint64
	workers    map[uuid.UUID]context.CancelFunc
	leaving    bool
	// failedFirst is when the first attempt to connect failed; zero when it did not, and since the replica answers.
	failedFirst time.Time
	tried       bool

	// problem is the last failed attempt to connect (last_connect_error_*).
	problem connectProblem
}

type connectProblem struct {
	number int32
	text   string
	at     time.Time
}

const (
	// lossGrace is how long a broken connection may take to come back before the replica counts as lost.
	lossGrace    = time.Second
	minBackoff   = 100 * time.Millisecond
	maxBackoff   = 900 * time.Millisecond
	maxHeartbeat = time.Second
	// startHeartbeat is the interval while some database does not move yet.
	startHeartbeat = 200 * time.Millisecond
	dialTimeout    = 5 * time.Second
	disconnected   = 35206
	cannotConnect  = 35250
)

func newPeer(l *leadership, id uuid.UUID) *peer {
	return &peer{l: l, id: id, lostAt: time.Now(), workers: map[uuid.UUID]context.CancelFunc{}}
}

func (p *peer) hangUpLocked() {
	if p.conn != nil {
		p.conn.Close()
	}
	for _, cancel := range p.workers {
		cancel()
	}
}

// lostLocked tells whether the replica has to be given up: the connection is broken for longer than the grace, or
// silent for longer than the session time-out.
func (p *peer) lostLocked() bool {
	if p.connected {
		return time.Since(p.lastReply) > p.timeoutLocked()
	}
	return time.Since(p.lostAt) > lossGrace
}

func (p *peer) timeoutLocked() time.Duration {
	if r := p.l.newestLocked().Replica(p.id); r != nil && r.SessionTimeout > 0 {
		return r.Timeout()
	}
	return 10 * time.Second
}

// specLocked is the replica's entry in the newest configuration, or in the committed one when it is being removed.
func (p *peer) specLocked() *group.Replica {
	if r := p.l.newestLocked().Replica(p.id); r != nil {
		return r
	}
	return p.l.committed.Replica(p.id)
}

// run keeps a control connection to the replica until the epoch ends, or until it was told that it is removed.
func (p *peer) run() {
	g := p.l.g
	backoff := minBackoff
	url := ""
	for p.l.ctx.Err() == nil {
		g.mu.Lock()
		if r := p.specLocked(); r != nil {
			url = r.EndpointURL
		}
		timeout, leaving := p.timeoutLocked(), p.leaving && p.l.committed.Replica(p.id) == nil
		g.mu.Unlock()
		started := time.Now()
		err := p.connect(url, timeout)
		if errors.Is(err, errTold) {
			g.mu.Lock()
			p.hangUpLocked()
			delete(p.l.peers, p.id)
			g.mu.Unlock()
			return
		}
		p.noteLoss(err)
		if leaving && backoff >= maxBackoff {
			// It cannot be told; it finds out when it asks.
			g.mu.Lock()
			delete(p.l.peers, p.id)
			g.mu.Unlock()
			return
		}
		if time.Since(started) > 2*time.Second {
			backoff = minBackoff
		}
		select {
		case <-time.After(backoff):
		case <-p.l.ctx.Done():
		}
		backoff = min(2*backoff, maxBackoff)
	}
}

// errTold ends the session with a replica that has heard that it was removed.
var errTold = errors.New("the replica was told that it is removed")

func (p *peer) noteLoss(err error) {
	g := p.l.g
	g.mu.Lock()
	number := int32(cannotConnect)
	if p.connected {
		p.connected, p.lostAt = false, time.Now()
		number = disconnected
		for _, cancel := range p.workers {
			cancel()
		}
	}
	p.conn = nil
	if err != nil && p.l.ctx.Err() == nil {
		var known *sqlerr.Error
		if errors.As(err, &known) {
			number = known.Number
		}
		p.problem = connectProblem{number: number, text: err.Error(), at: time.Now().UTC()}
	}
	for key, r := range p.l.remotes {
		if key.replica == p.id {
			r.endStream()
		}
	}
	g.broadcastLocked()
	g.mu.Unlock()
	g.wakeAfterGrace()
}

func (r *remote) endStream() {
	if r.streaming {
		r.streaming, r.streamEnded = false, time.Now()
	}
}

// wakeAfterGrace has a loss acted on when the grace is over.
func (g *Group) wakeAfterGrace() {
	time.AfterFunc(lossGrace+50*time.Millisecond, func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.broadcastLocked()
	})
}

// connect opens a control connection and exchanges messages until it breaks.
func (p *peer) connect(url string, timeout time.Duration) error {
	g := p.l.g
	late := p.late()
	var conn *endpoint.Conn
	if !late {
		conn = g.lines.take(p.id)
	}
	if conn == nil {
		var err error
		ctx, cancel := context.WithTimeout(p.l.ctx, min(timeout, dialTimeout))
		conn, err = g.m.dial(
			ctx,
			url,
			hello{Purpose: purposeControl, Group: g.id, Name: g.name, From: g.self, Epoch: p.l.epoch, Late: late},
		)
		cancel()
		p.attempted(err)
		if err != nil {
			return err
		}
	}
	defer conn.Close()
	g.mu.Lock()
	if p.l.ctx.Err() != nil {
		g.mu.Unlock()
		return errNotLeading
	}
	p.conn, p.sent, p.told = conn, 0, 0
	g.mu.Unlock()
	for {
		if err := p.exchange(conn, timeout); err != nil {
			return err
		}
		if err := p.pause(timeout); err != nil {
			return err
		}
	}
}

// attempted notes how the first attempt to connect went.
func (p *peer) attempted(err error) {
	p.l.g.mu.Lock()
	defer p.l.g.mu.Unlock()
	if err != nil && !p.tried {
		p.failedFirst = time.Now()
	}
	p.tried = true
}

// late tells that the first attempt failed, and that the own endpoint has not been restarted since.
func (p *peer) late() bool {
	listens := p.l.g.m.opened()
	p.l.g.mu.Lock()
	defer p.l.g.mu.Unlock()
	return !p.failedFirst.IsZero() && !listens.After(p.failedFirst)
}

// pause waits for the next heartbeat, or for a configuration that the replica has not been sent yet.
func (p *peer) pause(timeout time.Duration) error {
	g := p.l.g
	interval := min(maxHeartbeat, timeout/5)
	if p.idleDatabases() {
		interval = min(interval, startHeartbeat)
	}
	next := time.NewTimer(interval)
	defer next.Stop()
	for {
		g.mu.Lock()
		due := p.l.newestLocked().Sequence > p.sent || p.l.committed.Sequence > p.told
		changed := g.changed
		g.mu.Unlock()
		if due {
			return nil
		}
		select {
		case <-next.C:
			return nil
		case <-changed:
		case <-p.l.ctx.Done():
			return errNotLeading
		}
	}
}

// idleDatabases tells whether the replica should be receiving log that it does not receive.
func (p *peer) idleDatabases() bool {
	g := p.l.g
	g.mu.Lock()
	defer g.mu.Unlock()
	r := p.l.committed.Replica(p.id)
	if r == nil || !r.Data() || !p.connected || !p.reply.Known {
		return false
	}
	for i := range p.l.committed.Databases {
		d := &p.l.committed.Databases[i]
		if rem := p.l.remoteLocked(p.id, d.ID); !rem.streaming && !rem.Suspended && rem.seedFailed == "" &&
			!p.l.suspended[d.ID] {
			return true
		}
	}
	return false
}

// exchange sends one control message and takes the answer.
func (p *peer) exchange(conn *endpoint.Conn, timeout time.Duration) error {
	g := p.l.g
	g.mu.Lock()
	newest := p.l.newestLocked()
	req := controlRequest{Epoch: p.l.epoch, Committed: p.l.committed.Sequence, Opened: g.m.opened()}
	// It is told once the configuration without it is committed; until then it votes.
	final := p.l.committed.Replica(p.id) == nil
	if p.accepted < newest.Sequence || !p.connected || !p.reply.Known {
		req.Config = newest
	}
	g.mu.Unlock()
	for i := range newest.Databases {
		id := newest.Databases[i].ID
		if db := g.localDatabase(id); db != nil {
			req.Databases = append(
				req.Databases,
				primaryDatabase{
					ID:          id,
					Forks:       db.Identity().Forks,
					End:         db.Log().End(),
					Keep:        lowestHold(db),
					Replication: db.Holds()[storage.HoldReplication],
					Chain:       db.Chain(),
					SendQueue:   p.sendQueue(id, db),
					Settings:    g.host.Settings(newest.Databases[i].Name),
				},
			)
		}
	}
	_ = conn.SetDeadline(time.Now().Add(timeout))
	if err := conn.SendValue(msgControl, req); err != nil {
		return err
	}
	var reply controlReply
	if err := conn.ReceiveValue(msgControlReply, &reply); err != nil {
		return err
	}
	return p.take(newest, reply, req.Committed, final)
}

// sendQueue is the log of a database that was not sent to the replica yet, in KB; 0 before the first.
func (p *peer) sendQueue(id uuid.UUID, db *storage.Database) int64 {
	p.l.g.mu.Lock()
	defer p.l.g.mu.Unlock()
	if r := p.l.remotes[remoteKey{p.id, id}]; r != nil {
		return r.queue(db.Log())
	}
	return 0
}

// queue is the log that was not sent yet, in KB.
func (r *remote) queue(log *storage.Log) int64 {
	end, sent := log.Bytes(log.End()), log.Bytes(r.sent)
	if r.sent.IsZero() || end <= sent {
		return 0
	}
	return int64((end - sent) >> 10)
}

// lowestHold is from where on any replica may need log.
func lowestHold(db *storage.Database) storage.LSN {
	low := db.Log().End()
	for _, lsn := range db.Holds() {
		if lsn.Less(low) {
			low = lsn
		}
	}
	return low
}

// take notes an answer and starts what it calls for.
func (p *peer) take(sent *group.Configuration, reply controlReply, committed uint64, final bool) error {
	l, g := p.l, p.l.g
	g.mu.Lock()
	if g.lead != l {
		g.mu.Unlock()
		return errNotLeading
	}
	if reply.Promised > l.epoch && l.committed.Options.ClusterType != group.None {
		g.mu.Unlock()
		go g.resign(l, Resolving, fmt.Sprintf("a newer primary was elected (epoch %d after %d)", reply.Promised, l.epoch))
		return errNotLeading
	}
	if reply.Promised > l.epoch && g.distributed() {
		g.mu.Unlock()
		go g.raise(l, reply.Promised)
		return errNotLeading
	}
	p.connected, p.lastReply, p.reply, p.lostAt, p.failedFirst = true, time.Now(), reply, time.Time{}, time.Time{}
	p.sent, p.told = sent.Sequence, committed
	if uint32(reply.Accepted>>32) == l.epoch && reply.Accepted > p.accepted {
		p.accepted = reply.Accepted
	}
	told := final && p.leaving
	for _, s := range reply.Databases {
		r := l.remoteLocked(p.id, s.ID)
		// Positions count only when they come with log of this epoch: those of another fork are not comparable. Until
		// then they are shown only.
		if !r.streaming {
			r.shown = s.progress
		}
		s.progress = r.progress
		r.secondaryStatus = s
		if c := g.st.Databases[s.ID]; c != nil {
			if db := g.host.Database(c.Name); db != nil {
				// Its mode may have changed since its last acknowledgement.
				l.considerGateLocked(p.id, s.ID, db)
			}
		}
	}
	p.forgetLeftLocked(reply)
	g.broadcastLocked()
	g.mu.Unlock()
	if told {
		return errTold
	}
	if reply.Known && reply.Follows {
		p.startWorkers(reply)
	}
	return nil
}

// forgetLeftLocked forgets that copies were suspended that the replica has no more: they may be seeded.
func (p *peer) forgetLeftLocked(reply controlReply) {
	if !reply.Known {
		return
	}
	for i := range p.l.committed.Databases {
		id := p.l.committed.Databases[i].ID
		if !slices.ContainsFunc(reply.Databases, func(s secondaryStatus) bool { return s.ID == id }) {
			p.l.remoteLocked(p.id, id).Suspended = false
		}
	}
}

// startWorkers has one goroutine per database that sends log or, where the database is missing, seeds it.
func (p *peer) startWorkers(reply controlReply) {
	l, g := p.l, p.l.g
	g.mu.Lock()
	defer g.mu.Unlock()
	r := l.committed.Replica(p.id)
	if r == nil || !r.Data() || !l.open {
		return
	}
	for i := range l.committed.Databases {
		d := &l.committed.Databases[i]
		if p.workers[d.ID] != nil || l.suspended[d.ID] || l.remoteLocked(p.id, d.ID).Suspended {
			continue
		}
		ctx, cancel := context.WithCancel(l.ctx)
		p.workers[d.ID] = cancel
		id := d.ID
		l.wait.Go(func() {
			defer cancel()
			err := p.work(ctx, id)
			g.mu.Lock()
			delete(p.workers, id)
			l.remoteLocked(p.id, id).endStream()
			g.broadcastLocked()
			g.mu.Unlock()
			g.wakeAfterGrace()
			if err != nil && ctx.Err() == nil {
				g.host.Log().
					Warn("availability group: data movement to a secondary ended", "group", g.Name(), "database", id, "replica", p.id,
						"error", err)
			}
		})
	}
}
