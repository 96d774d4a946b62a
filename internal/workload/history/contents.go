// SPDX-License-Identifier: Apache-2.0

package history

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// Tables that clients write.
const (
	TableRecorded = "dbo.Recorded"
	TableRegister = "dbo.Register"
	TablePurchase = "dbo.Purchase"
	TableBook     = "dbo.Book"
)

// Table is what one copy has in a table that clients wrote, read when everything was over.
type Table struct {
	Name string `json:"name"`
	// Each is how many of its rows belong to one row of dbo.Recorded, in whose transaction they were written; 0 where none
	// do.
	Each int `json:"each,omitempty"`
	// Rows that were read.
	Rows int `json:"rows"`
	// SHA256 over a hash of all columns of each row, in the order of the key.
	SHA256 string `json:"sha256"`
	// Spans say whose rows they are.
	Spans []Span `json:"spans,omitempty"`
	// Odd are rows that are not what they must be, some of them, and OddRows how many there are.
	Odd     []OddRow `json:"odd,omitempty"`
	OddRows int      `json:"oddRows,omitempty"`
}

// Span is rows of a run from the first number to the last, each of them there Times times. One of dbo.Recorded, where
// Times is 0, bounds rows that say of themselves the same Server and Configuration, those that their transactions saw.
type Span struct {
	Run           int64  `json:"run"`
	First         int64  `json:"first"`
	Last          int64  `json:"last"`
	Times         int    `json:"times,omitempty"`
	Server        string `json:"server,omitempty"`
	Configuration int64  `json:"configuration,omitempty"`
}

// Oddity is in which way a row is not what it must be.
type Oddity string

const (
	// Altered: its payload is not what was written.
	Altered Oddity = "Altered"
	// Miscounted: it does not say how many other rows there are.
	Miscounted Oddity = "Miscounted"
	// Nameless: it does not say whose it is.
	Nameless Oddity = "Nameless"
	// Differs: another copy has another row of that key, or none.
	Differs Oddity = "Differs"
)

// OddRow is a row that is not what it must be.
type OddRow struct {
	Oddity Oddity `json:"oddity"`
	// Row that it belongs to; zero where none.
	Row RowID `json:"row"`
	// Text says which row it is and what is odd, for people.
	Text string `json:"text"`
}

// RegisterValue is what a register holds.
type RegisterValue struct {
	Key   int64 `json:"key"`
	Value int64 `json:"value"`
}

// maxOdd is how many odd rows of a table are named.
const maxOdd = 20

// Note adds an odd row.
func (t *Table) Note(o OddRow) {
	if t.OddRows++; len(t.Odd) < maxOdd {
		t.Odd = append(t.Odd, o)
	}
}

// Spans folds rows as they come. Rows of a run mostly come in their order, as its client wrote them.
type Spans struct {
	list []Span
	// open is the index of each run's last span.
	open map[int64]int
}

// last span of a run; nil where there is none.
func (s *Spans) last(run int64) *Span {
	if i, known := s.open[run]; known {
		return &s.list[i]
	}
	return nil
}

func (s *Spans) begin(one Span) {
	if s.open == nil {
		s.open = map[int64]int{}
	}
	s.open[one.Run], s.list = len(s.list), append(s.list, one)
}

// Add adds a row.
func (s *Spans) Add(id RowID) {
	switch last := s.last(id.Run); {
	case last != nil && last.First == id.Number && last.Last == id.Number:
		last.Times++ // another line of the same
		s.join(s.open[id.Run])
	case last != nil && last.Last+1 == id.Number && last.Times == 1:
		last.Last = id.Number
	default:
		s.begin(Span{Run: id.Run, First: id.Number, Last: id.Number, Times: 1})
	}
}

// Say adds what a row says of its transaction.
func (s *Spans) Say(id RowID, server string, configuration int64) {
	last := s.last(id.Run)
	if last != nil && last.Last < id.Number && last.Server == server && last.Configuration == configuration {
		last.Last = id.Number
		return
	}
	s.begin(Span{Run: id.Run, First: id.Number, Last: id.Number, Server: server, Configuration: configuration})
}

// join makes one span of a run's last two where the rows of both are there as often, and nothing lies between them.
func (s *Spans) join(i int) {
	if i == 0 || i != len(s.list)-1 {
		return
	}
	before, last := &s.list[i-1], s.list[i]
	if before.Run == last.Run && before.Last+1 == last.First && before.Times == last.Times {
		before.Last = last.Last
		s.list, s.open[last.Run] = s.list[:i], i-1
	}
}

// List is what was added.
func (s *Spans) List() []Span { return s.list }

// Rows are those of spans, without how often each is there.
func Rows(spans []Span) []RowID {
	var ids []RowID
	for _, s := range spans {
		for number := s.First; number <= s.Last; number++ {
			ids = append(ids, RowID{s.Run, number})
		}
	}
	return ids
}

// Table of a replica by its name; nil where it was not read.
func (r Replica) Table(name string) *Table {
	for i := range r.Tables {
		if r.Tables[i].Name == name {
			return &r.Tables[i]
		}
	}
	return nil
}

// Contents are what the final reads of all tables that clients wrote have shown, beside which rows of dbo.Recorded are
// where.
type Contents struct {
	// Copies whose tables were read, subscribers included, and Tables of all of them.
	Copies int `json:"copies"`
	Tables int `json:"tables"`
	// Corrupted are payloads that do not hold what was written, whoever wrote meanwhile.
	Corrupted Finding `json:"corrupted"`
	// Altered rows are not what another copy has, or do not say what clients were told.
	Altered Finding `json:"altered"`
	// Torn are transactions of which a part is there, and another is not.
	Torn Finding `json:"torn"`
	// Nobodys are rows beside those of dbo.Recorded that nobody wrote.
	Nobodys Finding `json:"nobodys"`
}

// Finding is how many rows are not what they must be, and which some of them are.
type Finding struct {
	Count int      `json:"count"`
	Rows  []string `json:"rows,omitempty"`
}

func (f *Finding) add(n int, text string) {
	if f.Count += n; text != "" && len(f.Rows) < examples {
		f.Rows = append(f.Rows, text)
	}
}

func (f Finding) text(format string) string {
	if f.Count == 0 {
		return ""
	}
	return fmt.Sprintf(format, f.Count) + ": " + strings.Join(f.Rows, "; ")
}

// Corruption says which payloads are not what was written; empty when all are.
func (c Contents) Corruption() string {
	return c.Corrupted.text("%d payloads are not what was written")
}

// Wrong says what the final reads found that must not be, with some of the rows named; empty when there is nothing.
func (c Contents) Wrong() string {
	list := []string{
		c.Corruption(),
		c.Altered.text("%d rows differ between copies, or from what clients were told"),
		c.Torn.text("%d transactions are there in part"),
		c.Nobodys.text("%d rows beside those of " + TableRecorded + " are of nobody"),
	}
	return strings.Join(slices.DeleteFunc(list, func(text string) bool { return text == "" }), "; ")
}

// checkContents judges the final reads.
func checkContents(e Evidence) Contents {
	var c Contents
	told := map[RowID]Operation{}
	known := map[int64]bool{}
	for _, run := range e.Runs {
		known[run.Header.Run] = true
		for _, o := range run.Operations {
			if o.Function == Insert && o.Outcome == OK {
				told[RowID{run.Header.Run, o.Number}] = o
			}
		}
	}
	for i, r := range slices.Concat(e.Replicas, e.Subscribers) {
		if len(r.Tables) == 0 {
			continue
		}
		c.Copies++
		var late map[RowID]bool
		if i >= len(e.Replicas) && len(e.Replicas) > 0 {
			late = r.lacks(e.Replicas[0])
		}
		c.Tables += len(r.Tables)
		for _, t := range r.Tables {
			c.countOdd(r.Server, t)
			c.countStrange(r.Server, t, known)
		}
		if t := r.Table(TableRecorded); t != nil {
			c.countUntrue(r, *t, told)
			for _, other := range r.Tables {
				if other.Each > 0 {
					c.countTorn(r, other, known, late)
				}
			}
		}
	}
	c.compare(e.Replicas)
	c.countGone(e)
	return c
}

// countGone counts registers that clients were acknowledged to have used, and that no copy has: those that some have
// and others have not are told by their readers.
func (c *Contents) countGone(e Evidence) {
	there, read := map[int64]bool{}, ""
	for _, r := range e.Replicas {
		if r.Table(TableRegister) != nil {
			read = r.Server
		}
		for _, one := range r.Registers {
			there[one.Key] = true
		}
	}
	if read == "" {
		return
	}
	for _, run := range e.Runs {
		for _, o := range run.Operations {
			if (o.Function == Write || o.Function == Read) && o.Outcome == OK && !there[o.Key] {
				there[o.Key] = true
				c.Altered.add(1, fmt.Sprintf("%s of %s: register %d is not there", TableRegister, read, o.Key))
			}
		}
	}
}

// countOdd counts what the reader found of the rows by themselves and beside those of other copies.
func (c *Contents) countOdd(server string, t Table) {
	for _, o := range t.Odd {
		f := &c.Altered
		switch o.Oddity {
		case Nameless:
			f = &c.Nobodys
		case Altered:
			f = &c.Corrupted
		}
		f.add(1, fmt.Sprintf("%s of %s: %s", t.Name, server, o.Text))
	}
	c.Altered.add(t.OddRows-len(t.Odd), "")
}

// countStrange counts rows beside dbo.Recorded whose run no history has. Those of dbo.Recorded are phantoms.
func (c *Contents) countStrange(server string, t Table, known map[int64]bool) {
	if t.Each == 0 {
		return
	}
	for _, s := range t.Spans {
		if !known[s.Run] {
			c.Nobodys.add(int(s.Last-s.First)+1,
				fmt.Sprintf("%s of %s: run %d operation %d is of nobody", t.Name, server, s.Run, s.First))
		}
	}
}

// countUntrue compares what rows say of their transactions with what their clients were told.
func (c *Contents) countUntrue(r Replica, t Table, told map[RowID]Operation) {
	says := map[int64][]Span{}
	for _, s := range t.Spans {
		says[s.Run] = append(says[s.Run], s)
	}
	for _, id := range r.Rows {
		o, acknowledged := told[id]
		if !acknowledged || o.Server == "" {
			continue
		}
		for _, s := range says[id.Run] {
			if id.Number < s.First || id.Number > s.Last ||
				o.Server == s.Server && o.Configuration == s.Configuration {
				continue
			}
			c.Altered.add(1, fmt.Sprintf(
				"%s of %s: run %d operation %d says %s in configuration %d, and its client was told %s in %d",
				t.Name, r.Server, id.Run, id.Number, s.Server, s.Configuration, o.Server, o.Configuration))
		}
	}
}

// countTorn compares a copy's rows of a table with the rows of dbo.Recorded that were written in the same transactions.
// Of late ones dbo.Recorded had none: it is read first, and what arrives meanwhile is in the other tables alone.
func (c *Contents) countTorn(r Replica, t Table, known map[int64]bool, late map[RowID]bool) {
	parts, whole := map[RowID]int{}, map[RowID]bool{}
	for _, s := range t.Spans {
		for number := s.First; number <= s.Last; number++ {
			parts[RowID{s.Run, number}] += s.Times
		}
	}
	for _, id := range r.Rows {
		if whole[id] {
			continue // that it is there twice is said elsewhere
		}
		whole[id] = true
		if n := parts[id]; n != t.Each {
			c.Torn.add(1, fmt.Sprintf("%s: run %d operation %d is in %s with %d of %d rows in %s",
				r.Server, id.Run, id.Number, TableRecorded, n, t.Each, t.Name))
		}
	}
	for _, id := range slices.SortedFunc(maps.Keys(parts), compareIDs) {
		if known[id.Run] && !whole[id] && !late[id] {
			c.Torn.add(1, fmt.Sprintf("%s: run %d operation %d is in %s and not in %s",
				r.Server, id.Run, id.Number, t.Name, TableRecorded))
		}
	}
}

func compareIDs(x, y RowID) int {
	return cmp.Or(cmp.Compare(x.Run, y.Run), cmp.Compare(x.Number, y.Number))
}

// compare says which tables of replicas differ though no row of them is named: they were not read side by side.
func (c *Contents) compare(replicas []Replica) {
	first := map[string]Replica{}
	for _, r := range replicas {
		for _, t := range r.Tables {
			other, seen := first[t.Name]
			if !seen {
				first[t.Name] = r
				continue
			}
			before := other.Table(t.Name)
			named := slices.ContainsFunc(slices.Concat(before.Odd, t.Odd),
				func(o OddRow) bool { return o.Oddity == Differs })
			if before.SHA256 != t.SHA256 && !named {
				c.Altered.add(1, fmt.Sprintf("%s of %s and of %s differ", t.Name, other.Server, r.Server))
			}
		}
	}
}

// withFinalReads adds what the registers held in the end as reads that came after everything, to what each machine's
// clients did: a write that was acknowledged and is gone is found though nobody read the register after it. Where a
// history broke off, what nobody tried to write may have been written in its last operations.
func withFinalReads(runs []Run, replicas []Replica) []Run {
	i := slices.IndexFunc(replicas, func(r Replica) bool { return len(r.Registers) > 0 })
	if i < 0 {
		return runs
	}
	tried, whole := map[keyValue]bool{}, true
	for _, run := range runs {
		whole = whole && run.Ended
		for _, o := range run.Operations {
			if o.Function == Write || o.Function == Read && o.Outcome == OK {
				tried[keyValue{o.Key, o.Value}] = true
			}
		}
	}
	all, number := slices.Clone(runs), int64(0)
	for _, machine := range byMachine(runs) {
		if machine[0].Boot == "" {
			continue // a run that does not know its clock's
		}
		end, used := int64(math.MinInt64), map[int64]bool{}
		for _, run := range machine {
			for _, o := range run.Operations {
				end = max(end, o.Invoked.Monotonic, o.Completed.Monotonic)
				used[o.Key] = used[o.Key] || o.Outcome == OK && (o.Function == Write || o.Function == Read)
			}
		}
		number--
		last := Run{Header: Header{Run: number, Client: machine[0].Client, Boot: machine[0].Boot}, Ended: true}
		for _, register := range replicas[i].Registers {
			if !used[register.Key] || !whole && !tried[keyValue{register.Key, register.Value}] {
				continue
			}
			last.Operations = append(last.Operations, Operation{Function: Read, Key: register.Key, Value: register.Value,
				Outcome: OK, Invoked: Instant{Monotonic: end + 1}, Completed: Instant{Monotonic: end + 2}})
		}
		all = append(all, last)
	}
	return all
}
