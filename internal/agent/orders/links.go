// SPDX-License-Identifier: Apache-2.0

package orders

import (
	"encoding/json"
	"fmt"
)

// LinksKey is the key of the Links in a server's Secret. A sidecar of an earlier release passes it over.
const LinksKey = "links"

// Link tells the sidecar of a server to which one of another site it times round trips.
type Link struct {
	Site   string `json:"site"`
	Server string `json:"server"`
}

// EncodeLinks makes the value of LinksKey; nil of none.
func EncodeLinks(links []Link) ([]byte, error) {
	if len(links) == 0 {
		return nil, nil
	}
	data, err := json.Marshal(links)
	if err != nil {
		return nil, fmt.Errorf("encode the orders of links: %w", err)
	}
	return data, nil
}

// Links are those in a Secret.
func Links(data map[string][]byte) ([]Link, error) {
	value, ok := data[LinksKey]
	if !ok {
		return nil, nil
	}
	var links []Link
	if err := json.Unmarshal(value, &links); err != nil {
		return nil, fmt.Errorf("key %s: %w", LinksKey, err)
	}
	return links, nil
}
