// SPDX-License-Identifier: Apache-2.0

// Package ports gives tests ports of the loopback that no other test has meanwhile.
package ports

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
)

// Free is one of the loopback's that nobody listens on, within LISTENER_PORT's range and below those that the system
// gives out (docs/t-sql/statements/create-endpoint-transact-sql.md). No other test of any process is given it until this
// one ends: who asked for it may listen later.
func Free(t testing.TB) int {
	t.Helper()
	port, release, err := Reserve()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(release)
	return port
}

// Reserve is Free for what outlives a test: nobody is given the port until release is called, or the process ends.
func Reserve() (port int, release func(), err error) {
	folder := filepath.Join(os.TempDir(), "geosql-test-ports")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return 0, nil, fmt.Errorf("make %s: %w", folder, err)
	}
	for range 1000 {
		port := 15000 + rand.IntN(17000)
		f, err := os.OpenFile(filepath.Join(folder, strconv.Itoa(port)), os.O_CREATE|os.O_RDWR, 0o644)
		if err != nil {
			return 0, nil, fmt.Errorf("lock port %d: %w", port, err)
		}
		if syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil {
			_ = f.Close()
			continue
		}
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			_ = f.Close()
			continue
		}
		_ = l.Close()
		return port, func() { _ = f.Close() }, nil
	}
	return 0, nil, errors.New("no port is free")
}

// Address is one of the loopback with a Free port.
func Address(t testing.TB) string {
	t.Helper()
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(Free(t)))
}
