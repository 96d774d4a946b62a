// SPDX-License-Identifier: Apache-2.0

package tds

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
)

// Packets of the Session Multiplex Protocol ([MC-SMP] 2.2.1), in which a connection with MARS goes on after its login.
const (
	smpID         byte = 0x53
	smpSYN        byte = 0x01
	smpACK        byte = 0x02
	smpFIN        byte = 0x04
	smpDATA       byte = 0x08
	smpHeaderSize      = 16
	// smpWindow is how many DATA packets may be on their way before the first is acknowledged ([MC-SMP] 3.1.3.1).
	smpWindow = 4
)

// maxSMPSessions bounds the sessions of a connection: each has two goroutines. pendingResults is how much of a result
// waits for its client before the statement does; only where another request of the connection waits for that statement
// does it go on regardless.
const (
	maxSMPSessions = 1000
	pendingResults = 256 << 10
)

// smp is the multiplexed stream of a connection with MARS. The engine's session executes one request at a time: the
// requests of its SMP sessions take turns, each to its end, and results that their client does not read yet wait in
// memory, which counts as the server's memory for requests.
type smp struct {
	c   *conn
	in  io.Reader
	out *bufio.Writer
	// turn is held by the request that is executed.
	turn    chan struct{}
	serving sync.WaitGroup

	mu       sync.Mutex
	changed  *sync.Cond
	sessions map[uint16]*smpSession
	// waiting is how many requests wait for their turn.
	waiting int
	// sending is set while packets that are in no queue any more are on their way.
	sending bool
	closed  bool
}

// smpSession is one of its sessions, the stream of requests and responses of one statement handle at the client.
// Sequence numbers are those of [MC-SMP] 3.1.1.1.
type smpSession struct {
	m  *smp
	id uint16
	// received are the packets that are still to be read, queue those that are still to be sent, and partial the beginning
	// of one more.
	received, queue [][]byte
	partial         []byte
	held            int

	sequenceReceived, highReceived, highTold uint32
	sequenceSent, highSent                   uint32
	// finished is set by the client's FIN, ended when nothing more will be written.
	finished, ended bool
}

func newSMP(c *conn) *smp {
	m := &smp{c: c, in: c.in.r, out: c.out.w, turn: make(chan struct{}, 1), sessions: map[uint16]*smpSession{}}
	m.changed = sync.NewCond(&m.mu)
	return m
}

// close ends all sessions: their readers see the end of the stream, their writers fail.
func (m *smp) close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	m.changed.Broadcast()
}

// packet reads one packet and gives it to its session. A new session is returned, to be served.
func (m *smp) packet() (*smpSession, error) {
	var h [smpHeaderSize]byte
	if _, err := io.ReadFull(m.in, h[:]); err != nil {
		return nil, err
	}
	kind, id, length := h[1], binary.LittleEndian.Uint16(h[2:]), binary.LittleEndian.Uint32(h[4:])
	sequence, window := binary.LittleEndian.Uint32(h[8:]), binary.LittleEndian.Uint32(h[12:])
	if h[0] != smpID || length < smpHeaderSize || length > smpHeaderSize+maxPacketSize ||
		kind != smpDATA && length != smpHeaderSize {
		return nil, fmt.Errorf("not a packet of SMP: % x", h)
	}
	data := make([]byte, length-smpHeaderSize)
	if _, err := io.ReadFull(m.in, data); err != nil {
		return nil, fmt.Errorf("packet of SMP session %d: %w", id, err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.sessions[id]
	switch {
	case kind == smpSYN && s == nil && len(m.sessions) >= maxSMPSessions:
		return nil, fmt.Errorf("more than %d SMP sessions", maxSMPSessions)
	case kind == smpSYN && s == nil:
		s = &smpSession{m: m, id: id, highReceived: smpWindow, highTold: smpWindow, highSent: window}
		m.sessions[id] = s
		return s, nil
	case s == nil || s.finished:
		return nil, fmt.Errorf("packet of kind 0x%02x for SMP session %d, which is not open", kind, id)
	}
	if int32(window-s.highSent) > 0 {
		s.highSent = window
	}
	err := s.take(kind, sequence, data)
	m.changed.Broadcast()
	return nil, err
}

// take does what a packet says ([MC-SMP] 3.1.5.1).
func (s *smpSession) take(kind byte, sequence uint32, data []byte) error {
	switch {
	case kind == smpDATA && (sequence != s.sequenceReceived+1 || int32(sequence-s.highReceived) > 0):
		return fmt.Errorf(
			"packet %d of SMP session %d after %d, with a window up to %d",
			sequence,
			s.id,
			s.sequenceReceived,
			s.highReceived,
		)
	case kind == smpDATA:
		s.sequenceReceived = sequence
		s.received = append(s.received, data)
	case kind == smpFIN:
		s.finished = true
	case kind == smpACK && sequence != s.sequenceReceived:
		return fmt.Errorf("acknowledgement behind packet %d of SMP session %d after %d", sequence, s.id, s.sequenceReceived)
	case kind != smpACK:
		return fmt.Errorf("packet of kind 0x%02x for SMP session %d, which is open", kind, s.id)
	}
	return nil
}

// Read reads what the client sent. Whoever has read a packet has made room for another.
func (s *smpSession) Read(p []byte) (int, error) {
	s.m.mu.Lock()
	defer s.m.mu.Unlock()
	for {
		switch {
		case len(s.received) > 0:
			n := copy(p, s.received[0])
			if s.received[0] = s.received[0][n:]; len(s.received[0]) == 0 {
				s.received = s.received[1:]
				s.highReceived++
				s.m.changed.Broadcast()
			}
			if n > 0 || len(p) == 0 {
				return n, nil
			}
		case s.finished || s.m.closed:
			return 0, io.EOF
		default:
			s.m.changed.Wait()
		}
	}
}

// errPending fails a statement whose results have no room.
var errPending = errors.New("results that the client does not read need more memory than there is for requests")

// Write takes TDS packets that are to be sent. It waits while the client is behind, unless another request waits for
// this one.
func (s *smpSession) Write(p []byte) (int, error) {
	m := s.m
	m.mu.Lock()
	defer m.mu.Unlock()
	for s.held >= pendingResults && m.waiting == 0 && !s.finished && !m.closed {
		m.changed.Wait()
	}
	if s.finished || m.closed {
		return 0, net.ErrClosed
	}
	if !m.c.srv.hold(len(p)) {
		return 0, errPending
	}
	s.held += len(p)
	s.partial = append(s.partial, p...)
	for len(s.partial) >= headerSize {
		n := int(binary.BigEndian.Uint16(s.partial[2:]))
		if len(s.partial) < n {
			break
		}
		s.queue = append(s.queue, s.partial[:n:n])
		s.partial = s.partial[n:]
	}
	m.changed.Broadcast()
	return len(p), nil
}

// end tells that nothing more will be written. It waits for what was written to leave, unless the client is gone.
func (s *smpSession) end() {
	s.m.mu.Lock()
	defer s.m.mu.Unlock()
	s.ended = true
	s.m.changed.Broadcast()
	for (len(s.queue) > 0 || s.m.sending) && !s.finished && !s.m.closed {
		s.m.changed.Wait()
	}
}

// send sends what is to be sent until the stream is closed.
func (m *smp) send() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for {
		b := m.ready()
		if m.closed {
			return
		}
		if len(b) == 0 {
			m.changed.Wait()
			continue
		}
		m.sending = true
		m.mu.Unlock()
		_, err := m.out.Write(b)
		if err == nil {
			err = m.out.Flush()
		}
		m.mu.Lock()
		m.sending = false
		m.changed.Broadcast()
		if err != nil {
			m.c.close()
			return
		}
	}
}

// ready are the packets that may be sent now.
func (m *smp) ready() []byte {
	var b []byte
	for id, s := range m.sessions {
		b = s.appendReady(b)
		if s.finished && s.ended {
			b = s.appendPacket(b, smpFIN, nil)
			delete(m.sessions, id)
		}
	}
	return b
}

// drop forgets what is still to be sent when nobody sends any more.
func (m *smp) drop() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, s := range m.sessions {
		s.drop()
	}
}

func (s *smpSession) appendReady(b []byte) []byte {
	if s.finished {
		s.drop()
	}
	for len(s.queue) > 0 && s.sequenceSent != s.highSent {
		data := s.queue[0]
		s.queue = s.queue[1:]
		s.held -= len(data)
		s.m.c.srv.release(len(data))
		s.sequenceSent++
		b = s.appendPacket(b, smpDATA, data)
	}
	// An acknowledgement of its own for two packets: a window of four is then never closed.
	if s.highReceived-s.highTold >= smpWindow/2 {
		b = s.appendPacket(b, smpACK, nil)
	}
	return b
}

// drop forgets what will not be sent any more.
func (s *smpSession) drop() {
	s.m.c.srv.release(s.held)
	s.held, s.queue, s.partial = 0, nil, nil
}

func (s *smpSession) appendPacket(b []byte, kind byte, data []byte) []byte {
	s.highTold = s.highReceived
	b = append(b, smpID, kind)
	b = binary.LittleEndian.AppendUint16(b, s.id)
	b = binary.LittleEndian.AppendUint32(b, uint32(smpHeaderSize+len(data)))
	b = binary.LittleEndian.AppendUint32(b, s.sequenceSent)
	b = binary.LittleEndian.AppendUint32(b, s.highReceived)
	return append(b, data...)
}
