// SPDX-License-Identifier: Apache-2.0

package backupstore

import (
	"fmt"
	"strings"
	"time"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/reconcile/conditions"
)

const (
	// tryEvery is the time between two attempts at a store that answered, tryAgain at one that did not.
	tryEvery = 10 * time.Minute
	tryAgain = 30 * time.Second
)

// Try writes an object to the store, reads it back and removes it.
type Try struct{ Store string }

// Describe names the store.
func (s Try) Describe() string {
	return "write an object to " + s.Store + ", read it back and remove it"
}

// plan tries a store that was not tried for a while. It is pure.
func plan(d Desired, o Observed) (p reconcile.Plan) {
	if d.Missing != "" {
		p.Outcome = conditions.InProgress(v1alpha1.ReasonReferenceMissing, d.Missing+" in namespace "+d.Store.Namespace)
		return p
	}
	if d.keeper() != "" {
		return planVolume(d, o)
	}
	where := d.Store.Spec.S3.Endpoint + "/" + d.Store.Spec.S3.Bucket
	if o.Tried == nil || o.Now.Sub(o.Tried.At) >= again(o.Tried.Err) {
		p.Add(Try{Store: where})
	}
	switch {
	case o.Tried == nil:
		p.Outcome = conditions.InProgress(v1alpha1.ReasonStoreTesting, where+" is being tried")
	case o.Tried.Err != nil:
		p.Outcome = conditions.Unknown(v1alpha1.ReasonStoreUnreachable, fmt.Sprintf("%v; it is tried again every %s. "+
			"The servers keep their backups meanwhile, and send them once they reach it", o.Tried.Err, tryAgain))
	default:
		p.Outcome = conditions.Ready(v1alpha1.ReasonStoreReady, "an object was written, read back and removed")
	}
	return p
}

func again(err error) time.Duration {
	if err != nil {
		return tryAgain
	}
	return tryEvery
}

// planDelete lets go of a store that no policy names: what it has stays.
func planDelete(d Desired, o Observed) (p reconcile.Plan) {
	if len(d.Policies) > 0 {
		p.Outcome = conditions.Stalled(v1alpha1.ReasonStoreInUse, fmt.Sprintf("BackupPolicies name it: %s. Take it out of "+
			"their spec.stores, or delete them", strings.Join(d.Policies, ", ")))
		return p
	}
	if d.keeper() != "" {
		return leave(d, o)
	}
	p.Done = true
	p.Outcome = conditions.InProgress(v1alpha1.ReasonDeleting, "what the store has stays")
	return p
}

// Preview are the steps for a store that was not tried yet: what `kubectl geosql plan` prints. It does nothing.
func Preview(s *v1alpha1.BackupStore) []reconcile.Step {
	d := Desired{Store: s}
	if d.keeper() != "" {
		return []reconcile.Step{Tell{Server: d.keeper(), Order: []byte{}}}
	}
	return plan(d, Observed{}).Steps
}
