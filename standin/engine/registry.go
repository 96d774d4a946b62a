// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"fmt"
	"reflect"
	"strings"

	"geosql.dev/standin/sqltype"
	"geosql.dev/standin/syntax"
	"geosql.dev/standin/tds"
)

// Extension adds statements, procedures, views and functions to an instance. Install is called once by New, before any
// database is opened.
type Extension interface {
	Install(*Registry) error
}

// Registry is what an instance knows to do beyond its core; extensions fill it in Install and nobody changes it later.
type Registry struct {
	inst           *Instance
	statements     map[reflect.Type]StatementFunc
	procedures     map[string]*Procedure
	views          map[string]*View
	tableFunctions map[string]*TableFunction
	functions      map[string]*Function
	globals        map[string]*Global
	properties     map[string]func(*Instance) any
	tables         []InternalTable
	starters       []func(context.Context) error
	stoppers       []func(context.Context)
	databaseHooks  []func(context.Context, DatabaseEvent) error
	sessionHooks   []func(*Session)
	access         []func(context.Context, *Session, *Database) error
	route          func(tds.LoginRequest) *tds.Redirect
	counters       []func() []Counter
	objectHooks    []ObjectFunc
	alterTable     AlterTableFunc
	alterModule    AlterModuleFunc
	execution      ExecutionFunc
	principals     func(context.Context, *Session, *Database, string) (int32, bool)
	alterations    map[reflect.Type]AlterFunc
	authenticator  Authenticator
	impersonate    ImpersonateFunc
	actAs          ActAsFunc
	authorizer     Authorizer
	atServer       func(permission string) bool
	hasPrincipal   func(context.Context, *Session, *Database, string) bool
	remote         RemoteServers
	problems       []string
}

func newRegistry(inst *Instance) *Registry {
	return &Registry{
		inst:           inst,
		statements:     map[reflect.Type]StatementFunc{},
		procedures:     map[string]*Procedure{},
		views:          map[string]*View{},
		tableFunctions: map[string]*TableFunction{},
		functions:      map[string]*Function{},
		globals:        map[string]*Global{},
		properties:     map[string]func(*Instance) any{},
		alterations:    map[reflect.Type]AlterFunc{},
	}
}

// Instance is the instance that is being set up. Its databases are not open yet in Install; keep it for later.
func (r *Registry) Instance() *Instance { return r.inst }

// ServerPermissions tells the engine which permissions without a securable are those of the server; others are the
// database's.
func (r *Registry) ServerPermissions(f func(permission string) bool) { r.atServer = f }

// HasPrincipal tells the engine who knows whether a database has a user or role of a name, whatever the session may do
// with it.
func (r *Registry) HasPrincipal(f func(ctx context.Context, s *Session, db *Database, name string) bool) {
	r.hasPrincipal = f
}

// StatementFunc executes one statement of the type it is registered for. A returned *sqlerr.Error goes to the client
// (or to a CATCH block) with the statement's line; the func sends nothing about it itself. It need not call w.Done.
type StatementFunc func(ctx context.Context, s *Session, st syntax.Statement, w tds.Writer) error

// Statement registers the func for statements whose Node has the type of node, a nil pointer is enough:
// r.Statement((*syntax.CreateLogin)(nil), ...).
func (r *Registry) Statement(node any, run StatementFunc) {
	t := reflect.TypeOf(node)
	if _, taken := r.statements[t]; taken {
		r.problems = append(r.problems, fmt.Sprintf("two extensions execute the statement %v", t))
	}
	r.statements[t] = run
}

// Procedure registers a system procedure.
func (r *Registry) Procedure(p Procedure) {
	if p.Schema == "" {
		p.Schema = "sys"
	}
	key := strings.ToLower(p.Name)
	if p.Schema != "sys" {
		key = strings.ToLower(p.Database + "." + p.Schema + "." + p.Name)
	}
	if _, taken := r.procedures[key]; taken {
		r.problems = append(r.problems, "two extensions have the procedure "+key)
	}
	r.procedures[key] = &p
}

// View registers a system view: a virtual table that is joined with everything else.
func (r *Registry) View(v View) { r.addView(&v) }

func (r *Registry) addView(v *View) {
	key := strings.ToLower(v.Database + "." + v.Schema + "." + v.Name)
	if _, taken := r.views[key]; taken {
		r.problems = append(r.problems, "two extensions have the view "+key)
	}
	r.views[key] = v
}

// TableFunction registers a system table-valued function.
func (r *Registry) TableFunction(f TableFunction) {
	r.tableFunctions[strings.ToLower(f.Schema+"."+f.Name)] = &f
}

// Function registers a scalar function.
func (r *Registry) Function(f Function) { r.functions[strings.ToLower(f.Name)] = &f }

// Global registers a @@name.
func (r *Registry) Global(g Global) { r.globals[strings.ToLower(g.Name)] = &g }

// ServerProperty registers a property for SERVERPROPERTY(name): nil, string, int64 or bool.
func (r *Registry) ServerProperty(name string, value func(*Instance) any) {
	r.properties[strings.ToLower(name)] = value
}

// Table registers an internal table, which is made in every database of its scope when the database is created, and
// when a database made by an older program is opened.
func (r *Registry) Table(t InternalTable) { r.tables = append(r.tables, t) }

// ImpersonateFunc lets a session be a login or a user (kind LOGIN or USER) of a name until leave is called.
type ImpersonateFunc func(ctx context.Context, s *Session, kind, name string) (leave func(), err error)

// ActAsFunc lets a session be a principal of a database (principal_id), or a login when one is named, until leave is
// called; it asks for no permission.
type ActAsFunc func(ctx context.Context, s *Session, db *Database, principal int32, login string) (leave func(),
	err error)

// OnActAs sets who lets modules WITH EXECUTE AS run as somebody else.
func (r *Registry) OnActAs(f ActAsFunc) { r.actAs = f }

// OnImpersonate sets who lets EXECUTE (...) AS run as somebody else.
func (r *Registry) OnImpersonate(f ImpersonateFunc) { r.impersonate = f }

// OnStart registers a func that runs when all databases are recovered and before the first client is let in.
func (r *Registry) OnStart(f func(ctx context.Context) error) { r.starters = append(r.starters, f) }

// OnStop registers a func that runs when the instance closes, before its databases do; last registered, first called.
func (r *Registry) OnStop(f func(ctx context.Context)) { r.stoppers = append(r.stoppers, f) }

// OnDatabase registers a func that hears of databases. Its error fails the statement that caused the event.
func (r *Registry) OnDatabase(f func(ctx context.Context, e DatabaseEvent) error) {
	r.databaseHooks = append(r.databaseHooks, f)
}

// OnSessionEnd registers a func that is called when a session is closed or reset.
func (r *Registry) OnSessionEnd(f func(*Session)) { r.sessionHooks = append(r.sessionHooks, f) }

// AlterFunc carries out an action of ALTER DATABASE. A *sqlerr.Error goes to the client.
type AlterFunc func(ctx context.Context, s *Session, db *Database, action any, w tds.Writer) error

// AlterDatabase registers the func for ALTER DATABASE actions of action's type (syntax.DBSetHADR{}).
func (r *Registry) AlterDatabase(action any, run AlterFunc) {
	r.alterations[reflect.TypeOf(action)] = run
}

// Counter is a row of sys.dm_os_performance_counters. Object has no server's name before it; the value of one whose
// name ends in /sec is a total.
type Counter struct {
	Object, Name, Instance string
	Value                  int64
}

// Counters registers what an extension counts.
func (r *Registry) Counters(f func() []Counter) { r.counters = append(r.counters, f) }

// OnReadOnlyLogin sets who tells where a login with ApplicationIntent=ReadOnly belongs; nil for here.
func (r *Registry) OnReadOnlyLogin(f func(req tds.LoginRequest) *tds.Redirect) { r.route = f }

// OnAccess registers a func that is asked when a session enters a database (login, USE) and before each statement that
// touches a user database; its *sqlerr.Error (976, 978, 983 ...) refuses.
func (r *Registry) OnAccess(f func(ctx context.Context, s *Session, db *Database) error) {
	r.access = append(r.access, f)
}

// Authenticator sets who checks logins; without one only Config's sa password counts.
func (r *Registry) Authenticator(a Authenticator) { r.authenticator = a }

// Authorizer sets who checks permissions; without one every login may do everything.
func (r *Registry) Authorizer(a Authorizer) { r.authorizer = a }

// RemoteServers sets who executes four-part names and EXEC ... AT (linked servers); without one they fail with 7202.
func (r *Registry) RemoteServers(s RemoteServers) { r.remote = s }

// View is a system view. Columns nil means those of the catalog's documentation of Schema.Name.
type View struct {
	// Database is where it is visible: empty for every database, or "master", "msdb", "distribution"
	// ("distribution" means every database that is a distribution database).
	Database     string
	Schema, Name string
	Columns      []tds.Column
	// Rows makes the rows as s may see them now; values as sqltype.Type says (nil for NULL), one per column.
	Rows func(ctx context.Context, s *Session) ([][]any, error)
}

// TableFunction is a table-valued system function.
type TableFunction struct {
	Schema, Name string
	// Parameters are the types that arguments are converted to; all are required (DEFAULT and NULL give nil).
	Parameters []sqltype.Type
	Columns    []tds.Column
	Rows       func(ctx context.Context, s *Session, args []any) ([][]any, error)
}

// Function is a scalar function that is evaluated in Go.
type Function struct {
	Name string
	// MinArgs and MaxArgs bound the number of arguments; MaxArgs -1 is no limit.
	MinArgs, MaxArgs int
	// Parameters are the types that arguments are converted to before Eval, the last one repeated; nil takes them as
	// they come.
	Parameters []sqltype.Type
	// Type is the result's type; Infer, when set, decides by the argument types instead.
	Type  sqltype.Type
	Infer func(args []sqltype.Type) sqltype.Type
	// Deterministic is true when equal arguments always give equal results, whoever asks.
	Deterministic bool
	// Eval computes the value. A *sqlerr.Error is the statement's error.
	Eval func(s *Session, args []any) (any, error)
}

// Global is a @@name.
type Global struct {
	// Name has its @@.
	Name  string
	Type  sqltype.Type
	Value func(s *Session) any
	// Nullable tells that the value may be nil.
	Nullable bool
}

// Scope says in which databases an internal table exists.
type Scope uint8

// The scopes of internal tables.
const (
	EveryDatabase Scope = iota
	MasterOnly
	MsdbOnly
)

// InternalTable is a table of an extension's own, captured and replicated as data are. It is reached with SQLite's SQL
// through Session.Conn and Session.Tx.
type InternalTable struct {
	Scope Scope
	// Name begins with "__" and is unique.
	Name string
	// DDL are SQLite statements that make it ("CREATE TABLE __x (id INTEGER PRIMARY KEY, ...)"). It must have an
	// INTEGER PRIMARY KEY.
	DDL []string
}

// EventKind is what happened to a database.
type EventKind uint8

// What happens to databases.
const (
	// DatabaseCreated comes after CREATE DATABASE or a restore made it, and it is open.
	DatabaseCreated EventKind = iota
	// DatabaseOpened comes when it was opened at start or brought online.
	DatabaseOpened
	// DatabaseDropping comes before it is dropped; an error forbids it (3752: in an availability group).
	DatabaseDropping
	// DatabaseClosing comes before it is closed (SET OFFLINE, or the instance stops).
	DatabaseClosing
	// DatabaseAltering comes before ALTER DATABASE changes it; an error forbids it (Option names the change).
	DatabaseAltering
)

// DatabaseEvent is something that happens to a database.
type DatabaseEvent struct {
	Kind     EventKind
	Database *Database
	// Option is for DatabaseAltering: RECOVERY, OFFLINE, READ_ONLY, SINGLE_USER, NAME, FILE ... with its new value.
	Option, Value string
}
