// SPDX-License-Identifier: Apache-2.0

package replica

import (
	"context"
	"sync"
	"time"

	"github.com/google/uuid"

	"geosql.dev/standin/hadr/endpoint"
	"geosql.dev/standin/hadr/group"
)

// lineLife is how long a kept connection may be used again; the other side waits a little longer for the next message.
const lineLife = helloTimeout / 2

const (
	// linesEvery is how often a replica without a primary greets the others, well within lineLife, and alone is after how
	// long without a word of a primary it does, give or take aloneEvery; where the primary's connection has ended it does
	// at once.
	linesEvery = lineLife * 4 / 5
	alone      = 2 * maxHeartbeat
	aloneEvery = alone / 8
	// greetTimeout bounds one greeting.
	greetTimeout = 2 * time.Second
)

// lines are connections on which other replicas were asked for their promises. The next question goes over the same
// one, and so do the regular messages when this replica becomes primary: over a slow link, a new connection for each
// would take three round trips of the time in which nobody serves. A replica that has lost its primary, or has not
// heard of one for a while, makes them before anybody promotes it.
type lines struct {
	mu   sync.Mutex
	kept map[uuid.UUID]line
	// greeted is when the others were last greeted.
	greeted time.Time
}

type line struct {
	conn *endpoint.Conn
	at   time.Time
}

// keep keeps a connection to a replica; an older one is closed.
func (l *lines) keep(replica uuid.UUID, conn *endpoint.Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.kept == nil {
		l.kept = map[uuid.UUID]line{}
	}
	if old, ok := l.kept[replica]; ok {
		old.conn.Close()
	}
	l.kept[replica] = line{conn, time.Now()}
}

// take hands over the connection to a replica, nil when there is none.
func (l *lines) take(replica uuid.UUID) *endpoint.Conn {
	l.mu.Lock()
	defer l.mu.Unlock()
	k, ok := l.kept[replica]
	delete(l.kept, replica)
	if !ok {
		return nil
	}
	if time.Since(k.at) > lineLife {
		k.conn.Close()
		return nil
	}
	return k.conn
}

// due tells whether the others are to be greeted again, as they are then.
func (l *lines) due(now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now.Sub(l.greeted) < linesEvery {
		return false
	}
	l.greeted = now
	return true
}

// expire closes those that may not be used again: an answer may have come when nobody waited for it any more.
func (l *lines) expire() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for replica, k := range l.kept {
		if time.Since(k.at) > lineLife {
			k.conn.Close()
			delete(l.kept, replica)
		}
	}
}

// drop closes all.
func (l *lines) drop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, k := range l.kept {
		k.conn.Close()
	}
	l.kept, l.greeted = nil, time.Time{}
}

// dropLines closes the kept connections unless this replica is becoming primary and uses them.
func (g *Group) dropLines() {
	g.mu.Lock()
	leading := g.lead != nil
	g.mu.Unlock()
	if !leading {
		g.lines.drop()
	}
}

// askOne asks a replica, over the kept connection while that works.
func (g *Group) askOne(ctx context.Context, r *group.Replica, req prepareRequest) (group.Promise, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	if conn := g.lines.take(r.ID); conn != nil {
		if p, err := askOver(ctx, conn, req); err == nil {
			g.lines.keep(r.ID, conn)
			return p, nil
		}
		conn.Close()
	}
	conn, err := g.m.dial(ctx, r.EndpointURL, hello{Purpose: purposePrepare, Group: g.id, Name: g.Name(), From: g.Self()})
	if err != nil {
		return group.Promise{}, err
	}
	p, err := askOver(ctx, conn, req)
	if err != nil {
		conn.Close()
		return p, err
	}
	g.lines.keep(r.ID, conn)
	return p, nil
}

// keepLines has connections ready at replicas that have no primary.
func (m *Manager) keepLines() {
	tick := time.NewTicker(aloneEvery)
	defer tick.Stop()
	for {
		select {
		case <-m.ctx.Done():
			return
		case <-tick.C:
		case <-m.lost:
		}
		for _, g := range m.Groups() {
			switch leading, isAlone := g.company(); {
			case isAlone && g.lines.due(time.Now()):
				m.wait.Go(g.greet)
			case isAlone:
			case leading:
				g.lines.expire()
			default:
				g.lines.drop()
			}
		}
	}
}

// company tells whether this replica is primary, or becoming it or never can, and else whether no primary has been
// heard of for a while.
func (g *Group) company() (leading, isAlone bool) {
	if g.distributed() {
		return true, false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.lead != nil || g.stopped || g.st.Accepted == nil {
		return true, false
	}
	if self := g.st.Accepted.Replica(g.self); self == nil || !self.Data() {
		return true, false
	}
	return false, time.Since(g.contact.at) > alone
}

// greet asks the others what they know, which changes nothing.
func (g *Group) greet() {
	ctx, cancel := context.WithTimeout(g.m.ctx, greetTimeout)
	defer cancel()
	g.mu.Lock()
	c, self := g.st.Accepted, g.self
	g.mu.Unlock()
	var all sync.WaitGroup
	for i := range c.Replicas {
		if r := c.Replicas[i]; r.ID != self {
			all.Go(func() { _, _ = g.askOne(ctx, &r, prepareRequest{Read: true}) })
		}
	}
	all.Wait()
}

func askOver(ctx context.Context, conn *endpoint.Conn, req prepareRequest) (p group.Promise, err error) {
	deadline, _ := ctx.Deadline()
	_ = conn.SetDeadline(deadline)
	if err := conn.SendValue(msgPrepare, req); err != nil {
		return p, err
	}
	err = conn.ReceiveValue(msgPromise, &p)
	return p, err
}
