// SPDX-License-Identifier: Apache-2.0

package orders_test

import (
	"encoding/json"
	"maps"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/agent/orders"
)

func names() orders.Names {
	return orders.Names{
		Sites: []orders.NamedSite{{Name: "quincy", Links: map[string]time.Duration{"tukwila": time.Millisecond}}},
		Servers: []orders.NamedServer{
			{Name: "quisec", Site: "quincy"}, {Name: "tukpub", Site: "tukwila"},
		},
		Groups: []orders.NamedGroup{{Name: "content", Listener: "content", Port: 1433, Voters: []string{"quincy"}}},
	}
}

// What a site was told is read in the form of this release and of the one before, in either direction of an upgrade.
func TestNamesAreReadInBothForms(t *testing.T) {
	g := NewWithT(t)
	keys, err := names().Keys()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(keys).To(HaveLen(4))
	data, err := orders.NamesData(keys)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(orders.DecodeNames(data)).To(Equal(names()))
	var former orders.Names
	g.Expect(json.Unmarshal([]byte(data[orders.NamesKey]), &former)).To(Succeed())
	g.Expect(former).To(Equal(names()), "a site's process of the release before reads this key alone")
	only := map[string]string{orders.NamesKey: data[orders.NamesKey]}
	g.Expect(orders.DecodeNames(only)).To(Equal(names()), "a manager of the release before writes this key alone")
	g.Expect(orders.ReadKeys(only)).To(Equal(keys))
	g.Expect(orders.DecodeNames(nil)).To(Equal(orders.Names{}))

	bad := maps.Clone(data)
	bad[orders.ServerKey("tukpub")] = "{"
	read, err := orders.DecodeNames(bad)
	g.Expect(err).To(MatchError(ContainSubstring("server.tukpub")))
	g.Expect(read.Servers).To(HaveLen(1), "the rest counts")
	_, err = orders.DecodeNames(map[string]string{orders.NamesKey: "{"})
	g.Expect(err).To(MatchError(ContainSubstring(orders.NamesKey)))
}
