// SPDX-License-Identifier: Apache-2.0

package tc

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"

	"golang.org/x/sys/unix"
)

// ChoiceVariable names the environment variable that says who serves
// disciplines: "kernel" for the installed tc, "user-space" for the emulator,
// "auto" or nothing for the kernel where it has sch_netem. As with
// hack/bed/wan, the kernel's netem has never been tried.
const ChoiceVariable = "NETEM_TC"

const (
	choiceAuto      = "auto"
	choiceKernel    = "kernel"
	choiceUserSpace = "user-space"
)

// choiceFile keeps what "auto" found: a kernel does not change while a
// container lives, and each command line is a process of its own.
const choiceFile = "/run/netem-tc"

// kernelServes tells whether the installed tc is to serve disciplines.
func kernelServes(ctx context.Context) (bool, error) {
	switch choice := os.Getenv(ChoiceVariable); choice {
	case choiceKernel:
		return true, nil
	case choiceUserSpace:
		return false, nil
	case "", choiceAuto:
	default:
		return false, fmt.Errorf(
			"%s is %q: use %s, %s or %s",
			ChoiceVariable,
			choice,
			choiceAuto,
			choiceKernel,
			choiceUserSpace,
		)
	}
	if known, err := os.ReadFile(choiceFile); err == nil {
		return string(known) == choiceKernel, nil
	}
	choice := choiceUserSpace
	if kernelHasNetem(ctx) {
		choice = choiceKernel
	}
	// Whole or not at all: another command may read at the same time. Where it
	// cannot be kept it is found again.
	own := fmt.Sprintf("%s.%d", choiceFile, os.Getpid())
	if err := os.WriteFile(own, []byte(choice), 0o644); err == nil {
		_ = os.Rename(own, choiceFile)
	}
	return choice == choiceKernel, nil
}

// kernelHasNetem asks the kernel in a network namespace that exists for the
// question only.
func kernelHasNetem(ctx context.Context) bool {
	path := installedPath()
	if path == "" {
		return false
	}
	has := make(chan bool)
	go func() {
		// The thread is never unlocked, so it ends with this goroutine and
		// takes the namespace along.
		runtime.LockOSThread()
		if unix.Unshare(unix.CLONE_NEWNET) != nil {
			has <- false
			return
		}
		has <- exec.CommandContext(ctx, path, "qdisc", "add", "dev", "lo", "root", "netem", "delay", "1ms").Run() == nil
	}()
	return <-has
}
