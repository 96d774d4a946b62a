// SPDX-License-Identifier: Apache-2.0

package main

import (
	"github.com/KimMachineGun/automemlimit/memlimit"
)

// ofLimit is how much of what its container may have the process lets the runtime take before it collects harder; the
// rest is for what the runtime does not count.
const ofLimit = 0.9

// limitMemory sets Go's soft memory limit (GOMEMLIMIT) by the limit of the container, as the kernel has it: a sidecar
// that is replaced in a running pod has the pod's environment of before. A GOMEMLIMIT that is set counts. Without a
// limit there is none.
func limitMemory(container memlimit.Provider) {
	_, _ = memlimit.SetGoMemLimitWithOpts(memlimit.WithRatio(ofLimit), memlimit.WithProvider(container))
}
