// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// engineName is the engine's program, by which its processes are found.
const engineName = "sqlservr"

// Frozen tells of the engine's processes.
type Frozen struct {
	// Processes of the engine, and Stopped ones among them.
	Processes []int `json:"processes"`
	Stopped   []int `json:"stopped"`
}

// State looks at the engine's processes. They are seen from a container that shares the pod's processes.
func State(proc string) (Frozen, error) {
	f := Frozen{Processes: []int{}, Stopped: []int{}}
	entries, err := os.ReadDir(proc)
	if err != nil {
		return f, fmt.Errorf("list the processes: %w", err)
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		command, err := os.ReadFile(filepath.Join(proc, e.Name(), "cmdline"))
		if err != nil {
			continue // it has ended meanwhile
		}
		program, _, _ := strings.Cut(string(command), "\x00")
		if filepath.Base(program) != engineName {
			continue
		}
		f.Processes = append(f.Processes, pid)
		// proc_pid_stat(5): the state follows the program's name in parentheses.
		stat, err := os.ReadFile(filepath.Join(proc, e.Name(), "stat"))
		if err != nil {
			continue
		}
		if _, rest, ok := strings.Cut(string(stat), ") "); ok && strings.HasPrefix(rest, "T") {
			f.Stopped = append(f.Stopped, pid)
		}
	}
	return f, nil
}

// Freeze stops the engine's processes and leaves a process of its own behind that lets them go on after the time,
// whatever becomes of the caller and of the operator. It returns when the processes are stopped.
func Freeze(ctx context.Context, proc string, lasts time.Duration) (Frozen, error) {
	f, err := State(proc)
	if err != nil {
		return f, err
	}
	if len(f.Processes) == 0 {
		return f, errors.New("there is no process of the engine")
	}
	self, err := os.Executable()
	if err != nil {
		return f, fmt.Errorf("find this program: %w", err)
	}
	// The thaw is on its way before anything is stopped.
	arguments := []string{"drill", "thaw", "--after", lasts.String()}
	for _, pid := range f.Processes {
		arguments = append(arguments, "--process", strconv.Itoa(pid))
	}
	thaw := exec.Command(self, arguments...)
	thaw.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := thaw.Start(); err != nil {
		return f, fmt.Errorf("start the process that ends the freeze: %w", err)
	}
	for _, pid := range f.Processes {
		if err := unix.Kill(pid, unix.SIGSTOP); err != nil {
			return f, fmt.Errorf("stop process %d: %w", pid, err)
		}
	}
	for {
		if f, err = State(proc); err != nil || len(f.Stopped) == len(f.Processes) {
			return f, err
		}
		select {
		case <-ctx.Done():
			return f, fmt.Errorf("%d of the engine's %d processes were told to stop and run: %w",
				len(f.Processes)-len(f.Stopped), len(f.Processes), ctx.Err())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// Thaw lets processes go on after the time. One that has ended is none of its business: its number may be another's by
// then, to whom SIGCONT does nothing unless it was stopped, too.
func Thaw(ctx context.Context, after time.Duration, processes []int) error {
	select {
	case <-ctx.Done():
	case <-time.After(after):
	}
	var errs []error
	for _, pid := range processes {
		if err := unix.Kill(pid, unix.SIGCONT); err != nil && !errors.Is(err, unix.ESRCH) {
			errs = append(errs, fmt.Errorf("let process %d go on: %w", pid, err))
		}
	}
	return errors.Join(errs...)
}
