// SPDX-License-Identifier: Apache-2.0

package metadata

// The scopes of triggers, as the parser calls them.
const (
	NormalScope   = "Normal"
	DatabaseScope = "Database"
	ServerScope   = "AllServer"
)

// ScopedSchema is in place of a schema's number in triggers of a database and of the server, whose names are a space of
// their own.
func ScopedSchema(scope string) int32 {
	if scope == ServerScope {
		return -2
	}
	return -1
}

// TriggerEvents is the property of a trigger's object that has its events: "INSERT,UPDATE".
const TriggerEvents = "events"

// InsteadOf is the property of a trigger's object that tells an INSTEAD OF trigger.
const InsteadOf = "insteadOf"
