// SPDX-License-Identifier: Apache-2.0

// Package triggerevent is the events that DDL and logon triggers fire at, with the groups that they are in
// (docs/relational-databases/triggers/ddl-event-groups.md).
package triggerevent

import (
	_ "embed" // of events.txt
	"sort"
	"strconv"
	"strings"
)

// text has a line for a group of events: its name, and those of its members with their numbers
// (docs/relational-databases/triggers/ddl-event-groups.md). LOGON is in no group.
//
//go:embed events.txt
var text string

// Type is an event of DDL and logon triggers, or a group of them.
type Type struct {
	Name   string
	Number int32
	Parent *Type
	// Group is set for what has members.
	Group bool
}

// Types are the events and groups by name.
var Types = read(text)

func read(text string) map[string]*Type {
	all := map[string]*Type{}
	for _, line := range strings.Split(strings.TrimSpace(text), "\n") {
		words := strings.Fields(line)
		parent := all[words[0]]
		if parent != nil {
			parent.Group = true
		}
		for _, member := range words[1:] {
			name, digits, _ := strings.Cut(member, "=")
			n, err := strconv.ParseInt(digits, 10, 32)
			if err != nil {
				panic("events.txt: " + err.Error())
			}
			all[name] = &Type{Name: name, Number: int32(n), Parent: parent}
		}
	}
	return all
}

// Within tells whether an event is one of the named group, or that event itself.
func (t *Type) Within(name string) bool {
	for ; t != nil; t = t.Parent {
		if t.Name == name {
			return true
		}
	}
	return false
}

// Leaves are the events of a group, or the event itself, by their numbers.
func (t *Type) Leaves() []*Type {
	var out []*Type
	for _, other := range Types {
		if !other.Group && other.Within(t.Name) {
			out = append(out, other)
		}
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Number < out[j].Number })
	return out
}
