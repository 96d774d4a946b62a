// SPDX-License-Identifier: Apache-2.0

package tds

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"geosql.dev/standin/sni"
	"geosql.dev/standin/sqlerr"
)

// Config is how a Server serves.
type Config struct {
	Backend Backend
	// TLS has the server's certificate and its lowest and highest version; nil makes a self-signed certificate.
	TLS *tls.Config
	// Encryption is what PRELOGIN offers.
	Encryption Encryption
	// Strict refuses all but TDS 8.0 (network.forcestrict of mssql.conf).
	Strict bool
	// LoginTimeout bounds the time from connecting to LOGIN7's last byte; 0 means 15 s.
	LoginTimeout time.Duration
	// MaxLogins bounds the connections that have not yet logged in; 0 means 256. When one more comes, the oldest is
	// closed whose LOGIN7 has not arrived, or was refused and waits for its answer; when there is none such, the new one.
	MaxLogins int
	// MaxConnections bounds logged-in connections (error 17809); 0 means 32767, SQL Server's own limit.
	MaxConnections int
	// MaxRequest bounds one request in bytes, bulk loads apart, which stream; 0 means 256 MiB.
	MaxRequest int
	// MaxRequests bounds the bytes of all requests that are held at a time; 0 means 1 GiB (error 701).
	MaxRequests int64
	// FailedLoginDelay is how long the answer to a login with a wrong name or password waits; 0 means 500 ms.
	FailedLoginDelay time.Duration
	// Log receives what an error log should say of connections, never a password or a statement; may be nil.
	Log func(format string, args ...any)
}

// Server serves TDS on any number of listeners.
type Server struct {
	cfg             Config
	wrapped, strict *tls.Config
	logins          chan struct{}
	held            atomic.Int64
	connected       atomic.Int64

	mu        sync.Mutex
	listeners map[net.Listener]struct{}
	conns     map[*conn]struct{}
	closing   bool
	serving   sync.WaitGroup
	// strangers are the connections that have not sent LOGIN7, and those whose login has failed and is not answered yet;
	// oldest first.
	strangers []*conn
}

// ErrServerClosed is what Serve returns after Shutdown or Close.
var ErrServerClosed = errors.New("TDS server closed")

// NewServer checks the configuration and fills its defaults.
func NewServer(cfg Config) (*Server, error) {
	if cfg.Backend == nil {
		return nil, errors.New("TDS server needs a backend")
	}
	if cfg.TLS == nil {
		cert, err := SelfSigned("SSL_Self_Signed_Fallback")
		if err != nil {
			return nil, err
		}
		cfg.TLS = &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12}
	}
	orDefault(&cfg.LoginTimeout, 15*time.Second)
	orDefault(&cfg.MaxLogins, 256)
	orDefault(&cfg.MaxConnections, 32767)
	orDefault(&cfg.MaxRequest, 256<<20)
	orDefault(&cfg.MaxRequests, 1<<30)
	orDefault(&cfg.FailedLoginDelay, 500*time.Millisecond)
	if cfg.Log == nil {
		cfg.Log = func(string, ...any) {}
	}
	s := &Server{
		cfg:       cfg,
		logins:    make(chan struct{}, cfg.MaxLogins),
		listeners: map[net.Listener]struct{}{},
		conns:     map[*conn]struct{}{},
	}
	s.wrapped, s.strict = tlsConfigs(cfg.TLS)
	return s, nil
}

func orDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// Serve accepts connections until the listener or the server is closed. It closes the listener.
func (s *Server) Serve(l net.Listener) error {
	s.mu.Lock()
	if s.closing {
		s.mu.Unlock()
		l.Close()
		return ErrServerClosed
	}
	s.listeners[l] = struct{}{}
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		delete(s.listeners, l)
		s.mu.Unlock()
		l.Close()
	}()
	for {
		nc, err := l.Accept()
		if err != nil {
			if s.isClosing() {
				return ErrServerClosed
			}
			if errors.Is(err, net.ErrClosed) {
				return fmt.Errorf("accept on %s: %w", l.Addr(), err)
			}
			// Out of file descriptors and the like: wait for some to be returned.
			s.cfg.Log("accept on %s: %v", l.Addr(), err)
			time.Sleep(50 * time.Millisecond)
			continue
		}
		if s.admit() {
			s.start(nc)
		} else {
			s.cfg.Log("connection from %s closed: %d connections are logging in already", nc.RemoteAddr(), s.cfg.MaxLogins)
			nc.Close()
		}
	}
}

// evictWithin bounds the wait for a connection that was closed to make room for another.
const evictWithin = time.Second

// admit takes a place among the connections that log in. Silent strangers give up theirs to whoever comes later, so
// that holding connections open keeps nobody out.
func (s *Server) admit() bool {
	select {
	case s.logins <- struct{}{}:
		return true
	default:
	}
	s.mu.Lock()
	var oldest *conn
	if len(s.strangers) > 0 {
		oldest, s.strangers = s.strangers[0], s.strangers[1:]
	}
	s.mu.Unlock()
	if oldest == nil {
		return false
	}
	oldest.logf("closed before login: %d connections are logging in already", s.cfg.MaxLogins)
	oldest.close()
	wait := time.NewTimer(evictWithin)
	defer wait.Stop()
	select {
	case s.logins <- struct{}{}:
		return true
	case <-wait.C:
		return false
	}
}

// stranger puts a connection among those that may be closed for another: its login has failed.
func (s *Server) stranger(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.strangers = append(s.strangers, c)
}

// identified takes a connection off the strangers: its LOGIN7 has arrived, or it has ended.
func (s *Server) identified(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := slices.Index(s.strangers, c); i >= 0 {
		s.strangers = slices.Delete(s.strangers, i, i+1)
	}
}

func (s *Server) isClosing() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closing
}

func (s *Server) start(nc net.Conn) {
	nc, err := sni.Guard(nc)
	if err != nil {
		s.cfg.Log("connection from %s: %v", nc.RemoteAddr(), err)
	}
	c := newConn(s, nc)
	s.mu.Lock()
	if s.closing {
		s.mu.Unlock()
		<-s.logins
		nc.Close()
		return
	}
	s.conns[c] = struct{}{}
	s.strangers = append(s.strangers, c)
	s.serving.Add(1)
	s.mu.Unlock()
	go func() {
		defer s.serving.Done()
		defer func() {
			s.mu.Lock()
			delete(s.conns, c)
			s.mu.Unlock()
		}()
		c.serve()
	}()
}

// Shutdown stops accepting, cancels running statements, closes every connection and waits for their sessions to end,
// at most until ctx is done.
func (s *Server) Shutdown(ctx context.Context) error {
	s.mu.Lock()
	s.closing = true
	for l := range s.listeners {
		l.Close()
	}
	for c := range s.conns {
		c.close()
	}
	s.mu.Unlock()
	ended := make(chan struct{})
	go func() {
		s.serving.Wait()
		close(ended)
	}()
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for connections to end: %w", ctx.Err())
	}
}

// Connections is the number of logged-in connections.
func (s *Server) Connections() int { return int(s.connected.Load()) }

// Kill closes the connection of a session (KILL); false when there is none of that id.
func (s *Server) Kill(spid int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		if int(c.spid.Load()) == spid {
			c.close()
			return true
		}
	}
	return false
}

// hold takes bytes of the memory for requests; false when there is not as much left.
func (s *Server) hold(n int) bool {
	if s.held.Add(int64(n)) > s.cfg.MaxRequests {
		s.held.Add(-int64(n))
		return false
	}
	return true
}

func (s *Server) release(n int) { s.held.Add(-int64(n)) }

// full is the error of a request for which there is no memory.
func (s *Server) full() *sqlerr.Error {
	return &sqlerr.Error{Number: 701, Class: 19, State: 123,
		Message: fmt.Sprintf(
			"There is insufficient memory to hold the request: one may have %d bytes, all together %d.",
			s.cfg.MaxRequest,
			s.cfg.MaxRequests,
		)}
}
