// SPDX-License-Identifier: Apache-2.0

package syntax

import "geosql.dev/standin/sqlerr"

// optionsOfKind are the options of WITH by the kind of module (docs/t-sql/statements/create-view-transact-sql.md,
// create-procedure-transact-sql.md, create-function-transact-sql.md, create-trigger-transact-sql.md).
var optionsOfKind = map[string]map[string]bool{
	"VIEW":      wordSet("ENCRYPTION SCHEMABINDING VIEW_METADATA"),
	"PROCEDURE": wordSet("ENCRYPTION RECOMPILE EXECUTE EXEC NATIVE_COMPILATION SCHEMABINDING"),
	"FUNCTION":  wordSet("ENCRYPTION SCHEMABINDING RETURNS CALLED EXECUTE EXEC INLINE NATIVE_COMPILATION"),
	"TRIGGER":   wordSet("ENCRYPTION EXECUTE EXEC NATIVE_COMPILATION SCHEMABINDING"),
}

// badModuleOptions judges the options of CREATE or ALTER of a module, whose kind is at token at: 195 for a word that is
// none, 487 for one of another kind of module, 1039 for one that is there twice, 10796 for SCHEMABINDING where only
// compiled modules have it.
func badModuleOptions(tokens []token, at int) *sqlerr.Error {
	if tokens[at].is("OR") && at+2 < len(tokens) {
		at += 2
	}
	kind := tokens[at].fold
	if kind == "PROC" {
		kind = "PROCEDURE"
	}
	own := optionsOfKind[kind]
	if at+1 >= len(tokens) || tokens[at].kind != tokenWord || own == nil || !isName(tokens[at+1]) {
		return nil // GRANT CREATE VIEW TO ...
	}
	with := withOfModule(tokens, at+1, kind)
	if with == 0 {
		return nil
	}
	given := map[string]bool{}
	for i := with + 1; i < len(tokens); i++ {
		t := tokens[i]
		option := t.fold
		switch {
		case t.kind != tokenWord || t.reserved && !own[option]:
			return nil
		case !own[option] && knownModuleOption(option):
			return sqlerr.New(487, 1, "CREATE/ALTER "+kind).At(t.line)
		case !own[option]:
			return sqlerr.New(195, 1, t.text, "option").At(t.line)
		case given[option]:
			return sqlerr.New(1039, 1, t.text).At(t.line)
		}
		given[option] = true
		for i+1 < len(tokens) && !tokens[i+1].is(",") && !endsModuleOptions(tokens[i+1]) || option[:4] == "EXEC" &&
			tokens[i+1].is("AS") && tokens[i].is(t.fold) {
			i++
		}
		if i+1 >= len(tokens) || !tokens[i+1].is(",") {
			break
		}
		i++
	}
	if given["SCHEMABINDING"] && !given["NATIVE_COMPILATION"] && (kind == "PROCEDURE" || kind == "TRIGGER") {
		return sqlerr.New(10796, 1).At(tokens[at].line)
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
func endsModuleOptions(t token) bool {
	return t.isOneOf("AS", "FOR", "AFTER", "INSTEAD", "BEGIN", "RETURN", "SELECT", "ORDER") || t.kind == tokenEnd
}
