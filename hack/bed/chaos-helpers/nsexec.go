// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"
)

// namespaceFlags are nsexec's flags for the namespaces to enter (Chaos Mesh,
// pkg/bpm/bpm.go, nsArgMap).
var namespaceFlags = map[string]int{
	"-m": unix.CLONE_NEWNS,
	"-i": unix.CLONE_NEWIPC,
	"-n": unix.CLONE_NEWNET,
	"-p": unix.CLONE_NEWPID,
}

// namespace is one to enter: its kind (CLONE_NEW...) and its file, such as
// /proc/PID/ns/net.
type namespace struct {
	kind int
	path string
}

// parseNsexec reads "[-l] [-FLAG PATH]... -- COMMAND [ARGUMENT]...".
func parseNsexec(arguments []string) ([]namespace, []string, error) {
	var namespaces []namespace
	for len(arguments) > 0 {
		word := arguments[0]
		if word == "--" {
			arguments = arguments[1:]
			break
		}
		kind, known := namespaceFlags[word]
		switch {
		case word == "-l":
			return nil, nil, fmt.Errorf("%w: -l (a command from outside the mount namespace) is not supported", errUsage)
		case !known && word[0] == '-':
			return nil, nil, fmt.Errorf("%w: unknown flag %s", errUsage, word)
		case !known:
			return namespaces, arguments, nil
		case len(arguments) < 2:
			return nil, nil, fmt.Errorf("%w: %s needs the path of a namespace", errUsage, word)
		}
		namespaces = append(namespaces, namespace{kind: kind, path: arguments[1]})
		arguments = arguments[2:]
	}
	if len(arguments) == 0 {
		return nil, nil, fmt.Errorf("%w: no command after the namespaces", errUsage)
	}
	return namespaces, arguments, nil
}

// enterAndRun runs a command in other namespaces. Without a process namespace
// the command takes this process's place; with one it is a child, because
// nobody changes his own, and gets the signals that end this process. It
// returns the child's exit code.
func enterAndRun(arguments []string) (int, error) {
	namespaces, command, err := parseNsexec(arguments)
	if err != nil {
		return 0, err
	}
	// Namespaces belong to a thread. It is never given back: nothing else may
	// run there.
	runtime.LockOSThread()
	if err := enter(namespaces); err != nil {
		return 0, err
	}
	// Looked up where the command will run.
	path, err := exec.LookPath(command[0])
	if err != nil {
		return 0, fmt.Errorf("find command: %w", err)
	}
	if slices.ContainsFunc(namespaces, func(n namespace) bool { return n.kind == unix.CLONE_NEWPID }) {
		return runChild(path, command)
	}
	return 0, fmt.Errorf("run %s: %w", path, syscall.Exec(path, command, os.Environ()))
}

// enter opens all before it enters any: the paths may not be there afterwards.
func enter(namespaces []namespace) error {
	files := make([]*os.File, 0, len(namespaces))
	for _, n := range namespaces {
		file, err := os.Open(n.path)
		if err != nil {
			return fmt.Errorf("open namespace: %w", err)
		}
		defer file.Close()
		files = append(files, file)
	}
	for i, n := range namespaces {
		if n.kind == unix.CLONE_NEWNS {
			// A thread that shares root and working directory with others may
			// not change its mount namespace: setns(2).
			if err := unix.Unshare(unix.CLONE_FS); err != nil {
				return fmt.Errorf("unshare the working directory: %w", err)
			}
		}
		if err := unix.Setns(int(files[i].Fd()), n.kind); err != nil {
			return fmt.Errorf("enter %s: %w", n.path, err)
		}
	}
	return nil
}

func runChild(path string, command []string) (int, error) {
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
	child := exec.Command(path, command[1:]...)
	child.Args[0] = command[0]
	child.Stdin, child.Stdout, child.Stderr = os.Stdin, os.Stdout, os.Stderr
	// No Pdeathsig: Go takes a parent of another process namespace for dead.
	if err := child.Start(); err != nil {
		return 0, fmt.Errorf("run %s: %w", path, err)
	}
	go func() {
		for s := range signals {
			_ = child.Process.Signal(s)
		}
	}()
	err := child.Wait()
	var exited *exec.ExitError
	if err != nil && !errors.As(err, &exited) {
		return 0, fmt.Errorf("run %s: %w", path, err)
	}
	state := child.ProcessState
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal()), nil
	}
	return state.ExitCode(), nil
}
