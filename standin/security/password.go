// SPDX-License-Identifier: Apache-2.0

package security

import (
	"crypto/rand"
	"crypto/sha512"
	"crypto/subtle"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Password hashes have the form that sys.sql_logins.password_hash has since SQL Server 2012: the version 0x0200, four
// bytes of salt, and SHA-512 of the password in UTF-16 with the salt after it, so that CREATE LOGIN ... HASHED moves a
// login from one server to another (docs/t-sql/functions/pwdencrypt-transact-sql.md,
// docs/t-sql/statements/create-login-transact-sql.md "hashed_password").
const (
	hashVersion = 0x02
	saltBytes   = 4
	hashBytes   = 2 + saltBytes + sha512.Size
)

// hashPassword makes a new hash.
func hashPassword(password string) []byte {
	salt := make([]byte, saltBytes)
	rand.Read(salt)
	return hashWith(password, salt)
}

func hashWith(password string, salt []byte) []byte {
	h := sha512.New()
	h.Write(utf16LE(password))
	h.Write(salt)
	return h.Sum(append([]byte{hashVersion, 0}, salt...))
}

// passwordMatches compares in constant time; a hash of another form matches nothing.
func passwordMatches(password string, hash []byte) bool {
	if !validHash(hash) {
		return false
	}
	return subtle.ConstantTimeCompare(hashWith(password, hash[2:2+saltBytes]), hash) == 1
}

func validHash(hash []byte) bool {
	return len(hash) == hashBytes && hash[0] == hashVersion && hash[1] == 0
}

func utf16LE(s string) []byte {
	units := utf16.Encode([]rune(s))
	b := make([]byte, 0, 2*len(units))
	for _, u := range units {
		b = append(b, byte(u), byte(u>>8))
	}
	return b
}

const (
	// minPassword and maxPassword are the lengths that CHECK_POLICY wants on Linux and that any password may have
	// (docs/relational-databases/security/password-policy.md, docs/relational-databases/security/strong-passwords.md).
	minPassword = 8
	maxPassword = 128
)

// checkPassword enforces the password policy: length, three of four classes of characters, not the login's name.
// Errors: 15116, 15117 by length (15156 for more than 128 characters whatever the policy), 15118.
func checkPassword(name, password string, policy bool) error {
	length := utf8.RuneCountInString(password)
	if length > maxPassword {
		return failure(15156, 1, maxPassword)
	}
	if !policy {
		return nil
	}
	if length < minPassword {
		return failure(15116, 1)
	}
	var lower, upper, digit, other int
	for _, r := range password {
		switch {
		case unicode.IsLower(r):
			lower = 1
		case unicode.IsUpper(r):
			upper = 1
		case unicode.IsDigit(r):
			digit = 1
		default:
			other = 1
		}
	}
	if lower+upper+digit+other < 3 || len(name) > 2 && strings.Contains(strings.ToLower(password), strings.ToLower(name)) {
		return failure(15118, 1)
	}
	return nil
}
