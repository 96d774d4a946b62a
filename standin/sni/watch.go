// SPDX-License-Identifier: Apache-2.0

package sni

import (
	"errors"
	"net"
	"os"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// lookEvery is how often a connection is looked at; it is given up this much later than Unacknowledged at most.
const lookEvery = 5 * time.Second

// watched is a connection that is closed when the other side has not been heard of while something is on its way there.
//
// The system can do that by itself (TCP_USER_TIMEOUT), but would also end a connection whose other side is there and
// takes nothing for a while: a client that pauses between rows, a server whose process is stopped (tcp(7): zero window
// size).
type watched struct {
	*net.TCPConn
	timer *time.Timer
	// waiting is since when something is on its way and nothing was heard; zero when nothing is. Only looks use it, which
	// come one after another.
	waiting time.Time
	lost    atomic.Bool
}

func watch(tcp *net.TCPConn) *watched {
	w := &watched{TCPConn: tcp}
	// A look sets the timer again, so that is there before the first one.
	w.timer = time.AfterFunc(time.Hour, w.look)
	w.timer.Reset(lookEvery)
	return w
}

// look closes the connection, or says when to look again.
func (w *watched) look() {
	info, err := w.info()
	if err != nil {
		return // it is closed
	}
	now := time.Now()
	// A probe of a closed window, or of a silent connection, counts as something on its way until it is answered.
	if info.Unacked == 0 && info.Probes == 0 {
		w.waiting = time.Time{}
		w.timer.Reset(lookEvery)
		return
	}
	if w.waiting.IsZero() {
		w.waiting = now
	}
	heard := now.Add(-time.Duration(min(info.Last_ack_recv, info.Last_data_recv)) * time.Millisecond)
	if heard.After(w.waiting) {
		w.waiting = heard
	}
	left := Unacknowledged - now.Sub(w.waiting)
	if left <= 0 {
		w.lost.Store(true)
		_ = w.Close()
		return
	}
	w.timer.Reset(min(left, lookEvery))
}

// info is what the system knows of the connection; its times are in milliseconds.
func (w *watched) info() (info *unix.TCPInfo, err error) {
	raw, err := w.SyscallConn()
	if err != nil {
		return nil, err
	}
	outside := raw.Control(
		func(fd uintptr) { info, err = unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO) },
	)
	return info, errors.Join(outside, err)
}

// Read says that the connection timed out when it was given up.
func (w *watched) Read(b []byte) (int, error) {
	n, err := w.TCPConn.Read(b)
	return n, w.explain("read", err)
}

// Write says that the connection timed out when it was given up.
func (w *watched) Write(b []byte) (int, error) {
	n, err := w.TCPConn.Write(b)
	return n, w.explain("write", err)
}

func (w *watched) explain(doing string, err error) error {
	if err == nil || !w.lost.Load() {
		return err
	}
	return &net.OpError{
		Op:     doing,
		Net:    "tcp",
		Source: w.LocalAddr(),
		Addr:   w.RemoteAddr(),
		Err:    os.NewSyscallError(doing, unix.ETIMEDOUT),
	}
}

// Close ends the connection and its watch.
func (w *watched) Close() error {
	w.timer.Stop()
	return w.TCPConn.Close()
}
