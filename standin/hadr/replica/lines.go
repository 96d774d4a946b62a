// SPDX-License-Identifier: Apache-2.0

package replica

import (
	"context"
	"sync"
	"time"

	"github.com/google/uuid"

	"geosql.dev/operator/standin/hadr/endpoint"
	"geosql.dev/operator/standin/hadr/group"
)

// lineLife is how long a kept connection may be used again; the other side waits a little longer for the next message.
const lineLife = helloTimeout / 2

// lines are connections on which other replicas were asked for their promises. The next question goes over the same one,
// and so do the regular messages when this replica becomes primary: over a slow link, a new connection for each would take
// three round trips of the time in which nobody serves.
type lines struct {
	mu   sync.Mutex
	kept map[uuid.UUID]line
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

// drop closes all.
func (l *lines) drop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, k := range l.kept {
		k.conn.Close()
	}
	l.kept = nil
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
func (g *Group) askOne(ctx context.Context, r *group.Replica, req prepareRequest) (p group.Promise, err error) {
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
		return p, err
	}
	if p, err = askOver(ctx, conn, req); err != nil {
		conn.Close()
		return p, err
	}
	g.lines.keep(r.ID, conn)
	return p, nil
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
