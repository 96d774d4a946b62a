// SPDX-License-Identifier: Apache-2.0

package token

// StartsWithProcedureName tells whether the batch begins with the name of a procedure to execute.
func StartsWithProcedureName(tokens []Token) bool {
	first := tokens[0]
	switch {
	case first.Kind == Quoted, first.Is("."):
		return true
	case first.Kind != Word || first.Reserved:
		return false
	}
	next := tokens[1]
	if next.Is(":") {
		return false
	}
	switch first.Fold {
	case "GO":
		return false
	case "ENABLE", "DISABLE":
		return !next.Is("TRIGGER")
	case "SEND":
		return !next.Is("ON")
	case "GET", "MOVE":
		return !next.Is("CONVERSATION")
	case "THROW":
		// THROW by itself, or with an error number.
		return next.Is(".") || next.Kind == String || next.Kind == Quoted || next.Kind == Binary ||
			next.Kind == Word && !next.Reserved && !next.Is("THROW") ||
			next.Kind == Variable && tokens[2].Is("=")
	case "RECEIVE":
		return !receives(tokens)
	}
	return true
}

// receives tells whether a batch that begins with RECEIVE goes on with the FROM of that statement.
func receives(tokens []Token) bool {
	for _, t := range tokens[1:] {
		switch {
		case t.Is("FROM"):
			return true
		case t.Is(";"),
			t.Kind == Word && t.Reserved &&
				!t.IsOneOf("TOP", "AS", "PERCENT", "CASE", "WHEN", "THEN", "ELSE", "END", "NULL"):
			return false
		}
	}
	return false
}
