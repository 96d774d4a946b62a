// SPDX-License-Identifier: Apache-2.0

package serverproc

import (
	"context"
	"strings"

	"geosql.dev/standin/engine"
	"geosql.dev/standin/sqltype"
	"geosql.dev/standin/storage/disk"
	"geosql.dev/standin/tds"
)

// installHostProcedures registers the extended procedures with which tools of management ask about the machine and the
// set-up. There is no registry here: a value is found where another property of the server has it, and is otherwise one
// that is not set.
func installHostProcedures(r *engine.Registry) {
	parameters := engine.ParameterList(
		"@rootkey! nvarchar(512), @key! nvarchar(4000), @value_name nvarchar(4000), @value nvarchar(4000), @no_output " +
			"nvarchar(32), @param nvarchar(4000)",
	)
	parameters[3].Output, parameters[5].Output = true, true
	r.Procedure(engine.Procedure{Name: "xp_instance_regread", Parameters: parameters, Run: readRegistry})
	r.Procedure(engine.Procedure{Name: "xp_regread", Parameters: parameters, Run: readRegistry})
	r.Procedure(
		engine.Procedure{
			Name:       "xp_fixeddrives",
			Parameters: []engine.Parameter{},
			Run: func(_ context.Context, c *engine.ProcCall) error {
				_, free := disk.Volume(c.Session.Instance().Config().DataDir)
				return c.ResultSet(
					[]tds.Column{
						{Name: "drive", Type: sqltype.Type{Kind: sqltype.Char, Length: 1}, Nullable: true},
						{Name: "MB free", Type: sqltype.IntType, Nullable: true},
					},
					[][]any{{"C", free >> 20}},
				)
			},
		},
	)
	// What procedures of msdb and tools compare its status with; it says that a component is part of this edition.
	const licensed = 2
	r.Procedure(
		engine.Procedure{
			Name:       "xp_qv",
			Parameters: engine.ParameterList("@feature! nvarchar(64), @instance sysname"),
			Run: func(_ context.Context, c *engine.ProcCall) error {
				c.SetStatus(licensed)
				return nil
			},
		},
	)
}

// registryValues are the values of the key MSSQLServer that are known, by the property of the server that has them.
var registryValues = map[string]string{
	"defaultdata":     "InstanceDefaultDataPath",
	"defaultlog":      "InstanceDefaultLogPath",
	"backupdirectory": "InstanceDefaultBackupPath",
}

// readRegistry is xp_instance_regread and xp_regread: the value goes to the variable, or is a row of its name and data.
// LoginMode 2 lets both kinds of logins in.
func readRegistry(_ context.Context, c *engine.ProcCall) error {
	name := c.String("@value_name")
	var value any
	if strings.HasSuffix(strings.ToLower(c.String("@key")), `\mssqlserver\mssqlserver`) {
		if property := registryValues[strings.ToLower(name)]; property != "" {
			value = c.Session.Instance().ServerProperty(property)
		} else if strings.ToLower(name) == "loginmode" {
			value = "2"
		}
	}
	for _, to := range []string{"@value", "@param"} {
		if c.Given(to) {
			if value != nil {
				c.SetOutput(to, value)
			}
			return nil
		}
	}
	if value == nil {
		return nil
	}
	return c.ResultSet(engine.ColumnList("Value nvarchar(512), Data nvarchar(4000)"), [][]any{{name, value}})
}
