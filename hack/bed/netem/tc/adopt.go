// SPDX-License-Identifier: Apache-2.0

package tc

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// CgroupsVariable names the environment variable with the number of a process
// whose control groups a started emulator joins, 1 in a container that sees
// the machine's processes. A container's end is the end of all in its groups;
// disciplines of the kernel outlive the container that made them, and so do
// those of an emulator that has left it. It still ends with its device, that
// is, with the pod.
const CgroupsVariable = "NETEM_CGROUPS_OF"

// adopt moves a process into the control groups of the one CgroupsVariable
// names, or leaves it where it is if that is not set.
func adopt(pid int) error {
	of := os.Getenv(CgroupsVariable)
	if of == "" {
		return nil
	}
	result := make(chan error)
	go func() {
		// The thread is never unlocked: nothing else may run in the other
		// process's view of the files.
		runtime.LockOSThread()
		result <- joinGroups(pid, filepath.Join("/proc", of))
	}()
	if err := <-result; err != nil {
		return fmt.Errorf("move the emulator out of the container (%s is %s): %w", CgroupsVariable, of, err)
	}
	return nil
}

func joinGroups(pid int, process string) error {
	if err := unix.Unshare(unix.CLONE_FS); err != nil {
		return fmt.Errorf("unshare the working directory: %w", err)
	}
	// Both before either: the paths are those of this mount namespace.
	var files []*os.File
	for _, name := range []string{"ns/cgroup", "ns/mnt"} {
		file, err := os.Open(filepath.Join(process, name))
		if err != nil {
			return fmt.Errorf("open namespace: %w", err)
		}
		defer file.Close()
		files = append(files, file)
	}
	for i, kind := range []int{unix.CLONE_NEWCGROUP, unix.CLONE_NEWNS} {
		if err := unix.Setns(int(files[i].Fd()), kind); err != nil {
			return fmt.Errorf("enter %s: %w", files[i].Name(), err)
		}
	}
	groups, err := os.ReadFile(filepath.Join(process, "cgroup"))
	if err != nil {
		return fmt.Errorf("read control groups: %w", err)
	}
	var errs []error
	for _, folder := range groupFolders(string(groups)) {
		if _, err := os.Stat(folder); errors.Is(err, os.ErrNotExist) {
			continue // a hierarchy that is not mounted
		}
		errs = append(errs, os.WriteFile(filepath.Join(folder, "cgroup.procs"), []byte(strconv.Itoa(pid)), 0))
	}
	return errors.Join(errs...)
}

// groupRoot is where control groups are mounted.
const groupRoot = "/sys/fs/cgroup"

// groupFolders reads /proc/PID/cgroup (cgroups(7)): lines of a number, the
// hierarchy's controllers and the group's path. The hierarchy of version 2,
// without controllers, is mounted at the root or, besides those of version 1,
// below "unified".
func groupFolders(text string) []string {
	var folders []string
	for line := range strings.Lines(text) {
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(fields) != 3 {
			continue
		}
		controllers, path := strings.TrimPrefix(fields[1], "name="), fields[2]
		switch {
		case controllers != "":
			folders = append(folders, filepath.Join(groupRoot, controllers, path))
		default:
			if _, err := os.Stat(filepath.Join(groupRoot, "cgroup.controllers")); err == nil {
				folders = append(folders, filepath.Join(groupRoot, path))
			} else {
				folders = append(folders, filepath.Join(groupRoot, "unified", path))
			}
		}
	}
	return folders
}
