// SPDX-License-Identifier: Apache-2.0

// Package profile has the profiles of replication agents, which msdb keeps: the parameters that an agent runs with
// unless its command line says otherwise, and what the procedures on them do
// (docs/relational-databases/replication/agents/replication-agent-profiles.md).
package profile

import (
	"context"
	"fmt"
	"strings"

	"geosql.dev/standin/catalog"
	"geosql.dev/standin/engine"
	"geosql.dev/standin/repl/agent"
	"geosql.dev/standin/repl/stored"
	"geosql.dev/standin/repl/tables"
	"geosql.dev/standin/sqlerr"
)

// Agents are the names by which the catalog knows the agents that have profiles, by their kind.
var Agents = map[int64]string{
	stored.SnapshotAgent: "snapshot", stored.LogReaderAgent: "logread", stored.DistributionAgent: "distrib",
}

// definition is a profile of an installation; the first one of a kind is its default.
type definition struct {
	kind int
	name string
	// description is a text, or nil for none.
	description any
	parameters  string
}

// The parameters of the default profiles.
const (
	logReaderDefaults = "-LoginTimeOut 15 -LogScanThreshold 500000 -PollingInterval 5 -QueryTimeOut 1800 " +
		"-ReadBatchSize 500"
	distributionDefaults = "-BcpBatchSize 100000 -CommitBatchSize 100 -CommitBatchThreshold 1000 " +
		"-KeepAliveMessageInterval 300 -LoginTimeOut 15 -MaxBcpThreads 1 " +
		"-MaxDeliveredTransactions 0 -PollingInterval 5 -QueryTimeOut 1800 -TransactionsPerHistory 100"
)

// installed are the profiles of an installation.
var installed = []definition{
	{
		stored.SnapshotAgent,
		"Default agent profile",
		nil,
		"-BcpBatchSize 100000 -HistoryVerboseLevel 2 -LoginTimeOut 15 -QueryTimeOut 1800",
	},
	{stored.LogReaderAgent, "Default agent profile", nil, "-HistoryVerboseLevel 1 " + logReaderDefaults},
	{
		stored.LogReaderAgent,
		"Verbose history agent profile.",
		"Agent profile for detailed history logging.",
		"-HistoryVerboseLevel 2 " + logReaderDefaults,
	},
	{stored.DistributionAgent, "Default agent profile", nil, "-HistoryVerboseLevel 1 " + distributionDefaults},
	{
		stored.DistributionAgent,
		"Verbose history agent profile.",
		"Agent profile for detailed history logging.",
		"-HistoryVerboseLevel 2 " + distributionDefaults,
	},
	{
		stored.DistributionAgent,
		"Continue on data consistency errors.",
		"Agent profile for skipping data consistency errors. It can be used only by SQL Server Subscribers.",
		"-HistoryVerboseLevel 1 -SkipErrors 2601:2627:20598 " + distributionDefaults,
	},
}

// Make makes the tables of profiles in msdb, and the profiles of an installation, where they are missing.
func Make(ctx context.Context, s *engine.Session) error {
	if err := tables.Make(ctx, s, "msdb", tables.Profiles); err != nil {
		return fmt.Errorf("make the tables of agent profiles: %w", err)
	}
	seen := map[int]bool{}
	for _, d := range installed {
		if err := makeOne(ctx, s, d, !seen[d.kind]); err != nil {
			return fmt.Errorf("make the agent profile '%s': %w", d.name, err)
		}
		seen[d.kind] = true
	}
	return nil
}

// makeOne makes a profile that is missing.
func makeOne(ctx context.Context, s *engine.Session, d definition, standard bool) error {
	r, err := s.Query(
		ctx,
		"SELECT 1 AS n FROM msdb.dbo.MSagent_profiles WHERE agent_type = @p1 AND profile_name = @p2",
		d.kind,
		d.name,
	)
	if err != nil || r.Len() > 0 {
		return err
	}
	r, err = s.Query(
		ctx,
		`INSERT INTO msdb.dbo.MSagent_profiles (profile_name, agent_type, type, description, def_profile) VALUES (@p2, @p1, 0, @p3, @p4);
		SELECT profile_id FROM msdb.dbo.MSagent_profiles WHERE agent_type = @p1 AND profile_name = @p2`,
		d.kind,
		d.name,
		d.description,
		standard,
	)
	if err != nil {
		return err
	}
	tokens := strings.Fields(d.parameters)
	for i := 0; i+1 < len(tokens); i += 2 {
		if err := s.Exec(ctx, "INSERT INTO msdb.dbo.MSagent_parameters VALUES (@p1, @p2, @p3)", r.Int(0, "profile_id"),
			tokens[i], tokens[i+1]); err != nil {
			return err
		}
	}
	return nil
}

// Default is the id of the default profile of a kind of agent.
func Default(ctx context.Context, s *engine.Session, kind int) (int64, error) {
	r, err := s.Query(
		ctx,
		"SELECT profile_id FROM msdb.dbo.MSagent_profiles WHERE agent_type = @p1 AND def_profile = 1",
		kind,
	)
	return r.Int(0, "profile_id"), err
}

// Show is sp_MSget_agent_profile: the parameters of a profile, by its name or its id.
func Show(ctx context.Context, call *engine.ProcCall) error {
	if name := call.String("@profile_name"); name != "" {
		r, err := call.Session.Query(
			ctx,
			"SELECT profile_id FROM msdb.dbo.MSagent_profiles WHERE agent_type = @p1 AND profile_name = @p2",
			call.Int("@agent_type"),
			name,
		)
		if err != nil {
			return err
		}
		if r.Len() == 0 {
			return sqlerr.Raise(20066, 1)
		}
		return call.Exec(
			ctx,
			"SELECT parameter_name, value FROM msdb.dbo.MSagent_parameters WHERE profile_id = @p1",
			r.Int(0, "profile_id"),
		)
	}
	return call.Exec(
		ctx,
		"SELECT parameter_name, value FROM msdb.dbo.MSagent_parameters WHERE profile_id = @p1",
		call.Int("@profile_id"),
	)
}

// Add is sp_add_agent_profile.
func Add(ctx context.Context, call *engine.ProcCall) error {
	s, kind, name := call.Session, call.Int("@agent_type"), call.String("@profile_name")
	if Agents[kind] == "" {
		return sqlerr.Raise(21023, 1, fmt.Sprintf("@agent_type = %d", kind))
	}
	r, err := s.Query(
		ctx,
		"SELECT profile_id FROM msdb.dbo.MSagent_profiles WHERE agent_type = @p1 AND profile_name = @p2",
		kind,
		name,
	)
	if err != nil {
		return err
	}
	if r.Len() > 0 {
		return sqlerr.Raise(20057, 1, name)
	}
	if call.Bool("@default") {
		if err := s.Exec(ctx, "UPDATE msdb.dbo.MSagent_profiles SET def_profile = 0 WHERE agent_type = @p1",
			kind); err != nil {
			return err
		}
	}
	r, err = s.Query(
		ctx,
		`INSERT INTO msdb.dbo.MSagent_profiles (profile_name, agent_type, type, description, def_profile) VALUES (@p1, @p2, 1, @p3, @p4);
		SELECT profile_id FROM msdb.dbo.MSagent_profiles WHERE agent_type = @p2 AND profile_name = @p1`,
		name,
		kind,
		call.Value("@description"),
		call.Bool("@default"),
	)
	if err != nil {
		return err
	}
	id := r.Int(0, "profile_id")
	call.SetOutput("@profile_id", id)
	// A new profile begins as a copy of the default one.
	return s.Exec(
		ctx,
		`INSERT INTO msdb.dbo.MSagent_parameters SELECT @p1, d.parameter_name, d.value FROM msdb.dbo.MSagent_parameters AS d
		WHERE d.profile_id = (SELECT MIN(p.profile_id) FROM msdb.dbo.MSagent_profiles AS p WHERE p.agent_type = @p2 AND p.type = 0)`,
		id,
		kind,
	)
}

// Kind is the kind of agent of a profile: 20066 when there is none of that id.
func Kind(ctx context.Context, s *engine.Session, id int64) (kind int64, err error) {
	r, err := s.Query(ctx, "SELECT agent_type FROM msdb.dbo.MSagent_profiles WHERE profile_id = @p1", id)
	if err == nil && r.Len() == 0 {
		err = sqlerr.Raise(20066, 1)
	}
	return r.Int(0, "agent_type"), err
}

// Drop is sp_drop_agent_profile.
func Drop(ctx context.Context, call *engine.ProcCall) error {
	id := call.Int("@profile_id")
	if _, err := Kind(ctx, call.Session, id); err != nil {
		return err
	}
	r, err := call.Session.Query(ctx, "SELECT def_profile, type FROM msdb.dbo.MSagent_profiles WHERE profile_id = @p1", id)
	if err != nil {
		return err
	}
	if r.Int(0, "def_profile") == 1 || r.Int(0, "type") == 0 {
		return sqlerr.Raise(20064, 1)
	}
	return call.Session.Exec(
		ctx,
		"DELETE FROM msdb.dbo.MSagent_parameters WHERE profile_id = @p1; DELETE FROM msdb.dbo.MSagent_profiles WHERE "+
			"profile_id = @p1",
		id,
	)
}

// Help is sp_help_agent_profile.
func Help(ctx context.Context, call *engine.ProcCall) error {
	return call.Exec(
		ctx,
		`SELECT profile_id, profile_name, agent_type, type AS Type, CAST(description AS varchar(3000)) AS description, def_profile FROM msdb.dbo.MSagent_profiles
		WHERE (@p1 = 0 OR agent_type = @p1) AND (@p2 = -1 OR profile_id = @p2)`,
		call.Int("@agent_type"),
		orMinus(call, "@profile_id"),
	)
}

func orMinus(call *engine.ProcCall, parameter string) int64 {
	if call.IsNull(parameter) {
		return -1
	}
	return call.Int(parameter)
}

// HelpParameter is sp_help_agent_parameter.
func HelpParameter(ctx context.Context, call *engine.ProcCall) error {
	return call.Exec(
		ctx,
		"SELECT profile_id, parameter_name, value FROM msdb.dbo.MSagent_parameters WHERE @p1 = -1 OR profile_id = @p1 "+
			"ORDER BY profile_id, parameter_name",
		orMinus(call, "@profile_id"),
	)
}

// checkParameter checks a parameter against the documentation of the profile's agent and gives its documented name.
func checkParameter(ctx context.Context, call *engine.ProcCall, value bool) (id int64, name string, err error) {
	id = call.Int("@profile_id")
	kind, err := Kind(ctx, call.Session, id)
	if err != nil {
		return 0, "", err
	}
	info, ok := catalog.AgentParameters(Agents[kind])
	if !ok {
		return 0, "", sqlerr.Raise(21804, 1, kind)
	}
	p, known := info.Parameter("-" + strings.TrimPrefix(call.String("@parameter_name"), "-"))
	if !known {
		return 0, "", sqlerr.Raise(
			map[int64]int32{stored.SnapshotAgent: 21111, stored.LogReaderAgent: 21112, stored.DistributionAgent: 21113}[kind],
			1,
			call.String("@parameter_name"),
		)
	}
	if !value {
		return id, p.Name, nil
	}
	if err := (&agent.Arguments{Agent: info}).Check(p, call.String("@parameter_value")); err != nil {
		return 0, "", sqlerr.Raise(21802, 1, call.String("@parameter_value"), p.Name, p.Range)
	}
	return id, p.Name, nil
}

// AddParameter is sp_add_agent_parameter.
func AddParameter(ctx context.Context, call *engine.ProcCall) error {
	id, name, err := checkParameter(ctx, call, true)
	if err != nil {
		return err
	}
	r, err := call.Session.Query(
		ctx,
		"SELECT value FROM msdb.dbo.MSagent_parameters WHERE profile_id = @p1 AND parameter_name = @p2",
		id,
		name,
	)
	if err != nil {
		return err
	}
	if r.Len() > 0 {
		return sqlerr.Raise(20067, 1, name)
	}
	return call.Session.Exec(
		ctx,
		"INSERT INTO msdb.dbo.MSagent_parameters VALUES (@p1, @p2, @p3)",
		id,
		name,
		call.String("@parameter_value"),
	)
}

// ChangeParameter is sp_change_agent_parameter.
func ChangeParameter(ctx context.Context, call *engine.ProcCall) error {
	id, name, err := checkParameter(ctx, call, true)
	if err != nil {
		return err
	}
	r, err := call.Session.Query(
		ctx,
		"SELECT value FROM msdb.dbo.MSagent_parameters WHERE profile_id = @p1 AND parameter_name = @p2",
		id,
		name,
	)
	if err != nil {
		return err
	}
	if r.Len() == 0 {
		return sqlerr.Raise(21806, 1, id, name)
	}
	return call.Session.Exec(
		ctx,
		"UPDATE msdb.dbo.MSagent_parameters SET value = @p3 WHERE profile_id = @p1 AND parameter_name = @p2",
		id,
		name,
		call.String("@parameter_value"),
	)
}

// DropParameter is sp_drop_agent_parameter.
func DropParameter(ctx context.Context, call *engine.ProcCall) error {
	id, name, err := checkParameter(ctx, call, false)
	if err != nil {
		return err
	}
	return call.Session.Exec(
		ctx,
		"DELETE FROM msdb.dbo.MSagent_parameters WHERE profile_id = @p1 AND parameter_name = @p2",
		id,
		name,
	)
}

// Assign is sp_update_agent_profile: it gives an agent another profile. It runs in the distribution database.
func Assign(ctx context.Context, call *engine.ProcCall) error {
	agents := map[int64]string{
		stored.SnapshotAgent:     "MSsnapshot_agents",
		stored.LogReaderAgent:    "MSlogreader_agents",
		stored.DistributionAgent: "MSdistribution_agents",
	}
	kind := call.Int("@agent_type")
	if agents[kind] == "" {
		return sqlerr.Raise(21804, 1, kind)
	}
	own, err := Kind(ctx, call.Session, call.Int("@profile_id"))
	if err != nil {
		return err
	}
	if own != kind {
		return sqlerr.Raise(20066, 2)
	}
	return call.Session.Exec(
		ctx,
		"UPDATE dbo."+agents[kind]+" SET profile_id = @p2 WHERE id = @p1",
		call.Int("@agent_id"),
		call.Int("@profile_id"),
	)
}
