// SPDX-License-Identifier: Apache-2.0

package listappend

import (
	"fmt"
	"maps"
	"slices"
)

// order of a list's elements: the longest that anybody read.
type order struct {
	List
	// by whom it was read.
	by string
}

// reads of all transactions that were acknowledged: a transaction that was not has read nothing that is known.
func (c *checker) reads(each func(at, step int, s Step)) {
	for at, n := range c.nodes {
		if n.Outcome != Committed {
			continue
		}
		for i, s := range n.Steps {
			if s.Append == "" {
				each(at, i, s)
			}
		}
	}
}

// copies in their order, with their lists in theirs.
func copies(list []Copy, each func(server string, number int64, l List)) {
	for _, one := range list {
		for _, number := range slices.Sorted(maps.Keys(one.Lists)) {
			each(one.Server, number, one.Lists[number])
		}
	}
}

// findOrders takes the longest read of each list for its order, marks the transactions of which something was seen, and
// reports reads that are no beginning of the longest one.
func (c *checker) findOrders() {
	longest := func(by string, number int64, l List) {
		for _, e := range l {
			if w, known := c.writes[e]; known && w.list == number {
				c.nodes[w.node].seen = true
			}
		}
		if len(l) > len(c.orders[number].List) {
			c.orders[number] = order{l, by}
		}
	}
	c.reads(func(at, _ int, s Step) { longest(c.nodes[at].id.String(), s.List, s.Read) })
	copies(c.h.Replicas, func(server string, number int64, l List) { longest(server, number, l) })
	for _, number := range slices.Sorted(maps.Keys(c.orders)) {
		c.checkElements(number, c.orders[number])
	}
	compare := func(by string, who []ID, number int64, l List) {
		o := c.orders[number]
		if !isPrefix(l, o.List) {
			c.v.found(Incompatible, who, "list %d is %s to %s and %s to %s", number, shown(l), by, shown(o.List), o.by)
			c.checkElements(number, order{l, by})
		}
	}
	c.reads(func(at, _ int, s Step) { compare(c.nodes[at].id.String(), []ID{c.nodes[at].id}, s.List, s.Read) })
	copies(c.h.Replicas, func(server string, number int64, l List) { compare(server, nil, number, l) })
	copies(c.h.Subscribers, func(server string, number int64, l List) { compare(server, nil, number, l) })
}

func isPrefix(l, of List) bool { return len(l) <= len(of) && slices.Equal(l, of[:len(l)]) }

// shown is a list's end, since its beginning is usually the same.
func shown(l List) string {
	switch {
	case len(l) == 0:
		return "empty"
	case len(l) > 4:
		return fmt.Sprintf("[... %s] (%d elements)", l[len(l)-4:], len(l))
	}
	return "[" + l.String() + "]"
}

// checkElements asks of each element of a list whether it is there once, and whether somebody has appended it who was
// not told that it failed.
func (c *checker) checkElements(number int64, o order) {
	there := map[Element]bool{}
	for _, e := range o.List {
		w, known := c.writes[e]
		switch {
		case there[e]:
			c.v.found(Duplicate, c.who(e), "list %d has %s more than once, read by %s", number, e, o.by)
		case !known || w.list != number:
			c.stranger(number, e, o.by)
		case c.nodes[w.node].Outcome == Aborted:
			id := c.nodes[w.node].id
			c.v.found(G1a, []ID{id}, "%s was told that it failed, and %s read what it appended to list %d", id, o.by, number)
		}
		there[e] = true
	}
}

// who has appended an element, as far as that is known.
func (c *checker) who(e Element) []ID {
	if w, known := c.writes[e]; known {
		return []ID{c.nodes[w.node].id}
	}
	return nil
}

// stranger is an element that no history has. The client of a history that broke off may have appended it.
func (c *checker) stranger(number int64, e Element, by string) {
	if id, named := e.id(); named {
		for _, s := range c.h.Sessions {
			last := int64(0)
			if n := len(s.Transactions); n > 0 {
				last = s.Transactions[n-1].Number
			}
			if s.Run == id.Run && !s.Whole && id.Number > last {
				c.v.Open = append(c.v.Open,
					fmt.Sprintf("%s of list %d comes after the end of a history that broke off", e, number))
				return
			}
		}
	}
	c.v.found(Phantom, nil, "nobody appended %q to list %d, where %s read it", e, number, by)
}

// checkReads asks of each read whether it shows what its own transaction did before, and no transaction half way.
func (c *checker) checkReads() {
	for at, n := range c.nodes {
		if n.Outcome != Committed {
			continue
		}
		own := map[int64]List{}  // what was appended since the last read of the list
		read := map[int64]List{} // and what that had read
		known := map[int64]bool{}
		for _, s := range n.Steps {
			if s.Append != "" {
				own[s.List] = append(own[s.List], s.Append)
				continue
			}
			mine := own[s.List]
			expected := slices.Concat(read[s.List], mine)
			whole := !known[s.List] || slices.Equal(s.Read, expected)
			if len(s.Read) < len(mine) || !slices.Equal(s.Read[len(s.Read)-len(mine):], mine) || !whole {
				c.v.found(Internal, []ID{n.id}, "%s read %s from list %d after it had itself appended or read %s",
					n.id, shown(s.Read), s.List, shown(expected))
			}
			read[s.List], known[s.List], own[s.List] = s.Read, true, nil
			c.checkLast(at, s)
		}
	}
}

// checkLast asks whether the newest element of others that a read shows is the last one of its transaction.
func (c *checker) checkLast(at int, s Step) {
	e, foreign := c.newest(at, s.Read)
	if w := c.writes[e]; foreign && w.list == s.List && w.next != "" {
		id := c.nodes[w.node].id
		c.v.found(G1b, []ID{c.nodes[at].id, id}, "%s read %s from list %d without %s, which %s appended there in the same "+
			"transaction", c.nodes[at].id, e, s.List, w.next, id)
	}
}

// newest element of a list that another transaction has appended; false when there is none that is known.
func (c *checker) newest(at int, l List) (Element, bool) {
	for i := len(l) - 1; i >= 0; i-- {
		w, known := c.writes[l[i]]
		if !known || w.node != at {
			return l[i], known
		}
	}
	return "", false
}
