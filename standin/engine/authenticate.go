// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"crypto/subtle"
	"net"
	"strings"

	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/tds"
)

// AgentAccount is who the server's own replication agents are where their command lines ask for Windows authentication
// at their own distributor, as the jobs do that the documented procedures make: SQL Server Agent runs within the
// server, and needs no domain for that (docs/linux/sql-server-linux-replication-tutorial-tsql.md). A login of this name
// is somebody else: the password tells.
const AgentAccount = "SQLSERVERAGENT"

// AgentPassword is the password of AgentAccount: another one in each process, and never told to anybody.
func (inst *Instance) AgentPassword() string { return inst.agentPassword() }

func (inst *Instance) authenticate(ctx context.Context, req tds.LoginRequest) (Login, error) {
	if req.User == AgentAccount && subtle.ConstantTimeCompare([]byte(req.Password), []byte(inst.agentPassword())) == 1 {
		return SystemLogin, nil
	}
	if a := inst.registry.authenticator; a != nil {
		return a.Authenticate(ctx, req)
	}
	same := subtle.ConstantTimeCompare([]byte(req.Password), []byte(inst.config.SAPassword)) == 1
	if strings.EqualFold(req.User, "sa") && same && inst.config.SAPassword != "" {
		return SystemLogin, nil
	}
	state := uint8(8)
	if !strings.EqualFold(req.User, "sa") {
		state = 5
	}
	return Login{}, sqlerr.New(18456, state, req.User, "", clientAddress(req))
}

func clientAddress(req tds.LoginRequest) string {
	if req.Remote == nil {
		return "<local machine>"
	}
	host, _, err := net.SplitHostPort(req.Remote.String())
	if err != nil {
		return req.Remote.String()
	}
	return host
}

// userIn is the session's user in a database.
func (s *Session) userIn(ctx context.Context, db *Database) (User, error) {
	a := s.inst.registry.authorizer
	if s.login.Sysadmin || a == nil {
		return DBO, nil
	}
	if s.user != nil {
		return *s.user, nil
	}
	return a.User(ctx, s, db)
}

func (s *Session) require(ctx context.Context, p Permission) error {
	a := s.inst.registry.authorizer
	if s.login.Sysadmin && s.user == nil || a == nil {
		return nil
	}
	return a.Allow(ctx, s, p)
}

// refreshLogins brings the session's logins up to date before a request.
func (s *Session) refreshLogins(ctx context.Context) {
	a := s.inst.registry.authorizer
	if a == nil || s.internal {
		return
	}
	same := s.login.ID == s.original.ID
	// Views show the name and SID of who logged in to other sessions, which do not wait for this one: those stay as they
	// are.
	s.original.Sysadmin = a.Refreshed(ctx, s, s.original).Sysadmin
	if same {
		s.login.Sysadmin = s.original.Sysadmin
	} else {
		s.login = a.Refreshed(ctx, s, s.login)
	}
}

// SetLogin changes who the session is (EXECUTE AS LOGIN, REVERT); OriginalLogin stays.
func (s *Session) SetLogin(l Login) { s.login, s.user = l, nil }

// SetUser makes the session act as a database user (EXECUTE AS USER); nil ends that.
func (s *Session) SetUser(u *User) { s.user = u }

// ImpersonatedUser is what SetUser set, nil outside EXECUTE AS USER.
func (s *Session) ImpersonatedUser() *User { return s.user }

func (s *Session) userName() any {
	u, err := s.userIn(s.context(), s.db)
	if err != nil {
		return nil
	}
	return u.Name
}
