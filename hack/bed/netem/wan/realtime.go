// SPDX-License-Identifier: Apache-2.0

package wan

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"geosql.dev/operator/hack/bed/netem/link"
)

// processorGroups is the hierarchy of control groups v1 for the processor.
// With CONFIG_RT_GROUP_SCHED its groups need a budget before a thread in them
// may be scheduled in real time; the container engine's have none, the root
// has the machine's.
const processorGroups = "/sys/fs/cgroup/cpu"

// grantRealTime moves a node's emulator to the root group of the processor
// hierarchy, so that it may have real-time scheduling when it next asks. It
// tells whether it changed anything. There is nothing to do on a machine
// without such groups, or where the nodes' processes are not visible (a
// container engine in a virtual machine).
func grantRealTime(status NodeStatus) (bool, error) {
	if status.Emulator != UserSpace || status.process == 0 || status.Scheduling == string(link.FIFO) {
		return false, nil
	}
	if _, err := os.Stat(filepath.Join(processorGroups, "cpu.rt_runtime_us")); err != nil {
		return false, nil
	}
	pid, err := processOnHost("/proc", status.Node.process, status.process)
	if pid == 0 || err != nil {
		return false, err
	}
	err = os.WriteFile(filepath.Join(processorGroups, "cgroup.procs"), []byte(strconv.Itoa(pid)), 0)
	if err != nil {
		return false, fmt.Errorf("move the emulator of node %s to the root control group: %w", status.Node.Name, err)
	}
	return true, nil
}

// processOnHost finds the process that is number inner in the process
// namespace of the process init; 0 if this machine does not show it.
func processOnHost(proc string, init, inner int) (int, error) {
	namespace, err := os.Readlink(filepath.Join(proc, strconv.Itoa(init), "ns/pid"))
	if errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("find the node's processes: %w", err)
	}
	entries, err := os.ReadDir(proc)
	if err != nil {
		return 0, fmt.Errorf("find the node's processes: %w", err)
	}
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		status, err := os.ReadFile(filepath.Join(proc, entry.Name(), "status"))
		if err != nil || innermost(string(status)) != inner {
			continue
		}
		if other, err := os.Readlink(filepath.Join(proc, entry.Name(), "ns/pid")); err == nil && other == namespace {
			return pid, nil
		}
	}
	return 0, nil
}

// innermost reads the last number of the NSpid line of proc_pid_status(5): the
// process's number in its own namespace.
func innermost(status string) int {
	for line := range strings.Lines(status) {
		if numbers, found := strings.CutPrefix(line, "NSpid:"); found {
			fields := strings.Fields(numbers)
			if len(fields) == 0 {
				return 0
			}
			number, _ := strconv.Atoi(fields[len(fields)-1])
			return number
		}
	}
	return 0
}
