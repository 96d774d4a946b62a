// SPDX-License-Identifier: Apache-2.0

package orders_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/transfer"
)

func TestTheBoundsOfStagingInASecret(t *testing.T) {
	g := NewWithT(t)
	bounds := transfer.Staging{Quota: 2 << 30, High: 90, Low: 60}
	value, err := orders.EncodeStaging(bounds)
	g.Expect(err).NotTo(HaveOccurred())
	data := map[string][]byte{orders.StagingKey: value}
	g.Expect(orders.Staging(data)).To(Equal(bounds))
	for _, errs := range [][]error{second(orders.Mirrors(data)), second(orders.Readers(data)),
		second(orders.Backups(data)), second(orders.DecodeAll(data))} {
		g.Expect(errs).To(BeEmpty(), "it is no order of another kind")
	}
	g.Expect(orders.EncodeStaging(transfer.Staging{})).To(BeNil())
	g.Expect(orders.Staging(nil)).To(Equal(transfer.Staging{}))
	_, err = orders.Staging(map[string][]byte{orders.StagingKey: []byte("{")})
	g.Expect(err).To(MatchError(ContainSubstring("key staging")))
}

func second[A, B any](_ A, b B) B { return b }
