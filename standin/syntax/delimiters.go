// SPDX-License-Identifier: Apache-2.0

package syntax

import (
	"strings"

	"github.com/sqlc-dev/teesql/ast"
)

// undelimit takes the brackets or quotes off the name that a node is, where teesql leaves them on: labels,
// transactions, the columns of a view, the indexes of hints, and words that are arguments. The name is the same with
// and without them (docs/relational-databases/databases/database-identifiers.md, "Classes of identifiers").
func undelimit(node any) {
	switch n := node.(type) {
	case *ast.Identifier:
		if n != nil && (n.QuoteType == "" || n.QuoteType == "NotQuoted") {
			n.Value = withoutDelimiters(n.Value)
		}
	case *ast.IdentifierOrValueExpression:
		if n != nil && n.Identifier != nil {
			n.Value = withoutDelimiters(n.Value)
		}
	case *ast.IdentifierLiteral:
		if n != nil {
			n.Value = withoutDelimiters(n.Value)
		}
	case *ast.LabelStatement:
		if name, ok := strings.CutSuffix(n.Value, ":"); ok {
			n.Value = withoutDelimiters(name) + ":"
		}
	}
}

func withoutDelimiters(name string) string {
	if len(name) < 2 || !strings.HasPrefix(name, "[") && !strings.HasPrefix(name, `"`) {
		return name
	}
	closing := "]"
	if name[0] == '"' {
		closing = `"`
	}
	if !strings.HasSuffix(name, closing) {
		return name
	}
	return strings.ReplaceAll(name[1:len(name)-1], closing+closing, closing)
}
