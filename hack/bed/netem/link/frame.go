// SPDX-License-Identifier: Apache-2.0

package link

import "encoding/binary"

// VirtioHeader is the length of struct virtio_net_hdr that leads every frame
// on a TAP with IFF_VNET_HDR and on a packet socket with PACKET_VNET_HDR
// (linux/virtio_net.h). Its fields are in the machine's byte order there.
const VirtioHeader = 10

// Offsets within struct virtio_net_hdr and values of its gso_type.
const (
	offsetFlags     = 0
	offsetGSOType   = 1
	offsetHeaderLen = 2
	offsetGSOSize   = 4
	offsetCsumStart = 6

	needsChecksum = 1
	gsoNone       = 0
	gsoUDP        = 5 // VIRTIO_NET_HDR_GSO_UDP_L4
	gsoECN        = 0x80
)

const ethernetHeader = 14

// Frame is one Ethernet frame behind its virtio header.
type Frame []byte

// Valid tells whether the frame is long enough for both headers.
func (f Frame) Valid() bool { return len(f) >= VirtioHeader+ethernetHeader }

// Source returns the frame's source hardware address.
func (f Frame) Source() []byte { return f[VirtioHeader+6 : VirtioHeader+12] }

// Payload returns what follows the Ethernet header.
func (f Frame) Payload() []byte { return f[VirtioHeader+ethernetHeader:] }

// headerLength returns the length of the headers that each segment of a
// super-frame repeats, 0 for a plain frame. It reads them from the packet:
// hdr_len is only the length of the buffer's linear part on frames that were
// forwarded.
func (f Frame) headerLength() int {
	kind := f[offsetGSOType] &^ gsoECN
	if kind == gsoNone || f[offsetFlags]&needsChecksum == 0 {
		return 0
	}
	transport := VirtioHeader + int(binary.NativeEndian.Uint16(f[offsetCsumStart:]))
	if kind == gsoUDP {
		return transport + 8 - VirtioHeader
	}
	if transport+13 > len(f) {
		return 0
	}
	return transport + int(f[transport+12]>>4)*4 - VirtioHeader
}

// WireLength returns the bytes the frame occupies once it is segmented, with
// its Ethernet headers and without preamble and checksum, as
// qdisc_pkt_len_init of the kernel counts them.
func (f Frame) WireLength() int {
	length := len(f) - VirtioHeader
	header := f.headerLength()
	segment := int(binary.NativeEndian.Uint16(f[offsetGSOSize:]))
	if header == 0 || segment == 0 || length <= header {
		return length
	}
	segments := (length - header + segment - 1) / segment
	return length + (segments-1)*header
}

// Packets returns how many packets on the wire the frame stands for.
func (f Frame) Packets() int {
	header := f.headerLength()
	segment := int(binary.NativeEndian.Uint16(f[offsetGSOSize:]))
	payload := len(f) - VirtioHeader - header
	if header == 0 || segment == 0 || payload <= 0 {
		return 1
	}
	return (payload + segment - 1) / segment
}

// TrimHeaderHint sets hdr_len to the true length of the headers: the packet
// socket allocates that much in one piece.
func (f Frame) TrimHeaderHint() {
	if header := f.headerLength(); header > 0 {
		binary.NativeEndian.PutUint16(f[offsetHeaderLen:], uint16(header))
	}
}
