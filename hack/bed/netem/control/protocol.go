// SPDX-License-Identifier: Apache-2.0

// Package control is how the netem command talks to the emulator of a device:
// one JSON request and one JSON response per connection, over an abstract Unix
// socket. Such sockets belong to a network namespace (network_namespaces(7)),
// so every namespace has its own set of emulators.
package control

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"time"

	"geosql.dev/operator/hack/bed/netem/emulator"
)

// Operation is what a request asks for.
type Operation string

const (
	// Apply makes Classes all that Owner has on the device; classes of others
	// stay. Memo is kept with them.
	Apply Operation = "apply"
	// Set adds or changes each of Classes and leaves others alone.
	Set Operation = "set"
	// Clear removes each class in Names, or all of every owner if there are
	// none.
	Clear Operation = "clear"
	// Show only reports.
	Show Operation = "show"
	// Stop ends the emulator; what it has queued is lost.
	Stop Operation = "stop"
)

// Request is what a client sends.
type Request struct {
	Operation Operation        `json:"operation"`
	Classes   []emulator.Class `json:"classes,omitempty"`
	Names     []string         `json:"names,omitempty"`
	Owner     string           `json:"owner,omitempty"`
	Memo      json.RawMessage  `json:"memo,omitempty"`
}

// Response answers a Request. Status is that after the operation.
type Response struct {
	// Error says why the operation failed; empty if it did not.
	Error  string `json:"error,omitempty"`
	Status Status `json:"status"`
}

// Status is the emulator's, with the process that runs it.
type Status struct {
	// PID is the process's number in its own process namespace.
	PID int `json:"pid"`
	// Build identifies the program: see Build.
	Build string `json:"build"`
	// Memos are what owners asked to be kept with their classes.
	Memos map[string]json.RawMessage `json:"memos,omitempty"`
	emulator.Status
}

// exchangeTime bounds one request with its response. Making a TAP takes some
// milliseconds; the rest is for a machine that is busy.
const exchangeTime = 20 * time.Second

// address is the abstract socket of a device's emulator.
func address(device string) string { return "@geosql-netem/" + device }

// Build identifies the running program by its content, so that an emulator of
// an older build can be told from one of this.
func Build() (string, error) {
	self, err := os.Open("/proc/self/exe")
	if err != nil {
		return "", fmt.Errorf("read own program: %w", err)
	}
	defer self.Close()
	hash := sha256.New()
	if _, err := io.Copy(hash, self); err != nil {
		return "", fmt.Errorf("read own program: %w", err)
	}
	return hex.EncodeToString(hash.Sum(nil))[:16], nil
}
