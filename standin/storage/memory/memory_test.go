// SPDX-License-Identifier: Apache-2.0

package memory_test

import (
	"testing"
	"unsafe"

	. "github.com/onsi/gomega"
	"modernc.org/libc"
	sqlite3 "modernc.org/sqlite/lib"
	"pgregory.net/rapid"

	_ "geosql.dev/standin/storage/memory"
)

// piece is memory that SQLite gave, filled with a byte of its own.
type piece struct {
	address uintptr
	n       int
	fill    byte
}

func (p piece) bytes() []byte {
	return unsafe.Slice(*(**byte)(unsafe.Pointer(&p.address)), p.n)
}

func (p piece) write() {
	for i := range p.bytes() {
		p.bytes()[i] = p.fill
	}
}

func (p piece) changedFrom(n int) int {
	for i, b := range p.bytes()[:n] {
		if b != p.fill {
			return i
		}
	}
	return -1
}

// TestPiecesAreApart takes, resizes and gives back memory in any order, and looks whether each piece keeps what is in
// it.
func TestPiecesAreApart(t *testing.T) {
	tls := libc.NewTLS()
	defer tls.Close()
	size := rapid.OneOf(
		rapid.IntRange(1, 300),
		rapid.IntRange(8000, 9000),
		rapid.IntRange(65_000, 66_000),
		rapid.IntRange(1, 300_000),
	)
	rapid.Check(t, func(t *rapid.T) {
		g := NewWithT(t)
		var held []piece
		take := func(p uintptr, n int) piece {
			g.Expect(p).NotTo(BeZero())
			g.Expect(p%8).To(BeZero(), "SQLite needs addresses that are multiples of 8")
			has := int(sqlite3.Xsqlite3_msize(tls, p))
			g.Expect(has).To(BeNumerically(">=", n))
			g.Expect(has).To(BeNumerically("<=", n+n/8+24), "a piece is at most an eighth larger than asked for")
			// All that SQLite believes it has is used.
			made := piece{p, has, rapid.Byte().Draw(t, "fill")}
			made.write()
			return made
		}
		t.Repeat(map[string]func(*rapid.T){
			"take": func(t *rapid.T) {
				n := size.Draw(t, "size")
				held = append(held, take(sqlite3.Xsqlite3_malloc(tls, int32(n)), n))
			},
			"resize": func(t *rapid.T) {
				if len(held) == 0 {
					t.Skip("nothing is held")
				}
				i, n := rapid.IntRange(0, len(held)-1).Draw(t, "which"), size.Draw(t, "size")
				old := held[i]
				kept := piece{sqlite3.Xsqlite3_realloc(tls, old.address, int32(n)), min(n, old.n), old.fill}
				g.Expect(kept.changedFrom(kept.n)).To(Equal(-1), "what was in it comes along")
				if has := int(sqlite3.Xsqlite3_msize(tls, kept.address)); n < old.n && has == old.n {
					held[i] = piece{kept.address, has, old.fill}
					held[i].write()
					return
				}
				held[i] = take(kept.address, n)
			},
			"give back": func(t *rapid.T) {
				if len(held) == 0 {
					t.Skip("nothing is held")
				}
				i := rapid.IntRange(0, len(held)-1).Draw(t, "which")
				sqlite3.Xsqlite3_free(tls, held[i].address)
				held = append(held[:i], held[i+1:]...)
			},
			"": func(*rapid.T) {
				for _, p := range held {
					g.Expect(p.changedFrom(p.n)).To(Equal(-1))
				}
			},
		})
		for _, p := range held {
			sqlite3.Xsqlite3_free(tls, p.address)
		}
	})
}

// TestPiecesAreUsedAgain sees that what was given back serves the next that asks for as much.
func TestPiecesAreUsedAgain(t *testing.T) {
	g := NewWithT(t)
	tls := libc.NewTLS()
	defer tls.Close()
	for _, n := range []int32{1, 100, 1001, 8400, 60_000} {
		p := sqlite3.Xsqlite3_malloc(tls, n)
		sqlite3.Xsqlite3_free(tls, p)
		g.Expect(sqlite3.Xsqlite3_malloc(tls, n)).To(Equal(p))
		sqlite3.Xsqlite3_free(tls, p)
	}
}
