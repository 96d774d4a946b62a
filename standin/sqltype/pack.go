// SPDX-License-Identifier: Apache-2.0

package sqltype

// Pack is a type as one number, for the text of SQLite statements; it means the same in every version of the program.
func Pack(t Type) int64 {
	return int64(t.Kind) | int64(t.Precision)<<8 | int64(t.Scale)<<16 | int64(t.Length+1)<<24 | int64(t.Page)<<48
}

// Unpack is the inverse of Pack.
func Unpack(n int64) Type {
	return Type{
		Kind:      Kind(n & 0xff),
		Precision: uint8(n >> 8),
		Scale:     uint8(n >> 16),
		Length:    int(n>>24&0xffffff) - 1,
		Page:      Page(n >> 48),
	}
}
