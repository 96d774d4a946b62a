// SPDX-License-Identifier: Apache-2.0

package fault

import (
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/syntax/token"
)

// headerWalk reads what is between the name of a module and its body.
type headerWalk struct {
	tokens []token.Token
	at     int
	// bad is that the token may not be there, over that the rest is not for this walk.
	bad, over bool
}

// badHeader refuses what stands between the name of the module that a batch defines and its body, and may not
// (docs/t-sql/statements/create-view-transact-sql.md, create-function-transact-sql.md,
// create-procedure-transact-sql.md, create-trigger-transact-sql.md, Syntax): teesql reads on to the first word that it
// knows.
func badHeader(tokens []token.Token, _ []bool) *sqlerr.Error {
	name, kind := token.ModuleName(tokens)
	if kind == "" || !token.IsName(tokens[name]) || !token.IsName(tokens[token.AfterName(tokens, name)-1]) {
		return nil
	}
	w := &headerWalk{tokens: tokens, at: token.AfterName(tokens, name)}
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
		if with := token.WithOfModule(tokens, name, kind); with > 0 {
			w.at = with
			w.options(kind)
		} else if token.BodyAfter(tokens, w.at, "AS") == 0 {
			w.at, w.bad = len(tokens)-1, true
		}
	}
	if !w.bad {
		return nil
	}
	return token.Near(tokens, min(w.at, len(tokens)-1))
}

func (w *headerWalk) peek() token.Token { return w.tokens[min(w.at, len(w.tokens)-1)] }

// must refuses the token if it is none of these words; want goes on behind it.
func (w *headerWalk) must(words ...string) {
	if !w.over && !w.peek().IsOneOf(words...) {
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
	if w.over || !w.peek().Is("(") {
		return
	}
	end := token.ClosingParenthesis(w.tokens, w.at)
	if w.over = end < w.at; !w.over {
		w.at = end + 1
	}
}

// options reads the options of a module, if there are any. Words that are no options of the kind have errors of their
// own.
func (w *headerWalk) options(kind string) {
	if w.over || !w.peek().Is("WITH") {
		return
	}
	var options token.ModuleOptions
	for {
		w.at++
		if first := w.peek(); first.Kind != token.Word || first.Reserved && !first.IsOneOf("EXECUTE", "EXEC") {
			w.bad, w.over = true, true
			return
		}
		next := token.ReadModuleOption(w.tokens, w.at, &options)
		if w.over = next == 0; w.over {
			return
		}
		if w.at = next; !w.peek().Is(",") {
			w.must(token.BeforeBody[kind]...)
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
	inline := w.peek().Is("TABLE")
	switch {
	case inline:
		w.at++
		w.over = w.peek().Is("(") // of an assembly
	case w.peek().Kind == token.Variable:
		w.at++
		w.want("TABLE")
		w.must("(")
		w.parenthesis()
	default:
		w.returned()
	}
	w.options("FUNCTION")
	if !w.over && w.peek().Is("AS") {
		w.at++
	}
	if inline && !w.over && w.peek().Is("RETURN") {
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
	case w.peek().Is("ALL"):
		w.at++
		w.want("SERVER")
	case w.peek().Is("DATABASE"):
		w.at++
	case !token.IsName(w.peek()):
		w.bad, w.over = true, true
	default:
		w.at = token.AfterName(w.tokens, w.at)
	}
	w.options("TRIGGER")
	w.must("FOR", "AFTER", "INSTEAD")
	if !w.over && w.peek().Is("INSTEAD") {
		w.at++
		w.must("OF")
	}
	for !w.over {
		w.at++
		// Names that are no events have an error of their own.
		if !w.peek().IsOneOf("INSERT", "UPDATE", "DELETE") && !token.IsName(w.peek()) {
			w.bad, w.over = true, true
			return
		}
		if w.at++; !w.peek().Is(",") {
			break
		}
	}
	w.must("AS", "WITH", "NOT")
	switch {
	case w.over:
	case w.peek().Is("WITH"):
		w.at++
		w.want("APPEND")
		w.must("AS", "NOT")
	}
	if !w.over && w.peek().Is("NOT") {
		w.at++
		w.want("FOR")
		w.want("REPLICATION")
	}
	w.must("AS")
}
