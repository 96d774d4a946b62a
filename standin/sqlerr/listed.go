// SPDX-License-Identifier: Apache-2.0

package sqlerr

import (
	"sort"
	"strings"

	"geosql.dev/operator/catalog"
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
		info, known := catalog.Error(n)
		out = append(out, Listed{n, Severity(n), known && info.Logged, strings.ReplaceAll(format, "%v", "%s")})
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Number < out[j].Number })
	return out
}
