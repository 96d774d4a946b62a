// SPDX-License-Identifier: Apache-2.0

package mssql

import (
	"testing"

	. "github.com/onsi/gomega"
)

func TestPositionOf(t *testing.T) {
	g := NewWithT(t)
	g.Expect(PositionOf("34000000012300001")).To(Equal([]byte{0, 0, 0, 34, 0, 0, 0, 123, 0, 1}))
	g.Expect(PositionOf("4294967295429496729565535")).
		To(Equal([]byte{255, 255, 255, 255, 255, 255, 255, 255, 255, 255}))
	for _, other := range []string{"", "0x22", "-1", "34.5", "34000000012399999", "99999999999999999999999999"} {
		g.Expect(PositionOf(other)).To(BeNil(), other)
	}
}
