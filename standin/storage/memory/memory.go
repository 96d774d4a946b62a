// SPDX-License-Identifier: Apache-2.0

// Package memory is where SQLite's memory comes from in a process that imports it (https://www.sqlite.org/malloc.html,
// section 3.1.3, and https://www.sqlite.org/c3ref/mem_methods.html). The translated C library, which it came from
// before, gives a region of 64 KB back to the operating system as soon as nothing in it is in use, and gets a new one
// for the next row. And it rounds sizes up to powers of two, almost twice what a page of 8 KB with its header needs.
//
// Here pieces of up to 64 KB are kept in lists by size: the process keeps what it once needed. Longer ones come from
// the operating system and go back to it.
package memory

import (
	"errors"
	"math/bits"
	"sync"
	"unsafe"

	"modernc.org/libc"
	sqlite3 "modernc.org/sqlite/lib"
)

// Sizes of pieces, in bytes, with their headers.
const (
	// header is in front of each piece and has its size without the header. SQLite needs addresses that are multiples of
	// 8.
	header = 8
	// Up to small, sizes are the multiples of 16; from there to longest, eight from one power of two to the next.
	smallLog   = 7
	small      = 1 << smallLog
	longestLog = 16
	longest    = 1 << longestLog
	listCount  = small/16 + (longestLog-smallLog)*8
	// span is what lists take from the operating system at once. What is not used of it yet needs no memory.
	span = 4 * longest
)

// pieces are those of one size: the free ones, each with the address of the next, and what is not used yet of a span.
type pieces struct {
	free, next, end uintptr
}

var (
	mu    sync.Mutex
	lists [listCount]pieces
)

// at makes an address of memory that no garbage collector moves a pointer.
func at[T any](address uintptr) *T { return *(**T)(unsafe.Pointer(&address)) }

// address makes a function callable by SQLite, as the translator of its source does it (modernc.org/sqlite/lib,
// __ccgo_fp): f must be declared at package level.
func address[F any](f F) uintptr { return *(*uintptr)(unsafe.Pointer(&struct{ f F }{f})) }

// init has SQLite use this package. SQLite takes it only before it is first used.
func init() {
	tls := libc.NewTLS()
	defer tls.Close()
	methods := sqlite3.Tsqlite3_mem_methods{
		FxMalloc: address(allocate), FxFree: address(release), FxRealloc: address(resize), FxSize: address(sizeOf),
		FxRoundup: address(roundUp), FxInit: address(begin), FxShutdown: address(end),
	}
	args := libc.NewVaList(uintptr(unsafe.Pointer(&methods)))
	defer libc.Xfree(tls, args)
	if rc := sqlite3.Xsqlite3_config(tls, sqlite3.SQLITE_CONFIG_MALLOC, args); rc != sqlite3.SQLITE_OK {
		panic(errors.New("SQLite was used before its memory was set up"))
	}
}

// fit is the list of pieces that n bytes fit in, header included, and their size.
func fit(n uintptr) (list int, size uintptr) {
	if n <= small {
		list = int((n - 1) / 16)
		return list, uintptr(list+1) * 16
	}
	log := bits.Len64(uint64(n-1)) - 1 // 2^log < n <= 2^(log+1)
	eighth := uintptr(1) << (log - 3)
	steps := (n - 1 - 1<<log) / eighth
	return small/16 + (log-smallLog)*8 + int(steps), 1<<log + (steps+1)*eighth
}

// Allocate is malloc: n bytes, 0 when there is no memory. Release frees them.
func Allocate(tls *libc.TLS, n int32) uintptr { return allocate(tls, n) }

// Release is the address of what frees a piece of memory, for SQLite to call.
func Release() uintptr { return address(release) }

// allocate is malloc.
func allocate(tls *libc.TLS, n int32) uintptr {
	if n <= 0 {
		return 0
	}
	size := (uintptr(n) + header + 7) &^ 7
	var p uintptr
	if size > longest {
		p = libc.Xmalloc(tls, libc.Tsize_t(size))
	} else {
		var list int
		list, size = fit(size)
		p = lists[list].take(tls, size)
	}
	if p == 0 {
		return 0
	}
	*at[uintptr](p) = size - header
	return p + header
}

func (l *pieces) take(tls *libc.TLS, size uintptr) uintptr {
	mu.Lock()
	defer mu.Unlock()
	if p := l.free; p != 0 {
		l.free = *at[uintptr](p)
		return p
	}
	if l.end-l.next < size {
		p := libc.Xmalloc(tls, span)
		if p == 0 {
			return 0
		}
		l.next, l.end = p, p+span
	}
	p := l.next
	l.next += size
	return p
}

// release is free.
func release(tls *libc.TLS, p uintptr) {
	if p == 0 {
		return
	}
	p -= header
	size := *at[uintptr](p) + header
	if size > longest {
		libc.Xfree(tls, p)
		return
	}
	list, _ := fit(size)
	mu.Lock()
	*at[uintptr](p) = lists[list].free
	lists[list].free = p
	mu.Unlock()
}

// resize is realloc; SQLite gives it neither a null pointer nor a size of 0.
func resize(tls *libc.TLS, p uintptr, n int32) uintptr {
	old := *at[uintptr](p - header)
	if n > 0 && uintptr(n) <= old {
		return p
	}
	q := allocate(tls, n)
	if q == 0 {
		return 0
	}
	copy(unsafe.Slice(at[byte](q), n), unsafe.Slice(at[byte](p), old))
	release(tls, p)
	return q
}

func sizeOf(_ *libc.TLS, p uintptr) int32 {
	if p == 0 {
		return 0
	}
	return int32(*at[uintptr](p - header))
}

// roundUp is the size that a piece of n bytes has.
func roundUp(_ *libc.TLS, n int32) int32 {
	size := (uintptr(n) + header + 7) &^ 7
	if size <= longest {
		_, size = fit(size)
	}
	return int32(size - header)
}

func begin(*libc.TLS, uintptr) int32 { return sqlite3.SQLITE_OK }

func end(*libc.TLS, uintptr) {}
