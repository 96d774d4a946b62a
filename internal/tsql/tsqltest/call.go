// SPDX-License-Identifier: Apache-2.0

// Package tsqltest reads statements back, for simulations of engines in tests of plans.
package tsqltest

import (
	"regexp"
	"strings"
)

var (
	procedure = regexp.MustCompile(`^EXEC (?:sys|msdb\.dbo)\.(\w+)`)
	argument  = regexp.MustCompile(`@(\w+) = (N'(?:[^']|'')*'|[^,\s]+)`)
)

// Call is an EXEC with named arguments.
type Call struct {
	// Procedure without its schema.
	Procedure string
	// Arguments by name without @; strings without their quotes.
	Arguments map[string]string
}

// Read reads a statement's text back; ok is false when it is no EXEC.
func Read(text string) (c Call, ok bool) {
	found := procedure.FindStringSubmatch(text)
	if found == nil {
		return Call{}, false
	}
	c = Call{Procedure: found[1], Arguments: map[string]string{}}
	for _, a := range argument.FindAllStringSubmatch(text, -1) {
		value := a[2]
		if strings.HasPrefix(value, "N'") {
			value = strings.ReplaceAll(value[2:len(value)-1], "''", "'")
		}
		c.Arguments[a[1]] = value
	}
	return c, true
}
