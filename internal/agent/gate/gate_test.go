// SPDX-License-Identifier: Apache-2.0

package gate_test

import (
	"net"
	"testing"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/agent/gate"
)

type address string

func (a address) Network() string { return "tcp" }
func (a address) String() string  { return string(a) }

type at struct {
	net.Conn
	address
}

func (a at) RemoteAddr() net.Addr { return a.address }

// A host has all addresses of its /64, and none of IPv4 but its own.
func TestAddress(t *testing.T) {
	g := NewWithT(t)
	for remote, counted := range map[address]string{
		"10.1.2.3:40000":             "10.1.2.3",
		"[::ffff:10.1.2.3]:40000":    "10.1.2.3",
		"[fd00:1:2:3::4]:40000":      "fd00:1:2:3::/64",
		"[fd00:1:2:3:ffff::1]:50000": "fd00:1:2:3::/64",
		"[fe80::1%eth0]:40000":       "fe80::/64",
		"pipe":                       "pipe",
	} {
		g.Expect(gate.Address(at{address: remote})).To(Equal(counted))
	}
}
