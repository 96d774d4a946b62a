// SPDX-License-Identifier: Apache-2.0

package token

// Walk reads tokens one by one, and keeps the first one that is wrong.
type Walk struct {
	Tokens []Token
	// At is the next token, Bad the first one that is wrong, 0 when none is.
	At, Bad int
}

// Next is the next token, the last one of all behind the end.
func (w *Walk) Next() Token { return w.Tokens[min(w.At, len(w.Tokens)-1)] }

// Take goes on behind the next token, which is wrong unless ok.
func (w *Walk) Take(ok bool) {
	if !ok && w.Bad == 0 {
		w.Bad = min(w.At, len(w.Tokens)-1)
	}
	w.At++
}

// Words goes on behind words that must be there.
func (w *Walk) Words(words ...string) {
	for _, word := range words {
		w.Take(w.Next().Is(word))
	}
}

// Name goes on behind a name that must be there.
func (w *Walk) Name() { w.Take(IsName(w.Next())) }

// Maybe goes on behind one of the words if it is there.
func (w *Walk) Maybe(words ...string) bool {
	if !w.Next().IsOneOf(words...) {
		return false
	}
	w.At++
	return true
}

// Parenthesized goes on behind what is in parentheses.
func (w *Walk) Parenthesized() {
	closing := -1
	if w.Next().Is("(") {
		closing = ClosingParenthesis(w.Tokens, w.At)
	}
	if w.Take(closing > 0); closing > 0 {
		w.At = closing + 1
	}
}
