// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	_ "embed"
	"strings"

	"geosql.dev/standin/sqlerr"
)

// documentedProcedures are the names of the documented system procedures, those of msdb by themselves
// (docs/relational-databases/system-stored-procedures): the ones that nobody has registered are refused by name and not
// as unknown.
//
//go:embed procedures_refused.txt
var documentedProcedures string

// componentsOff are procedures of components that are off in a new server, and that the stand-in does not have even
// when they are on: the configuration option that goes with each.
var componentsOff = map[string]string{
	"xp_cmdshell":       "xp_cmdshell",
	"sp_oacreate":       "Ole Automation Procedures",
	"sp_oadestroy":      "Ole Automation Procedures",
	"sp_oageterrorinfo": "Ole Automation Procedures",
	"sp_oagetproperty":  "Ole Automation Procedures",
	"sp_oamethod":       "Ole Automation Procedures",
	"sp_oasetproperty":  "Ole Automation Procedures",
	"sp_oastop":         "Ole Automation Procedures",
	"sp_send_dbmail":    "Database Mail XPs",
	"sysmail_start_sp":  "Database Mail XPs",
	"sysmail_stop_sp":   "Database Mail XPs",
}

// refuseTheRest registers the documented procedures that no one else has.
func (r *Registry) refuseTheRest() {
	for _, line := range strings.Split(strings.TrimSpace(documentedProcedures), "\n") {
		names := strings.Fields(line)
		for _, name := range names[1:] {
			key, schema, database := lower(name), "", ""
			if names[0] == "msdb" {
				key, schema, database = "msdb.dbo."+key, "dbo", "msdb"
			}
			if r.procedures[key] != nil {
				continue
			}
			r.Procedure(
				Procedure{
					Name:       name,
					Schema:     schema,
					Database:   database,
					Parameters: []Parameter{},
					Variadic:   true,
					Run: func(_ context.Context, c *ProcCall) error {
						component := componentsOff[lower(name)]
						if on, _ := c.Session.inst.Configuration(component); component != "" && on == 0 {
							return &sqlerr.Error{
								Number: 15281,
								Class:  16,
								State:  1,
								Message: "SQL Server blocked access to procedure 'sys." + name + "' of component '" + component +
									"' because this component is turned off as part of the security configuration for this server. " +
									"A system administrator can enable the use of '" + component + "' by using sp_configure.",
							}
						}
						return unsupported(name)
					},
				},
			)
		}
	}
}
