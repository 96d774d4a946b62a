// SPDX-License-Identifier: Apache-2.0

package orders_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/agent/orders"
)

// A mirror whose files a person brings lies under a key that a sidecar of an earlier release passes over, and counts
// under no other: it would fetch them.
func TestMirrorsThatFetchNothing(t *testing.T) {
	g := NewWithT(t)
	fetched := orders.Mirror{Subscription: "dublin", Folder: "articles"}
	manual := orders.Mirror{Subscription: "cork", Folder: "articles", Manual: "disk"}
	data := map[string][]byte{}
	for _, m := range []orders.Mirror{fetched, manual} {
		text, err := m.Encode()
		g.Expect(err).NotTo(HaveOccurred())
		data[m.Key()] = text
	}
	g.Expect(data).To(And(HaveLen(2), HaveKey(orders.MirrorKey("dublin")), Not(HaveKey(orders.MirrorKey("cork")))))
	all, errs := orders.Mirrors(data)
	g.Expect(errs).To(BeEmpty())
	g.Expect(all).To(ConsistOf(fetched, manual))
	mirror, _ := orders.Of(data, "cork")
	g.Expect(mirror).To(HaveValue(Equal(manual)))
	mirror, _ = orders.Of(data, "dublin")
	g.Expect(mirror).To(HaveValue(Equal(fetched)))

	all, errs = orders.Mirrors(map[string][]byte{orders.MirrorKey("cork"): data[manual.Key()]})
	g.Expect(all).To(BeEmpty())
	g.Expect(errs).To(ConsistOf(MatchError(ContainSubstring("is not under key manual.cork"))))
}
