// SPDX-License-Identifier: Apache-2.0

package token

// BodyAfter is the first place of a word outside of parentheses behind the name of a module, 0 when it is nowhere.
func BodyAfter(tokens []Token, at int, word string) int {
	depth := 0
	for ; at < len(tokens); at++ {
		switch t := tokens[at]; {
		case t.Is("("):
			depth++
		case t.Is(")"):
			depth--
		case depth == 0 && t.Is(word) && !tokens[at-1].IsOneOf("EXECUTE", "EXEC", "."):
			return at
		}
	}
	return 0
}

// DefinesModule tells whether a batch begins with CREATE or ALTER of a procedure, function, trigger or view.
func DefinesModule(tokens []Token) bool {
	_, kind := ModuleName(tokens)
	return kind != ""
}

// ModuleHeader are the tokens from the name of the procedure or function that a batch defines to what follows its
// parameters.
func ModuleHeader(tokens []Token) []Token {
	at, kind := ModuleName(tokens)
	if kind != "PROCEDURE" && kind != "FUNCTION" {
		return nil
	}
	for i := at; i < len(tokens); i++ {
		if tokens[i].Is("RETURNS") || BeginsBody(tokens, i) {
			return tokens[at:i]
		}
	}
	return nil
}

// BeginsBody tells whether a token is the AS behind the header of a module: not that of a parameter's type or of
// EXECUTE AS.
func BeginsBody(tokens []Token, at int) bool {
	before := tokens[at-1]
	return tokens[at].Is("AS") && !before.IsOneOf("EXECUTE", "EXEC") &&
		(before.Kind != Variable || tokens[at-2].Is("="))
}

// ModuleBody is where the body of the module of a kind that a batch defines begins; 0 of other batches.
func ModuleBody(tokens []Token, kind string) int {
	at, defined := ModuleName(tokens)
	if defined != kind {
		return 0
	}
	for ; at+1 < len(tokens); at++ {
		if BeginsBody(tokens, at) {
			return at + 1
		}
	}
	return 0
}

// ModuleName is the index of the name of the module that a batch defines, and what it is; 0 and empty when it defines
// none.
func ModuleName(tokens []Token) (at int, kind string) {
	if len(tokens) < 4 || !tokens[0].IsOneOf("CREATE", "ALTER") {
		return 0, ""
	}
	at = 1
	if tokens[1].Is("OR") && tokens[2].Is("ALTER") {
		at = 3
	}
	for _, k := range []string{"PROCEDURE", "FUNCTION", "TRIGGER", "VIEW"} {
		if tokens[at].Is(k) || k == "PROCEDURE" && tokens[at].Is("PROC") {
			return at + 1, k
		}
	}
	return 0, ""
}
