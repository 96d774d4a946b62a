// SPDX-License-Identifier: Apache-2.0

package link

import (
	"encoding/binary"
	"testing"

	. "github.com/onsi/gomega"
	"pgregory.net/rapid"
)

// superFrame builds a frame of Ethernet, IPv4 and TCP with options bytes of
// options, as the kernel hands it over: the header length is only a hint.
func superFrame(payload, segment, options int, gsoType byte) Frame {
	const ip = 20
	header := ethernetHeader + ip + 20 + options
	f := make(Frame, VirtioHeader+header+payload)
	f[offsetGSOType] = gsoType
	if gsoType != gsoNone {
		f[offsetFlags] = needsChecksum
	}
	binary.NativeEndian.PutUint16(f[offsetHeaderLen:], 9999)
	binary.NativeEndian.PutUint16(f[offsetGSOSize:], uint16(segment))
	binary.NativeEndian.PutUint16(f[offsetCsumStart:], ethernetHeader+ip)
	f[VirtioHeader+ethernetHeader+ip+12] = byte((20+options)/4) << 4
	return f
}

// Types of linux/virtio_net.h.
const (
	gsoTCP4 = 1
	gsoTCP6 = 4
)

func TestWireLengthAndPackets(t *testing.T) {
	for _, c := range []struct {
		name          string
		frame         Frame
		wire, packets int
	}{
		{"plain", superFrame(1448, 0, 12, gsoNone), 1514, 1},
		{"one segment", superFrame(1448, 1448, 12, gsoTCP4), 1514, 1},
		{"44 segments", superFrame(44*1448, 1448, 12, gsoTCP4), 44 * 1514, 44},
		{"a rest", superFrame(1448+1, 1448, 12, gsoTCP4), 1514 + 67, 2},
		{"congestion notification", superFrame(2*1448, 1448, 12, gsoTCP4|gsoECN), 2 * 1514, 2},
		{"IPv6's type", superFrame(2*1448, 1448, 12, gsoTCP6), 2 * 1514, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := NewWithT(t)
			g.Expect(c.frame.WireLength()).To(Equal(c.wire))
			g.Expect(c.frame.Packets()).To(Equal(c.packets))
		})
	}
}

func TestUDPSegmentsRepeatTheirHeader(t *testing.T) {
	g := NewWithT(t)
	const header = ethernetHeader + 20 + 8
	f := make(Frame, VirtioHeader+header+3000)
	f[offsetFlags], f[offsetGSOType] = needsChecksum, gsoUDP
	binary.NativeEndian.PutUint16(f[offsetGSOSize:], 1000)
	binary.NativeEndian.PutUint16(f[offsetCsumStart:], ethernetHeader+20)
	g.Expect(f.WireLength()).To(Equal(3 * (header + 1000)))
}

func TestTheHeaderHintIsTrimmed(t *testing.T) {
	g := NewWithT(t)
	f := superFrame(44*1448, 1448, 12, gsoTCP4)
	f.TrimHeaderHint()
	g.Expect(binary.NativeEndian.Uint16(f[offsetHeaderLen:])).To(BeEquivalentTo(66))
	plain := superFrame(100, 0, 12, gsoNone)
	plain.TrimHeaderHint()
	g.Expect(binary.NativeEndian.Uint16(plain[offsetHeaderLen:])).To(BeEquivalentTo(9999), "a plain frame is left alone")
}

// Whatever the kernel hands over is no reason to fall over.
func TestAnyBytesHaveALength(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := Frame(rapid.SliceOfN(rapid.Byte(), 0, 200).Draw(t, "frame"))
		if !f.Valid() {
			return
		}
		if wire := f.WireLength(); wire < len(f)-VirtioHeader {
			t.Fatalf("%d bytes on the wire of a frame of %d", wire, len(f))
		}
		if f.Packets() < 1 {
			t.Fatal("no packet")
		}
		f.TrimHeaderHint()
		f.Source()
		f.Payload()
	})
}
