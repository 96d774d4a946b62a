// SPDX-License-Identifier: Apache-2.0

package builtin

import (
	"crypto/md5"
	cryptorand "crypto/rand"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"fmt"
	"hash"
	"hash/crc32"
	"math"
	"strings"
	"sync/atomic"

	"github.com/google/uuid"
	"github.com/shopspring/decimal"

	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/sqltype"
)

func init() {
	float := func(f func(float64) float64) *function {
		return &function{
			Min:    1,
			Max:    1,
			Params: []sqltype.Type{floatT},
			Type:   floatT,
			Pure:   true,
			Run: func(_ *Evaluation, a []any) (any, *sqlerr.Error) {
				return finite(f(a[0].(float64)))
			},
		}
	}
	exact := func(onInt func(int64) int64, onDecimal func(decimal.Decimal) decimal.Decimal,
		onFloat func(float64) float64) *function {
		return &function{
			Min:   1,
			Max:   1,
			Infer: numberLike,
			Pure:  true,
			Run: func(e *Evaluation, a []any) (any, *sqlerr.Error) {
				switch v := a[0].(type) {
				case int64:
					return onInt(v), nil
				case bool:
					return map[bool]int64{true: 1}[v], nil
				case decimal.Decimal:
					return e.fit(onDecimal(v), e.Types[0])
				}
				f, err := sqltype.Convert(a[0], e.Types[0], floatT, 0, sqltype.Explicit)
				if err != nil {
					return nil, err
				}
				return e.fit(onFloat(f.(float64)), floatT)
			},
		}
	}
	same := func(n int64) int64 { return n }
	add(map[string]*function{
		"abs":     absolute(exact(sqltype.Magnitude, decimal.Decimal.Abs, math.Abs)),
		"floor":   wholeNumber(exact(same, decimal.Decimal.Floor, math.Floor)),
		"ceiling": wholeNumber(exact(same, decimal.Decimal.Ceil, math.Ceil)),
		"sign": exact(func(n int64) int64 { return int64(decimal.NewFromInt(n).Sign()) },
			func(d decimal.Decimal) decimal.Decimal { return decimal.NewFromInt(int64(d.Sign())) },
			func(f float64) float64 { return float64(decimal.NewFromFloat(f).Sign()) }),
		"sqrt": float(
			math.Sqrt,
		), "exp": float(math.Exp), "log10": float(math.Log10), "sin": float(math.Sin), "cos": float(math.Cos),
		"tan": float(math.Tan), "asin": float(math.Asin), "acos": float(math.Acos), "atan": float(math.Atan),
		"cot": float(func(f float64) float64 { return 1 / math.Tan(f) }),
		"degrees": angle(
			func(f float64) float64 { return f * 180 / math.Pi },
		), "radians": angle(func(f float64) float64 { return f * math.Pi / 180 }),
		"square": float(func(f float64) float64 { return f * f }),
		"log": {
			Min:    1,
			Max:    2,
			Params: []sqltype.Type{floatT},
			Type:   floatT,
			Pure:   true,
			Run: func(_ *Evaluation, a []any) (any, *sqlerr.Error) {
				v := math.Log(a[0].(float64))
				if len(a) > 1 {
					v /= math.Log(a[1].(float64))
				}
				if math.IsNaN(v) || math.IsInf(v, 0) {
					return nil, sqlerr.New(3623, 1)
				}
				return v, nil
			},
		},
		"atn2": {Min: 2, Max: 2, Params: []sqltype.Type{floatT}, Type: floatT, Pure: true,
			Run: func(_ *Evaluation, a []any) (any, *sqlerr.Error) {
				if a[0] == 0.0 && a[1] == 0.0 {
					return nil, sqlerr.New(3623, 1)
				}
				return math.Atan2(a[0].(float64), a[1].(float64)), nil
			}},
		"pi": {
			Type: floatT,
			Pure: true,
			Run:  func(*Evaluation, []any) (any, *sqlerr.Error) { return math.Pi, nil },
		},
		"power": {
			Min:    2,
			Max:    2,
			Params: []sqltype.Type{anyType, floatT},
			Infer:  numberLike,
			Pure:   true,
			Run:    power,
		},
		"round": {
			Min:    2,
			Max:    3,
			Params: []sqltype.Type{anyType, intT, intT},
			Infer:  numberLike,
			Pure:   true,
			Run:    round,
		},
		"newid": {
			Type: sqltype.GUIDType,
			Run:  func(*Evaluation, []any) (any, *sqlerr.Error) { return uuid.New(), nil },
		},
		"newsequentialid": {
			Type: sqltype.GUIDType,
			Run:  func(*Evaluation, []any) (any, *sqlerr.Error) { return sequentialID(), nil },
		},
		"isnumeric": {
			Min:   1,
			Max:   1,
			Type:  intT,
			Nulls: true,
			Pure:  true,
			Run: func(e *Evaluation, a []any) (any, *sqlerr.Error) {
				if a[0] == nil {
					return int64(0), nil
				}
				if e.Types[0].Kind.IsNumeric() {
					return int64(1), nil
				}
				s, ok := a[0].(string)
				if !ok {
					return int64(0), nil
				}
				if _, ok := sqltype.ParseNumber(s, true); ok && strings.TrimSpace(s) != "" {
					return int64(1), nil
				}
				if _, err := sqltype.Convert(s, nmax, floatT, 0, sqltype.Explicit); err == nil && strings.TrimSpace(s) != "" {
					return int64(1), nil
				}
				return int64(0), nil
			},
		},
		"checksum": {
			Min:   1,
			Max:   254,
			Type:  intT,
			Nulls: true,
			Pure:  true,
			Run:   func(e *Evaluation, a []any) (any, *sqlerr.Error) { return checksum(e, a, true), nil },
		},
		"binary_checksum": {
			Min:   1,
			Max:   254,
			Type:  intT,
			Nulls: true,
			Pure:  true,
			Run:   func(e *Evaluation, a []any) (any, *sqlerr.Error) { return checksum(e, a, false), nil },
		},
		"hashbytes": {
			Min:    2,
			Max:    2,
			Params: []sqltype.Type{nmax, anyType},
			Type:   sqltype.VarBinaryOf(8000),
			Pure:   true,
			Run:    hashBytes,
		},
		"crypt_gen_random": {
			Min:    1,
			Max:    2,
			Params: []sqltype.Type{intT, sqltype.VarBinaryMax},
			Type:   sqltype.VarBinaryOf(8000),
			Run: func(_ *Evaluation, a []any) (any, *sqlerr.Error) {
				out := make([]byte, max(0, min(8000, integer(a[0]))))
				_, _ = cryptorand.Read(out) // it never fails
				return out, nil
			},
		},
		"greatest": {
			Min:   1,
			Max:   254,
			Infer: unionType,
			Nulls: true,
			Pure:  true,
			Run:   func(e *Evaluation, a []any) (any, *sqlerr.Error) { return extreme(e, a, 1) },
		},
		"least": {
			Min:   1,
			Max:   254,
			Infer: unionType,
			Nulls: true,
			Pure:  true,
			Run:   func(e *Evaluation, a []any) (any, *sqlerr.Error) { return extreme(e, a, -1) },
		},
	})
}

// wholeNumber is f with a result of scale 0.
func wholeNumber(f *function) *function {
	f.Infer = func(types []sqltype.Type) sqltype.Type {
		t := numberLike(types)
		if t.Kind == sqltype.Decimal {
			t.Scale = 0
		}
		return t
	}
	return f
}

func unionType(types []sqltype.Type) sqltype.Type {
	t := sqltype.Type{}
	for _, x := range types {
		t = sqltype.Union(t, x)
	}
	return t
}

func extreme(e *Evaluation, a []any, sign int) (any, *sqlerr.Error) {
	var best any
	var bestRaw any
	for i, v := range a {
		if v == nil {
			continue
		}
		x, err := e.fit(v, e.Types[i])
		if err != nil {
			return nil, err
		}
		raw, encErr := sqltype.Encode(e.Result, x)
		if encErr != nil {
			return nil, sqlerr.Internal(encErr)
		}
		if best == nil || compareRaw(raw, bestRaw)*sign > 0 {
			best, bestRaw = x, raw
		}
	}
	return best, nil
}

// compareRaw compares stored forms of one type.
func compareRaw(a, b any) int {
	switch x := a.(type) {
	case int64:
		y, _ := b.(int64)
		switch {
		case x < y:
			return -1
		case x > y:
			return 1
		}
	case float64:
		y, _ := b.(float64)
		switch {
		case x < y:
			return -1
		case x > y:
			return 1
		}
	case string:
		y, _ := b.(string)
		return sqltype.CompareByKey("tsql_ci_as", x, y)
	case []byte:
		y, _ := b.([]byte)
		return strings.Compare(string(x), string(y))
	}
	return 0
}

// absolute refuses the least number of an integer type, whose absolute value the type does not have
// (docs/t-sql/functions/abs-transact-sql.md).
func absolute(f *function) *function {
	run := f.Run
	f.Run = func(e *Evaluation, a []any) (any, *sqlerr.Error) {
		v, err := run(e, a)
		if n, ok := v.(int64); ok && (n < 0 || !sqltype.FitsInteger(e.Result.Kind, n)) {
			return nil, sqlerr.New(8115, 2, "expression", e.Result.Kind)
		}
		return v, err
	}
	return f
}

// angle is DEGREES or RADIANS: the result has the type of the argument, cut where that is an integer (RADIANS(180) is
// 3), and 18 digits behind the point where it is a decimal with fewer of them.
func angle(turn func(float64) float64) *function {
	infer := func(types []sqltype.Type) sqltype.Type {
		t := numberLike(types)
		switch {
		case types[0].Kind == sqltype.Bit:
			return floatT
		case t.Kind == sqltype.Decimal:
			return sqltype.DecimalOf(38, max(18, t.Scale))
		}
		return t
	}
	return &function{Min: 1, Max: 1, Infer: infer, Pure: true, Run: func(e *Evaluation, a []any) (any, *sqlerr.Error) {
		f, err := sqltype.Convert(a[0], e.Types[0], floatT, 0, sqltype.Explicit)
		if err != nil {
			return nil, err
		}
		v, err := finite(turn(f.(float64)))
		if err != nil || e.Result.Kind == sqltype.Float {
			return v, err
		}
		out, err := e.fit(v, floatT)
		if err != nil && err.Number == 232 {
			return nil, sqlerr.New(8115, 2, "expression", e.Result.Kind) // no conversion that somebody wrote
		}
		return out, err
	}}
}

// finite is a result of floating point, or the error in place of one that is none or too large.
func finite(v float64) (any, *sqlerr.Error) {
	switch {
	case math.IsNaN(v):
		return nil, sqlerr.New(3623, 1)
	case math.IsInf(v, 0):
		return nil, sqlerr.New(8115, 2, "expression", "float")
	}
	return v, nil
}

func power(e *Evaluation, a []any) (any, *sqlerr.Error) {
	f, err := sqltype.Convert(a[0], e.Types[0], floatT, 0, sqltype.Explicit)
	if err != nil {
		return nil, err
	}
	v := math.Pow(f.(float64), a[1].(float64))
	if _, err := finite(v); err != nil {
		return nil, err
	}
	if e.Result.Kind.IsInteger() {
		if near := math.Round(v); math.Abs(v-near) < math.Abs(v)*1e-15 {
			v = near // POWER(10, LOG10(5)) is 5
		}
		v = math.Trunc(v)
		if math.Abs(v) > 9.2e18 || e.Result.Kind == sqltype.Int && v != float64(int32(v)) {
			return nil, sqlerr.New(232, 3, e.Result.Kind, fmt.Sprintf("%f", v))
		}
		return int64(v), nil
	}
	return e.fit(v, floatT)
}

func round(e *Evaluation, a []any) (any, *sqlerr.Error) {
	places := int32(integer(a[1]))
	cut := len(a) > 2 && integer(a[2]) != 0
	apply := func(d decimal.Decimal) decimal.Decimal {
		if !cut {
			return d.Round(places)
		}
		if places >= 0 {
			return d.Truncate(places)
		}
		return d.Shift(places).Truncate(0).Shift(-places)
	}
	switch v := a[0].(type) {
	case int64:
		d := apply(decimal.NewFromInt(v))
		if !sqltype.FitsInteger(e.Result.Kind, d.IntPart()) {
			return nil, sqlerr.New(8115, 2, "expression", e.Result.Kind)
		}
		return d.IntPart(), nil
	case decimal.Decimal:
		return e.fit(apply(v), e.Types[0])
	case bool:
		return map[bool]int64{true: 1}[v], nil
	}
	f, err := sqltype.Convert(a[0], e.Types[0], floatT, 0, sqltype.Explicit)
	if err != nil {
		return nil, err
	}
	out, _ := apply(decimal.NewFromFloat(f.(float64))).Float64()
	return out, nil
}

var sequence atomic.Uint64

// sequentialID is a GUID greater than those before it in SQL Server's order.
func sequentialID() uuid.UUID {
	u := uuid.New()
	n := sequence.Add(1)
	for i := range 6 {
		u[10+i] = byte(n >> (8 * (5 - i)))
	}
	return u
}

// checksum is CHECKSUM and BINARY_CHECKSUM: equal for equal values, not SQL Server's own numbers.
func checksum(e *Evaluation, a []any, fold bool) int64 {
	h := crc32.NewIEEE()
	for i, v := range a {
		t := e.Types[i]
		if s, ok := v.(string); ok {
			if fold {
				s = strings.ToLower(strings.TrimRight(s, " "))
			}
			h.Write([]byte(s))
		} else if v != nil {
			if t.Kind.IsInteger() || t.Kind == sqltype.Bit {
				t = bigT
			}
			raw, err := sqltype.Encode(t, v)
			if err == nil {
				h.Write([]byte(sqltype.StoredLiteral(raw)))
			}
		}
		h.Write([]byte{0xff, byte(i)})
	}
	return int64(int32(h.Sum32()))
}

func hashBytes(e *Evaluation, a []any) (any, *sqlerr.Error) {
	var h hash.Hash
	switch strings.ToUpper(a[0].(string)) {
	case "MD5":
		h = md5.New()
	case "SHA", "SHA1":
		h = sha1.New()
	case "SHA2_256":
		h = sha256.New()
	case "SHA2_512":
		h = sha512.New()
	default:
		return nil, nil
	}
	switch v := a[1].(type) {
	case []byte:
		h.Write(v)
	case string:
		h.Write(sqltype.CharacterBytes(v, e.Types[1]))
	default:
		return nil, sqlerr.New(8116, 1, e.Types[1].Kind, 2, "hashbytes")
	}
	return h.Sum(nil), nil
}
