// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Usage is what processes take that are in a server's pod and belong neither to the engine nor to the agent: stressors.
type Usage struct {
	// Processes are the programs' names.
	Processes []string `json:"processes"`
	// Processors that they used, 1 for all of one's time.
	Processors float64 `json:"processors"`
	// Memory that they hold, in bytes.
	Memory int64 `json:"memory"`
	// MachineProcessors and MachineMemory, in bytes, are what there is.
	MachineProcessors int   `json:"machineProcessors"`
	MachineMemory     int64 `json:"machineMemory"`
}

// ticksPerSecond is the unit of processor time in /proc (USER_HZ: 100 on every Linux that runs containers).
const ticksPerSecond = 100

// MeasureUsage looks twice, with that time between.
func MeasureUsage(ctx context.Context, proc string, lasts time.Duration) (Usage, error) {
	u := Usage{Processes: []string{}, MachineProcessors: runtime.NumCPU(), MachineMemory: machineMemory(proc)}
	before, err := strangers(proc)
	if err != nil {
		return u, err
	}
	began := time.Now()
	select {
	case <-ctx.Done():
	case <-time.After(lasts):
	}
	after, err := strangers(proc)
	if err != nil {
		return u, err
	}
	took := time.Since(began).Seconds()
	for pid, is := range after {
		u.Processes = append(u.Processes, is.name)
		u.Memory += is.memory
		if was, known := before[pid]; known && was.name == is.name {
			u.Processors += float64(is.ticks-was.ticks) / ticksPerSecond / took
		}
	}
	slices.Sort(u.Processes)
	return u, nil
}

// process is what /proc tells of one.
type process struct {
	name   string
	ticks  int64
	memory int64
}

// strangers are the pod's processes but the engine's, this program's, and the one that holds the pod's namespaces.
func strangers(proc string) (map[int]process, error) {
	entries, err := os.ReadDir(proc)
	if err != nil {
		return nil, fmt.Errorf("list the processes: %w", err)
	}
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	known := []string{engineName, filepath.Base(self), "pause"}
	list := map[int]process{}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if p, ok := look(filepath.Join(proc, e.Name())); ok && !slices.Contains(known, p.name) {
			list[pid] = p
		}
	}
	return list, nil
}

// look at one process; false when it has ended, or is of the kernel.
func look(folder string) (process, bool) {
	command, err := os.ReadFile(filepath.Join(folder, "cmdline"))
	if err != nil || len(command) == 0 {
		return process{}, false
	}
	program, _, _ := strings.Cut(string(command), "\x00")
	p := process{name: filepath.Base(program)}
	// proc_pid_stat(5): behind the name in parentheses, utime and stime are the 12th and 13th field.
	stat, err := os.ReadFile(filepath.Join(folder, "stat"))
	if err != nil {
		return p, false
	}
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	if len(fields) < 13 {
		return p, false
	}
	for _, field := range fields[11:13] {
		n, _ := strconv.ParseInt(field, 10, 64)
		p.ticks += n
	}
	// proc_pid_statm(5): the second is the resident set, in pages.
	statm, err := os.ReadFile(filepath.Join(folder, "statm"))
	if err != nil {
		return p, false
	}
	if pages := strings.Fields(string(statm)); len(pages) > 1 {
		n, _ := strconv.ParseInt(pages[1], 10, 64)
		p.memory = n * int64(os.Getpagesize())
	}
	return p, true
}

// machineMemory is proc_meminfo(5)'s MemTotal in bytes; 0 when it cannot be read.
func machineMemory(proc string) int64 {
	data, err := os.ReadFile(filepath.Join(proc, "meminfo"))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(data)) {
		if rest, ok := strings.CutPrefix(line, "MemTotal:"); ok {
			kb, _ := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")), 10, 64)
			return kb << 10
		}
	}
	return 0
}
