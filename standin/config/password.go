// SPDX-License-Identifier: Apache-2.0

package config

import "unicode"

// minPassword is the shortest password allowed (docs/relational-databases/security/password-policy.md).
const minPassword = 8

// CheckPassword applies the password policy to sa's password: at least eight characters, of three of the four classes
// upper case, lower case, digits and symbols.
func CheckPassword(password string) error {
	const intro = "Unable to set the system administrator password: password validation failed. "
	if password == "" {
		return refuse(intro + "Set the environment variable MSSQL_SA_PASSWORD for the first start.")
	}
	var upper, lower, digit, symbol, length int
	for _, r := range password {
		length++
		switch {
		case unicode.IsUpper(r):
			upper = 1
		case unicode.IsLower(r):
			lower = 1
		case unicode.IsDigit(r):
			digit = 1
		default:
			symbol = 1
		}
	}
	if length < minPassword {
		return refuse(
			intro+"The password does not meet the policy because it is too short. It must have at least %d characters.",
			minPassword,
		)
	}
	if upper+lower+digit+symbol < 3 {
		return refuse(
			intro + "The password does not meet the policy because it is not complex enough. It must have characters " +
				"of three of these four sets: upper-case letters, lower-case letters, digits, and symbols.",
		)
	}
	return nil
}
