// SPDX-License-Identifier: Apache-2.0

package reach

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// maxPacket is how long a packet can be; a loopback takes longer ones.
const maxPacket = 1<<16 - 1

// retryEvery is how long after an attempt the next one is made.
const retryEvery = 200 * time.Millisecond

// errAnother is what answers without knowing the run.
var errAnother = errors.New("what answers there is not the other pod")

// Ask measures. What fails is a part of the answer.
func Ask(ctx context.Context, o Options) Answer {
	var a Answer
	for _, name := range o.Names {
		a.Names = append(a.Names, o.lookUp(ctx, name))
	}
	a.Ports = each(o.To, func(to string) Port {
		return port(to, o.patiently(ctx, func(err error) bool { return err == nil }, func() error {
			return o.greet(ctx, to)
		}))
	})
	a.Connect = each(o.Connect, func(to string) Port {
		_, err := o.connect(ctx, to, nil)
		return port(to, err)
	})
	for _, p := range a.Ports {
		if p.Failure == "" {
			a.Way = o.measure(ctx, p.To)
			break
		}
	}
	// A policy may come into force later than what it lets through is there.
	a.Closed = each(o.Closed, func(to string) Port {
		return port(to, o.patiently(ctx, func(err error) bool { return err != nil }, func() error {
			return o.greet(ctx, to)
		}))
	})
	return a
}

// each asks about all at once and keeps their order.
func each(all []string, ask func(string) Port) []Port {
	ports := make([]Port, len(all))
	var wait sync.WaitGroup
	for i, to := range all {
		wait.Go(func() { ports[i] = ask(to) })
	}
	wait.Wait()
	return ports
}

// patiently tries until an outcome is good, or patience is over, and returns the last one.
func (o Options) patiently(ctx context.Context, good func(error) bool, try func() error) error {
	until := time.Now().Add(o.Patience)
	for {
		err := try()
		if good(err) || time.Now().After(until) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(retryEvery):
		}
	}
}

func port(to string, err error) Port {
	failure, text := failed(err)
	return Port{To: to, Failure: failure, Error: text}
}

// failed says how something failed, by what the error is and never by its text.
func failed(err error) (Failure, string) {
	var network net.Error
	var name *net.DNSError
	switch {
	case err == nil:
		return "", ""
	case errors.Is(err, errAnother):
		return Another, err.Error()
	case errors.As(err, &name):
		return NoName, err.Error()
	case errors.Is(err, syscall.ECONNREFUSED):
		return Refused, err.Error()
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return NoWay, err.Error()
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &network) && network.Timeout():
		return Silent, err.Error()
	}
	return Other, err.Error()
}

func (o Options) lookUp(ctx context.Context, name string) Name {
	ctx, cancel := context.WithTimeout(ctx, o.Timeout)
	defer cancel()
	began := time.Now()
	addresses, err := net.DefaultResolver.LookupHost(ctx, name)
	n := Name{Name: name, Addresses: addresses, Took: time.Since(began)}
	if err != nil {
		n.Error = err.Error()
	}
	return n
}

// connect opens a connection, has it used, and returns how long the opening took.
func (o Options) connect(ctx context.Context, to string, use func(net.Conn) error) (time.Duration, error) {
	dialer := net.Dialer{Timeout: o.Timeout}
	began := time.Now()
	conn, err := dialer.DialContext(ctx, "tcp", to)
	took := time.Since(began)
	if err != nil {
		return took, fmt.Errorf("connect to %s: %w", to, err)
	}
	defer conn.Close()
	if use == nil {
		return took, nil
	}
	if err := conn.SetDeadline(time.Now().Add(o.Timeout)); err != nil {
		return took, err
	}
	return took, use(conn)
}

// talk sends data and reads what is asked for. Something that accepts connections for another, such as the proxy of a
// mesh, is not taken for it: the other side answers by the run's name.
func (o Options) talk(conn net.Conn, there, back int) error {
	if _, err := fmt.Fprintf(conn, "%s %s %d %d\n", word, o.Run, there, back); err != nil {
		return fmt.Errorf("send to %s: %w", conn.RemoteAddr(), err)
	}
	if _, err := io.CopyN(conn, noise(), int64(there)); err != nil {
		return fmt.Errorf("send %d bytes to %s: %w", there, conn.RemoteAddr(), err)
	}
	from := bufio.NewReaderSize(conn, maxLine)
	line, err := from.ReadSlice('\n')
	switch {
	case err != nil && errors.Is(err, io.EOF), errors.Is(err, bufio.ErrBufferFull), errors.Is(err, syscall.ECONNRESET):
		return fmt.Errorf("%s ended or said something else: %w", conn.RemoteAddr(), errAnother)
	case err != nil:
		return fmt.Errorf("hear of %s whether it has %d bytes: %w", conn.RemoteAddr(), there, err)
	case strings.TrimSuffix(string(line), "\n") != word+" "+o.Run:
		return fmt.Errorf("%s said something else: %w", conn.RemoteAddr(), errAnother)
	}
	if _, err := io.CopyN(io.Discard, from, int64(back)); err != nil {
		return fmt.Errorf("read %d bytes of %s: %w", back, conn.RemoteAddr(), err)
	}
	return nil
}

// greet tells whether the other side is at an address.
func (o Options) greet(ctx context.Context, to string) error {
	_, err := o.connect(ctx, to, func(conn net.Conn) error { return o.talk(conn, 0, 0) })
	return err
}

// measure finds out how data goes to an address that answers.
func (o Options) measure(ctx context.Context, to string) *Way {
	w := &Way{To: to}
	var times []time.Duration
	for range o.Count {
		took, err := o.connect(ctx, to, nil)
		if err != nil {
			w.Lost++
			continue
		}
		times = append(times, took)
	}
	w.Connections = len(times)
	if len(times) > 0 {
		slices.Sort(times)
		w.RoundTrip = times[len(times)/2]
	}
	w.There = o.transfer(ctx, to, o.Bytes, 0, w)
	w.Back = o.transfer(ctx, to, 0, o.Bytes, w)
	return w
}

// transfer sends data there or has it sent back. It is tried twice: one that fails both times fails for a reason.
func (o Options) transfer(ctx context.Context, to string, there, back int, w *Way) Transfer {
	t := Transfer{Bytes: there + back}
	for range 2 {
		_, err := o.connect(ctx, to, func(conn net.Conn) error {
			began := time.Now()
			err := o.talk(conn, there, back)
			t.Took = time.Since(began)
			if there > 0 {
				w.look(conn)
			}
			return err
		})
		if t.Failure, t.Error = failed(err); err == nil {
			return t
		}
	}
	t.Took = 0
	return t
}

// look reads what the kernel has learnt of a connection's path.
func (w *Way) look(conn net.Conn) {
	if tcp, is := conn.(*net.TCPConn); is {
		w.Path, w.Segment = pathOf(tcp)
	}
	local, is := conn.LocalAddr().(*net.TCPAddr)
	if !is {
		return
	}
	interfaces, err := net.Interfaces()
	if err != nil {
		return
	}
	for _, i := range interfaces {
		addresses, err := i.Addrs()
		if err != nil {
			continue
		}
		if slices.ContainsFunc(addresses, func(a net.Addr) bool {
			own, is := a.(*net.IPNet)
			return is && own.IP.Equal(local.IP)
		}) {
			w.Interface = min(i.MTU, maxPacket)
		}
	}
}
