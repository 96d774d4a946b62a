// SPDX-License-Identifier: Apache-2.0

package builtin

import (
	"bytes"
	"compress/gzip"
	"io"
	"math/big"
	"math/bits"

	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/sqltype"
)

func init() {
	// The type of a bare NULL is int, as everywhere.
	first := func(types []sqltype.Type) sqltype.Type {
		if types[0].Kind == sqltype.Unknown {
			return intT
		}
		return types[0]
	}
	shift := func(sign int64) *function {
		return &function{
			Min:    2,
			Max:    2,
			Params: []sqltype.Type{anyType, bigT},
			Infer:  first,
			Pure:   true,
			Run: func(e *Evaluation, a []any) (any, *sqlerr.Error) {
				x := bitsOf(a[0], e.Types[0].Kind)
				x.shift(sign * integer(a[1]))
				return x.value(), nil
			},
		}
	}
	add(map[string]*function{
		"left_shift":  shift(1),
		"right_shift": shift(-1),
		"bit_count": {
			Min:    1,
			Max:    1,
			Params: []sqltype.Type{anyType},
			Type:   bigT,
			Pure:   true,
			Run: func(e *Evaluation, a []any) (any, *sqlerr.Error) {
				n := 0
				for _, b := range bitsOf(a[0], e.Types[0].Kind).number.Bytes() {
					n += bits.OnesCount8(b)
				}
				return int64(n), nil
			},
		},
		"get_bit": {
			Min:    2,
			Max:    2,
			Params: []sqltype.Type{anyType, bigT},
			Type:   sqltype.BitType,
			Pure:   true,
			Run: func(e *Evaluation, a []any) (any, *sqlerr.Error) {
				x, at := bitsOf(a[0], e.Types[0].Kind), integer(a[1])
				if at < 0 || at >= x.count {
					return nil, errNoSuchBit
				}
				return x.number.Bit(int(at)) != 0, nil
			},
		},
		"set_bit": {
			Min:    2,
			Max:    3,
			Params: []sqltype.Type{anyType, bigT, bigT},
			Infer:  first,
			Pure:   true,
			Run: func(e *Evaluation, a []any) (any, *sqlerr.Error) {
				x, at, on := bitsOf(a[0], e.Types[0].Kind), integer(a[1]), int64(1)
				if len(a) > 2 {
					on = integer(a[2])
				}
				switch {
				case at < 0 || at >= x.count:
					return nil, errNoSuchBit
				case on != 0 && on != 1:
					return nil, sqlerr.Unsupported("A bit that is neither 0 nor 1")
				}
				x.number.SetBit(x.number, int(at), uint(on))
				return x.value(), nil
			},
		},
		"compress": {
			Min:    1,
			Max:    1,
			Params: []sqltype.Type{anyType},
			Type:   sqltype.VarBinaryMax,
			Pure:   true,
			Run: func(e *Evaluation, a []any) (any, *sqlerr.Error) {
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
			},
		},
		"decompress": {
			Min:    1,
			Max:    1,
			Params: []sqltype.Type{sqltype.VarBinaryMax},
			Type:   sqltype.VarBinaryMax,
			Pure:   true,
			Run: func(_ *Evaluation, a []any) (any, *sqlerr.Error) {
				r, err := gzip.NewReader(bytes.NewReader(a[0].([]byte)))
				if err != nil {
					return nil, nil
				}
				out, err := io.ReadAll(io.LimitReader(r, 1<<31-1))
				if err != nil {
					return nil, nil
				}
				return out, nil
			},
		},
	})
}

// errNoSuchBit stands for an error whose number no document tells.
var errNoSuchBit = sqlerr.Unsupported("A bit beyond those of the type")

// bitField is an integer or a binary value as its bits, the least significant one first
// (docs/t-sql/functions/bit-manipulation-functions-overview.md).
type bitField struct {
	number *big.Int // without a sign
	count  int64
	kind   sqltype.Kind
}

func bitsOf(v any, k sqltype.Kind) bitField {
	if raw, ok := v.([]byte); ok {
		return bitField{new(big.Int).SetBytes(raw), int64(8 * len(raw)), k}
	}
	count := int64(8 * max(1, sqltype.Type{Kind: k}.MaxBytes()))
	return bitField{new(big.Int).SetUint64(uint64(integer(v)) << (64 - count) >> (64 - count)), count, k}
}

// shift moves the bits to the left, or to the right by a negative number: a logical shift, zeros come in.
func (x bitField) shift(by int64) {
	switch {
	case by >= x.count || by <= -x.count:
		x.number.SetInt64(0)
	case by < 0:
		x.number.Rsh(x.number, uint(-by))
	default:
		x.number.Lsh(x.number, uint(by))
		x.number.And(x.number, new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), uint(x.count)), big.NewInt(1)))
	}
}

// value is the integer or the bytes again; tinyint has no sign.
func (x bitField) value() any {
	switch {
	case x.kind.IsBinary():
		return x.number.FillBytes(make([]byte, x.count/8))
	case x.kind == sqltype.TinyInt:
		return int64(x.number.Uint64())
	}
	return int64(x.number.Uint64()) << (64 - x.count) >> (64 - x.count)
}
