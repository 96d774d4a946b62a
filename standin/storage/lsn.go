// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
)

// LSN is a log sequence number: virtual log file sequence (4 bytes), block (4 bytes), slot (2 bytes), big endian, so
// that byte order is log order. A block is the byte offset of the log block within its virtual log file. The zero LSN
// is before every record.
type LSN [10]byte

// MakeLSN composes an LSN of its parts.
func MakeLSN(vlf, block uint32, slot uint16) LSN {
	var l LSN
	binary.BigEndian.PutUint32(l[0:], vlf)
	binary.BigEndian.PutUint32(l[4:], block)
	binary.BigEndian.PutUint16(l[8:], slot)
	return l
}

// VLF is the sequence number of the virtual log file.
func (l LSN) VLF() uint32 { return binary.BigEndian.Uint32(l[0:]) }

// Block is the offset of the log block in its virtual log file.
func (l LSN) Block() uint32 { return binary.BigEndian.Uint32(l[4:]) }

// Slot is the record's number within its block, from 1; 0 stands for the block itself.
func (l LSN) Slot() uint16 { return binary.BigEndian.Uint16(l[8:]) }

// IsZero tells whether l is before every record.
func (l LSN) IsZero() bool { return l == LSN{} }

// Compare is -1, 0 or 1 as l is before, at or after other.
func (l LSN) Compare(other LSN) int { return bytes.Compare(l[:], other[:]) }

// Less tells whether l is before other.
func (l LSN) Less(other LSN) bool { return l.Compare(other) < 0 }

// String is the form of fn_dblog and the error log: "0000001f:000000a8:0001".
func (l LSN) String() string {
	return fmt.Sprintf("%08x:%08x:%04x", l.VLF(), l.Block(), l.Slot())
}

// Numeric is the form of backupset and the HADR views, numeric(25,0): the three parts as decimal digits, 10 for the
// block and 5 for the slot.
func (l LSN) Numeric() *big.Int {
	n := new(big.Int).SetUint64(uint64(l.VLF()))
	n.Mul(n, big.NewInt(1e10))
	n.Add(n, new(big.Int).SetUint64(uint64(l.Block())))
	n.Mul(n, big.NewInt(1e5))
	return n.Add(n, new(big.Int).SetUint64(uint64(l.Slot())))
}

// PaddedNumeric is the form in which the HADR views show block positions that are no record's LSN: the slot digits are
// padded with 00001 (sys.dm_hadr_database_replica_states: "padded with zeros").
func (l LSN) PaddedNumeric() *big.Int { return MakeLSN(l.VLF(), l.Block(), 1).Numeric() }

// ParseLSN reads the form of String.
func ParseLSN(s string) (LSN, error) {
	var vlf, block uint32
	var slot uint16
	if _, err := fmt.Sscanf(s, "%08x:%08x:%04x", &vlf, &block, &slot); err != nil {
		return LSN{}, fmt.Errorf("read %q as a log sequence number: %w", s, err)
	}
	return MakeLSN(vlf, block, slot), nil
}

// ParseNumericLSN is the inverse of Numeric.
func ParseNumericLSN(n *big.Int) (LSN, error) {
	rest, slot := new(big.Int).DivMod(n, big.NewInt(1e5), new(big.Int))
	vlf, block := rest.DivMod(rest, big.NewInt(1e10), new(big.Int))
	if n.Sign() < 0 || !vlf.IsUint64() || vlf.Uint64() > math.MaxUint32 || block.Uint64() > math.MaxUint32 ||
		slot.Uint64() > math.MaxUint16 {
		return LSN{}, fmt.Errorf("%s is not a log sequence number", n)
	}
	return MakeLSN(uint32(vlf.Uint64()), uint32(block.Uint64()), uint16(slot.Uint64())), nil
}
