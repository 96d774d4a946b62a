// SPDX-License-Identifier: Apache-2.0

package article

import (
	"strings"

	"geosql.dev/standin/engine"
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/syntax"
)

// Property is what a property of an article becomes: a column of sysarticles and its value.
type Property struct {
	Column string
	Value  any
	// snapshot and subscriptions say what the change makes useless: the snapshot, the subscribers' copies.
	Snapshot, Subscriptions bool
}

// NewTableProperty reads a property that only tables' articles have.
func (a *Article) NewTableProperty(call *engine.ProcCall, property, value string) (n Property, err error) {
	n = Property{Column: property, Snapshot: true, Subscriptions: true}
	suffix := a.DestOwner + a.DestTable
	switch property {
	case "ins_cmd":
		n.Value, err = command(call, "@value", "CALL", "CALL "+syntax.QuoteName("sp_MSins_"+suffix), "CALL")
	case "upd_cmd":
		n.Value, err = command(
			call,
			"@value",
			"SCALL",
			"SCALL "+syntax.QuoteName("sp_MSupd_"+suffix),
			"CALL",
			"SCALL",
			"MCALL",
			"XCALL",
		)
	case "del_cmd":
		n.Value, err = command(call, "@value", "CALL", "CALL "+syntax.QuoteName("sp_MSdel_"+suffix), "CALL", "XCALL")
	case "status":
		n.Snapshot = false
		n.Value, err = a.newStatus(value)
	case "fire_triggers_on_snapshot":
		on := false
		if on, err = TrueOrFalse(value); on {
			err = sqlerr.Raise(21023, 1, "@property = N'fire_triggers_on_snapshot', @value = N'true'")
		}
		n = Property{Column: property, Value: int64(0)}
	default:
		err = sqlerr.Raise(21023, 1, "@property = N'"+property+"'")
	}
	return n, err
}

// newStatus is sysarticles.status with one of the documented words.
func (a *Article) newStatus(word string) (int64, error) {
	status := a.Status
	switch strings.ToLower(word) {
	case "include column names":
		return status | 8, nil
	case "no column names":
		return status &^ 8, nil
	case "parameters":
		return status | 16, nil
	case "string literals", "no parameters":
		return status &^ 16, nil
	}
	return 0, sqlerr.Raise(14097, 1)
}

// TrueOrFalse reads @value: 14137 for anything else.
func TrueOrFalse(text string) (bool, error) {
	if !strings.EqualFold(text, "true") && !strings.EqualFold(text, "false") {
		return false, sqlerr.Raise(14137, 1)
	}
	return strings.EqualFold(text, "true"), nil
}
