// SPDX-License-Identifier: Apache-2.0

package holder

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// Process is the engine's process, as the sidecar sees it.
type Process interface {
	// Run identifies the present run of the engine: another value means that it has ended, and others are spared the wait
	// for its votes. It is empty while no engine runs.
	Run() (string, error)
	// Kill ends the engine at once. Nobody to kill is no error.
	Kill() error
}

// ProcFS finds the engine in the pod's process namespace, which its containers share.
type ProcFS struct {
	// Root is /proc unless given.
	Root string
	// Command is the name of the engine's program as in /proc/PID/comm; sqlservr unless given. SQL Server on Linux runs
	// as two processes of that name, a watchdog and the engine.
	Command string
}

func (p ProcFS) root() string {
	if p.Root == "" {
		return "/proc"
	}
	return p.Root
}

func (p ProcFS) command() string {
	if p.Command == "" {
		return "sqlservr"
	}
	return p.Command
}

// engineProcess is a process of the engine with its parent; started is in clock ticks since the machine's boot
// (proc_pid_stat(5), ppid and starttime).
type engineProcess struct {
	pid, parent int
	started     uint64
}

// before compares by age, the eldest first.
func (p engineProcess) before(o engineProcess) int {
	return cmp.Or(cmp.Compare(p.started, o.started), cmp.Compare(p.pid, o.pid))
}

// Run is the machine's boot and the start of the engine's process: the eldest of the name whose parent is none of them,
// the watchdog, has it as its eldest child, or is it. Others of the name are none of the engine: a person runs the
// program beside it to be told its version or to have a setting changed, and a process that it forks has its name for a
// moment. Neither must look as if the engine had ended.
func (p ProcFS) Run() (string, error) {
	processes, err := p.find()
	if err != nil || len(processes) == 0 {
		return "", err
	}
	engine := eldest(processes, func(p engineProcess) bool {
		return !slices.ContainsFunc(processes, func(o engineProcess) bool { return o.pid == p.parent })
	}, processes[0])
	engine = eldest(processes, func(p engineProcess) bool { return p.parent == engine.pid }, engine)
	boot, err := os.ReadFile(filepath.Join(p.root(), "sys/kernel/random/boot_id"))
	if err != nil {
		return "", fmt.Errorf("read the machine's boot id: %w", err)
	}
	id, _, _ := strings.Cut(strings.TrimSpace(string(boot)), "-")
	return fmt.Sprintf("%s-%d-%d", id, engine.started, engine.pid), nil
}

// eldest of those that are so, otherwise where none is.
func eldest(processes []engineProcess, so func(engineProcess) bool, otherwise engineProcess) engineProcess {
	those := slices.DeleteFunc(slices.Clone(processes), func(p engineProcess) bool { return !so(p) })
	if len(those) == 0 {
		return otherwise
	}
	return slices.MinFunc(those, engineProcess.before)
}

// Kill sends SIGKILL to every process of the engine.
func (p ProcFS) Kill() error {
	processes, err := p.find()
	if err != nil {
		return err
	}
	var errs []error
	for _, c := range processes {
		if err := kill(c.pid); err != nil && !errors.Is(err, syscall.ESRCH) {
			errs = append(errs, fmt.Errorf("kill process %d of the engine: %w", c.pid, err))
		}
	}
	return errors.Join(errs...)
}

func (p ProcFS) find() ([]engineProcess, error) {
	entries, err := os.ReadDir(p.root())
	if err != nil {
		return nil, fmt.Errorf("look for the engine's process: %w", err)
	}
	var found []engineProcess
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		stat, err := os.ReadFile(filepath.Join(p.root(), e.Name(), "stat"))
		switch {
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ESRCH), errors.Is(err, fs.ErrPermission):
			// It has ended since, or is one that is never seen here.
		case err != nil:
			// It may be the engine's: what cannot be read has not ended.
			return nil, fmt.Errorf("look whether process %d is the engine: %w", pid, err)
		default:
			if process, ok := readStat(pid, string(stat), p.command()); ok {
				found = append(found, process)
			}
		}
	}
	return found, nil
}

// readStat reads fields 4 and 22 of /proc/PID/stat if field 2 is the command and field 3 is not that of a zombie. The
// command stands in parentheses and may itself hold some.
func readStat(pid int, stat, command string) (engineProcess, bool) {
	open, end := strings.IndexByte(stat, '('), strings.LastIndexByte(stat, ')')
	if open < 0 || end < open || stat[open+1:end] != command {
		return engineProcess{}, false
	}
	fields := strings.Fields(stat[end+1:])
	if len(fields) < 20 || fields[0] == "Z" || fields[0] == "X" {
		return engineProcess{}, false
	}
	parent, noParent := strconv.Atoi(fields[1])
	started, noStart := strconv.ParseUint(fields[19], 10, 64)
	return engineProcess{pid: pid, parent: parent, started: started}, noParent == nil && noStart == nil
}
