// SPDX-License-Identifier: Apache-2.0

package control

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"geosql.dev/operator/hack/bed/netem/emulator"
)

// maxRequest bounds what a caller can make the emulator read, in bytes: some
// thousand destinations.
const maxRequest = 1 << 20

// ErrRunning tells that the device has an emulator already.
var ErrRunning = errors.New("an emulator runs on the device already")

// Shaper is what the server drives; *emulator.Emulator is one.
type Shaper interface {
	Apply([]emulator.Class) error
	Set(emulator.Class) error
	Clear(name string) error
	Status() (emulator.Status, error)
	Stop()
}

// Server answers requests about one device.
type Server struct {
	listener *net.UnixListener
	build    string

	// mu makes requests take turns: some read what is there before they change
	// it.
	mu    sync.Mutex
	memos map[string]json.RawMessage
}

// Listen takes the device's socket, and with it the right to shape the device:
// it gives ErrRunning if another process has it.
func Listen(device string) (*Server, error) {
	build, err := Build()
	if err != nil {
		return nil, err
	}
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Net: "unix", Name: address(device)})
	if errors.Is(err, unix.EADDRINUSE) {
		return nil, ErrRunning
	}
	if err != nil {
		return nil, fmt.Errorf("listen for control of %s: %w", device, err)
	}
	return &Server{listener: listener, build: build, memos: map[string]json.RawMessage{}}, nil
}

// Serve answers until Close.
func (s *Server) Serve(shaper Shaper) {
	for {
		connection, err := s.listener.AcceptUnix()
		if err != nil {
			return
		}
		go s.answer(connection, shaper)
	}
}

// Close ends Serve and gives the socket up.
func (s *Server) Close() { s.listener.Close() }

func (s *Server) answer(connection *net.UnixConn, shaper Shaper) {
	defer connection.Close()
	_ = connection.SetDeadline(time.Now().Add(exchangeTime))
	var request Request
	var response Response
	// The request is read before anything is answered: a caller that still
	// writes would not see the answer.
	readErr := json.NewDecoder(io.LimitReader(connection, maxRequest)).Decode(&request)
	allowed := rootOnly(connection)
	switch {
	case allowed != nil:
		response.Error = allowed.Error()
	case readErr != nil:
		response.Error = fmt.Sprintf("the request is no valid JSON: %v", readErr)
	default:
		response = s.handle(request, shaper)
	}
	_ = json.NewEncoder(connection).Encode(response)
	if request.Operation == Stop && response.Error == "" {
		shaper.Stop()
	}
}

// rootOnly guards the socket: every process of the network namespace sees it,
// those of a shaped pod included.
func rootOnly(connection *net.UnixConn) error {
	raw, err := connection.SyscallConn()
	if err != nil {
		return fmt.Errorf("ask who calls: %w", err)
	}
	var peer *unix.Ucred
	var peerErr error
	if err := raw.Control(func(fd uintptr) {
		peer, peerErr = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	}); err != nil {
		return fmt.Errorf("ask who calls: %w", err)
	}
	if peerErr != nil {
		return fmt.Errorf("ask who calls: %w", peerErr)
	}
	if peer.Uid != 0 {
		return fmt.Errorf("user %d may not control the emulator: only root may", peer.Uid)
	}
	return nil
}

func (s *Server) handle(request Request, shaper Shaper) Response {
	s.mu.Lock()
	defer s.mu.Unlock()
	var response Response
	if err := s.perform(request, shaper); err != nil {
		response.Error = err.Error()
	}
	status, err := shaper.Status()
	if err != nil && response.Error == "" {
		response.Error = err.Error()
	}
	response.Status = Status{PID: os.Getpid(), Build: s.build, Memos: maps.Clone(s.memos), Status: status}
	return response
}

func (s *Server) perform(request Request, shaper Shaper) error {
	switch request.Operation {
	case Apply:
		return s.apply(request, shaper)
	case Set:
		for _, class := range request.Classes {
			if err := shaper.Set(class); err != nil {
				return err
			}
		}
		return nil
	case Clear:
		if len(request.Names) == 0 {
			clear(s.memos)
			return shaper.Apply(nil)
		}
		for _, name := range request.Names {
			if err := shaper.Clear(name); err != nil {
				return err
			}
		}
		return nil
	case Show, Stop:
		return nil
	}
	return fmt.Errorf("operation %q is not supported: use apply, set, clear, show or stop", request.Operation)
}

// apply replaces what the owner has and leaves the classes of others.
func (s *Server) apply(request Request, shaper Shaper) error {
	status, err := shaper.Status()
	if err != nil {
		return err
	}
	var all []emulator.Class
	for _, there := range status.Classes {
		if there.Owner != request.Owner {
			all = append(all, there.Class)
		}
	}
	for _, class := range request.Classes {
		class.Owner = request.Owner
		all = append(all, class)
	}
	if err := shaper.Apply(all); err != nil {
		return err
	}
	if request.Memo == nil {
		delete(s.memos, request.Owner)
	} else {
		s.memos[request.Owner] = request.Memo
	}
	return nil
}
