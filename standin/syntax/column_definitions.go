// SPDX-License-Identifier: Apache-2.0

package syntax

import "geosql.dev/standin/sqlerr"

// Words that definitions of columns have (docs/t-sql/statements/create-table-transact-sql.md and
// alter-table-transact-sql.md, Syntax).
var (
	// constraintWords are those that a constraint or an index of a table begins with.
	constraintWords = wordSet("CONSTRAINT PRIMARY UNIQUE FOREIGN CHECK DEFAULT INDEX")
	// namedConstraints are those that follow the name of a constraint.
	namedConstraints = wordSet("PRIMARY UNIQUE FOREIGN CHECK DEFAULT NOT NULL REFERENCES CONNECTION")
	// afterType are those that go on with a column after its type.
	afterType = wordSet(
		"NOT NULL PRIMARY UNIQUE FOREIGN CHECK DEFAULT CONSTRAINT REFERENCES COLLATE IDENTITY INDEX ROWGUIDCOL",
	)
	// typeWords are reserved words that a type begins with.
	typeWords = wordSet("DOUBLE NATIONAL")
)

// badColumns judges definitions of columns, of which teesql lets halves pass: each has a name and a type (173).
func badColumns(tokens []token, inside []bool) *sqlerr.Error {
	for i := 1; i+1 < len(tokens); i++ {
		if inside[i] {
			continue
		}
		var err *sqlerr.Error
		switch t := tokens[i]; {
		case t.is("(") && opensColumns(tokens, i):
			err = badElements(tokens, i+1, closingParenthesis(tokens, i))
		case t.is("ADD") && ofAlterTable(tokens, i):
			err = badElements(tokens, i+1, endOfElements(tokens, i+1))
		case t.is("COLUMN") && tokens[i-1].is("ALTER") && ofAlterTable(tokens, i-1):
			err = badAlteredColumn(tokens, i+1)
		case t.is("CONSTRAINT") && !tokens[i-1].isOneOf("DROP", "CHECK", "NOCHECK", ",", "EXISTS"):
			err = badConstraint(tokens, i)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// opensColumns tells whether a parenthesis opens the columns of a table: of CREATE TABLE, of a type and of a variable.
func opensColumns(tokens []token, opening int) bool {
	at := opening - 1
	if tokens[at].is("TABLE") {
		return at > 1 && (tokens[at-1].is("AS") || tokens[at-1].kind == tokenVariable)
	}
	for at > 1 && (isName(tokens[at]) || tokens[at].is(".")) {
		at--
	}
	return at > 0 && at < opening-1 && tokens[at].is("TABLE") && tokens[at-1].is("CREATE")
}

// endOfElements is where the list of ALTER TABLE ... ADD is over at the latest: what follows it may need no semicolon
// before it.
func endOfElements(tokens []token, at int) int {
	for depth := 0; at+1 < len(tokens); at++ {
		t := tokens[at]
		switch {
		case t.is("("):
			depth++
		case t.is(")"):
			depth--
		case depth != 0:
		case t.is(";"):
			return at
		case t.kind == tokenWord && t.reserved && beginsStatement(t) && !tokens[at-1].is("ON") &&
			!(t.is("SET") && tokens[at+1].isOneOf("NULL", "DEFAULT")):
			return at
		}
	}
	return len(tokens) - 1
}

// badElements judges the elements of a list from a token on, which ends before another one.
func badElements(tokens []token, from, end int) *sqlerr.Error {
	for begin := from; begin < end; {
		next, depth := begin, 0
		for ; next < end && (depth > 0 || !tokens[next].is(",")); next++ {
			switch {
			case tokens[next].is("("):
				depth++
			case tokens[next].is(")"):
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

func badElement(tokens []token, begin, end int) *sqlerr.Error {
	name := tokens[begin]
	switch {
	case name.is("CONSTRAINT"):
		return badConstraint(tokens, begin)
	case begin < end && name.kind != tokenWord && !isName(name):
		return near(tokens, begin)
	case begin == end,
		name.kind == tokenWord && constraintWords[name.fold],
		name.is("PERIOD") && tokens[begin+1].is("FOR"),
		!isName(name):
		return nil
	case begin+1 == end:
		return withoutType(name)
	}
	return badColumnType(tokens, begin, begin+1)
}

// badConstraint judges a constraint from its CONSTRAINT on: a kind follows its name.
func badConstraint(tokens []token, at int) *sqlerr.Error {
	if !isName(tokens[at+1]) {
		return nil
	}
	if kind := tokens[at+2]; kind.kind != tokenWord || !namedConstraints[kind.fold] {
		return near(tokens, at+2)
	}
	return nil
}

// withoutType is 173, unless the column is a timestamp: its type may be its name
// (docs/t-sql/data-types/rowversion-transact-sql.md, Remarks).
func withoutType(name token) *sqlerr.Error {
	if name.is("TIMESTAMP") {
		return nil
	}
	return sqlerr.New(173, 1, name.value).At(name.line)
}

// badColumnType judges what follows the name of a column in a list.
func badColumnType(tokens []token, name, at int) *sqlerr.Error {
	t := tokens[at]
	switch {
	case t.is("AS"):
		return nil
	case t.kind == tokenWord && afterType[t.fold]:
		return withoutType(tokens[name])
	case !beginsType(t):
		return near(tokens, at)
	}
	return badLength(tokens, at)
}

func beginsType(t token) bool { return isName(t) || t.kind == tokenWord && typeWords[t.fold] }

// badLength judges the length, or precision and scale, of the type that begins at a token: whole numbers and words.
func badLength(tokens []token, at int) *sqlerr.Error {
	at = afterName(tokens, at)
	if !tokens[at].is("(") {
		return nil
	}
	for i, end := at, closingParenthesis(tokens, at); i < end; i++ {
		if !tokens[i].is("(") && !tokens[i].is(",") {
			continue
		}
		if value := tokens[i+1]; value.kind != tokenInteger && !isName(value) && !value.isOneOf("-", "+") {
			return near(tokens, i+1)
		}
	}
	return nil
}

// badAlteredColumn judges ALTER COLUMN from the name of its column on.
func badAlteredColumn(tokens []token, at int) *sqlerr.Error {
	switch next := tokens[min(at+1, len(tokens)-1)]; {
	case !isName(tokens[at]):
		return near(tokens, at)
	case next.isOneOf("ADD", "DROP"):
		return nil
	case !beginsType(next):
		return near(tokens, at+1)
	}
	return badLength(tokens, at+1)
}
