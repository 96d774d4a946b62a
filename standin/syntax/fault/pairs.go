// SPDX-License-Identifier: Apache-2.0

package fault

import (
	"strings"

	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/syntax/token"
)

// danglers are words that something must follow.
var danglers = strings.Fields("FROM WHERE AND OR NOT SET BY IN JOIN INTO AS LIKE BETWEEN SELECT INSERT " +
	"HAVING UNION EXCEPT INTERSECT WHEN THEN CREATE ALTER DROP EXEC EXECUTE DECLARE INNER CROSS USE WITH OPEN CLOSE " +
	"DEALLOCATE FETCH")

// dangling refuses a statement that ends with a word that something must follow; teesql lets some of them pass.
// Tokens inside of package syntax's statements have been judged.
func dangling(tokens []token.Token, inside []bool) *sqlerr.Error {
	body := token.ModuleBody(tokens, "PROCEDURE")
	for i := 0; i+1 < len(tokens); i++ {
		t, next := tokens[i], tokens[i+1]
		if inside[i] || i+1 == body || t.Kind != token.Word || next.Kind != token.End && !next.Is(";") && !next.Is(")") ||
			!t.Reserved {
			continue
		}
		if next.Is(")") && (t.Is("JOIN") || t.Is("UNION")) {
			continue // a query hint
		}
		for _, word := range danglers {
			switch {
			case !t.Is(word):
			case next.Is(")") && token.BeginsStatement(t): // in place of a name in a list
				return token.Near(tokens, i)
			default:
				return token.Near(tokens, i+1)
			}
		}
	}
	return nil
}

// impossiblePair refuses words that can't follow one another and that teesql lets pass: FROM without a table, a comma
// before the end of a list (before a parenthesis CREATE TABLE allows one), PRIMARY and FOREIGN without KEY, CONSTRAINT
// without a name.
func impossiblePair(tokens []token.Token, inside []bool) *sqlerr.Error {
	for i := 0; i+1 < len(tokens); i++ {
		next := tokens[i+1]
		switch {
		case inside[i]:
		case tokens[i].Is(","):
			if next.Kind == token.End || next.Is(";") || next.Is("FROM") || next.Is("WHERE") ||
				next.Is(")") && !definesTable(tokens, i+1) {
				return token.Near(tokens, i+1)
			}
		case tokens[i].Is("BEGIN") && (next.Is(";") || next.Is("TRY")):
			if at := emptyBlock(tokens, i+1); at > 0 {
				return token.Near(tokens, at)
			}
		case tokens[i].Is("BEGIN") && next.Is("END"), tokens[i].Is("AS") && next.Is("FROM"):
			return token.Near(tokens, i+1)
		case tokens[i].Is("PRIMARY"), tokens[i].Is("FOREIGN"):
			if !next.Is("KEY") && !next.Is("XML") {
				return token.Near(tokens, i+1)
			}
		case tokens[i].Is("CONSTRAINT"):
			if next.Is(")") || next.Is(",") {
				return token.Near(tokens, i+1)
			}
		case tokens[i].Is("FROM"):
			if next.Is("WHERE") || next.Is("GROUP") || next.Is("ORDER") || next.Is("HAVING") || next.Is("FROM") {
				return token.Near(tokens, i+1)
			}
		}
	}
	return nil
}

// emptyBlock finds what follows the END of a block that has nothing, or semicolons alone, from the token behind its
// BEGIN on: END may begin END CONVERSATION there.
func emptyBlock(tokens []token.Token, at int) int {
	if tokens[at].Is("TRY") {
		at++
	}
	for tokens[at].Is(";") {
		at++
	}
	if !tokens[at].Is("END") || tokens[at+1].Is("CONVERSATION") {
		return 0
	}
	return at + 1
}

// definesTable tells whether the parenthesis that closes at token closing is the definition of a table that CREATE
// TABLE makes.
func definesTable(tokens []token.Token, closing int) bool {
	return namesTable(tokens, token.OpeningParenthesis(tokens, closing)-1)
}
