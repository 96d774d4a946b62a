// SPDX-License-Identifier: Apache-2.0

package backups

import (
	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/backup/store"
)

// StoreOf is a bucket as orders have it, by the name of its BackupStore.
func StoreOf(name string, b store.Bucket) orders.BackupStore {
	return orders.BackupStore{Name: name, Endpoint: b.Endpoint, Bucket: b.Name, Prefix: b.Prefix, Region: b.Region,
		VirtualHosted: b.VirtualHosted, AccessKey: b.AccessKey, SecretKey: b.SecretKey, CA: b.CA, UploadRate: b.UploadRate}
}

// Open opens the bucket of an order; it sends nothing.
func Open(s orders.BackupStore) (*store.Store, error) {
	return store.Open(store.Bucket{Endpoint: s.Reached(), Name: s.Bucket, Prefix: s.Prefix, Region: s.Region,
		VirtualHosted: s.VirtualHosted, AccessKey: s.AccessKey, SecretKey: s.SecretKey, CA: s.CA, UploadRate: s.UploadRate})
}
