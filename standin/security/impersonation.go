// SPDX-License-Identifier: Apache-2.0

package security

import (
	"context"
	"strings"

	"geosql.dev/operator/standin/engine"
	"geosql.dev/operator/standin/syntax"
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

// executeAs is EXECUTE AS LOGIN and USER. Errors: 15406 and 15517 for a principal that isn't there or may not be
// impersonated, 15159 too deep.
func (e *Extension) executeAs(ctx context.Context, s *engine.Session, n *syntax.ExecuteAs) error {
	if n.CookieInto != "" || n.Variable != "" {
		return failure(1043, 1, "EXECUTE AS with a variable")
	}
	x := &execution{before: s.Login(), noRevert: n.NoRevert}
	var become engine.Login
	switch n.Kind {
	case "LOGIN":
		l, err := e.impersonatedLogin(ctx, s, n.Name)
		if err != nil {
			return err
		}
		become = l
	case "USER":
		u, l, err := e.impersonatedUser(ctx, s, n.Name)
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
	return e.mayServer(ctx, s, "CONTROL SERVER", "IMPERSONATE ANY LOGIN") || e.maySecurable(ctx, s, "IMPERSONATE", classLogin, l.ID)
}

func (e *Extension) impersonatedUser(ctx context.Context, s *engine.Session, name string) (*user, engine.Login, error) {
	db := s.CurrentDatabase()
	catalog, err := e.database(ctx, s, db)
	if err != nil {
		return nil, engine.Login{}, err
	}
	u := catalog.user(name)
	refused := failure(15517, 1, name)
	if u == nil || u.Type == rolePrincipal || u.Type == certificatePrincipal || u.ID == informationSchemaID || u.ID == sysID {
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
	become := engine.Login{Name: sidText(u.SID), SID: u.SID, DefaultDatabase: db.Name()}
	if u.ID == dboID {
		if l := logins.loginBySID(db.Info().OwnerSID); l != nil {
			become = engine.Login{Name: l.Name, SID: l.SID, ID: l.ID, DefaultDatabase: db.Name()}
		}
	} else if l := logins.loginBySID(u.SID); l != nil {
		become = engine.Login{Name: l.Name, SID: l.SID, ID: l.ID, DefaultDatabase: db.Name()}
	}
	return u, become, nil
}

// revert is REVERT. Outside an EXECUTE AS it does nothing; 15199 in another database than the one that EXECUTE AS USER
// was called in, 15591 after WITH NO REVERT.
func (e *Extension) revert(_ context.Context, s *engine.Session, n *syntax.Revert) error {
	x := e.context(s)
	if x == nil {
		return nil
	}
	if n.Cookie != "" {
		return failure(15589, 1)
	}
	if x.noRevert {
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
