// SPDX-License-Identifier: Apache-2.0

// Netem emulates links in user space, for kernels without sch_netem, and is
// the program behind hack/bed/wan.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"geosql.dev/operator/hack/bed/netem/wan"
)

func main() {
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
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
