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
)

func main() {
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	if err := command().ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		cancel()
		os.Exit(1)
	}
}
