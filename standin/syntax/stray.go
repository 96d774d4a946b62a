// SPDX-License-Identifier: Apache-2.0

package syntax

import "geosql.dev/standin/sqlerr"

// formerKeywords are on the list of reserved words and name columns and tables all the same: the statements that they
// were of are gone, or have them in places where no name stands.
var formerKeywords = wordSet("DISK DUMP LOAD PRECISION SECURITYAUDIT WITHIN")

// isKeyword tells whether an unquoted word can't be a name.
func isKeyword(word string) bool { return isReserved(word) && !formerKeywords[upper(word)] }

func (t token) isKeyword() bool { return t.reserved && !formerKeywords[t.fold] }

// stray refuses tokens that stand where nothing of the kind may, and which teesql reads over: the end of a name after
// its dot, commas and semicolons within a list, an empty list of options, and halves of what a column or constraint is
// declared with.
func stray(tokens []token, inside []bool) *sqlerr.Error {
	depth := 0
	for i := 0; i+1 < len(tokens); i++ {
		t := tokens[i]
		switch {
		case t.is("("):
			depth++
		case t.is(")"):
			depth--
		}
		if i == 0 || inside[i] {
			continue
		}
		if tokens[i-1].is(".") && !followsDot(t) {
			return near(tokens, i)
		}
		var err *sqlerr.Error
		switch t.kind {
		case tokenPunct:
			err = strayPunctuation(tokens, i, depth)
		case tokenWord:
			err = strayWord(tokens, i)
		case tokenVariable:
			if tokens[i-1].isOneOf("(", ",") && isName(tokens[i+1]) && namesTable(tokens, opensBefore(tokens, i)-1) {
				err = near(tokens, i)
			}
		}
		if err != nil {
			return err
		}
	}
	if last := len(tokens) - 1; last > 0 && tokens[last-1].is(".") && !inside[last-1] {
		return near(tokens, last)
	}
	return nil
}

// followsDot tells whether a token may stand behind the dot of a name.
func followsDot(t token) bool {
	switch t.kind {
	case tokenWord:
		return !t.isKeyword() || t.isOneOf("IDENTITYCOL", "ROWGUIDCOL")
	case tokenPunct:
		return t.isOneOf(".", "*", "$")
	case tokenEnd, tokenVariable, tokenString, tokenInteger:
		return false
	}
	return true
}

func strayPunctuation(tokens []token, i, depth int) *sqlerr.Error {
	t, before := tokens[i], tokens[i-1]
	switch {
	case t.is(",") && before.isOneOf(",", "(", "SELECT", "BY", "FROM", "WHERE"), t.is(";") && depth > 0:
		return near(tokens, i)
	case t.is("(") && tokens[i+1].is(")"):
		inFor := before.isOneOf("PATH", "RAW", "ROOT") && i > 1 && tokens[i-2].isOneOf("XML", "JSON", ",")
		if before.isOneOf("WITH", "OPTION", "OPENJSON") || inFor && depth > 0 && forBefore(tokens, i) {
			return near(tokens, i+1)
		}
	}
	return nil
}

// forBefore tells whether the token at is within the options of FOR XML or FOR JSON.
func forBefore(tokens []token, at int) bool {
	for at--; at > 0 && (isName(tokens[at]) || tokens[at].isOneOf(",", "(", ")") || tokens[at].kind == tokenString); at-- {
		if tokens[at].isOneOf("XML", "JSON") && tokens[at-1].is("FOR") {
			return true
		}
	}
	return false
}

func strayWord(tokens []token, i int) *sqlerr.Error {
	before, next := tokens[i-1], tokens[i+1]
	switch tokens[i].fold {
	case "NOT":
		if next.isOneOf(",", "PRIMARY", "UNIQUE", "CONSTRAINT", "CHECK", "DEFAULT", "IDENTITY", "REFERENCES") ||
			next.is("ENFORCED") && before.isOneOf(")", "KEY", "UNIQUE", "CLUSTERED", "NONCLUSTERED") {
			return near(tokens, i+1)
		}
	case "REFERENCES":
		if before.isOneOf("(", ",") {
			return sqlerr.New(142, 2, "TABLE").At(tokens[i].line)
		}
	case "ON", "TEXTIMAGE_ON", "FILESTREAM_ON":
		if (before.is(")") || !tokens[i].is("ON")) && (next.kind == tokenEnd || next.isOneOf(",", ";")) {
			return near(tokens, i+1)
		}
	case "INDEX":
		if before.is("(") && i > 1 && isName(tokens[i-2]) && next.isOneOf("(", "=") && !namesTable(tokens, i-2) {
			return sqlerr.New(1018, 1, tokens[i].text).At(tokens[i].line)
		}
	case "OPENJSON":
		if next.is("(") {
			return badOpenJSON(tokens, i+1)
		}
	case "GENERATED":
		if next.isOneOf("ALWAYS", "AS") && ofAlterColumn(tokens, i) {
			return sqlerr.Unsupported("GENERATED ALWAYS").At(tokens[i].line)
		}
	}
	return nil
}

// ofAlterColumn tells whether the word at a token follows the type of ALTER COLUMN.
func ofAlterColumn(tokens []token, at int) bool {
	for at--; at > 1 && (isName(tokens[at]) || tokens[at].isOneOf("(", ")", ",", ".") ||
		tokens[at].kind == tokenInteger); at-- {
	}
	return at > 0 && tokens[at].is("COLUMN") && tokens[at-1].is("ALTER")
}

// badOpenJSON judges the arguments of OPENJSON, an expression and a path, and the first column of its WITH
// (docs/t-sql/functions/openjson-transact-sql.md, Syntax).
func badOpenJSON(tokens []token, opening int) *sqlerr.Error {
	depth, commas := 0, 0
	for i := opening; i+1 < len(tokens); i++ {
		switch t := tokens[i]; {
		case t.is("("):
			depth++
		case t.is(",") && depth == 1:
			if commas++; commas > 1 {
				return near(tokens, i)
			}
		case t.is(")"):
			if depth--; depth > 0 {
				continue
			}
			if tokens[i+1].is("WITH") && i+3 < len(tokens) && tokens[i+2].is("(") && tokens[i+3].kind == tokenString {
				return near(tokens, i+3)
			}
			return nil
		}
	}
	return nil
}

// namesTable tells whether the name that ends at a token is that of the table which CREATE TABLE makes.
func namesTable(tokens []token, at int) bool {
	for at >= 2 && tokens[at-1].is(".") {
		at -= 2
	}
	return at >= 1 && (tokens[at-1].is("TABLE") || tokens[at-1].is("EXISTS"))
}
