// SPDX-License-Identifier: Apache-2.0

package engine

import "maps"

// optionScope begins a scope of SET options: what a procedure or dynamic SQL sets is restored after it
// (docs/t-sql/statements/set-statements-transact-sql.md, Remarks). The context information stays.
func (s *Session) optionScope() (restore func()) {
	before := s.settings
	before.options = maps.Clone(before.options)
	return func() {
		information := s.settings.contextInfo
		s.settings = before
		s.settings.contextInfo = information
	}
}
