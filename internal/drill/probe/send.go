// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Sent is what the kernel of the sender tells of one transfer (tcp(7), TCP_INFO). A segment that was lost on the way,
// or thrown away since its checksum was wrong, is sent again; one that came twice is reported by the receiver (RFC
// 2883).
type Sent struct {
	// To is host:port.
	To string `json:"to"`
	// Connect is how long it took to open the connection; 0 when it was not opened.
	Connect time.Duration `json:"connect"`
	// Bytes that the other side acknowledged, and in what Time since the first of them was sent.
	Bytes uint64        `json:"bytes"`
	Time  time.Duration `json:"time"`
	// Segments with data that were sent, Resent ones among them, and Duplicates that the receiver reported.
	Segments   uint32 `json:"segments"`
	Resent     uint32 `json:"resent"`
	Duplicates uint32 `json:"duplicates"`
	// Reason why it could not be done.
	Reason string `json:"reason,omitempty"`
}

// SendOptions of a transfer.
type SendOptions struct {
	// To are HTTPS servers, host:port: the agents beside other engines. They throw away what they are sent.
	To []string
	// Bytes is the most that is sent to each, For how long.
	Bytes int
	For   time.Duration
}

// bodySize of one request. Go's HTTP server reads and throws away up to 256 KiB of a body that its handler has left
// (net/http, maxPostHandlerReadBytes) and keeps the connection open.
const bodySize = 200 << 10

// Send sends to all at the same time. The time of a transfer ends with the last acknowledgement, at the latest when For
// is over.
func Send(ctx context.Context, o SendOptions) []Sent {
	results := make([]Sent, len(o.To))
	var wait sync.WaitGroup
	for i, to := range o.To {
		wait.Go(func() { results[i] = send(ctx, o, to) })
	}
	wait.Wait()
	return results
}

func send(ctx context.Context, o SendOptions, to string) Sent {
	s := Sent{To: to}
	ctx, cancel := context.WithTimeout(ctx, o.For)
	defer cancel()
	began := time.Now()
	raw, err := new(net.Dialer).DialContext(ctx, "tcp", to)
	if err != nil {
		s.Reason = err.Error()
		return s
	}
	defer func() { _ = raw.Close() }()
	s.Connect = time.Since(began)
	deadline, _ := ctx.Deadline()
	_ = raw.SetDeadline(deadline)
	// Nothing is told and nothing believed: what is sent is noise, and only how it travels counts.
	//nolint:gosec // see above
	conn := tls.Client(
		raw,
		&tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}},
	)
	if err := conn.HandshakeContext(ctx); err != nil {
		s.Reason = err.Error()
		return s
	}
	before, err := information(raw)
	if err != nil {
		s.Reason = err.Error()
		return s
	}
	began = time.Now()
	if err := requests(conn, to, o.Bytes); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		var timeout net.Error
		if !errors.As(err, &timeout) || !timeout.Timeout() {
			s.Reason = err.Error()
		}
	}
	s.Time = time.Since(began)
	after, err := information(raw)
	if err != nil {
		s.Reason = err.Error()
		return s
	}
	s.Bytes, s.Segments = after.Bytes_acked-before.Bytes_acked, after.Data_segs_out-before.Data_segs_out
	s.Resent, s.Duplicates = after.Total_retrans-before.Total_retrans, after.Dsack_dups-before.Dsack_dups
	return s
}

// requests sends one after the other on the same connection and waits for each answer, which comes when all of it is
// there.
func requests(conn net.Conn, host string, bytes int) error {
	body := make([]byte, bodySize)
	answers := bufio.NewReader(conn)
	for sent := 0; sent < bytes; {
		part := body[:min(bodySize, bytes-sent)]
		if _, err := fmt.Fprintf(conn, "GET /livez HTTP/1.1\r\nHost: %s\r\nContent-Length: %d\r\n\r\n", host,
			len(part)); err != nil {
			return err
		}
		if _, err := conn.Write(part); err != nil {
			return err
		}
		sent += len(part)
		answer, err := http.ReadResponse(answers, nil)
		if err != nil {
			return err
		}
		_ = answer.Body.Close()
		if answer.StatusCode >= http.StatusBadRequest {
			return fmt.Errorf("the server at %s answers %s", host, answer.Status)
		}
	}
	return nil
}

// information is what the kernel knows of a connection.
func information(conn net.Conn) (*unix.TCPInfo, error) {
	raw, err := conn.(syscall.Conn).SyscallConn()
	if err != nil {
		return nil, fmt.Errorf("look at a connection: %w", err)
	}
	var info *unix.TCPInfo
	var asked error
	if err := raw.Control(func(fd uintptr) {
		info,
			asked = unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO)
	}); err != nil {
		return nil, fmt.Errorf("look at a connection: %w", err)
	}
	if asked != nil {
		return nil, fmt.Errorf("ask the kernel about a connection: %w", asked)
	}
	return info, nil
}
