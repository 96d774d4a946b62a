// SPDX-License-Identifier: Apache-2.0

package fault

import (
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/syntax/token"
)

// stray refuses tokens that stand where nothing of the kind may, and which teesql reads over: the end of a name after
// its dot, commas and semicolons within a list, an empty list of options, and halves of what a column or constraint is
// declared with.
func stray(tokens []token.Token, inside []bool) *sqlerr.Error {
	depth := 0
	for i := 0; i+1 < len(tokens); i++ {
		t := tokens[i]
		switch {
		case t.Is("("):
			depth++
		case t.Is(")"):
			depth--
		}
		if i == 0 || inside[i] {
			continue
		}
		if tokens[i-1].Is(".") && !followsDot(t) {
			return token.Near(tokens, i)
		}
		var err *sqlerr.Error
		switch t.Kind {
		case token.Punct:
			err = strayPunctuation(tokens, i, depth)
		case token.Word:
			err = strayWord(tokens, i)
		case token.Variable:
			if tokens[i-1].IsOneOf("(", ",") && token.IsName(tokens[i+1]) && namesTable(tokens, token.OpensBefore(tokens, i)-1) {
				err = token.Near(tokens, i)
			}
		}
		if err != nil {
			return err
		}
	}
	if last := len(tokens) - 1; last > 0 && tokens[last-1].Is(".") && !inside[last-1] {
		return token.Near(tokens, last)
	}
	return nil
}

// followsDot tells whether a token may stand behind the dot of a name.
func followsDot(t token.Token) bool {
	switch t.Kind {
	case token.Word:
		return !t.IsKeyword() || t.IsOneOf("IDENTITYCOL", "ROWGUIDCOL")
	case token.Punct:
		return t.IsOneOf(".", "*", "$")
	case token.End, token.Variable, token.String, token.Integer:
		return false
	}
	return true
}

func strayPunctuation(tokens []token.Token, i, depth int) *sqlerr.Error {
	t, before := tokens[i], tokens[i-1]
	switch {
	case t.Is(",") && before.IsOneOf(",", "(", "SELECT", "BY", "FROM", "WHERE"), t.Is(";") && depth > 0:
		return token.Near(tokens, i)
	case t.Is("(") && tokens[i+1].Is(")"):
		inFor := before.IsOneOf("PATH", "RAW", "ROOT") && i > 1 && tokens[i-2].IsOneOf("XML", "JSON", ",")
		if before.IsOneOf("WITH", "OPTION", "OPENJSON") || inFor && depth > 0 && forBefore(tokens, i) {
			return token.Near(tokens, i+1)
		}
	}
	return nil
}

// forBefore tells whether the token at is within the options of FOR XML or FOR JSON.
func forBefore(tokens []token.Token, at int) bool {
	inList := func(t token.Token) bool { return token.IsName(t) || t.IsOneOf(",", "(", ")") || t.Kind == token.String }
	for at--; at > 0 && inList(tokens[at]); at-- {
		if tokens[at].IsOneOf("XML", "JSON") && tokens[at-1].Is("FOR") {
			return true
		}
	}
	return false
}

func strayWord(tokens []token.Token, i int) *sqlerr.Error {
	before, next := tokens[i-1], tokens[i+1]
	switch tokens[i].Fold {
	case "NOT":
		if next.IsOneOf(",", "PRIMARY", "UNIQUE", "CONSTRAINT", "CHECK", "DEFAULT", "IDENTITY", "REFERENCES") ||
			next.Is("ENFORCED") && before.IsOneOf(")", "KEY", "UNIQUE", "CLUSTERED", "NONCLUSTERED") {
			return token.Near(tokens, i+1)
		}
	case "REFERENCES":
		if before.IsOneOf("(", ",") {
			return sqlerr.New(142, 2, "TABLE").At(tokens[i].Line)
		}
	case "ON", "TEXTIMAGE_ON", "FILESTREAM_ON":
		if (before.Is(")") || !tokens[i].Is("ON")) && (next.Kind == token.End || next.IsOneOf(",", ";")) {
			return token.Near(tokens, i+1)
		}
	case "INDEX":
		if before.Is("(") && i > 1 && token.IsName(tokens[i-2]) && next.IsOneOf("(", "=") && !namesTable(tokens, i-2) {
			return sqlerr.New(1018, 1, tokens[i].Text).At(tokens[i].Line)
		}
	case "OPENJSON":
		if next.Is("(") {
			return badOpenJSON(tokens, i+1)
		}
	case "GENERATED":
		if next.IsOneOf("ALWAYS", "AS") && ofAlterColumn(tokens, i) {
			return sqlerr.Unsupported("GENERATED ALWAYS").At(tokens[i].Line)
		}
	}
	return nil
}

// ofAlterColumn tells whether the word at a token follows the type of ALTER COLUMN.
func ofAlterColumn(tokens []token.Token, at int) bool {
	for at--; at > 1 && (token.IsName(tokens[at]) || tokens[at].IsOneOf("(", ")", ",", ".") ||
		tokens[at].Kind == token.Integer); at-- {
	}
	return at > 0 && tokens[at].Is("COLUMN") && tokens[at-1].Is("ALTER")
}

// badOpenJSON judges the arguments of OPENJSON, an expression and a path, and the first column of its WITH
// (docs/t-sql/functions/openjson-transact-sql.md, Syntax).
func badOpenJSON(tokens []token.Token, opening int) *sqlerr.Error {
	depth, commas := 0, 0
	for i := opening; i+1 < len(tokens); i++ {
		switch t := tokens[i]; {
		case t.Is("("):
			depth++
		case t.Is(",") && depth == 1:
			if commas++; commas > 1 {
				return token.Near(tokens, i)
			}
		case t.Is(")"):
			if depth--; depth > 0 {
				continue
			}
			if tokens[i+1].Is("WITH") && i+3 < len(tokens) && tokens[i+2].Is("(") && tokens[i+3].Kind == token.String {
				return token.Near(tokens, i+3)
			}
			return nil
		}
	}
	return nil
}

// namesTable tells whether the name that ends at a token is that of the table which CREATE TABLE makes.
func namesTable(tokens []token.Token, at int) bool {
	for at >= 2 && tokens[at-1].Is(".") {
		at -= 2
	}
	return at >= 1 && (tokens[at-1].Is("TABLE") || tokens[at-1].Is("EXISTS"))
}
