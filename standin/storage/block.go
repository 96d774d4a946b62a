// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"time"
)

// A log block is what is written, sent and checked as one piece: a header and some records of one transaction.
//
//	0  magic "BLK1"        16 own position: VLF, offset      32 byte position in the whole log
//	4  length, header too  24 position of the block before   40 time, Unix nanoseconds
//	8  CRC-32C of 12..end
//	12 0
const blockHeader = 48

const blockMagic = 0x424c4b31

// maxBlock bounds what is read as one block.
const maxBlock = 16 << 20

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Block is one log block as it is stored and sent.
type Block struct {
	// LSN is its position, slot 0; Prev that of the block before it (zero for the first).
	LSN, Prev LSN
	// Position is where it begins, in bytes of log ever written.
	Position uint64
	Time     time.Time
	// Raw is the block with its header.
	Raw []byte
}

// End is the position right after the block.
func (b *Block) End() LSN { return MakeLSN(b.LSN.VLF(), b.LSN.Block()+uint32(len(b.Raw)), 0) }

func (b *Block) records() ([]record, error) { return decodeRecords(b.Raw[blockHeader:]) }

// sealBlock fills in the header of raw, whose body is already there.
func sealBlock(raw []byte, at, prev LSN, position uint64, t time.Time) {
	binary.BigEndian.PutUint32(raw[0:], blockMagic)
	binary.BigEndian.PutUint32(raw[4:], uint32(len(raw)))
	binary.BigEndian.PutUint32(raw[12:], 0)
	copy(raw[16:24], at[:8])
	copy(raw[24:32], prev[:8])
	binary.BigEndian.PutUint64(raw[32:], position)
	binary.BigEndian.PutUint64(raw[40:], uint64(t.UnixNano()))
	binary.BigEndian.PutUint32(raw[8:], crc32.Checksum(raw[12:], castagnoli))
}

// blockLength reads the length from the first 8 bytes of a block; 0 when they are none.
func blockLength(head []byte) int {
	if len(head) < 8 || binary.BigEndian.Uint32(head) != blockMagic {
		return 0
	}
	n := binary.BigEndian.Uint32(head[4:])
	if n < blockHeader || n > maxBlock {
		return 0
	}
	return int(n)
}

// ParseBlock checks raw and reads its header. It keeps raw.
func ParseBlock(raw []byte) (*Block, error) {
	if n := blockLength(raw); n == 0 || n != len(raw) {
		return nil, fmt.Errorf("%d bytes are not a log block", len(raw))
	}
	if crc32.Checksum(raw[12:], castagnoli) != binary.BigEndian.Uint32(raw[8:]) {
		return nil, fmt.Errorf("log block has a wrong checksum")
	}
	b := &Block{Raw: raw, Position: binary.BigEndian.Uint64(raw[32:])}
	copy(b.LSN[:8], raw[16:24])
	copy(b.Prev[:8], raw[24:32])
	b.Time = time.Unix(0, int64(binary.BigEndian.Uint64(raw[40:]))).UTC()
	return b, nil
}
