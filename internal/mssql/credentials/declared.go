// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"unicode"
)

// The password policy of SQL Server (docs/relational-databases/security/password-policy.md).
const (
	shortest = 8
	longest  = 128
	classes  = 3
)

// CheckPassword says why SQL Server would not take a password for sa; nil when it would. It never has the password.
func CheckPassword(password []byte) error {
	text := []rune(string(password))
	if len(text) < shortest || len(text) > longest {
		return fmt.Errorf("it has %d characters, and SQL Server takes %d to %d", len(text), shortest, longest)
	}
	var has [4]bool
	for _, r := range text {
		switch {
		case unicode.IsUpper(r):
			has[0] = true
		case unicode.IsLower(r):
			has[1] = true
		case unicode.IsDigit(r):
			has[2] = true
		default:
			has[3] = true
		}
	}
	n := 0
	for _, one := range has {
		if one {
			n++
		}
	}
	if n < classes {
		return fmt.Errorf("it has characters of %d of the four classes upper case, lower case, digits and symbols, and SQL "+
			"Server asks for %d", n, classes)
	}
	return nil
}

// productKey is the form of one.
var productKey = regexp.MustCompile(`^[A-Z0-9]{5}(-[A-Z0-9]{5}){4}$`)

// CheckProductKey says why a value is no product key; nil when it is one. It never has the value.
func CheckProductKey(key []byte) error {
	if !productKey.Match(key) {
		return errors.New("it is no product key: five times five capital letters and digits, joined by hyphens")
	}
	return nil
}

// ProductKeyMark tells one product key from another, and nobody which it is who does not have the server's passwords.
func (p Passwords) ProductKeyMark(key []byte) string {
	mac := hmac.New(sha256.New, p[KeyMasterKey])
	mac.Write([]byte(KeyProductKey))
	mac.Write([]byte{0})
	mac.Write(key)
	return hex.EncodeToString(mac.Sum(nil)[:8])
}
