// SPDX-License-Identifier: Apache-2.0

package tc

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"geosql.dev/operator/hack/bed/netem/emulator"
	"geosql.dev/operator/hack/bed/netem/link"
	"geosql.dev/operator/hack/bed/netem/shape"
)

// Discipline is one queueing discipline of a device.
type Discipline struct {
	Kind    string   `json:"kind"`
	Parent  Handle   `json:"parent"`
	Handle  Handle   `json:"handle"`
	Options []string `json:"options,omitempty"`
}

// Tree is the disciplines of a device, in the order in which they were added.
type Tree []Discipline

// Errors in the words of tc and the kernel, which callers look for.
var (
	ErrExists    = errors.New("Error: Exclusivity flag on, cannot modify.")
	ErrNoParent  = errors.New("Error: Failed to find specified qdisc.")
	ErrNothing   = errors.New("Error: Cannot delete qdisc with handle of zero.")
	ErrWrongKind = errors.New("Error: Invalid qdisc name: must match existing qdisc.")
)

// Change returns the tree after an add, change, replace or del.
func (t Tree) Change(c Command) (Tree, error) {
	at := slices.IndexFunc(
		t,
		func(d Discipline) bool { return t.canonicalParent(d.Parent) == t.canonicalParent(c.Parent) },
	)
	if c.Verb == "del" {
		if at < 0 {
			return nil, ErrNothing
		}
		return t.without(t[at]), nil
	}
	if _, err := rule(c.Kind, c.Options); err != nil {
		return nil, err
	}
	if c.Parent != Root &&
		!slices.ContainsFunc(t, func(d Discipline) bool { return d.Handle.major() == c.Parent.major() }) {
		return nil, ErrNoParent
	}
	added := Discipline{Kind: c.Kind, Parent: c.Parent, Handle: c.Handle, Options: c.Options}
	switch {
	case at < 0 && c.Verb == "change":
		return nil, ErrNoParent
	case at < 0:
		if added.Handle == 0 {
			added.Handle = t.freeHandle()
		}
		return append(slices.Clone(t), added), nil
	case c.Verb == "add":
		return nil, ErrExists
	case c.Verb == "change" && t[at].Kind != c.Kind:
		return nil, ErrWrongKind
	}
	changed := slices.Clone(t)
	if t[at].Kind != c.Kind {
		changed = t.without(t[at])
		return append(changed, added), nil
	}
	if added.Handle == 0 {
		added.Handle = t[at].Handle
	}
	changed[at] = added
	return changed, nil
}

// canonicalParent has "N:" and "N:1" as one for disciplines with a single
// class, that is, all but prio.
func (t Tree) canonicalParent(parent Handle) Handle {
	if parent == Root || parent.minor() != 0 {
		return parent
	}
	for _, d := range t {
		if d.Handle.major() == parent.major() && d.Kind != "prio" {
			return parent | 1
		}
	}
	return parent
}

// freeHandle starts where the kernel does, at 8001:.
func (t Tree) freeHandle() Handle {
	handle := Handle(0x8001 << 16)
	for slices.ContainsFunc(t, func(d Discipline) bool { return d.Handle == handle }) {
		handle += 1 << 16
	}
	return handle
}

func (t Tree) without(gone Discipline) Tree {
	rest := slices.DeleteFunc(slices.Clone(t), func(d Discipline) bool { return d.Parent == gone.Parent })
	for _, d := range t {
		if d.Parent != Root && d.Parent.major() == gone.Handle.major() {
			rest = rest.without(d)
		}
	}
	return rest
}

// Classes returns what the emulator is to do: one class per way through the
// tree that changes anything. A band of prio takes what CLASSIFY put into it;
// the rest of the traffic only meets what lies above prio.
//
// Ways that share a discipline do not share its rate here: each has it whole.
func (t Tree) Classes() ([]emulator.Class, error) {
	var classes []emulator.Class
	var walk func(at Discipline, above []shape.Rule, priority uint32) error
	walk = func(at Discipline, above []shape.Rule, priority uint32) error {
		through := slices.Clone(above)
		r, err := rule(at.Kind, at.Options)
		if err != nil {
			return err
		}
		if at.Kind == "netem" || at.Kind == "tbf" {
			through = append(through, r)
		}
		end := true
		for _, child := range t {
			if child.Parent == Root || child.Parent.major() != at.Handle.major() {
				continue
			}
			if at.Kind == "prio" {
				err = errors.Join(err, walk(child, through, uint32(child.Parent)))
				continue
			}
			end = false
			err = errors.Join(err, walk(child, through, priority))
		}
		if end && len(through) > 0 {
			classes = append(classes, class(priority, through))
		}
		return err
	}
	for _, root := range t {
		if root.Parent == Root {
			if err := walk(root, nil, link.Everything); err != nil {
				return nil, err
			}
		}
	}
	return classes, nil
}

func class(priority uint32, rules []shape.Rule) emulator.Class {
	name := "tc " + Handle(priority).String()
	return emulator.Class{Name: name, Priorities: []uint32{priority}, Rule: rules[0], Then: rules[1:]}
}

// Show writes the tree as "tc qdisc show" does.
func (t Tree) Show(device string) string {
	var out strings.Builder
	for _, d := range t {
		parent := "parent " + d.Parent.String()
		if d.Parent == Root {
			parent = "root"
		}
		fmt.Fprintf(&out, "qdisc %s %s dev %s %s refcnt 2", d.Kind, d.Handle, device, parent)
		if len(d.Options) > 0 {
			out.WriteString(" " + strings.Join(d.Options, " "))
		}
		out.WriteString("\n")
	}
	return out.String()
}
