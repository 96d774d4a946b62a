// SPDX-License-Identifier: Apache-2.0

package link

import "fmt"

// Sizes of the buffers of one TCP connection in Linux, in bytes (networking/ip-sysctl of the kernel's documentation,
// tcp_rmem and tcp_wmem).
const (
	// KernelMost is the maximum of the smaller of the two, tcp_wmem, on any machine that an engine runs on: what fits into
	// it needs nothing from anybody.
	KernelMost = 4 << 20
	// LeastBuffer is the least maximum that is set: the kernel's own of tcp_rmem for years. Clients, and links that nobody
	// declares, have the same buffers.
	LeastBuffer = 6 << 20
	// LaterReceive is the kernel's own maximum of tcp_rmem from Linux 6.18 on, at the latest.
	LaterReceive = 32 << 20
	// MostBuffer is the largest that is set. It fills 1 Gbit/s up to a round trip of 268 ms, and each connection may take
	// it from the memory of its container; what is wider is filled by several connections.
	MostBuffer = 64 << 20

	// LeastWindow and MostWindow bound a receive window that is declared, in bytes: what TCP has without window scaling,
	// and what MostBuffer holds.
	LeastWindow = 64 << 10
	MostWindow  = MostBuffer / share

	// share of a buffer is one of so many parts that are data on their way. A receiver offers half of its buffer as the
	// window and keeps the other for what packets take beside their data (tcp_adv_win_scale 1; from 6.6 on by what it
	// measures, beginning lower). A sender makes room for two windows of congestion (tcp_sndbuf_expand).
	share = 2

	mebibyte = 1 << 20

	// What a connection begins with, as the kernel has it.
	leastOfAny    = 4096
	receiveBegins = 131072
	sendBegins    = 16384
)

// Buffer is the maximum of the buffers of a connection that fills a link with the given bandwidth-delay product:
// twice that, in whole MiB, between LeastBuffer and MostBuffer. It is 0 where the kernel's own are enough.
func Buffer(product int64) int64 {
	// A product is 1 TiB at most, and where somebody hands over more, it is still more than MostBuffer.
	wanted := share * min(product, mostProduct)
	if wanted <= KernelMost {
		return 0
	}
	return min(max((wanted+mebibyte-1)/mebibyte*mebibyte, LeastBuffer), MostBuffer)
}

// WindowBuffer is the maximum of the receive buffer whose window is as declared; a window out of its bounds counts as
// the nearest within.
func WindowBuffer(window int64) int64 {
	return share * min(max(window, LeastWindow), MostWindow)
}

// ReceiveMemory is tcp_rmem with a given maximum: least, beginning and most of a connection's receive buffer.
func ReceiveMemory(most int64) string { return triple(min(receiveBegins, most), most) }

// SendMemory is tcp_wmem with a given maximum.
func SendMemory(most int64) string { return triple(min(sendBegins, most), most) }

// triple is written with single spaces; the kernel shows it with tabs.
func triple(begins, most int64) string { return fmt.Sprintf("%d %d %d", leastOfAny, begins, most) }

// Arithmetic is how Buffer comes to its result for a link, such as "2 x 1Gbit x 150ms / 8 = 37500000 bytes, in whole
// MiB 36Mi".
func (l Link) Arithmetic() string {
	product := l.Product()
	text := fmt.Sprintf("%d x %s x %s / 8 = %d bytes", share, l.Bandwidth, l.RoundTrip, share*product)
	switch buffer := Buffer(product); {
	case buffer == 0:
		return text + fmt.Sprintf(", which the kernel's own %dMi hold", KernelMost/mebibyte)
	case buffer == MostBuffer && share*product > MostBuffer:
		return text + fmt.Sprintf(", at most %dMi: several connections fill the link", MostBuffer/mebibyte)
	case buffer == LeastBuffer && share*product <= LeastBuffer-mebibyte:
		return text + fmt.Sprintf(", at least %dMi", LeastBuffer/mebibyte)
	default:
		return text + fmt.Sprintf(", in whole MiB %dMi", buffer/mebibyte)
	}
}
