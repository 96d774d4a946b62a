// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"geosql.dev/operator/internal/agent/durable"
)

const (
	// writeEvery is the time between two tries whether StateDir can be written.
	writeEvery = 10 * time.Second
	// writeWithin is how long one may take.
	writeWithin = 5 * time.Second
)

// StateStatus says whether promises can be kept: whether StateDir takes a file, and where it is.
type StateStatus struct {
	// OwnVolume tells that StateDir is on a volume of the sidecar's own, and not on the data volume.
	OwnVolume bool `json:"ownVolume"`
	// Writable tells that the last try has written its file in time; Message why not.
	Writable bool   `json:"writable"`
	Message  string `json:"message,omitempty"`
	// Tried is when the last try ended, or was found not to end.
	Tried time.Time `json:"tried"`
}

// writer tries to write in StateDir, again and again: a promise that cannot be kept is not given, and nobody would see
// that before it is asked for.
type writer struct {
	dir string
	own bool

	mu      sync.Mutex
	status  *StateStatus
	pending bool
}

func newWriter(o Options) *writer { return &writer{dir: o.StateDir, own: o.DataDir != ""} }

// current is what the last try met; nil before the first has ended.
func (w *writer) current() *StateStatus {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.status == nil {
		return nil
	}
	s := *w.status
	return &s
}

// run tries until ctx ends. told is called after each try.
func (w *writer) run(ctx context.Context, told func(StateStatus)) {
	ticker := time.NewTicker(writeEvery)
	defer ticker.Stop()
	for {
		told(w.once(ctx))
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// once writes a file. A volume that does not answer has one try that waits for it, and no second.
func (w *writer) once(ctx context.Context) StateStatus {
	w.mu.Lock()
	again := !w.pending
	w.pending = true
	w.mu.Unlock()
	ended := make(chan error, 1)
	if again {
		go func() {
			err := durable.Replace(filepath.Join(w.dir, "tried"), []byte(time.Now().UTC().Format(time.RFC3339Nano)+"\n"))
			w.mu.Lock()
			w.pending = false
			w.mu.Unlock()
			ended <- err
		}()
	}
	wait := time.NewTimer(writeWithin)
	defer wait.Stop()
	var err error
	select {
	case err = <-ended:
	case <-wait.C:
		err = fmt.Errorf("a write in %s has not ended within %s", w.dir, writeWithin)
	case <-ctx.Done():
		err = ctx.Err()
	}
	status := StateStatus{OwnVolume: w.own, Writable: err == nil, Tried: time.Now()}
	if err != nil {
		status.Message = err.Error()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.status = &status
	return status
}
