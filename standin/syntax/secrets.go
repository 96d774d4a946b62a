// SPDX-License-Identifier: Apache-2.0

package syntax

import (
	"slices"
	"strings"

	"geosql.dev/standin/syntax/token"
)

// hidden is in place of a secret.
const hidden = "'******'"

// WithoutSecrets is a statement's text without its passwords, and without the string constants that have one of the
// given values. A text that cannot be read is not shown.
func WithoutSecrets(text string, quotedIdentifier bool, secrets ...string) string {
	tokens, err := token.Split(text, quotedIdentifier)
	if err != nil {
		return ""
	}
	var b strings.Builder
	shown := 0
	for i, t := range tokens {
		password := i > 1 && tokens[i-1].Is("=") && namesPassword(tokens[i-2]) &&
			(t.Kind == token.String || t.Kind == token.Binary)
		if password || t.Kind == token.String && slices.Contains(secrets, t.Value) {
			b.WriteString(text[shown:t.Pos] + hidden)
			shown = t.End
		}
	}
	b.WriteString(text[shown:])
	return b.String()
}

// namesPassword tells whether what follows an equals sign after a token is a password: PASSWORD, OLD_PASSWORD,
// @rmtpassword.
func namesPassword(t token.Token) bool {
	return (t.Kind == token.Word || t.Kind == token.Variable) && strings.HasSuffix(t.Fold, "PASSWORD")
}
