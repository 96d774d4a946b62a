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
	"slices"
	"strconv"
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
	// SetBack tells that one side shows an earlier agreement than the other one, whose passwords count.
	SetBack bool
	// Rotated are the keys of the passwords that somebody has changed, at the site or in the hub, since the last
	// agreement; that of sa, too, where another one is declared.
	Rotated []string
	// Waits tells that another password of sa is not agreed on yet: for none more of its former ones is there room, and
	// the engine is not known to refuse one of them.
	Waits bool
}

// Administrator is what an agreement goes by about the password of sa, beside what site and hub have.
type Administrator struct {
	// Declared is the password that somebody declares in a Secret of their own; empty when nobody does.
	Declared []byte
	// Refused are passwords that the engine was seen not to take for sa.
	Refused [][]byte
}

// Agree is Administrator.Agree where nobody declares a password of sa and the engine was not asked.
func Agree(site, hub Passwords, volumesExist bool) (Agreement, error) {
	return Administrator{}.Agree(site, hub, volumesExist)
}

// Agree decides which passwords site and hub should hold. A password that was changed on one side since the last
// agreement is the new one, and so is that of sa which is declared. A side that was set back to an earlier agreement,
// by a backup of its cluster, brings nothing back: the other one counts. Otherwise what the site has wins, since the
// engine there was started with it; the hub fills what the site lacks; what neither has is made, the sa password only
// while no volume exists. A sa password that gives way is kept as a former one until the engine is known to take the
// new one: nobody else could give it to the engine. The error is ErrLost, or that of the system's randomness.
func (sa Administrator) Agree(site, hub Passwords, volumesExist bool) (Agreement, error) {
	at, in := site.agreed(), hub.agreed()
	merged, gaveWay := merge(site, hub, at, in)
	formers, room := sa.room(append(formersOf(site, hub, at, in), gaveWay[KeySA]), merged[KeySA])
	if !room {
		// Each side keeps what it has: one of them is perhaps the engine's.
		return Agreement{Waits: true}, nil
	}
	waits := false
	switch present := merged[KeySA]; {
	case len(sa.Declared) == 0 || bytes.Equal(present, sa.Declared):
	case len(present) == 0:
		merged[KeySA] = sa.Declared
	default:
		more, room := sa.room(append(slices.Clone(formers), present), sa.Declared)
		if waits = !room; room {
			formers, merged[KeySA], gaveWay[KeySA] = more, sa.Declared, present
		}
	}
	if len(merged[KeySA]) == 0 && volumesExist {
		return Agreement{}, ErrLost
	}
	for i, former := range formers {
		merged[formerKeys()[i]] = former
	}
	before := len(merged)
	full, err := complete(merged)
	if err != nil {
		return Agreement{}, err
	}
	generated := len(full) != before
	if err := full.seal(at, in); err != nil {
		return Agreement{}, err
	}
	var rotated []string
	for _, key := range passwordKeys() {
		if gaveWay[key] != nil {
			rotated = append(rotated, key)
		}
	}
	return Agreement{
		Rotated:   rotated,
		Passwords: full,
		WriteSite: !same(site, full),
		WriteHub:  !same(hub, full),
		Adopted:   len(site) > 0 && len(hub) == 0,
		Restored:  len(site) == 0 && len(hub) > 0,
		Generated: generated,
		SetBack:   at.before(in) || in.before(at),
		Waits:     waits,
	}, nil
}

// merge is what site and hub should hold of all but the former passwords of sa, and what gives way to it by key.
func merge(site, hub Passwords, at, in agreement) (merged, gaveWay Passwords) {
	merged, gaveWay = Passwords{}, Passwords{}
	for _, key := range passwordKeys() {
		from, other, stale := site[key], hub[key], in.before(at)
		if len(hub[key]) > 0 && hubCounts(key, site, hub, at, in) {
			from, other, stale = hub[key], site[key], at.before(in)
		}
		switch {
		case len(from) > 0:
			merged[key] = from
		case len(other) > 0:
			merged[key] = other
		}
		if len(from) > 0 && len(other) > 0 && !bytes.Equal(from, other) && !stale {
			gaveWay[key] = other
		}
	}
	return merged, gaveWay
}

// formersOf are the former passwords of sa that site and hub have, the oldest first: one of them is the engine's own
// until a change has reached it. Those of a side that was set back don't count.
func formersOf(site, hub Passwords, at, in agreement) [][]byte {
	var formers [][]byte
	for _, p := range []struct {
		passwords Passwords
		stale     bool
	}{{hub, in.before(at)}, {site, at.before(in)}} {
		for _, key := range formerKeys() {
			if !p.stale {
				formers = append(formers, p.passwords[key])
			}
		}
	}
	return formers
}

// room are the former passwords, each once, that are kept beside the present one; false when they are more than there
// is room for. Then those go that the engine does not take, the oldest first.
func (sa Administrator) room(formers [][]byte, present []byte) ([][]byte, bool) {
	var kept [][]byte
	is := func(one []byte) func([]byte) bool { return func(x []byte) bool { return bytes.Equal(x, one) } }
	for _, former := range formers {
		if len(former) > 0 && !bytes.Equal(former, present) && !slices.ContainsFunc(kept, is(former)) {
			kept = append(kept, former)
		}
	}
	for len(kept) > len(formerKeys()) {
		i := slices.IndexFunc(kept, func(x []byte) bool { return slices.ContainsFunc(sa.Refused, is(x)) })
		if i < 0 {
			return nil, false
		}
		kept = slices.Delete(kept, i, i+1)
	}
	return kept, true
}

func same(have, want Passwords) bool {
	return maps.EqualFunc(known(have), want, bytes.Equal)
}

// known leaves out keys that are not the operator's.
func known(p Passwords) Passwords {
	k := Passwords{}
	for _, key := range slices.Concat(passwordKeys(), formerKeys(), []string{keyAgreed}) {
		if v, ok := p[key]; ok {
			k[key] = v
		}
	}
	return k
}

// Settled is what a side should hold once the engine takes the sa password that it has: the former ones are forgotten.
func Settled(p Passwords) Passwords {
	settled := known(p)
	for _, key := range formerKeys() {
		delete(settled, key)
	}
	return settled
}

// agreement is what the marks of passwords say of the time when site and hub last agreed. It is zero where there are no
// marks.
type agreement struct {
	salt string
	// generation counts the agreements that brought another password; 0 in the marks of releases that did not count.
	generation int
	marks      map[string]string
}

// before tells that an agreement is older than another one, hence that whoever shows it was set back.
func (a agreement) before(other agreement) bool {
	return a.marks != nil && other.marks != nil && a.generation < other.generation
}

// has tells that a password is the one that was agreed on.
func (a agreement) has(key string, password []byte) bool {
	return a.marks[key] == mark(a.salt, key, password)
}

// hubCounts tells that the hub's password is newer than the site's: the site was set back to an agreement before the
// hub's, or somebody has changed the hub's since they agreed, and not the site's. The marks of one side alone would not
// do: they do not tell a password that was changed on the other side from one that was set back.
func hubCounts(key string, site, hub Passwords, at, in agreement) bool {
	switch {
	case at.marks == nil || in.marks == nil || !at.has(key, site[key]) || in.before(at):
		return false
	case at.before(in):
		return true
	}
	return !at.has(key, hub[key]) && !in.has(key, hub[key])
}

// keyGeneration stands among the marks for the number of the agreement.
const keyGeneration = "generation"

// seal writes marks of the passwords, by which a later change on one side is told from the other side's old state. They
// tell nothing to whoever may not read the Secret, and are salted for those who may. at and in are what site and hub
// had before.
func (p Passwords) seal(at, in agreement) error {
	last := at
	if at.marks == nil || at.before(in) {
		last = in
	}
	salt := last.salt
	if salt == "" {
		random := make([]byte, 16)
		if _, err := rand.Read(random); err != nil {
			return fmt.Errorf("read random bytes: %w", err)
		}
		salt = hex.EncodeToString(random)
	}
	generation := last.generation
	if slices.ContainsFunc(passwordKeys(), func(key string) bool { return !last.has(key, p[key]) }) {
		generation++
	}
	lines := []string{salt}
	for _, key := range passwordKeys() {
		lines = append(lines, key+"="+mark(salt, key, p[key]))
	}
	if generation > 0 {
		lines = append(lines, keyGeneration+"="+strconv.Itoa(generation))
	}
	p[keyAgreed] = []byte(strings.Join(lines, "\n"))
	return nil
}

// agreed reads the marks.
func (p Passwords) agreed() agreement {
	lines := strings.Split(string(p[keyAgreed]), "\n")
	if len(lines) < 2 {
		return agreement{}
	}
	a := agreement{salt: lines[0], marks: map[string]string{}}
	for _, line := range lines[1:] {
		switch key, value, ok := strings.Cut(line, "="); {
		case ok && key == keyGeneration:
			// What is no number is the generation before all others.
			a.generation, _ = strconv.Atoi(value)
		case ok:
			a.marks[key] = value
		}
	}
	return a
}

func mark(salt, key string, password []byte) string {
	mac := hmac.New(sha256.New, []byte(salt))
	mac.Write([]byte(key))
	mac.Write([]byte{0})
	mac.Write(password)
	return hex.EncodeToString(mac.Sum(nil))
}
