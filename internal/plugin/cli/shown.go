// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"strconv"
	"strings"
	"unicode"
)

// Shown is a text of one line as a terminal may have it: what would move its cursor, or change what stands there, is
// written out.
func Shown(text string) string { return escaped(text, false) }

// Said is a text of several lines as a terminal may have it.
func Said(text string) string { return escaped(strings.ReplaceAll(text, "\r\n", "\n"), true) }

func escaped(text string, lines bool) string {
	harmless := func(r rune) bool {
		return lines && (r == '\n' || r == '\t') || !unicode.IsControl(r) && !unicode.Is(unicode.Cf, r)
	}
	// A terminal may take single bytes for controls that no text in UTF-8 has.
	text = strings.ToValidUTF8(text, "\ufffd")
	if strings.IndexFunc(text, func(r rune) bool { return !harmless(r) }) < 0 {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if harmless(r) {
			b.WriteRune(r)
			continue
		}
		quoted := strconv.QuoteRune(r)
		b.WriteString(quoted[1 : len(quoted)-1])
	}
	return b.String()
}
