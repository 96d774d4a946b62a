// SPDX-License-Identifier: Apache-2.0

//go:build integration

// Package interrupted_test ends the manager's process with SIGKILL around every statement and every write to an API
// server that brings a group, a distributor, a publication and a subscription about, and shows that the end state is
// that of a manager that nobody disturbed. The manager is a process of its own: this test binary, started again. Engines,
// sidecars and the API server outlive it, as they do in a cluster.
package interrupted_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// managerVariable names the file that tells the test binary to be a manager.
const managerVariable = "GEOSQL_INTERRUPTED_MANAGER"

func TestMain(m *testing.M) {
	if file := os.Getenv(managerVariable); file != "" {
		if err := runManager(file); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	log.SetLogger(logr.Discard())
	os.Exit(m.Run())
}
