// SPDX-License-Identifier: Apache-2.0

package mssql

import (
	"bytes"
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

// ReplicationServer is what an instance is in replication.
type ReplicationServer struct {
	// ProductVersion such as 16.0.4135.4.
	ProductVersion string
	// Sysadmin tells that the operator's login may configure replication here.
	Sysadmin bool
	// LoginSID of the agents' login, nil when there is none; PasswordRight tells that it has the right password.
	LoginSID      []byte
	PasswordRight bool
	// HasDistributor tells that the instance has a distributor; Distributor is its name, empty when the instance cannot
	// tell.
	HasDistributor bool
	Distributor    string
	// AgentDown tells that SQL Server Agent has not started since the engine did: it runs no job.
	AgentDown bool
	// Linked are the other servers that it knows, by name in lower case.
	Linked map[string]bool
	// Distribution are its distribution databases and Publishers who publishes through them, when it is a distributor.
	Distribution []DistributionDatabase
	Publishers   []DistributionPublisher
	// LargestReplicated is how many bytes one statement may write into a replicated column ('max text repl size'); -1 is
	// no bound.
	LargestReplicated int
	// Databases by name in lower case.
	Databases map[string]ReplicationDatabase
}

// DistributionDatabase is a distribution database. Retentions are in hours.
type DistributionDatabase struct {
	Name                        string
	Retention, HistoryRetention int
}

// DistributionPublisher is a publisher as its distributor knows it.
type DistributionPublisher struct {
	Name, Database, WorkingDirectory, Login string
	// SecurityMode is 0 for SQL logins.
	SecurityMode int
}

// ReplicationDatabase is a database of an instance.
type ReplicationDatabase struct {
	// Name and State (ONLINE and so on).
	Name, State string
	// Published for transactional replication, MergePublished for merge replication, which the operator does not make.
	Published, MergePublished bool
	// ReadOnly takes no writes of anybody (ALTER DATABASE SET READ_ONLY).
	ReadOnly bool
	// RecoveryModel is FULL, SIMPLE or BULK_LOGGED; LogChain tells of a first full backup, Secondary of another primary.
	RecoveryModel       string
	LogChain, Secondary bool
	// Collation of the database; empty while it is not online.
	Collation string
}

// Database finds a database, compared as the server's default collation does; nil when there is none.
func (s *ReplicationServer) Database(name string) *ReplicationDatabase {
	if d, ok := s.Databases[strings.ToLower(name)]; ok {
		return &d
	}
	return nil
}

// Publisher finds a publisher; nil when the instance lets no such server publish.
func (s *ReplicationServer) Publisher(name string) *DistributionPublisher {
	for i := range s.Publishers {
		if strings.EqualFold(s.Publishers[i].Name, name) {
			return &s.Publishers[i]
		}
	}
	return nil
}

// HasLogin tells whether the agents' login exists with this SID.
func (s *ReplicationServer) HasLogin(sid []byte) bool { return bytes.Equal(s.LoginSID, sid) }

// ReadReplicationServer reads what an instance is in replication; login and password are those of the agents.
func ReadReplicationServer(ctx context.Context, q Querier, login, password string) (*ReplicationServer, error) {
	s := &ReplicationServer{Linked: map[string]bool{}, Databases: map[string]ReplicationDatabase{}}
	reads := []struct {
		statement tsql.Statement
		scan      func(Row) error
	}{
		{tsql.IsSysadmin(), func(r Row) error { return r.Scan(&s.Sysadmin) }},
		{tsql.ReplicationLogin(login, password), func(r Row) error { return r.Scan(&s.LoginSID, &s.PasswordRight) }},
		{tsql.ProductVersion(), func(r Row) error { return r.Scan(&s.ProductVersion) }},
		{tsql.AgentStarted(), func(r Row) error {
			var starts int
			err := r.Scan(&starts)
			s.AgentDown = starts == 0
			return err
		}},
		{tsql.LargestReplicated(), func(r Row) error { return r.Scan(&s.LargestReplicated) }},
		{tsql.LinkedServers(), func(r Row) error {
			var name string
			err := r.Scan(&name)
			s.Linked[strings.ToLower(name)] = true
			return err
		}},
		{tsql.InstalledDistributor(), func(r Row) error {
			var name sql.NullString
			err := scanFirst(r, &s.HasDistributor, &name)
			if s.HasDistributor {
				s.Distributor = name.String
			}
			return err
		}},
		{tsql.DistributionDatabases(), func(r Row) error {
			var d DistributionDatabase
			err := r.Scan(&d.Name, &d.Retention, &d.HistoryRetention)
			s.Distribution = append(s.Distribution, d)
			return err
		}},
		{tsql.DistributionPublishers(), func(r Row) error {
			var p DistributionPublisher
			err := r.Scan(&p.Name, &p.Database, &p.WorkingDirectory, &p.SecurityMode, &p.Login)
			s.Publishers = append(s.Publishers, p)
			return err
		}},
		{tsql.ReplicationDatabases(), func(r Row) error {
			var d ReplicationDatabase
			err := r.Scan(&d.Name, &d.State, &d.Published, &d.ReadOnly, &d.RecoveryModel, &d.LogChain, &d.MergePublished,
				&d.Secondary, &d.Collation)
			s.Databases[strings.ToLower(d.Name)] = d
			return err
		}},
	}
	for _, read := range reads {
		if err := q.Query(ctx, read.statement, read.scan); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// ReadTraceFlag tells whether a trace flag is on for the whole instance.
func ReadTraceFlag(ctx context.Context, q Querier, flag int) (bool, error) {
	on := false
	err := q.Query(ctx, tsql.TraceStatus(flag), func(r Row) error {
		var number, status, global int
		err := scanFirst(r, &number, &status, &global)
		on = on || number == flag && global != 0
		return err
	})
	return on, err
}

// ReadOwner tells whether the login has a user in the connection's database, and whether one is in db_owner. Two that
// were made at the same time are taken for one: a statement that names the user means either.
func ReadOwner(ctx context.Context, q Querier, login string) (user string, owner bool, err error) {
	err = q.Query(ctx, tsql.OwnerMembership(login), func(r Row) error {
		var name string
		var is bool
		err := r.Scan(&name, &is)
		user, owner = cmp.Or(user, name), owner || is
		return err
	})
	return user, owner, err
}

// ReadLocalRole reads the role of the instance's replica in a group, empty when it has none.
func ReadLocalRole(ctx context.Context, q Querier, group string) (string, error) {
	var role sql.NullString
	err := q.Query(ctx, tsql.LocalRole(group), func(r Row) error { return r.Scan(&role) })
	return role.String, err
}

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
	err := q.Query(ctx, statement, func(r Row) error {
		var a Agent
		err := r.Scan(&a.ID, &a.Name, &a.Publisher, &a.Job, &a.Attached)
		agents = append(agents, a)
		return err
	})
	for i := range agents {
		if err != nil {
			break
		}
		a := &agents[i]
		err = q.Query(ctx, tsql.AgentHistory(kind, a.ID), func(r Row) error {
			var seconds int64
			err := r.Scan(&a.Status, &a.Message, &a.Time, &seconds)
			a.Age = time.Duration(seconds) * time.Second
			return err
		})
		if err == nil {
			err = a.readError(ctx, q, kind)
		}
		switch {
		case err != nil:
		case kind == tsql.AgentSnapshot:
			var failing sql.NullInt64
			err = q.Query(ctx, tsql.SnapshotFailing(a.ID), func(r Row) error { return r.Scan(&failing) })
			a.FailingFor = time.Duration(failing.Int64) * time.Second
		default:
			err = a.readFailure(ctx, q, kind)
		}
	}
	return agents, err
}

// ownCode begins the code of a message that is an agent's own, not the server's.
const ownCode = "MSSQL_REPL"

func (a *Agent) readError(ctx context.Context, q Querier, kind tsql.AgentKind) error {
	own := ""
	err := q.Query(ctx, tsql.AgentLastError(kind, a.ID), func(r Row) error {
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
			a.ErrorCode = cmp.Or(a.ErrorCode, number)
		}
		return err
	})
	a.ErrorCode = cmp.Or(a.ErrorCode, own)
	return err
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

func (a *Agent) readFailure(ctx context.Context, q Querier, kind tsql.AgentKind) error {
	var status, failing, unseen sql.NullInt64
	var message sql.NullString
	err := q.Query(
		ctx,
		tsql.AgentFailure(kind, a.ID),
		func(r Row) error { return r.Scan(&status, &message, &failing, &unseen) },
	)
	a.Unseen = Never
	if unseen.Valid {
		a.Unseen = time.Duration(unseen.Int64) * time.Second
	}
	if !status.Valid || a.Status == RunInProgress && a.Age >= atWork {
		return err
	}
	a.Failure, a.FailureMessage, a.FailingFor = RunStatus(
		status.Int64,
	), message.String, time.Duration(
		failing.Int64,
	)*time.Second
	return err
}

// LastSnapshot is the newest run of a snapshot agent that succeeded.
type LastSnapshot struct {
	// At is when it ended, as text by the distributor's clock; empty when none ever did.
	At string
	// Age is how long ago that was, Began how long ago the run was begun, by the distributor's clock in whole seconds.
	Age, Began time.Duration
}

// ReadLastSnapshot reads when a snapshot agent last succeeded.
func ReadLastSnapshot(ctx context.Context, q Querier, agent int) (last LastSnapshot, err error) {
	err = q.Query(ctx, tsql.LastSnapshot(agent), func(r Row) error {
		var age, began int64
		err := r.Scan(&last.At, &age, &began)
		last.Age, last.Began = time.Duration(age)*time.Second, time.Duration(began)*time.Second
		return err
	})
	return last, err
}

// KnownPublication is a publication as the distributor knows it.
type KnownPublication struct {
	Name string
	// Publisher is the original publisher.
	Publisher string
}

// ReadKnownPublications reads the publications of a database and under which server's name the distributor knows each.
func ReadKnownPublications(ctx context.Context, q Querier, database string) ([]KnownPublication, error) {
	var all []KnownPublication
	err := q.Query(ctx, tsql.OriginalPublishers(database), func(r Row) error {
		var p KnownPublication
		err := r.Scan(&p.Name, &p.Publisher)
		all = append(all, p)
		return err
	})
	return all, err
}

// ReadPublicationAccess reads the logins on a publication's access list.
func ReadPublicationAccess(ctx context.Context, q Querier, publisher, database, publication string) ([]string, error) {
	var logins []string
	err := q.Query(ctx, tsql.PublicationAccess(publisher, database, publication), func(r Row) error {
		var login string
		err := r.Scan(&login)
		logins = append(logins, login)
		return err
	})
	return logins, err
}

// ReadRedirected reads where agents are sent that look for the original publisher's database, empty when nowhere else.
func ReadRedirected(ctx context.Context, q Querier, original, database string) (string, error) {
	var to sql.NullString
	err := q.Query(ctx, tsql.RedirectedPublisher(original, database), func(r Row) error {
		return scanFirst(r, &to)
	})
	if strings.EqualFold(to.String, original) {
		// Without a redirection the procedure names the publisher itself.
		to.String = ""
	}
	return to.String, err
}

// ReadDatabaseNote reads an extended property of a database, false when it has none of the name.
func ReadDatabaseNote(ctx context.Context, q Querier, name string) (value string, found bool, err error) {
	err = q.Query(ctx, tsql.DatabaseNote(name), func(r Row) error {
		found = true
		return r.Scan(&value)
	})
	return value, found, err
}

// TableRule is something that a table has beside rows and columns.
type TableRule struct {
	// Table is "schema.name" as the server has it.
	Table string
	// Kind is Identity, Default, RowVersion, Check, ForeignKey or Trigger; Name that of the column, constraint or trigger.
	Kind, Name string
	// Last is the last value of an identity, empty before the first one.
	Last string
}

// ReadTableRules reads what the tables of a database have beside rows and columns.
func ReadTableRules(ctx context.Context, q Querier) ([]TableRule, error) {
	var all []TableRule
	err := q.Query(ctx, tsql.TableRules(), func(r Row) error {
		var schema, table string
		var rule TableRule
		err := r.Scan(&schema, &table, &rule.Kind, &rule.Name, &rule.Last)
		rule.Table = schema + "." + table
		all = append(all, rule)
		return err
	})
	return all, err
}
