// SPDX-License-Identifier: Apache-2.0

package replication

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/reconcile/conditions"
)

const (
	// readTimeout bounds all questions to one engine about one thing: a dozen round trips, of 150 ms to the farthest.
	readTimeout = 12 * time.Second
	// CountTimeout bounds the counting of what is pending, which reads each command.
	CountTimeout = 45 * time.Second
	// statementTimeout bounds a statement; those at the publisher go on to the distributor.
	statementTimeout = 60 * time.Second
)

// lacksRights are errors for want of a permission: 229 and 262 on objects and in databases, 15247 on the server, 21089
// and 14126 for those who are no sysadmin.
var lacksRights = []int32{229, 262, 15247, 21089, 14126}

// Engines are the servers of a namespace.
type Engines struct {
	Connector *mssql.Connector
	Namespace string
	// Owner is the object for which statements are executed that go on by themselves.
	Owner types.UID
}

// Open connects to a database of a server under the operator's login.
func (e Engines) Open(ctx context.Context, server v1alpha1.ServerName, database string) (*mssql.DB, error) {
	return e.Connector.Open(ctx, e.target(server, database))
}

func (e Engines) target(server v1alpha1.ServerName, database string) mssql.Target {
	return mssql.Target{Namespace: e.Namespace, Server: server, Database: database, Role: credentials.RoleOperator}
}

// Read calls read with a connection to a database of a server, and bounds it by 12 seconds.
func (e Engines) Read(
	ctx context.Context,
	server v1alpha1.ServerName,
	database string,
	read func(context.Context, *mssql.DB) error,
) error {
	return e.ReadWithin(ctx, readTimeout, server, database, read)
}

// ReadWithin is Read with a bound of its own, for a question whose answer takes time.
func (e Engines) ReadWithin(
	ctx context.Context,
	bound time.Duration,
	server v1alpha1.ServerName,
	database string,
	read func(context.Context, *mssql.DB) error,
) error {
	ctx, cancel := context.WithTimeout(ctx, bound)
	defer cancel()
	db, err := e.Open(ctx, server, database)
	if err != nil {
		return err
	}
	return read(ctx, db)
}

// CarryOut carries out the steps of an object's plan one after the other, those beside the others each by itself, and
// tells what a deletion that is done leaves behind: also what only a step beside the others could not take away. A
// deletion that fails says how it goes on; where only a step beside the others does, its plan says so.
func CarryOut(
	ctx context.Context,
	reporter reconcile.Reporter,
	obj client.Object,
	p reconcile.Plan,
	carryOut func(context.Context, Step) error,
) error {
	err := reconcile.WithAside(ctx, p, carryOut, func() error { return reconcile.InOrder(ctx, p.Steps, carryOut) })
	var aside *reconcile.AsideFailed
	deleting := obj.GetDeletionTimestamp() != nil
	if deleting && p.Done && errors.As(err, &aside) {
		p.Leave("what could not be taken away (%v)", aside)
		err = nil
	}
	switch {
	case deleting && errors.As(err, &aside):
		return err
	case err != nil && deleting:
		return fmt.Errorf("%w; %s", err, Retain)
	case err == nil && p.Done:
		reporter.TellLeft(obj, p.Left)
	}
	return err
}

// CarryOut carries out a step of every kind of replication: a statement. What a kind adds to them it carries out
// itself.
func (e Engines) CarryOut(ctx context.Context, step Step) error {
	if s, ok := step.(Execute); ok {
		return e.Execute(ctx, s)
	}
	return fmt.Errorf("step %T is not known", step)
}

// Execute carries out a statement, or what stands for it where the engine refuses it. An error that says that its
// effect is there already is none.
func (e Engines) Execute(ctx context.Context, s Execute) error {
	return otherwise(s, func(s Execute) error { return e.execute(ctx, s) })
}

// otherwise carries out a step by execute, or what stands for it where that is refused with one of its numbers.
func otherwise(s Execute, execute func(Execute) error) error {
	err := execute(s)
	steps, ok := s.Otherwise(err)
	if !ok {
		return s.Settled(err)
	}
	for _, step := range steps {
		if again := otherwise(step, execute); again != nil {
			return fmt.Errorf("%w (instead of what was refused: %v)", again, err) //nolint:errorlint // one number counts
		}
	}
	return nil
}

func (e Engines) execute(ctx context.Context, s Execute) error {
	ctx, cancel := context.WithTimeout(ctx, statementTimeout)
	defer cancel()
	if s.Statement.Long {
		return e.Connector.ExecLong(ctx, e.Owner, e.target(s.Server, s.Database), s.Statement)
	}
	if s.Statement.Exclusive {
		// The operator's own connections use the database, too.
		e.Connector.Forget(e.Namespace, s.Server)
	}
	db, err := e.Open(ctx, s.Server, s.Database)
	if err == nil {
		err = db.Exec(ctx, s.Statement)
	}
	if mssql.HasNumber(err, lacksRights...) {
		// The operator's login is made a sysadmin while connections of it are open already: new ones know it.
		e.Connector.Forget(e.Namespace, s.Server)
	}
	return err
}

// Server is one server as it was read.
type Server struct {
	// Err is why it did not answer. Nothing else is known then.
	Err   error
	State *mssql.ReplicationServer
	// Role of its replica in the party's group, empty for a server alone.
	Role string
}

// ReadServers reads what each server is in replication, all at once. group is empty for servers alone.
func (e Engines) ReadServers(
	ctx context.Context,
	s System,
	group string,
	servers ...v1alpha1.ServerName,
) map[v1alpha1.ServerName]Server {
	return e.ReadParty(ctx, s, Party{Group: group, Servers: servers})
}

// ReadParty is ReadServers of a party's servers, and of others that are in no group that counts here.
func (e Engines) ReadParty(
	ctx context.Context,
	s System,
	p Party,
	others ...v1alpha1.ServerName,
) map[v1alpha1.ServerName]Server {
	groups := map[v1alpha1.ServerName]string{}
	for _, name := range others {
		groups[name] = ""
	}
	for _, name := range p.Servers {
		groups[name] = p.Group
	}
	all := map[v1alpha1.ServerName]Server{}
	var mu sync.Mutex
	var wg sync.WaitGroup
	for name, group := range groups {
		wg.Go(func() {
			var one Server
			one.Err = e.Read(ctx, name, Master, func(ctx context.Context, db *mssql.DB) (err error) {
				one.State, one.Role, err = mssql.ReadReplicationServer(ctx, db, s.Login, s.AgentPassword, group)
				return err
			})
			mu.Lock()
			defer mu.Unlock()
			all[name] = one
		})
	}
	wg.Wait()
	return all
}

// Primary is the server of a party that takes writes: the only one, or the one that says it is PRIMARY; empty when none
// that answers does.
func (p Party) Primary(servers map[v1alpha1.ServerName]Server) v1alpha1.ServerName {
	if p.Group == "" && len(p.Servers) == 1 {
		if servers[p.Servers[0]].Err == nil && servers[p.Servers[0]].State != nil {
			return p.Servers[0]
		}
		return ""
	}
	for _, name := range p.Servers {
		if s := servers[name]; s.Err == nil && s.State != nil && s.Role == "PRIMARY" {
			return name
		}
	}
	return ""
}

// Usable tells whether a server answers and may be configured; the outcome says why not.
func Usable(name v1alpha1.ServerName, s Server) (conditions.Outcome, bool) {
	switch {
	case s.Err != nil && (mssql.Is(s.Err, mssql.Unknown) || mssql.Is(s.Err, mssql.Unreachable)):
		return conditions.Unknown(v1alpha1.ReasonEngineNotAnswering, s.Err.Error()), false
	case s.Err != nil:
		return conditions.InProgress(v1alpha1.ReasonEngineNotAnswering, s.Err.Error()), false
	case s.State == nil:
		return conditions.Unknown(
			v1alpha1.ReasonEngineNotAnswering,
			fmt.Sprintf("server %s has not been asked", credentials.HostName(name)),
		), false
	case !s.State.Sysadmin:
		return conditions.InProgress(v1alpha1.ReasonWaitingForServer, fmt.Sprintf(
			"on server %s the operator's login is not a sysadmin yet, which configuring replication takes",
			credentials.HostName(name),
		)), false
	}
	return conditions.Outcome{}, true
}
