// SPDX-License-Identifier: Apache-2.0

package mssql

import "context"

// Looks is how a statement that goes on is watched.
func (c *Connector) Looks(t Target, command string) func(context.Context) string {
	return c.looks(t, command)
}
