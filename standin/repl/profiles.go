// SPDX-License-Identifier: Apache-2.0

package repl

import (
	"context"

	"geosql.dev/standin/engine"
	"geosql.dev/standin/repl/profile"
)

func (e *Extension) installProfiles(r *engine.Registry) {
	e.change(r, "sp_add_agent_profile", sysadmins, nil, profile.Add)
	e.procedure(r, "sp_drop_agent_profile", sysadmins, nil, profile.Drop)
	e.procedure(r, "sp_help_agent_profile", anyone, nil, profile.Help)
	e.procedure(r, "sp_help_agent_parameter", anyone, nil, profile.HelpParameter)
	e.procedure(r, "sp_add_agent_parameter", sysadmins, nil, profile.AddParameter)
	e.procedure(r, "sp_change_agent_parameter", sysadmins, nil, profile.ChangeParameter)
	e.procedure(r, "sp_drop_agent_parameter", sysadmins, nil, profile.DropParameter)
	e.procedure(r, "sp_update_agent_profile", sysadmins, nil, profile.Assign)
	e.procedure(
		r,
		"sp_MSget_agent_profile",
		agentLogins,
		[]engine.Parameter{number("@agent_type"), number("@profile_id"), text("@profile_name")},
		profile.Show,
	)
}

// startProfiles makes the profiles of an installation when they are missing.
func (e *Extension) startProfiles(ctx context.Context) error {
	s, err := e.system(ctx, "msdb")
	if err != nil {
		return err
	}
	defer s.Close()
	return profile.Make(ctx, s)
}
