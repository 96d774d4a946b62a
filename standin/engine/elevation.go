// SPDX-License-Identifier: Apache-2.0

package engine

// AsSystem runs f while the session acts as the system's own login, as a module with EXECUTE AS OWNER does: a system
// procedure whose caller may execute it reads and writes tables on which the caller has no right of his own.
func (s *Session) AsSystem(f func() error) error {
	login, user := s.login, s.user
	s.SetLogin(SystemLogin)
	defer func() { s.login, s.user = login, user }()
	return f()
}
