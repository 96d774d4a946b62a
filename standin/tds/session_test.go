// SPDX-License-Identifier: Apache-2.0

package tds_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	_ "github.com/microsoft/go-mssqldb"
	"github.com/onsi/gomega"

	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/sqltype"
	"geosql.dev/standin/tds"
)

// echoBackend is a backend whose sessions give back what they get.
type echoBackend struct {
	mu       sync.Mutex
	sessions []*echoSession
	logins   []tds.LoginRequest
	spid     int
}

func (b *echoBackend) ServerName() string { return "ECHO" }
func (b *echoBackend) Version() [4]byte   { return [4]byte{16, 0, 0x0F, 0xA0} }

func (b *echoBackend) Login(_ context.Context, req tds.LoginRequest) (tds.Session, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.logins = append(b.logins, req)
	if req.Password != "Passw0rd!é" {
		return nil, &sqlerr.Error{Number: 18456, Class: 14, State: 1, Message: "Login failed for user '" + req.User + "'."}
	}
	if req.Database == "nowhere" {
		return nil, errors.Join(
			&sqlerr.Error{Number: 4060, Class: 11, State: 1, Message: "no such database"},
			&sqlerr.Error{Number: 18456, Class: 14, State: 1, Message: "login failed"},
		)
	}
	b.spid++
	s := &echoSession{spid: 50 + b.spid, database: "master"}
	if req.Database != "" {
		s.database = req.Database
	}
	s.first = s.database
	b.sessions = append(b.sessions, s)
	return s, nil
}

func (b *echoBackend) session(i int) *echoSession {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.sessions[i]
}

func (b *echoBackend) count() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.sessions)
}

func (b *echoBackend) lastLogin() tds.LoginRequest {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.logins[len(b.logins)-1]
}

type echoSession struct {
	spid        int
	database    string
	first       string // the database of the login
	transaction uint64
	next        uint64
	isolation   byte
	name        string // of the transaction
	savepoints  []string
	bulk        []string
	rows        [][]any
	bulkColumns []tds.Column
	resets      atomic.Int32
	cancelled   atomic.Int32
	closed      atomic.Bool
	executed    atomic.Int32
	loads       atomic.Int32 // bulk loads that came to their end
	answer      *tds.Param   // what "answer" sends as a row and procedure output as an output parameter
}

func (s *echoSession) Database() string      { return s.database }
func (s *echoSession) SPID() int             { return s.spid }
func (s *echoSession) InTransaction() uint64 { return s.transaction }
func (s *echoSession) Close() error          { s.closed.Store(true); return nil }

// Collation is another one in the database czech.
func (s *echoSession) Collation() string {
	if s.database == "czech" {
		return "Czech_CI_AS"
	}
	return ""
}

func (s *echoSession) Reset(_ context.Context, keep bool) error {
	s.resets.Add(1)
	s.database = s.first
	if !keep {
		s.transaction = 0
	}
	return nil
}

func (s *echoSession) Begin(_ context.Context, isolation byte, name string) (uint64, error) {
	s.next++
	s.transaction, s.isolation, s.name = s.next, isolation, name
	return s.transaction, nil
}

func (s *echoSession) Commit(context.Context) error {
	if s.transaction == 0 {
		return &sqlerr.Error{Number: 3902, Class: 16, State: 1, Message: "no transaction to commit", Line: 1}
	}
	s.transaction = 0
	return nil
}

func (s *echoSession) Rollback(_ context.Context, savepoint string) error {
	if savepoint == "" {
		s.transaction = 0
	}
	return nil
}

func (s *echoSession) Save(_ context.Context, savepoint string) error {
	s.savepoints = append(s.savepoints, savepoint)
	return nil
}

var (
	intType  = sqltype.Type{Kind: sqltype.Int}
	textType = sqltype.Type{Kind: sqltype.NVarChar, Length: 4000}
)

// Batch understands one word and an argument.
func (s *echoSession) Batch(ctx context.Context, text string, w tds.Writer) error {
	s.executed.Add(1)
	word, argument, _ := strings.Cut(strings.TrimSuffix(strings.TrimSpace(text), ";"), " ")
	switch strings.ToLower(word) {
	case "select":
		w.Columns([]tds.Column{{Name: "value", Type: textType, Nullable: true}})
		w.Row([]any{argument})
		return w.Done(tds.Rows(1))
	case "rows":
		n, _ := strconv.Atoi(argument)
		w.Columns([]tds.Column{{Name: "n", Type: intType}, {Name: "filler", Type: textType}})
		for i := range n {
			if err := ctx.Err(); err != nil {
				s.cancelled.Add(1)
				return err
			}
			if err := w.Row([]any{int64(i), strings.Repeat("x", 100)}); err != nil {
				return err
			}
		}
		return w.Done(tds.Rows(int64(n)))
	case "twice":
		for i := range 2 {
			w.Columns([]tds.Column{{Name: fmt.Sprintf("c%d", i), Type: intType}})
			w.Row([]any{int64(i)})
			w.Done(tds.Rows(1))
		}
		return nil
	case "count":
		n, _ := strconv.ParseInt(argument, 10, 64)
		return w.Done(tds.Completion{Command: tds.CommandUpdate, Count: n})
	case "fire":
		n, _ := strconv.ParseInt(argument, 10, 64)
		w.Done(tds.Completion{Command: tds.CommandDelete, Count: n, InTrigger: true})
		if n == 0 {
			w.Message(&sqlerr.Error{Number: 50001, Class: 16, State: 1, Message: "the trigger failed"})
			return w.Done(tds.Completion{Command: tds.CommandDelete, Count: -1, InTrigger: true})
		}
		return w.Done(tds.Completion{Command: tds.CommandInsert, Count: 1})
	case "fail":
		class, _ := strconv.Atoi(argument)
		w.Message(
			&sqlerr.Error{Number: 50001, Class: uint8(class), State: 7, Message: "it failed: ü😀", Procedure: "proc", Line: 42},
		)
		return w.Done(tds.Completion{Count: -1})
	case "wait":
		<-ctx.Done()
		s.cancelled.Add(1)
		if argument == "quietly" {
			return nil
		}
		return ctx.Err()
	case "use":
		old := s.database
		s.database = argument
		return w.Database(argument, old)
	case "begin":
		s.next++
		s.transaction = s.next
		return w.Done(tds.Completion{Count: -1})
	case "commit":
		s.transaction = 0
		return w.Done(tds.Completion{Count: -1})
	case "doom":
		s.next++
		s.transaction = s.next
		w.Message(&sqlerr.Error{Number: 50001, Class: 16, State: 1, Message: "it failed"})
		err := w.Done(tds.Completion{Count: -1})
		s.transaction = 0
		return err
	case "unsendable":
		w.Columns([]tds.Column{{Name: "n", Type: intType}})
		return w.Row([]any{"not a number"})
	case "never":
		w.Columns([]tds.Column{{Name: "a", Type: s.answer.Type}})
		if err := w.Row([]any{s.answer.Value}); err != nil {
			return err
		}
		return w.Done(tds.Rows(1))
	case "answer":
		w.Columns([]tds.Column{{Name: "a", Type: s.answer.Type, Nullable: true}})
		w.Row([]any{s.answer.Value})
		return w.Done(tds.Rows(1))
	case "panic":
		panic("the engine has a fault")
	}
	return w.Done(tds.Completion{Count: -1})
}

func (s *echoSession) Call(_ context.Context, call tds.Call, w tds.Writer) error {
	if call.Name == "missing" {
		return &sqlerr.Error{Number: 2812, Class: 16, State: 62, Message: "Could not find stored procedure 'missing'."}
	}
	if call.Name == "output" {
		return w.ReturnValue(s.answer.Name, s.answer.Type, s.answer.Value)
	}
	if err := s.echo(call.Params, w); err != nil {
		return err
	}
	return w.ReturnStatus(7)
}

func (s *echoSession) echo(params []tds.Param, w tds.Writer) error {
	if len(params) == 0 {
		return w.Done(tds.Completion{Count: -1})
	}
	cols, row := []tds.Column{}, []any{}
	for _, p := range params {
		cols = append(cols, tds.Column{Name: p.Name, Type: p.Type, Nullable: true})
		row = append(row, p.Value)
		if p.Output {
			w.ReturnValue(p.Name, p.Type, p.Value)
		}
	}
	w.Columns(cols)
	w.Row(row)
	return w.Done(tds.Rows(1))
}

// Execute gives the parameters back; "types" gives the names of their types instead.
func (s *echoSession) Execute(ctx context.Context, text, decl string, params []tds.Param, w tds.Writer) error {
	s.executed.Add(1)
	switch text {
	case "echo @p1", "echo":
		return s.echo(params, w)
	case "types of":
		w.Columns([]tds.Column{{Name: "declared", Type: textType}, {Name: "types", Type: textType}})
		got := []sqltype.Type{}
		for _, p := range params {
			got = append(got, p.Type)
		}
		w.Row([]any{decl, fmt.Sprint(got)})
		return w.Done(tds.Rows(1))
	}
	return s.Batch(ctx, text, w)
}

// Prepare knows one text that does not parse.
func (s *echoSession) Prepare(_ context.Context, p tds.Prepared, describe bool, w tds.Writer) error {
	if p.Text == "selec" {
		w.Message(sqlerr.New(102, 1, p.Text))
		return sqlerr.New(8180, 1)
	}
	if describe {
		return w.Columns([]tds.Column{{Name: "described", Type: intType}})
	}
	return nil
}

// IsQuery knows two texts that are none.
func (s *echoSession) Language() string { return "us_english" }

func (s *echoSession) IsQuery(text string) bool {
	return text != "begin" && !strings.HasPrefix(text, "insert")
}

func (s *echoSession) BulkInsert(
	_ context.Context,
	text string,
	cols []tds.Column,
	next func() ([]any, error),
) (int64, error) {
	s.bulk, s.rows, s.bulkColumns = append(s.bulk, text), nil, cols
	for {
		row, err := next()
		if errors.Is(err, io.EOF) {
			s.loads.Add(1)
			return int64(len(s.rows)), nil
		}
		if err != nil {
			return 0, err
		}
		if len(s.rows) == 3 && strings.Contains(text, "refuse") {
			return 0, &sqlerr.Error{Number: 2627, Class: 14, State: 1, Message: "violation"}
		}
		s.rows = append(s.rows, row)
	}
}

// serve starts a server and gives its address.
func serve(t *testing.T, change ...func(*tds.Config)) (*echoBackend, string) {
	t.Helper()
	backend, _, address := serveServer(t, change...)
	return backend, address
}

func serveServer(t *testing.T, change ...func(*tds.Config)) (*echoBackend, *tds.Server, string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	gomega.NewWithT(t).Expect(err).NotTo(gomega.HaveOccurred())
	backend, server := serveOn(t, l, change...)
	return backend, server, l.Addr().String()
}

func serveOn(t *testing.T, l net.Listener, change ...func(*tds.Config)) (*echoBackend, *tds.Server) {
	t.Helper()
	g := gomega.NewWithT(t)
	backend := &echoBackend{}
	cfg := tds.Config{Backend: backend, FailedLoginDelay: time.Millisecond}
	for _, f := range change {
		f(&cfg)
	}
	server, err := tds.NewServer(cfg)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		g.Expect(server.Shutdown(ctx)).To(gomega.Succeed())
		g.Expect(<-served).To(gomega.MatchError(tds.ErrServerClosed))
		for i := range backend.count() {
			g.Expect(backend.session(i).closed.Load()).To(gomega.BeTrue(), "session %d is closed", i)
		}
	})
	return backend, server
}

// open gives a database handle with one connection.
func open(t *testing.T, address, options string) *sql.DB {
	t.Helper()
	if !strings.Contains(options, "certificate=") {
		options += "&TrustServerCertificate=true"
	}
	db, err := sql.Open("sqlserver", "sqlserver://sa:Passw0rd%21%C3%A9@"+address+"?dial+timeout=5&"+options)
	gomega.NewWithT(t).Expect(err).NotTo(gomega.HaveOccurred())
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { db.Close() })
	return db
}
