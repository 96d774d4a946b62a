// SPDX-License-Identifier: Apache-2.0

package engine

import "slices"

// SetTraceFlag turns a trace flag of the instance on or off.
func (inst *Instance) SetTraceFlag(flag int, on bool) {
	inst.mu.Lock()
	defer inst.mu.Unlock()
	if inst.traceFlags == nil {
		inst.traceFlags = map[int]bool{}
		for _, f := range inst.config.TraceFlags {
			inst.traceFlags[f] = true
		}
	}
	inst.traceFlags[flag] = on
}

// TraceFlags are the trace flags that are on.
func (inst *Instance) TraceFlags() []int {
	inst.mu.Lock()
	defer inst.mu.Unlock()
	if inst.traceFlags == nil {
		return slices.Clone(inst.config.TraceFlags)
	}
	var on []int
	for f, is := range inst.traceFlags {
		if is {
			on = append(on, f)
		}
	}
	return on
}
