// SPDX-License-Identifier: Apache-2.0

//go:build integration

// Package interrupted_test ends the manager's process with SIGKILL around every statement and every write to an API
// server that brings a group, a distributor, a publication and a subscription about, and shows that the end state is
// that of a manager that nobody disturbed. The manager is a process of its own: this test binary, started again.
// Engines, sidecars and the API server outlive it, as they do in a cluster.
package interrupted_test

import (
	"testing"

	"geosql.dev/operator/test/support/stage"
)

func TestMain(m *testing.M) { stage.Main(m, watch) }
