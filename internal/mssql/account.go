// SPDX-License-Identifier: Apache-2.0

package mssql

import "fmt"

// Numbers by which a server says why it does not let an account in
// (docs/relational-databases/errors-events/database-engine-events-and-errors.md).
const (
	numberDisabled   = 18470
	numberLockedOut  = 18486
	numberExpired    = 18487
	numberMustChange = 18488
	// numberTrigger is that of a logon trigger that refuses.
	numberTrigger = 17892
)

// Shut says why a server does not let a login in, and what helps; empty when the error is about something else. To a
// login that is not there, whose password is another one, or to which CONNECT SQL is denied, servers say the same.
func Shut(err error, login string) string {
	quoted := "[" + login + "]"
	switch {
	case HasNumber(err, numberDisabled):
		return fmt.Sprintf("login %s is disabled: ALTER LOGIN %s ENABLE", login, quoted)
	case HasNumber(err, numberLockedOut):
		return fmt.Sprintf(
			"login %s is locked out: ALTER LOGIN %s WITH PASSWORD = '...' UNLOCK, with the password that it has",
			login,
			quoted,
		)
	case HasNumber(err, numberExpired):
		return fmt.Sprintf(
			"the password of login %s has expired: ALTER LOGIN %s WITH PASSWORD = '...', CHECK_EXPIRATION = OFF",
			login,
			quoted,
		)
	case HasNumber(err, numberMustChange):
		return fmt.Sprintf(
			"the password of login %s must be changed at its next login: ALTER LOGIN %s WITH PASSWORD = '...', without "+
				"MUST_CHANGE",
			login,
			quoted,
		)
	case HasNumber(err, numberTrigger):
		return fmt.Sprintf("a logon trigger of the server keeps login %s out: let it in there", login)
	case HasNumber(err, numberLoginFailed):
		return fmt.Sprintf(
			"the server refuses login %s: its password is another one, there is no login of the name, or CONNECT SQL is "+
				"denied to it",
			login,
		)
	}
	return ""
}

// LockedOut tells whether a server says that a login was locked out for wrong passwords.
func LockedOut(err error) bool { return HasNumber(err, numberLockedOut) }

// PasswordRefused tells whether a server refuses a login as it does one whose password is another one.
func PasswordRefused(err error) bool { return HasNumber(err, numberLoginFailed) }
