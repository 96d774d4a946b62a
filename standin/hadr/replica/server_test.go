// SPDX-License-Identifier: Apache-2.0

package replica_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"errors"
	"log/slog"
	"math/big"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	. "github.com/onsi/gomega"
	"zombiezen.com/go/sqlite/sqlitex"

	"geosql.dev/standin/config"
	"geosql.dev/standin/hadr/endpoint"
	"geosql.dev/standin/hadr/replica"
	"geosql.dev/standin/storage"
)

// server is an instance without T-SQL.
type server struct {
	t      *testing.T
	name   string
	folder string
	id     *endpoint.Identity
	log    *slog.Logger
	port   string

	mu        sync.Mutex
	databases map[string]*storage.Database
	m         *replica.Manager

	// members are the databases that belong to a group, by name, as their ID in it.
	members map[string]uuid.UUID
	// dialled counts the connections that it opened to others.
	dialled atomic.Int32
	// refuse is why nothing can be noted in master, nil when it can.
	refuse error
	// slow keeps a seeding from ending, until it is ended otherwise; stuck says that one has come so far.
	slow, stuck atomic.Bool
	// answers are the questions that it answers the other way.
	answers config.Answers
}

// Identity is what it shows on every connection.
func (s *server) Identity(context.Context) (*endpoint.Identity, error) { return s.id, nil }

func (s *server) ServerName() string { return s.name }

func (s *server) Disconnect(string) {}

func (s *server) TraceFlag(int) bool { return false }

func (s *server) Answers(name config.Answer) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.answers.Has(name)
}

func (s *server) Settings(string) json.RawMessage { return nil }

func (s *server) TakeSettings(context.Context, string, json.RawMessage) error {
	panic("the options of a database came although it has none")
}

func (s *server) Log() *slog.Logger { return s.log }

func (s *server) Restoring(context.Context, string, bool) error { return nil }

func (s *server) DefaultFolders() (string, string) { return s.folder, s.folder }

// Member notes which group database a database is, as master would.
func (s *server) Member(ctx context.Context, name string, _, id uuid.UUID) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := errors.Join(s.refuse, ctx.Err()); err != nil {
		return err
	}
	s.members[name] = id
	return nil
}

func (s *server) member(name string) uuid.UUID {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.members[name]
}

func (s *server) Database(name string) *storage.Database {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.databases[name]
}

func (s *server) Exists(name string) bool { return s.Database(name) != nil }

func (s *server) Seed(ctx context.Context, spec replica.SeedSpec, open replica.OpenFunc) error {
	if old := s.Database(spec.Name); old != nil {
		old.Close()
	}
	if s.slow.Load() {
		s.stuck.Store(true)
		<-ctx.Done()
		return ctx.Err()
	}
	db, err := open(spec.Files, options)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.databases[spec.Name] = db
	return nil
}

var options = storage.Options{SegmentBytes: 256 << 10}

func (s *server) files(name string) storage.Files {
	return storage.Files{Data: filepath.Join(s.folder, name+".mdf"), Log: filepath.Join(s.folder, name+"_log.ldf")}
}

// start opens what is on disk, as a start of the instance does.
func (s *server) start() {
	g := NewWithT(s.t)
	paths, _ := filepath.Glob(filepath.Join(s.folder, "*.mdf"))
	s.databases = map[string]*storage.Database{}
	for _, p := range paths {
		name := filepath.Base(p[:len(p)-4])
		db, err := storage.Open(s.t.Context(), s.files(name), options)
		g.Expect(err).NotTo(HaveOccurred())
		s.databases[name] = db
	}
	m, err := replica.Open(s.t.Context(), s, filepath.Join(s.folder, "hadr"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(m.Listen("127.0.0.1:" + s.port)).To(Succeed())
	s.mu.Lock()
	s.m = m
	s.mu.Unlock()
	_, s.port, _ = splitPort(m.Address())
}

func splitPort(a string) (string, string, error) {
	for i := len(a) - 1; i >= 0; i-- {
		if a[i] == ':' {
			return a[:i], a[i+1:], nil
		}
	}
	return a, "", errors.New("no port")
}

// stop ends the instance; the databases are not checkpointed any differently from a crash as far as roles go.
func (s *server) stop() {
	s.m.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, db := range s.databases {
		db.Close()
	}
	s.databases = nil
}

func newServers(t *testing.T, names ...string) []*server {
	g := NewWithT(t)
	root := t.TempDir()
	known := map[string]bool{}
	var out []*server
	for _, n := range names {
		known[n] = true
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		g.Expect(err).NotTo(HaveOccurred())
		c := &x509.Certificate{
			SerialNumber: big.NewInt(1),
			Subject:      pkix.Name{CommonName: n},
			NotBefore:    time.Now().Add(-time.Hour),
			NotAfter:     time.Now().Add(time.Hour),
		}
		der, err := x509.CreateCertificate(rand.Reader, c, c, key.Public(), key)
		g.Expect(err).NotTo(HaveOccurred())
		s := &server{
			t:       t,
			name:    n,
			folder:  filepath.Join(root, n),
			port:    "0",
			log:     slog.New(slog.DiscardHandler),
			members: map[string]uuid.UUID{},
		}
		if os.Getenv("GEOSQL_TEST_LOG") != "" {
			s.log = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug})).With("server", n)
		}
		s.id = &endpoint.Identity{
			Certificate: tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key},
			Authorize: func(_ context.Context, c *x509.Certificate) error {
				if !known[c.Subject.CommonName] {
					return errors.New("unknown")
				}
				return nil
			},
			Reach: func(address string) string {
				s.dialled.Add(1)
				return address
			},
		}
		g.Expect(os.MkdirAll(s.folder, 0o755)).To(Succeed())
		s.start()
		t.Cleanup(func() {
			if s.databases != nil {
				s.stop()
			}
		})
		out = append(out, s)
	}
	return out
}

// database makes a database with one table and a first full backup.
func (s *server) database(name string) *storage.Database {
	g := NewWithT(s.t)
	db, err := storage.Create(s.t.Context(), s.files(name), options)
	g.Expect(err).NotTo(HaveOccurred())
	s.mu.Lock()
	s.databases[name] = db
	s.mu.Unlock()
	tx, err := db.Begin(s.t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(tx.ExecDDL("CREATE TABLE t (id INTEGER PRIMARY KEY, v TEXT)")).To(Succeed())
	_, err = tx.Commit(s.t.Context())
	g.Expect(err).NotTo(HaveOccurred())
	h, err := db.Backup(s.t.Context(), discard{}, storage.BackupOptions{})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(db.NoteBackup(h)).To(Succeed())
	return db
}

type discard struct{}

func (discard) Write(b []byte) (int, error) { return len(b), nil }

func insert(ctx context.Context, db *storage.Database, id int) error {
	tx, err := db.Begin(ctx)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	leave, err := tx.Use(ctx)
	if err != nil {
		return err
	}
	err = sqlitex.Execute(tx.Conn(), "INSERT INTO t VALUES (?, 'x')", &sqlitex.ExecOptions{Args: []any{id}})
	leave()
	if err != nil {
		return err
	}
	_, err = tx.Commit(ctx)
	return err
}

func count(ctx context.Context, db *storage.Database) (int64, error) {
	if db == nil {
		return 0, errors.New("no database")
	}
	r, err := db.Reader(ctx)
	if err != nil {
		return 0, err
	}
	defer r.Release()
	return sqlitex.ResultInt64(r.Conn().Prep("SELECT count(*) FROM t"))
}
