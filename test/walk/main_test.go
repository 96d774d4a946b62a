// SPDX-License-Identifier: Apache-2.0

//go:build integration

// Package walk_test walks what is declared through random edits, hand-made changes in the engines, and restarts, and
// shows after each that what is Ready is so: rows arrive, nothing is done over and over, and where the walk has ended
// is what the last manifest makes from nothing.
package walk_test

import (
	"fmt"
	"os"
	"sync"
	"testing"

	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/tsql"
	"geosql.dev/operator/test/support/stage"
)

func TestMain(m *testing.M) { stage.Main(m, watch) }

// watch writes each statement that a manager executes into a file, a line each.
func watch(file string) (stage.Watch, error) {
	ledger, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return stage.Watch{}, fmt.Errorf("open the ledger: %w", err)
	}
	var mu sync.Mutex
	return stage.Watch{Executing: func(t mssql.Target, s tsql.Statement) func(error) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Fprintf(ledger, "%s %s: %q\n", t.Server, t.Database, s.Redacted())
		return func(error) {}
	}}, nil
}
