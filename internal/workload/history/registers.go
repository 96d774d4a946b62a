// SPDX-License-Identifier: Apache-2.0

package history

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"
)

// registersWithin bounds the search for orders of the registers' operations, of all of them together.
const registersWithin = 30 * time.Second

// Registers is the verdict on the registers.
type Registers struct {
	Result Result `json:"result"`
	Reason string `json:"reason,omitempty"`
	// Operations that were judged: acknowledged ones, and writes of unknown outcome.
	Operations int `json:"operations"`
	// Unordered: they are of several machines. Each machine's were judged; no order between machines was.
	Unordered bool `json:"unordered,omitempty"`
}

// keyValue is a value of a register.
type keyValue struct{ key, value int64 }

type registerInput struct {
	value int64
	write bool
}

// registerModel is one register of an integer. A read's output is what it read.
func registerModel(begin int64) porcupine.Model {
	return porcupine.Model{
		Init: func() any { return begin },
		Step: func(state, input, output any) (bool, any) {
			if in := input.(registerInput); in.write {
				return true, in.value
			}
			return output.(int64) == state.(int64), state
		},
	}
}

// checkRegisters asks for an order of the operations of each register that a single register could have had
// (linearizability). A write of unknown outcome may take effect at any time after it was sent, or never, which is the
// same as after everything else. Each session is judged by itself first, by the order of what it did and without any
// clock; then what one machine's clients did, ordered by its own monotonic clock, machine by machine. Between machines
// no clock tells an order that is fine enough.
func checkRegisters(runs []Run) Registers { return searchRegisters(runs, registersWithin) }

// register is what has to be ordered of one register.
type register struct {
	key        int64
	begin      int64
	operations []porcupine.Operation
	// of says whose operations these are, for people; empty: a machine's.
	of string
}

// searchRegisters searches no longer than that.
func searchRegisters(runs []Run, within time.Duration) Registers {
	machines := byMachine(runs)
	begin := registerBeginnings(runs)
	result := Registers{Result: Passed, Unordered: len(machines) > 1}
	var list []register
	add := func(local []Run, c registerClock, of string) (count int) {
		registers, count := registerOperations(local, runs, c)
		for _, key := range slices.Sorted(maps.Keys(registers)) {
			list = append(list, register{key, begin[key], registers[key], of})
		}
		return count
	}
	for _, run := range runs {
		add([]Run{run}, ownOrder, fmt.Sprintf("run %d at %s, by itself", run.Header.Run, run.Client))
	}
	for _, local := range machines {
		result.Operations += add(local, monotonic, "")
	}
	result.search(list, within)
	switch {
	case result.Operations == 0:
		result.Reason, result.Unordered = "none were used", false
	case result.Unordered && result.Result == Passed:
		result.Reason = fmt.Sprintf("each of %d machines for itself, by its own clock", len(machines))
	}
	return result
}

// registerClock is when an operation was sent and answered, on a scale that all that is compared has in common.
type registerClock func(Operation) (call, end int64)

func monotonic(o Operation) (call, end int64) { return o.Invoked.Monotonic, o.Completed.Monotonic }

// ownOrder is the order of one session, which waits for each answer before it goes on.
func ownOrder(o Operation) (call, end int64) { return 2 * o.Number, 2*o.Number + 1 }

// byMachine groups runs by the boot of the machine whose clock they have in common. A run that does not know its own
// is a group for itself: it is one operation after another, whatever its clock says.
func byMachine(runs []Run) [][]Run {
	var machines [][]Run
	index := map[string]int{}
	for _, run := range runs {
		i, known := index[run.Boot]
		if !known || run.Boot == "" {
			i = len(machines)
			machines, index[run.Boot] = append(machines, nil), i
		}
		machines[i] = append(machines[i], run)
	}
	return machines
}

// search looks for an order of each register. Each has its share of the time that is left, so that one which is hard
// leaves the others theirs; that one of them cannot be told is said unless another has none.
func (r *Registers) search(list []register, within time.Duration) {
	end := time.Now().Add(within)
	for i, one := range list {
		share := time.Until(end) / time.Duration(len(list)-i)
		told := porcupine.Unknown
		if share > 0 { // 0 would be without end
			told = porcupine.CheckOperationsTimeout(registerModel(one.begin), one.operations, share)
		}
		switch told {
		case porcupine.Illegal:
			r.Result, r.Reason = Failed, fmt.Sprintf("no order explains what was read from register %d", one.key)
			if one.of != "" {
				r.Reason += " in " + one.of
			}
			return
		case porcupine.Unknown:
			r.Result, r.Reason = Inconclusive, fmt.Sprintf(
				"no order of register %d was found in the %s that all registers have together", one.key, within)
		}
	}
}

// registerBeginnings are the values that the registers had before the runs: an earlier run may have left them. Such a
// value is one that nobody in these runs tried to write; where several are read no beginning explains the others.
func registerBeginnings(runs []Run) map[int64]int64 {
	tried := map[keyValue]bool{}
	for _, run := range runs {
		for _, o := range run.Operations {
			if o.Function == Write {
				tried[keyValue{o.Key, o.Value}] = true
			}
		}
	}
	begin := map[int64]int64{}
	for _, run := range runs {
		for _, o := range run.Operations {
			if o.Function == Read && o.Outcome == OK && !tried[keyValue{o.Key, o.Value}] {
				begin[o.Key] = o.Value
			}
		}
	}
	return begin
}

// registerOperations are the operations of each register that bind the order of what runs of one clock did. A write of
// unknown outcome whose value nobody has read binds nothing: it may never have happened. Values are written once.
func registerOperations(local, all []Run, c registerClock) (map[int64][]porcupine.Operation, int) {
	read := registerReads(local, c)
	registers, count := map[int64][]porcupine.Operation{}, 0
	own := map[int64]bool{}
	for client, run := range local {
		own[run.Header.Run] = true
		for _, o := range run.Operations {
			call, end := c(o)
			op := porcupine.Operation{ClientId: client, Input: registerInput{o.Value, o.Function == Write}, Output: o.Value,
				Call: call, Return: end}
			_, seen := read[keyValue{o.Key, o.Value}]
			switch {
			case o.Function == Insert, o.Function == Query, o.Outcome == Fail, o.Outcome == Unknown && o.Function == Read,
				o.Outcome == Unknown && !seen:
				continue
			case o.Outcome == Unknown:
				op.Return = math.MaxInt64
			}
			registers[o.Key] = append(registers[o.Key], op)
			count++
		}
	}
	for _, run := range all {
		if own[run.Header.Run] {
			continue
		}
		for _, o := range run.Operations {
			seen, read := read[keyValue{o.Key, o.Value}]
			if o.Function != Write || o.Outcome == Fail || !read {
				continue
			}
			registers[o.Key] = append(registers[o.Key], porcupine.Operation{ClientId: len(local) + len(registers[o.Key]),
				Input: registerInput{o.Value, true}, Output: o.Value, Call: seen.call, Return: seen.end})
		}
	}
	return registers, count
}

// registerRead bounds when a value that somebody of another clock wrote may be taken to have been written. Nothing else
// can have been written between it and the first read of it, so it is as good as written at that read: not before the
// first of its reads was sent, and not after the first of them was answered.
type registerRead struct{ call, end int64 }

// registerReads are the values that were read, with the bounds of their first reads.
func registerReads(runs []Run, c registerClock) map[keyValue]registerRead {
	reads := map[keyValue]registerRead{}
	for _, run := range runs {
		for _, o := range run.Operations {
			if o.Function != Read || o.Outcome != OK {
				continue
			}
			key := keyValue{o.Key, o.Value}
			one, known := reads[key]
			if !known {
				one = registerRead{math.MaxInt64, math.MaxInt64}
			}
			call, end := c(o)
			reads[key] = registerRead{min(one.call, call), min(one.end, end)}
		}
	}
	return reads
}
