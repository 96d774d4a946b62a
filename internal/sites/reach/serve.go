// SPDX-License-Identifier: Apache-2.0

package reach

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	// word begins what both sides say.
	word = "geosql-probe"
	// maxLine bounds a line of either side, in bytes.
	maxLine = 256
	// maxGuests bounds how many are answered at a time at a port, and maxStay for how long each.
	maxGuests, maxStay = 32, time.Minute
)

// Serve answers who knows the run at these ports until the context ends.
func Serve(ctx context.Context, run string, ports []int) error {
	var listeners []net.Listener
	defer func() {
		for _, l := range listeners {
			_ = l.Close()
		}
	}()
	for _, port := range ports {
		l, err := new(net.ListenConfig).Listen(ctx, "tcp", ":"+strconv.Itoa(port))
		if err != nil {
			return fmt.Errorf("listen at port %d: %w", port, err)
		}
		listeners = append(listeners, l)
	}
	var wait sync.WaitGroup
	failed := make(chan error, len(listeners))
	for _, l := range listeners {
		wait.Go(func() { failed <- answerAll(ctx, l, run) })
	}
	var err error
	select {
	case <-ctx.Done():
	case err = <-failed:
	}
	for _, l := range listeners {
		_ = l.Close()
	}
	wait.Wait()
	return err
}

// answerAll answers who comes to a listener until that is closed.
func answerAll(ctx context.Context, l net.Listener, run string) error {
	guests := make(chan struct{}, maxGuests)
	for {
		conn, err := l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("listen at %s: %w", l.Addr(), err)
		}
		select {
		case guests <- struct{}{}:
		default:
			_ = conn.Close()
			continue
		}
		go func() {
			defer func() { <-guests }()
			defer conn.Close()
			stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
			defer stop()
			_ = answer(conn, run) // the other side tells what went wrong
		}()
	}
}

// answer reads what a guest sends, says that it has it, and sends what it asked for.
func answer(conn net.Conn, run string) error {
	if err := conn.SetDeadline(time.Now().Add(maxStay)); err != nil {
		return err
	}
	from := bufio.NewReaderSize(conn, maxLine)
	line, err := from.ReadSlice('\n')
	if err != nil {
		return err
	}
	said := strings.Fields(string(line))
	if len(said) != 4 || said[0] != word || said[1] != run {
		return errors.New("a stranger")
	}
	there, back := amount(said[2]), amount(said[3])
	if _, err := io.CopyN(io.Discard, from, there); err != nil {
		return err
	}
	if _, err := io.WriteString(conn, word+" "+run+"\n"); err != nil {
		return err
	}
	_, err = io.CopyN(conn, noise(), back)
	return err
}

func amount(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0
	}
	return min(max(n, 0), maxBytes)
}

// noise is what nothing on the way can compress. Nobody keeps a secret by it.
func noise() io.Reader { return rand.NewChaCha8([32]byte{1}) }
