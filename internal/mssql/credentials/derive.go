// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"errors"
)

// Derive makes a password for a purpose out of a server's replication password: the same one each time, so that nothing
// has to be kept, and one that tells nothing of the other purposes' passwords. It has the form of NewPassword.
func Derive(p Passwords, purpose string) (string, error) {
	key := p.Of(RoleReplication)
	if key == "" {
		return "", errors.New("key " + RoleReplication.Key() + " is missing")
	}
	var block [sha256.Size]byte
	used := len(block)
	counter := uint64(0)
	// next is a number below n without bias.
	next := func(n int) int {
		for {
			if used == len(block) {
				mac := hmac.New(sha256.New, []byte(key))
				_ = binary.Write(mac, binary.BigEndian, counter)
				mac.Write([]byte(purpose))
				copy(block[:], mac.Sum(nil))
				counter++
				used = 0
			}
			b := int(block[used])
			used++
			if limit := 256 - 256%n; b < limit {
				return b % n
			}
		}
	}
	all := ""
	for _, alphabet := range alphabets {
		all += alphabet
	}
	password := make([]byte, passwordLength)
	for i := range password {
		// One of each class at the places that SQL Server's policy asks for; a symbol never comes first.
		alphabet := all
		if i < len(alphabets) {
			alphabet = alphabets[i]
		}
		password[i] = alphabet[next(len(alphabet))]
	}
	return string(password), nil
}
