// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"unicode/utf16"

	"geosql.dev/standin/bind"
	"geosql.dev/standin/sqlerr"
)

func init() {
	addBuiltins(
		map[string]*builtinFunction{
			bind.WriteValue: {Min: 4, Max: 4, Nulls: true, Pure: true, Run: func(_ *evaluation, a []any) (any, *sqlerr.Error) {
				if a[0] == nil {
					return nil, sqlerr.New(7116, 4, 0) // there is no value to write into
				}
				offset, length := int64(-1), int64(-1)
				if a[2] != nil {
					if offset = integer(a[2]); offset < 0 {
						return nil, sqlerr.New(7116, 4, offset)
					}
				}
				if a[3] != nil {
					if length = integer(a[3]); length < 0 {
						return nil, sqlerr.New(7135, 4, length)
					}
				}
				if old, binary := a[0].([]byte); binary {
					piece, _ := a[1].([]byte)
					out, err := splice(old, piece, a[1] == nil, offset, length)
					return out, err
				}
				piece, _ := a[1].(string)
				out, err := splice(utf16.Encode([]rune(a[0].(string))), utf16.Encode([]rune(piece)), a[1] == nil, offset, length)
				if err != nil {
					return nil, err
				}
				return string(utf16.Decode(out)), nil
			}},
		},
	)
}

// splice puts piece in the place of length elements from offset on. A negative offset appends, a negative length
// reaches to the end; no piece cuts off at offset.
func splice[T any](old, piece []T, cut bool, offset, length int64) ([]T, *sqlerr.Error) {
	size := int64(len(old))
	switch {
	case offset < 0 && cut:
		return old, nil
	case offset < 0:
		return append(append([]T(nil), old...), piece...), nil
	case offset > size:
		return nil, sqlerr.New(7116, 4, offset)
	case cut:
		return old[:offset], nil
	}
	end := size
	if length >= 0 {
		end = min(offset+length, size)
	}
	return append(append(append([]T(nil), old[:offset]...), piece...), old[end:]...), nil
}
