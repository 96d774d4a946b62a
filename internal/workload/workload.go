// SPDX-License-Identifier: Apache-2.0

// Package workload writes rows that can be told apart from all others, watches them arrive elsewhere, and compares the
// copies. It is a client like any other: it knows nothing of the operator but where a server's credentials are.
package workload

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/tsql"
)

const (
	// span is the number of Ids that a writer has for itself; a run has span for each of its writers.
	span = 1_000_000
	// statementTimeout bounds one statement; after it the outcome is unknown.
	statementTimeout = 15 * time.Second
	// usernameKey and passwordKey are keys of a Login's connection Secret.
	usernameKey, passwordKey = "username", "password"
)

// Options say where the workload runs.
type Options struct {
	// Server is the SQLServer object whose name is in the certificate and whose sa password is in Credentials.
	Server string
	// Address is the host, or host:port, to connect to, such as a listener; the server's own name unless given.
	Address string
	// Database with the tables.
	Database string
	// Credentials is a folder with the keys of the server's Secrets: the password of Role and ca.crt; or with those of a
	// Login's connection Secret: username, password and ca.crt.
	Credentials string
	// Role whose login is used; RoleSA unless given. Every replica of a group has another password for sa, so that clients
	// of a listener need a login of their own, the same on all replicas.
	Role credentials.Role
	// ListenerCertificate says that the certificate must have Address's host name, which whichever replica answers has,
	// instead of Server's.
	ListenerCertificate bool
}

func (o Options) role() credentials.Role {
	if o.Role == "" {
		return credentials.RoleSA
	}
	return o.Role
}

func (o Options) certificateName(t mssql.Target) string {
	if host, _, err := net.SplitHostPort(o.address()); err == nil && o.ListenerCertificate {
		return host
	}
	return credentials.HostName(t.Server)
}

// open returns the pool of connections. Every statement shows where a failure was.
func (o Options) open(ctx context.Context, connector *mssql.Connector) (*mssql.DB, error) {
	return connector.Open(
		ctx,
		mssql.Target{Server: v1alpha1.ServerName(o.Server), Database: o.Database, Role: o.role(), Login: o.declaredLogin()},
	)
}

// declaredLogin is the name in a Login's connection Secret; empty when the folder has none.
func (o Options) declaredLogin() string {
	name, err := os.ReadFile(filepath.Join(o.Credentials, usernameKey))
	if err != nil {
		return ""
	}
	return string(name)
}

func (o Options) connector() *mssql.Connector { return mssql.NewConnector(o.connectorOptions(nil)) }

// connectorOptions are those of the driver's own dialler unless one is given.
func (o Options) connectorOptions(
	dial func(ctx context.Context, network, address string) (net.Conn, error),
) mssql.Options {
	return mssql.Options{
		Program: "geosql-workload",
		Access: mssql.AccessFunc(func(context.Context, string, v1alpha1.ServerName) (mssql.Access, error) {
			return readAccess(o.Credentials, o.role())
		}),
		Address:         func(mssql.Target) string { return o.address() },
		CertificateName: o.certificateName,
		Dial:            dial,
	}
}

func (o Options) address() string {
	address := o.Address
	if address == "" {
		address = credentials.HostName(v1alpha1.ServerName(o.Server))
	}
	if _, _, err := net.SplitHostPort(address); err == nil {
		return address
	}
	return net.JoinHostPort(address, strconv.Itoa(mssql.Port))
}

func readAccess(folder string, role credentials.Role) (mssql.Access, error) {
	access := mssql.Access{Passwords: credentials.Passwords{}}
	var err error
	if access.CA, err = os.ReadFile(filepath.Join(folder, credentials.KeyCA)); err != nil {
		return access, fmt.Errorf("read the CA: %w", err)
	}
	file := role.Key()
	if _, err := os.Stat(filepath.Join(folder, usernameKey)); err == nil {
		file = passwordKey
	}
	password, err := os.ReadFile(filepath.Join(folder, file))
	if err != nil {
		return access, fmt.Errorf("read the password: %w", err)
	}
	access.Passwords[role.Key()] = password
	return access, nil
}

// Run is a set of rows: the Ids of each of its writers begin at Base plus a multiple of span.
type Run struct {
	// Base is below the Ids of the run and not below those of earlier runs.
	Base int64
	// Rows of all writers.
	Rows int
	// Writers at the same time.
	Writers int
}

// first is the Id before a writer's first, and last its last.
func (r Run) bounds(writer int) (first, last int64) {
	rows := r.Rows / r.Writers
	if writer < r.Rows%r.Writers {
		rows++
	}
	first = r.Base + int64(writer)*span
	return first, first + int64(rows)
}

// Check refuses a run that has no room.
func (r Run) Check() error {
	if r.Writers < 1 || r.Writers > 64 {
		return fmt.Errorf("writers must be between 1 and 64, not %d", r.Writers)
	}
	if r.Rows < 1 || r.Rows > r.Writers*span {
		return fmt.Errorf("rows must be between 1 and %d, not %d", r.Writers*span, r.Rows)
	}
	return nil
}

// NextBase is the base of a run after the greatest Id that was seen.
func NextBase(greatest int64) int64 {
	const runs = 64 * span
	return (greatest + runs - 1) / runs * runs
}

// Body is what an article of that Id has: characters that follow from the Id alone, so that a copy can be checked
// without its original.
func Body(id int64, size int) string {
	return base64.RawURLEncoding.EncodeToString(Content(id, size*3/4+1))[:size]
}

// Content is what an attachment of that Id has.
func Content(id int64, size int) []byte {
	seed := sha256.Sum256(binary.BigEndian.AppendUint64(nil, uint64(id))) //nolint:gosec // its bits are hashed
	random := rand.NewChaCha8(seed)
	data := make([]byte, size)
	_, _ = random.Read(data)
	return data
}

// Prepare creates the tables unless they exist and returns the base of the next run.
func Prepare(ctx context.Context, o Options) (int64, error) {
	connector := o.connector()
	defer connector.Close()
	db, err := o.open(ctx, connector)
	if err != nil {
		return 0, err
	}
	for _, s := range []tsql.Statement{tsql.CreateArticleTable(), tsql.CreateAttachmentTable()} {
		if err := db.Exec(ctx, s); err != nil {
			return 0, err
		}
	}
	var greatest int64
	err = db.Query(ctx, tsql.GreatestArticle(), func(row mssql.Row) error { return row.Scan(&greatest) })
	return NextBase(greatest), err
}
