// SPDX-License-Identifier: Apache-2.0

package orders

// storePrefix precedes the name of a BackupStore in the Secret of the server that holds it.
const storePrefix = "store."

// StoreKey is the key of a store's order.
func StoreKey(store string) string { return storePrefix + store }

// Store tells the sidecar of a server that it keeps a BackupStore on its backup volume, for the sidecars of all servers
// of its namespace.
type Store struct {
	// Name of the BackupStore.
	Name string `json:"name"`
	// Quota is how many bytes it takes at most; 0 sets no bound beside what the volume's own backups need.
	Quota int64 `json:"quota,omitempty"`
}

// Encode makes the value of the key.
func (s Store) Encode() ([]byte, error) { return encode("a store", s) }

// Stores reads all Stores of a Secret. What cannot be read is left out and said in the errors.
func Stores(data map[string][]byte) ([]Store, []error) { return decode[Store](data, storePrefix) }
