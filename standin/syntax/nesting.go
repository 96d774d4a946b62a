// SPDX-License-Identifier: Apache-2.0

package syntax

import (
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/syntax/token"
)

// What a batch may nest, and how many operators may follow each other: whoever walks over a tree goes as deep as it is,
// and a process whose stack is full ends. SQL Server has error 191 for it and no documented figure.
const (
	maxNesting = 1000
	maxChain   = 10000
)

// level is what stands within one parenthesis, CASE or BEGIN.
type level struct {
	// What has no end of its own makes its place deeper: signs and NOT, IF and WHILE, ELSE, COLLATE.
	signs, conditions, otherwise, collations int
	// operators of one expression, sets of one query.
	operators, sets int
	// byCase tells that it is that of a CASE.
	byCase bool
}

func (l *level) deep() int { return l.signs + l.conditions + l.otherwise + l.collations }

// clauses begin another expression.
var clauses = token.Words("SELECT FROM WHERE HAVING GROUP ORDER ON SET VALUES WHEN THEN ELSE JOIN IF WHILE RETURN " +
	"PRINT")

// joining are the operators of two values, and of two conditions.
var joining = token.Words("AND OR + - * / % & | ^ ||")

// conditional are reserved words that a condition may have outside of parentheses; another one begins the statement
// behind it.
var conditional = token.Words(
	"AND OR NOT IS NULL LIKE IN BETWEEN EXISTS ESCAPE COLLATE ANY SOME ALL CONTAINS FREETEXT COALESCE NULLIF CONVERT " +
		"TRY_CONVERT LEFT RIGHT " +
		"USER CURRENT_USER SESSION_USER SYSTEM_USER CURRENT_TIMESTAMP CURRENT_DATE CURRENT_TIME IDENTITY",
)

// tooDeep refuses a batch that is nested too deeply (191).
func tooDeep(tokens []token.Token) *sqlerr.Error {
	levels, around := []level{{}}, 0
	for i := 0; i+1 < len(tokens); i++ {
		t, next, now := tokens[i], tokens[i+1], &levels[len(levels)-1]
		if t.Kind != token.Word && t.Kind != token.Punct {
			now.signs = 0
			continue
		}
		switch {
		case t.Is("("),
			t.Is("CASE"),
			t.Is("BEGIN") && !next.IsOneOf("TRAN", "TRANSACTION", "DISTRIBUTED", "CONVERSATION", "DIALOG"):
			around += 1 + now.deep()
			levels = append(levels, level{byCase: t.Is("CASE")})
		case t.Is(")"), t.Is("END"):
			if len(levels) > 1 {
				block := t.Is("END") && !now.byCase
				levels = levels[:len(levels)-1]
				around -= 1 + levels[len(levels)-1].deep()
				if levels[len(levels)-1].signs = 0; block {
					levels[len(levels)-1].conditions = 0
				}
			}
		default:
			now.count(tokens, i)
		}
		now = &levels[len(levels)-1]
		if around+now.deep() > maxNesting || now.operators > maxChain || now.sets > maxNesting {
			return sqlerr.New(191, 1).At(t.Line)
		}
	}
	return nil
}

// count takes a token into account that neither begins nor ends a level.
func (l *level) count(tokens []token.Token, at int) {
	t := tokens[at]
	sign := t.IsOneOf("NOT", "-", "+", "~")
	switch {
	case sign:
		l.signs++
	case t.Is("COLLATE"):
		l.collations++
	default:
		l.signs = 0
	}
	switch {
	case joining[t.Fold]:
		l.operators++
	case t.Is(";"), t.Is(","), clauses[t.Fold]:
		l.operators, l.collations = 0, 0
	}
	switch {
	case t.IsOneOf("UNION", "EXCEPT", "INTERSECT"):
		l.sets++
	case t.Is("SELECT") && at > 0 && !tokens[at-1].IsOneOf("UNION", "EXCEPT", "INTERSECT", "ALL"):
		l.sets = 0
	}
	switch {
	case t.IsOneOf("IF", "WHILE"):
		if l.conditions == 0 && (at == 0 || !tokens[at-1].Is("ELSE")) {
			l.otherwise = 0
		}
		l.conditions++
	case t.Is("ELSE") && !l.byCase:
		l.otherwise++
	case t.Is(";"),
		t.Kind == token.Word && t.Reserved && !conditional[t.Fold] && !(t.Is("UPDATE") && tokens[at+1].Is("(")):
		l.conditions = 0
	}
}
