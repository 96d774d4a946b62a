// SPDX-License-Identifier: Apache-2.0

package tds

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
)

// request is one message of a logged-in client, from its first packet to the end of its response.
type request struct {
	typ, status byte
	body        []byte
	// stream gives the packets of a bulk load while they arrive.
	stream chan []byte
	// ignored is a message that the client gave up half-way; overflow one that was too long to hold.
	ignored, overflow bool
	held              int

	ctx       context.Context
	cancel    context.CancelFunc
	attention atomic.Bool
	mu        sync.Mutex
	finished  bool
}

// contradictory tells whether the request asks for a reset with and without the end of its transaction.
func (r *request) contradictory() bool {
	return r.status&statusReset != 0 && r.status&statusResetSkipTran != 0
}

// interrupt cancels the request; false when its response has ended already.
func (r *request) interrupt() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.finished {
		return false
	}
	r.attention.Store(true)
	r.cancel()
	return true
}

// finish marks the end of the response and tells whether it must acknowledge an ATTENTION.
func (r *request) finish() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.finished = true
	return r.attention.Load()
}

// receive reads requests and hands them to the goroutine that executes them, so that an ATTENTION is seen while a
// statement runs. It ends when the connection does.
func (c *conn) receive() {
	defer close(c.requests)
	// A client that is gone cancels its statement.
	defer c.cancel()
	var last *request
	for {
		p, err := c.in.next()
		if err != nil {
			if !errors.Is(err, io.EOF) && c.ctx.Err() == nil {
				c.logf("read from client: %v", err)
			}
			return
		}
		if p.typ == packetAttention {
			if last != nil && last.interrupt() {
				continue
			}
			last = c.newRequest(p)
			last.attention.Store(true)
			if !c.deliver(last) {
				return
			}
			continue
		}
		last = c.newRequest(p)
		if p.typ == packetBulk {
			err = c.receiveStream(last, p)
		} else {
			err = c.receiveWhole(last, p)
		}
		if err != nil {
			c.logf("read from client: %v", err)
			return
		}
	}
}

func (c *conn) newRequest(p packet) *request {
	r := &request{typ: p.typ, status: p.status}
	r.ctx, r.cancel = context.WithCancel(c.ctx)
	return r
}

func (c *conn) deliver(r *request) bool {
	select {
	case c.requests <- r:
		return true
	case <-c.ctx.Done():
		r.cancel()
		return false
	}
}

// receiveWhole collects a message. One that is too long is read to its end and forgotten, so that the client gets its
// error.
func (c *conn) receiveWhole(r *request, p packet) error {
	for {
		n := len(p.body)
		switch {
		case r.overflow:
		case len(r.body)+n > c.srv.cfg.MaxRequest || !c.srv.hold(n):
			r.overflow, r.body = true, nil
		default:
			r.held += n
			if r.body == nil {
				r.body = takeBody()
			}
			r.body = append(r.body, p.body...)
		}
		if p.status&statusEOM != 0 {
			r.ignored = p.status&statusIgnore != 0
			break
		}
		var err error
		if p, err = c.in.next(); err == nil && p.typ == packetAttention {
			// The client cancels a request that it has not sent to its end, and does not go on with it.
			r.ignored = true
			r.interrupt()
			break
		}
		if err == nil && p.typ != r.typ {
			err = fmt.Errorf("packet of type 0x%02x inside a message of type 0x%02x", p.typ, r.typ)
		}
		if err != nil {
			c.srv.release(r.held)
			r.cancel()
			return err
		}
	}
	if !c.deliver(r) {
		c.srv.release(r.held)
		return c.ctx.Err()
	}
	return nil
}

// keptBody bounds the bodies that are used again.
const keptBody = 1 << 20

// bodies are those of requests that were served: without them, each long request leaves several times its size to the
// garbage collector while it grows.
var bodies sync.Pool

func takeBody() []byte {
	if b, ok := bodies.Get().(*[]byte); ok {
		return (*b)[:0]
	}
	return nil
}

// giveBody gives the body of a request back that was served. What was read of it are copies.
func giveBody(b []byte) {
	if cap(b) > 0 && cap(b) <= keptBody {
		bodies.Put(&b)
	}
}

// receiveStream passes the packets of a bulk load on while they arrive. A few are in flight, no more.
func (c *conn) receiveStream(r *request, p packet) error {
	r.stream = make(chan []byte, 4)
	defer close(r.stream)
	if !c.deliver(r) {
		return c.ctx.Err()
	}
	for {
		if p.status&statusEOM != 0 && p.status&statusIgnore != 0 {
			// Given up before its last bytes are looked at: they may look like the end of the load.
			r.cancel()
			return nil
		}
		select {
		case r.stream <- append([]byte{}, p.body...):
		case <-c.ctx.Done():
			return c.ctx.Err()
		}
		if p.status&statusEOM != 0 {
			return nil
		}
		var err error
		if p, err = c.in.next(); err != nil {
			r.cancel()
			return err
		}
		if p.typ == packetAttention {
			// The client cancels the load between two of its packets and does not go on with it: this is not its end.
			r.interrupt()
			return nil
		}
		if p.typ != packetBulk {
			r.cancel()
			return fmt.Errorf("packet of type 0x%02x inside a bulk load", p.typ)
		}
	}
}
