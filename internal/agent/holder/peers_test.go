// SPDX-License-Identifier: Apache-2.0

package holder

import (
	"net"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

// The agent of an earlier release answers at the former address alone: the one for elections refuses, or leaves
// whoever asks without an answer. Where both answer the first is asked.
func TestPeersAreAskedWhereTheyAnswer(t *testing.T) {
	g := NewWithT(t)
	taken := func() (string, chan string) {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		g.Expect(err).NotTo(HaveOccurred())
		t.Cleanup(func() { _ = listener.Close() })
		from := make(chan string, 10)
		go func() {
			for {
				conn, err := listener.Accept()
				if err != nil {
					return
				}
				from <- conn.RemoteAddr().String()
			}
		}()
		return listener.Addr().String(), from
	}
	elections, first := taken()
	everybody, second := taken()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	g.Expect(err).NotTo(HaveOccurred())
	refused := free.Addr().String()
	g.Expect(free.Close()).To(Succeed())
	// TEST-NET-1 (RFC 5737): nobody is there.
	const silent = "192.0.2.1:8444"
	for name, c := range map[string]struct {
		addresses []string
		at        chan string
	}{
		"both":    {[]string{elections, everybody}, first},
		"refused": {[]string{refused, everybody}, second},
		"silent":  {[]string{silent, everybody}, second},
		"alone":   {[]string{elections}, first},
	} {
		began := time.Now()
		conn, err := dialFirst(t.Context(), "tcp", c.addresses)
		g.Expect(err).NotTo(HaveOccurred(), name)
		g.Expect(time.Since(began)).To(BeNumerically("<", dialTimeout), name)
		g.Eventually(c.at, time.Minute).Should(Receive(Equal(conn.LocalAddr().String())), name)
		g.Expect(conn.Close()).To(Succeed())
	}
	_, err = dialFirst(t.Context(), "tcp", []string{refused, refused})
	g.Expect(err).To(MatchError(ContainSubstring("refused")))
	g.Consistently(second, 2*headStart).ShouldNot(Receive(), "no other connection is left")
}
