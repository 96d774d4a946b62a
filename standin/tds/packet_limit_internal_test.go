// SPDX-License-Identifier: Apache-2.0

package tds

import (
	"testing"

	. "github.com/onsi/gomega"
)

// Under MARS a packet has the 16 bytes of SMP's header before it.
func TestPacketsOfMARSLeaveRoomForItsHeader(t *testing.T) {
	g := NewWithT(t)
	g.Expect((&conn{encrypted: true, mars: true}).largestPacket()).To(Equal(16368))
	g.Expect((&conn{mars: true}).largestPacket()).To(Equal(32767))
}
