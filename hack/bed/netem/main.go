// SPDX-License-Identifier: Apache-2.0

// Netem emulates links in user space, for kernels without sch_netem, and is
// the program behind hack/bed/wan. Called by the name of tc it takes tc's
// command line instead of its own.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"geosql.dev/operator/hack/bed/netem/tc"
	"geosql.dev/operator/hack/bed/netem/wan"
)

func main() {
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	if filepath.Base(os.Args[0]) == "tc" {
		status := tc.Main(ctx, os.Args[1:], os.Stdout, os.Stderr)
		cancel()
		os.Exit(status)
	}
	root := command()
	// One program, so that hack/bed/wan can copy itself to the nodes.
	if len(os.Args) > 1 && os.Args[1] == "wan" {
		root = wan.Command()
		root.SetArgs(os.Args[2:])
	}
	if err := root.ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		cancel()
		os.Exit(1)
	}
}
