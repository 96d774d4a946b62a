// SPDX-License-Identifier: Apache-2.0

package syntax

import "strings"

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
	tokens, err := tokenize(definition, quotedIdentifier)
	if err != nil {
		return ModuleOptions{}
	}
	options, _, _ := moduleOptions(tokens)
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

// moduleOptions reads the options of a module that a batch defines: they are from the WITH at a token to before end, 0
// where there are none or they are not what the pages list.
func moduleOptions(tokens []token) (options ModuleOptions, with, end int) {
	at, kind := moduleName(tokens)
	if kind == "" {
		return options, 0, 0
	}
	with = withOfModule(tokens, at, kind)
	if with == 0 {
		return options, 0, 0
	}
	for at = with + 1; ; at++ {
		next := optionOfModule(tokens, at, &options)
		if next == 0 {
			return ModuleOptions{}, 0, 0
		}
		if at = next; !tokens[at].is(",") {
			break
		}
	}
	if !tokens[at].isOneOf(beforeBody[kind]...) {
		return ModuleOptions{}, 0, 0
	}
	return options, with, at
}

// withOfModule is the WITH of a module's options, from its name at a token on; 0 when it has none.
func withOfModule(tokens []token, at int, kind string) int {
	depth := 0
	for ; at+1 < len(tokens); at++ {
		switch t := tokens[at]; {
		case t.is("("):
			depth++
		case t.is(")"):
			depth--
		case depth > 0:
		case t.is("WITH"):
			return at
		case kind == "TRIGGER" && t.isOneOf("FOR", "AFTER", "INSTEAD"), t.is("BEGIN"), t.is("RETURN"), t.is("EXTERNAL"):
			return 0
		case t.is("AS") && tokens[at-1].kind != tokenVariable:
			return 0
		}
	}
	return 0
}

// optionOfModule reads one option and returns the token behind it, 0 for what is none.
func optionOfModule(tokens []token, at int, options *ModuleOptions) int {
	w := &partitionWalk{tokens: tokens, at: at}
	if w.maybe("EXECUTE", "EXEC") {
		w.words("AS")
		who := w.next()
		switch {
		case who.kind == tokenString:
			options.ExecuteAs, options.User = "USER", who.value
		case who.isOneOf("CALLER", "SELF", "OWNER"):
			options.ExecuteAs = who.fold
		default:
			return 0
		}
		w.at++
	} else {
		word := ""
		for _, words := range wordsOfOptions[w.next().fold] {
			try := &partitionWalk{tokens: tokens, at: at}
			if try.words(words...); try.bad == 0 {
				w, word = try, strings.Join(words, " ")
				break
			}
		}
		if word == "" {
			return 0
		}
		options.Given = append(options.Given, word)
	}
	if w.bad > 0 || w.at >= len(tokens) {
		return 0
	}
	return w.at
}

// withoutModuleOptions takes a module's options out of the text for teesql, which reads some of them, passes over
// others, and takes the rest of the definition for statements where they come in an order of their own.
func withoutModuleOptions(tokens []token, instead map[int]string) {
	_, with, end := moduleOptions(tokens)
	for i := with; with > 0 && i < end; i++ {
		instead[i] = ""
	}
}
