// SPDX-License-Identifier: Apache-2.0

package syntax

import (
	"slices"
	"strings"

	"geosql.dev/standin/sqlerr"
)

// maxPrefixes is how many names an object's own name may have before it: server, database and schema
// (docs/t-sql/language-elements/transact-sql-syntax-conventions-transact-sql.md, "Multipart names").
const maxPrefixes = 3

// badName refuses names that are too long (103) or empty (1038): no place takes one
// (docs/relational-databases/databases/database-identifiers.md).
func badName(tokens []token) *sqlerr.Error {
	for _, t := range tokens {
		switch t.kind {
		case tokenWord, tokenQuoted, tokenVariable:
		default:
			continue
		}
		name := t.value
		if t.kind == tokenVariable {
			name = t.text
		}
		switch {
		case name == "" && t.kind == tokenQuoted:
			return sqlerr.New(1038, 4).At(t.line)
		case len(name) > maxIdentifier && len([]rune(name)) > maxIdentifier:
			return sqlerr.New(103, 4, "identifier", firstRunes(name, maxIdentifier), maxIdentifier).At(t.line)
		}
	}
	return nil
}

// unbalanced refuses a batch with a parenthesis that nothing closes or opens; teesql lets some of them pass.
func unbalanced(tokens []token) *sqlerr.Error {
	depth := 0
	for i, t := range tokens {
		switch {
		case t.kind != tokenPunct:
		case t.text == "(":
			depth++
		case t.text == ")":
			if depth--; depth < 0 {
				return near(tokens, i)
			}
		}
	}
	if depth > 0 {
		return near(tokens, len(tokens)-1)
	}
	return nil
}

// namesObject are the words that the name of an object follows.
var namesObject = wordSet("FROM JOIN INTO INSERT UPDATE DELETE MERGE TABLE VIEW PROC PROCEDURE EXEC EXECUTE")

// deepName refuses an object's name with more prefixes than there are (117).
func deepName(tokens []token) *sqlerr.Error {
	for i := 0; i+1 < len(tokens); i++ {
		if tokens[i].kind != tokenWord || !namesObject[tokens[i].fold] {
			continue
		}
		at, prefixes := i+1, 0
		for isName(tokens[at]) {
			for at++; tokens[at].is("."); at++ {
				prefixes++
			}
			if !tokens[at-1].is(".") {
				break
			}
		}
		if prefixes > maxPrefixes {
			return sqlerr.New(117, 1, "object", nameBetween(tokens[i+1:at]), maxPrefixes).At(tokens[i+1].line)
		}
	}
	return nil
}

// deepType refuses the type of a variable or parameter that has more than its schema before its name (117).
func deepType(tokens []token) *sqlerr.Error {
	for i := 0; i+1 < len(tokens); i++ {
		if tokens[i].kind != tokenVariable {
			continue
		}
		first := i + 1
		if tokens[first].is("AS") {
			first++
		}
		at, prefixes := first, 0
		for at+2 < len(tokens) && isName(tokens[at]) && tokens[at+1].is(".") {
			at, prefixes = at+2, prefixes+1
		}
		if prefixes > maxTypePrefixes && isName(tokens[at]) {
			return sqlerr.New(117, 1, "type", nameBetween(tokens[first:at+1]), maxTypePrefixes).At(tokens[first].line)
		}
	}
	return nil
}

func nameBetween(tokens []token) string {
	var b strings.Builder
	for _, t := range tokens {
		b.WriteString(t.value)
	}
	return b.String()
}

// declaredTwice refuses a label (132) and a parameter of the module that a batch defines (134) with a name that is
// taken.
func declaredTwice(tokens []token) *sqlerr.Error {
	labels, depth := map[string]bool{}, 0
	for i := 0; i+1 < len(tokens); i++ {
		switch t := tokens[i]; {
		case t.is("("):
			depth++
		case t.is(")"):
			depth--
		case depth == 0 && t.kind == tokenWord && !t.reserved && tokens[i+1].is(":"):
			if labels[t.fold] {
				return sqlerr.New(132, 1, t.text).At(t.line)
			}
			labels[t.fold] = true
		}
	}
	seen := map[string]bool{}
	for _, t := range moduleHeader(tokens) {
		if t.kind != tokenVariable {
			continue
		}
		if seen[t.fold] {
			return sqlerr.New(134, 1, t.text).At(t.line)
		}
		seen[t.fold] = true
	}
	return nil
}

// returnsNothing refuses a value that the RETURN of a trigger has (178): the status of a trigger is nobody's
// (docs/t-sql/language-elements/return-transact-sql.md).
func returnsNothing(tokens []token, inside []bool) *sqlerr.Error {
	if _, kind := moduleName(tokens); kind != "TRIGGER" {
		return nil
	}
	for i := 0; i+1 < len(tokens); i++ {
		if !inside[i] && tokens[i].is("RETURN") && isConstant(tokens[i+1]) {
			return sqlerr.New(178, 1).At(tokens[i].line)
		}
	}
	return nil
}

// moduleHeader are the tokens from the name of the procedure or function that a batch defines to what follows its
// parameters.
func moduleHeader(tokens []token) []token {
	at, kind := moduleName(tokens)
	if kind != "PROCEDURE" && kind != "FUNCTION" {
		return nil
	}
	for i := at; i < len(tokens); i++ {
		if tokens[i].is("RETURNS") || beginsBody(tokens, i) {
			return tokens[at:i]
		}
	}
	return nil
}

// beginsBody tells whether a token is the AS behind the header of a module: not that of a parameter's type or of
// EXECUTE AS.
func beginsBody(tokens []token, at int) bool {
	before := tokens[at-1]
	return tokens[at].is("AS") && !before.isOneOf("EXECUTE", "EXEC") &&
		(before.kind != tokenVariable || tokens[at-2].is("="))
}

// moduleBody is where the body of the module of a kind that a batch defines begins; 0 of other batches.
func moduleBody(tokens []token, kind string) int {
	at, defined := moduleName(tokens)
	if defined != kind {
		return 0
	}
	for ; at+1 < len(tokens); at++ {
		if beginsBody(tokens, at) {
			return at + 1
		}
	}
	return 0
}

// badDefault refuses what is neither a constant nor one of the functions with @@, such as @@SERVERNAME, as the default
// of a parameter of the module that a batch defines (docs/t-sql/statements/create-procedure-transact-sql.md, default).
func badDefault(tokens []token, _ []bool) *sqlerr.Error {
	header := moduleHeader(tokens)
	at, _ := moduleName(tokens)
	for i := range header {
		switch next := tokens[at+i+1]; {
		case !header[i].is("="):
		case next.is("("):
			return near(tokens, at+i+1)
		case next.kind == tokenVariable && !strings.HasPrefix(next.text, "@@"):
			return sqlerr.New(137, 2, next.text).At(next.line)
		}
	}
	return nil
}

// moduleName is the index of the name of the module that a batch defines, and what it is; 0 and empty when it defines
// none.
func moduleName(tokens []token) (at int, kind string) {
	if len(tokens) < 4 || !tokens[0].isOneOf("CREATE", "ALTER") {
		return 0, ""
	}
	at = 1
	if tokens[1].is("OR") && tokens[2].is("ALTER") {
		at = 3
	}
	for _, k := range []string{"PROCEDURE", "FUNCTION", "TRIGGER", "VIEW"} {
		if tokens[at].is(k) || k == "PROCEDURE" && tokens[at].is("PROC") {
			return at + 1, k
		}
	}
	return 0, ""
}

// InModule names the module that the batch defines, if it defines one, in an error of its text.
func (b *Batch) InModule(err *sqlerr.Error) *sqlerr.Error { return inModule(err, b.tokens) }

// inModule names the module that a batch defines in an error of the batch: messages of a module's text tell its name.
func inModule(err *sqlerr.Error, tokens []token) *sqlerr.Error {
	at, kind := moduleName(tokens)
	if err == nil || kind == "" || !isName(tokens[at]) {
		return err
	}
	for at+2 < len(tokens) && tokens[at+1].is(".") && isName(tokens[at+2]) {
		at += 2
	}
	err.Procedure = tokens[at].value
	return err
}

// RepeatedInColumn is what the definition of a column says twice, NULL or DEFAULT, of which teesql keeps the last;
// empty when it says each once at most.
func RepeatedInColumn(definition string) string {
	tokens, err := tokenize(definition, true)
	if err != nil {
		return ""
	}
	depth, nulls, defaults := 0, 0, 0
	for i, t := range tokens {
		switch {
		case t.is("("):
			depth++
		case t.is(")"):
			depth--
		case depth > 0 || i == 0 || tokens[i-1].is("SET"):
		case t.is("NULL") && !tokens[i-1].is("DEFAULT"):
			nulls++
		case t.is("DEFAULT"):
			defaults++
		}
	}
	switch {
	case nulls > 1:
		return "NULL"
	case defaults > 1:
		return "DEFAULT"
	}
	return ""
}

var isolationLevels = []string{"READ", "REPEATABLE", "SERIALIZABLE", "SNAPSHOT"}

// badLevel refuses SET TRANSACTION without ISOLATION LEVEL, or with a word that is none of the levels.
func badLevel(tokens []token, inside []bool) *sqlerr.Error {
	for i := 0; i+2 < len(tokens); i++ {
		if inside[i] {
			continue
		}
		if tokens[i].is("SET") && tokens[i+1].is("TRANSACTION") {
			if !tokens[i+2].is("ISOLATION") {
				return near(tokens, i+2)
			}
			if !tokens[i+3].is("LEVEL") {
				return near(tokens, i+3)
			}
		}
		if !tokens[i].is("ISOLATION") || !tokens[i+1].is("LEVEL") {
			continue
		}
		if !slices.ContainsFunc(isolationLevels, tokens[i+2].is) {
			return near(tokens, i+2)
		}
	}
	return nil
}
