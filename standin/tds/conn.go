// SPDX-License-Identifier: Apache-2.0

package tds

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"time"

	"geosql.dev/standin/sqlerr"
)

// conn is one client connection.
type conn struct {
	srv    *Server
	nc     net.Conn
	in     *packetReader
	out    *packetWriter
	ctx    context.Context
	cancel context.CancelFunc

	encrypted bool
	strict    bool
	// version is that of the client's LOGIN7, early a LOGIN7 that came without PRELOGIN.
	version version
	// utf8 tells that the client takes texts in UTF-8.
	utf8     bool
	early    *packet
	session  Session
	spid     atomic.Int32
	requests chan *request
	// descriptor is the transaction that the client was last told of.
	descriptor *uint64
	// collation is that of the database that the client was last told of.
	collation *string
	prepared  *PreparedStatements
	// parameters is how many the last call had: the next one is likely to have as many.
	parameters int
	cursors    *Cursors
	// bulk is the INSERT BULK batch whose rows come next.
	bulk string
	// mars is what PRELOGIN agreed on; scoped is set for the requests of such a connection, whose batches have
	// transactions of their own.
	mars, scoped bool
}

func newConn(s *Server, nc net.Conn) *conn {
	c := &conn{
		srv:        s,
		nc:         nc,
		requests:   make(chan *request),
		descriptor: new(uint64),
		collation:  new(string),
		prepared:   &PreparedStatements{},
	}
	c.cursors = &Cursors{
		all:      map[int32]*serverCursor{},
		last:     firstCursor,
		prepared: c.prepared,
		hold:     s.hold,
		release:  s.release,
	}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	return c
}

// close ends the connection from outside its goroutine: the running statement is cancelled.
func (c *conn) close() {
	c.cancel()
	c.nc.Close()
}

func (c *conn) logf(format string, args ...any) {
	c.srv.cfg.Log("client %s: "+format, append([]any{c.nc.RemoteAddr()}, args...)...)
}

func (c *conn) serve() {
	defer c.close()
	defer func() {
		if p := recover(); p != nil {
			c.logf("internal error, connection closed: %v\n%s", p, debug.Stack())
		}
	}()
	ok := c.establish()
	<-c.srv.logins
	if !ok {
		return
	}
	defer c.srv.connected.Add(-1)
	defer c.cursors.Clear()
	defer func() {
		if err := c.session.Close(); err != nil {
			c.logf("close session %d: %v", c.spid.Load(), err)
		}
	}()
	if c.mars && c.version.atLeast(version72) {
		c.serveMARS()
		return
	}
	received := make(chan struct{})
	go func() {
		defer close(received)
		c.receive()
	}()
	// The session closes only after nothing reads for it any more.
	defer func() {
		c.close()
		<-received
	}()
	for r := range c.requests {
		err := c.handle(r)
		r.cancel()
		giveBody(r.body)
		c.srv.release(r.held)
		if err != nil {
			if !errors.Is(err, errSessionEnds) && c.ctx.Err() == nil {
				c.logf("%v", err)
			}
			return
		}
	}
}

// errSessionEnds closes a connection whose client was told why.
var errSessionEnds = errors.New("session ends")

// establish goes from the first byte to a session. What fails before PRELOGIN is answered with silence.
func (c *conn) establish() bool {
	deadline := time.Now().Add(c.srv.cfg.LoginTimeout)
	c.nc.SetDeadline(deadline)
	defer c.srv.identified(c)
	ctx, cancel := context.WithDeadline(c.ctx, deadline)
	defer cancel()
	if err := c.preLogin(ctx); err != nil {
		if !errors.Is(err, io.EOF) { // a port probe
			c.logf("before login: %v", err)
		}
		return false
	}
	l, plain, err := c.readLogin()
	if err != nil {
		c.logf("login: %v", err)
		return false
	}
	c.srv.identified(c)
	if plain != nil {
		// Only the login was encrypted.
		c.in, c.out = newPacketReader(plain), newPacketWriter(plain, defaultPacketSize)
	}
	return c.login(ctx, l)
}

func (c *conn) preLogin(ctx context.Context) error {
	first := make([]byte, 1)
	if _, err := io.ReadFull(c.nc, first); err != nil {
		return io.EOF
	}
	var stream net.Conn = &peekedConn{Conn: c.nc, first: first}
	if first[0] == 0x16 {
		t := tls.Server(stream, c.srv.strict)
		if err := t.HandshakeContext(ctx); err != nil {
			return fmt.Errorf("TLS handshake of TDS 8.0: %w", err)
		}
		if t.ConnectionState().NegotiatedProtocol != alpnStrict {
			return fmt.Errorf("TLS before PRELOGIN without the application protocol %s", alpnStrict)
		}
		stream, c.strict, c.encrypted = t, true, true
	} else if c.srv.cfg.Strict {
		return errors.New("client does not use TDS 8.0, which network.forcestrict demands")
	}
	c.in, c.out = newPacketReader(stream), newPacketWriter(stream, defaultPacketSize)
	m, err := c.in.message(maxPreLogin)
	if err != nil {
		return fmt.Errorf("read PRELOGIN: %w", err)
	}
	if m.typ == packetLogin && !c.strict && c.srv.cfg.Encryption != EncryptionRequired {
		c.early = &m
		return nil
	}
	if m.typ != packetPreLogin {
		return fmt.Errorf("packet of type 0x%02x where PRELOGIN was expected", m.typ)
	}
	client, err := parsePreLogin(m.body)
	if err != nil {
		return err
	}
	answer, agreed := client.encryption, true
	if !c.strict {
		answer, agreed = negotiateEncryption(client.encryption, c.srv.cfg.Encryption)
	}
	c.mars = client.mars
	c.out.Write(answerPreLogin(client, c.srv.cfg.Backend.Version(), answer))
	if err := c.out.end(); err != nil {
		return fmt.Errorf("send PRELOGIN: %w", err)
	}
	if !agreed {
		return errors.New("client and server do not agree on encryption")
	}
	if c.strict || answer == encryptNotSupported {
		return nil
	}
	return c.wrapTLS(ctx, stream, answer)
}

// wrapTLS does the handshake inside PRELOGIN packets. With encryption off the login alone is encrypted.
func (c *conn) wrapTLS(ctx context.Context, stream net.Conn, answer byte) error {
	h := &handshakeConn{Conn: stream, in: c.in, out: c.out}
	t := tls.Server(h, c.srv.wrapped)
	err := t.HandshakeContext(ctx)
	if flushErr := h.flush(); err == nil {
		err = flushErr
	}
	if err != nil {
		return fmt.Errorf("TLS handshake: %w", err)
	}
	h.through = true
	c.in = newPacketReader(t)
	if answer != encryptOff {
		c.out, c.encrypted = newPacketWriter(t, defaultPacketSize), true
	}
	return nil
}

// readLogin reads LOGIN7. plain is the stream to go on with when only the login was encrypted.
func (c *conn) readLogin() (l *login, plain net.Conn, err error) {
	if c.early != nil {
		// TDS 7.0 knows no PRELOGIN, jTDS sends none unless it encrypts, and [MS-TDS] 3.3.5.1 says that the first packet
		// should be one. Since TDS 7.2 it has to.
		if l, err = parseLogin(c.early.body); err == nil && l.version.atLeast(version72) {
			err = errors.New("LOGIN7 where PRELOGIN was expected")
		}
		return l, nil, err
	}
	m, err := c.in.message(maxLogin)
	if err != nil {
		return nil, nil, fmt.Errorf("read LOGIN7: %w", err)
	}
	if _, wrapped := c.in.r.(*tls.Conn); wrapped && !c.encrypted {
		plain = c.nc
	}
	if m.typ != packetLogin {
		return nil, nil, fmt.Errorf("packet of type 0x%02x where LOGIN7 was expected", m.typ)
	}
	if l, err = parseLogin(m.body); err != nil {
		return nil, nil, err
	}
	return l, plain, nil
}

func (c *conn) clientAddress() string {
	host, _, err := net.SplitHostPort(c.nc.RemoteAddr().String())
	if err != nil {
		host = c.nc.RemoteAddr().String()
	}
	return "[CLIENT: " + host + "]"
}

// largestPacket is what fits a TLS record where the connection is encrypted, under MARS with the header of SMP before
// it (docs/database-engine/configure-windows/configure-the-network-packet-size-server-configuration-option.md,
// Limitations and restrictions).
func (c *conn) largestPacket() int {
	switch {
	case !c.encrypted:
		return maxPacketSize
	case c.mars:
		return maxEncryptedMARSPacketSize
	}
	return maxEncryptedPacketSize
}

// login opens the session and answers LOGIN7.
func (c *conn) login(ctx context.Context, l *login) bool {
	c.version = l.version
	_, c.utf8 = l.features[featureUTF8]
	l.packetSize = min(l.packetSize, c.largestPacket())
	session, err := c.authenticate(ctx, l)
	if to := (*Redirect)(nil); errors.As(err, &to) {
		c.out.Write(appendRedirect(nil, l, to, c.srv.cfg.Backend))
		_ = c.out.end() // the client goes, whether it has read this or not
		return false
	}
	if err != nil {
		refused := serverErrors(err)
		if len(refused) == 0 {
			c.logf("login: %v", err)
			refused = append(refused, loginFailed(l.user))
		}
		c.refuse(ctx, refused)
		return false
	}
	c.session, *c.collation = session, session.Collation()
	c.spid.Store(int32(session.SPID()))
	c.out.spid = uint16(session.SPID())
	c.out.Write(appendLoginResponse(nil, l, session, c.srv.cfg.Backend))
	if err := c.out.end(); err != nil {
		session.Close()
		c.srv.connected.Add(-1)
		return false
	}
	c.out.resize(l.packetSize)
	c.in.r = bufio.NewReaderSize(c.in.r, 4*defaultPacketSize)
	c.nc.SetDeadline(time.Time{})
	return true
}

// serverErrors are the server's errors among an error's causes, in order.
func serverErrors(err error) []*sqlerr.Error {
	var out []*sqlerr.Error
	switch e := err.(type) { //nolint:errorlint // the tree of joined errors is walked here
	case *sqlerr.Error:
		out = append(out, e)
	case interface{ Unwrap() []error }:
		for _, cause := range e.Unwrap() {
			out = append(out, serverErrors(cause)...)
		}
	case interface{ Unwrap() error }:
		out = serverErrors(e.Unwrap())
	}
	return out
}

// numberLoginFailed is the error of a login whose name or password is wrong; it also follows every other refusal.
const numberLoginFailed = 18456

func loginFailed(user string) *sqlerr.Error {
	// State 1 for every cause: the client is not told which.
	return &sqlerr.Error{Number: numberLoginFailed, Class: 14, State: 1, Message: "Login failed for user '" + user + "'."}
}

func (c *conn) authenticate(ctx context.Context, l *login) (Session, error) {
	_, federated := l.features[featureFedAuth]
	switch {
	case l.version < version70 && l.version != versionStrict:
		return nil, &sqlerr.Error{Number: 17832, Class: 20, State: 18,
			Message: fmt.Sprintf("The login packet asks for TDS version 0x%08X; versions from 7.0 on are supported.", l.version)}
	case l.integrated || federated:
		return nil, &sqlerr.Error{Number: 18452, Class: 14, State: 1,
			Message: "Login failed. Only SQL Server authentication is supported; the login cannot use a Windows or " +
				"directory identity. " + c.clientAddress()}
	case l.attach != "":
		return nil, &sqlerr.Error{Number: 15350, Class: 16, State: 1,
			Message: "An attempt to attach a database file while logging in failed; this is not supported."}
	}
	if c.srv.connected.Add(1) > int64(c.srv.cfg.MaxConnections) {
		c.srv.connected.Add(-1)
		return nil, &sqlerr.Error{Number: 17809, Class: 20, State: 1,
			Message: fmt.Sprintf(
				"The server has reached its limit of %d user connections. %s",
				c.srv.cfg.MaxConnections,
				c.clientAddress(),
			)}
	}
	request := LoginRequest{
		User: l.user, Password: l.password, HostName: l.host, AppName: l.app, Library: l.library, Database: l.database,
		Language: l.language, ReadOnlyIntent: l.readOnly, PacketSize: l.packetSize, Remote: c.nc.RemoteAddr(),
		Local: c.nc.LocalAddr(), Encrypted: c.encrypted, Redirectable: l.version.atLeast(version74),
	}
	if l.changes {
		request.NewPassword = &l.newPassword
	}
	request.Prepared, request.Cursors = c.prepared, c.cursors
	session, err := c.srv.cfg.Backend.Login(ctx, request)
	if err != nil {
		c.srv.connected.Add(-1)
	}
	return session, err
}

// refuse answers a login with an error, after a pause that makes guessing slow. Whose password was right has nothing to
// guess: a client that waits for its database to become available may ask again at once.
func (c *conn) refuse(ctx context.Context, refused []*sqlerr.Error) {
	if len(refused) == 0 || refused[0].Number == numberLoginFailed {
		// It may be sent away for others that want to log in.
		c.srv.stranger(c)
		pause := time.NewTimer(c.srv.cfg.FailedLoginDelay)
		defer pause.Stop()
		select {
		case <-pause.C:
		case <-ctx.Done():
		}
	}
	var b []byte
	for _, e := range refused {
		c.srv.cfg.Log("Error: %d, Severity: %d, State: %d. %s %s", e.Number, e.Class, e.State, e.Message, c.clientAddress())
		b = c.version.appendMessage(b, e, c.srv.cfg.Backend.ServerName())
	}
	c.out.Write(c.version.appendDone(b, tokenDone, doneError, CommandNone, 0))
	c.out.end()
}

// handle executes one request and answers it. An error ends the connection.
func (c *conn) handle(r *request) error {
	w := &response{c: c, req: r}
	if r.typ == packetAttention {
		c.bulk = ""
		return w.finish()
	}
	if err := c.resetFirst(r, w); err != nil {
		return err
	}
	before := c.session.InTransaction()
	err := c.dispatch(r, w)
	var told *sqlerr.Error
	var broken protocolError
	if errors.As(err, &broken) {
		w.fatal = true
	}
	if err == nil && c.ctx.Err() != nil {
		// Killed, or shut down: what was cancelled half-way may look like what came to its end, and must not be answered so.
		err = c.ctx.Err()
	}
	switch {
	case err == nil:
	case errors.As(err, &told):
		w.Message(told)
		w.endIfCall()
	case r.attention.Load() && c.ctx.Err() == nil && (errors.Is(err, context.Canceled) || errors.Is(err, r.ctx.Err())):
	default:
		// No answer: whether the statement took effect may be unknown, which a broken connection says truly.
		return fmt.Errorf("session %d ends: %w", c.spid.Load(), err)
	}
	if err := c.endScope(r, w, before); err != nil {
		return err
	}
	// Whoever has the answer may ask again: the memory of this request is not held against the next.
	c.srv.release(r.held)
	r.held = 0
	if err := w.finish(); err != nil {
		return err
	}
	if w.fatal {
		return errSessionEnds
	}
	return nil
}

// resetFirst serves RESETCONNECTION, which comes with the first request after a pool gave the connection away again.
func (c *conn) resetFirst(r *request, w *response) error {
	if r.status&(statusReset|statusResetSkipTran) == 0 || r.contradictory() {
		return nil
	}
	if err := c.session.Reset(c.ctx, r.status&statusResetSkipTran != 0); err != nil {
		return fmt.Errorf("reset session %d: %w", c.spid.Load(), err)
	}
	c.prepared.Clear()
	c.cursors.Clear()
	c.bulk = ""
	w.transaction()
	w.put(w.collationChange(nil))
	if c.version.atLeast(version72) {
		w.put(appendEnvBytes(nil, envReset, nil, nil))
	}
	return nil
}

func (c *conn) dispatch(r *request, w *response) error {
	switch {
	case r.contradictory():
		return sqlerr.New(3913, 2)
	case r.ignored:
		// The client gave it up before its end: a single DONE with DONE_ERROR, and no message ([MS-TDS] 2.2.1.7).
		w.failed = true
		return w.Done(Completion{Count: -1})
	case r.overflow:
		return c.srv.full()
	}
	if c.bulk != "" && r.typ != packetBulk {
		c.bulk = ""
		return sqlerr.New(4022, 1)
	}
	switch r.typ {
	case packetBatch:
		d, err := c.withoutHeaders(r)
		if err != nil {
			return err
		}
		return c.batch(r, d, w)
	case packetRPC:
		d, err := c.withoutHeaders(r)
		if err != nil {
			return err
		}
		return c.calls(r, d, w)
	case packetTransaction:
		if !c.version.atLeast(version72) {
			return malformed("a transaction manager request before TDS 7.2")
		}
		d, err := c.withoutHeaders(r)
		if err != nil {
			return err
		}
		return c.transactionRequest(r, d, w)
	case packetBulk:
		return c.bulkLoad(r, w)
	}
	return malformed("packet type 0x%02X is unknown or not supported", r.typ)
}

// protocolError is a broken stream: the client is told and the connection closed, since what follows cannot be trusted.
type protocolError struct{ cause *sqlerr.Error }

func (e protocolError) Error() string { return e.cause.Error() }

func (e protocolError) Unwrap() error { return e.cause }

func malformed(format string, args ...any) error {
	return protocolError{&sqlerr.Error{Number: 4002, Class: 16, State: 1,
		Message: "The incoming tabular data stream (TDS) protocol stream is incorrect: " + fmt.Sprintf(
			format,
			args...) + "."}}
}

func (c *conn) batch(r *request, d *decoder, w *response) error {
	if d.left()%2 != 0 {
		return malformed("a batch of an odd number of bytes")
	}
	text := d.text(d.left() / 2)
	if isInsertBulk(text) {
		c.bulk = text
		return nil
	}
	return c.session.Batch(r.ctx, text, w)
}

func equalFold(a, b string) bool { return strings.EqualFold(a, b) }
