// SPDX-License-Identifier: Apache-2.0

package probe_test

import (
	"net"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/drill/probe"
)

// A connection that is refused proves nothing: neither that a way is open nor that it is closed.
func TestRefusedConnections(t *testing.T) {
	g := NewWithT(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	g.Expect(err).NotTo(HaveOccurred())
	address := listener.Addr().String()
	ask := func() probe.Result {
		return probe.Run(t.Context(), probe.Options{To: []string{address}, Count: 3, Timeout: 30 * time.Second})[0]
	}
	g.Expect(ask()).To(And(HaveField("Attempts", 3), HaveField("Failures", 0)))
	g.Expect(listener.Close()).To(Succeed())
	g.Expect(ask()).To(And(HaveField("Attempts", 0), HaveField("Failures", 0), HaveField("Reason", ContainSubstring("refused"))))
}
