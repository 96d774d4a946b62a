// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"geosql.dev/operator/internal/workload/history"
)

// engineName is the engine's program, by which its processes are found.
const engineName = "sqlservr"

// Frozen tells of the engine's processes.
type Frozen struct {
	// Processes of the engine, and Stopped ones among them.
	Processes []int `json:"processes"`
	Stopped   []int `json:"stopped"`
	// Before is how long ago the freeze of the same mark was done, in nanoseconds; nil unless it was done before.
	Before *time.Duration `json:"before,omitempty"`
}

// Once keeps a freeze from being done twice: whoever asks for it may not have learnt that it was done.
type Once struct {
	// Mark names the freeze; empty: it is done each time.
	Mark string
	// Keep is how long after its beginning the mark is there, by a process beside the engine's.
	Keep time.Duration
}

// Flags of the process that ends a freeze, by which its mark is found.
const (
	flagMark  = "mark"
	flagBegan = "began"
)

// age is how long ago the freeze of a mark was begun; false when there is no such mark.
func (o Once) age(proc string) (time.Duration, bool) {
	entries, err := os.ReadDir(proc)
	if err != nil || o.Mark == "" {
		return 0, false
	}
	for _, e := range entries {
		command, err := os.ReadFile(filepath.Join(proc, e.Name(), "cmdline"))
		if err != nil {
			continue
		}
		arguments := strings.Split(string(command), "\x00")
		if !slices.Contains(arguments, "--"+flagMark+"="+o.Mark) {
			continue
		}
		for _, a := range arguments {
			if text, found := strings.CutPrefix(a, "--"+flagBegan+"="); found {
				if began, err := strconv.ParseInt(text, 10, 64); err == nil {
					return time.Duration(history.Now().Monotonic - began), true
				}
			}
		}
	}
	return 0, false
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
// whatever becomes of the caller and of the operator. It returns when the processes are stopped. One whose mark is
// there was done, and is not done again, whatever has come of it.
func Freeze(ctx context.Context, proc string, lasts time.Duration, once Once) (Frozen, error) {
	f, err := State(proc)
	if err != nil {
		return f, err
	}
	if age, done := once.age(proc); done {
		f.Before = &age
		return f, nil
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
	if once.Mark != "" {
		arguments = append(arguments, "--"+flagMark+"="+once.Mark, "--keep", once.Keep.String(),
			fmt.Sprintf("--%s=%d", flagBegan, history.Now().Monotonic))
	}
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
			// What was stopped goes on, and no mark says that it was done.
			errs := []error{fmt.Errorf("stop process %d: %w", pid, err), Thaw(ctx, 0, f.Processes), thaw.Process.Kill()}
			return f, errors.Join(errs...)
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
