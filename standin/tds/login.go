// SPDX-License-Identifier: Apache-2.0

package tds

import (
	"encoding/binary"
	"fmt"
)

// maxLogin is the documented limit of LOGIN7, 128 KB - 1 ([MS-TDS] 2.2.6.4).
const maxLogin = 128<<10 - 1

// featureUTF8 is the only feature extension that is acknowledged ([MS-TDS] 2.2.6.4, FeatureExt).
const (
	featureFedAuth    byte = 0x02
	featureUTF8       byte = 0x0A
	featureTerminator byte = 0xFF
)

// login is a parsed LOGIN7.
type login struct {
	version    version
	packetSize int
	host, user, password, app, library, language, database,
	attach, newPassword string
	readOnly   bool
	integrated bool
	// changes tells that newPassword is to be the login's password from now on (fChangePassword).
	changes  bool
	extended bool
	features map[byte][]byte
}

// Lengths of LOGIN7's fixed part: for TDS 7.2 and later, and before, when it had no new password.
const (
	loginFixed   = 94
	loginFixed71 = 86
)

func parseLogin(b []byte) (*login, error) {
	if len(b) < loginFixed71 {
		return nil, fmt.Errorf("LOGIN7 of %d bytes is shorter than its fixed part", len(b))
	}
	l := &login{version: version(binary.LittleEndian.Uint32(b[4:])), features: map[byte][]byte{}}
	fixed, early := loginFixed, !l.version.atLeast(version72)
	if early {
		fixed = loginFixed71
	}
	if n := binary.LittleEndian.Uint32(b); uint64(n) > uint64(len(b)) || uint64(n) < uint64(fixed) {
		return nil, fmt.Errorf("LOGIN7 claims a length of %d bytes and has %d", n, len(b))
	}
	l.packetSize = clampPacketSize(binary.LittleEndian.Uint32(b[8:]))
	option2, option3, typeFlags := b[25], b[27], b[26]
	l.integrated = option2&0x80 != 0
	l.changes = option3&0x01 != 0 && !early
	l.extended = option3&0x10 != 0 && !early
	l.readOnly = typeFlags&0x20 != 0
	fields := []struct {
		at  int
		out *string
		max int
	}{
		{36, &l.host, 128}, {40, &l.user, 128}, {44, &l.password, 128}, {48, &l.app, 128},
		{
			60,
			&l.library,
			128,
		}, {64, &l.language, 128}, {68, &l.database, 128}, {82, &l.attach, 260}, {86, &l.newPassword, 128},
	}
	if early {
		fields = fields[:len(fields)-1]
	}
	for _, f := range fields {
		raw, err := loginField(b, f.at, f.max, fixed)
		if err != nil {
			return nil, err
		}
		if f.out == &l.password || f.out == &l.newPassword {
			raw = revealPassword(raw)
		}
		*f.out = decodeUTF16(raw)
	}
	if l.extended {
		if err := l.parseFeatures(b); err != nil {
			return nil, err
		}
	}
	return l, nil
}

func loginField(b []byte, at, limit, fixed int) ([]byte, error) {
	offset, length := int(binary.LittleEndian.Uint16(b[at:])), int(binary.LittleEndian.Uint16(b[at+2:]))
	if length == 0 {
		return nil, nil
	}
	if length > limit || offset < fixed || offset+2*length > len(b) {
		return nil, fmt.Errorf("LOGIN7 field at %d points outside the message or is longer than %d characters", at, limit)
	}
	return b[offset : offset+2*length], nil
}

// revealPassword undoes the encoding of [MS-TDS] 2.2.6.4: halves of each byte swapped, then XOR with 0xA5.
func revealPassword(raw []byte) []byte {
	out := make([]byte, len(raw))
	for i, c := range raw {
		c ^= 0xA5
		out[i] = c<<4 | c>>4
	}
	return out
}

func (l *login) parseFeatures(b []byte) error {
	at, length := int(binary.LittleEndian.Uint16(b[56:])), int(binary.LittleEndian.Uint16(b[58:]))
	if length < 4 || at+4 > len(b) {
		return fmt.Errorf("LOGIN7 announces feature extensions and has none")
	}
	start := binary.LittleEndian.Uint32(b[at:])
	if uint64(start) >= uint64(len(b)) {
		return fmt.Errorf("LOGIN7 feature extensions point outside the message")
	}
	d := decoder{buf: b[start:]}
	for {
		id := d.u8()
		if d.err != nil {
			return fmt.Errorf("LOGIN7 feature extensions: %w", d.err)
		}
		if id == featureTerminator {
			return nil
		}
		n := d.u32()
		if uint64(n) > uint64(d.left()) {
			return fmt.Errorf("LOGIN7 feature extension %d claims %d bytes", id, n)
		}
		l.features[id] = d.bytes(int(n))
	}
}

// clampPacketSize brings a requested size into 512 to 32767; 0 means the default ([MS-TDS] 2.2.6.4, PacketSize).
func clampPacketSize(n uint32) int {
	switch {
	case n == 0:
		return defaultPacketSize
	case n < minPacketSize:
		return minPacketSize
	case n > maxPacketSize:
		return maxPacketSize
	}
	return int(n)
}
