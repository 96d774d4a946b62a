// SPDX-License-Identifier: Apache-2.0

package backupstore

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"time"
)

// Observed is what the manager knows of a store.
type Observed struct {
	Now time.Time
	// Tried is the last attempt of this manager with what is declared now; nil when there was none.
	Tried *Attempt
}

// Attempt is one attempt to write, read back and remove an object.
type Attempt struct {
	At  time.Time
	Err error
}

// observe recalls what came of the last attempt: what is declared otherwise by now was not tried.
func (r *Reconciler) observe(_ context.Context, d Desired) (Observed, error) {
	o := Observed{Now: r.now()}
	r.mu.Lock()
	defer r.mu.Unlock()
	if t, ok := r.tried[d.Store.UID]; ok && t.of == fingerprint(d) {
		o.Tried = &t.Attempt
	}
	return o, nil
}

// fingerprint tells what was tried from what is to be.
func fingerprint(d Desired) [sha256.Size]byte {
	content, _ := json.Marshal(d.Bucket) // strings and numbers alone
	return sha256.Sum256(content)
}
