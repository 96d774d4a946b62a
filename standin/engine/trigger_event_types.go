// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	_ "embed" // of trigger_event_types.txt
	"sort"
	"strconv"
	"strings"
)

// eventTypesText has a line for a group of events: its name, and those of its members with their numbers
// (docs/relational-databases/triggers/ddl-event-groups.md). LOGON is in no group.
//
//go:embed trigger_event_types.txt
var eventTypesText string

// eventType is an event of DDL and logon triggers, or a group of them.
type eventType struct {
	name   string
	number int32
	parent *eventType
	// group is set for what has members.
	group bool
}

var eventTypes = readEventTypes(eventTypesText)

func readEventTypes(text string) map[string]*eventType {
	all := map[string]*eventType{}
	for _, line := range strings.Split(strings.TrimSpace(text), "\n") {
		words := strings.Fields(line)
		parent := all[words[0]]
		if parent != nil {
			parent.group = true
		}
		for _, member := range words[1:] {
			name, digits, _ := strings.Cut(member, "=")
			n, err := strconv.ParseInt(digits, 10, 32)
			if err != nil {
				panic("trigger_event_types.txt: " + err.Error())
			}
			all[name] = &eventType{name: name, number: int32(n), parent: parent}
		}
	}
	return all
}

// within tells whether an event is one of the named group, or that event itself.
func (t *eventType) within(name string) bool {
	for ; t != nil; t = t.parent {
		if t.name == name {
			return true
		}
	}
	return false
}

// leaves are the events of a group, or the event itself, by their numbers.
func (t *eventType) leaves() []*eventType {
	var out []*eventType
	for _, other := range eventTypes {
		if !other.group && other.within(t.name) {
			out = append(out, other)
		}
	}
	sort.Slice(out, func(i, j int) bool { return out[i].number < out[j].number })
	return out
}

// installEventTypes registers sys.trigger_event_types
// (docs/relational-databases/system-catalog-views/sys-trigger-event-types-transact-sql.md).
func installEventTypes(r *Registry) {
	r.RecordView("", "sys", "trigger_event_types", "type int, type_name nvarchar(64), parent_type int", func(context.Context, *Session) ([]record, error) {
		out := []record{{"type": 1, "type_name": "INSERT"}, {"type": 2, "type_name": "UPDATE"}, {"type": 3, "type_name": "DELETE"}}
		for _, t := range eventTypes {
			rec := record{"type": t.number, "type_name": t.name}
			if t.parent != nil {
				rec["parent_type"] = t.parent.number
			}
			out = append(out, rec)
		}
		sort.Slice(out[3:], func(i, j int) bool { return out[3+i]["type"].(int32) < out[3+j]["type"].(int32) })
		return out, nil
	})
}
