// SPDX-License-Identifier: Apache-2.0

// Package security is the part of an instance that knows who may do what: logins, users, roles, permissions, master
// keys, certificates, endpoints and linked servers. Server-wide principals live in master; users, roles, database
// permissions, certificates and master keys live in internal tables of their database and travel with it.
package security

import (
	"context"
	"path/filepath"
	"sync"
	"time"

	"geosql.dev/standin/engine"
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/syntax"
	"geosql.dev/standin/tds"
)

// Options are what the extension is made with.
type Options struct {
	// SAPassword is sa's password at the first start; later starts leave sa's password alone.
	SAPassword string
	// Now is the clock; nil is time.Now.
	Now func() time.Time
}

// Extension is the engine extension; make it with New and put it first among the instance's extensions.
type Extension struct {
	options Options
	inst    *engine.Instance
	now     func() time.Time

	cache cache
	smk   serviceMasterKey

	mu       sync.Mutex
	contexts map[*engine.Session][]*execution // EXECUTE AS, innermost last
	opened   map[*engine.Session]map[int32][]byte
	groups   func(name string) (id int32, ok bool)
	changed  []func(EndpointConfig)
	remotes  remotePool
}

// Ensure that the engine can use it.
var (
	_ engine.Extension     = (*Extension)(nil)
	_ engine.Authenticator = (*Extension)(nil)
	_ engine.Authorizer    = (*Extension)(nil)
	_ engine.RemoteServers = (*Extension)(nil)
)

// New makes the extension.
func New(o Options) *Extension {
	e := &Extension{options: o, now: o.Now, contexts: map[*engine.Session][]*execution{},
		opened: map[*engine.Session]map[int32][]byte{}}
	if e.now == nil {
		e.now = time.Now
	}
	return e
}

// Install registers everything.
func (e *Extension) Install(r *engine.Registry) error {
	e.inst = r.Instance()
	e.smk.path = filepath.Join(e.inst.Config().DataDir, "service_master_key")
	for _, t := range internalTables {
		r.Table(t)
	}
	r.Authenticator(e)
	r.ServerPermissions(func(permission string) bool { return serverPermissions[permission] })
	r.Authorizer(e)
	r.RemoteServers(e)
	r.Principals(e.principal)
	r.HasPrincipal(e.hasPrincipal)
	r.OnStart(e.start)
	r.OnStop(func(context.Context) { e.remotes.close() })
	r.OnSessionEnd(e.forget)
	r.OnDatabase(e.databaseEvent)
	e.installStatements(r)
	e.installFunctions(r)
	e.installCertificateFunctions(r)
	e.installViews(r)
	e.installProcedures(r)
	installHelp(r)
	return nil
}

func (e *Extension) installStatements(r *engine.Registry) {
	statement(r, e.createLogin)
	statement(r, e.alterLogin)
	statement(r, e.dropLogin)
	statement(r, e.createUser)
	statement(r, e.alterUser)
	statement(r, e.dropUser)
	statement(r, e.createRole)
	statement(r, e.alterRole)
	statement(r, e.dropRole)
	statement(r, e.permissionStatement)
	statement(r, e.alterAuthorization)
	statement(r, e.executeAs)
	statement(r, e.revert)
	r.OnImpersonate(e.impersonate)
	r.OnActAs(e.actAs)
	statement(r, e.createMasterKey)
	statement(r, e.alterMasterKey)
	statement(r, e.dropMasterKey)
	statement(r, e.openMasterKey)
	statement(r, e.closeMasterKey)
	statement(r, e.backupMasterKey)
	statement(r, e.restoreMasterKey)
	statement(r, e.createCertificate)
	statement(r, e.alterCertificate)
	statement(r, e.dropCertificate)
	statement(r, e.backupCertificate)
	statement(r, e.createEndpoint)
	statement(r, e.alterEndpoint)
	statement(r, e.dropEndpoint)
}

// statement registers a typed handler.
func statement[N any](r *engine.Registry, run func(context.Context, *engine.Session, *N) error) {
	r.Statement((*N)(nil), func(ctx context.Context, s *engine.Session, st syntax.Statement, _ tds.Writer) error {
		return run(ctx, s, any(st.Node).(*N))
	})
}

// start completes the first start: sa's password and the service master key.
func (e *Extension) start(ctx context.Context) error {
	if err := e.smk.open(); err != nil {
		return err
	}
	return e.firstStart(ctx)
}

// forget drops what a session that ended or was reset had.
func (e *Extension) forget(s *engine.Session) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.contexts, s)
	delete(e.opened, s)
	e.cache.mu.Lock()
	defer e.cache.mu.Unlock()
	delete(e.cache.dirty, s)
}

func (e *Extension) databaseEvent(_ context.Context, event engine.DatabaseEvent) error {
	e.cache.drop(event.Database)
	return nil
}

// master is the master database.
func (e *Extension) master() *engine.Database { return e.inst.Database("master") }

// failure makes a *sqlerr.Error as an error.
func failure(number int32, state uint8, args ...any) error {
	return sqlerr.New(number, state, args...)
}

// notPermitted is 15247.
func notPermitted() error { return failure(15247, 1) }
