// SPDX-License-Identifier: Apache-2.0

package syntax

import "geosql.dev/standin/sqlerr"

// beforeBody are the words that the options of a module end before.
var beforeBody = map[string][]string{
	"TRIGGER":   {"FOR", "AFTER", "INSTEAD"},
	"PROCEDURE": {"AS", "FOR"},
	"VIEW":      {"AS"},
	"FUNCTION":  {"AS", "BEGIN", "RETURN", "EXTERNAL", "ORDER"},
}

// headerWalk reads what is between the name of a module and its body.
type headerWalk struct {
	tokens []token
	at     int
	// bad is that the token may not be there, over that the rest is not for this walk.
	bad, over bool
}

// badHeader refuses what stands between the name of the module that a batch defines and its body, and may not
// (docs/t-sql/statements/create-view-transact-sql.md, create-function-transact-sql.md,
// create-procedure-transact-sql.md, create-trigger-transact-sql.md, Syntax): teesql reads on to the first word that it
// knows.
func badHeader(tokens []token, _ []bool) *sqlerr.Error {
	name, kind := moduleName(tokens)
	if kind == "" || !isName(tokens[name]) || !isName(tokens[afterName(tokens, name)-1]) {
		return nil
	}
	w := &headerWalk{tokens: tokens, at: afterName(tokens, name)}
	switch kind {
	case "VIEW":
		w.parenthesis()
		w.options(kind)
		w.want("AS")
		w.must("SELECT", "WITH", "(")
	case "FUNCTION":
		w.function()
	case "TRIGGER":
		w.trigger()
	case "PROCEDURE":
		if with := withOfModule(tokens, name, kind); with > 0 {
			w.at = with
			w.options(kind)
		} else if bodyAfter(tokens, w.at, "AS") == 0 {
			w.at, w.bad = len(tokens)-1, true
		}
	}
	if !w.bad {
		return nil
	}
	return near(tokens, min(w.at, len(tokens)-1))
}

func (w *headerWalk) peek() token { return w.tokens[min(w.at, len(w.tokens)-1)] }

// must refuses the token if it is none of these words; want goes on behind it.
func (w *headerWalk) must(words ...string) {
	if !w.over && !w.peek().isOneOf(words...) {
		w.bad, w.over = true, true
	}
}

func (w *headerWalk) want(words ...string) {
	if w.must(words...); !w.over {
		w.at++
	}
}

// parenthesis passes over one, if it is there.
func (w *headerWalk) parenthesis() {
	if w.over || !w.peek().is("(") {
		return
	}
	end := closingParenthesis(w.tokens, w.at)
	if w.over = end < w.at; !w.over {
		w.at = end + 1
	}
}

// options reads the options of a module, if there are any. Words that are no options of the kind have errors of their
// own.
func (w *headerWalk) options(kind string) {
	if w.over || !w.peek().is("WITH") {
		return
	}
	var options ModuleOptions
	for {
		w.at++
		if first := w.peek(); first.kind != tokenWord || first.reserved && !first.isOneOf("EXECUTE", "EXEC") {
			w.bad, w.over = true, true
			return
		}
		next := optionOfModule(w.tokens, w.at, &options)
		if w.over = next == 0; w.over {
			return
		}
		if w.at = next; !w.peek().is(",") {
			w.must(beforeBody[kind]...)
			return
		}
	}
}

func (w *headerWalk) function() {
	w.must("(")
	w.parenthesis()
	w.want("RETURNS")
	if w.over {
		return
	}
	inline := w.peek().is("TABLE")
	switch {
	case inline:
		w.at++
		w.over = w.peek().is("(") // of an assembly
	case w.peek().kind == tokenVariable:
		w.at++
		w.want("TABLE")
		w.must("(")
		w.parenthesis()
	default:
		w.returned()
	}
	w.options("FUNCTION")
	if !w.over && w.peek().is("AS") {
		w.at++
	}
	if inline && !w.over && w.peek().is("RETURN") {
		w.at++
		w.must("(", "SELECT", "WITH")
		return
	}
	w.must("BEGIN", "RETURN", "EXTERNAL", "ORDER")
}

// returned reads the type of a scalar function.
func (w *headerWalk) returned() {
	next, ok := typeOf(w.tokens, w.at)
	if w.at = next; !ok {
		w.bad, w.over = true, true
	}
}

func (w *headerWalk) trigger() {
	w.want("ON")
	switch {
	case w.over:
	case w.peek().is("ALL"):
		w.at++
		w.want("SERVER")
	case w.peek().is("DATABASE"):
		w.at++
	case !isName(w.peek()):
		w.bad, w.over = true, true
	default:
		w.at = afterName(w.tokens, w.at)
	}
	w.options("TRIGGER")
	w.must("FOR", "AFTER", "INSTEAD")
	if !w.over && w.peek().is("INSTEAD") {
		w.at++
		w.must("OF")
	}
	for !w.over {
		w.at++
		// Names that are no events have an error of their own.
		if !w.peek().isOneOf("INSERT", "UPDATE", "DELETE") && !isName(w.peek()) {
			w.bad, w.over = true, true
			return
		}
		if w.at++; !w.peek().is(",") {
			break
		}
	}
	w.must("AS", "WITH", "NOT")
	switch {
	case w.over:
	case w.peek().is("WITH"):
		w.at++
		w.want("APPEND")
		w.must("AS", "NOT")
	}
	if !w.over && w.peek().is("NOT") {
		w.at++
		w.want("FOR")
		w.want("REPLICATION")
	}
	w.must("AS")
}
