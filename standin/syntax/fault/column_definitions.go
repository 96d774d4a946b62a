// SPDX-License-Identifier: Apache-2.0

package fault

import (
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/syntax/token"
)

// Words that definitions of columns have (docs/t-sql/statements/create-table-transact-sql.md and
// alter-table-transact-sql.md, Syntax).
var (
	// constraintWords are those that a constraint or an index of a table begins with.
	constraintWords = token.Words("CONSTRAINT PRIMARY UNIQUE FOREIGN CHECK DEFAULT INDEX")
	// namedConstraints are those that follow the name of a constraint.
	namedConstraints = token.Words("PRIMARY UNIQUE FOREIGN CHECK DEFAULT NOT NULL REFERENCES CONNECTION")
	// afterType are those that go on with a column after its type.
	afterType = token.Words(
		"NOT NULL PRIMARY UNIQUE FOREIGN CHECK DEFAULT CONSTRAINT REFERENCES COLLATE IDENTITY INDEX ROWGUIDCOL",
	)
	// typeWords are reserved words that a type begins with.
	typeWords = token.Words("DOUBLE NATIONAL")
)

// badColumns judges definitions of columns, of which teesql lets halves pass: each has a name and a type (173).
func badColumns(tokens []token.Token, inside []bool) *sqlerr.Error {
	for i := 1; i+1 < len(tokens); i++ {
		if inside[i] {
			continue
		}
		var err *sqlerr.Error
		switch t := tokens[i]; {
		case t.Is("(") && opensColumns(tokens, i):
			err = badElements(tokens, i+1, token.ClosingParenthesis(tokens, i))
		case t.Is("ADD") && token.OfAlterTable(tokens, i):
			err = badElements(tokens, i+1, endOfElements(tokens, i+1))
		case t.Is("COLUMN") && tokens[i-1].Is("ALTER") && token.OfAlterTable(tokens, i-1):
			err = badAlteredColumn(tokens, i+1)
		case t.Is("CONSTRAINT") && !tokens[i-1].IsOneOf("DROP", "CHECK", "NOCHECK", ",", "EXISTS"):
			err = badConstraint(tokens, i)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// opensColumns tells whether a parenthesis opens the columns of a table: of CREATE TABLE, of a type and of a variable.
func opensColumns(tokens []token.Token, opening int) bool {
	at := opening - 1
	if tokens[at].Is("TABLE") {
		return at > 1 && (tokens[at-1].Is("AS") || tokens[at-1].Kind == token.Variable)
	}
	for at > 1 && (token.IsName(tokens[at]) || tokens[at].Is(".")) {
		at--
	}
	return at > 0 && at < opening-1 && tokens[at].Is("TABLE") && tokens[at-1].Is("CREATE")
}

// endOfElements is where the list of ALTER TABLE ... ADD is over at the latest: what follows it may need no semicolon
// before it.
func endOfElements(tokens []token.Token, at int) int {
	for depth := 0; at+1 < len(tokens); at++ {
		t := tokens[at]
		switch {
		case t.Is("("):
			depth++
		case t.Is(")"):
			depth--
		case depth != 0:
		case t.Is(";"):
			return at
		case t.Kind == token.Word && t.Reserved && token.BeginsStatement(t) && !tokens[at-1].Is("ON") &&
			!(t.Is("SET") && tokens[at+1].IsOneOf("NULL", "DEFAULT")):
			return at
		}
	}
	return len(tokens) - 1
}

// badElements judges the elements of a list from a token on, which ends before another one.
func badElements(tokens []token.Token, from, end int) *sqlerr.Error {
	for begin := from; begin < end; {
		next, depth := begin, 0
		for ; next < end && (depth > 0 || !tokens[next].Is(",")); next++ {
			switch {
			case tokens[next].Is("("):
				depth++
			case tokens[next].Is(")"):
				depth--
			}
		}
		if err := badElement(tokens, begin, next); err != nil {
			return err
		}
		begin = next + 1
	}
	return nil
}

func badElement(tokens []token.Token, begin, end int) *sqlerr.Error {
	name := tokens[begin]
	switch {
	case name.Is("CONSTRAINT"):
		return badConstraint(tokens, begin)
	case begin < end && name.Kind != token.Word && !token.IsName(name):
		return token.Near(tokens, begin)
	case begin == end,
		name.Kind == token.Word && constraintWords[name.Fold],
		name.Is("PERIOD") && tokens[begin+1].Is("FOR"),
		!token.IsName(name):
		return nil
	case begin+1 == end:
		return withoutType(name)
	}
	return badColumnType(tokens, begin, begin+1)
}

// badConstraint judges a constraint from its CONSTRAINT on: a kind follows its name.
func badConstraint(tokens []token.Token, at int) *sqlerr.Error {
	if !token.IsName(tokens[at+1]) {
		return nil
	}
	if kind := tokens[at+2]; kind.Kind != token.Word || !namedConstraints[kind.Fold] {
		return token.Near(tokens, at+2)
	}
	return nil
}

// withoutType is 173, unless the column is a timestamp: its type may be its name
// (docs/t-sql/data-types/rowversion-transact-sql.md, Remarks).
func withoutType(name token.Token) *sqlerr.Error {
	if name.Is("TIMESTAMP") {
		return nil
	}
	return sqlerr.New(173, 1, name.Value).At(name.Line)
}

// badColumnType judges what follows the name of a column in a list.
func badColumnType(tokens []token.Token, name, at int) *sqlerr.Error {
	t := tokens[at]
	switch {
	case t.Is("AS"):
		return nil
	case t.Kind == token.Word && afterType[t.Fold]:
		return withoutType(tokens[name])
	case !beginsType(t):
		return token.Near(tokens, at)
	}
	return badLength(tokens, at)
}

func beginsType(t token.Token) bool {
	return token.IsName(t) || t.Kind == token.Word && typeWords[t.Fold]
}

// badLength judges the length, or precision and scale, of the type that begins at a token: whole numbers and words.
func badLength(tokens []token.Token, at int) *sqlerr.Error {
	at = token.AfterName(tokens, at)
	if !tokens[at].Is("(") {
		return nil
	}
	for i, end := at, token.ClosingParenthesis(tokens, at); i < end; i++ {
		if !tokens[i].Is("(") && !tokens[i].Is(",") {
			continue
		}
		if value := tokens[i+1]; value.Kind != token.Integer && !token.IsName(value) && !value.IsOneOf("-", "+") {
			return token.Near(tokens, i+1)
		}
	}
	return nil
}

// badAlteredColumn judges ALTER COLUMN from the name of its column on.
func badAlteredColumn(tokens []token.Token, at int) *sqlerr.Error {
	switch next := tokens[min(at+1, len(tokens)-1)]; {
	case !token.IsName(tokens[at]):
		return token.Near(tokens, at)
	case next.IsOneOf("ADD", "DROP"):
		return nil
	case !beginsType(next):
		return token.Near(tokens, at+1)
	}
	return badLength(tokens, at+1)
}
