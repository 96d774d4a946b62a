// SPDX-License-Identifier: Apache-2.0

package listappend

import (
	"maps"
	"slices"
)

// Plant is an error that can be put into a history, to show that it is found there.
type Plant struct {
	// Name of the error, for people.
	Name string
	// Kinds of anomaly of which it has to make at least one more. A cycle may be of several, by what else its transactions
	// have done.
	Kinds []Kind

	into func(p *planting) bool
}

// Into plants the error in a copy of a history. False: the history has nothing to plant it in.
func (p Plant) Into(h History) (History, bool) {
	planting := newPlanting(h)
	return planting.History, p.into(planting)
}

// Plants are all of them.
func Plants() []Plant {
	return []Plant{
		{"an append that is lost", []Kind{Lost}, (*planting).lose},
		{"an append that is there twice", []Kind{Duplicate}, (*planting).duplicate},
		{"two appends in another order", []Kind{Incompatible}, (*planting).reorder},
		{"an append of nobody's", []Kind{Phantom}, (*planting).invent},
		{"half a transaction", []Kind{Partial}, (*planting).halve},
		{"a read that lacks what its own transaction appended", []Kind{Internal}, (*planting).forget},
		{"G0, a dirty write", []Kind{G0}, (*planting).interleave},
		{"G1a, an aborted read", []Kind{G1a}, (*planting).abort},
		{"G1b, an intermediate read", []Kind{G1b}, (*planting).intermediate},
		{"G1c, two transactions that read each other", []Kind{G1c}, (*planting).circle},
		{"G-single, read skew", []Kind{GSingle, G2}, (*planting).skewRead},
		{"G2, write skew", []Kind{G2, GSingle}, (*planting).skewWrite},
		{"a stale read of what its own client appended", []Kind{GSingleSession, G2Session, GSingle, G2, G1c},
			(*planting).goBack},
		{"a subscriber that lacks a transaction ahead of one it has", []Kind{NotPrefix}, (*planting).skip},
		{"a subscriber ahead of its publisher", []Kind{Ahead}, (*planting).overtake},
	}
}

// planting is a copy of a history that may be changed. The elements of its lists are shared: a list that changes is
// another one.
type planting struct {
	History
	// writes is where each element is appended.
	writes map[Element]place
}

// place of a step.
type place struct{ session, transaction, step int }

func newPlanting(h History) *planting {
	p := &planting{
		History: History{
			Sessions:    slices.Clone(h.Sessions),
			Replicas:    cloneCopies(h.Replicas),
			Subscribers: cloneCopies(h.Subscribers),
		},
		writes: map[Element]place{},
	}
	for s := range p.Sessions {
		p.Sessions[s].Transactions = slices.Clone(p.Sessions[s].Transactions)
		for t := range p.Sessions[s].Transactions {
			steps := slices.Clone(p.Sessions[s].Transactions[t].Steps)
			p.Sessions[s].Transactions[t].Steps = steps
			for i, step := range steps {
				if step.Append != "" {
					p.writes[step.Append] = place{s, t, i}
				}
			}
		}
	}
	return p
}

func cloneCopies(list []Copy) []Copy {
	list = slices.Clone(list)
	for i := range list {
		list[i].Lists, list[i].Rows = maps.Clone(list[i].Lists), maps.Clone(list[i].Rows)
	}
	return list
}

func (p *planting) at(l place) *Transaction {
	return &p.Sessions[l.session].Transactions[l.transaction]
}

// id of a place's transaction.
func (p *planting) id(l place) ID { return ID{p.Sessions[l.session].Run, p.at(l).Number} }

// steps of acknowledged transactions, until one will do.
func (p *planting) steps(will func(l place, s *Step) bool) bool {
	for s := range p.Sessions {
		for t := range p.Sessions[s].Transactions {
			one := &p.Sessions[s].Transactions[t]
			for i := range one.Steps {
				if one.Outcome == Committed && will(place{s, t, i}, &one.Steps[i]) {
					return true
				}
			}
		}
	}
	return false
}

// written is an element of a list of the first replica, with where it comes from; only those of acknowledged
// transactions.
func (p *planting) written(will func(number int64, l List, i int, w place) bool) bool {
	if len(p.Replicas) == 0 {
		return false
	}
	lists := p.Replicas[0].Lists
	for _, number := range slices.Sorted(maps.Keys(lists)) {
		for i, e := range lists[number] {
			if w, known := p.writes[e]; known && p.at(w).Outcome == Committed && will(number, lists[number], i, w) {
				return true
			}
		}
	}
	return false
}

// everywhere changes a list in all reads and at all replicas.
func (p *planting) everywhere(number int64, change func(List) List) {
	p.steps(func(_ place, s *Step) bool {
		if s.List == number && s.Append == "" {
			s.Read = change(s.Read)
		}
		return false
	})
	p.atReplicas(number, change)
}

func (p *planting) atReplicas(number int64, change func(List) List) {
	for _, one := range p.Replicas {
		if l, there := one.Lists[number]; there {
			one.Lists[number] = change(l)
		}
	}
}

// without makes lists without an element.
func without(e Element) func(List) List {
	return func(l List) List {
		return slices.DeleteFunc(slices.Clone(l), func(other Element) bool { return other == e })
	}
}

// exchange makes lists with two elements in each other's place.
func exchange(a, b Element) func(List) List {
	return func(l List) List {
		l = slices.Clone(l)
		for i, e := range l {
			switch e {
			case a:
				l[i] = b
			case b:
				l[i] = a
			}
		}
		return l
	}
}

func (p *planting) lose() bool {
	return p.written(func(number int64, l List, i int, _ place) bool {
		p.atReplicas(number, without(l[i]))
		return true
	})
}

func (p *planting) duplicate() bool {
	return p.written(func(number int64, l List, i int, _ place) bool {
		p.Replicas[0].Lists[number] = append(slices.Clone(l), l[i])
		return true
	})
}

func (p *planting) invent() bool {
	return p.written(func(number int64, l List, _ int, _ place) bool {
		p.Replicas[0].Lists[number] = append(slices.Clone(l), NewElement(0, 1, 0))
		return true
	})
}

func (p *planting) reorder() bool {
	return p.written(func(number int64, l List, i int, _ place) bool {
		if i+1 >= len(l) || !p.witnessed(number, l[i]) {
			return false
		}
		p.Replicas[0].Lists[number] = exchange(l[i], l[i+1])(l)
		return true
	})
}

// witnessed says whether somebody else than the first replica has an element of a list, or read it.
func (p *planting) witnessed(number int64, e Element) bool {
	return slices.ContainsFunc(p.Replicas[1:], func(c Copy) bool { return slices.Contains(c.Lists[number], e) }) ||
		p.steps(func(_ place, s *Step) bool { return s.List == number && slices.Contains(s.Read, e) })
}

func (p *planting) halve() bool {
	return p.written(func(number int64, l List, i int, w place) bool {
		for _, s := range p.at(w).Steps {
			if s.Append != "" && s.List != number {
				p.atReplicas(number, without(l[i]))
				for _, other := range p.at(w).Steps {
					if other.List == number && other.Append != "" {
						p.atReplicas(number, without(other.Append))
					}
				}
				return true
			}
		}
		return false
	})
}

func (p *planting) forget() bool {
	return p.steps(func(l place, s *Step) bool {
		if len(s.Read) == 0 {
			return false
		}
		last := len(s.Read) - 1
		if w, known := p.writes[s.Read[last]]; !known || p.id(w) != p.id(l) {
			return false
		}
		s.Read = s.Read[:last]
		return true
	})
}

func (p *planting) abort() bool {
	return p.written(func(_ int64, _ List, _ int, w place) bool {
		p.at(w).Outcome = Aborted
		return true
	})
}

// interleave exchanges the places of two transactions in one of two lists that both appended to.
func (p *planting) interleave() bool {
	type pair struct{ a, b int64 }
	first := map[pair]place{}
	return p.written(func(number int64, l List, i int, w place) bool {
		for _, s := range p.at(w).Steps {
			if s.Append == "" || s.List == number || !slices.Contains(p.Replicas[0].Lists[s.List], s.Append) {
				continue
			}
			lists := pair{number, s.List}
			other, before := first[lists]
			if !before {
				first[lists] = w
				continue
			}
			for _, earlier := range p.at(other).Steps {
				if p.id(other) != p.id(w) && earlier.Append != "" && earlier.List == s.List {
					p.everywhere(s.List, exchange(earlier.Append, s.Append))
					return true
				}
			}
		}
		return false
	})
}

// intermediate cuts a read between two appends of one transaction.
func (p *planting) intermediate() bool {
	return p.steps(func(l place, s *Step) bool {
		for i := 0; i+1 < len(s.Read); i++ {
			one, known := p.writes[s.Read[i]]
			two, alsoKnown := p.writes[s.Read[i+1]]
			if known && alsoKnown && p.id(one) == p.id(two) && p.id(one) != p.id(l) {
				s.Read = s.Read[:i+1]
				return true
			}
		}
		return false
	})
}

// orderOf is the longest that a replica has of a list.
func (p *planting) orderOf(number int64) List {
	var longest List
	for _, one := range p.Replicas {
		if len(one.Lists[number]) > len(longest) {
			longest = one.Lists[number]
		}
	}
	return longest
}

// circle lets a transaction read what one appended that had read from it.
func (p *planting) circle() bool {
	return p.steps(func(l place, s *Step) bool {
		if s.Append != "" || len(s.Read) == 0 {
			return false
		}
		w, known := p.writes[s.Read[len(s.Read)-1]]
		if !known || p.id(w) == p.id(l) || p.at(w).Outcome != Committed {
			return false
		}
		for _, later := range p.at(l).Steps {
			if later.Append == "" {
				continue
			}
			for i := range p.at(w).Steps {
				earlier, all := &p.at(w).Steps[i], p.orderOf(later.List)
				at := slices.Index(all, later.Append)
				if earlier.Append == "" && earlier.List == later.List && at >= 0 && !p.appends(w, later.List) {
					earlier.Read = all[:at+1]
					return true
				}
			}
		}
		return false
	})
}

// appends says whether a transaction appends to a list.
func (p *planting) appends(l place, number int64) bool {
	return slices.ContainsFunc(p.at(l).Steps, func(s Step) bool { return s.List == number && s.Append != "" })
}

// skewRead takes what a transaction appended from one of two reads of another that show it.
func (p *planting) skewRead() bool {
	return p.steps(func(l place, s *Step) bool {
		for i, e := range s.Read {
			w, known := p.writes[e]
			if !known || p.id(w) == p.id(l) || p.appends(l, s.List) {
				continue
			}
			for _, other := range p.at(l).Steps {
				for _, twin := range p.at(w).Steps {
					if other.List != s.List && twin.List == other.List && twin.Append != "" &&
						slices.Contains(other.Read, twin.Append) {
						s.Read = s.Read[:i]
						return true
					}
				}
			}
		}
		return false
	})
}

// skewWrite takes from a read what a transaction appended that had read, before it, a list to which the reader appends.
func (p *planting) skewWrite() bool {
	return p.steps(func(l place, s *Step) bool {
		for i, e := range s.Read {
			w, known := p.writes[e]
			if !known || p.id(w) == p.id(l) || p.at(w).Outcome != Committed || p.appends(l, s.List) {
				continue
			}
			for _, own := range p.at(l).Steps {
				for _, before := range p.at(w).Steps {
					if own.Append != "" && before.Append == "" && before.List == own.List &&
						!slices.Contains(before.Read, own.Append) && slices.Contains(p.orderOf(own.List), own.Append) {
						s.Read = s.Read[:i]
						return true
					}
				}
			}
		}
		return false
	})
}

// goBack takes from a read what the same client had been acknowledged before.
func (p *planting) goBack() bool {
	return p.steps(func(l place, s *Step) bool {
		for i, e := range s.Read {
			w, known := p.writes[e]
			if known && w.session == l.session && w.transaction < l.transaction && p.at(w).Outcome == Committed &&
				!p.appends(l, s.List) {
				s.Read = s.Read[:i]
				return true
			}
		}
		return false
	})
}

// skip takes a transaction from a subscriber that has the next one of a list.
func (p *planting) skip() bool {
	return p.written(func(_ int64, l List, i int, w place) bool {
		if i+1 >= len(l) {
			return false
		}
		next, known := p.writes[l[i+1]]
		if !known || p.id(next) == p.id(w) {
			return false
		}
		for at := range p.Subscribers {
			s := &p.Subscribers[at]
			if s.Lists == nil && s.Rows[p.id(next)] && s.Rows[p.id(w)] {
				delete(s.Rows, p.id(w))
				return true
			}
			if s.Lists == nil || !p.has(*s, l[i+1], next) || !p.has(*s, l[i], w) {
				continue
			}
			for _, step := range p.at(w).Steps {
				if step.Append != "" {
					s.Lists[step.List] = without(step.Append)(s.Lists[step.List])
				}
			}
			return true
		}
		return false
	})
}

// has says whether a copy has what is appended at a place.
func (p *planting) has(c Copy, e Element, w place) bool {
	return slices.Contains(c.Lists[p.at(w).Steps[w.step].List], e)
}

func (p *planting) overtake() bool {
	return p.written(func(number int64, l List, i int, w place) bool {
		for _, s := range p.Subscribers {
			if s.Lists != nil && p.has(s, l[i], w) {
				p.atReplicas(number, without(l[i]))
				return true
			}
		}
		return false
	})
}
