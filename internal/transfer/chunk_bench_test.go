// SPDX-License-Identifier: Apache-2.0

package transfer

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"
)

// rows are bytes like those of a file of bcp in native form: keys that count upward, words of a small vocabulary,
// numbers, and a part that nothing foretells.
func rows(seed byte, size int) []byte {
	source := rand.New(rand.NewChaCha8([32]byte{seed}))
	words := make([][]byte, 2000)
	for i := range words {
		words[i] = fmt.Appendf(nil, "word%d", source.Uint64()>>40)
	}
	var b bytes.Buffer
	b.Grow(size + 1024)
	for key := 0; b.Len() < size; key++ {
		fmt.Fprintf(&b, "%08x|%d|", key, source.Uint64())
		for range 4 + source.IntN(12) {
			b.Write(words[source.IntN(len(words))])
			b.WriteByte(' ')
		}
		b.WriteString("|2026-11-20T10:00:00|active\r\n")
	}
	return b.Bytes()[:size]
}

// edited changes a row here and there: every span of so many bytes has one edit, of which each third inserts or takes
// away a few bytes.
func edited(old []byte, every int) []byte {
	source := rand.New(rand.NewChaCha8([32]byte{9}))
	var b bytes.Buffer
	b.Grow(len(old) + len(old)/100)
	for at := 0; at < len(old); at += every {
		part := old[at:min(at+every, len(old))]
		place := source.IntN(len(part))
		b.Write(part[:place])
		switch source.IntN(3) {
		case 0:
			b.WriteString("a new row\r\n")
		case 1:
			place = min(place+20, len(part))
		}
		if place < len(part) {
			b.WriteByte(part[place] ^ 1)
			place++
		}
		b.Write(part[place:])
	}
	return b.Bytes()
}

// BenchmarkChunkSizes measures, for some sizes, how fast a file is cut, and how much of it is fetched again when it was
// edited every 64 MiB, 16 MiB and 4 MiB. docs/transfers.md has the results.
func BenchmarkChunkSizes(b *testing.B) {
	old := rows(1, 256<<20)
	for _, size := range []struct {
		name string
		bits int
	}{{"256KiB", 18}, {"1MiB", 20}, {"4MiB", 22}} {
		average := uint(1) << size.bits
		b.Run(size.name, func(b *testing.B) {
			b.SetBytes(int64(len(old)))
			var known Chunks
			for b.Loop() {
				var err error
				if known, _, err = cut(bytes.NewReader(old), size.bits, average/4, average*4); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(len(known)), "chunks")
			have := map[Sum]bool{}
			for _, one := range known {
				have[one.Sum] = true
			}
			for _, every := range []int{64, 16, 4} {
				changed, _, err := cut(bytes.NewReader(edited(old, every<<20)), size.bits, average/4, average*4)
				if err != nil {
					b.Fatal(err)
				}
				fetched := 0
				for _, one := range changed {
					if !have[one.Sum] {
						fetched += int(one.Length)
					}
				}
				b.ReportMetric(100*float64(fetched)/float64(len(old)), fmt.Sprintf("%%@%dMiB", every))
			}
		})
	}
}
