// SPDX-License-Identifier: Apache-2.0

package builtin

import (
	"bytes"
	"compress/gzip"
	"io"

	"geosql.dev/operator/standin/sqlerr"
	"geosql.dev/operator/standin/sqltype"
)

func init() {
	first := func(types []sqltype.Type) sqltype.Type {
		if types[0].Kind.IsInteger() {
			return types[0]
		}
		return bigT
	}
	shift := func(sign int64) *function {
		return &function{Min: 2, Max: 2, Params: []sqltype.Type{anyType, bigT}, Infer: first, Pure: true, Run: func(e *Evaluation, a []any) (any, *sqlerr.Error) {
			return shifted(integer(a[0]), sign*integer(a[1]), bitsOf(e.Types[0].Kind)), nil
		}}
	}
	add(map[string]*function{
		"left_shift":  shift(1),
		"right_shift": shift(-1),
		"get_bit": {Min: 2, Max: 2, Params: []sqltype.Type{anyType, bigT}, Type: sqltype.BitType, Pure: true, Run: func(e *Evaluation, a []any) (any, *sqlerr.Error) {
			at := integer(a[1])
			if at < 0 || at >= bitsOf(e.Types[0].Kind) {
				return nil, sqlerr.Unsupported("A bit beyond those of the type")
			}
			return integer(a[0])>>at&1 != 0, nil
		}},
		"set_bit": {Min: 2, Max: 3, Params: []sqltype.Type{anyType, bigT, sqltype.BitType}, Infer: first, Pure: true, Run: func(e *Evaluation, a []any) (any, *sqlerr.Error) {
			n, at := integer(a[0]), integer(a[1])
			size := bitsOf(e.Types[0].Kind)
			if at < 0 || at >= size {
				return nil, sqlerr.Unsupported("A bit beyond those of the type")
			}
			if on, given := a[len(a)-1].(bool); given && len(a) > 2 && !on {
				return signed(n&^(1<<at), size), nil
			}
			return signed(n|1<<at, size), nil
		}},
		"compress": {Min: 1, Max: 1, Params: []sqltype.Type{anyType}, Type: sqltype.VarBinaryMax, Pure: true, Run: func(e *Evaluation, a []any) (any, *sqlerr.Error) {
			raw, err := sqltype.Convert(a[0], e.Types[0], sqltype.VarBinaryMax, 0, sqltype.Explicit)
			if err != nil {
				return nil, sqlerr.New(8116, 1, e.Types[0].Kind, 1, "Compress")
			}
			var out bytes.Buffer
			w := gzip.NewWriter(&out)
			data, _ := raw.([]byte)
			_, _ = w.Write(data) // in memory
			_ = w.Close()
			return out.Bytes(), nil
		}},
		"decompress": {Min: 1, Max: 1, Params: []sqltype.Type{sqltype.VarBinaryMax}, Type: sqltype.VarBinaryMax, Pure: true, Run: func(_ *Evaluation, a []any) (any, *sqlerr.Error) {
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
