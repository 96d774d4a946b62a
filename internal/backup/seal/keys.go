// SPDX-License-Identifier: Apache-2.0

// Package seal encrypts the files of backup sets as age files (age-encryption.org/v1), and decrypts them. What a file
// is encrypted to is the same each time it is read, from any place on, so that an upload can go on; whoever encrypts
// needs the public key alone.
package seal

import (
	"errors"
	"fmt"
	"strings"

	"filippo.io/age"
)

// Extension is what the names of encrypted files end with.
const Extension = ".age"

const (
	identityPrefix  = "AGE-SECRET-KEY-1"
	recipientPrefix = "age1"
	// keysMost is how many keys there may be: former ones stay for as long as there are sets of theirs.
	keysMost = 64
)

// Keys are those of a store.
type Keys struct {
	// Recipient is the public key to which new sets are encrypted, age1...
	Recipient string
	// Identities are the private keys, AGE-SECRET-KEY-1..., which decrypt sets; none where the public key alone is there.
	Identities []string
}

// Parse reads keys as age-keygen writes them, one a line, with empty lines and comments (#) among them. The first is
// the one to which new sets are encrypted: a private key, or the public one alone. The others are private keys that
// decrypt former sets. An error has nothing of what it could not read.
func Parse(text []byte) (Keys, error) {
	var k Keys
	for n, line := range strings.Split(string(text), "\n") {
		line = strings.TrimSpace(line)
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
			continue
		case len(k.Identities) == keysMost:
			return Keys{}, fmt.Errorf("it has more than %d keys", keysMost)
		case strings.HasPrefix(line, identityPrefix):
			recipient, err := RecipientOf(line)
			if err != nil {
				return Keys{}, fmt.Errorf("line %d: %w", n+1, err)
			}
			k.Identities = append(k.Identities, line)
			if k.Recipient == "" {
				k.Recipient = recipient
			}
		case strings.HasPrefix(line, recipientPrefix) && k.Recipient == "":
			if _, err := age.ParseX25519Recipient(line); err != nil {
				return Keys{}, fmt.Errorf("line %d is no public key of age-keygen, or has a mistake", n+1)
			}
			k.Recipient = line
		case strings.HasPrefix(line, recipientPrefix):
			return Keys{}, fmt.Errorf("line %d is a public key behind another key: the first key alone encrypts", n+1)
		default:
			return Keys{}, fmt.Errorf("line %d is no key of age-keygen: one begins with %s or %s", n+1, identityPrefix,
				recipientPrefix)
		}
	}
	if k.Recipient == "" {
		return Keys{}, fmt.Errorf("it has no key: a line that begins with %s or %s", identityPrefix, recipientPrefix)
	}
	return k, nil
}

// RecipientOf is the public key of a private one. The error says nothing of the key.
func RecipientOf(identity string) (string, error) {
	parsed, err := age.ParseX25519Identity(identity)
	if err != nil {
		return "", errors.New("a private key is none of age-keygen's, or has a mistake")
	}
	return parsed.Recipient().String(), nil
}

// Opens says whether one of the private keys is that of a recipient.
func Opens(identities []string, recipient string) bool {
	for _, identity := range identities {
		if is, err := RecipientOf(identity); err == nil && is == recipient {
			return true
		}
	}
	return false
}
