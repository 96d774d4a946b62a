// SPDX-License-Identifier: Apache-2.0

package sqlerr

import "maps"

// cursorFormats are messages about how cursors and variables are declared and assigned.
var cursorFormats = map[int32]string{
	1049:  "Mixing old and new syntax to specify cursor options is not allowed.",
	10734: "Variable assignment is not allowed in a statement containing a top-level UNION, INTERSECT or EXCEPT operator.",
	16948: "The variable '%v' is not a cursor variable, but it is used in a place where a cursor variable is expected.",
	16949: "The variable '%v' is a cursor variable, but it is used in a place where a cursor variable is not valid.",
}

func init() {
	maps.Copy(formats, cursorFormats)
	for page, list := range map[string]map[int32]uint8{eventsPage(1000, 1999): {1049: 15},
		eventsPage(10000, 10999): {10734: 15}, eventsPage(16000, 17999): {16948: 16, 16949: 16}} {
		for number, severity := range list {
			notListed[number] = struct {
				severity uint8
				doc      string
			}{severity, page}
		}
	}
}
