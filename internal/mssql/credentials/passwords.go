// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	"crypto/rand"
	"fmt"
	"maps"
	"math/big"
)

// Passwords are the passwords of one server by key.
type Passwords map[string][]byte

// Of is the password of a role; empty when there is none.
func (p Passwords) Of(r Role) string { return string(p[r.Key()]) }

// passwordKeys are all keys that a complete Secret of passwords has.
func passwordKeys() []string {
	return []string{KeySA, KeyOperator, KeyAgent, KeyReplication, KeyMasterKey}
}

// formerKeys are the keys of the former passwords of sa, the oldest first.
func formerKeys() []string {
	var keys []string
	for _, role := range FormerAdministrators() {
		keys = append(keys, role.Key())
	}
	return keys
}

const passwordLength = 32

// Alphabets of the four character classes of SQL Server's password policy. Of the symbols only those that need no
// quoting in a T-SQL literal, an agent's command line, a connection string or a shell.
var alphabets = []string{
	"ABCDEFGHJKLMNPQRSTUVWXYZ",
	"abcdefghijkmnopqrstuvwxyz",
	"23456789",
	"-_.",
}

// NewPassword makes a password of 32 characters with all four classes of SQL Server's policy
// (docs/relational-databases/security/password-policy.md asks for three of them and eight characters).
func NewPassword() (string, error) {
	all := ""
	password := make([]byte, 0, passwordLength)
	for _, alphabet := range alphabets {
		c, err := pick(alphabet)
		if err != nil {
			return "", err
		}
		password = append(password, c)
		all += alphabet
	}
	for len(password) < passwordLength {
		c, err := pick(all)
		if err != nil {
			return "", err
		}
		password = append(password, c)
	}
	if err := shuffle(password); err != nil {
		return "", err
	}
	return string(password), nil
}

func pick(alphabet string) (byte, error) {
	n, err := rand.Int(rand.Reader, big.NewInt(int64(len(alphabet))))
	if err != nil {
		return 0, fmt.Errorf("read random bytes: %w", err)
	}
	return alphabet[n.Int64()], nil
}

// shuffle is Fisher-Yates with the system's randomness. A symbol never comes first: "-" would look like an option.
func shuffle(b []byte) error {
	for {
		for i := len(b) - 1; i > 0; i-- {
			j, err := rand.Int(rand.Reader, big.NewInt(int64(i+1)))
			if err != nil {
				return fmt.Errorf("read random bytes: %w", err)
			}
			b[i], b[j.Int64()] = b[j.Int64()], b[i]
		}
		if b[0] != '-' && b[0] != '_' && b[0] != '.' {
			return nil
		}
	}
}

// complete returns the passwords with every missing one made.
func complete(have Passwords) (Passwords, error) {
	full := Passwords{}
	maps.Copy(full, have)
	for _, key := range passwordKeys() {
		if len(full[key]) > 0 {
			continue
		}
		password, err := NewPassword()
		if err != nil {
			return nil, err
		}
		full[key] = []byte(password)
	}
	return full, nil
}
