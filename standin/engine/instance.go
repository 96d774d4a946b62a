// SPDX-License-Identifier: Apache-2.0

// Package engine is an instance of the stand-in: databases, sessions and the execution of T-SQL. What can be done
// without its inside is outside: extensions (Registry) add statements, procedures, views and functions, and packages
// below it know data types, texts and files.
//
// A batch is parsed by syntax, and its statements are executed in turn (batch.go, statement.go, control.go). One that
// reads or changes rows is bound first: package bind makes it SQLite's SQL, a plan, and asks the session what it has
// to know (binding.go). The plan is kept until the metadata change (plan.go). What SQLite cannot change in one
// statement is changed row by row (rowwise.go). SQLite calls back for what is T-SQL's own, by functions
// (sqlfunctions.go) and virtual tables (view_table.go), which find the session by their connection (conn.go).
//
// Names of files begin with what they are about: ddl_ changes the metadata, views_ shows what sessions and the server
// do, functions_ and procedures_ are those built in, trigger_ and module_ belong to modules, localspace_ to temporary
// tables, database_ and file_ to the statements of these names.
package engine

import (
	"context"
	"log/slog"
	"time"

	"geosql.dev/standin/config"
	"geosql.dev/standin/tds"
)

// DefaultVersion is the build that the engine calls itself unless it is told otherwise.
const DefaultVersion = "16.0.4000.0"

// Config is what an instance is started with.
type Config struct {
	// ServerName is @@SERVERNAME.
	ServerName string
	// DataDir, LogDir and BackupDir are where files go whose place no statement gives. LogDir and BackupDir default
	// to DataDir. The system databases live in DataDir.
	DataDir, LogDir, BackupDir string
	// ErrorLog is the path of the error log, which sp_readerrorlog shows; empty for none.
	ErrorLog string
	// CycleErrorLog begins a new error log (sp_cycle_errorlog); nil where there is none.
	CycleErrorLog func() error
	// Root, when set, is a folder outside a container that stands for /var/opt/mssql; what is below /var/opt/mssql-NAME
	// lies below its mounts/NAME.
	Root string
	// SAPassword is sa's password at the first start (and, with no Authenticator, always).
	SAPassword string
	// Edition is MSSQL_PID's edition in SERVERPROPERTY's words; empty is "Developer Edition (64-bit)".
	Edition string
	// Version is SERVERPROPERTY('ProductVersion'), four numbers; empty is DefaultVersion.
	Version string
	// Port is the TCP port that clients reach, for the views that tell it; 0 is unknown.
	Port int
	// HADREnabled is MSSQL_ENABLE_HADR, AgentEnabled MSSQL_AGENT_ENABLED.
	HADREnabled, AgentEnabled bool
	// MemoryLimitMB is MSSQL_MEMORY_LIMIT_MB; 0 is not limited.
	MemoryLimitMB int64
	// StartupOptions are sqlservr's arguments (-T3604, -k100, -m), as given.
	StartupOptions []string
	// Minimal is -f: logon triggers do not fire.
	Minimal bool
	// TraceFlags are those that -T set.
	TraceFlags []int
	// Answers are the questions that the engine answers the other way (docs/answers.md).
	Answers config.Answers
	// SegmentBytes and MaxLogBytes are passed to storage for user databases; 0 is its default.
	SegmentBytes, MaxLogBytes int64
	// Extensions are installed in this order.
	Extensions []Extension
	// Log takes what goes to the error log; nil discards it.
	Log *slog.Logger
	// KillSession closes a session's connection (tds.Server.Kill); nil leaves it to end by itself.
	KillSession func(spid int) bool
	// Shutdown is called by SHUTDOWN, once, from a goroutine of its own; nil refuses the statement.
	Shutdown func(noWait bool)
}

// Ensure that an Instance can be served.
var _ tds.Backend = (*Instance)(nil)

// StartTime is when the instance was started.
func (inst *Instance) StartTime() time.Time { return inst.started }

// Config is what the instance was started with (without the password).
func (inst *Instance) Config() Config {
	c := inst.config
	c.SAPassword = ""
	return c
}

// Answers tells whether the instance answers a question the other way.
func (inst *Instance) Answers(name config.Answer) bool { return inst.config.Answers.Has(name) }

// Log is the error log.
func (inst *Instance) Log() *slog.Logger { return inst.log }

// SystemLogin is who internal sessions run as.
var SystemLogin = Login{Name: "sa", SID: []byte{1}, ID: 1, Sysadmin: true}

// Result is a result set in memory.
type Result struct {
	Columns []tds.Column
	Rows    [][]any
	// RowCount is the last statement's count, -1 for none.
	RowCount int64
}

// Session opens an internal session for Go code that runs T-SQL: agents, jobs, hadr. Close it. app is its program name.
func (inst *Instance) Session(ctx context.Context, login Login, database, app string) (*Session, error) {
	return inst.openSession(
		ctx,
		sessionSpec{
			login:    login,
			database: database,
			request:  tds.LoginRequest{User: login.Name, AppName: app, HostName: inst.config.ServerName},
			internal: true,
		},
	)
}
