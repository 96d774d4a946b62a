// SPDX-License-Identifier: Apache-2.0

// Package mssql connects to SQL Server instances: TLS verified against the operator's CA, one pool per server, database
// and role, a deadline on every call, and errors that say on which server what was attempted and what is known of it.
package mssql

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"database/sql"
	sqldriver "database/sql/driver"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"

	driver "github.com/microsoft/go-mssqldb"
	"github.com/microsoft/go-mssqldb/msdsn"
	"k8s.io/apimachinery/pkg/types"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/tsql"
)

// Port is the port of TDS on every server.
const Port = 1433

const (
	// defaultTimeout bounds a statement whose context has no deadline.
	defaultTimeout = 15 * time.Second
	// dialTimeout bounds the TCP connection; the longest round trip between sites is a fraction of a second.
	dialTimeout = 5 * time.Second
	// poolSize is connections per pool. The operator sends statements of one server one after another.
	poolSize = 4
	// idleConnections are kept open per pool.
	idleConnections = 2
	// idleTime after which an unused connection is closed.
	idleTime = time.Minute
	// connectionLife after which a connection is replaced, so that renewed certificates are met.
	connectionLife = 10 * time.Minute
)

// Target is a database of a server in the part of a role.
type Target struct {
	// Namespace of the SQLServer object, by which its certificate is verified, too; without one the name alone counts.
	Namespace string
	// Server is the SQLServer object's name.
	Server v1alpha1.ServerName
	// Database to connect to; master unless given.
	Database string
	// Role whose login is used; RoleOperator unless given.
	Role credentials.Role
	// Login is used in place of the Role's where a login was declared; its password is that of the Role.
	Login string
	// ReadOnly says that the connection only reads (ApplicationIntent=ReadOnly): a secondary replica that is readable for
	// such connections alone lets it in.
	ReadOnly bool
}

// login that is used.
func (t Target) login() string {
	if t.Login != "" {
		return t.Login
	}
	return t.Role.Login()
}

func (t Target) withDefaults() Target {
	if t.Database == "" {
		t.Database = "master"
	}
	if t.Role == "" {
		t.Role = credentials.RoleOperator
	}
	return t
}

// Access is what is needed to log in to a server.
type Access struct {
	// Passwords of the server's logins.
	Passwords credentials.Passwords
	// CA is the PEM bundle that has signed the server's certificate.
	CA []byte
}

// AccessSource finds the Access of a server; credentials in the hub's Secrets, or files in a pod.
type AccessSource interface {
	Access(ctx context.Context, namespace string, server v1alpha1.ServerName) (Access, error)
}

// AccessFunc is a function as an AccessSource.
type AccessFunc func(ctx context.Context, namespace string, server v1alpha1.ServerName) (Access, error)

// Access calls the function.
func (f AccessFunc) Access(ctx context.Context, namespace string, server v1alpha1.ServerName) (Access, error) {
	return f(ctx, namespace, server)
}

// Options of a Connector.
type Options struct {
	// Access finds passwords and CA; required.
	Access AccessSource
	// AccessFor is how long what Access found is used before it is asked again, at the latest until a server refuses it; 0
	// asks it at every Open.
	AccessFor time.Duration
	// Check is asked before a server's credentials are used, kept ones too; its error refuses them. Optional.
	Check func(ctx context.Context, namespace string, server v1alpha1.ServerName) error
	// Address of a server, host:port. Unless given it is the server's Service, "<server>-0.<namespace>.svc:1433".
	Address func(Target) string
	// CertificateName is the host name that the server's certificate must have; the instance's name unless given. A
	// listener's is that of the listener: whichever replica answers has it in its certificate.
	CertificateName func(Target) string
	// Dial opens TCP connections; Dial with a time-out of 5 s unless given. A tunnel through a site's API server comes in
	// here.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// SilentFor is how long an address at which nobody has answered is not dialled again; 0 dials each time.
	SilentFor time.Duration
	// Executing is called before every statement that is executed rather than asked, and what it returns with the outcome,
	// before the caller knows it. Optional.
	Executing func(Target, tsql.Statement) func(error)
	// Remembered are the passwords that are tried where those of Access are refused. Optional.
	Remembered *Remembered
	// Program is shown as program_name in sys.dm_exec_sessions; "geosql-operator" unless given.
	Program string
}

// Connector has a pool of connections for every target that was opened. It is safe for concurrent use.
type Connector struct {
	options Options
	access  *cachedAccess
	lasting *lasting

	mu    sync.Mutex
	pools map[Target]pool
}

type pool struct {
	db *DB
	// made is the hash of what the pool was made with: address, password and CA.
	made [sha256.Size]byte
}

// NewConnector returns a Connector without connections.
func NewConnector(o Options) *Connector {
	if o.Address == nil {
		o.Address = serviceAddress
	}
	if o.CertificateName == nil {
		o.CertificateName = func(t Target) string { return credentials.HostName(t.Server) }
	}
	if o.Dial == nil {
		o.Dial = Dial(dialTimeout)
	}
	if o.Program == "" {
		o.Program = "geosql-operator"
	}
	access := &cachedAccess{source: o.Access, lasts: o.AccessFor, now: time.Now,
		kept: map[types.NamespacedName]keptAccess{}}
	o.Dial = (&silent{lasts: o.SilentFor}).dial(o.Dial)
	return &Connector{options: o, access: access, lasting: newLasting(), pools: map[Target]pool{}}
}

func serviceAddress(t Target) string {
	return net.JoinHostPort(credentials.HostName(t.Server)+"."+t.Namespace+".svc", strconv.Itoa(Port))
}

// Open returns the pool of the target; it is not to be closed by the caller. No connection is made yet: the first
// statement shows whether the server answers. A password, CA or address that has changed since replaces the pool.
func (c *Connector) Open(ctx context.Context, t Target) (*DB, error) {
	t = t.withDefaults()
	access, password, err := c.credentials(ctx, t)
	if err != nil {
		return nil, err
	}
	address := c.options.Address(t)
	made := sha256.Sum256(fmt.Appendf(nil, "%s\x00%s\x00%s", address, password, access.CA))

	c.mu.Lock()
	defer c.mu.Unlock()
	if p, ok := c.pools[t]; ok {
		if p.made == made {
			return p.db, nil
		}
		p.db.close()
		delete(c.pools, t)
	}
	config, err := c.config(t, address, password, access.CA)
	if err != nil {
		return nil, err
	}
	db := c.newDB(t, config)
	c.pools[t] = pool{db: db, made: made}
	return db, nil
}

// credentials are the Access of the target's server, with the password of its role.
func (c *Connector) credentials(ctx context.Context, t Target) (access Access, password string, err error) {
	if access, err = c.Access(ctx, t.Namespace, t.Server); err != nil {
		return Access{}, "", fmt.Errorf("find the credentials of server %s/%s: %w", t.Namespace, t.Server, err)
	}
	if password = access.Passwords.Of(t.Role); password == "" {
		return Access{}, "", fmt.Errorf("find the credentials of server %s/%s: key %s is missing", t.Namespace, t.Server,
			t.Role.Key())
	}
	return access, password, nil
}

func (c *Connector) newDB(t Target, config msdsn.Config) *DB {
	connect := func(config msdsn.Config) boundedConnector {
		connector := driver.NewConnectorConfig(config)
		connector.Dialer = hostDialer{dial: c.options.Dial, host: config.Host}
		return boundedConnector{connector}
	}
	var connector sqldriver.Connector = connect(config)
	if c.options.Remembered != nil {
		connector = rememberingConnector{c.options.Remembered, config, connect}
	}
	handle := sql.OpenDB(refusals{connector, func() { c.Reread(t.Namespace, t.Server) }})
	handle.SetMaxOpenConns(poolSize)
	handle.SetMaxIdleConns(idleConnections)
	handle.SetConnMaxIdleTime(idleTime)
	handle.SetConnMaxLifetime(connectionLife)
	d := &DB{handle: handle, server: credentials.HostName(t.Server), login: t.login()}
	if c.options.Executing != nil {
		d.executing = func(s tsql.Statement) func(error) { return c.options.Executing(t, s) }
	}
	return d
}

// config is the driver's configuration: encryption required, certificate verified against the CA alone and for its
// name, whatever address is dialled.
func (c *Connector) config(t Target, address, password string, ca []byte) (msdsn.Config, error) {
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(ca) {
		return msdsn.Config{}, fmt.Errorf(
			"connect to server %s/%s: no certificate in %s",
			t.Namespace,
			t.Server,
			credentials.KeyCA,
		)
	}
	host, portText, err := net.SplitHostPort(address)
	if err != nil {
		return msdsn.Config{}, fmt.Errorf("connect to server %s/%s: address %q: %w", t.Namespace, t.Server, address, err)
	}
	port, err := strconv.ParseUint(portText, 10, 16)
	if err != nil {
		return msdsn.Config{}, fmt.Errorf("connect to server %s/%s: address %q: %w", t.Namespace, t.Server, address, err)
	}
	config, err := msdsn.Parse("sqlserver://placeholder?encrypt=true&protocol=tcp&disableretry=false")
	if err != nil {
		return msdsn.Config{}, fmt.Errorf("make the driver's configuration: %w", err)
	}
	config.Host, config.Port, config.Database = host, port, t.Database
	config.User, config.Password = t.login(), password
	config.AppName, config.ReadOnlyIntent = c.options.Program, t.ReadOnly
	config.Encryption = msdsn.EncryptionRequired
	config.HostInCertificateProvided = true
	config.TLSConfig = &tls.Config{ //nolint:gosec // no newer version, see below
		ServerName:       c.options.CertificateName(t),
		VerifyConnection: credentials.Of(c.options.CertificateName(t), t.Namespace),
		RootCAs:          roots,
		MinVersion:       tls.VersionTLS12,
		// Inside TDS 7.4 the handshake travels in PRELOGIN packets; TLS 1.3, whose tickets come after the handshake, is
		// for TDS 8.0 only (MS-TDS 2.2.6.5).
		MaxVersion: tls.VersionTLS12,
		// SQL Server expects one record per packet (go-mssqldb issue 166).
		DynamicRecordSizingDisabled: true,
	}
	return config, nil
}

// Forget closes the pools of a server, such as one that was deleted.
func (c *Connector) Forget(namespace string, server v1alpha1.ServerName) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for t, p := range c.pools {
		if t.Namespace == namespace && t.Server == server {
			p.db.close()
			delete(c.pools, t)
		}
	}
}

// ForgetDatabase closes the pools of one database of a server, whose connections keep it from being dropped.
func (c *Connector) ForgetDatabase(namespace string, server v1alpha1.ServerName, database string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for t, p := range c.pools {
		if t.Namespace == namespace && t.Server == server && strings.EqualFold(t.Database, database) {
			p.db.close()
			delete(c.pools, t)
		}
	}
}

// Close closes all pools, and ends what goes on.
func (c *Connector) Close() error {
	c.lasting.end()
	c.mu.Lock()
	defer c.mu.Unlock()
	var errs []error
	for t, p := range c.pools {
		errs = append(errs, p.db.handle.Close())
		delete(c.pools, t)
	}
	return errors.Join(errs...)
}
