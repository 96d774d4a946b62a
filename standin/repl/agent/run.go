// SPDX-License-Identifier: Apache-2.0

// Package agent has the snapshot, log reader and distribution agents of replication, which move rows. They are run
// by job steps, reach all servers over TDS as SQL Server's own executables do, and call the procedures of package repl
// there.
package agent

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"geosql.dev/standin/engine"
	"geosql.dev/standin/repl/stored"
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/syntax"
)

// Runner runs the agents of an instance, one of a kind at a time for what it serves.
type Runner struct {
	inst *engine.Instance
	// host is the address at which the instance reaches itself over TDS.
	host string
	// shares maps //host/share to a local directory.
	shares map[string]string
	// key opens the passwords that the distributor keeps for agents.
	key *stored.Key

	mu sync.Mutex
	// running are the agents that run, by what they serve.
	running map[string]bool
}

// New makes the runner of an instance that attach names later. An empty host is 127.0.0.1.
func New(key *stored.Key, host string, shares map[string]string) *Runner {
	if host == "" {
		host = "127.0.0.1"
	}
	return &Runner{key: key, host: host, shares: shares, running: map[string]bool{}}
}

// Attach says whose agents these are, before the first one runs.
func (a *Runner) Attach(inst *engine.Instance) { a.inst = inst }

// Address is host:port at which the instance serves TDS.
func (a *Runner) Address() string {
	return net.JoinHostPort(a.host, strconv.Itoa(a.inst.Config().Port))
}

// ServerName is the instance's name.
func (a *Runner) ServerName() string { return a.inst.Config().ServerName }

// System opens a session of replication's own in a database.
func (a *Runner) System(ctx context.Context, database string) (*engine.Session, error) {
	return a.inst.Session(ctx, engine.SystemLogin, database, "Replication")
}

// agentRun is one run of an agent: its arguments, its distributor, and the history it writes there.
type agentRun struct {
	runner      *Runner
	args        *Arguments
	name        string
	application string
	// history is the procedure that takes the history, "" before the agent is known.
	history  string
	agentID  int64
	started  string
	distConn *Conn
	distDB   string
	// directory is the publisher's working directory at the distributor.
	directory string
	delivered delivered
	seqno     []byte
	latency   int64
	// failed is the command that the subscriber refused.
	failed *failedCommand
	// said is what an idle agent said last, at saidAt.
	said   string
	saidAt time.Time
	// statistics of the run.
	statistics statistics
	// written is when the newest line of history was written, in nanoseconds since 1970.
	written atomic.Int64
}

// delivered counts what was delivered.
type delivered struct{ transactions, commands int64 }

// Subsystems are the job step subsystems of the agents, for SQL Agent: each runs a step's text; again says that the
// step is tried again when it fails.
func (a *Runner) Subsystems() map[string]func(ctx context.Context, commandLine string, again bool) (string, error) {
	out := map[string]func(context.Context, string, bool) (string, error){}
	for name, run := range map[string]func(context.Context, string) (string, error){
		"Snapshot": a.runSnapshot, "LogReader": a.runLogReader, "Distribution": a.runDistribution,
	} {
		out[name] = func(ctx context.Context, commandLine string, again bool) (string, error) {
			return run(context.WithValue(ctx, triedAgain{}, again), commandLine)
		}
	}
	return out
}

// triedAgain is the context key that says whether a run that fails is followed by another one of its job's step.
type triedAgain struct{}

// failure is the status of a run that an error ended: Retry where the step is tried again and the error may not come
// back by then, because a server was not there, a connection broke, a time was up or a deadlock was resolved.
func failure(ctx context.Context, err error) int {
	if again, _ := ctx.Value(triedAgain{}).(bool); again && passing(err) {
		return stored.RunRetrying
	}
	return stored.RunFailed
}

// beginAgent parses the text and sees to it that only one agent of a kind serves the same thing here: 21036.
func (a *Runner) beginAgent(agent, kind, commandLine string) (*agentRun, func(), error) {
	args, err := parseArguments(agent, commandLine)
	if err != nil {
		return nil, nil, fmt.Errorf("the %s agent's command line: %w", kind, err)
	}
	key := strings.ToLower(
		strings.Join(
			[]string{
				kind,
				args.str("-Publisher"),
				args.str("-PublisherDB"),
				args.str("-Publication"),
				args.str("-Subscriber"),
				args.str("-SubscriberDB"),
			},
			"|",
		),
	)
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.running[key] {
		return nil, nil, sqlerr.Raise(21036, 1, kind)
	}
	a.running[key] = true
	run := &agentRun{runner: a, args: args, name: kind, application: "Replication " + kind, started: stored.NowText()}
	return run, func() {
		a.mu.Lock()
		delete(a.running, key)
		a.mu.Unlock()
		run.distConn.Close()
	}, nil
}

// Target describes a server by the agent's parameters -<role>SecurityMode, -<role>Login and -<role>Password.
func (r *agentRun) target(role, server, database string) Target {
	t := Target{
		Role:     role,
		Server:   server,
		Database: database,
		Windows:  r.args.str("-"+role+"SecurityMode") == "1",
		Login:    r.args.str("-" + role + "Login"),
		Password: r.args.str(
			"-" + role + "Password",
		),
		Encryption:   1,
		LoginTimeout: r.args.seconds("-LoginTimeOut", 15),
		QueryTimeout: r.args.seconds("-QueryTimeOut", 1800),
		packetSize:   r.args.num("-PacketSize", 4096),
		Application:  r.application,
	}
	if r.args.given("-EncryptionLevel") {
		t.Encryption = r.args.num("-EncryptionLevel", 1)
	}
	return t
}

// useStored connects to a server as the distributor has noted for the agent, in the columns <prefix>_security_mode,
// _login and _password of its row. What the command line says goes before it: a security mode, and with it a login. The
// jobs that the documented procedures make say neither, so that what sp_changelogreader_agent and its kin change counts
// from the agent's next start
// (docs/relational-databases/system-stored-procedures/sp-changelogreader-agent-transact-sql.md, Remarks). Only the
// distributor itself can read a password.
func (r *agentRun) useStored(role string, row Rows, prefix string) error {
	if len(row) == 0 || r.args.given("-"+role+"Login") {
		return nil
	}
	mode := strings.ToLower("-" + role + "SecurityMode")
	if r.args.given(mode) {
		if r.args.str(mode) != "0" {
			return nil
		}
	} else if row[0][prefix+"_security_mode"] != nil {
		r.args.values[mode] = strconv.FormatInt(row.num(0, prefix+"_security_mode"), 10)
	}
	if row.Str(0, prefix+"_login") == "" {
		return nil
	}
	password, err := r.runner.key.Unseal(row.Str(0, prefix+"_password"))
	if err != nil {
		return err
	}
	r.args.values[strings.ToLower("-"+role+"Login")], r.args.values[strings.ToLower("-"+role+"Password")] = row.Str(
		0,
		prefix+"_login",
	), password
	return nil
}

// connectDistributor connects to the distributor and enters its distribution database.
func (r *agentRun) connectDistributor(ctx context.Context) error {
	server := r.args.str("-Distributor")
	if server == "" || server == "local Distributor for push" {
		server = r.runner.ServerName()
	}
	c, err := r.runner.Connect(ctx, r.target("Distributor", server, ""))
	if err != nil {
		return err
	}
	found, err := c.Query(ctx, "EXEC sp_MSget_distribution_db @publisher = @p1", r.args.str("-Publisher"))
	if err == nil && len(found) == 0 {
		err = sqlerr.Raise(14080, 1, r.args.str("-Publisher"))
	}
	if err == nil {
		r.distDB, r.directory = found.Str(0, "distribution_db"), found.Str(0, "working_directory")
		err = c.exec(ctx, "USE "+syntax.QuoteName(r.distDB))
	}
	if err != nil {
		c.Close()
		return err
	}
	r.distConn = c
	return nil
}

// connectPublisher connects to the publication database, where it is redirected to if it is and that is a place for it
// (docs/database-engine/availability-groups/windows/replicate-track-change-data-capture-always-on-availability.md,
// General changes to replication agents).
func (r *agentRun) connectPublisher(ctx context.Context) (*Conn, error) {
	server, db := r.args.str("-Publisher"), r.args.str("-PublisherDB")
	found, err := r.distConn.Query(
		ctx,
		"EXEC sp_get_redirected_publisher @original_publisher = @p1, @publisher_db = @p2, @bypass_publisher_validation = @p3",
		server,
		db,
		r.args.given("-BypassPublisherValidation"),
	)
	if err != nil {
		return nil, err
	}
	if number := found.num(0, "error_number"); number != 0 {
		return nil, &sqlerr.Error{
			Number:  int32(number),
			Class:   uint8(found.num(0, "error_severity")),
			State:   1,
			Message: found.Str(0, "error_message"),
		}
	}
	if to := found.Str(0, "redirected_publisher"); to != "" {
		server = to
	}
	return r.runner.Connect(ctx, r.target("Publisher", server, db))
}

// readProfile fills in the agent's profile from the distributor; -ProfileName names another one, or with NULL none.
func (r *agentRun) readProfile(ctx context.Context, kind int, profile int64) error {
	if strings.EqualFold(r.args.values["-profilename"], "NULL") {
		return nil
	}
	found, err := r.distConn.Query(
		ctx,
		"EXEC sp_MSget_agent_profile @agent_type = @p1, @profile_id = @p2, @profile_name = @p3",
		kind,
		profile,
		r.args.values["-profilename"],
	)
	if err != nil {
		return err
	}
	for i := range found {
		if err := r.args.profile(found.Str(i, "parameter_name"), found.Str(i, "value")); err != nil {
			return err
		}
	}
	return nil
}

// note writes a line of history, also when the agent is told to stop: the last line says so. Failing to write is no
// reason to stop delivering; it goes to the error log.
func (r *agentRun) note(ctx context.Context, status int, comments string) {
	if r.history == "" || r.distConn == nil || !r.notes(status) {
		return
	}
	if err := r.writeLine(context.WithoutCancel(ctx), r.distConn,
		line{status: status, comments: comments, seqno: r.seqno, delivered: r.delivered}); err != nil {
		r.runner.inst.Log().Warn("replication: history could not be written", "agent", r.name, "error", err.Error())
	}
	r.noteStatistics(ctx)
}

// idle says in the history that there is nothing to do. It says the same again after -MessageInterval, of which the
// default of 60 s stands for each look here, as that of -PollingInterval does for 1 s.
func (r *agentRun) idle(ctx context.Context, comments string) {
	const standard = time.Minute
	if every := r.messageInterval(); every != standard && comments == r.said && time.Since(r.saidAt) < every {
		return
	}
	r.said, r.saidAt = comments, time.Now()
	r.note(ctx, stored.RunIdle, comments)
}

// messageInterval is after how long without a line of history there is one
// (docs/relational-databases/replication/agents/replication-log-reader-agent.md, -MessageInterval).
func (r *agentRun) messageInterval() time.Duration { return r.args.seconds("-MessageInterval", 60) }

// silent tells whether there was no line of history for that long.
func (r *agentRun) silent() bool {
	return time.Since(time.Unix(0, r.written.Load())) >= r.messageInterval()
}

// notes tells whether -HistoryVerboseLevel asks for lines of that status.
func (r *agentRun) notes(status int) bool {
	return r.args.str("-HistoryVerboseLevel") != "0" || status == stored.RunFailed || status == stored.RunRetrying
}

// line is a line of history.
type line struct {
	status    int
	comments  string
	seqno     []byte
	delivered delivered
	// waiting says that nothing is new: the line has the figures of the one whose place it takes.
	waiting bool
}

// writeLine writes a line of history over a connection to the distributor, which has ten seconds to take it.
func (r *agentRun) writeLine(ctx context.Context, to *Conn, l line) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	figures := []any{nil, nil, nil, nil}
	if !l.waiting {
		figures = []any{l.delivered.transactions, l.delivered.commands, r.latency, l.delivered.commands}
	}
	err := to.exec(
		ctx,
		"EXEC "+r.history+" @agent_id = @p1, @runstatus = @p2, @comments = @p3, @start_time = @p4, @xact_seqno = @p5, "+
			"@verbose = @p6, @transactions = @p7, @commands = @p8, @latency = @p9, @total = @p10",
		append(
			[]any{r.agentID, l.status, l.comments, r.started, l.seqno, r.args.num("-HistoryVerboseLevel", 1)},
			figures...)...)
	if err == nil {
		r.written.Store(time.Now().UnixNano())
	}
	return err
}

// finish writes the end of a run into the history.
func (r *agentRun) finish(ctx context.Context, err error) (string, error) {
	switch {
	case ctx.Err() != nil:
		r.note(ctx, stored.RunSucceeded, "The process was stopped.")
		return "The process was stopped.", nil
	case err != nil:
		r.runner.inst.Log().Warn("replication agent failed", "agent", r.name, "error", err.Error())
		r.note(ctx, failure(ctx, err), err.Error())
		if r.history != "" {
			bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
			defer cancel()
			// The error itself is what the caller reports; a distributor that is away cannot keep it.
			_ = r.addError(bounded, NumberOf(err), err.Error(), r.failed)
		}
		return "", err
	}
	message := fmt.Sprintf(
		"%d transaction(s) with %d command(s) were delivered.",
		r.delivered.transactions,
		r.delivered.commands,
	)
	if r.delivered.transactions == 0 {
		message = "No replicated transactions are available."
	}
	r.note(ctx, stored.RunSucceeded, message)
	return message, nil
}

// polling is -PollingInterval. The default of 5 s stands for 1 s here: there is nobody to spare, and tests wait.
func (r *agentRun) polling() time.Duration {
	const standard = 5
	if n := r.args.num("-PollingInterval", standard); n != standard {
		return time.Duration(n) * time.Second
	}
	return time.Second
}

// Pause waits for the polling interval, or until ctx ends; then it is false.
func Pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
