// SPDX-License-Identifier: Apache-2.0

// Chaos-helpers stands in, by the name it is called with, for programs that
// Chaos Mesh's daemon runs and that its image carries ready-made: nsexec,
// stress-ng and memStress.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
)

// exitUsage is the exit code for a command line that cannot be understood.
const exitUsage = 2

// errUsage marks errors of the command line.
var errUsage = errors.New("bad usage")

func main() {
	name, arguments := filepath.Base(os.Args[0]), os.Args[1:]
	var err error
	switch name {
	case "nsexec":
		var status int
		if status, err = enterAndRun(arguments); err == nil {
			os.Exit(status)
		}
	case "stress-ng":
		err = untilTold(arguments, stressCPU)
	case "memStress":
		err = untilTold(arguments, stressMemory)
	default:
		err = fmt.Errorf("%w: call this program by one of the names nsexec, stress-ng and memStress", errUsage)
	}
	if err == nil {
		return
	}
	fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
	if errors.Is(err, errUsage) {
		os.Exit(exitUsage)
	}
	os.Exit(1)
}

// untilTold runs a stressor until it ends or somebody asks it to.
func untilTold(arguments []string, run func(context.Context, []string) error) error {
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	return run(ctx, arguments)
}
