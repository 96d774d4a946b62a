// SPDX-License-Identifier: Apache-2.0

package history_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/workload/history"
)

// read is a copy of which all tables were read: every row of dbo.Recorded has a payload and a purchase.
func read(server string, ids ...history.RowID) history.Replica {
	var recorded, payloads, purchases history.Spans
	for _, id := range ids {
		recorded.Say(id, "a-0", 1<<32|id.Number)
		payloads.Add(id)
		purchases.Add(id)
		purchases.Add(id)
	}
	n := len(ids)
	return history.Replica{Server: server, Rows: ids, Tables: []history.Table{
		{Name: history.TableRecorded, Rows: n, SHA256: "1", Spans: recorded.List()},
		{Name: "dbo.Article", Each: 1, Rows: n, SHA256: "2", Spans: payloads.List()},
		{Name: history.TablePurchase, Each: 2, Rows: 2 * n, SHA256: "3", Spans: purchases.List()},
		{Name: history.TableRegister, Rows: 1, SHA256: "4"},
	}, Registers: []history.RegisterValue{{Key: 1, Value: 41}}}
}

func table(r history.Replica, name string) *history.Table { return r.Table(name) }

// What the final reads find fails whatever else is right, and names the row.
func TestContentsOfAllTables(t *testing.T) {
	register := func(number, from, to int64, f history.Function, key, value int64) history.Operation {
		o := insert(number, from, to, history.OK, "a-0", 1)
		o.Function, o.Key, o.Value = f, key, value
		return o
	}
	without := func(name string, number int64) func([]history.Replica) {
		return func(list []history.Replica) {
			var spans history.Spans
			for _, n := range []int64{1, 2, 4} {
				if n != number {
					spans.Add(history.RowID{Run: 7, Number: n})
					if name == history.TablePurchase {
						spans.Add(history.RowID{Run: 7, Number: n})
					}
				}
			}
			table(list[1], name).Spans = spans.List()
		}
	}
	for name, c := range map[string]struct {
		change func([]history.Replica)
		want   string
	}{
		"all is there": {func([]history.Replica) {}, ""},
		"a corrupted byte": {func(l []history.Replica) {
			table(l[1], "dbo.Article").Note(history.OddRow{Oddity: history.Altered, Row: history.RowID{Run: 7, Number: 2},
				Text: "the payload of run 7 operation 2 is not what was written"})
		}, "1 payloads are not what was written: dbo.Article of b-0: the payload of run 7 operation 2 " +
			"is not what was written"},
		"a payload that names no row": {func(l []history.Replica) {
			table(l[0], "dbo.Article").Note(history.OddRow{Oddity: history.Nameless, Text: "Id -5 names no row"})
		}, "1 rows beside those of dbo.Recorded are of nobody: dbo.Article of a-0: Id -5 names no row"},
		"a row without its payload": {without("dbo.Article", 2),
			"1 transactions are there in part: b-0: run 7 operation 2 is in dbo.Recorded with 0 of 1 rows in dbo.Article"},
		"a row without its purchase": {without(history.TablePurchase, 4),
			"1 transactions are there in part: b-0: run 7 operation 4 is in dbo.Recorded with 0 of 2 rows in dbo.Purchase"},
		"a purchase without its row": {func(l []history.Replica) {
			table(l[0], history.TablePurchase).Spans = append(table(l[0], history.TablePurchase).Spans,
				history.Span{Run: 7, First: 9, Last: 9, Times: 2})
		}, "1 transactions are there in part: a-0: run 7 operation 9 is in dbo.Purchase and not in dbo.Recorded"},
		"a purchase of nobody": {func(l []history.Replica) {
			table(l[0], history.TablePurchase).Spans = append(table(l[0], history.TablePurchase).Spans,
				history.Span{Run: 99, First: 3, Last: 3, Times: 1})
		}, "1 rows beside those of dbo.Recorded are of nobody: dbo.Purchase of a-0: run 99 operation 3 is of nobody"},
		"a row of another term": {func(l []history.Replica) { table(l[0], history.TableRecorded).Spans[1].Configuration++ },
			"1 rows differ between copies, or from what clients were told: dbo.Recorded of a-0: run 7 operation 2 says a-0 in " +
				"configuration 4294967299, and its client was told a-0 in 4294967298"},
		"tables that differ": {func(l []history.Replica) { table(l[1], history.TableRegister).SHA256 = "5" },
			"1 rows differ between copies, or from what clients were told: dbo.Register of a-0 and of b-0 differ"},
		"a register that is gone": {func(l []history.Replica) { l[0].Registers, l[1].Registers = nil, nil },
			"1 rows differ between copies, or from what clients were told: dbo.Register of b-0: register 1 is not there"},
		"an acknowledged write of a register that is gone": {func(l []history.Replica) {
			l[0].Registers[0].Value = 40
		}, "registers are not linearizable: no order explains what was read from register 1"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			ids := rows(7, 1, 2, 4)
			list := []history.Replica{read("a-0", ids...), read("b-0", ids...)}
			c.change(list)
			v := history.Check(history.Evidence{Replicas: list, Runs: []history.Run{run(7, "tukwila",
				insert(1, 0, 10, history.OK, "a-0", 1), insert(2, 20, 30, history.OK, "a-0", 1),
				insert(3, 40, 50, history.Fail, "", 0), insert(4, 60, 70, history.Unknown, "", 0),
				register(5, 80, 90, history.Write, 1, 40), register(6, 100, 110, history.Write, 1, 41))}})
			if c.want == "" {
				g.Expect(v.Result).To(Equal(history.Passed), "%v", v.Reasons)
				g.Expect(v.Contents).To(Equal(history.Contents{Copies: 2, Tables: 8}))
				return
			}
			g.Expect(v.Result).To(Equal(history.Failed))
			g.Expect(v.Reasons).To(ConsistOf(c.want))
		})
	}
}

// What a register holds in the end may have been written by the last operation of a history that broke off.
func TestFinalReadOfARegisterAfterABrokenHistory(t *testing.T) {
	for ended, want := range map[bool]history.Result{true: history.Failed, false: history.Passed} {
		g := NewWithT(t)
		o := insert(1, 0, 10, history.OK, "a-0", 1)
		o.Function, o.Key, o.Value = history.Write, 1, 41
		one := run(7, "tukwila", o)
		one.Ended = ended
		list := []history.Replica{read("a-0")}
		list[0].Registers[0].Value = 42
		v := history.Check(history.Evidence{Replicas: list, Runs: []history.Run{one}})
		g.Expect(v.Registers.Result).To(Equal(want))
	}
}

// A subscriber need not have all rows, nor dbo.Recorded; what it has must be what was written.
func TestContentsOfASubscriber(t *testing.T) {
	g := NewWithT(t)
	ids := rows(7, 1, 2)
	var spans history.Spans
	spans.Add(ids[0])
	subscriber := history.Replica{Server: "s-0", Rows: ids[:1], Tables: []history.Table{
		{Name: "dbo.Article", Each: 1, Rows: 1, SHA256: "other", Spans: spans.List()}}}
	e := history.Evidence{Replicas: []history.Replica{read("a-0", ids...)}, Subscribers: []history.Replica{subscriber},
		Runs: []history.Run{run(7, "tukwila", insert(1, 0, 10, history.OK, "a-0", 1),
			insert(2, 20, 30, history.OK, "a-0", 1))}}
	g.Expect(history.Check(e).Reasons).To(BeEmpty())
	table(e.Subscribers[0], "dbo.Article").Note(history.OddRow{Oddity: history.Differs, Text: "Id -3 is another row here"})
	g.Expect(history.Check(e).Result).To(Equal(history.Failed))
}

// A subscriber that has dbo.Recorded has whole transactions, too, but for those of rows that have yet to come, since
// its tables are read one after another. That some are missing, which delivery does not count where they were never
// acknowledged, excuses no other.
func TestTransactionsOfASubscriber(t *testing.T) {
	ids := rows(7, 1, 2)
	for name, c := range map[string]struct {
		recorded []history.RowID
		payloads []history.RowID
		torn     int
	}{
		"all is there":                        {ids, ids, 0},
		"a payload is not there":              {ids, ids[:1], 1},
		"rows came in between":                {ids[:1], ids, 0},
		"rows have yet to arrive":             {ids[:1], ids[:1], 0},
		"a payload of an old row":             {ids, append(rows(7, 9), ids...), 1},
		"nothing has come at all":             {nil, nil, 0},
		"torn, and another yet to arrive":     {ids[:1], nil, 1},
		"torn, and another came in between":   {ids[:1], ids[1:], 1},
		"of an old row, others yet to arrive": {nil, rows(7, 9), 1},
	} {
		for outcome, second := range map[string]history.Outcome{"acknowledged": history.OK, "unknown": history.Unknown} {
			t.Run(name+", the second one "+outcome, func(t *testing.T) {
				subscriber := read("s-0", c.recorded...)
				var spans history.Spans
				for _, id := range c.payloads {
					spans.Add(id)
				}
				subscriber.Table("dbo.Article").Spans = spans.List()
				v := history.Check(history.Evidence{Replicas: []history.Replica{read("a-0", ids...)},
					Subscribers: []history.Replica{subscriber}, Runs: []history.Run{run(7, "tukwila",
						insert(1, 0, 10, history.OK, "a-0", 1), insert(2, 20, 30, second, "a-0", 1))}})
				NewWithT(t).Expect(v.Contents.Torn.Count).To(Equal(c.torn), v.Contents.Wrong())
			})
		}
	}
}

// Lines of one operation are counted, and operations of as many lines are one span.
func TestSpansOfRows(t *testing.T) {
	g := NewWithT(t)
	var s history.Spans
	for _, id := range []history.RowID{{Run: 7, Number: 1}, {Run: 7, Number: 1}, {Run: 7, Number: 2}, {Run: 7, Number: 2},
		{Run: 7, Number: 4}, {Run: 8, Number: 1}, {Run: 8, Number: 2}} {
		s.Add(id)
	}
	g.Expect(s.List()).To(Equal([]history.Span{{Run: 7, First: 1, Last: 2, Times: 2},
		{Run: 7, First: 4, Last: 4, Times: 1}, {Run: 8, First: 1, Last: 2, Times: 1}}))
	g.Expect(history.Rows(s.List())).To(HaveLen(5))
}

// Clients tell that service has moved: another server acknowledged them, in a higher term.
func TestWhoServedBeforeAndAfterAFault(t *testing.T) {
	ack := func(number, from int64, server string, term int64) history.Operation {
		return insert(number, from, from+10, history.OK, server, term)
	}
	for name, c := range map[string]struct {
		then  []history.Operation
		after *history.Service
		moved bool
	}{
		"another server":       {[]history.Operation{ack(2, 2000, "b-0", 2)}, &history.Service{Server: "b-0", Term: 2}, true},
		"nobody":               {nil, nil, false},
		"the same in its term": {[]history.Operation{ack(2, 2000, "a-0", 1)}, nil, false},
		"the same in a higher term": {[]history.Operation{ack(2, 2000, "a-0", 2)},
			&history.Service{Server: "a-0", Term: 2}, false},
		"another server after the next one": {[]history.Operation{ack(2, 9000, "b-0", 2)}, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			one := run(7, "tukwila", append([]history.Operation{ack(1, 0, "a-0", 1)}, c.then...)...)
			move, next := fault("move", 1000, 0, 0), fault("next", 8000, 0, 0)
			move.Moves, move.Proof = true, ""
			v := history.Check(history.Evidence{Runs: []history.Run{one}, Faults: []history.Fault{move, next}})
			g.Expect(v.Faults[0].Before).To(Equal(&history.Service{Server: "a-0", Term: 1}))
			g.Expect(v.Faults[0].After).To(Equal(c.after))
			g.Expect(v.Faults[0].Moved()).To(Equal(c.moved))
			text := "fault move on a-0 did not move service: no client saw another server in a higher term"
			if c.moved {
				g.Expect(v.Reasons).NotTo(ContainElement(text))
			} else {
				g.Expect(v.Reasons).To(ContainElement(text))
			}
		})
	}
}
