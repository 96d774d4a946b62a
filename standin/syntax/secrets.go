// SPDX-License-Identifier: Apache-2.0

package syntax

import (
	"slices"
	"strings"
)

// hidden is in place of a secret.
const hidden = "'******'"

// WithoutSecrets is a statement's text without its passwords, and without the string constants that have one of the
// given values. A text that cannot be read is not shown.
func WithoutSecrets(text string, quotedIdentifier bool, secrets ...string) string {
	tokens, err := tokenize(text, quotedIdentifier)
	if err != nil {
		return ""
	}
	var b strings.Builder
	shown := 0
	for i, t := range tokens {
		password := i > 1 && tokens[i-1].is("=") && namesPassword(tokens[i-2]) &&
			(t.kind == tokenString || t.kind == tokenBinary)
		if password || t.kind == tokenString && slices.Contains(secrets, t.value) {
			b.WriteString(text[shown:t.pos] + hidden)
			shown = t.end
		}
	}
	b.WriteString(text[shown:])
	return b.String()
}

// namesPassword tells whether what follows an equals sign after a token is a password: PASSWORD, OLD_PASSWORD,
// @rmtpassword.
func namesPassword(t token) bool {
	return (t.kind == tokenWord || t.kind == tokenVariable) && strings.HasSuffix(t.fold, "PASSWORD")
}
