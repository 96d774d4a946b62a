// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"regexp"
	"strings"
)

func describe(node any) string {
	return strings.NewReplacer("COLUMN STORE", "COLUMNSTORE", "FULL TEXT", "FULLTEXT", " MODIFICATION", "").
		Replace(strings.TrimSuffix(strings.ToUpper(named(node)), " STATEMENT"))
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

// named is what a node of the tree is, in words.
func named(node any) string {
	name := strings.TrimPrefix(strings.TrimPrefix(fmt.Sprintf("%T", node), "*ast."), "*syntax.")
	if plain := plainNames[name]; plain != "" {
		return plain
	}
	return words(name)
}

// words is a name of Go as words.
func words(name string) string { return wordEnd.ReplaceAllString(name, "$1 $2") }

var wordEnd = regexp.MustCompile("([a-z])([A-Z])")
