// SPDX-License-Identifier: Apache-2.0

package orders

import (
	"encoding/json"
	"fmt"

	"geosql.dev/operator/internal/transfer"
)

// StagingKey is the key of the bounds of staging in a server's Secret. They are the server's, and no mirror's: orders
// of mirrors may be old, or none. A sidecar of an earlier release passes it over.
const StagingKey = "staging"

// EncodeStaging makes the value of StagingKey; nil of no bound.
func EncodeStaging(bounds transfer.Staging) ([]byte, error) {
	if bounds == (transfer.Staging{}) {
		return nil, nil
	}
	data, err := json.Marshal(bounds)
	if err != nil {
		return nil, fmt.Errorf("encode the orders of staging: %w", err)
	}
	return data, nil
}

// Staging are those in a Secret; none where it has none.
func Staging(data map[string][]byte) (bounds transfer.Staging, err error) {
	value, ok := data[StagingKey]
	if !ok {
		return bounds, nil
	}
	if err := json.Unmarshal(value, &bounds); err != nil {
		return transfer.Staging{}, fmt.Errorf("key %s: %w", StagingKey, err)
	}
	return bounds, nil
}
