// SPDX-License-Identifier: Apache-2.0

package mssql

import (
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"strings"

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

// ReadReplicationServer reads what an instance is in replication, and the role of its replica in a group, empty where
// it has none or no group is asked for; login and password are those of the agents.
func ReadReplicationServer(
	ctx context.Context,
	q Querier,
	login, password, group string,
) (s *ReplicationServer, role string, err error) {
	s = &ReplicationServer{Linked: map[string]bool{}, Databases: map[string]ReplicationDatabase{}}
	reads := s.toRead(login, password)
	if group != "" {
		reads = append(reads, readLocalRole(group, &role))
	}
	if err := readAll(ctx, q, "read what the server is in replication", reads...); err != nil {
		return nil, "", err
	}
	err = q.Query(ctx, tsql.InstalledDistributor(), func(r Row) error {
		var name sql.NullString
		err := scanFirst(r, &s.HasDistributor, &name)
		if s.HasDistributor {
			s.Distributor = name.String
		}
		return err
	})
	if err != nil {
		return nil, "", err
	}
	return s, role, nil
}

// toRead is what is read together; a procedure's answer is not among it.
func (s *ReplicationServer) toRead(login, password string) []read {
	return []read{
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
	err = readOwner(login, &user, &owner).by(ctx, q)
	return user, owner, err
}

func readOwner(login string, user *string, owner *bool) read {
	return read{tsql.OwnerMembership(login), func(r Row) error {
		var name string
		var is bool
		err := r.Scan(&name, &is)
		*user, *owner = cmp.Or(*user, name), *owner || is
		return err
	}}
}

// ReadLocalRole reads the role of the instance's replica in a group, empty when it has none.
func ReadLocalRole(ctx context.Context, q Querier, group string) (role string, err error) {
	err = readLocalRole(group, &role).by(ctx, q)
	return role, err
}

func readLocalRole(group string, into *string) read {
	return read{tsql.LocalRole(group), func(r Row) error {
		var role sql.NullString
		err := r.Scan(&role)
		*into = role.String
		return err
	}}
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
