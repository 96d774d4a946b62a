// SPDX-License-Identifier: Apache-2.0

package xquery

import (
	"slices"

	"geosql.dev/standin/xmldata"
)

func (e *path) typ() Type { return e.t }

func (e *path) eval(r *run, f focus) sequence {
	current := sequence{f.item}
	switch {
	case e.root:
		current = sequence{{node: r.root}}
	case e.start != nil:
		current = inOrder(e.start.eval(r, f))
	}
	for i := range e.steps {
		current = e.steps[i].eval(r, current)
	}
	return current
}

func (s *step) eval(r *run, from sequence) sequence {
	var out sequence
	for _, it := range from {
		if it.node == nil {
			continue
		}
		before := len(out)
		out = s.along(r, it.node, out)
		for i := range s.predicates {
			out = append(out[:before], s.predicates[i].choose(r, slices.Clone(out[before:]))...)
		}
		if r.err != nil {
			return nil
		}
	}
	return inOrder(out)
}

// along adds the nodes of the step's axis that its test takes.
func (s *step) along(r *run, n *xmldata.Node, out sequence) sequence {
	add := func(n *xmldata.Node) {
		if n != nil && s.test.takes(n) {
			out = append(out, item{node: n})
		}
	}
	switch s.axis {
	case child:
		r.spend(len(n.Children))
		for _, c := range n.Children {
			add(c)
		}
	case attribute:
		r.spend(len(n.Attributes))
		for _, a := range n.Attributes {
			add(a)
		}
	case self:
		add(n)
	case parent:
		add(n.Parent)
	case descendantOrSelf:
		add(n)
		return s.below(r, n, out)
	case descendant:
		return s.below(r, n, out)
	}
	return out
}

func (s *step) below(r *run, n *xmldata.Node, out sequence) sequence {
	for _, c := range n.Children {
		if !r.spend(1) {
			return out
		}
		if s.test.takes(c) {
			out = append(out, item{node: c})
		}
		out = s.below(r, c, out)
	}
	return out
}

// inOrder brings nodes into document order, each once.
func inOrder(s sequence) sequence {
	ordered := true
	for i := 1; i < len(s) && ordered; i++ {
		ordered = s[i-1].node != nil && s[i].node != nil && s[i-1].node.Order < s[i].node.Order
	}
	if ordered || !isNode(s) {
		return s
	}
	out := slices.Clone(s)
	slices.SortStableFunc(out, func(a, b item) int { return a.node.Order - b.node.Order })
	return slices.CompactFunc(out, func(a, b item) bool { return a.node == b.node })
}
