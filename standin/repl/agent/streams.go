// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"
)

// Several streams (-SubscriptionStreams) hide the way to the subscriber: while one request is on its way, others are on
// theirs. Each carries whole transactions, and waits at the subscriber until the one before it has committed; so the
// order is the publisher's, which the documentation does not promise, and an error leaves nothing out.

// unit is what one stream applies in one transaction: whole transactions of the publisher.
type unit struct {
	// before is the subscription's position when its turn comes.
	before   []byte
	commands []pending
}

// maxUnit bounds the bytes of transactions that are sent by one of several streams; larger ones go in one.
const maxUnit = 4 << 20

// streams are the connections and what was delivered over them.
type streams struct {
	d     *delivery
	units chan unit
	// held is what was read and is in no unit yet, of size bytes; it begins after the position before.
	held   []pending
	size   int
	before []byte
	// total and found are what was applied; delivery.mu guards them.
	total int64
	found progress
}

// deliverInStreams applies what is new over n connections. An error leaves the subscriber with a beginning of it.
func (d *delivery) deliverInStreams(ctx context.Context, n int) (int64, error) {
	first, stop := d.reading(ctx, d.last, nil, d.appliedList())
	defer stop()
	// One transaction for each stream is ready when its answer comes: answers come together, and reading that many then
	// would be added to every round trip.
	s := &streams{d: d, units: make(chan unit, n), before: d.last}
	work, working := errgroup.WithContext(ctx)
	started := 0
	large := false
	for b := range first {
		if b.err != nil {
			close(s.units)
			_ = work.Wait() // the reader's error is the cause
			stop()
			return s.total, d.tellBefore(ctx, s.found, b.err)
		}
		s.held = append(s.held, b.commands...)
		for _, c := range b.commands {
			s.size += len(c.raw)
		}
		if s.size > maxUnit {
			large = true
			break
		}
		for u := s.cut(b.end); u != nil && working.Err() == nil; u = s.cut(b.end) {
			// Where one transaction is all there is, one stream is enough. Else all connect at the same time: one after another,
			// at a few round trips each, would take as long as all have to do.
			for started < n && (started == 0 || !b.end || len(s.held) > 0) {
				i := started
				started++
				work.Go(func() error { return s.stream(working, i) })
			}
			select {
			case s.units <- *u:
			case <-working.Done():
			}
		}
		if b.end || working.Err() != nil {
			break
		}
	}
	close(s.units)
	if err := work.Wait(); err != nil {
		stop()
		return s.total, d.tellBefore(ctx, s.found, err)
	}
	if err := ctx.Err(); err != nil {
		return s.total, err
	}
	stop()
	if err := d.tell(ctx, s.found); err != nil {
		return s.total, err
	}
	if !large {
		return s.total, nil
	}
	rest, err := d.apply(ctx, d.last, nil, d.appliedList(), true)
	return s.total + rest, err
}

// cut takes whole transactions off what is held: as many as are a buffer full, or enough for a commit, or all at the
// end.
func (s *streams) cut(end bool) *unit {
	most, mostCommands := s.d.args.num("-CommitBatchSize", 100), s.d.args.num("-CommitBatchThreshold", 1000)
	whole, size, transactions := 0, 0, 0
	for i, c := range s.held {
		if i == 0 || string(c.seqno) != string(s.held[i-1].seqno) {
			if size >= bufferBytes || transactions >= most || i > 0 && i >= mostCommands {
				whole = i
				break
			}
			transactions++
		}
		size += len(c.raw)
	}
	if whole == 0 {
		if whole = len(s.held); !end || whole == 0 {
			return nil
		}
	}
	u := &unit{before: s.before, commands: s.held[:whole:whole]}
	s.before, s.held = u.commands[whole-1].seqno, s.held[whole:]
	s.size -= size
	return u
}

// stream applies units over a connection of its own, which the agent keeps for what it delivers next.
func (s *streams) stream(ctx context.Context, number int) (err error) {
	d := s.d
	to, err := d.streamConn(ctx, number)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			d.dropStream(number)
		}
	}()
	for {
		var u unit
		var more bool
		select {
		case u, more = <-s.units:
		case <-ctx.Done():
			return ctx.Err()
		}
		if !more {
			return nil
		}
		w := &writer{d: d, to: to, position: true, before: u.before, turn: true}
		if err := w.write(ctx, u.commands, true); err != nil {
			w.rollback(ctx)
			return fmt.Errorf("in one of several streams: %w", err)
		}
		d.mu.Lock()
		s.total += w.total
		s.found.add(w.progress)
		d.mu.Unlock()
	}
}

// streamConn is the connection of a stream, by its number from 0: made when it is first asked for.
func (d *delivery) streamConn(ctx context.Context, number int) (*Conn, error) {
	d.mu.Lock()
	to := d.streams[number]
	d.mu.Unlock()
	if to != nil {
		return to, nil
	}
	to, err := d.connectSubscriber(ctx)
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.streams[number] = to
	return to, nil
}

// dropStream closes the connection of a stream.
func (d *delivery) dropStream(number int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.streams[number].Close()
	delete(d.streams, number)
}

// closeStreams closes the connections of all streams.
func (d *delivery) closeStreams() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, to := range d.streams {
		to.Close()
	}
	d.streams = nil
}
