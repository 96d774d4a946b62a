// SPDX-License-Identifier: Apache-2.0

package listappend_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/workload/history/listappend"
)

// history reads lines such as "1.2 ok a5 r6=1.1.0,2.1.0": operation 2 of run 1 was acknowledged, appended 1.2.0 to list
// 5 and read two elements from list 6. "replica NAME 5=1.2.0", "subscriber NAME 5=1.2.0" and "rows NAME 1.2" are
// copies; "torn 1" says that the history of run 1 broke off.
func history(t *testing.T, lines ...string) listappend.History {
	t.Helper()
	var h listappend.History
	sessions := map[int64]*listappend.Session{}
	torn := map[int64]bool{}
	for _, line := range lines {
		fields := strings.Fields(line)
		switch fields[0] {
		case "torn":
			torn[number(t, fields[1])] = true
		case "replica":
			h.Replicas = append(h.Replicas, listappend.Copy{Server: fields[1], Lists: lists(t, fields[2:])})
		case "subscriber":
			h.Subscribers = append(h.Subscribers, listappend.Copy{Server: fields[1], Lists: lists(t, fields[2:])})
		case "rows":
			rows := map[listappend.ID]bool{}
			for _, field := range fields[2:] {
				rows[id(t, field)] = true
			}
			h.Subscribers = append(h.Subscribers, listappend.Copy{Server: fields[1], Rows: rows})
		default:
			who := id(t, fields[0])
			s := sessions[who.Run]
			if s == nil {
				s = &listappend.Session{Run: who.Run}
				sessions[who.Run] = s
			}
			s.Transactions = append(s.Transactions, transaction(t, who, fields[1], fields[2:]))
		}
	}
	for _, run := range slices.Sorted(maps.Keys(sessions)) {
		sessions[run].Whole = !torn[run]
		h.Sessions = append(h.Sessions, *sessions[run])
	}
	return h
}

func number(t *testing.T, text string) int64 {
	t.Helper()
	var n int64
	if _, err := fmt.Sscan(text, &n); err != nil {
		t.Fatal(err)
	}
	return n
}

func id(t *testing.T, text string) listappend.ID {
	t.Helper()
	run, op, _ := strings.Cut(text, ".")
	return listappend.ID{Run: number(t, run), Number: number(t, op)}
}

func lists(t *testing.T, fields []string) map[int64]listappend.List {
	t.Helper()
	all := map[int64]listappend.List{}
	for _, field := range fields {
		list, elements, _ := strings.Cut(field, "=")
		all[number(t, list)] = listappend.ParseList(elements)
	}
	return all
}

func transaction(t *testing.T, who listappend.ID, outcome string, fields []string) listappend.Transaction {
	t.Helper()
	outcomes := map[string]listappend.Outcome{"ok": listappend.Committed, "fail": listappend.Aborted,
		"unknown": listappend.Unknown}
	one := listappend.Transaction{Number: who.Number, Outcome: outcomes[outcome]}
	for i, field := range fields {
		list, elements, _ := strings.Cut(field[1:], "=")
		s := listappend.Step{List: number(t, list)}
		if field[0] == 'a' {
			s.Append = listappend.NewElement(who.Run, who.Number, i)
		} else {
			s.Read = listappend.ParseList(elements)
		}
		one.Steps = append(one.Steps, s)
	}
	return one
}

// Each anomaly is found in the least history that has it, under its own name and no other's, and told with the
// operations that have a part in it. What is no anomaly is none.
func TestAnomalies(t *testing.T) {
	for name, c := range map[string]struct {
		lines []string
		kinds []listappend.Kind
		open  bool
		told  []string
	}{
		"nothing": {},
		"one after the other": {lines: []string{
			"1.1 ok a1 r2=", "1.2 ok r1=1.1.0 a2", "2.1 ok r1=1.1.0 r2=1.2.1", "replica a 1=1.1.0 2=1.2.1",
		}},
		"an unknown one that took effect, one that did not": {lines: []string{
			"1.1 unknown a1 a2", "1.2 unknown a1", "1.3 ok r1= a3", "2.1 ok r1=1.1.0 r2=1.1.1",
			"replica a 1=1.1.0 2=1.1.1 3=1.3.1",
		}},
		"an unknown one that took effect after what its client sent next": {lines: []string{
			"1.1 ok a2", "1.2 unknown a1", "1.3 ok r1=", "replica a 1=1.2.0 2=1.1.0",
		}},
		"a failed one that left nothing": {lines: []string{
			"1.1 fail a1", "2.1 ok r1= a1", "replica a 1=2.1.1",
		}},
		"a list that an earlier read saw shorter": {lines: []string{
			"1.1 ok a1", "1.2 ok a1", "2.1 ok r1=", "3.1 ok r1=1.1.0", "replica a 1=1.1.0,1.2.0",
		}},
		"a transaction reads what it appended itself": {lines: []string{
			"1.1 ok a1", "2.1 ok a1 r1=1.1.0,2.1.0 a1 r1=1.1.0,2.1.0,2.1.2", "replica a 1=1.1.0,2.1.0,2.1.2",
		}},
		"G0": {
			lines: []string{"1.1 ok a1 a2", "2.1 ok a1 a2", "replica a 1=1.1.0,2.1.0 2=2.1.1,1.1.1"},
			kinds: []listappend.Kind{listappend.G0},
			told:  []string{"operation 1 of run 1", "operation 1 of run 2", "list 1", "list 2", "ahead of"},
		},
		"G0 within one list": {
			lines: []string{"1.1 ok a1 a1", "2.1 ok a1", "replica a 1=1.1.0,2.1.0,1.1.1"},
			kinds: []listappend.Kind{listappend.G0},
		},
		"G1a": {
			lines: []string{"1.1 fail a1", "2.1 ok r1=1.1.0", "replica a"},
			kinds: []listappend.Kind{listappend.G1a},
			told:  []string{"operation 1 of run 1", "failed", "operation 1 of run 2"},
		},
		"G1a in a copy": {
			lines: []string{"1.1 fail a1", "replica a 1=1.1.0"},
			kinds: []listappend.Kind{listappend.G1a},
		},
		"G1b": {
			lines: []string{"1.1 ok a1 a1", "2.1 ok r1=1.1.0", "replica a 1=1.1.0,1.1.1"},
			// Whoever reads what a transaction has not finished with is also before and after it.
			kinds: []listappend.Kind{listappend.G1b, listappend.GSingle},
			told:  []string{"without 1.1.1"},
		},
		"G1c": {
			lines: []string{"1.1 ok a1 r2=2.1.0", "2.1 ok a2 r1=1.1.0", "replica a 1=1.1.0 2=2.1.0"},
			kinds: []listappend.Kind{listappend.G1c},
			told:  []string{"which operation 1 of run 2 read", "which operation 1 of run 1 read"},
		},
		"G-single": {
			lines: []string{"1.1 ok a1 a2", "2.1 ok r1=1.1.0 r2=", "replica a 1=1.1.0 2=1.1.1"},
			kinds: []listappend.Kind{listappend.GSingle},
			told:  []string{"read list 2 without 1.1.1"},
		},
		"G-single: a lost update": {
			lines: []string{"1.1 ok a1", "2.1 ok r1=1.1.0 a1", "3.1 ok r1=1.1.0 a1", "replica a 1=1.1.0,2.1.1,3.1.1"},
			kinds: []listappend.Kind{listappend.GSingle},
		},
		"G2: write skew": {
			lines: []string{"1.1 ok r1= a2", "2.1 ok r2= a1", "replica a 1=2.1.1 2=1.1.1"},
			kinds: []listappend.Kind{listappend.G2},
			told:  []string{"read list 1 without 2.1.1", "read list 2 without 1.1.1"},
		},
		"a stale read of one's own": {
			lines: []string{"1.1 ok a1", "1.2 ok r1=", "replica a 1=1.1.0"},
			kinds: []listappend.Kind{listappend.GSingleSession},
			told:  []string{"was acknowledged before the same client sent operation 2 of run 1"},
		},
		"a client goes back": {
			lines: []string{"1.1 ok a1", "1.2 ok a1", "2.1 ok r1=1.1.0,1.2.0", "2.2 ok r1=1.1.0", "replica a 1=1.1.0,1.2.0"},
			kinds: []listappend.Kind{listappend.GSingleSession},
		},
		"appends of one client the other way round": {
			lines: []string{"1.1 ok a1", "1.2 ok a1", "replica a 1=1.2.0,1.1.0"},
			kinds: []listappend.Kind{listappend.G1cSession},
		},
		"two clients each miss what the other was acknowledged": {
			lines: []string{
				"1.1 ok a1", "1.2 ok r2=", "2.1 ok a2", "2.2 ok r1=", "replica a 1=1.1.0 2=2.1.0",
			},
			kinds: []listappend.Kind{listappend.G2Session},
		},
		"internal: not what it appended": {
			lines: []string{"1.1 ok a1 r1=", "replica a 1=1.1.0"},
			kinds: []listappend.Kind{listappend.Internal},
		},
		"internal: something else than before": {
			lines: []string{"1.1 ok a1", "2.1 ok r1= r1=1.1.0", "replica a 1=1.1.0"},
			kinds: []listappend.Kind{listappend.Internal, listappend.GSingle},
		},
		"lost append": {
			lines: []string{"1.1 ok a1", "1.2 ok a1", "replica a 1=1.1.0", "replica b 1=1.1.0"},
			kinds: []listappend.Kind{listappend.Lost},
			told:  []string{"a lacks 1 of the 1 appends of operation 2 of run 1"},
		},
		"lost at one copy": {
			lines: []string{"1.1 ok a1", "replica a 1=1.1.0", "replica b"},
			kinds: []listappend.Kind{listappend.Lost},
			told:  []string{"b lacks"},
		},
		"lost in the middle": {
			lines: []string{"1.1 ok a1", "1.2 ok a1", "1.3 ok a1", "2.1 ok r1=1.1.0,1.2.0", "replica a 1=1.1.0,1.3.0"},
			kinds: []listappend.Kind{listappend.Lost, listappend.Incompatible},
		},
		"an unknown one was read and is not there": {
			lines: []string{"1.1 unknown a1", "2.1 ok r1=1.1.0", "replica a"},
			kinds: []listappend.Kind{listappend.Lost},
			told:  []string{"was seen elsewhere"},
		},
		"half of an unknown one": {
			lines: []string{"1.1 unknown a1 a2", "replica a 1=1.1.0"},
			kinds: []listappend.Kind{listappend.Partial, listappend.Lost},
		},
		"duplicate": {
			lines: []string{"1.1 ok a1", "replica a 1=1.1.0,1.1.0"},
			kinds: []listappend.Kind{listappend.Duplicate},
		},
		"incompatible order": {
			lines: []string{"1.1 ok a1", "2.1 ok a1", "3.1 ok r1=1.1.0,2.1.0", "4.1 ok r1=2.1.0",
				"replica a 1=1.1.0,2.1.0"},
			kinds: []listappend.Kind{listappend.Incompatible},
			told:  []string{"to operation 1 of run 4"},
		},
		"copies in another order": {
			lines: []string{"1.1 ok a1", "2.1 ok a1", "replica a 1=1.1.0,2.1.0", "replica b 1=2.1.0,1.1.0"},
			kinds: []listappend.Kind{listappend.Incompatible},
		},
		"phantom": {
			lines: []string{"1.1 ok a1", "replica a 1=1.1.0,9.9.0"},
			kinds: []listappend.Kind{listappend.Phantom},
		},
		"a corrupted byte": {
			lines: []string{"1.1 ok a1", "1.2 ok r1=1.1.0", "replica a 1=1.1.0x"},
			kinds: []listappend.Kind{listappend.Phantom, listappend.Lost, listappend.Incompatible},
		},
		"an element of another list": {
			lines: []string{"1.1 ok a1", "replica a 1=1.1.0 2=1.1.0"},
			kinds: []listappend.Kind{listappend.Phantom},
		},
		"after the end of a history that broke off": {
			lines: []string{"1.1 ok a1", "torn 1", "replica a 1=1.1.0,1.2.0"},
			open:  true,
		},
		"before the end of a history that broke off": {
			lines: []string{"1.2 ok a1", "torn 1", "replica a 1=1.1.0,1.2.0"},
			kinds: []listappend.Kind{listappend.Phantom},
		},
		"no copy was read": {lines: []string{"1.1 ok a1"}, open: true},
		"a subscriber has the beginning": {lines: []string{
			"1.1 ok a1 a2", "1.2 ok a1", "replica a 1=1.1.0,1.2.0 2=1.1.1", "subscriber s 1=1.1.0 2=1.1.1",
		}},
		"a subscriber has nothing yet": {lines: []string{"1.1 ok a1", "replica a 1=1.1.0", "subscriber s"}},
		"a subscriber has half of one": {
			lines: []string{"1.1 ok a1 a2", "replica a 1=1.1.0 2=1.1.1", "subscriber s 1=1.1.0"},
			kinds: []listappend.Kind{listappend.Partial},
		},
		"a subscriber has a later one alone": {
			lines: []string{"1.1 ok a1", "2.1 ok r1=1.1.0 a2", "replica a 1=1.1.0 2=2.1.1", "subscriber s 2=2.1.1"},
			kinds: []listappend.Kind{listappend.NotPrefix},
			told: []string{"subscriber s has operation 1 of run 2 and not operation 1 of run 1",
				"which operation 1 of run 2 read"},
		},
		"a subscriber lacks one that is two steps back": {
			lines: []string{"1.1 ok a1", "2.1 ok r1=1.1.0", "2.2 ok a2", "replica a 1=1.1.0 2=2.2.0", "subscriber s 2=2.2.0"},
			kinds: []listappend.Kind{listappend.NotPrefix},
		},
		"a subscriber lacks one whose lack was read": {
			lines: []string{"1.1 ok a1 r2=", "2.1 ok a2", "replica a 1=1.1.0 2=2.1.0", "subscriber s 2=2.1.0"},
			kinds: []listappend.Kind{listappend.NotPrefix},
		},
		"a subscriber has what the publisher has not": {
			lines: []string{"1.1 unknown a1", "replica a", "subscriber s 1=1.1.0"},
			kinds: []listappend.Kind{listappend.Incompatible, listappend.Ahead},
		},
		"a subscriber's rows are a beginning": {lines: []string{
			"1.1 ok a1", "1.2 ok a1", "replica a 1=1.1.0,1.2.0", "rows s 1.1",
		}},
		"a subscriber's rows lack an earlier one": {
			lines: []string{"1.1 ok a1", "2.1 ok a1", "replica a 1=1.1.0,2.1.0", "rows s 2.1"},
			kinds: []listappend.Kind{listappend.NotPrefix},
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			v := listappend.Check(history(t, c.lines...))
			g.Expect(slices.Collect(maps.Keys(v.Counts))).To(ConsistOf(c.kinds), "%+v", v.Anomalies)
			g.Expect(len(v.Open) > 0).To(Equal(c.open), "%v", v.Open)
			for _, text := range c.told {
				g.Expect(v.Anomalies[0].Message).To(ContainSubstring(text))
			}
		})
	}
}

// What was judged is counted, and of each kind some are told.
func TestFigures(t *testing.T) {
	g := NewWithT(t)
	lines := []string{"1.1 ok a1 r2=", "1.2 unknown a3", "1.3 fail a1", "rows s 1.1", "replica a 1=1.1.0"}
	v := listappend.Check(history(t, lines...))
	g.Expect(v).To(And(HaveField("Transactions", 1), HaveField("Reads", 1), HaveField("Appends", 1), HaveField("Lists", 2),
		HaveField("Copies", 1), HaveField("Subscribers", 1)))
	for i := range 10 {
		lines = append(lines, fmt.Sprintf("2.%d ok a4", i+1))
	}
	v = listappend.Check(history(t, lines...))
	g.Expect(v.Counts[listappend.Lost]).To(Equal(10))
	g.Expect(v.Anomalies).To(HaveLen(3))
}

// A long history takes time in proportion to its length: twenty thousand transactions are one chain.
func TestLongHistories(t *testing.T) {
	var h listappend.History
	s := listappend.Session{Run: 1, Whole: true}
	lists := map[int64]listappend.List{}
	for i := range 20_000 {
		n := int64(i + 1)
		list := int64(i / 32)
		before := lists[list]
		e := listappend.NewElement(1, n, 1)
		lists[list] = append(before[:len(before):len(before)], e)
		s.Transactions = append(s.Transactions, listappend.Transaction{Number: n, Outcome: listappend.Committed,
			Steps: []listappend.Step{{List: list, Read: before}, {List: list, Append: e}}})
	}
	h.Sessions = []listappend.Session{s}
	h.Replicas = []listappend.Copy{{Server: "a", Lists: lists}}
	began := time.Now()
	NewWithT(t).Expect(listappend.Check(h).Counts).To(BeEmpty())
	t.Logf("%d transactions in %s", len(s.Transactions), time.Since(began))
}
