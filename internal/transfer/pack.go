// SPDX-License-Identifier: Apache-2.0

package transfer

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"sync"
)

// Pack keeps the chunks of files packed, in one file, so that each is packed once, whoever asks for it and however
// often. It is a convenience: what cannot be kept is packed again, and what is torn or flipped is not given out.
type Pack struct {
	// room tells whether so many bytes more may be written. It is asked before each record.
	room func(n int64) bool

	mu   sync.Mutex
	file *os.File
	// known is where the record of a chunk begins, by the first bytes of its checksum; the record has all of it.
	known map[uint64]int64
	// end is behind the last record, and full says that nothing more is written.
	end  int64
	full bool
	// users are those who have it open.
	users int
}

// A record is its mark, the chunk's checksum, the length of what follows and the CRC-32C of that, big-endian. One of
// length 0 is of a chunk that does not shrink.
const (
	packMark  = "gsp1"
	packHead  = len(packMark) + 32 + 4 + 4
	packCRCAt = packHead - 4
	packLenAt = packHead - 8
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// OpenPack opens the file of a pack below a folder, which is made where it is not there. What was torn off at its end
// is cut. No link is followed that leads out of the folder: others write there, too.
func OpenPack(folder *os.Root, name string, room func(n int64) bool) (*Pack, error) {
	if err := folder.MkdirAll(dirOf(name), 0o770); err != nil {
		return nil, fmt.Errorf("make a folder for packed chunks: %w", err)
	}
	file, err := folder.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o660)
	if err != nil {
		return nil, fmt.Errorf("open a file of packed chunks: %w", err)
	}
	p := &Pack{room: room, file: file, known: map[uint64]int64{}, users: 1}
	if err := p.scan(); err != nil {
		return nil, errors.Join(fmt.Errorf("read a file of packed chunks: %w", err), file.Close())
	}
	return p, nil
}

// scan finds the records, and cuts what is behind the last whole one.
func (p *Pack) scan() error {
	info, err := p.file.Stat()
	if err != nil {
		return err
	}
	for p.end+int64(packHead) <= info.Size() {
		sum, length, _, err := p.head(p.end)
		next := p.end + int64(packHead) + int64(length)
		if err != nil || next > info.Size() {
			break
		}
		p.known[key(sum)] = p.end
		p.end = next
	}
	return p.file.Truncate(p.end)
}

// key of a chunk.
func key(sum Sum) uint64 { return binary.BigEndian.Uint64(sum[:]) }

// errNoRecord says that no record begins where one was looked for.
var errNoRecord = errors.New("no record of a chunk is there")

// head reads that of a record.
func (p *Pack) head(at int64) (sum Sum, length, crc uint32, err error) {
	var head [packHead]byte
	if _, err := p.file.ReadAt(head[:], at); err != nil {
		return sum, 0, 0, err
	}
	length = binary.BigEndian.Uint32(head[packLenAt:])
	if string(head[:len(packMark)]) != packMark || length > maxChunk {
		return sum, 0, 0, errNoRecord
	}
	return Sum(head[len(packMark):packLenAt]), length, binary.BigEndian.Uint32(head[packCRCAt:]), nil
}

// get is a chunk as it is packed, in the buffer; empty of one that does not shrink. False says that it is not kept.
func (p *Pack) get(sum Sum, buffer []byte) ([]byte, bool) {
	p.mu.Lock()
	at, ok := p.known[key(sum)]
	p.mu.Unlock()
	if !ok {
		return nil, false
	}
	have, length, crc, err := p.head(at)
	if err != nil || have != sum || int(length) > len(buffer) {
		return nil, false
	}
	content := buffer[:length]
	if _, err := p.file.ReadAt(content, at+int64(packHead)); err != nil || crc32.Checksum(content, castagnoli) != crc {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.known[key(sum)] == at {
			delete(p.known, key(sum)) // the next one who asks has it packed anew
		}
		return nil, false
	}
	return content, true
}

// put keeps a chunk as it was packed, or, empty, that it does not shrink. Where there is no room nothing is kept.
func (p *Pack) put(sum Sum, packed []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, there := p.known[key(sum)]; there || p.full {
		return
	}
	length := int64(packHead + len(packed))
	if !p.room(length) {
		return
	}
	var head [packHead]byte
	copy(head[:], packMark)
	copy(head[len(packMark):], sum[:])
	binary.BigEndian.PutUint32(head[packLenAt:], uint32(len(packed))) //nolint:gosec // a chunk is shorter
	binary.BigEndian.PutUint32(head[packCRCAt:], crc32.Checksum(packed, castagnoli))
	_, err := p.file.WriteAt(packed, p.end+int64(packHead))
	if err == nil {
		_, err = p.file.WriteAt(head[:], p.end)
	}
	if err != nil {
		// What is there is given out; what comes is packed for each who asks.
		p.full = true
		return
	}
	p.known[key(sum)] = p.end
	p.end += length
}

// Use tells that one more has the pack open. False says that nobody had it any more, and that it is closed.
func (p *Pack) Use() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.users == 0 {
		return false
	}
	p.users++
	return true
}

// Leave ends what OpenPack or Use began. The last one closes the file.
func (p *Pack) Leave() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.users--; p.users == 0 {
		_ = p.file.Close()
	}
}

// sumOf reads a checksum in hexadecimal.
func sumOf(text string) (sum Sum, ok bool) {
	if len(text) != hex.EncodedLen(len(sum)) {
		return sum, false
	}
	_, err := hex.Decode(sum[:], []byte(text))
	return sum, err == nil
}
