// SPDX-License-Identifier: Apache-2.0

//go:build integration

// Package initial_test measures how a far subscriber begins: how long each way of a first copy takes, beside what the
// link and the machine allow, and what sidecars move between a hub and many spokes. `make bench-init` runs it in its
// long form and prints the report; a short form is a test, so that the benchmark cannot rot. docs/transfers.md says what
// is measured, and how.
package initial_test

import (
	"fmt"
	"os"
	"testing"

	"geosql.dev/operator/test/support/stage"
)

// TestMain runs the tests, unless the binary was started again to be a sidecar or a manager.
func TestMain(m *testing.M) {
	if file := os.Getenv(agentVariable); file != "" {
		if err := runAgent(file); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	stage.Main(m, func(struct{}) (stage.Watch, error) { return stage.Watch{}, nil })
}
