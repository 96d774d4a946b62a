// SPDX-License-Identifier: Apache-2.0

package fault

import (
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/syntax/token"
)

// optionsOfKind are the options of WITH by the kind of module (docs/t-sql/statements/create-view-transact-sql.md,
// create-procedure-transact-sql.md, create-function-transact-sql.md, create-trigger-transact-sql.md).
var optionsOfKind = map[string]map[string]bool{
	"VIEW":      token.Words("ENCRYPTION SCHEMABINDING VIEW_METADATA"),
	"PROCEDURE": token.Words("ENCRYPTION RECOMPILE EXECUTE EXEC NATIVE_COMPILATION SCHEMABINDING"),
	"FUNCTION":  token.Words("ENCRYPTION SCHEMABINDING RETURNS CALLED EXECUTE EXEC INLINE NATIVE_COMPILATION"),
	"TRIGGER":   token.Words("ENCRYPTION EXECUTE EXEC NATIVE_COMPILATION SCHEMABINDING"),
}

// badModuleOptions judges the options of CREATE or ALTER of a module, whose kind is at token at: 195 for a word that is
// none, 487 for one of another kind of module, 1039 for one that is there twice, 10796 for SCHEMABINDING where only
// compiled modules have it.
func badModuleOptions(tokens []token.Token, at int) *sqlerr.Error {
	if tokens[at].Is("OR") && at+2 < len(tokens) {
		at += 2
	}
	kind := tokens[at].Fold
	if kind == "PROC" {
		kind = "PROCEDURE"
	}
	own := optionsOfKind[kind]
	if at+1 >= len(tokens) || tokens[at].Kind != token.Word || own == nil || !token.IsName(tokens[at+1]) {
		return nil // GRANT CREATE VIEW TO ...
	}
	with := token.WithOfModule(tokens, at+1, kind)
	if with == 0 {
		return nil
	}
	given := map[string]bool{}
	for i := with + 1; i < len(tokens); i++ {
		t := tokens[i]
		option := t.Fold
		switch {
		case t.Kind != token.Word || t.Reserved && !own[option]:
			return nil
		case !own[option] && knownModuleOption(option):
			return sqlerr.New(487, 1, "CREATE/ALTER "+kind).At(t.Line)
		case !own[option]:
			return sqlerr.New(195, 1, t.Text, "option").At(t.Line)
		case given[option]:
			return sqlerr.New(1039, 1, t.Text).At(t.Line)
		}
		given[option] = true
		for i+1 < len(tokens) && !tokens[i+1].Is(",") && !endsModuleOptions(tokens[i+1]) || option[:4] == "EXEC" &&
			tokens[i+1].Is("AS") && tokens[i].Is(t.Fold) {
			i++
		}
		if i+1 >= len(tokens) || !tokens[i+1].Is(",") {
			break
		}
		i++
	}
	if given["SCHEMABINDING"] && !given["NATIVE_COMPILATION"] && (kind == "PROCEDURE" || kind == "TRIGGER") {
		return sqlerr.New(10796, 1).At(tokens[at].Line)
	}
	return nil
}

func knownModuleOption(option string) bool {
	for _, options := range optionsOfKind {
		if options[option] {
			return true
		}
	}
	return false
}

// endsModuleOptions are the tokens that stand behind the options of a module.
func endsModuleOptions(t token.Token) bool {
	return t.IsOneOf("AS", "FOR", "AFTER", "INSTEAD", "BEGIN", "RETURN", "SELECT", "ORDER") || t.Kind == token.End
}
