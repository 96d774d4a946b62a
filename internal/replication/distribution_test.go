// SPDX-License-Identifier: Apache-2.0

package replication

import (
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
)

// The publisher of a publication is the server of which alone the distributor knows one of the name.
func TestPublisherOf(t *testing.T) {
	of := func(name, publisher string) mssql.KnownPublication {
		return mssql.KnownPublication{Name: name, Publisher: publisher}
	}
	for name, c := range map[string]struct {
		known []mssql.KnownPublication
		is    []v1alpha1.ServerName
	}{
		"nothing is known": {nil, nil},
		"of another name":  {[]mssql.KnownPublication{of("orders", "tukpub-0")}, nil},
		"of one server": {[]mssql.KnownPublication{of("orders", "quipub-0"), of("Articles", "TUKPUB-0"),
			of("articles", "tukpub-0")}, []v1alpha1.ServerName{"tukpub"}},
		"of several":      {[]mssql.KnownPublication{of("articles", "tukpub-0"), of("articles", "quipub-0")}, nil},
		"somebody else's": {[]mssql.KnownPublication{of("articles", "tukpub-0"), of("articles", "LEGACY")}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(publisherOf(c.known, "articles")).To(Equal(c.is))
		})
	}
}
