// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"time"

	"zombiezen.com/go/sqlite"

	"geosql.dev/operator/standin/storage"
	"geosql.dev/operator/standin/tds"
)

var errSoon = errors.New("being written")

func lower(s string) string { return strings.ToLower(s) }

type identityCounter struct{}
type schemaCache struct{}
type sessionStatus struct{}
type sessionSpec struct {
	login    Login
	database string
	request  tds.LoginRequest
	internal bool
}

// Instance is a running instance.
type Instance struct {
	config    Config
	started   time.Time
	log       *slog.Logger
	mu        sync.RWMutex
	databases map[int32]*Database
}

// New starts an instance: creates the system databases at the first start, recovers all databases, runs OnStart hooks.
func New(ctx context.Context, config Config) (*Instance, error) { return nil, errSoon }

// Close stops it: hooks, sessions, a checkpoint of every database.
func (inst *Instance) Close() error { return nil }

// Login serves tds.Backend.
func (inst *Instance) Login(ctx context.Context, req tds.LoginRequest) (tds.Session, error) {
	return nil, errSoon
}

// ServerName serves tds.Backend.
func (inst *Instance) ServerName() string { return inst.config.ServerName }

// Version serves tds.Backend.
func (inst *Instance) Version() [4]byte { return [4]byte{16, 0, 0x0f, 0xa0} }

// Databases are all databases in the order of their IDs.
func (inst *Instance) Databases() []*Database { return nil }

// Sessions are all sessions in the order of their SPIDs.
func (inst *Instance) Sessions() []*Session { return nil }

func (inst *Instance) openSession(ctx context.Context, spec sessionSpec) (*Session, error) {
	return nil, errSoon
}
func (inst *Instance) updateDatabase(ctx context.Context, db *Database, change func(*DatabaseInfo)) error {
	return errSoon
}
func (s *Session) run(ctx context.Context, text string, params []any, w tds.Writer) error {
	return errSoon
}
func (s *Session) readConn(ctx context.Context, db *Database) (*sqlite.Conn, func(), error) {
	return nil, nil, errSoon
}
func (s *Session) write(ctx context.Context, db *Database, f func(*storage.Tx) error) error {
	return errSoon
}
func (s *Session) userIn(ctx context.Context, db *Database) (User, error) { return DBO, nil }
func (s *Session) require(ctx context.Context, p Permission) error        { return nil }
func (s *Session) setLogin(l Login)                                       { s.login = l }

// Batch serves tds.Session.
func (s *Session) Batch(ctx context.Context, text string, w tds.Writer) error { return errSoon }

// Call serves tds.Session.
func (s *Session) Call(ctx context.Context, call tds.Call, w tds.Writer) error { return errSoon }

// Execute serves tds.Session.
func (s *Session) Execute(ctx context.Context, text, decl string, params []tds.Param, w tds.Writer) error {
	return errSoon
}

// Begin serves tds.Session.
func (s *Session) Begin(ctx context.Context, isolation byte) (uint64, error) { return 0, errSoon }

// Commit serves tds.Session.
func (s *Session) Commit(ctx context.Context) error { return errSoon }

// Rollback serves tds.Session.
func (s *Session) Rollback(ctx context.Context, savepoint string) error { return errSoon }

// Save serves tds.Session.
func (s *Session) Save(ctx context.Context, savepoint string) error { return errSoon }

// InTransaction serves tds.Session.
func (s *Session) InTransaction() uint64 { return 0 }

// BulkInsert serves tds.Session.
func (s *Session) BulkInsert(ctx context.Context, text string, cols []tds.Column, next func() ([]any, error)) (int64, error) {
	return 0, errSoon
}

// Reset serves tds.Session.
func (s *Session) Reset(ctx context.Context, keepTransaction bool) error { return errSoon }

// Close ends the session; an open transaction is rolled back.
func (s *Session) Close() error { return nil }
