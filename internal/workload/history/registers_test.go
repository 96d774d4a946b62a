// SPDX-License-Identifier: Apache-2.0

package history_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/workload/history"
)

// registerOp is an operation of a register, from one millisecond to another.
func registerOp(number int64, f history.Function, key, value, from, to int64) history.Operation {
	return history.Operation{Number: number, Function: f, Key: key, Value: value, Invoked: at(from), Completed: at(to),
		Outcome: history.OK, Server: "a-0", Configuration: 1 << 32}
}

// A session that reads what it has overwritten itself is found without any clock: that of its machine may stand still.
func TestASessionNeedsNoClock(t *testing.T) {
	g := NewWithT(t)
	wrong := run(1, "tukwila", registerOp(1, history.Write, 1, 10, 0, 0), registerOp(2, history.Write, 1, 20, 0, 0),
		registerOp(3, history.Read, 1, 10, 0, 0))
	other := run(2, "tukwila", registerOp(1, history.Write, 1, 30, 0, 0), registerOp(2, history.Read, 1, 10, 0, 0))
	r := history.Check(history.Evidence{Runs: []history.Run{wrong, other}}).Registers
	g.Expect(r).To(And(HaveField("Result", history.Failed), HaveField("Reason", ContainSubstring("run 1 at tukwila"))))
	g.Expect(r.Operations).To(Equal(5), "each is counted once")

	// What others wrote in between explains what a session reads.
	right := run(1, "tukwila", registerOp(1, history.Write, 1, 10, 0, 0), registerOp(2, history.Read, 1, 30, 0, 0),
		registerOp(3, history.Read, 1, 40, 0, 0), registerOp(4, history.Read, 1, 40, 0, 0))
	far := run(2, "dublin", registerOp(1, history.Write, 1, 40, 0, 0), registerOp(2, history.Write, 1, 30, 0, 0))
	far.Boot = "another"
	g.Expect(history.Check(history.Evidence{Runs: []history.Run{right, far}}).Registers.Result).
		To(Equal(history.Passed))
}

// All registers have one time together. One that takes longer than its share leaves the others theirs: another that
// has no order is found, and without one nothing is told.
func TestRegistersHaveOneTimeTogether(t *testing.T) {
	// So many writes at a time, and then a read of what was there before them: every order of them has to be tried.
	hard := func(key int64) []history.Run {
		runs := []history.Run{run(100*key+1, "tukwila", registerOp(1, history.Write, key, 1, 0, 1),
			registerOp(2, history.Read, key, 1, 200, 201))}
		for n := range int64(26) {
			runs = append(runs, run(100*key+n+2, "tukwila", registerOp(1, history.Write, key, n+2, 10, 100)))
		}
		return runs
	}
	for name, c := range map[string]struct {
		wrong bool
		want  history.Result
	}{"and none that is wrong": {false, history.Inconclusive}, "before one that is wrong": {true, history.Failed}} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			runs := append(hard(1), hard(2)...)
			if c.wrong {
				runs = append(runs, run(900, "tukwila", registerOp(1, history.Write, 3, 10, 0, 1)),
					run(901, "tukwila", registerOp(1, history.Write, 3, 20, 2, 3), registerOp(2, history.Read, 3, 10, 4, 5)))
			}
			r := history.SearchRegisters(runs, 2*time.Second)
			g.Expect(r.Result).To(Equal(c.want), r.Reason)
		})
	}
	g := NewWithT(t)
	r := history.SearchRegisters([]history.Run{run(1, "tukwila", registerOp(1, history.Write, 1, 10, 0, 1))}, 0)
	g.Expect(r.Result).To(Equal(history.Inconclusive), "nothing was looked at")
}
