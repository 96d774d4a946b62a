// SPDX-License-Identifier: Apache-2.0

//go:build integration

package apiserver

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
)

// watch is a shell program that waits until its input ends and then kills what runs in the folder $SERVERS, which it
// removes. The folder's name is in the arguments of the servers: process numbers could be others' by then.
const watch = `
: "${SERVERS:?}"
cat >/dev/null
for file in $(printf '=%s/' "$SERVERS" | grep -slFf - /proc/[0-9]*/cmdline); do
  process=${file#/proc/}
  kill -KILL "${process%/cmdline}"
done
rm -rf "$SERVERS" || { sleep 1 && rm -rf "$SERVERS"; }
`

// guard is a folder whose servers end with this process. Nobody closes alive, the end of the watcher's pipe: a file
// that nothing refers to would be closed.
type guard struct {
	folder string
	alive  *os.File
}

// guarded is a folder for the servers of this process. They are in process groups of their own and would run on when
// it ends before it has stopped them: when a test panics, takes longer than -timeout, or is interrupted. So another
// process watches a pipe that ends with this one. It has nothing else of this one's: `go test` waits for whoever has
// its output, and an interrupt at a terminal is sent to a whole group.
var guarded = sync.OnceValues(func() (guard, error) {
	folder, err := os.MkdirTemp("", "geosql-apiservers-")
	if err != nil {
		return guard{}, fmt.Errorf("make a folder for API servers: %w", err)
	}
	input, untilTheEnd, err := os.Pipe()
	if err != nil {
		return guard{}, fmt.Errorf("make a pipe: %w", err)
	}
	defer func() { _ = input.Close() }()
	cmd := exec.Command("/bin/sh", "-c", watch)
	cmd.Dir, cmd.Stdin, cmd.Env = "/", input, append(os.Environ(), "SERVERS="+folder)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return guard{}, fmt.Errorf("start a shell that watches API servers: %w", err)
	}
	return guard{folder, untilTheEnd}, nil
})

// servers counts those that were started.
var servers atomic.Int64

// place is a folder for the next server.
func place() (string, error) {
	g, err := guarded()
	if err != nil {
		return "", err
	}
	folder := filepath.Join(g.folder, strconv.FormatInt(servers.Add(1), 10))
	if err := os.Mkdir(folder, 0o700); err != nil {
		return "", fmt.Errorf("make a folder for an API server: %w", err)
	}
	return folder, nil
}
