// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	"bytes"
	"errors"
	"maps"
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
}

// Agree decides which passwords site and hub should hold. What the site has wins, since the engine there was started
// with it; the hub fills what the site lacks; what neither has is made, the sa password only while no volume exists.
// The error is ErrLost, or that of the system's randomness.
func Agree(site, hub Passwords, volumesExist bool) (Agreement, error) {
	merged := Passwords{}
	for _, key := range passwordKeys() {
		switch {
		case len(site[key]) > 0:
			merged[key] = site[key]
		case len(hub[key]) > 0:
			merged[key] = hub[key]
		}
	}
	if len(merged[KeySA]) == 0 && volumesExist {
		return Agreement{}, ErrLost
	}
	full, err := complete(merged)
	if err != nil {
		return Agreement{}, err
	}
	return Agreement{
		Passwords: full,
		WriteSite: !same(site, full),
		WriteHub:  !same(hub, full),
		Adopted:   len(site) > 0 && len(hub) == 0,
		Restored:  len(site) == 0 && len(hub) > 0,
		Generated: len(full) != len(merged),
	}, nil
}

func same(have, want Passwords) bool {
	return maps.EqualFunc(known(have), want, bytes.Equal)
}

// known leaves out keys that are not the operator's.
func known(p Passwords) Passwords {
	k := Passwords{}
	for _, key := range passwordKeys() {
		if v, ok := p[key]; ok {
			k[key] = v
		}
	}
	return k
}
