// SPDX-License-Identifier: Apache-2.0

package security

import (
	"context"
	"errors"
	"fmt"
	"net"

	"geosql.dev/standin/engine"
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/storage"
	"geosql.dev/standin/syntax"
	"geosql.dev/standin/tds"
)

// States of 18456 (docs/relational-databases/errors-events/mssqlserver-18456-database-engine-error.md). They are for
// the error log; what a client is told has state 1.
const (
	stateNoSuchLogin   = 5
	stateDisabled      = 7
	stateWrongPassword = 8
	stateNoAccess      = 11
)

// Authenticate checks a SQL login. The client is told 18456 state 1 whatever failed (18470, 18487 and 18488 tell
// themselves apart, as documented, but only to who knows the password); the reason goes to the error log.
func (e *Extension) Authenticate(ctx context.Context, req tds.LoginRequest) (engine.Login, error) {
	catalog, err := e.server(ctx, nil)
	if err != nil {
		return engine.Login{}, err
	}
	if req.User == "" {
		return engine.Login{}, failure(18452, 1, clientSuffix(req.Remote))
	}
	l := catalog.login(req.User)
	if l == nil || l.Type != sqlPrincipal {
		// The same work as for a login that exists, so that time does not tell.
		passwordMatches(req.Password, decoyHash)
		return e.refuseLogin(req, stateNoSuchLogin, "Could not find a login matching the name provided.")
	}
	if !passwordMatches(req.Password, l.PasswordHash) {
		return e.refuseLogin(req, stateWrongPassword, "Password did not match that for the login provided.")
	}
	if l.Disabled {
		e.logFailure(req, stateDisabled, "The account is disabled.")
		return engine.Login{}, failure(18470, 1, req.User, clientSuffix(req.Remote))
	}
	if l.MustChange && req.NewPassword == nil {
		e.logFailure(req, 18, "The password of the account must be changed.")
		return engine.Login{}, failure(18488, 1, req.User, clientSuffix(req.Remote))
	}
	if !catalog.allowed(l.ID, securable{class: classServer}, "CONNECT SQL") {
		return e.refuseLogin(req, stateNoAccess, "Login-based server access validation failed: no CONNECT SQL permission.")
	}
	if req.NewPassword != nil {
		if err := e.changePassword(ctx, req, *l); err != nil {
			return engine.Login{}, err
		}
	}
	return catalog.asLogin(l), nil
}

// changePassword sets the password that a login of its own right asks for while it logs in. Errors: 18464 and 18466
// where the policy refuses it (docs/relational-databases/errors-events/database-engine-events-and-errors.md).
func (e *Extension) changePassword(ctx context.Context, req tds.LoginRequest, l login) error {
	err := e.applyPassword(&l, syntax.LoginOptions{Password: req.NewPassword})
	if refused := (*sqlerr.Error)(nil); errors.As(err, &refused) {
		number := int32(18466)
		if refused.Number == 15116 {
			number = 18464
		}
		e.logFailure(req, 1, "Password change failed: "+refused.Message)
		return failure(number, 1, req.User, clientSuffix(req.Remote))
	}
	if err != nil {
		return err
	}
	l.Modified = e.now().UTC()
	s, err := e.inst.Session(ctx, engine.SystemLogin, "master", "password change")
	if err != nil {
		return fmt.Errorf("change the password of %s: %w", req.User, err)
	}
	defer s.Close()
	return e.writing(ctx, s, e.master(), func(tx *storage.Tx) error { return put(tx, tableLogins, &l) })
}

var decoyHash = hashPassword("decoy")

func (e *Extension) refuseLogin(req tds.LoginRequest, state uint8, reason string) (engine.Login, error) {
	e.logFailure(req, state, reason)
	return engine.Login{}, failure(18456, 1, req.User, "", "")
}

func (e *Extension) logFailure(req tds.LoginRequest, state uint8, reason string) {
	if log := e.inst.Log(); log != nil {
		log.Warn(fmt.Sprintf("Login failed for user '%s'. Reason: %s%s", req.User, reason, clientSuffix(req.Remote)),
			"error", 18456, "severity", 14, "state", state)
	}
}

// clientSuffix is the " [CLIENT: address]" of login messages.
func clientSuffix(remote net.Addr) string {
	if remote == nil {
		return ""
	}
	host, _, err := net.SplitHostPort(remote.String())
	if err != nil {
		host = remote.String()
	}
	return fmt.Sprintf(" [CLIENT: %s]", host)
}

// firstStart gives sa its password when it has none yet.
func (e *Extension) firstStart(ctx context.Context) error {
	catalog, err := e.server(ctx, nil)
	if err != nil {
		return err
	}
	var changed []*login
	if sa := catalog.loginByID(saID); sa != nil && len(sa.PasswordHash) == 0 && e.options.SAPassword != "" {
		l := *sa
		l.PasswordHash = hashPassword(e.options.SAPassword)
		l.PasswordSet, l.Modified = e.now().UTC(), e.now().UTC()
		changed = append(changed, &l)
	}
	public := catalog.loginByID(serverPublicID)
	if public != nil && !public.Granted {
		l := *public
		l.Granted = true
		changed = append(changed, &l)
	}
	if len(changed) == 0 {
		return nil
	}
	s, err := e.inst.Session(ctx, engine.SystemLogin, "master", "first start")
	if err != nil {
		return fmt.Errorf("set up the first principals: %w", err)
	}
	defer s.Close()
	return e.writing(ctx, s, e.master(), func(tx *storage.Tx) error {
		for _, l := range changed {
			if err := put(tx, tableLogins, l); err != nil {
				return err
			}
			if l.ID != serverPublicID {
				continue
			}
			// docs/relational-databases/security/permissions-database-engine.md: by default public has it.
			if err := grant(tx, tableServerPermissions,
				&permission{Class: classServer, Grantee: serverPublicID, Grantor: saID, Name: "VIEW ANY DATABASE",
					State: granted}); err != nil {
				return err
			}
		}
		return nil
	})
}
