// SPDX-License-Identifier: Apache-2.0

package bind

import (
	"fmt"
	"reflect"
	"regexp"
	"strings"

	"github.com/sqlc-dev/teesql/ast"
)

// PlainName is a name that is written as an identifier or a string, and is no variable; empty for none.
func PlainName(n *ast.IdentifierOrValueExpression) string {
	switch {
	case n == nil:
		return ""
	case n.Identifier != nil:
		return n.Identifier.Value
	}
	if text, ok := n.ValueExpression.(*ast.StringLiteral); ok {
		return text.Value
	}
	return n.Value
}

// EachNode calls f with every pointer to a struct below v.
func EachNode(v reflect.Value, f func(any)) {
	switch v.Kind() {
	case reflect.Interface:
		if !v.IsNil() {
			EachNode(v.Elem(), f)
		}
	case reflect.Pointer:
		if !v.IsNil() && v.Elem().Kind() == reflect.Struct {
			f(v.Interface())
			EachNode(v.Elem(), f)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				EachNode(v.Field(i), f)
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			EachNode(v.Index(i), f)
		}
	}
}

// plainNames are of what a reader of a message may not know by the parser's name.
var plainNames = map[string]string{
	"OpenRowsetTableReference":           "OPENROWSET with a provider",
	"VariableMethodCallTableReference":   "by a method of xml",
	"AdHocTableReference":                "OPENDATASOURCE",
	"SchemaObjectFunctionTableReference": "a table-valued function",
	"GlobalFunctionTableReference":       "a table-valued function",
	"BuiltInFunctionTableReference":      "a table-valued function",
	"OpenJsonTableReference":             "OPENJSON",
	"OpenXmlTableReference":              "OPENXML",
	"BulkOpenRowset":                     "OPENROWSET (BULK)",
	"OpenQueryTableReference":            "OPENQUERY",
	"FullTextTableReference":             "CONTAINSTABLE or FREETEXTTABLE",
	"SemanticTableReference":             "a semantic function",
	"ExecuteAsTriggerOption":             "EXECUTE AS",
	"FullTextPredicate":                  "CONTAINS or FREETEXT",
	"GraphMatchPredicate":                "MATCH",
}

// NodeName is what a node of the tree is, in words.
func NodeName(node any) string {
	name := strings.TrimPrefix(strings.TrimPrefix(fmt.Sprintf("%T", node), "*ast."), "*syntax.")
	if plain := plainNames[name]; plain != "" {
		return plain
	}
	return Words(name)
}

// Words is a name of Go as words.
func Words(name string) string { return wordEnd.ReplaceAllString(name, "$1 $2") }

var wordEnd = regexp.MustCompile("([a-z])([A-Z])")
