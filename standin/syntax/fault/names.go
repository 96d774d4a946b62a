// SPDX-License-Identifier: Apache-2.0

package fault

import (
	"slices"
	"strings"

	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/syntax/token"
)

// MaxTypePrefixes is how many names the name of a type may have before it: its schema.
const MaxTypePrefixes = 1

// MaxPrefixes is how many names an object's own name may have before it: server, database and schema
// (docs/t-sql/language-elements/transact-sql-syntax-conventions-transact-sql.md, "Multipart names").
const MaxPrefixes = 3

// badName refuses names that are too long (103) or empty (1038): no place takes one
// (docs/relational-databases/databases/database-identifiers.md).
func badName(tokens []token.Token) *sqlerr.Error {
	for _, t := range tokens {
		switch t.Kind {
		case token.Word, token.Quoted, token.Variable:
		default:
			continue
		}
		name := t.Value
		if t.Kind == token.Variable {
			name = t.Text
		}
		switch {
		case name == "" && t.Kind == token.Quoted:
			return sqlerr.New(1038, 4).At(t.Line)
		case len(name) > token.MaxIdentifier && len([]rune(name)) > token.MaxIdentifier:
			return sqlerr.New(103, 4, "identifier", token.FirstRunes(name, token.MaxIdentifier), token.MaxIdentifier).At(t.Line)
		}
	}
	return nil
}

// deepName refuses an object's name with more prefixes than there are (117).
func deepName(tokens []token.Token) *sqlerr.Error {
	for i := 0; i+1 < len(tokens); i++ {
		if tokens[i].Kind != token.Word || !token.NamesObject[tokens[i].Fold] {
			continue
		}
		at, prefixes := i+1, 0
		for token.IsName(tokens[at]) {
			for at++; tokens[at].Is("."); at++ {
				prefixes++
			}
			if !tokens[at-1].Is(".") {
				break
			}
		}
		if prefixes > MaxPrefixes {
			return sqlerr.New(117, 1, "object", nameBetween(tokens[i+1:at]), MaxPrefixes).At(tokens[i+1].Line)
		}
	}
	return nil
}

// deepType refuses the type of a variable or parameter that has more than its schema before its name (117).
func deepType(tokens []token.Token) *sqlerr.Error {
	for i := 0; i+1 < len(tokens); i++ {
		if tokens[i].Kind != token.Variable {
			continue
		}
		first := i + 1
		if tokens[first].Is("AS") {
			first++
		}
		at, prefixes := first, 0
		for at+2 < len(tokens) && token.IsName(tokens[at]) && tokens[at+1].Is(".") {
			at, prefixes = at+2, prefixes+1
		}
		if prefixes > MaxTypePrefixes && token.IsName(tokens[at]) {
			return sqlerr.New(117, 1, "type", nameBetween(tokens[first:at+1]), MaxTypePrefixes).At(tokens[first].Line)
		}
	}
	return nil
}

func nameBetween(tokens []token.Token) string {
	var b strings.Builder
	for _, t := range tokens {
		b.WriteString(t.Value)
	}
	return b.String()
}

// declaredTwice refuses a label (132) and a parameter of the module that a batch defines (134) with a name that is
// taken.
func declaredTwice(tokens []token.Token) *sqlerr.Error {
	labels, depth := map[string]bool{}, 0
	for i := 0; i+1 < len(tokens); i++ {
		switch t := tokens[i]; {
		case t.Is("("):
			depth++
		case t.Is(")"):
			depth--
		case depth == 0 && t.Kind == token.Word && !t.Reserved && tokens[i+1].Is(":"):
			if labels[t.Fold] {
				return sqlerr.New(132, 1, t.Text).At(t.Line)
			}
			labels[t.Fold] = true
		}
	}
	seen := map[string]bool{}
	for _, t := range token.ModuleHeader(tokens) {
		if t.Kind != token.Variable {
			continue
		}
		if seen[t.Fold] {
			return sqlerr.New(134, 1, t.Text).At(t.Line)
		}
		seen[t.Fold] = true
	}
	return nil
}

// returnsNothing refuses a value that the RETURN of a trigger has (178): the status of a trigger is nobody's
// (docs/t-sql/language-elements/return-transact-sql.md).
func returnsNothing(tokens []token.Token, inside []bool) *sqlerr.Error {
	if _, kind := token.ModuleName(tokens); kind != "TRIGGER" {
		return nil
	}
	for i := 0; i+1 < len(tokens); i++ {
		if !inside[i] && tokens[i].Is("RETURN") && isConstant(tokens[i+1]) {
			return sqlerr.New(178, 1).At(tokens[i].Line)
		}
	}
	return nil
}

// badDefault refuses what is neither a constant nor one of the functions with @@, such as @@SERVERNAME, as the default
// of a parameter of the module that a batch defines (docs/t-sql/statements/create-procedure-transact-sql.md, default).
func badDefault(tokens []token.Token, _ []bool) *sqlerr.Error {
	header := token.ModuleHeader(tokens)
	at, _ := token.ModuleName(tokens)
	for i := range header {
		switch next := tokens[at+i+1]; {
		case !header[i].Is("="):
		case next.Is("("):
			return token.Near(tokens, at+i+1)
		case next.Kind == token.Variable && !strings.HasPrefix(next.Text, "@@"):
			return sqlerr.New(137, 2, next.Text).At(next.Line)
		}
	}
	return nil
}

var isolationLevels = []string{"READ", "REPEATABLE", "SERIALIZABLE", "SNAPSHOT"}

// badLevel refuses SET TRANSACTION without ISOLATION LEVEL, or with a word that is none of the levels.
func badLevel(tokens []token.Token, inside []bool) *sqlerr.Error {
	for i := 0; i+2 < len(tokens); i++ {
		if inside[i] {
			continue
		}
		if tokens[i].Is("SET") && tokens[i+1].Is("TRANSACTION") {
			if !tokens[i+2].Is("ISOLATION") {
				return token.Near(tokens, i+2)
			}
			if !tokens[i+3].Is("LEVEL") {
				return token.Near(tokens, i+3)
			}
		}
		if !tokens[i].Is("ISOLATION") || !tokens[i+1].Is("LEVEL") {
			continue
		}
		if !slices.ContainsFunc(isolationLevels, tokens[i+2].Is) {
			return token.Near(tokens, i+2)
		}
	}
	return nil
}
