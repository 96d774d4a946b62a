// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"strings"
)

// ErrLost says that neither site nor hub has the passwords of a server whose volumes exist. New ones are not made: the
// engine on those volumes knows the old ones alone.
var ErrLost = errors.New("the passwords of the server are lost while its volumes exist")

// Agreement says what site and hub should hold.
type Agreement struct {
	// Passwords that both should hold.
	Passwords Passwords
	// WriteSite and WriteHub tell which of them differs. The site is written first.
	WriteSite, WriteHub bool
	// Adopted tells that the hub takes over what the site had.
	Adopted bool
	// Restored tells that the site gets back what only the hub had.
	Restored bool
	// Generated tells that at least one password is new.
	Generated bool
	// Rotated are the keys of the passwords that somebody has changed, at the site or in the hub, since the last agreement.
	Rotated []string
}

// Agree decides which passwords site and hub should hold. A password that was changed on one side since the last
// agreement is the new one. Otherwise what the site has wins, since the engine there was started with it; the hub fills
// what the site lacks; what neither has is made, the sa password only while no volume exists. A sa password that gives
// way is kept as the previous one until the engine is known to take the new one: nobody else could give it to the engine.
// The error is ErrLost, or that of the system's randomness.
func Agree(site, hub Passwords, volumesExist bool) (Agreement, error) {
	merged := Passwords{}
	var rotated []string
	for _, key := range passwordKeys() {
		from, other := site[key], hub[key]
		if site.changed(key, hub) {
			from, other = hub[key], site[key]
		}
		switch {
		case len(from) > 0:
			merged[key] = from
		case len(other) > 0:
			merged[key] = other
		}
		if len(from) > 0 && len(other) > 0 && !bytes.Equal(from, other) {
			rotated = append(rotated, key)
			if key == KeySA {
				merged[KeyPreviousSA] = other
			}
		}
	}
	for _, p := range []Passwords{hub, site} {
		// An earlier change that has not reached the engine yet: the engine's own password is this one.
		if len(p[KeyPreviousSA]) > 0 {
			merged[KeyPreviousSA] = p[KeyPreviousSA]
		}
	}
	if len(merged[KeySA]) == 0 && volumesExist {
		return Agreement{}, ErrLost
	}
	before := len(merged)
	full, err := complete(merged)
	if err != nil {
		return Agreement{}, err
	}
	generated := len(full) != before
	if err := full.seal(site); err != nil {
		return Agreement{}, err
	}
	return Agreement{
		Rotated:   rotated,
		Passwords: full,
		WriteSite: !same(site, full),
		WriteHub:  !same(hub, full),
		Adopted:   len(site) > 0 && len(hub) == 0,
		Restored:  len(site) == 0 && len(hub) > 0,
		Generated: generated,
	}, nil
}

func same(have, want Passwords) bool {
	return maps.EqualFunc(known(have), want, bytes.Equal)
}

// known leaves out keys that are not the operator's.
func known(p Passwords) Passwords {
	k := Passwords{}
	for _, key := range append(passwordKeys(), KeyPreviousSA, keyAgreed) {
		if v, ok := p[key]; ok {
			k[key] = v
		}
	}
	return k
}

// Settled is what site and hub should hold once the engine takes the new sa password: the previous one is forgotten.
func Settled(p Passwords) Passwords {
	settled := known(p)
	delete(settled, KeyPreviousSA)
	return settled
}

// changed tells that the hub's password was changed since site and hub last agreed, and the site's was not.
func (p Passwords) changed(key string, hub Passwords) bool {
	salt, agreed := p.agreed()
	if agreed == nil || len(hub[key]) == 0 {
		return false
	}
	return agreed[key] == mark(salt, key, p[key]) && agreed[key] != mark(salt, key, hub[key])
}

// seal writes marks of the passwords, by which a later change on one side is told from the other side's old state. They
// tell nothing to whoever may not read the Secret, and are salted for those who may.
func (p Passwords) seal(before Passwords) error {
	salt, _ := before.agreed()
	if salt == "" {
		random := make([]byte, 16)
		if _, err := rand.Read(random); err != nil {
			return fmt.Errorf("read random bytes: %w", err)
		}
		salt = hex.EncodeToString(random)
	}
	lines := []string{salt}
	for _, key := range passwordKeys() {
		lines = append(lines, key+"="+mark(salt, key, p[key]))
	}
	p[keyAgreed] = []byte(strings.Join(lines, "\n"))
	return nil
}

// agreed reads the marks; nil when there are none.
func (p Passwords) agreed() (salt string, marks map[string]string) {
	lines := strings.Split(string(p[keyAgreed]), "\n")
	if len(lines) < 2 {
		return "", nil
	}
	marks = map[string]string{}
	for _, line := range lines[1:] {
		if key, value, ok := strings.Cut(line, "="); ok {
			marks[key] = value
		}
	}
	return lines[0], marks
}

func mark(salt, key string, password []byte) string {
	mac := hmac.New(sha256.New, []byte(salt))
	mac.Write([]byte(key))
	mac.Write([]byte{0})
	mac.Write(password)
	return hex.EncodeToString(mac.Sum(nil))
}
