// SPDX-License-Identifier: Apache-2.0

// Package tc is a front of the emulator that takes the command line of tc(8),
// for programs that drive tc: Chaos Mesh's daemon above all. It knows qdisc
// add, change, replace, del and show of netem, tbf, prio and sfq; all else goes
// to the tc that is installed besides it.
package tc

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// ErrForeign tells that a command line is not for this front.
var ErrForeign = errors.New("not a command of this front")

// Command is one "tc qdisc" command line.
type Command struct {
	// Verb is add, change, replace, del or show.
	Verb   string
	Device string
	// Parent is the class the discipline hangs below, Root for the root.
	Parent Handle
	// Handle is the discipline's own; 0 if none was given.
	Handle Handle
	// Kind and Options are the discipline's name and what follows it.
	Kind    string
	Options []string
}

// Handle is a class or discipline id: major in the upper 16 bits, minor in the
// lower.
type Handle uint32

// Root is the parent of a device's root discipline (TC_H_ROOT of
// linux/pkt_sched.h).
const Root Handle = 0xffffffff

// ParseHandle reads "MAJOR:MINOR" in hexadecimal digits; the minor may be
// missing.
func ParseHandle(text string) (Handle, error) {
	major, minor, found := strings.Cut(text, ":")
	high, err := strconv.ParseUint(major, 16, 16)
	var low uint64
	if minor != "" && err == nil {
		low, err = strconv.ParseUint(minor, 16, 16)
	}
	if err != nil || !found {
		return 0, fmt.Errorf("invalid handle %q", text)
	}
	return Handle(high<<16 | low), nil
}

// String writes the handle as tc does.
func (h Handle) String() string {
	if h == Root {
		return "root"
	}
	if h.minor() == 0 {
		return fmt.Sprintf("%x:", h.major())
	}
	return fmt.Sprintf("%x:%x", h.major(), h.minor())
}

func (h Handle) major() uint32 { return uint32(h) >> 16 }
func (h Handle) minor() uint32 { return uint32(h) & 0xffff }

// verbs are the words tc takes for each verb.
var verbs = map[string]string{
	"add": "add", "change": "change", "replace": "replace",
	"del": "del", "delete": "del", "show": "show", "list": "show", "ls": "show",
}

// kinds are the disciplines of this front.
var kinds = map[string]bool{"netem": true, "tbf": true, "prio": true, "sfq": true}

// ParseCommand reads the arguments of tc. It gives ErrForeign for what the
// installed tc is to do.
func ParseCommand(arguments []string) (Command, error) {
	// Chaos Mesh splits at single blanks and so gives empty arguments.
	var words []string
	for _, word := range arguments {
		if word != "" {
			words = append(words, word)
		}
	}
	if len(words) < 2 || words[0] != "qdisc" || verbs[words[1]] == "" {
		return Command{}, ErrForeign
	}
	command := Command{Verb: verbs[words[1]]}
	words = words[2:]
	for len(words) > 0 {
		word := words[0]
		words = words[1:]
		if word == "root" {
			command.Parent = Root
			continue
		}
		if word != "dev" && word != "parent" && word != "handle" {
			command.Kind, command.Options = word, words
			break
		}
		if len(words) == 0 {
			return Command{}, fmt.Errorf("command line is not complete: %s needs a value", word)
		}
		value := words[0]
		words = words[1:]
		var err error
		switch word {
		case "dev":
			command.Device = value
		case "parent":
			command.Parent, err = ParseHandle(value)
		case "handle":
			command.Handle, err = ParseHandle(value)
		}
		if err != nil {
			return Command{}, err
		}
	}
	if command.Device == "" || command.changes() && !kinds[command.Kind] {
		return Command{}, ErrForeign
	}
	return command, nil
}

func (c Command) changes() bool { return c.Verb != "del" && c.Verb != "show" }
