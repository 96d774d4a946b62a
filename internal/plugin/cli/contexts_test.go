// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"testing"

	. "github.com/onsi/gomega"
)

// A context is a site's by its name alone where the name stands for itself in it.
func TestContextsThatBearASitesName(t *testing.T) {
	for site, want := range map[string][]string{
		"tukwila": {"tukwila", "tukwila-admin", "kind-geosql-tukwila", "admin@tukwila.example.com"},
		"quincy":  {"quincy"},
		"west":    {"us-west", "tukwila2-west"},
		"dublin":  nil,
		"qu":      nil,
	} {
		contexts := []string{"kind-geosql-tukwila", "tukwila", "admin@tukwila.example.com", "tukwila-admin", "quincy",
			"us-west", "tukwila2-west", "mytukwila", "dublins"}
		got := bearing(contexts, site)
		if len(want) == 0 {
			NewWithT(t).Expect(got).To(BeEmpty(), site)
			continue
		}
		NewWithT(t).Expect(got).To(Equal(want), site)
	}
}
