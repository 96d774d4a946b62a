// SPDX-License-Identifier: Apache-2.0

package repl

import (
	"strings"

	"geosql.dev/standin/repl/stored"
)

// showCommand is a command as sp_browsereplcmds shows it.
func showCommand(kind int64, raw []byte) string {
	if kind != stored.CommandCall {
		text, _, err := stored.DecodeCommand(raw)
		if err != nil {
			return "(" + err.Error() + ")"
		}
		return text
	}
	text, values, err := stored.DecodeCommand(raw)
	if err != nil {
		return "(" + err.Error() + ")"
	}
	parts := stored.Parameterized(text)
	var b strings.Builder
	for i, p := range parts {
		b.WriteString(p)
		if i < len(parts)-1 && i < len(values) {
			b.WriteString(stored.LiteralOf(values[i]))
		}
	}
	return b.String()
}
