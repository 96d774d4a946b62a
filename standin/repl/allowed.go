// SPDX-License-Identifier: Apache-2.0

package repl

import (
	"slices"
	"strings"

	"geosql.dev/standin/engine"
	"geosql.dev/standin/sqlerr"
)

// refusedValues are the errors of parameters whose page lists their values, by procedure
// (docs/relational-databases/errors-events/database-engine-events-and-errors.md).
var refusedValues = map[string]map[string]int32{
	"sp_addarticle":          {"@type": 14023, "@pre_creation_cmd": 14061, "@vertical_partition": 14029},
	"sp_addpublication":      {"@repl_freq": 14015, "@sync_method": 14014, "@status": 14012},
	"sp_addpullsubscription": {"@subscription_type": 20016, "@update_mode": 20502},
	"sp_addsubscription": {
		"@sync_type":          14052,
		"@subscription_type":  14128,
		"@status":             14065,
		"@update_mode":        20502,
		"@loopback_detection": 14148,
	},
	"sp_change_subscription_properties": {"@property": 21183},
	"sp_changearticle":                  {"@property": 14022},
	"sp_changedistpublisher":            {"@property": 21794},
	"sp_changedistributiondb":           {"@property": 21794},
	"sp_changepublication":              {"@property": 14078},
	"sp_changesubscription":             {"@property": 21183},
	"sp_changesubstatus":                {"@status": 14065},
	"sp_replicationdboption":            {"@optname": 14138, "@value": 14137},
}

// notAllowed is the error for a value that is none of a parameter's, nil for 15600.
func notAllowed(procedure string) func(p *engine.Parameter, value string) *sqlerr.Error {
	return func(p *engine.Parameter, value string) *sqlerr.Error {
		switch number := refusedValues[procedure][p.Name]; number {
		case 0:
		case 14138, 21183:
			return raise(number, 1, value)
		case 14148, 20502:
			return raise(number, 1, p.Name)
		case 21794:
			return raise(number, 1, strings.Join(p.Allowed, ", "))
		default:
			return raise(number, 1)
		}
		if len(p.Allowed) == 2 && slices.Contains(p.Allowed, "true") && slices.Contains(p.Allowed, "false") {
			return raise(14148, 1, p.Name)
		}
		return nil
	}
}
