// SPDX-License-Identifier: Apache-2.0

package replication

import (
	"fmt"
	"strings"
	"time"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/reconcile/conditions"
	"geosql.dev/operator/internal/tsql"
)

// Step is one thing to do.
type Step = reconcile.Step

// Execute is the step that executes a statement; those of replication run under the operator's login.
type Execute = mssql.Execute

// Plan is the plan of all kinds, with what the kinds of replication plan alike.
type Plan struct{ reconcile.Plan }

// Execute adds a statement.
func (p *Plan) Execute(server v1alpha1.ServerName, database string, s tsql.Statement, done ...int32) {
	p.Add(Execute{Server: server, Database: database, Statement: s, Done: done})
}

// Proceed ends the planning when there is something to do, and says what is being configured.
func (p *Plan) Proceed(format string, args ...any) bool {
	return p.StopIfSteps(v1alpha1.ReasonConfiguring, "%s", p.WithLeft(fmt.Sprintf(format, args...)))
}

// WithLeft is a message with what stays of somebody else's.
func (p *Plan) WithLeft(message string) string {
	if len(p.Left) == 0 {
		return message
	}
	return message + "; what stays: " + strings.Join(p.Left, "; ")
}

const (
	// Master is where procedures for the whole instance run.
	Master = "master"
	// noMasterKey is what an engine refuses with that keeps passwords under a database's master key and finds none.
	noMasterKey = 15581
	// jobRefused is what sp_start_job refuses with when the job runs, and sp_stop_job when it does not.
	jobRefused = 22022
	// Several objects share a server's login and a database with its user, and make them at the same time: these say that
	// somebody else was faster. The next observation judges what is there.
	loginExists = 15025
	userExists  = 15023
	// DatabaseExists is the same of a database.
	DatabaseExists = 1801
)

// Keeping adds a statement that gives the engine a password to keep. It may be refused because a job runs: what
// attaches a job may start it.
func (p *Plan) Keeping(s System, server v1alpha1.ServerName, database string, statement tsql.Statement, keeps Execute) {
	p.Add(s.Keyed(Execute{Server: server, Database: database, Statement: statement, Done: []int32{jobRefused}}, keeps))
}

// Keyed is a step that gives the engine a password to keep. Where it is refused for want of a master key, one is made
// in the database that keeps it, and the step is repeated.
func (s *System) Keyed(step, keeps Execute) Execute {
	keeps.Statement = tsql.CreateMasterKey(s.KeyPassword)
	again := step
	step.Instead = []mssql.Instead{{On: noMasterKey, Steps: []Execute{keeps, again}}}
	return step
}

// Login creates the agents' login on a server, or sets its password. It returns false, with the outcome set, when a
// login of that name has another SID.
func (p *Plan) Login(s System, server v1alpha1.ServerName, have *mssql.ReplicationServer) bool {
	login := tsql.Login{Name: s.Login, SID: s.SID, Password: s.AgentPassword}
	switch {
	case have.LoginSID == nil:
		p.Execute(server, Master, tsql.CreateLogin(login), loginExists)
	case !have.HasLogin(s.SID):
		return p.Settle(conditions.Stalled(v1alpha1.ReasonLoginConflict, fmt.Sprintf(
			"login %s exists on server %s with another SID than %s: drop it there, it is made again",
			login.Name, credentials.HostName(server), tsql.Binary(s.SID))))
	case !have.PasswordRight:
		p.Execute(server, Master, tsql.AlterLoginPassword(login))
	}
	return true
}

// Owner is the agents' user in a database.
type Owner struct {
	// User is empty when the login has none.
	User string
	// IsOwner tells that it is in db_owner.
	IsOwner bool
}

// Owner adds the agents' login to a database's db_owner, which the agents' connections need
// (docs/relational-databases/replication/security/replication-agent-security-model.md).
func (p *Plan) Owner(s System, server v1alpha1.ServerName, database string, have Owner) {
	if have.User == "dbo" {
		return
	}
	user := have.User
	if user == "" {
		user = s.Login
		p.Execute(server, database, tsql.CreateUser(user, s.Login), userExists)
	}
	if !have.IsOwner {
		p.Execute(server, database, tsql.AddRoleMember("db_owner", user))
	}
}

// Job creates a job of SQL Server Agent or corrects it, without starting it. A job that runs with another command line
// is stopped; Run starts it again. One that somebody else made is taken over: its mark says from then on whose it is,
// and RemoveJob may delete it.
func (p *Plan) Job(server v1alpha1.ServerName, job tsql.Job, enabled bool, have *mssql.Job) {
	if have == nil {
		p.Execute(server, Master, tsql.AddJob(job, enabled))
		p.Execute(server, Master, tsql.AddJobStep(job))
		p.Execute(server, Master, tsql.AddJobServer(job.Name))
		if job.Continuous {
			p.Execute(server, Master, tsql.AddJobSchedule(job.Name))
		}
		return
	}
	job.Name = nameOf(have, job.Name)
	if !Described(have.Description) {
		p.Execute(server, Master, tsql.DescribeJob(job.Name, job.Description))
	}
	switch {
	case have.Step == 0:
		p.Execute(server, Master, tsql.AddJobStep(job))
	case !job.Command.Is(have.Command):
		p.setCommand(server, job.Name, job.Command, have)
	}
	if !have.HasServer {
		p.Execute(server, Master, tsql.AddJobServer(job.Name))
	}
	if job.Continuous && !have.Scheduled {
		p.Execute(server, Master, tsql.AddJobSchedule(job.Name))
	}
	if have.Enabled != enabled {
		p.Execute(server, Master, tsql.EnableJob(job.Name, enabled))
	}
	if !enabled && have.Running {
		p.StopJob(server, job.Name)
	}
}

// setCommand has a job run with another command line from its next start on, and stops it.
func (p *Plan) setCommand(server v1alpha1.ServerName, name string, command tsql.Command, have *mssql.Job) {
	if have.Running {
		// Before the change: afterwards nothing would tell that it runs with the old one.
		p.StopJob(server, name)
	}
	p.Execute(server, Master, tsql.UpdateJobStep(name, have.Step, command))
}

// StopJob stops a job, unless it does not run.
func (p *Plan) StopJob(server v1alpha1.ServerName, name string) {
	p.Execute(server, Master, tsql.StopJob(name), jobRefused)
}

// StartJob starts a job, unless it runs.
func (p *Plan) StartJob(server v1alpha1.ServerName, name string) {
	p.Execute(server, Master, tsql.StartJob(name), jobRefused)
}

// patience is how long a job is left alone after it was started: SQL Server Agent waits a minute between two attempts,
// which is long when the server that an agent could not reach answers again.
const patience = 15 * time.Second

// TakeOver has the job that is attached to an agent be the operator's by its name, by which everything that ends or
// moves the agent finds it; false when it is. The engine attaches no other job to an agent that has one, which it may
// have made by itself. One that has the operator's name already is attached to nothing, and would run beside it.
func (p *Plan) TakeOver(
	server v1alpha1.ServerName,
	agent *mssql.Agent,
	own AgentJob,
	description string,
	beside *mssql.Job,
) bool {
	if agent == nil || agent.Job == "" || own.is(agent.Job) {
		return false
	}
	p.RemoveJob(server, own.Now, beside)
	p.Execute(server, Master, tsql.RenameJob(agent.Job, own.Now, description))
	return true
}

// Run starts an enabled job that does not run. One that waits for its next attempt is started again: the servers that
// it could not reach answer now.
func (p *Plan) Run(server v1alpha1.ServerName, name string, have *mssql.Job) {
	if have == nil || !have.Enabled {
		return
	}
	name = nameOf(have, name)
	if have.Running && have.BetweenRetries && have.Started >= patience {
		p.StopJob(server, name)
		p.StartJob(server, name)
	}
	if !have.Running {
		p.StartJob(server, name)
	}
}

// Starting is Proceed of steps that start a job on a server. While SQL Server Agent is down there, it says that: the
// engine refuses to start a job then with the number with which it refuses to start one that runs.
func (p *Plan) Starting(name v1alpha1.ServerName, server Server, format string, args ...any) bool {
	if server.State == nil || !server.State.AgentDown {
		return p.Proceed(format, args...)
	}
	return p.StopIfSteps(v1alpha1.ReasonAgentNotRunning, "SQL Server Agent has not started on %[1]s since the engine "+
		"did, and runs no job: its log there (sqlagent.out, beside the engine's) says what it waits for",
		credentials.HostName(name))
}

// StartSnapshot starts a publication's snapshot agent: by its job's name when the one that is attached was deleted and
// made again, which the publisher's procedure does not find.
func (p *Plan) StartSnapshot(s System, at AtDistributor, primary v1alpha1.ServerName, database, publication string) {
	if at.Snapshot == nil || at.Snapshot.Job == "" {
		p.StartJob(s.Server, SnapshotJob(at.Original, database, publication))
		return
	}
	p.Execute(primary, database, tsql.StartPublicationSnapshot(publication), jobRefused)
}

// RemoveJob ends a job that serves nothing any more, and is the only way that one ends. A job with the operator's mark
// is deleted. One without was never taken over: it is somebody else's, and only kept from running, also when SQL Server
// Agent starts; that it stays is said.
func (p *Plan) RemoveJob(server v1alpha1.ServerName, name string, have *mssql.Job) {
	if have == nil {
		return
	}
	name = nameOf(have, name)
	foreign := !Described(have.Description)
	if foreign {
		p.Leave("on %s job %s, which somebody else made; it is disabled, for what it served has ended",
			credentials.HostName(server), name)
	}
	if foreign && have.Enabled {
		p.Execute(server, Master, tsql.EnableJob(name, false))
	}
	if have.Running {
		p.StopJob(server, name)
	}
	if !foreign {
		p.Execute(server, Master, tsql.DeleteJob(name))
	}
}
