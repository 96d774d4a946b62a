// SPDX-License-Identifier: Apache-2.0

package sqlerr

import (
	"sort"
	"strings"

	"geosql.dev/standin/catalog"
)

// Listed is a message as sys.messages shows it, its parameters as %s.
type Listed struct {
	Number   int32
	Severity uint8
	Logged   bool
	Text     string
}

// Messages are those that have a text here, by number.
func Messages() []Listed {
	out := make([]Listed, 0, len(formats))
	for n, format := range formats {
		out = append(out, listed(n, format))
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Number < out[j].Number })
	return out
}

// Message is the one of a number; false when it has no text here.
func Message(number int32) (Listed, bool) {
	format, ok := formats[number]
	if !ok {
		return Listed{}, false
	}
	return listed(number, format), true
}

func listed(number int32, format string) Listed {
	info, known := catalog.Error(number)
	return Listed{number, Severity(number), known && info.Logged, strings.ReplaceAll(format, "%v", "%s")}
}
