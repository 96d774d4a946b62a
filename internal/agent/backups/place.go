// SPDX-License-Identifier: Apache-2.0

package backups

import (
	"time"

	"geosql.dev/operator/internal/agent/orders"
)

// own are the sets of the order's target on the backup volume, with the order's stores that have them. What is noted
// beside a set are the stores' places: a BackupStore that was made anew under its name has what is at its place, not
// what its predecessor had.
func (r *runner) own() []Own {
	all := r.sets.all(r.order.Namespace, r.order.Target)
	for i := range all {
		in := map[string]time.Time{}
		for _, s := range r.order.Stores {
			if at, has := all[i].In[s.Place()]; has {
				in[s.Name] = at
			}
		}
		all[i].In = in
	}
	return all
}

// storeOf is one of the order's stores.
func (r *runner) storeOf(name string) orders.BackupStore {
	for _, s := range r.order.Stores {
		if s.Name == name {
			return s
		}
	}
	return orders.BackupStore{}
}

// place is that of one of the order's stores.
func (r *runner) place(store string) string {
	return r.storeOf(store).Place()
}
