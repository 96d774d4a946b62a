// SPDX-License-Identifier: Apache-2.0

package syntax

import (
	"reflect"
	"strings"

	"github.com/sqlc-dev/teesql/ast"

	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/sqltype"
)

// dataTypes is the error of the first system type in a statement with lengths, precisions or scales that it cannot
// have, which the text alone tells; nil when there is none. Types that are not known here may be those of users. On its
// way, which is the one over all nodes, it takes the delimiters off names.
func dataTypes(node ast.Statement) *sqlerr.Error {
	return badType(reflect.ValueOf(node), Line(node))
}

func badType(v reflect.Value, line int32) *sqlerr.Error {
	switch v.Kind() {
	case reflect.Interface, reflect.Pointer:
		if v.IsNil() {
			return nil
		}
		if at := Line(v.Interface()); at > 0 {
			line = at
		}
		if v.Kind() == reflect.Pointer { // once: an interface's is the same node
			undelimit(v.Interface())
		}
		if t, ok := v.Interface().(*ast.SqlDataTypeReference); ok {
			return sizes(t, false).At(line)
		}
		if t, ok := v.Interface().(*ast.UserDataTypeReference); ok {
			if err := tooDeepType(t); err != nil {
				return err.At(line)
			}
		}
		if t, ok := converted(v.Interface()).(*ast.SqlDataTypeReference); ok && t != nil {
			if err := sizes(t, true); err != nil {
				return err.At(line)
			}
		}
		return badType(v.Elem(), line)
	case reflect.Slice:
		if k := v.Type().Elem().Kind(); k != reflect.Pointer && k != reflect.Interface {
			return nil
		}
		n := v.Len()
		if v.Type() == reflect.TypeFor[[]*ast.RowValue]() {
			n = min(n, rowsLookedAt)
		}
		for i := range n {
			if err := badType(v.Index(i), line); err != nil {
				return err
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if !v.Type().Field(i).IsExported() {
				continue
			}
			switch v.Field(i).Kind() {
			case reflect.Interface, reflect.Pointer, reflect.Slice, reflect.Struct:
				if err := badType(v.Field(i), line); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// converted is the type that a node converts a value to, nil for other nodes.
func converted(node any) ast.DataTypeReference {
	switch n := node.(type) {
	case *ast.CastCall:
		return n.DataType
	case *ast.ConvertCall:
		return n.DataType
	case *ast.TryCastCall:
		return n.DataType
	case *ast.TryConvertCall:
		return n.DataType
	}
	return nil
}

// sizes judges the arguments of a type that is written in a CAST or elsewhere.
func sizes(t *ast.SqlDataTypeReference, inCast bool) *sqlerr.Error {
	var args []string
	for _, p := range t.Parameters {
		switch l := p.(type) {
		case *ast.IntegerLiteral:
			args = append(args, l.Value)
		case *ast.MaxLiteral:
			args = append(args, "max")
		default:
			return nil
		}
	}
	name := strings.ToLower(t.SqlDataTypeOption)
	if t.Name != nil && t.Name.BaseIdentifier != nil {
		name = strings.ToLower(t.Name.BaseIdentifier.Value)
	}
	if len(args) == 0 {
		return nil
	}
	_, err := sqltype.Named(name, args, inCast)
	switch {
	case err == nil, err.Number == 243, err.Number == 131, err.Number == 2717:
		return nil // the last two name what the type is of
	}
	return err
}
