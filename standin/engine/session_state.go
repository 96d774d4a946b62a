// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"sync"
	"time"

	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/bind"
	"geosql.dev/standin/builtin"
	"geosql.dev/standin/metadata"
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/sqltype"
	"geosql.dev/standin/syntax"
	"geosql.dev/standin/tds"
	"geosql.dev/standin/xmlmethod"
)

// settings are a session's SET options.
type settings struct {
	noCount, xactAbort, implicitTransactions, fmtOnly, noExec, parseOnly bool
	// statisticsTime is SET STATISTICS TIME.
	statisticsTime bool
	// lockTimeout is in milliseconds, -1 for ever.
	lockTimeout int64
	// isolation is 1 read uncommitted to 4 serializable, 5 snapshot (sys.dm_exec_sessions).
	isolation byte
	rowCount  int64
	textSize  int64
	language  string
	dates     dateSettings
	// ownOrder and ownFirst tell that SET DATEFORMAT and SET DATEFIRST were given, over which a language has no say.
	ownOrder, ownFirst bool
	deadlock           int64
	contextInfo        []byte
	options            map[string]bool
	identityInto       int32 // object_id with IDENTITY_INSERT ON
	identityDB         int32
}

func defaultSettings() settings {
	return settings{lockTimeout: -1, isolation: 2, textSize: -1, language: "us_english", dates: defaultDates,
		options: map[string]bool{"AnsiNulls": true, "AnsiPadding": true, "AnsiWarnings": true, "ArithAbort": true,
			"ConcatNullYieldsNull": true, "QuotedIdentifier": true, "AnsiNullDfltOn": true}}
}

// sessionState is what statements leave behind for later ones.
type sessionState struct {
	settings settings
	frames   []*frame
	// statementContext is that of the running request.
	statementContext context.Context
	cancel           context.CancelFunc
	clockAt          time.Time
	line             int32

	rowCount  int64
	lastError int32
	xml       xmlmethod.Kept
	// leniency is the notice that a statement has earned whose errors in arithmetic are NULL; 0 when none.
	leniency int32
	// notices are what a statement says beside its results.
	notices []*sqlerr.Error
	// cursors are the global ones; fetchStatus and cursorRows are @@FETCH_STATUS and @@CURSOR_ROWS.
	cursors      map[string]*cursor
	fetchStatus  int64
	cursorRows   int64
	random       builtin.Random
	lastIdentity any
	// newSchema is the one that the running CREATE SCHEMA has made, which its elements are in; empty otherwise.
	newSchema string
	// outerIdentity is SCOPE_IDENTITY() of the batches that the client itself sends.
	outerIdentity any
	errors        []*sqlerr.Error // what CATCH blocks that are running have caught
	tryDepth      int
	// trouble is the error that a TRY block has to deal with, and how many frames there were where it came up.
	trouble struct {
		err *sqlerr.Error
		at  int
	}
	nest   int
	broken breakage

	batches      batchCache
	plans        planCache
	sessionKeys  map[string]sessionValue
	insertExec   *insertTarget
	target       *bind.Target
	foreignConns []foreignUse
	// viewDB is the database that a system view is read for, when a three-part name gave one.
	viewDB          *Database
	localIdentities *identities
	// functionSpaces are those of functions with table variables, by depth of calls; functionDepth is the depth now.
	functionSpaces []localSpace
	functionDepth  int
	// duplicatesIgnored tells that the running statement has left out rows (IGNORE_DUP_KEY).
	duplicatesIgnored bool
	identityError     error
	sequenceRows      sequenceRows
	// execution is the call of a procedure whose execution is published that runs now.
	execution *execution
}

// sessionValue is a value of sp_set_session_context.
type sessionValue struct {
	value    any
	readOnly bool
}

// frame is a batch or procedure that is running.
type frame struct {
	variables map[string]*variable
	batch     *syntax.Batch
	// node is the statement that runs, the innermost one.
	node ast.Statement
	// procedure is the name of the module, empty for a batch; dynamic tells of one that EXECUTE or sp_executesql was
	// given.
	procedure string
	dynamic   bool
	objectID  int32
	// module is the one of the database that runs, or the view or inline function that is bound: where names without a
	// schema are looked for.
	module *metadata.Object
	// nullsEqual says that the module was made under ANSI_NULLS OFF, which stays with it.
	nullsEqual bool
	status     int32
	identity   any
	depth      int
	trancount  int
	trigger    *triggerFrame
	// returns is the type of the scalar function that runs, result its value; table tells a table-valued function.
	returns *sqltype.Type
	result  any
	table   bool
	// changed are the rows of the OUTPUT clause of a change that the running INSERT takes.
	changed *metadata.Object
	// cursors are the local ones.
	cursors map[string]*cursor
}

// ownsTables tells whether the temporary tables of a frame end with it: those of a client's batch are its session's.
func (f *frame) ownsTables() bool { return f.procedure != "" || f.dynamic }

// variable is a declared variable.
type variable struct {
	name  string
	typ   sqltype.Type
	value any
	// table is set for a table variable, tableType for one of a type of CREATE TYPE, readOnly for a parameter.
	table, tableType *metadata.Object
	readOnly         bool
	// isCursor is set for a variable of type cursor, cursor when it has one.
	isCursor bool
	cursor   *cursor
	// bound is the SQL of a parameter of an inline function that is being expanded.
	bound string
	// lateral tells that it has something of what the function is applied to.
	lateral bool
}

type sessionSpec struct {
	login    Login
	database string
	request  tds.LoginRequest
	internal bool
}

func (inst *Instance) openSession(ctx context.Context, spec sessionSpec) (*Session, error) {
	s := &Session{
		inst:     inst,
		request:  spec.request,
		login:    spec.login,
		original: spec.login,
		started:  time.Now(),
		internal: spec.internal,
	}
	s.settings = defaultSettings()
	s.speakFirst()
	s.sessionKeys = map[string]sessionValue{}
	s.statementContext = ctx
	name := spec.database
	if name == "" {
		name = spec.login.DefaultDatabase
	}
	if name == "" {
		name = "master"
	}
	db := inst.Database(name)
	if db == nil {
		return nil, sqlerr.New(4060, 1, name)
	}
	if err := s.enter(ctx, db); err != nil {
		if spec.internal {
			return nil, err
		}
		inst.log.Warn("login could not open its database", "login", spec.login.Name, "database", name, "error", err.Error())
		if e := AsError(err); e.Number == 976 || e.Number == 978 || e.Number == 983 || e.Number == 979 {
			return nil, e
		}
		return nil, sqlerr.New(4060, 1, name)
	}
	s.db = db
	inst.mu.Lock()
	if inst.closed {
		inst.mu.Unlock()
		return nil, sqlerr.New(6005, 1, "")
	}
	s.spid = inst.nextSPID
	for inst.sessions[s.spid] != nil {
		s.spid++
	}
	inst.nextSPID = s.spid + 1
	if inst.nextSPID > 30000 {
		inst.nextSPID = firstUserSPID
	}
	inst.sessions[s.spid] = s
	inst.mu.Unlock()
	return s, nil
}

// enter is nil when the session may use the database now.
func (s *Session) enter(ctx context.Context, db *Database) error {
	if err := db.Available(); err != nil {
		return err
	}
	if err := db.admitSession(s); err != nil {
		return err
	}
	for _, f := range s.inst.registry.access {
		if err := f(ctx, s, db); err != nil {
			return err
		}
	}
	_, err := s.userIn(ctx, db)
	return err
}

// moduleFrame is the frame in which a module of users runs, without its arguments.
func (s *Session) moduleFrame(o *metadata.Object, batch *syntax.Batch) *frame {
	f := &frame{
		variables:  map[string]*variable{},
		batch:      batch,
		procedure:  o.Name,
		objectID:   o.ID,
		nullsEqual: o.AnsiNullsOff,
		depth:      s.nest,
	}
	if o.ID > 0 { // else temporary: it is in no schema of the database
		f.module = o
	}
	return f
}

func (s *Session) frame() *frame {
	if len(s.frames) == 0 {
		return nil
	}
	return s.frames[len(s.frames)-1]
}

// variable finds a variable of the running frame; nil when it is not declared.
func (s *Session) variable(name string) *variable {
	if f := s.frame(); f != nil {
		return f.variables[lower(name)]
	}
	return nil
}

// VariableValue is the value of a variable of the running batch or module.
func (s *Session) VariableValue(name string) (value any, declared bool) {
	v := s.variable(name)
	if v == nil {
		return nil, false
	}
	return v.value, true
}

func (s *Session) declare(name string, t sqltype.Type, value any) *variable {
	v := &variable{name: name, typ: t, value: value}
	s.frame().variables[lower(name)] = v
	return v
}

// context is that of the running request.
func (s *Session) context() context.Context {
	if s.statementContext == nil {
		return context.Background()
	}
	return s.statementContext
}

// clock is the time of the statement, rounded to a type.
func (s *Session) clock(t sqltype.Type) any {
	now := s.clockAt
	if now.IsZero() {
		now = time.Now()
	}
	if t.Kind != sqltype.DateTimeOffset {
		now = now.UTC()
	}
	v, err := sqltype.FitTime(now, t, t)
	if err != nil {
		return nil
	}
	return v
}

// Context is the value of sp_set_session_context for a key; nil when there is none.
func (s *Session) Context(key string) any { return sqltype.Bare(s.sessionKeys[lower(key)].value) }

// Broken makes the session end its connection after the current statement without an answer: the outcome of what it did
// is unknown.
// It may be called from any goroutine.
func (s *Session) Broken(err error) { s.broken.set(err) }

// breakage is why a session ends: the first reason counts.
type breakage struct {
	mu  sync.Mutex
	why error
}

func (b *breakage) set(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.why == nil {
		b.why = err
	}
}

// err is nil while the session goes on.
func (b *breakage) err() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.why
}

// sessionStatus is what other sessions' views show.
type sessionStatus struct {
	mu        sync.Mutex
	running   bool
	command   string
	text      string
	since     time.Time
	last      time.Time
	database  int32
	blockedBy int
	wait      string
	waitSince time.Time
	openTran  int
	prevError int32     // the last error that was returned
	began     time.Time // of the open transaction
	idle      chan struct{}
}

func (st *sessionStatus) begin(text string, db *Database) {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.running, st.text, st.since, st.database = true, text, time.Now(), db.ID()
	st.idle = make(chan struct{})
}

func (st *sessionStatus) failed(number int32) {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.prevError = number
}

func (st *sessionStatus) end(db *Database, open int, began time.Time) {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.running, st.last, st.database, st.openTran, st.began, st.command = false, time.Now(), db.ID(), open, began, ""
	if st.idle != nil {
		close(st.idle)
		st.idle = nil
	}
}

func (st *sessionStatus) waiting(what string, by int) func() {
	st.mu.Lock()
	st.wait, st.waitSince, st.blockedBy = what, time.Now(), by
	st.mu.Unlock()
	return func() {
		st.mu.Lock()
		st.wait, st.blockedBy = "", 0
		st.mu.Unlock()
	}
}

// interrupt stops what the session executes now.
func (s *Session) interrupt() {
	s.status.mu.Lock()
	cancel := s.cancel
	s.status.mu.Unlock()
	if cancel != nil {
		cancel()
	}
}

// waitIdle waits until the session executes nothing, for a bounded time.
func (s *Session) waitIdle(d time.Duration) {
	s.status.mu.Lock()
	idle := s.status.idle
	s.status.mu.Unlock()
	if idle == nil {
		return
	}
	select {
	case <-idle:
	case <-time.After(d):
	}
}

// batchCache keeps parsed batches by text, and the parameters that their declarations name.
type batchCache struct {
	batches map[batchKey]*syntax.Batch
	// free has the variables that batches use and do not declare.
	free map[*syntax.Batch][]freeVariable
	// compiled has the batches whose statements were all bound.
	compiled map[*syntax.Batch]compiled
	order    []batchKey
	// declared has parameter declarations by text; nobody writes to what it gives.
	declared map[string][]declaredParameter
}

type batchKey struct {
	text, key        string
	quotedIdentifier bool
}

// declaredParameter is a parameter of sp_executesql; key is its name as variables are looked up.
type declaredParameter struct {
	syntax.Parameter
	key string
}

const maxBatches = 100

func (c *batchCache) parse(text, key string, quotedIdentifier bool) (*syntax.Batch, *sqlerr.Error) {
	k := batchKey{text, key, quotedIdentifier}
	if b := c.batches[k]; b != nil {
		return b, nil
	}
	b, err := syntax.ParseQuoted(text, quotedIdentifier)
	if err == nil {
		err = duplicateVariable(b)
	}
	if err != nil {
		return nil, err
	}
	if c.batches == nil {
		c.batches = map[batchKey]*syntax.Batch{}
	}
	if len(text) > 1<<20 {
		return b, nil
	}
	if c.free == nil {
		c.free, c.compiled = map[*syntax.Batch][]freeVariable{}, map[*syntax.Batch]compiled{}
	}
	c.free[b] = freeVariables(b)
	c.batches[k] = b
	c.order = append(c.order, k)
	if len(c.order) > maxBatches {
		delete(c.free, c.batches[c.order[0]])
		delete(c.compiled, c.batches[c.order[0]])
		delete(c.batches, c.order[0])
		c.order = c.order[1:]
	}
	return b, nil
}

// parameters parses a declaration of parameters, and keeps it: clients send the same one with every execution.
func (c *batchCache) parameters(decl string) ([]declaredParameter, *sqlerr.Error) {
	if decl == "" {
		return nil, nil
	}
	if found, ok := c.declared[decl]; ok {
		return found, nil
	}
	parsed, err := syntax.ParseParameters(decl)
	if err != nil {
		return nil, err
	}
	out := make([]declaredParameter, len(parsed))
	for i, p := range parsed {
		out[i] = declaredParameter{p, lower(p.Name)}
	}
	if c.declared == nil || len(c.declared) >= maxBatches {
		c.declared = map[string][]declaredParameter{}
	}
	c.declared[decl] = out
	return out, nil
}

// planCache keeps bound statements by their syntax node.
type planCache struct {
	plans map[planKey]*bind.Plan
}

type planKey struct {
	node  ast.Node
	db    int32
	dates dateSettings
	// nullsEqual and nullIsEmpty are ANSI_NULLS and CONCAT_NULL_YIELDS_NULL when they are OFF.
	nullsEqual, nullIsEmpty bool
	// schema is where names without one are looked for first.
	schema string
}

const maxPlans = 400

func (c *planCache) get(k planKey) *bind.Plan { return c.plans[k] }

func (c *planCache) put(k planKey, p *bind.Plan) {
	if c.plans == nil || len(c.plans) >= maxPlans {
		c.plans = map[planKey]*bind.Plan{}
	}
	c.plans[k] = p
}
