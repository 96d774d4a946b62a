// SPDX-License-Identifier: Apache-2.0

package mssql

import (
	"cmp"
	"context"
	"database/sql"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"geosql.dev/operator/internal/tsql"
)

// RunStatus is the runstatus of an agent's history
// (docs/relational-databases/system-tables/msdistribution-history-transact-sql.md).
type RunStatus int

// The run statuses.
const (
	RunStarted    RunStatus = 1
	RunSucceeded  RunStatus = 2
	RunInProgress RunStatus = 3
	RunIdle       RunStatus = 4
	RunRetrying   RunStatus = 5
	RunFailed     RunStatus = 6
)

// String is the status as an AgentStatus has it. 2 is Succeeded of a snapshot and Stopped of an agent that runs on.
func (s RunStatus) String() string {
	switch s {
	case RunStarted:
		return "Started"
	case RunSucceeded:
		return "Stopped"
	case RunInProgress:
		return "InProgress"
	case RunIdle:
		return "Idle"
	case RunRetrying:
		return "Retrying"
	case RunFailed:
		return "Failed"
	}
	return "Unknown"
}

// Agent is a replication agent as the distributor knows it.
type Agent struct {
	ID int
	// Name is the agent's.
	Name string
	// Publisher is the original publisher.
	Publisher string
	// Job is the name of the distributor's job that is attached to it, empty when there is none. Attached tells that one
	// is or was: the engine attaches no other job then, although that was deleted.
	Job      string
	Attached bool
	// Status, Message and Time of the newest history row, and how old it is by the distributor's clock; Time is zero when
	// there is none.
	Status  RunStatus
	Message string
	Time    time.Time
	Age     time.Duration
	// ErrorCodes are the numbers of the newest error that the history tells of, which is several messages: the server's
	// and the agent's own. ErrorCode is the server's where it has one; ErrorTime and, by the distributor's clock, ErrorAge
	// say when it was. ErrorTime is zero when there is none.
	ErrorCode  string
	ErrorCodes []string
	ErrorTime  time.Time
	ErrorAge   time.Duration
	// Failure is RunRetrying or RunFailed while the agent has gone on with nothing since its run ended so, FailureMessage
	// what it said then, and FailingFor how long it has not; 0 else. Of a snapshot agent, which does not run on, only
	// FailingFor is known.
	Failure        RunStatus
	FailureMessage string
	FailingFor     time.Duration
	// Unseen is how long ago, by the distributor's clock, the history last tells of it going on; Never when it does not.
	Unseen time.Duration
}

// Never is how long ago what has not been was.
const Never time.Duration = math.MaxInt64

// atWork is how long an attempt is in progress that has connected: sooner it may still fail at that
// (tsql.AgentFailure).
const atWork = 30 * time.Second

// ReadAgents reads the agents that a statement selects (tsql.LogReaderAgents and so on), each with its newest history.
func ReadAgents(ctx context.Context, q Querier, statement tsql.Statement, kind tsql.AgentKind) ([]Agent, error) {
	var agents []Agent
	err := readAgents(statement, &agents).by(ctx, q)
	for i := range agents {
		if err == nil {
			err = agents[i].readHistory(ctx, q, kind)
		}
	}
	return agents, err
}

func readAgents(statement tsql.Statement, into *[]Agent) read {
	return read{statement, func(r Row) error {
		var a Agent
		err := r.Scan(&a.ID, &a.Name, &a.Publisher, &a.Job, &a.Attached)
		*into = append(*into, a)
		return err
	}}
}

// readHistory reads what the agent's history says.
func (a *Agent) readHistory(ctx context.Context, q Querier, kind tsql.AgentKind) error {
	newest := read{tsql.AgentHistory(kind, a.ID), func(r Row) error {
		var seconds int64
		err := r.Scan(&a.Status, &a.Message, &a.Time, &seconds)
		a.Age = time.Duration(seconds) * time.Second
		return err
	}}
	reads := []read{newest, a.readError(kind)}
	if kind == tsql.AgentSnapshot {
		reads = append(reads, a.readSnapshotFailing())
	} else {
		reads = append(reads, a.readFailure(kind))
	}
	return readAll(ctx, q, "read the history of the "+string(kind)+" agent", reads...)
}

// ownCode begins the code of a message that is an agent's own, not the server's.
const ownCode = "MSSQL_REPL"

func (a *Agent) readError(kind tsql.AgentKind) read {
	server, own := "", ""
	return read{tsql.AgentLastError(kind, a.ID), func(r Row) error {
		var code string
		var seconds int64
		err := r.Scan(&code, &a.ErrorTime, &seconds)
		a.ErrorAge = time.Duration(seconds) * time.Second
		number, isOwn := strings.CutPrefix(code, ownCode)
		if _, e := strconv.Atoi(number); e != nil {
			return err
		}
		a.ErrorCodes = append(a.ErrorCodes, number)
		if isOwn {
			own = cmp.Or(own, number)
		} else {
			server = cmp.Or(server, number)
		}
		a.ErrorCode = cmp.Or(server, own)
		return err
	}}
}

func (a *Agent) readSnapshotFailing() read {
	return read{tsql.SnapshotFailing(a.ID), func(r Row) error {
		var failing sql.NullInt64
		err := r.Scan(&failing)
		a.FailingFor = time.Duration(failing.Int64) * time.Second
		return err
	}}
}

// readFailure goes by the newest history, which is read before it.
func (a *Agent) readFailure(kind tsql.AgentKind) read {
	a.Unseen = Never
	return read{tsql.AgentFailure(kind, a.ID), func(r Row) error {
		var status, failing, unseen sql.NullInt64
		var message sql.NullString
		err := r.Scan(&status, &message, &failing, &unseen)
		if unseen.Valid {
			a.Unseen = time.Duration(unseen.Int64) * time.Second
		}
		if status.Valid && (a.Status != RunInProgress || a.Age < atWork) {
			a.Failure, a.FailureMessage = RunStatus(status.Int64), message.String
			a.FailingFor = time.Duration(failing.Int64) * time.Second
		}
		return err
	}}
}

// Met is the first of some error numbers that the agent's newest error has, empty when it has none of them.
func (a *Agent) Met(numbers ...string) string {
	for _, number := range numbers {
		if number != "" && (number == a.ErrorCode || slices.Contains(a.ErrorCodes, number)) {
			return number
		}
	}
	return ""
}
