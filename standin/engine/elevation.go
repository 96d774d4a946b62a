// SPDX-License-Identifier: Apache-2.0

package engine

// identity is who a session is.
type identity struct {
	login Login
	user  *User
}

// AsSystem runs f while the session acts as the system's own login: a system procedure whose caller may execute it
// reads and writes tables on which the caller has no right of his own. Modules of users that f sets off (a trigger on
// such a table, a procedure that somebody registered) are the caller's again: whoever may write one must not have the
// server with it.
func (s *Session) AsSystem(f func() error) error {
	before, caller := identity{s.login, s.user}, s.caller
	if s.caller == nil {
		s.caller = &before
	}
	s.SetLogin(SystemLogin)
	defer func() { s.login, s.user, s.caller = before.login, before.user, caller }()
	return f()
}

// asCaller runs f as the one who called the system procedure that AsSystem runs; outside of one, as the session is.
func (s *Session) asCaller(f func() error) error {
	caller := s.caller
	if caller == nil {
		return f()
	}
	system := identity{s.login, s.user}
	s.login, s.user, s.caller = caller.login, caller.user, nil
	defer func() { s.login, s.user, s.caller = system.login, system.user, caller }()
	return f()
}
