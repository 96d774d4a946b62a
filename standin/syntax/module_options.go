// SPDX-License-Identifier: Apache-2.0

package syntax

import "geosql.dev/standin/syntax/token"

// withoutModuleOptions takes a module's options out of the text for teesql, which reads some of them, passes over
// others, and takes the rest of the definition for statements where they come in an order of their own.
func withoutModuleOptions(tokens []token.Token, instead map[int]string) {
	_, with, end := token.ReadModuleOptions(tokens)
	for i := with; with > 0 && i < end; i++ {
		instead[i] = ""
	}
}
