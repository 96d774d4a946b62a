// SPDX-License-Identifier: Apache-2.0

package tds

import (
	"context"
	"errors"
	"io"
	"runtime/debug"

	"geosql.dev/standin/sqlerr"
)

// serveMARS serves a connection on which the client may have several requests at a time ([MS-TDS] 3.2.5.2, [MC-SMP]).
func (c *conn) serveMARS() {
	m := newSMP(c)
	m.serving.Go(m.send)
	defer func() {
		c.close()
		m.close()
		m.serving.Wait()
		m.drop()
	}()
	for {
		s, err := m.packet()
		if err != nil {
			if !errors.Is(err, io.EOF) && c.ctx.Err() == nil {
				c.logf("read from client: %v", err)
			}
			return
		}
		if s != nil {
			m.serving.Go(func() { m.serve(s) })
		}
	}
}

// serve serves the requests of one SMP session. What ends the connection's session ends the connection.
func (m *smp) serve(s *smpSession) {
	defer func() {
		if p := recover(); p != nil {
			m.c.logf("internal error, connection closed: %v\n%s", p, debug.Stack())
			m.c.close()
		}
	}()
	c := m.of(s)
	m.serving.Go(c.receive)
	// Whoever stops serving stops reading: the goroutine that reads would wait for its request to be taken.
	defer c.cancel()
	for r := range c.requests {
		err := m.handle(c, r)
		r.cancel()
		giveBody(r.body)
		c.srv.release(r.held)
		switch {
		case err == nil:
		case c.ctx.Err() != nil && m.c.ctx.Err() == nil:
			// The client gave this session up, and no other.
		default:
			s.end()
			if !errors.Is(err, errSessionEnds) && m.c.ctx.Err() == nil {
				m.c.logf("%v", err)
			}
			m.c.close()
			return
		}
	}
	s.end()
}

// of is a connection for one SMP session: what belongs to a login is the whole connection's.
func (m *smp) of(s *smpSession) *conn {
	whole := m.c
	c := &conn{
		srv: whole.srv, nc: whole.nc, encrypted: whole.encrypted, strict: whole.strict, version: whole.version,
		utf8: whole.utf8, session: whole.session,
		requests: make(
			chan *request,
		), descriptor: whole.descriptor, collation: whole.collation, prepared: whole.prepared, cursors: whole.cursors,
		scoped: true,
	}
	c.in, c.out = newPacketReader(s), newPacketWriter(s, cap(whole.out.buf))
	c.out.spid = whole.out.spid
	c.spid.Store(whole.spid.Load())
	c.ctx, c.cancel = context.WithCancel(whole.ctx)
	return c
}

// handle executes a request when it is its turn. Until then it can be cancelled like one that is executed.
func (m *smp) handle(c *conn, r *request) error {
	if r.typ == packetAttention {
		return (&response{c: c, req: r, outside: true}).finish()
	}
	if !m.take(r) {
		if c.ctx.Err() != nil {
			return c.ctx.Err()
		}
		if r.stream != nil {
			for range r.stream {
			}
		}
		return (&response{c: c, req: r, outside: true}).finish()
	}
	defer func() { <-m.turn }()
	return c.handle(r)
}

// take waits for a request's turn; false when it was cancelled before.
func (m *smp) take(r *request) bool {
	select {
	case m.turn <- struct{}{}:
		return true
	default:
	}
	m.wait(1)
	defer m.wait(-1)
	select {
	case m.turn <- struct{}{}:
		return true
	case <-r.ctx.Done():
		return false
	}
}

func (m *smp) wait(more int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.waiting += more
	m.changed.Broadcast()
}

// endScope rolls a transaction back that a batch of a connection with MARS began and left open: it is the batch's own
// (docs/t-sql/language-elements/transactions-transact-sql.md, batch-scoped transactions).
func (c *conn) endScope(r *request, w *response, before uint64) error {
	if !c.scoped || before != 0 || r.typ == packetTransaction || c.session.InTransaction() == 0 {
		return nil
	}
	if err := c.session.Rollback(c.ctx, ""); err != nil {
		return err
	}
	return w.Message(sqlerr.New(3997, 1))
}
