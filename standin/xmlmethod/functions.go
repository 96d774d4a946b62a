// SPDX-License-Identifier: Apache-2.0

package xmlmethod

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"strings"
	"time"

	"geosql.dev/standin/builtin"
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/sqltype"
)

// The functions that methods of xml become; no client can name them. Their arguments are the node, the expression, the
// values of its accessors, the number under which nodes() keeps the instance (0 for none) and the instance itself,
// which is empty while it is kept: its text, which may have megabytes, is not read again for each row.
const (
	Value  = "xml method value"
	Bytes  = "xml method bytes"
	Exist  = "xml method exist"
	Query  = "xml method query"
	Modify = "xml modify"
	// Accessors writes the values of sql:variable() and sql:column().
	Accessors = "xml accessors"
	// DocumentValue and DocumentMarkup are columns of OPENXML: their arguments are the document's handle, the node, the
	// column's pattern or NULL, its name, and the flags.
	DocumentValue  = "openxml value"
	DocumentMarkup = "openxml markup"
)

const arguments = 5

// Functions are the functions of these names, for those who see an E.
func Functions[E any](kept func(E) *Kept, evaluation func(E) *builtin.Evaluation) map[string]*builtin.Function[E] {
	method := func(t sqltype.Type, run func(c *call) (any, *sqlerr.Error)) *builtin.Function[E] {
		return &builtin.Function[E]{
			Min:  arguments,
			Max:  arguments,
			Type: t,
			Pure: true,
			Run: func(e E, a []any) (any, *sqlerr.Error) {
				c, err := kept(e).call(a)
				if err != nil {
					return nil, err
				}
				return run(c)
			},
		}
	}
	value := func(c *call) (any, *sqlerr.Error) {
		text, ok, err := c.query.Value(c.instance.Root(), c.node, c.values)
		if err != nil || !ok {
			return nil, err
		}
		return text, nil
	}
	return map[string]*builtin.Function[E]{
		Value: method(sqltype.NVarCharMax, value),
		Bytes: method(sqltype.VarBinaryOf(sqltype.MaxLength), func(c *call) (any, *sqlerr.Error) {
			v, err := value(c)
			if v == nil || err != nil {
				return nil, err
			}
			decode, text := base64.StdEncoding.DecodeString, strings.Join(strings.Fields(v.(string)), "")
			if c.query.Hexadecimal() {
				decode = hex.DecodeString
			}
			raw, problem := decode(text)
			if problem != nil {
				return nil, nil
			}
			return raw, nil
		}),
		Exist: method(sqltype.Type{Kind: sqltype.Bit}, func(c *call) (any, *sqlerr.Error) {
			return orError(c.query.Exists(c.instance.Root(), c.node, c.values))
		}),
		Query: method(sqltype.Type{Kind: sqltype.XML}, func(c *call) (any, *sqlerr.Error) {
			return orError(c.query.Query(c.instance.Root(), c.node, c.values))
		}),
		Modify: {
			Min:   arguments,
			Max:   arguments,
			Type:  sqltype.Type{Kind: sqltype.XML},
			Pure:  true,
			Nulls: true,
			Run:   func(e E, a []any) (any, *sqlerr.Error) { return kept(e).modify(a) },
		},
		Accessors: builtin.Of(
			&builtin.Function[*builtin.Evaluation]{
				Min:   1,
				Max:   -1,
				Type:  sqltype.NVarCharMax,
				Pure:  true,
				Nulls: true,
				Run:   accessorTexts,
			},
			evaluation,
		),
		DocumentValue: {
			Min:   5,
			Max:   5,
			Type:  sqltype.NVarCharMax,
			Nulls: true,
			Run:   func(e E, a []any) (any, *sqlerr.Error) { return kept(e).column(a, valueOf) },
		},
		DocumentMarkup: {
			Min:   5,
			Max:   5,
			Type:  sqltype.Type{Kind: sqltype.XML},
			Nulls: true,
			Run:   func(e E, a []any) (any, *sqlerr.Error) { return kept(e).column(a, markupOf) },
		},
	}
}

// orError keeps a nil error of its type out of a result.
func orError[T any](v T, err *sqlerr.Error) (any, *sqlerr.Error) {
	if err != nil {
		return nil, err
	}
	return v, nil
}

// accessorTexts writes values as XQuery has them: a JSON array of texts.
func accessorTexts(e *builtin.Evaluation, a []any) (any, *sqlerr.Error) {
	texts := make([]*string, len(a))
	for i, v := range a {
		if v == nil {
			continue
		}
		s := accessorText(v, e.Types[i])
		texts[i] = &s
	}
	out, err := json.Marshal(texts)
	if err != nil {
		return nil, sqlerr.Internal(err)
	}
	return string(out), nil
}

func accessorText(v any, t sqltype.Type) string {
	switch x := v.(type) {
	case bool:
		if x {
			return "true"
		}
		return "false"
	case []byte:
		return base64.StdEncoding.EncodeToString(x)
	case time.Time:
		return sqltype.AsISO8601(x, t)
	}
	return sqltype.AsText(v, t)
}
