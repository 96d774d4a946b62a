// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"bytes"
	"compress/gzip"
	"io"

	"geosql.dev/operator/standin/sqlerr"
	"geosql.dev/operator/standin/sqltype"
)

func init() {
	first := func(types []sqltype.Type, _ []expr) sqltype.Type {
		if types[0].Kind.IsInteger() {
			return types[0]
		}
		return bigT
	}
	shift := func(sign int64) *builtinFunction {
		return &builtinFunction{min: 2, max: 2, params: []sqltype.Type{anyType, bigT}, infer: first, pure: true, run: func(e *evaluation, a []any) (any, *sqlerr.Error) {
			return shifted(integer(a[0]), sign*integer(a[1]), bitsOf(e.types[0].Kind)), nil
		}}
	}
	addBuiltins(map[string]*builtinFunction{
		"left_shift":  shift(1),
		"right_shift": shift(-1),
		"get_bit": {min: 2, max: 2, params: []sqltype.Type{anyType, bigT}, typ: sqltype.BitType, pure: true, run: func(e *evaluation, a []any) (any, *sqlerr.Error) {
			at := integer(a[1])
			if at < 0 || at >= bitsOf(e.types[0].Kind) {
				return nil, unsupported("A bit beyond those of the type")
			}
			return integer(a[0])>>at&1 != 0, nil
		}},
		"set_bit": {min: 2, max: 3, params: []sqltype.Type{anyType, bigT, sqltype.BitType}, infer: first, pure: true, run: func(e *evaluation, a []any) (any, *sqlerr.Error) {
			n, at := integer(a[0]), integer(a[1])
			size := bitsOf(e.types[0].Kind)
			if at < 0 || at >= size {
				return nil, unsupported("A bit beyond those of the type")
			}
			if on, given := a[len(a)-1].(bool); given && len(a) > 2 && !on {
				return signed(n&^(1<<at), size), nil
			}
			return signed(n|1<<at, size), nil
		}},
		"compress": {min: 1, max: 1, params: []sqltype.Type{anyType}, typ: sqltype.VarBinaryMax, pure: true, run: func(e *evaluation, a []any) (any, *sqlerr.Error) {
			raw, err := sqltype.Convert(a[0], e.types[0], sqltype.VarBinaryMax, 0, sqltype.Explicit)
			if err != nil {
				return nil, sqlerr.New(8116, 1, e.types[0].Kind, 1, "Compress")
			}
			var out bytes.Buffer
			w := gzip.NewWriter(&out)
			data, _ := raw.([]byte)
			_, _ = w.Write(data) // in memory
			_ = w.Close()
			return out.Bytes(), nil
		}},
		"decompress": {min: 1, max: 1, params: []sqltype.Type{sqltype.VarBinaryMax}, typ: sqltype.VarBinaryMax, pure: true, run: func(_ *evaluation, a []any) (any, *sqlerr.Error) {
			r, err := gzip.NewReader(bytes.NewReader(a[0].([]byte)))
			if err != nil {
				return nil, nil
			}
			out, err := io.ReadAll(io.LimitReader(r, 1<<31-1))
			if err != nil {
				return nil, nil
			}
			return out, nil
		}},
	})
}

func bitsOf(k sqltype.Kind) int64 {
	switch k {
	case sqltype.TinyInt:
		return 8
	case sqltype.SmallInt:
		return 16
	case sqltype.Int:
		return 32
	}
	return 64
}

// signed is the lowest bits of n as an integer of so many bits; tinyint has no sign.
func signed(n, bits int64) int64 {
	if bits == 8 {
		return n & 0xFF
	}
	return n << (64 - bits) >> (64 - bits)
}

// shifted is LEFT_SHIFT, or RIGHT_SHIFT for a negative number of bits: a logical shift, zeros come in.
func shifted(n, by, bits int64) int64 {
	u := uint64(n) << (64 - bits) >> (64 - bits)
	switch {
	case by >= bits || by <= -bits:
		return 0
	case by >= 0:
		u <<= by
	default:
		u >>= -by
	}
	return signed(int64(u), bits)
}
