// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"strings"
	"time"

	"zombiezen.com/go/sqlite"

	"geosql.dev/operator/standin/sqlerr"
	"geosql.dev/operator/standin/sqltype"
	"geosql.dev/operator/standin/xmldata"
	"geosql.dev/operator/standin/xquery"
)

// xmlMethod begins the names of the functions that are methods of xml. Their arguments are the node, the expression, the values
// of its accessors, the number under which nodes() keeps the instance (0 for none) and the instance itself, which is empty while it is
// kept: its text, which may have megabytes, is not read again for each row.
const (
	xmlMethodPrefix    = "xml method "
	xmlMethodArguments = 5
)

func init() {
	method := func(t sqltype.Type, run func(c *xmlCall) (any, *sqlerr.Error)) *builtinFunction {
		return &builtinFunction{min: xmlMethodArguments, max: xmlMethodArguments, typ: t, pure: true, run: func(e *evaluation, a []any) (any, *sqlerr.Error) {
			c, err := e.session.xmlCall(a)
			if err != nil {
				return nil, err
			}
			return run(c)
		}}
	}
	value := func(c *xmlCall) (any, *sqlerr.Error) {
		text, ok, err := c.query.Value(c.instance.Root(), c.node, c.values)
		if err != nil || !ok {
			return nil, err
		}
		return text, nil
	}
	addBuiltins(map[string]*builtinFunction{
		xmlMethodPrefix + "value": method(nmax, value),
		xmlMethodPrefix + "bytes": method(sqltype.VarBinaryOf(sqltype.MaxLength), func(c *xmlCall) (any, *sqlerr.Error) {
			v, err := value(c)
			if v == nil || err != nil {
				return nil, err
			}
			raw, problem := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(v.(string)), ""))
			if problem != nil {
				return nil, nil
			}
			return raw, nil
		}),
		xmlMethodPrefix + "exist": method(sqltype.Type{Kind: sqltype.Bit}, func(c *xmlCall) (any, *sqlerr.Error) {
			return orError(c.query.Exists(c.instance.Root(), c.node, c.values))
		}),
		xmlMethodPrefix + "query": method(sqltype.Type{Kind: sqltype.XML}, func(c *xmlCall) (any, *sqlerr.Error) {
			return orError(c.query.Query(c.instance.Root(), c.node, c.values))
		}),
		"xml accessors": {min: 1, max: -1, typ: nmax, pure: true, nulls: true, run: accessorTexts},
	})
}

// orError keeps a nil error of its type out of a result.
func orError[T any](v T, err *sqlerr.Error) (any, *sqlerr.Error) {
	if err != nil {
		return nil, err
	}
	return v, nil
}

// installXML registers the rows of nodes().
func installXML(r *Registry) {
	r.TableFunction(TableFunction{Schema: "sys", Name: strings.TrimPrefix(nodesView, "sys."), Parameters: []sqltype.Type{bigT, nmax, nmax, bigT, nmax}, Columns: columns("node bigint, instance bigint"),
		Rows: func(_ context.Context, s *Session, args []any) ([][]any, error) {
			if args[0] == nil || args[3] == nil || args[4] == nil {
				return nil, nil
			}
			c, err := s.xmlCall(args)
			if err != nil {
				return nil, err
			}
			nodes, err := c.query.Nodes(c.instance.Root(), c.node, c.values)
			if err != nil {
				return nil, err
			}
			rows := make([][]any, len(nodes))
			for i, n := range nodes {
				rows[i] = []any{int64(n.Order), c.number}
			}
			return rows, nil
		}})
}

// xmlCall is a method with its receiver, ready to be evaluated.
type xmlCall struct {
	instance *xmldata.Instance
	// number is the cache's for the instance.
	number int64
	node   *xmldata.Node
	query  *xquery.Query
	values []*xquery.Atom
}

// xmlCache keeps the instances and expressions that a session's statements use again and again, row by row.
type xmlCache struct {
	instances map[string]*cachedInstance
	// known are the instances by number; a number never comes twice.
	known map[int64]*xmldata.Instance
	last  int64
	// size is how many characters the texts of the instances have.
	size        int
	expressions map[string]*compiledXML
	changes     map[string]*compiledChange
}

// cachedInstance is an instance with its number.
type cachedInstance struct {
	instance *xmldata.Instance
	number   int64
}

// compiledXML is an expression with the types of its accessors.
type compiledXML struct {
	query *xquery.Query
	kinds []xquery.Kind
}

// Bounds of a session's cache.
const (
	maxCachedInstances   = 64
	maxCachedSize        = 4 << 20
	maxCachedExpressions = 256
)

// knowsInstance tells whether the session keeps the instance of a number.
func (st *connState) knowsInstance(args []sqlite.Value) (any, *sqlerr.Error) {
	if st.session == nil || st.session.xml.known[args[0].Int64()] == nil {
		return int64(0), nil
	}
	return int64(1), nil
}

// xmlCall reads the arguments of a function that evaluates an expression: see xmlMethodArguments.
func (s *Session) xmlCall(a []any) (*xmlCall, *sqlerr.Error) {
	cache := &xmlCache{}
	if s != nil {
		cache = &s.xml
	}
	number := integer(a[3])
	instance := cache.known[number]
	if instance == nil {
		d, err := cache.instance(a[4].(string))
		if err != nil {
			return nil, err
		}
		instance, number = d.instance, d.number
	}
	n := integer(a[0])
	if n < 0 || n >= int64(len(instance.Nodes)) {
		return nil, sqlerr.Unsupported("A node of an instance that has changed since nodes() found it")
	}
	x, err := cache.expression(a[1].(string))
	if err != nil {
		return nil, err
	}
	c := &xmlCall{instance: instance, number: number, node: instance.Nodes[n], query: x.query}
	c.values, err = accessorValues(a[2].(string), x.kinds)
	return c, err
}

// accessorValues are the values of sql:variable() and sql:column() in their types.
func accessorValues(text string, kinds []xquery.Kind) ([]*xquery.Atom, *sqlerr.Error) {
	if text == "[]" {
		return nil, nil
	}
	var texts []*string
	if err := json.Unmarshal([]byte(text), &texts); err != nil {
		return nil, internalError(err)
	}
	out := make([]*xquery.Atom, len(kinds))
	for i := range min(len(kinds), len(texts)) {
		if texts[i] != nil {
			out[i] = xquery.Read(kinds[i], *texts[i])
		}
	}
	return out, nil
}

func (c *xmlCache) instance(text string) (*cachedInstance, *sqlerr.Error) {
	if d := c.instances[text]; d != nil {
		return d, nil
	}
	d, err := xmldata.Parse(text, xmldata.Options{Preserve: true, Decoded: true})
	if err != nil {
		return nil, err
	}
	if c.instances == nil || len(c.instances) >= maxCachedInstances || c.size+len(text) > maxCachedSize {
		c.instances, c.known, c.size = map[string]*cachedInstance{}, map[int64]*xmldata.Instance{}, 0
	}
	c.last++
	kept := &cachedInstance{instance: d, number: c.last}
	c.instances[text], c.known[c.last] = kept, d
	c.size += len(text)
	return kept, nil
}

func (c *xmlCache) expression(text string) (*compiledXML, *sqlerr.Error) {
	if x := c.expressions[text]; x != nil {
		return x, nil
	}
	e, static, err := readExpression(text)
	if err != nil {
		return nil, err
	}
	q, err := xquery.Compile(e.Text, static)
	if err != nil {
		return nil, err
	}
	if c.expressions == nil || len(c.expressions) >= maxCachedExpressions {
		c.expressions = map[string]*compiledXML{}
	}
	x := &compiledXML{query: q, kinds: e.Accessors}
	c.expressions[text] = x
	return x, nil
}

// readExpression reads what xmlText wrote. The types of the accessors are as they were when the statement was bound.
func readExpression(text string) (*xmlExpression, xquery.Static, *sqlerr.Error) {
	e := &xmlExpression{}
	if err := json.Unmarshal([]byte(text), e); err != nil {
		return nil, xquery.Static{}, internalError(err)
	}
	seen := map[xquery.Accessor]xquery.Type{}
	return e, e.static(xquery.AnyUse, func(a xquery.Accessor) (xquery.Type, *sqlerr.Error) {
		if t, ok := seen[a]; ok {
			return t, nil
		}
		if len(seen) >= len(e.Accessors) {
			return xquery.Type{}, sqlerr.Unsupported("An accessor without a value")
		}
		seen[a] = xquery.Optional(e.Accessors[len(seen)])
		return seen[a], nil
	}), nil
}

// accessorTexts writes values as XQuery has them: a JSON array of texts.
func accessorTexts(e *evaluation, a []any) (any, *sqlerr.Error) {
	texts := make([]*string, len(a))
	for i, v := range a {
		if v == nil {
			continue
		}
		s := accessorText(v, e.types[i])
		texts[i] = &s
	}
	out, err := json.Marshal(texts)
	if err != nil {
		return nil, internalError(err)
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
		return isoText(x, t)
	}
	return text(v, t)
}
