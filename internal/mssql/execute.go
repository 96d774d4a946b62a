// SPDX-License-Identifier: Apache-2.0

package mssql

import (
	"context"
	"fmt"
	"slices"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/tsql"
)

// Execute is the step of a plan that executes a statement in a database of a server: plain data, the same for every
// kind. It is carried out with what the kind's apply.go knows: the namespace, time-outs, what an unknown outcome means.
type Execute struct {
	// Server is empty for the one that the plan is about.
	Server v1alpha1.ServerName
	// Role under whose login the statement runs; empty for the login under which the kind does everything.
	Role      credentials.Role
	Database  string
	Statement tsql.Statement
	// Done are error numbers that say that what the statement asks for is so already.
	Done []int32
	// Instead are ways on where the engine refuses the statement with a number, each tried once: what no document says,
	// one engine may take and another refuse. Only the executor of replication follows them.
	Instead []Instead
}

// Instead are steps that are carried out, one after the other, where a statement was refused with a number.
type Instead struct {
	On    int32
	Steps []Execute
}

// Otherwise are the steps for what an execution came to; false when there are none.
func (s Execute) Otherwise(err error) ([]Execute, bool) {
	for _, other := range s.Instead {
		if HasNumber(err, other.On) {
			return other.Steps, true
		}
	}
	return nil, false
}

// Settled is what an execution came to: nil also where an error says that what was asked for is so already.
func (s Execute) Settled(err error) error {
	if done := slices.Concat(s.Done, s.Statement.Repeated()); len(done) > 0 && HasNumber(err, done...) {
		return nil
	}
	return err
}

// Describe names the server and the statement, without secrets.
func (s Execute) Describe() string {
	host := credentials.HostName(s.Server)
	switch {
	case s.Server == "":
		return fmt.Sprintf("execute as %s in %s: %s", s.Role.Login(), s.Database, s.Statement.Redacted())
	case s.Role != "":
		return fmt.Sprintf("on %s as %s: %s: %s", host, s.Role.Login(), s.Statement.Reason, s.Statement.Redacted())
	}
	return s.Statement.On(host, s.Database)
}

// ReadSessions reads the numbers of sessions that a statement selects.
func ReadSessions(ctx context.Context, q Querier, s tsql.Statement) (sessions []int, err error) {
	err = q.Query(ctx, s, func(r Row) error {
		var id int
		err := r.Scan(&id)
		sessions = append(sessions, id)
		return err
	})
	return sessions, err
}

// EndLoginSession is the step that ends a session of a login. One that has ended by itself is no failure.
func EndLoginSession(server v1alpha1.ServerName, login string, id int) Execute {
	return Execute{Server: server, Database: "master", Statement: tsql.EndLoginSession(login, id),
		Done: []int32{tsql.NoSession}}
}
