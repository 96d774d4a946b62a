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

// registersWithin bounds the search for an order of the registers' operations.
const registersWithin = 30 * time.Second

// Registers is the verdict on the registers.
type Registers struct {
	Result Result `json:"result"`
	Reason string `json:"reason,omitempty"`
	// Operations that were judged: acknowledged ones, and writes of unknown outcome.
	Operations int `json:"operations"`
	// Unordered: they are of several machines, whose clocks tell no order of them.
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
// same as after everything else. Histories of several machines cannot be ordered well enough for that.
func checkRegisters(runs []Run, a axis) Registers {
	registers, count := registerOperations(runs, a)
	begin := registerBeginnings(runs)
	result := Registers{Result: Passed, Operations: count}
	switch {
	case count == 0:
		result.Reason = "none were used"
		return result
	case a.wall:
		result.Result, result.Reason, result.Unordered = Inconclusive, "the clients' clocks are not of one machine", true
		return result
	}
	for _, key := range slices.Sorted(maps.Keys(registers)) {
		switch porcupine.CheckOperationsTimeout(registerModel(begin[key]), registers[key], registersWithin) {
		case porcupine.Illegal:
			result.Result, result.Reason = Failed, fmt.Sprintf("no order explains what was read from register %d", key)
			return result
		case porcupine.Unknown:
			result.Result, result.Reason = Inconclusive, fmt.Sprintf(
				"no order of register %d was found within %s",
				key,
				registersWithin,
			)
		}
	}
	return result
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

// registerOperations are the operations of each register that bind its order. A write of unknown outcome whose value
// nobody has read binds nothing: it may never have happened. Values are written once.
func registerOperations(runs []Run, a axis) (map[int64][]porcupine.Operation, int) {
	read := map[keyValue]bool{}
	for _, run := range runs {
		for _, o := range run.Operations {
			if o.Function == Read && o.Outcome == OK {
				read[keyValue{o.Key, o.Value}] = true
			}
		}
	}
	registers, count := map[int64][]porcupine.Operation{}, 0
	for client, run := range runs {
		for _, o := range run.Operations {
			op := porcupine.Operation{ClientId: client, Input: registerInput{o.Value, o.Function == Write}, Output: o.Value,
				Call: a.of(o.Invoked), Return: a.of(o.Completed)}
			switch {
			case o.Function == Insert, o.Function == Query, o.Outcome == Fail, o.Outcome == Unknown && o.Function == Read,
				o.Outcome == Unknown && !read[keyValue{o.Key, o.Value}]:
				continue
			case o.Outcome == Unknown:
				op.Return = math.MaxInt64
			}
			registers[o.Key] = append(registers[o.Key], op)
			count++
		}
	}
	return registers, count
}
