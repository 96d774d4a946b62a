// SPDX-License-Identifier: Apache-2.0

package endpoint

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"sync"
	"time"
)

const (
	// protocolName keeps other TLS clients out.
	protocolName     = "geosql-hadr/1"
	handshakeTimeout = 10 * time.Second
	// maxHandshakes bounds connections that have not shown who they are.
	maxHandshakes = 64
	keepAlive     = 5 * time.Second
)

// Identity is how this server shows itself and whom it lets in. It is asked anew for every connection: a certificate
// that expires or a permission that is revoked stops new connections, not those that are there.
type Identity struct {
	Certificate tls.Certificate
	// Authorize is nil for a certificate that is known, and whose owner may connect.
	Authorize func(context.Context, *x509.Certificate) error
	// Reach is where the endpoint of an address, host:port, is dialled; at that address unless given.
	Reach func(address string) string
}

var errNoCertificate = errors.New("the other side showed no certificate")

func (id *Identity) config(ctx context.Context, peer **x509.Certificate) *tls.Config {
	return &tls.Config{
		Certificates: []tls.Certificate{id.Certificate},
		MinVersion:   tls.VersionTLS13,
		NextProtos:   []string{protocolName},
		ClientAuth:   tls.RequireAnyClientCert,
		// There is no authority: every certificate is known itself, and checked below.
		InsecureSkipVerify:     true,
		SessionTicketsDisabled: true,
		VerifyConnection: func(state tls.ConnectionState) error {
			if len(state.PeerCertificates) == 0 {
				return errNoCertificate
			}
			cert := state.PeerCertificates[0]
			if err := valid(cert); err != nil {
				return err
			}
			if err := id.Authorize(ctx, cert); err != nil {
				return err
			}
			*peer = cert
			return nil
		},
	}
}

// valid checks the certificate's time.
func valid(cert *x509.Certificate) error {
	now := time.Now()
	if now.Before(cert.NotBefore) || now.After(cert.NotAfter) {
		return fmt.Errorf("the endpoint certificate %q is valid from %s to %s only", cert.Subject.CommonName,
			cert.NotBefore.Format(time.RFC3339), cert.NotAfter.Format(time.RFC3339))
	}
	return nil
}

// checkOwn refuses to show an expired certificate: the other side would refuse it in any case, less clearly.
func (id *Identity) checkOwn() error {
	if len(id.Certificate.Certificate) == 0 {
		return errors.New("the endpoint has no certificate")
	}
	cert, err := x509.ParseCertificate(id.Certificate.Certificate[0])
	if err != nil {
		return fmt.Errorf("read the endpoint's certificate: %w", err)
	}
	return valid(cert)
}

// Dial connects to another server's endpoint.
func Dial(ctx context.Context, address string, id *Identity) (*Conn, error) {
	if err := id.checkOwn(); err != nil {
		return nil, fmt.Errorf("connect to %s: %w", address, err)
	}
	d := net.Dialer{KeepAlive: keepAlive}
	at := address
	if id.Reach != nil {
		at = id.Reach(address)
	}
	raw, err := d.DialContext(ctx, "tcp", at)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", address, err)
	}
	var peer *x509.Certificate
	t := tls.Client(raw, id.config(ctx, &peer))
	if err := t.HandshakeContext(ctx); err != nil {
		raw.Close()
		return nil, fmt.Errorf("connect to %s: %w", address, err)
	}
	if t.ConnectionState().NegotiatedProtocol != protocolName {
		raw.Close()
		return nil, fmt.Errorf("connect to %s: it is no endpoint of this protocol", address)
	}
	return newConn(t, peer), nil
}

// Server listens at an endpoint.
type Server struct {
	listener net.Listener
	identity func(context.Context) (*Identity, error)
	handle   func(context.Context, *Conn)
	ctx      context.Context
	cancel   context.CancelFunc
	wait     sync.WaitGroup

	mu    sync.Mutex
	conns map[net.Conn]struct{}
	shut  bool
}

// Listen serves connections at address with handle, each in a goroutine of its own; the connection is closed when
// handle returns.
func Listen(
	address string,
	identity func(context.Context) (*Identity, error),
	handle func(context.Context, *Conn),
) (*Server, error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen at the endpoint %s: %w", address, err)
	}
	s := &Server{listener: l, identity: identity, handle: handle, conns: map[net.Conn]struct{}{}}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.wait.Go(s.accept)
	return s, nil
}

// Addr is where the server listens.
func (s *Server) Addr() net.Addr { return s.listener.Addr() }

// Close ends the server and all its connections, and waits for their handlers.
func (s *Server) Close() {
	s.mu.Lock()
	s.shut = true
	s.cancel()
	s.listener.Close()
	for c := range s.conns {
		c.Close()
	}
	s.mu.Unlock()
	s.wait.Wait()
}

func (s *Server) accept() {
	handshakes := make(chan struct{}, maxHandshakes)
	for {
		raw, err := s.listener.Accept()
		if err != nil {
			if s.ctx.Err() != nil {
				return
			}
			// Out of descriptors or the like: connections in progress may end.
			select {
			case <-time.After(100 * time.Millisecond):
				continue
			case <-s.ctx.Done():
				return
			}
		}
		select {
		case handshakes <- struct{}{}:
		default:
			raw.Close()
			continue
		}
		if !s.track(raw) {
			raw.Close()
			return
		}
		s.wait.Go(func() {
			defer s.forget(raw)
			c, err := s.shake(raw)
			<-handshakes
			if err == nil {
				s.handle(s.ctx, c)
			}
		})
	}
}

func (s *Server) track(raw net.Conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.shut {
		return false
	}
	s.conns[raw] = struct{}{}
	return true
}

func (s *Server) forget(raw net.Conn) {
	raw.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, raw)
}

func (s *Server) shake(raw net.Conn) (*Conn, error) {
	ctx, cancel := context.WithTimeout(s.ctx, handshakeTimeout)
	defer cancel()
	if t, ok := raw.(*net.TCPConn); ok {
		_ = t.SetKeepAlivePeriod(keepAlive)
	}
	id, err := s.identity(ctx)
	if err == nil {
		err = id.checkOwn()
	}
	if err != nil {
		return nil, err
	}
	var peer *x509.Certificate
	t := tls.Server(raw, id.config(ctx, &peer))
	if err := t.HandshakeContext(ctx); err != nil {
		return nil, err
	}
	if t.ConnectionState().NegotiatedProtocol != protocolName {
		return nil, errors.New("the client speaks another protocol")
	}
	return newConn(t, peer), nil
}

// ParseURL reads an ENDPOINT_URL: TCP://host:port.
func ParseURL(text string) (address string, err error) {
	u, err := url.Parse(text)
	if err != nil || !strings.EqualFold(u.Scheme, "tcp") || u.Hostname() == "" || u.Port() == "" ||
		(u.Path != "" && u.Path != "/") ||
		u.User != nil ||
		u.RawQuery != "" {
		return "", fmt.Errorf("%q is no endpoint URL; it has to be TCP://host:port", text)
	}
	return net.JoinHostPort(u.Hostname(), u.Port()), nil
}
