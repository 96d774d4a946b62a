// SPDX-License-Identifier: Apache-2.0

package tsql

import (
	"strconv"
	"strings"
)

// Sources of the statements of this file: docs/relational-databases/system-stored-procedures/sp-add-job-*,
// sp-add-jobstep-*, sp-add-jobserver-*, sp-add-jobschedule-*, sp-update-job-*, sp-update-jobstep-*, sp-start-job-*,
// sp-stop-job-*, sp-delete-job-transact-sql.md, and docs/relational-databases/replication/agents/.

// Subsystem runs a job's step.
type Subsystem string

// The subsystems of replication agents.
const (
	SubsystemLogReader    Subsystem = "LOGREADER"
	SubsystemSnapshot     Subsystem = "SNAPSHOT"
	SubsystemDistribution Subsystem = "DISTRIBUTION"
)

// category of the jobs of a subsystem, as replication's own procedures name it.
func (s Subsystem) category() string {
	switch s {
	case SubsystemLogReader:
		return "REPL-LogReader"
	case SubsystemSnapshot:
		return "REPL-Snapshot"
	}
	return "REPL-Distribution"
}

// Command is an agent's command line with its redacted form.
type Command struct{ text, shown string }

// NewCommand begins an agent's command line.
func NewCommand() Command { return Command{} }

// Is tells whether a text is the command line.
func (c Command) Is(text string) bool { return c.text == text }

// In tells whether a text is a command line that has all the parameters of this one, with the same values.
func (c Command) In(text string) bool {
	rest := " " + c.text
	for rest != "" {
		next := strings.Index(rest[1:], " -") + 1
		if next == 0 {
			next = len(rest)
		}
		if !strings.Contains(" "+text+" ", rest[:next]+" ") {
			return false
		}
		rest = rest[next:]
	}
	return true
}

// Text is the command line as the agent gets it, with its passwords.
func (c Command) Text() string { return c.text }

// String is the command line without its passwords.
func (c Command) String() string { return c.shown }

// With appends a parameter and its value in brackets, as the procedures of replication write it.
func (c Command) With(parameter, value string) Command {
	return c.append(parameter, Identifier(value), Identifier(value))
}

// WithNumber appends a parameter and a number.
func (c Command) WithNumber(parameter string, value int) Command {
	return c.append(parameter, strconv.Itoa(value), strconv.Itoa(value))
}

// WithSecret appends a parameter whose value is shown as asterisks.
func (c Command) WithSecret(parameter, value string) Command {
	return c.append(parameter, Identifier(value), "***")
}

// WithWord appends a parameter and a value that is made of letters, digits and colons, as it is.
func (c Command) WithWord(parameter, value string) Command { return c.append(parameter, value, value) }

// EndingAs appends what another command line has from the last parameter of a name on, shown as asterisks; false when
// it has none.
func (c Command) EndingAs(other, parameter string) (Command, bool) {
	at := strings.LastIndex(other, " -"+parameter+" ")
	if at < 0 {
		return c, false
	}
	return Command{text: c.text + other[at:], shown: c.shown + " ***"}, true
}

// Flag appends a parameter without a value.
func (c Command) Flag(parameter string) Command { return c.append(parameter, "", "") }

func (c Command) append(parameter, value, shown string) Command {
	join := func(line, value string) string {
		parts := []string{}
		for _, p := range []string{line, "-" + parameter, value} {
			if p != "" {
				parts = append(parts, p)
			}
		}
		return strings.Join(parts, " ")
	}
	return Command{text: join(c.text, value), shown: join(c.shown, shown)}
}

// Job is a SQL Server Agent job of one step that runs a replication agent.
type Job struct {
	// Name of the job.
	Name string
	// Description says whose it is.
	Description string
	// Subsystem runs the step.
	Subsystem Subsystem
	// Command line of the agent.
	Command Command
	// Publisher is the original publisher, which the steps of replication's own jobs name as their server.
	Publisher string
	// Database of the step: the distribution database, or the subscription's.
	Database string
	// Continuous jobs start with SQL Server Agent.
	Continuous bool
}

// retries of a continuous agent's step: it is tried again after a minute, for two years.
const (
	retryAttempts = 1000000
	retryMinutes  = 1
)

// stepName is what replication's own procedures call the step.
const stepName = "Run agent."

// AddJob adds a job without steps.
func AddJob(j Job, enabled bool) Statement {
	return exec("msdb.dbo.sp_add_job").str("job_name", j.Name).num("enabled", bit(enabled)).
		str("description", j.Description).str("category_name", j.Subsystem.category()).
		done("add job " + j.Name)
}

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}

// AddJobStep adds the job's step.
func AddJobStep(j Job) Statement {
	c := exec("msdb.dbo.sp_add_jobstep").str("job_name", j.Name).num("step_id", 1).str("step_name", stepName).
		str("subsystem", string(j.Subsystem)).command("command", j.Command).optional("server", j.Publisher).
		str("database_name", j.Database)
	if j.Continuous {
		c.num("retry_attempts", retryAttempts).num("retry_interval", retryMinutes)
	}
	return c.done("say what job " + j.Name + " runs")
}

// AddJobServer makes the job one of the local server.
func AddJobServer(name string) Statement {
	return exec("msdb.dbo.sp_add_jobserver").str("job_name", name).str("server_name", "(LOCAL)").
		done("let job " + name + " run on this server")
}

// AddJobSchedule makes the job start when SQL Server Agent starts (freq_type 64).
func AddJobSchedule(name string) Statement {
	return exec(
		"msdb.dbo.sp_add_jobschedule",
	).str("job_name", name).
		str("name", "Start with the agent").
		num("freq_type", 64).
		done("start job " + name + " with SQL Server Agent")
}

// UpdateJobStep changes what a step of a job runs.
func UpdateJobStep(name string, step int, command Command) Statement {
	return exec("msdb.dbo.sp_update_jobstep").str("job_name", name).num("step_id", step).command("command", command).
		done("change what job " + name + " runs")
}

// EnableJob enables or disables a job.
func EnableJob(name string, enabled bool) Statement {
	reason := "disable job "
	if enabled {
		reason = "enable job "
	}
	return exec("msdb.dbo.sp_update_job").str("job_name", name).num("enabled", bit(enabled)).done(reason + name)
}

// DescribeJob changes a job's description, by which its owner is known.
func DescribeJob(name, description string) Statement {
	return exec(
		"msdb.dbo.sp_update_job",
	).str("job_name", name).
		str("description", description).
		done("take over job " + name)
}

// RenameJob gives a job another name, and a description that says whose it is. Whatever it is attached to, it stays so.
func RenameJob(name, now, description string) Statement {
	return exec("msdb.dbo.sp_update_job").str("job_name", name).str("new_name", now).str("description", description).
		done("take over job " + name + " as " + now)
}

// StartJob starts a job; the server refuses with 22022 when it runs already.
func StartJob(name string) Statement {
	return exec("msdb.dbo.sp_start_job").str("job_name", name).done("start job " + name)
}

// StopJob stops a job; the server refuses with 22022 when it does not run.
func StopJob(name string) Statement {
	return exec("msdb.dbo.sp_stop_job").str("job_name", name).done("stop job " + name)
}

// DeleteJob deletes a job.
func DeleteJob(name string) Statement {
	return exec("msdb.dbo.sp_delete_job").str("job_name", name).done("delete job " + name)
}

// AgentStarted selects how often SQL Server Agent has started since the engine did; no row for a login that may not
// know. Sources: docs/relational-databases/system-tables/dbo-syssessions-transact-sql.md,
// docs/relational-databases/system-dynamic-management-views/sys-dm-os-sys-info-transact-sql.md.
func AgentStarted() Statement {
	return text("IF IS_SRVROLEMEMBER(N'sysadmin') = 1\n    SELECT COUNT(*) FROM msdb.dbo.syssessions AS s " +
		"WHERE s.agent_start_date >= (SELECT sqlserver_start_time FROM sys.dm_os_sys_info)").
		Because("read whether SQL Server Agent has started")
}

// JobState reads a job by its name: enabled, number and command of the step that runs a replication agent (0 and empty
// without one), whether it has a server and a schedule, whether it runs, how many seconds ago it was started last (NULL
// when it was not since SQL Server Agent started), and its description. A job that replication made has the agent in
// its second step, between two of T-SQL. An execution from before the engine started has ended, whatever is noted of
// it: nobody notes the end of a job when both are killed. Sources: dbo.sysjobs, sysjobsteps, sysjobservers,
// sysjobschedules and sysjobactivity in docs/relational-databases/system-tables/.
func JobState(name string) Statement {
	return new(builder).sql(`SELECT CAST(j.enabled AS int), COALESCE(s.step_id, 0), COALESCE(s.command, N''),
    (SELECT COUNT(*) FROM msdb.dbo.sysjobservers AS v WHERE v.job_id = j.job_id),
    (SELECT COUNT(*) FROM msdb.dbo.sysjobschedules AS c WHERE c.job_id = j.job_id),
    (SELECT COUNT(*) FROM msdb.dbo.sysjobactivity AS a WHERE a.job_id = j.job_id AND a.stop_execution_date IS NULL
        AND a.start_execution_date >= (SELECT sqlserver_start_time FROM sys.dm_os_sys_info) AND a.session_id = (SELECT MAX(session_id) FROM msdb.dbo.sysjobactivity)),
    (SELECT DATEDIFF(second, MAX(a.start_execution_date), GETDATE()) FROM msdb.dbo.sysjobactivity AS a
    WHERE a.job_id = j.job_id
        AND a.session_id = (SELECT MAX(session_id) FROM msdb.dbo.sysjobactivity)),
    COALESCE(j.description, N'')
FROM msdb.dbo.sysjobs AS j LEFT JOIN msdb.dbo.sysjobsteps AS s ON s.job_id = j.job_id
    AND s.step_id = (SELECT MIN(t.step_id) FROM msdb.dbo.sysjobsteps AS t WHERE t.job_id = j.job_id
        AND UPPER(t.subsystem) IN (N'LOGREADER', N'SNAPSHOT', N'DISTRIBUTION'))
WHERE j.name = @name`).arg("name", name).done("read job " + name)
}

// JobExecution tells what a job is doing, in the columns of sp_help_job, to be read by name: current_execution_status
// is 3 between two attempts of a step. Source:
// docs/relational-databases/system-stored-procedures/sp-help-job-transact-sql.md.
func JobExecution(name string) Statement {
	return exec(
		"msdb.dbo.sp_help_job",
	).str("job_name", name).
		str("job_aspect", "JOB").
		done("read what job " + name + " is doing")
}
