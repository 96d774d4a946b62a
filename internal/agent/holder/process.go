// SPDX-License-Identifier: Apache-2.0

package holder

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// Process is the engine's process, as the sidecar sees it.
type Process interface {
	// Run identifies the present run of the engine: another value means that it was restarted. It is empty while no
	// engine runs.
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

// engineProcess is a process of the engine; started is in clock ticks since the machine's boot (proc_pid_stat(5), starttime).
type engineProcess struct {
	pid     int
	started uint64
}

// Run is the machine's boot and the start of the newest process of the engine.
func (p ProcFS) Run() (string, error) {
	processes, err := p.find()
	if err != nil || len(processes) == 0 {
		return "", err
	}
	newest := processes[0]
	for _, c := range processes[1:] {
		if c.started > newest.started || c.started == newest.started && c.pid > newest.pid {
			newest = c
		}
	}
	boot, err := os.ReadFile(filepath.Join(p.root(), "sys/kernel/random/boot_id"))
	if err != nil {
		return "", fmt.Errorf("read the machine's boot id: %w", err)
	}
	id, _, _ := strings.Cut(strings.TrimSpace(string(boot)), "-")
	return fmt.Sprintf("%s-%d-%d", id, newest.started, newest.pid), nil
}

// Kill sends SIGKILL to every process of the engine.
func (p ProcFS) Kill() error {
	processes, err := p.find()
	if err != nil {
		return err
	}
	var errs []error
	for _, c := range processes {
		if err := syscall.Kill(c.pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
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
		// A process may end between these reads; then it is not there.
		stat, err := os.ReadFile(filepath.Join(p.root(), e.Name(), "stat"))
		if err != nil {
			continue
		}
		if started, ok := startTime(string(stat), p.command()); ok {
			found = append(found, engineProcess{pid: pid, started: started})
		}
	}
	return found, nil
}

// startTime reads field 22 of /proc/PID/stat if field 2 is the command and field 3 is not that of a zombie. The command
// stands in parentheses and may itself hold some.
func startTime(stat, command string) (uint64, bool) {
	open, end := strings.IndexByte(stat, '('), strings.LastIndexByte(stat, ')')
	if open < 0 || end < open || stat[open+1:end] != command {
		return 0, false
	}
	fields := strings.Fields(stat[end+1:])
	if len(fields) < 20 || fields[0] == "Z" || fields[0] == "X" {
		return 0, false
	}
	started, err := strconv.ParseUint(fields[19], 10, 64)
	return started, err == nil
}
