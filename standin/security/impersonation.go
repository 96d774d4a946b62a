// SPDX-License-Identifier: Apache-2.0

package security

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"strings"

	"geosql.dev/standin/engine"
	"geosql.dev/standin/sqltype"
	"geosql.dev/standin/syntax"
)

// maxImpersonation is how deep EXECUTE AS nests (docs/t-sql/statements/execute-as-transact-sql.md).
const maxImpersonation = 32

// execution is one EXECUTE AS.
type execution struct {
	// before is the login that REVERT returns to.
	before engine.Login
	// user is set for EXECUTE AS USER, which holds in the database of that id only.
	user     *user
	database int32
	noRevert bool
	// cookie is what REVERT has to name, nil for none.
	cookie []byte
	// bound is what EXECUTE ('text') AS made: REVERT within the text does not end it.
	bound bool
}

// context is the innermost EXECUTE AS of a session, nil outside one.
func (e *Extension) context(s *engine.Session) *execution {
	e.mu.Lock()
	defer e.mu.Unlock()
	stack := e.contexts[s]
	if len(stack) == 0 {
		return nil
	}
	return stack[len(stack)-1]
}

// cookieLength is the length of a cookie: @varbinary_variable is varbinary(100)
// (docs/t-sql/statements/revert-transact-sql.md).
const cookieLength = 100

// executeAs is EXECUTE AS LOGIN and USER, whose name may be in a variable. Errors: 15406 and 15517 for a principal that
// isn't there or may not be impersonated, 15159 too deep.
func (e *Extension) executeAs(ctx context.Context, s *engine.Session, n *syntax.ExecuteAs) error {
	x := &execution{before: s.Login(), noRevert: n.NoRevert}
	if n.CookieInto != "" {
		x.cookie = make([]byte, cookieLength)
		_, _ = rand.Read(x.cookie) // never fails
		if err := s.SetVariable(n.CookieInto, x.cookie, sqltype.VarBinaryOf(cookieLength)); err != nil {
			return err
		}
	}
	name := n.Name
	if n.Variable != "" {
		value, err := s.VariableAs(n.Variable, sqltype.NVarCharOf(128))
		if err != nil {
			return err
		}
		name, _ = value.(string)
	}
	var become engine.Login
	switch n.Kind {
	case "LOGIN":
		l, err := e.impersonatedLogin(ctx, s, name)
		if err != nil {
			return err
		}
		become = l
	case "USER":
		u, l, err := e.impersonatedUser(ctx, s, name)
		if err != nil {
			return err
		}
		x.user, x.database, become = u, s.CurrentDatabase().ID(), l
	default:
		return nil // EXECUTE AS CALLER outside a module changes nothing
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.contexts[s]) >= maxImpersonation {
		return failure(15159, 1, maxImpersonation)
	}
	e.contexts[s] = append(e.contexts[s], x)
	s.SetLogin(become)
	return nil
}

// impersonate is EXECUTE AS for the time of one text; leaving takes back what the text left behind, too.
func (e *Extension) impersonate(ctx context.Context, s *engine.Session, kind, name string) (leave func(), err error) {
	before := s.Login()
	if err := e.executeAs(ctx, s, &syntax.ExecuteAs{Kind: kind, Name: name}); err != nil {
		return nil, err
	}
	x := e.context(s)
	x.bound = true
	return e.leaving(s, x, before), nil
}

// leaving ends an execution, and those that were begun within it.
func (e *Extension) leaving(s *engine.Session, x *execution, before engine.Login) func() {
	return func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		for at, other := range e.contexts[s] {
			if other == x {
				e.contexts[s] = e.contexts[s][:at]
				s.SetLogin(before)
				return
			}
		}
	}
}

// actAs is EXECUTE AS of a module for as long as it runs; who defined the module has been asked for the permission.
// Errors: 15517 for a user and 15406 for a login that is not there or is a role.
func (e *Extension) actAs(
	ctx context.Context,
	s *engine.Session,
	db *engine.Database,
	principal int32,
	login string,
) (leave func(), err error) {
	logins, err := e.server(ctx, s)
	if err != nil {
		return nil, err
	}
	x := &execution{before: s.Login(), bound: true}
	var become engine.Login
	if login != "" {
		l := logins.login(login)
		if l == nil || l.Type == rolePrincipal || l.Type == certificatePrincipal {
			return nil, failure(15406, 1, login)
		}
		become = logins.asLogin(l)
	} else {
		catalog, err := e.database(ctx, s, db)
		if err != nil {
			return nil, err
		}
		u := catalog.userByID(principal)
		if u == nil {
			return nil, failure(15517, 1, fmt.Sprint(principal))
		}
		if u.Type == rolePrincipal || u.Type == certificatePrincipal {
			return nil, failure(15517, 1, u.Name)
		}
		x.user, x.database, become = u, db.ID(), logins.behind(u, db)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.contexts[s]) >= maxImpersonation {
		return nil, failure(15159, 1, maxImpersonation)
	}
	e.contexts[s] = append(e.contexts[s], x)
	s.SetLogin(become)
	return e.leaving(s, x, x.before), nil
}

// behind is who a session is at the server while it is a user of a database.
func (c *serverCatalog) behind(u *user, db *engine.Database) engine.Login {
	sid := u.SID
	if u.ID == dboID {
		sid = db.Info().OwnerSID
	}
	if l := c.loginBySID(sid); l != nil {
		return engine.Login{Name: l.Name, SID: l.SID, ID: l.ID, DefaultDatabase: db.Name()}
	}
	return engine.Login{Name: sidText(u.SID), SID: u.SID, DefaultDatabase: db.Name()}
}

func (e *Extension) impersonatedLogin(ctx context.Context, s *engine.Session, name string) (engine.Login, error) {
	catalog, err := e.server(ctx, s)
	if err != nil {
		return engine.Login{}, err
	}
	l := catalog.login(name)
	if l == nil || l.Type == rolePrincipal || l.Type == certificatePrincipal ||
		!strings.EqualFold(s.Login().Name, name) && !e.mayImpersonateLogin(ctx, s, l) {
		return engine.Login{}, failure(15406, 1, name)
	}
	return catalog.asLogin(l), nil
}

func (e *Extension) mayImpersonateLogin(ctx context.Context, s *engine.Session, l *login) bool {
	return e.mayServer(ctx, s, "CONTROL SERVER", "IMPERSONATE ANY LOGIN") ||
		e.maySecurable(ctx, s, "IMPERSONATE", classLogin, l.ID)
}

func (e *Extension) impersonatedUser(ctx context.Context, s *engine.Session, name string) (*user, engine.Login, error) {
	db := s.CurrentDatabase()
	catalog, err := e.database(ctx, s, db)
	if err != nil {
		return nil, engine.Login{}, err
	}
	u := catalog.user(name)
	refused := failure(15517, 1, name)
	if u == nil || u.Type == rolePrincipal || u.Type == certificatePrincipal || u.ID == informationSchemaID ||
		u.ID == sysID {
		return nil, engine.Login{}, refused
	}
	self, err := s.User(ctx, db)
	if err != nil {
		return nil, engine.Login{}, err
	}
	if self.ID != u.ID && !e.may(ctx, s, db, securable{class: classPrincipal, major: u.ID}, "IMPERSONATE") {
		return nil, engine.Login{}, refused
	}
	logins, err := e.server(ctx, s)
	if err != nil {
		return nil, engine.Login{}, err
	}
	return u, logins.behind(u, db), nil
}

// revert is REVERT. Outside an EXECUTE AS it does nothing; 15199 in another database than the one that EXECUTE AS USER
// was called in, 15591 after WITH NO REVERT and without the cookie that belongs to it, 15589 with another one.
func (e *Extension) revert(_ context.Context, s *engine.Session, n *syntax.Revert) error {
	x := e.context(s)
	if x == nil || x.bound {
		return nil
	}
	if n.Cookie != "" {
		value, err := s.VariableAs(n.Cookie, sqltype.VarBinaryOf(cookieLength))
		if err != nil {
			return err
		}
		if cookie, _ := value.([]byte); x.cookie == nil || !bytes.Equal(cookie, x.cookie) {
			return failure(15589, 1)
		}
	}
	if x.noRevert || x.cookie != nil && n.Cookie == "" {
		return failure(15591, 1)
	}
	if x.user != nil && x.database != s.CurrentDatabase().ID() {
		return failure(15199, 1, "Execute")
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	stack := e.contexts[s]
	e.contexts[s] = stack[:len(stack)-1]
	s.SetLogin(x.before)
	return nil
}
