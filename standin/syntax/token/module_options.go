// SPDX-License-Identifier: Apache-2.0

package token

import "strings"

// BeforeBody are the words that the options of a module end before.
var BeforeBody = map[string][]string{
	"TRIGGER":   {"FOR", "AFTER", "INSTEAD"},
	"PROCEDURE": {"AS", "FOR"},
	"VIEW":      {"AS"},
	"FUNCTION":  {"AS", "BEGIN", "RETURN", "EXTERNAL", "ORDER"},
}

// ModuleOptions are those behind WITH in the definition of a module
// (docs/t-sql/statements/create-trigger-transact-sql.md, create-procedure-transact-sql.md,
// create-function-transact-sql.md, create-view-transact-sql.md, execute-as-clause-transact-sql.md).
type ModuleOptions struct {
	// ExecuteAs is CALLER, SELF, OWNER or USER, empty when the definition does not say; User is the name that USER has.
	ExecuteAs, User string
	// Given are the words of the others, as ENCRYPTION or RETURNS NULL ON NULL INPUT.
	Given []string
}

// Has tells whether an option was given.
func (o ModuleOptions) Has(word string) bool {
	for _, given := range o.Given {
		if given == word {
			return true
		}
	}
	return false
}

// ModuleOptionsOf are the options of a module's definition.
func ModuleOptionsOf(definition string, quotedIdentifier bool) ModuleOptions {
	tokens, err := Split(definition, quotedIdentifier)
	if err != nil {
		return ModuleOptions{}
	}
	options, _, _ := ReadModuleOptions(tokens)
	return options
}

// wordsOfOptions are the options but EXECUTE AS, by their first word.
var wordsOfOptions = map[string][][]string{
	"ENCRYPTION":         {{"ENCRYPTION"}},
	"RECOMPILE":          {{"RECOMPILE"}},
	"SCHEMABINDING":      {{"SCHEMABINDING"}},
	"NATIVE_COMPILATION": {{"NATIVE_COMPILATION"}},
	"VIEW_METADATA": {
		{"VIEW_METADATA"},
	},
	"RETURNS": {{"RETURNS", "NULL", "ON", "NULL", "INPUT"}},
	"CALLED":  {{"CALLED", "ON", "NULL", "INPUT"}},
	"INLINE":  {{"INLINE", "=", "ON"}, {"INLINE", "=", "OFF"}},
}

// ReadModuleOptions reads the options of a module that a batch defines: they are from the WITH at a token to before
// end, 0 where there are none or they are not what the pages list.
func ReadModuleOptions(tokens []Token) (options ModuleOptions, with, end int) {
	at, kind := ModuleName(tokens)
	if kind == "" {
		return options, 0, 0
	}
	with = WithOfModule(tokens, at, kind)
	if with == 0 {
		return options, 0, 0
	}
	for at = with + 1; ; at++ {
		next := ReadModuleOption(tokens, at, &options)
		if next == 0 {
			return ModuleOptions{}, 0, 0
		}
		if at = next; !tokens[at].Is(",") {
			break
		}
	}
	if !tokens[at].IsOneOf(BeforeBody[kind]...) {
		return ModuleOptions{}, 0, 0
	}
	return options, with, at
}

// WithOfModule is the WITH of a module's options, from its name at a token on; 0 when it has none.
func WithOfModule(tokens []Token, at int, kind string) int {
	depth := 0
	for ; at+1 < len(tokens); at++ {
		switch t := tokens[at]; {
		case t.Is("("):
			depth++
		case t.Is(")"):
			depth--
		case depth > 0:
		case t.Is("WITH"):
			return at
		case kind == "TRIGGER" && t.IsOneOf("FOR", "AFTER", "INSTEAD"), t.Is("BEGIN"), t.Is("RETURN"), t.Is("EXTERNAL"):
			return 0
		case t.Is("AS") && tokens[at-1].Kind != Variable:
			return 0
		}
	}
	return 0
}

// ReadModuleOption reads one option and returns the token behind it, 0 for what is none.
func ReadModuleOption(tokens []Token, at int, options *ModuleOptions) int {
	w := &Walk{Tokens: tokens, At: at}
	if w.Maybe("EXECUTE", "EXEC") {
		w.Words("AS")
		who := w.Next()
		switch {
		case who.Kind == String:
			options.ExecuteAs, options.User = "USER", who.Value
		case who.IsOneOf("CALLER", "SELF", "OWNER"):
			options.ExecuteAs = who.Fold
		default:
			return 0
		}
		w.At++
	} else {
		word := ""
		for _, words := range wordsOfOptions[w.Next().Fold] {
			try := &Walk{Tokens: tokens, At: at}
			if try.Words(words...); try.Bad == 0 {
				w, word = try, strings.Join(words, " ")
				break
			}
		}
		if word == "" {
			return 0
		}
		options.Given = append(options.Given, word)
	}
	if w.Bad > 0 || w.At >= len(tokens) {
		return 0
	}
	return w.At
}
