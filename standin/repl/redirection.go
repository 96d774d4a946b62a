// SPDX-License-Identifier: Apache-2.0

package repl

import (
	"context"
	"errors"
	"strings"
	"time"

	"geosql.dev/standin/engine"
	"geosql.dev/standin/repl/agent"
	"geosql.dev/standin/sqlerr"
	"geosql.dev/standin/sqltype"
)

func (e *Extension) installRedirection(r *engine.Registry) {
	e.change(r, "sp_redirect_publisher", distributionOwners, nil, e.redirectPublisher)
	e.procedure(r, "sp_get_redirected_publisher", agentLogins, nil, e.getRedirectedPublisher)
	e.procedure(r, "sp_validate_redirected_publisher", distributionOwners, nil, e.validateRedirectedPublisher)
	e.procedure(r, "sp_validate_replica_hosts_as_publishers", distributionOwners, nil, e.validateReplicaHosts)
}

// redirection is the server that a publisher is redirected to, "" for none; 21875 when a name is missing.
func redirection(ctx context.Context, call *engine.ProcCall) (string, error) {
	s, publisher, db := call.Session, call.String("@original_publisher"), call.String("@publisher_db")
	if publisher == "" || db == "" {
		return "", raise(21875, 1)
	}
	r, err := s.Query(
		ctx,
		"SELECT redirected_publisher FROM dbo.MSredirected_publishers WHERE original_publisher = @p1 AND publisher_db = @p2",
		publisher,
		db,
	)
	if err != nil {
		return "", err
	}
	return r.String(0, "redirected_publisher"), nil
}

func (e *Extension) redirectPublisher(ctx context.Context, call *engine.ProcCall) error {
	if err := redirectsHere(call, "sp_redirect_publisher"); err != nil {
		return err
	}
	s, publisher, db := call.Session, call.String("@original_publisher"), call.String("@publisher_db")
	r, err := s.Query(
		ctx,
		"SELECT name FROM msdb.dbo.MSdistpublishers WHERE name = @p1 AND distribution_db = DB_NAME()",
		publisher,
	)
	if err != nil {
		return err
	}
	if r.Len() == 0 {
		return raise(21877, 1, publisher, db)
	}
	if err := s.Exec(ctx, "DELETE FROM dbo.MSredirected_publishers WHERE original_publisher = @p1 AND publisher_db = @p2",
		publisher, db); err != nil {
		return err
	}
	to := call.String("@redirected_publisher")
	if to == "" {
		return nil
	}
	return s.Exec(ctx, "INSERT INTO dbo.MSredirected_publishers VALUES (@p1, @p2, @p3)", publisher, db, to)
}

func (e *Extension) getRedirectedPublisher(ctx context.Context, call *engine.ProcCall) error {
	if err := redirectsHere(call, "sp_get_redirected_publisher"); err != nil {
		return err
	}
	to, err := redirection(ctx, call)
	if err != nil {
		return err
	}
	cols := columns(
		"redirected_publisher",
		sqltype.NVarCharOf(128),
		"error_number",
		sqltype.IntType,
		"error_severity",
		sqltype.IntType,
		"error_message",
		sqltype.NVarCharOf(4000),
	)
	row := []any{nil, int64(0), int64(0), nil}
	if to == "" {
		return call.ResultSet(cols, nil)
	}
	row[0] = to
	if !call.Bool("@bypass_publisher_validation") {
		var failure *sqlerr.Error
		if err := e.validate(ctx, call, to); errors.As(err, &failure) {
			row[1], row[2], row[3] = int64(failure.Number), int64(failure.Class), failure.Message
		} else if err != nil {
			return err
		}
	}
	return call.ResultSet(cols, [][]any{row})
}

// atRedirected runs T-SQL at a server as the login that the distributor keeps for the publisher.
func (e *Extension) atRedirected(
	ctx context.Context,
	call *engine.ProcCall,
	server, database, text string,
) (agent.Rows, error) {
	r, err := call.Session.Query(
		ctx,
		"SELECT security_mode, login, password FROM msdb.dbo.MSdistpublishers WHERE name = @p1",
		call.String("@original_publisher"),
	)
	if err != nil {
		return nil, err
	}
	password, err := e.key.Unseal(r.String(0, "password"))
	if err != nil {
		return nil, err
	}
	c, err := e.agents.Connect(
		ctx,
		agent.Target{
			Role:         "Publisher",
			Server:       server,
			Database:     database,
			Windows:      r.Int(0, "security_mode") == 1,
			Login:        r.String(0, "login"),
			Password:     password,
			Encryption:   1,
			LoginTimeout: 15 * time.Second,
			QueryTimeout: 60 * time.Second,
			Application:  "Replication redirection",
		},
	)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	return c.Query(ctx, text)
}

// validate checks a redirected publisher: it answers, its database is there and published, and a database of a group is
// redirected to a listener of it.
func (e *Extension) validate(ctx context.Context, call *engine.ProcCall, to string) error {
	publisher, db := call.String("@original_publisher"), call.String("@publisher_db")
	found, err := e.atRedirected(
		ctx,
		call,
		to,
		"master",
		fill(
			`SELECT CAST(@@SERVERNAME AS nvarchar(128)) AS name, d.database_id, d.is_published, CAST(d.replica_id AS nvarchar(36)) AS replica FROM (SELECT 1 AS one) AS o LEFT JOIN sys.databases AS d ON d.name = ?`,
			db,
		),
	)
	if err != nil {
		return raise(21879, 1, to, publisher, db, agent.NumberOf(err), err.Error())
	}
	if len(found) == 0 || found[0]["database_id"] == nil {
		return raise(21880, 1, to, publisher, db)
	}
	if found.Str(0, "replica") == "" {
		return nil
	}
	listeners, err := e.atRedirected(
		ctx,
		call,
		to,
		"master",
		fill(
			`SELECT l.dns_name FROM sys.availability_group_listeners AS l JOIN sys.availability_databases_cluster AS c ON c.group_id = l.group_id WHERE c.database_name = ?`,
			db,
		),
	)
	if err != nil {
		return raise(21883, 1, to, db, agent.NumberOf(err), err.Error())
	}
	host, _ := agent.SplitServer(to)
	host, _, _ = strings.Cut(host, ".")
	for i := range listeners {
		if strings.EqualFold(listeners.Str(i, "dns_name"), host) {
			return nil
		}
	}
	return raise(21882, 1, db, to, publisher, db)
}

func (e *Extension) validateRedirectedPublisher(ctx context.Context, call *engine.ProcCall) error {
	if err := redirectsHere(call, "sp_validate_redirected_publisher"); err != nil {
		return err
	}
	to, err := redirection(ctx, call)
	if err != nil {
		return err
	}
	if to == "" {
		return raise(21871, 1, call.String("@original_publisher"), call.String("@publisher_db"))
	}
	if err := e.validate(ctx, call, to); err != nil {
		return err
	}
	call.SetOutput("@redirected_publisher", to)
	return nil
}

// validateReplicaHosts checks that every replica of the redirected publisher's group could publish: it has this
// distributor (21889), is a publisher here (21891), and has linked servers for the subscribers (21893).
func (e *Extension) validateReplicaHosts(ctx context.Context, call *engine.ProcCall) error {
	if err := e.validateRedirectedPublisher(ctx, call); err != nil {
		return err
	}
	s, to := call.Session, call.String("@redirected_publisher")
	publisher, db := call.String("@original_publisher"), call.String("@publisher_db")
	hosts, err := e.atRedirected(
		ctx,
		call,
		to,
		"master",
		fill(
			`SELECT r.replica_server_name FROM sys.availability_replicas AS r JOIN sys.availability_databases_cluster AS c ON c.group_id = r.group_id
		WHERE c.database_name = ? AND r.availability_mode <> 4`,
			db,
		),
	)
	if err != nil {
		return raise(21892, 1, to, agent.NumberOf(err), err.Error())
	}
	subscribers, err := s.Query(
		ctx,
		`SELECT DISTINCT a.subscriber_name FROM dbo.MSdistribution_agents AS a JOIN dbo.MSreplservers AS v ON v.srvid = a.publisher_id WHERE v.srvname = @p1 AND a.publisher_db = @p2`,
		publisher,
		db,
	)
	if err != nil {
		return err
	}
	for i := range hosts {
		host := hosts.Str(i, "replica_server_name")
		r, err := s.Query(
			ctx,
			"SELECT name FROM msdb.dbo.MSdistpublishers WHERE name = @p1 AND distribution_db = DB_NAME()",
			host,
		)
		if err != nil {
			return err
		}
		if r.Len() == 0 {
			return raise(21891, 1, host, e.serverName(), e.serverName(), e.serverName(), db)
		}
		servers, err := e.atRedirected(ctx, call, host, "master", "SELECT name, data_source FROM sys.servers")
		if err != nil {
			return raise(21899, 1, host, publisher, agent.NumberOf(err), err.Error())
		}
		known := map[string]bool{}
		for j := range servers {
			known[strings.ToLower(servers.Str(j, "name"))] = true
		}
		if !known[distributorLink] {
			return raise(21889, 1, host, host, e.serverName(), db)
		}
		for j := range subscribers.Len() {
			if name := subscribers.String(j, "subscriber_name"); !known[strings.ToLower(name)] && !agent.SameServer(name, host) {
				return raise(21893, 1, name, publisher, host)
			}
		}
	}
	return nil
}

// redirectsHere is 21874 for a procedure of redirected publishers outside a distribution database.
func redirectsHere(call *engine.ProcCall, procedure string) error {
	if !call.Database.Info().Distributor {
		return raise(21874, 1, procedure, call.Database.Name())
	}
	return nil
}
