// SPDX-License-Identifier: Apache-2.0

package subscription

import (
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/transfer"
)

func TestBoundsOfTransfers(t *testing.T) {
	for name, c := range map[string]struct {
		declared *v1alpha1.SiteTransfers
		told     transfer.Settings
	}{
		"none":  {nil, transfer.Settings{}},
		"empty": {&v1alpha1.SiteTransfers{}, transfer.Settings{}},
		"all": {&v1alpha1.SiteTransfers{Workers: 2, MaxRate: "200Mbit", Compression: v1alpha1.CompressNever},
			transfer.Settings{Workers: 2, MaxRate: 25_000_000, Compression: transfer.Never}},
		"in Gbit":    {&v1alpha1.SiteTransfers{MaxRate: "1.5Gbit"}, transfer.Settings{MaxRate: 187_500_000}},
		"unreadable": {&v1alpha1.SiteTransfers{MaxRate: "fast"}, transfer.Settings{}},
	} {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(settingsOf(c.declared)).To(Equal(c.told))
		})
	}
}

// Each end is told the bounds of its own site.
func TestOrdersHaveTheBoundsOfTheirSites(t *testing.T) {
	g := NewWithT(t)
	w := newWorld(declared())
	w.d.Receives = transfer.Settings{MaxRate: 1000}
	w.d.Sends = transfer.Settings{Workers: 1}
	g.Expect(mirrorOrder(w.d, w.o).Transfers).To(Equal(w.d.Receives))
	g.Expect(readerOrder(w.d, w.o).Transfers).To(Equal(w.d.Sends))
}
