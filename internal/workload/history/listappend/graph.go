// SPDX-License-Identifier: Apache-2.0

package listappend

import (
	"maps"
	"slices"
	"strings"
)

// kind of a dependency; several make a set.
type kind uint8

const (
	// ww: the other one appended next to the list.
	ww kind = 1 << iota
	// wr: the other one read what was appended.
	wr
	// rw: the other one appended what was not yet read.
	rw
	// so: the same client sent the other one after the acknowledgement.
	so
)

// edge leads from one transaction to one that has to come after it.
type edge struct {
	source, to    int
	kind          kind
	list          int64
	first, second Element
}

// from gives an edge of a reversed graph, which was found at a node, its direction back.
func (e edge) from(at int) edge {
	e.source, e.to = e.to, at
	return e
}

// graph has the edges of each transaction.
type graph [][]edge

func (g graph) reversed() graph {
	back := make(graph, len(g))
	for _, list := range g {
		for _, e := range list {
			from := e.source
			e.source, e.to = e.to, from
			back[e.source] = append(back[e.source], e)
		}
	}
	return back
}

// graph of what has to come before what: as many edges as there are elements, reads and transactions, at most.
func (c *checker) graph() graph {
	g := make(graph, len(c.nodes))
	add := func(e edge) {
		if e.source != e.to {
			g[e.source] = append(g[e.source], e)
		}
	}
	for _, number := range slices.Sorted(maps.Keys(c.orders)) {
		before, some := Element(""), false
		for _, e := range c.orders[number].List {
			w, known := c.writes[e]
			if !known || w.list != number {
				continue
			}
			if some {
				add(edge{c.writes[before].node, w.node, ww, number, before, e})
			}
			before, some = e, true
		}
	}
	c.reads(func(at, _ int, s Step) {
		if e, foreign := c.newest(at, s.Read); foreign && c.writes[e].list == s.List {
			add(edge{c.writes[e].node, at, wr, s.List, e, ""})
		}
		if all := c.orders[s.List].List; isPrefix(s.Read, all) && len(s.Read) < len(all) {
			next := all[len(s.Read)]
			if w, known := c.writes[next]; known && w.list == s.List {
				add(edge{at, w.node, rw, s.List, "", next})
			}
		}
	})
	// What a client sent after an unknown outcome may yet have come before it.
	last, session := -1, -1
	for at, n := range c.nodes {
		if n.session != session {
			last, session = -1, n.session
		}
		if last >= 0 && n.effective() && n.Outcome != Aborted {
			add(edge{source: last, to: at, kind: so})
		}
		if n.Outcome == Committed {
			last = at
		}
	}
	return g
}

// phase looks for cycles of some dependencies that have at least one that the phases before had not.
type phase struct {
	allowed, fresh kind
	one, several   Kind
}

// phases from the weakest isolation level on.
func phases() []phase {
	return []phase{
		{ww, ww, G0, G0},
		{ww | wr, wr, G1c, G1c},
		{ww | wr | rw, rw, GSingle, G2},
		{ww | wr | so, so, G1cSession, G1cSession},
		{ww | wr | rw | so, rw, GSingleSession, G2Session},
	}
}

// tries of finding a cycle with a single rw in a component, before it is said to be one with several.
const tries = 100

// cycles reports one cycle of each component of transactions that depend on each other, of the weakest level that
// forbids it.
func (c *checker) cycles(g graph) {
	done := make([]bool, len(g))
	for _, p := range phases() {
		for _, members := range g.components(p.allowed) {
			if slices.ContainsFunc(members, func(at int) bool { return done[at] }) {
				continue
			}
			path, kind := g.cycle(p, members)
			if path == nil {
				continue
			}
			for _, at := range members {
				done[at] = true
			}
			var who []ID
			var texts []string
			for _, e := range path {
				who = append(who, c.nodes[e.source].id)
				texts = append(texts, c.describe(e))
			}
			c.v.found(kind, who, "%s", strings.Join(texts, "; "))
		}
	}
}

// cycle of a component; none where its members depend on each other without anything fresh.
func (g graph) cycle(p phase, members []int) ([]edge, Kind) {
	inside := make(map[int]bool, len(members))
	for _, at := range members {
		inside[at] = true
	}
	var fresh []edge
	for _, at := range members {
		for _, e := range g[at] {
			if e.kind&p.fresh != 0 && inside[e.to] && len(fresh) < tries {
				fresh = append(fresh, e)
			}
		}
	}
	if p.one != p.several {
		for _, e := range fresh {
			if path := g.path(e.to, e.source, p.allowed&^p.fresh, inside); path != nil {
				return append([]edge{e}, path...), p.one
			}
		}
	}
	for _, e := range fresh {
		if path := g.path(e.to, e.source, p.allowed, inside); path != nil {
			return append([]edge{e}, path...), p.several
		}
	}
	return nil, ""
}

// path is a shortest one within a component.
func (g graph) path(from, to int, allowed kind, inside map[int]bool) []edge {
	came := map[int]edge{}
	queue := []int{from}
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		for _, e := range g[at] {
			if _, seen := came[e.to]; seen || e.kind&allowed == 0 || !inside[e.to] || e.to == from {
				continue
			}
			came[e.to] = e
			if e.to != to {
				queue = append(queue, e.to)
				continue
			}
			var path []edge
			for at := to; at != from; at = came[at].source {
				path = append(path, came[at])
			}
			slices.Reverse(path)
			return path
		}
	}
	return nil
}

// components are the sets of two or more transactions that depend on each other (Tarjan, without recursion: a history
// may be one long chain).
func (g graph) components(allowed kind) [][]int {
	const unseen = -1
	index, low := make([]int, len(g)), make([]int, len(g))
	onStack, next := make([]bool, len(g)), make([]int, len(g))
	for i := range index {
		index[i] = unseen
	}
	var list [][]int
	var stack, calls []int
	counter := 0
	for root := range g {
		if index[root] != unseen {
			continue
		}
		calls = append(calls[:0], root)
		for len(calls) > 0 {
			at := calls[len(calls)-1]
			if index[at] == unseen {
				index[at], low[at] = counter, counter
				counter++
				stack, onStack[at] = append(stack, at), true
			}
			if next[at] < len(g[at]) {
				e := g[at][next[at]]
				next[at]++
				switch {
				case e.kind&allowed == 0:
				case index[e.to] == unseen:
					calls = append(calls, e.to)
				case onStack[e.to]:
					low[at] = min(low[at], index[e.to])
				}
				continue
			}
			calls = calls[:len(calls)-1]
			if len(calls) > 0 {
				above := calls[len(calls)-1]
				low[above] = min(low[above], low[at])
			}
			if low[at] != index[at] {
				continue
			}
			start := len(stack) - 1
			for stack[start] != at {
				start--
			}
			if members := slices.Clone(stack[start:]); len(members) > 1 {
				list = append(list, members)
			}
			for _, m := range stack[start:] {
				onStack[m] = false
			}
			stack = stack[:start]
		}
	}
	return list
}
