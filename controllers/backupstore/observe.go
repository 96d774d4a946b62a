// SPDX-License-Identifier: Apache-2.0

package backupstore

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"time"

	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/agent/stores"
	"geosql.dev/operator/internal/reconcile"
)

// Observed is what the manager knows of a store.
type Observed struct {
	Now time.Time
	// Tried is the last attempt of this manager with what is declared now; nil when there was none, or it is on a server's
	// volume.
	Tried *Attempt
	// Told is what the server of a volume has for the store.
	Told reconcile.Reading[[]byte]
	// Says is what its sidecar says of it; nil when it says nothing.
	Says reconcile.Reading[*stores.Status]
}

// Attempt is one attempt to write, read back and remove an object.
type Attempt struct {
	At  time.Time
	Err error
}

// observe recalls what came of the last attempt: what is declared otherwise by now was not tried. Of a store on a
// server's volume the server is asked.
func (r *Reconciler) observe(ctx context.Context, d Desired) (Observed, error) {
	o := Observed{Now: r.now()}
	if d.keeper() != "" {
		r.ask(ctx, d, &o)
		return o, nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if t, ok := r.tried[d.Store.UID]; ok && t.of == fingerprint(d) {
		o.Tried = &t.Attempt
	}
	return o, nil
}

// ask asks the server of a volume.
func (r *Reconciler) ask(ctx context.Context, d Desired, o *Observed) {
	ctx, cancel := context.WithTimeout(ctx, serverTimeout)
	defer cancel()
	data, err := r.sidecars.Orders(ctx, d.Store.Namespace, d.keeper())
	o.Told = reconcile.Asked(data[orders.StoreKey(d.Store.Name)], err)
	if err != nil || d.Store.DeletionTimestamp != nil {
		return
	}
	var all []stores.Status
	err = r.sidecars.Part(ctx, d.Store.Namespace, d.keeper(), stores.PartName, &all)
	var says *stores.Status
	for i := range all {
		if all[i].Store == d.Store.Name {
			says = &all[i]
		}
	}
	o.Says = reconcile.Asked(says, err)
}

// fingerprint tells what was tried from what is to be.
func fingerprint(d Desired) [sha256.Size]byte {
	content, _ := json.Marshal(d.Bucket) // strings and numbers alone
	return sha256.Sum256(content)
}
