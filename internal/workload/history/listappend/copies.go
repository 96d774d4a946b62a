// SPDX-License-Identifier: Apache-2.0

package listappend

import "fmt"

// listed is an element in a list.
type listed struct {
	list    int64
	element Element
}

// elements of a copy.
func (c Copy) elements() map[listed]bool {
	there := map[listed]bool{}
	for number, l := range c.Lists {
		for _, e := range l {
			there[listed{number, e}] = true
		}
	}
	return there
}

// has counts how many appends of a transaction a copy has, and how many there are.
func has(t *Transaction, there map[listed]bool) (present, all int) {
	for _, s := range t.Steps {
		if s.Append == "" {
			continue
		}
		all++
		if there[listed{s.List, s.Append}] {
			present++
		}
	}
	return present, all
}

// checkReplicas asks whether each copy has everything that was acknowledged, or that anybody has seen.
func (c *checker) checkReplicas() {
	for _, replica := range c.h.Replicas {
		if replica.Lists == nil {
			continue
		}
		c.v.Copies++
		there := replica.elements()
		for _, n := range c.nodes {
			present, all := has(n.Transaction, there)
			switch {
			case present == all:
			case present > 0:
				c.v.found(Partial, []ID{n.id}, "%s has %d of the %d appends of %s", replica.Server, present, all, n.id)
				fallthrough
			case n.effective():
				if n.Outcome != Aborted {
					c.v.found(Lost, []ID{n.id}, "%s lacks %d of the %d appends of %s, which %s", replica.Server, all-present, all,
						n.id, n.known())
				}
			}
		}
	}
	if c.v.Copies == 0 && len(c.nodes) > 0 {
		c.v.Open = append(c.v.Open, "no copy of the lists was read: an append that nobody read later may be lost")
	}
}

// known says why a transaction must be there.
func (n node) known() string {
	if n.Outcome == Committed {
		return "was acknowledged"
	}
	return "was seen elsewhere"
}

// checkSubscribers asks whether each subscriber has whole transactions, none without all that came before it, and none
// that its publisher lacks.
func (c *checker) checkSubscribers(g graph) {
	for _, s := range c.h.Subscribers {
		if s.Lists == nil && s.Rows == nil {
			continue
		}
		c.v.Subscribers++
		there := s.elements()
		arrived := make([]bool, len(c.nodes))
		for at, n := range c.nodes {
			if s.Lists == nil {
				arrived[at] = s.Rows[n.id]
				continue
			}
			present, all := has(n.Transaction, there)
			if arrived[at] = present > 0; arrived[at] && present < all {
				c.v.found(Partial, []ID{n.id}, "subscriber %s has %d of the %d appends of %s", s.Server, present, all, n.id)
			}
		}
		c.checkAhead(s)
		c.checkPrefix(s, arrived, g)
	}
}

// checkAhead asks whether what a subscriber has is at one of the replicas.
func (c *checker) checkAhead(s Copy) {
	if s.Lists == nil || c.v.Copies == 0 {
		return
	}
	published := map[Element]bool{}
	copies(c.h.Replicas, func(_ string, _ int64, l List) {
		for _, e := range l {
			published[e] = true
		}
	})
	copies([]Copy{s}, func(server string, number int64, l List) {
		for _, e := range l {
			if !published[e] {
				c.v.found(Ahead, c.who(e), "subscriber %s has %s in list %d, and no copy of the publisher has it", server, e,
					number)
			}
		}
	})
}

// checkPrefix looks back from everything that has arrived: what each of these depends on was committed before it, and
// has to be there, too.
func (c *checker) checkPrefix(s Copy, arrived []bool, g graph) {
	back := g.reversed()
	because := make([]int, len(c.nodes))
	var queue []int
	for at := range because {
		because[at] = -1
		if arrived[at] {
			because[at] = at
			queue = append(queue, at)
		}
	}
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		for _, e := range back[at] {
			if because[e.to] >= 0 {
				continue
			}
			because[e.to] = because[at]
			queue = append(queue, e.to)
			n, later := c.nodes[e.to], c.nodes[because[at]]
			if _, all := has(n.Transaction, nil); n.effective() && (all > 0 || s.Lists == nil) {
				c.v.found(NotPrefix, []ID{n.id, later.id}, "subscriber %s has %s and not %s, which was committed before it: %s",
					s.Server, later.id, n.id, c.describe(e.from(at)))
			}
		}
	}
}

// describe one dependency.
func (c *checker) describe(e edge) string {
	from, to := c.nodes[e.source].id, c.nodes[e.to].id
	switch e.kind {
	case ww:
		return fmt.Sprintf("%s appended %s to list %d ahead of %s by %s", from, e.first, e.list, e.second, to)
	case wr:
		return fmt.Sprintf("%s appended %s to list %d, which %s read", from, e.first, e.list, to)
	case rw:
		return fmt.Sprintf("%s read list %d without %s, which %s appended", from, e.list, e.second, to)
	}
	return fmt.Sprintf("%s was acknowledged before the same client sent %s", from, to)
}
