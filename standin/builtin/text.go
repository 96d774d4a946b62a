// SPDX-License-Identifier: Apache-2.0

package builtin

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"

	"github.com/google/uuid"
	"github.com/shopspring/decimal"

	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/sqltype"
	"geosql.dev/standin/syntax"
)

func stringFunction(
	min, max int,
	params []sqltype.Type,
	infer func([]sqltype.Type) sqltype.Type,
	run func(e *Evaluation, a []any) (any, *sqlerr.Error),
) *function {
	return &function{Min: min, Max: max, Params: params, Infer: infer, Pure: true, Run: run}
}

func init() {
	one := []sqltype.Type{anyType}
	onText := func(f func(string) string) *function {
		return stringFunction(
			1,
			1,
			one,
			textLike,
			func(e *Evaluation, a []any) (any, *sqlerr.Error) { return f(sqltype.AsText(a[0], e.Types[0])), nil },
		)
	}
	add(map[string]*function{
		"len": {Min: 1, Max: 1, Type: intT, Pure: true, Run: func(e *Evaluation, a []any) (any, *sqlerr.Error) {
			if b, ok := a[0].([]byte); ok {
				return int64(len(b)), nil
			}
			return int64(sqltype.Length(strings.TrimRight(sqltype.AsText(a[0], e.Types[0]), " "))), nil
		}},
		"datalength": {Min: 1, Max: 1, Type: intT, Pure: true, Infer: func(t []sqltype.Type) sqltype.Type {
			if t[0].Length == sqltype.MaxLength {
				return bigT
			}
			return intT
		}, Run: func(e *Evaluation, a []any) (any, *sqlerr.Error) { return dataLength(a[0], e.Types[0]), nil }},
		"upper": onText(strings.ToUpper), "lower": onText(strings.ToLower),
		"ltrim": trimFunction(true, false), "rtrim": trimFunction(false, true), "trim": trimFunction(true, true),
		"leading_trim": trimFunction(true, false), "trailing_trim": trimFunction(false, true),
		"left": stringFunction(
			2,
			2,
			[]sqltype.Type{anyType, intT},
			textLike,
			func(e *Evaluation, a []any) (any, *sqlerr.Error) {
				if integer(a[1]) < 0 {
					return nil, sqlerr.New(536, 1, "left")
				}
				return sqltype.Slice(sqltype.AsText(a[0], e.Types[0]), 0, int(integer(a[1]))), nil
			},
		),
		"right": stringFunction(
			2,
			2,
			[]sqltype.Type{anyType, intT},
			textLike,
			func(e *Evaluation, a []any) (any, *sqlerr.Error) {
				n := int(integer(a[1]))
				if n < 0 {
					return nil, sqlerr.New(536, 1, "right")
				}
				s := sqltype.AsText(a[0], e.Types[0])
				return sqltype.Slice(s, max(0, sqltype.Length(s)-n), n), nil
			},
		),
		"substring": stringFunction(
			3,
			3,
			[]sqltype.Type{anyType, bigT, bigT},
			characterLike,
			func(e *Evaluation, a []any) (any, *sqlerr.Error) {
				n := int64(1 << 31)
				if len(a) > 2 {
					n = integer(a[2])
				}
				if n < 0 {
					return nil, sqlerr.New(537, 3)
				}
				return slice(a[0], e.Types[0], int(integer(a[1]))-1, int(min(n, 1<<31))), nil
			},
		),
		"charindex": {Min: 2, Max: 3, Params: []sqltype.Type{anyType, anyType, bigT}, Type: intT, Pure: true, Run: charIndex},
		"patindex":  {Min: 2, Max: 2, Params: []sqltype.Type{nmax, nmax}, Type: intT, Pure: true, Run: patIndex},
		"replace": stringFunction(
			3,
			3,
			[]sqltype.Type{anyType, anyType, anyType},
			replaced,
			func(e *Evaluation, a []any) (any, *sqlerr.Error) {
				out := replaceAll(
					sqltype.AsText(a[0], e.Types[0]),
					sqltype.AsText(a[1], e.Types[1]),
					sqltype.AsText(a[2], e.Types[2]),
					e.Collation,
				)
				return cutTo(out, e.Result), nil
			},
		),
		"translate": stringFunction(3, 3, []sqltype.Type{anyType, nmax, nmax}, textLike, translate),
		"stuff": {
			Min:    4,
			Max:    4,
			Params: []sqltype.Type{anyType, intT, intT, anyType},
			Infer:  grownLike,
			Pure:   true,
			Nulls:  true,
			Run:    stuff,
		},
		"replicate": stringFunction(
			2,
			2,
			[]sqltype.Type{anyType, intT},
			widened,
			func(e *Evaluation, a []any) (any, *sqlerr.Error) {
				n := integer(a[1])
				if n < 0 {
					return nil, nil
				}
				s := sqltype.AsText(a[0], e.Types[0])
				if e.Result.Length != sqltype.MaxLength && len(s) > 0 {
					n = min(n, int64(e.Result.Length/max(1, sqltype.Length(s))+1))
					return e.Result.CutTo(strings.Repeat(s, int(n)), e.Result.Length), nil
				}
				if n*int64(len(s)) > 1<<30 {
					return nil, sqlerr.New(7119, 1)
				}
				return strings.Repeat(s, int(n)), nil
			},
		),
		"space": {
			Min:    1,
			Max:    1,
			Params: []sqltype.Type{intT},
			Type:   sqltype.Type{Kind: sqltype.VarChar, Length: 8000},
			Pure:   true,
			Run: func(_ *Evaluation, a []any) (any, *sqlerr.Error) {
				if integer(a[0]) < 0 {
					return nil, nil
				}
				return strings.Repeat(" ", int(min(integer(a[0]), 8000))), nil
			},
		},
		"reverse": onText(func(s string) string {
			r := []rune(s)
			for i, j := 0, len(r)-1; i < j; i, j = i+1, j-1 {
				r[i], r[j] = r[j], r[i]
			}
			return string(r)
		}),
		"ascii": {Min: 1, Max: 1, Type: intT, Pure: true, Run: func(e *Evaluation, a []any) (any, *sqlerr.Error) {
			for _, r := range sqltype.AsText(a[0], e.Types[0]) {
				return int64(e.Types[0].Page.Encode(string(r))[0]), nil
			}
			return nil, nil
		}},
		"unicode": {
			Min:    1,
			Max:    1,
			Params: []sqltype.Type{nmax},
			Type:   intT,
			Pure:   true,
			Run: func(_ *Evaluation, a []any) (any, *sqlerr.Error) {
				u := utf16.Encode([]rune(a[0].(string)))
				if len(u) == 0 {
					return nil, nil
				}
				return int64(u[0]), nil
			},
		},
		"char": {Min: 1, Max: 1, Params: []sqltype.Type{intT}, Type: sqltype.Type{Kind: sqltype.Char, Length: 1}, Pure: true,
			Run: func(e *Evaluation, a []any) (any, *sqlerr.Error) {
				if n := integer(a[0]); n >= 0 && n <= 255 {
					return e.Result.Page.Decode([]byte{byte(n)}), nil
				}
				return nil, nil
			}},
		"nchar": {
			Min:    1,
			Max:    1,
			Params: []sqltype.Type{intT},
			Type:   sqltype.Type{Kind: sqltype.NChar, Length: 1},
			Pure:   true,
			Run: func(_ *Evaluation, a []any) (any, *sqlerr.Error) {
				if n := integer(a[0]); n >= 0 && n <= 65535 {
					return string(rune(n)), nil
				}
				return nil, nil
			},
		},
		"quotename": {
			Min:    1,
			Max:    2,
			Params: []sqltype.Type{nmax},
			Type:   sqltype.NVarCharOf(258),
			Pure:   true,
			Run:    quoteNameFunction,
		},
		"concat":    {Min: 2, Max: 254, Infer: concatType, Pure: true, Nulls: true, Run: concat},
		"concat_ws": {Min: 3, Max: 254, Infer: concatType, Pure: true, Nulls: true, Run: concatWS},
		"str": {
			Min:    1,
			Max:    3,
			Params: []sqltype.Type{floatT, intT, intT},
			Type:   sqltype.Type{Kind: sqltype.VarChar, Length: 8000},
			Pure:   true,
			Run:    str,
		},
		"format": {
			Min:    2,
			Max:    3,
			Params: []sqltype.Type{anyType, nmax, nmax},
			Type:   sqltype.NVarCharOf(4000),
			Pure:   true,
			Run:    format,
		},
		"parsename": {
			Min:    2,
			Max:    2,
			Params: []sqltype.Type{nmax, intT},
			Type:   sqltype.Sysname,
			Pure:   true,
			Run: func(_ *Evaluation, a []any) (any, *sqlerr.Error) {
				parts := syntax.SplitName(a[0].(string))
				n := int(integer(a[1]))
				if n < 1 || n > len(parts) || !isName(a[0].(string), parts) {
					return nil, nil
				}
				return orNull(strings.TrimSpace(parts[len(parts)-n])), nil
			},
		},
		"string_escape": {
			Min:    2,
			Max:    2,
			Params: []sqltype.Type{nmax, nmax},
			Type:   nmax,
			Pure:   true,
			Run: func(_ *Evaluation, a []any) (any, *sqlerr.Error) {
				q := strconv.Quote(a[0].(string))
				return strings.ReplaceAll(q[1:len(q)-1], `/`, `\/`), nil
			},
		},
		"soundex": {
			Min:    1,
			Max:    1,
			Params: []sqltype.Type{nmax},
			Type:   sqltype.Type{Kind: sqltype.VarChar, Length: 4},
			Pure:   true,
			Run:    func(_ *Evaluation, a []any) (any, *sqlerr.Error) { return soundex(a[0].(string)), nil },
		},
		"difference": {
			Min:    2,
			Max:    2,
			Params: []sqltype.Type{nmax, nmax},
			Type:   intT,
			Pure:   true,
			Run: func(_ *Evaluation, a []any) (any, *sqlerr.Error) {
				x, y := soundex(a[0].(string)), soundex(a[1].(string))
				n := int64(0)
				for i := range 4 {
					if x[i] == y[i] {
						n++
					}
				}
				return n, nil
			},
		},
	})
}

// isName tells whether a text is a name of at most four parts; quotes are around whole parts.
func isName(text string, parts []string) bool {
	tooLong := func(part string) bool { return sqltype.Length(part) > 128 }
	if len(parts) > 4 || slices.ContainsFunc(parts, tooLong) {
		return false
	}
	var end byte
	begins := true
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case end != 0:
			if c != end {
				continue
			}
			if i+1 < len(text) && text[i+1] == end {
				i++
				continue
			}
			if end = 0; i+1 < len(text) && text[i+1] != '.' {
				return false
			}
		case c == '[' || c == '"':
			if !begins {
				return false
			}
			if end = c; c == '[' {
				end = ']'
			}
		}
		begins = c == '.'
	}
	return end == 0
}

// cutTo leaves away what a function's type has no room for.
func cutTo(s string, t sqltype.Type) string {
	if t.Length == sqltype.MaxLength {
		return s
	}
	return t.CutTo(s, t.Length)
}

// translate is TRANSLATE. Characters are counted as LEN does, those of the code page where the string has one.
func translate(e *Evaluation, a []any) (any, *sqlerr.Error) {
	units := func(i int) []uint16 {
		s, _ := a[i].(string)
		u := utf16.Encode([]rune(s))
		if !e.Result.Kind.IsUnicode() {
			u = utf16.Encode([]rune(e.Result.Page.Kept(s)))
		}
		return u
	}
	from, to := units(1), units(2)
	if len(from) != len(to) {
		return nil, sqlerr.New(9828, 1)
	}
	s := utf16.Encode([]rune(sqltype.AsText(a[0], e.Types[0])))
	for i, c := range s {
		if at := slices.Index(from, c); at >= 0 {
			s[i] = to[at]
		}
	}
	return string(utf16.Decode(s)), nil
}

// stuff is STUFF. Without a text to insert it deletes.
func stuff(e *Evaluation, a []any) (any, *sqlerr.Error) {
	if a[0] == nil || a[1] == nil || a[2] == nil {
		return nil, nil
	}
	start, n := int(integer(a[1])), int(integer(a[2]))
	if b, ok := a[0].([]byte); ok {
		if start < 1 || n < 0 || start > len(b) {
			return nil, nil
		}
		put, err := e.fit(a[3], e.Types[3])
		if err != nil {
			return nil, err
		}
		inserted, _ := put.([]byte)
		out := slices.Concat(b[:start-1], inserted, b[min(len(b), start-1+n):])
		if e.Result.Length != sqltype.MaxLength {
			out = out[:min(len(out), e.Result.Length)]
		}
		return out, nil
	}
	s := sqltype.AsText(a[0], e.Types[0])
	if start < 1 || n < 0 || start > sqltype.Length(s) {
		return nil, nil
	}
	put := ""
	if a[3] != nil {
		put = sqltype.AsText(a[3], e.Types[3])
	}
	return cutTo(sqltype.Cut(s, start-1)+put+sqltype.Slice(s, start-1+n, 1<<30), e.Result), nil
}

// trimFunction is LTRIM, RTRIM and the forms of TRIM: (string) or (string, characters), in this order.
func trimFunction(left, right bool) *function {
	return stringFunction(
		1,
		2,
		[]sqltype.Type{anyType, nmax},
		textLike,
		func(e *Evaluation, a []any) (any, *sqlerr.Error) {
			s, set := sqltype.AsText(a[0], e.Types[0]), " "
			if len(a) > 1 {
				set = sqltype.AsText(a[1], nmax)
			}
			if left {
				s = strings.TrimLeft(s, set)
			}
			if right {
				s = strings.TrimRight(s, set)
			}
			return s, nil
		},
	)
}

func slice(v any, t sqltype.Type, from, n int) any {
	if b, ok := v.([]byte); ok {
		if from < 0 {
			n, from = n+from, 0
		}
		if from >= len(b) || n <= 0 {
			return []byte{}
		}
		return b[from:min(len(b), from+n)]
	}
	return sqltype.Slice(sqltype.AsText(v, t), from, n)
}

func dataLength(v any, t sqltype.Type) int64 {
	if t.Kind == sqltype.SQLVariant {
		t, v = sqltype.TypeOf(v), sqltype.Bare(v)
	}
	switch x := v.(type) {
	case string:
		return int64(len(sqltype.CharacterBytes(x, t)))
	case []byte:
		return int64(len(x))
	case uuid.UUID:
		return 16
	}
	return int64(t.MaxBytes())
}

func quoteNameFunction(_ *Evaluation, a []any) (any, *sqlerr.Error) {
	s := a[0].(string)
	if sqltype.Length(s) > 128 {
		return nil, nil
	}
	open, end := "[", "]"
	if len(a) > 1 {
		q, _ := a[1].(string)
		switch q {
		case "'", `"`, "`":
			open, end = q, q
		case "(", ")":
			open, end = "(", ")"
		case "<", ">":
			open, end = "<", ">"
		case "{", "}":
			open, end = "{", "}"
		case "[", "]":
		default:
			return nil, nil
		}
	}
	return open + strings.ReplaceAll(s, end, end+end) + end, nil
}

func concatType(types []sqltype.Type) sqltype.Type {
	t := sqltype.Type{Kind: sqltype.VarChar}
	total := 0
	for _, a := range types {
		if t.Page == 0 {
			t.Page = a.Page
		}
		if a.Kind.IsUnicode() {
			t.Kind = sqltype.NVarChar
		}
		if a.Length == sqltype.MaxLength && (a.Kind.IsCharacter() || a.Kind.IsBinary()) {
			total = -1 << 30
		}
		n := a.Length
		if !a.Kind.IsCharacter() {
			n = 40
		}
		total += n
	}
	limit := 8000
	if t.Kind == sqltype.NVarChar {
		limit, t.Page = 4000, 0
	}
	t.Length = max(1, min(limit, total))
	if total < 0 {
		t.Length = sqltype.MaxLength
	}
	return t
}

func concat(e *Evaluation, a []any) (any, *sqlerr.Error) {
	var out strings.Builder
	for i, v := range a {
		if v != nil {
			out.WriteString(sqltype.AsText(v, e.Types[i]))
		}
	}
	return out.String(), nil
}

func concatWS(e *Evaluation, a []any) (any, *sqlerr.Error) {
	sep := ""
	if a[0] != nil {
		sep = sqltype.AsText(a[0], e.Types[0])
	}
	var parts []string
	for i, v := range a[1:] {
		if v != nil {
			parts = append(parts, sqltype.AsText(v, e.Types[i+1]))
		}
	}
	return strings.Join(parts, sep), nil
}

func str(_ *Evaluation, a []any) (any, *sqlerr.Error) {
	f := a[0].(float64)
	length, digits := 10, 0
	if len(a) > 1 {
		length = int(integer(a[1]))
	}
	if len(a) > 2 {
		digits = int(min(16, integer(a[2])))
	}
	if length < 0 || length > 8000 {
		return nil, nil
	}
	// A float has 17 digits; what comes after them is zeros.
	exact, err := decimal.NewFromString(strconv.FormatFloat(f, 'E', 16, 64))
	if err != nil {
		return nil, nil
	}
	s := exact.StringFixed(int32(max(0, digits)))
	whole, _, _ := strings.Cut(s, ".")
	if len(whole) > length {
		return strings.Repeat("*", length), nil
	}
	if len(s) > length {
		s = exact.StringFixed(int32(max(0, length-len(whole)-1)))
	}
	return fmt.Sprintf("%*s", length, s), nil
}

func thousands(s string) string {
	sign := ""
	if strings.HasPrefix(s, "-") {
		sign, s = "-", s[1:]
	}
	whole, frac, dot := strings.Cut(s, ".")
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if dot {
		whole += "." + frac
	}
	return sign + whole
}

func soundex(s string) string {
	const codes = "01230120022455012623010202"
	out := []byte{}
	last := byte('0')
	for _, r := range strings.ToUpper(s) {
		if r < 'A' || r > 'Z' {
			if len(out) > 0 {
				break
			}
			continue
		}
		code := codes[r-'A']
		if len(out) == 0 {
			out = append(out, byte(r))
		} else if code != '0' && code != last {
			out = append(out, code)
		}
		if r != 'H' && r != 'W' {
			last = code
		}
		if len(out) == 4 {
			break
		}
	}
	for len(out) < 4 {
		out = append(out, '0')
	}
	return string(out)
}
