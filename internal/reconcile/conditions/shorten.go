// SPDX-License-Identifier: Apache-2.0

package conditions

import "unicode/utf8"

// Shorten cuts a message to what its field takes, in bytes, between two characters, and marks that there was more. A
// message that ended within a character would be no UTF-8: the API server refuses it, or keeps another one.
func Shorten(message string, most int) string {
	const more = "..."
	if len(message) <= most {
		return message
	}
	end := most - len(more)
	for end > 0 && !utf8.RuneStart(message[end]) {
		end--
	}
	return message[:end] + more
}
