// SPDX-License-Identifier: Apache-2.0

package main

import (
	"math"
	"runtime/debug"
	"testing"

	"github.com/KimMachineGun/automemlimit/memlimit"
	. "github.com/onsi/gomega"
)

// The runtime collects before the kernel ends the process: nine tenths of what the container may have.
func TestTheMemoryLimitIsTheContainers(t *testing.T) {
	g := NewWithT(t)
	was := debug.SetMemoryLimit(-1)
	t.Cleanup(func() { debug.SetMemoryLimit(was) })
	debug.SetMemoryLimit(math.MaxInt64)
	limitMemory(func() (uint64, error) { return 0, memlimit.ErrNoLimit })
	g.Expect(debug.SetMemoryLimit(-1)).To(BeEquivalentTo(math.MaxInt64))
	limitMemory(func() (uint64, error) { return 256 << 20, nil })
	g.Expect(debug.SetMemoryLimit(-1)).To(BeNumerically("~", 230<<20, 1<<20))
}
