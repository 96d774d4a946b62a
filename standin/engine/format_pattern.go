// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"slices"
	"strings"

	"github.com/shopspring/decimal"
)

// formatBetween is a pattern with literals between its digits, such as ###-##-####: digits are filled in from the right.
func formatBetween(d decimal.Decimal, pattern string) string {
	sign := ""
	if d.Sign() < 0 {
		sign, d = "-", d.Neg()
	}
	places := 0
	if _, frac, found := strings.Cut(pattern, "."); found {
		places = strings.Count(frac, "0") + strings.Count(frac, "#")
	}
	digits := strings.Replace(d.StringFixed(int32(places)), ".", "", 1)
	if digits = strings.TrimLeft(digits, "0"); len(digits) < places {
		digits = strings.Repeat("0", places-len(digits)) + digits
	}
	wanted := strings.Count(pattern, "0") + strings.Count(pattern, "#")
	marks := []rune(pattern)
	out := []string{}
	for i := len(marks) - 1; i >= 0; i-- {
		switch r := marks[i]; {
		case r != '0' && r != '#':
			out = append(out, string(r))
		case len(digits) == 0 && r == '0':
			out, wanted = append(out, "0"), wanted-1
		case len(digits) == 0:
			wanted--
		case wanted == 1: // the first mark takes what is left
			out, digits = append(out, digits), ""
		default:
			out, digits, wanted = append(out, digits[len(digits)-1:]), digits[:len(digits)-1], wanted-1
		}
	}
	slices.Reverse(out)
	return sign + strings.Join(out, "")
}
