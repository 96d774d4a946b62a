// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// bufferSizes are the capacities the pool hands out: one packet of a usual
// MTU, a small and a large offloaded super-frame (64 KiB of payload, headers
// and the virtio header).
var bufferSizes = [...]int{2 << 10, 16 << 10, MaxFrame}

// MaxFrame is the largest frame in bytes that the emulator carries.
const MaxFrame = 68 << 10

// slab is how much memory the pool takes from the kernel at a time.
const slab = 4 << 20

// MaxPool bounds a pool in bytes: 1 Gbit/s for four seconds.
const MaxPool = 512 << 20

// Pool recycles frame buffers. Its memory lies outside of Go's heap: a queue
// that fills must not start a garbage collection, which would hold the frames
// up. The zero Pool is ready.
type Pool struct {
	free  [len(bufferSizes)][][]byte
	slabs [][]byte
	// lent counts the buffers that are out.
	lent int
}

// Get returns a buffer of the given length, at most MaxFrame, with undefined
// content. It gives nil when MaxPool is used up or the kernel has no memory.
func (p *Pool) Get(length int) []byte {
	for i, size := range bufferSizes {
		if length > size {
			continue
		}
		if len(p.free[i]) == 0 && !p.grow(i) {
			return nil
		}
		last := len(p.free[i]) - 1
		buffer := p.free[i][last]
		p.free[i] = p.free[i][:last]
		p.lent++
		return buffer[:length]
	}
	return nil
}

func (p *Pool) grow(i int) bool {
	if p.Size()+slab > MaxPool {
		return false
	}
	memory, err := unix.Mmap(-1, 0, slab, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return false
	}
	p.slabs = append(p.slabs, memory)
	size := bufferSizes[i]
	for start := 0; start+size <= slab; start += size {
		p.free[i] = append(p.free[i], memory[start:start+size:start+size])
	}
	return true
}

// Put takes a buffer back that came from Get, with whatever length. The caller
// forgets it.
func (p *Pool) Put(buffer []byte) {
	for i, size := range bufferSizes {
		if cap(buffer) == size {
			p.free[i] = append(p.free[i], buffer)
			p.lent--
			return
		}
	}
	panic(fmt.Sprintf("a buffer of %d bytes does not come from the pool", cap(buffer)))
}

// Size returns the bytes the pool has taken from the kernel.
func (p *Pool) Size() int { return len(p.slabs) * slab }

// Release gives all memory back to the kernel if no buffer is out, and tells
// whether it did.
func (p *Pool) Release() bool {
	if p.lent != 0 {
		return false
	}
	clear(p.free[:])
	for _, memory := range p.slabs {
		// Only an address that was never mapped could be refused.
		_ = unix.Munmap(memory)
	}
	p.slabs = nil
	return true
}
