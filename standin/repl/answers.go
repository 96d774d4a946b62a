// SPDX-License-Identifier: Apache-2.0

package repl

import (
	"context"
	"fmt"
	"strings"

	"geosql.dev/standin/config"
	"geosql.dev/standin/engine"
	"geosql.dev/standin/repl/agent"
)

// What follows are answers that no document settles (docs/answers.md).

// wantMasterKey is 15581 where passwords are kept under a database's master key, and the database has none.
func (e *Extension) wantMasterKey(ctx context.Context, s *engine.Session, database, password string) error {
	if !e.inst.Answers(config.MasterKeyWanted) || password == "" {
		return nil
	}
	r, err := s.Query(ctx, "SELECT 1 AS n FROM "+bracket(database)+
		".sys.symmetric_keys WHERE name = N'##MS_DatabaseMasterKey##'")
	if err == nil && r.Len() == 0 {
		err = raise(15581, 1)
	}
	return err
}

// turned is a working directory as it is kept.
func (e *Extension) turned(directory string) string {
	if !e.inst.Answers(config.FolderTurned) {
		return directory
	}
	return strings.TrimRight(strings.ReplaceAll(directory, "/", `\`), `\`) + `\`
}

// known is the name of a server as replication keeps it.
func (e *Extension) known(name string) string {
	if e.inst.Answers(config.NamesInCapitals) {
		return strings.ToUpper(name)
	}
	return name
}

// localPublisher is the name of a publisher as its distributor keeps it.
func (e *Extension) localPublisher(name string) string {
	if agent.SameServer(name, e.serverName()) {
		return e.known(name)
	}
	return name
}

// subscriberLogin is 21038 where a subscriber that is the distributor itself needs a SQL login.
func (e *Extension) subscriberLogin(ctx context.Context, s *engine.Session, publisher, subscriber string) error {
	if !e.inst.Answers(config.SubscriberWantsLogin) || !agent.SameServer(subscriber, e.serverName()) {
		return nil
	}
	r, err := s.Query(ctx, "SELECT security_mode FROM dbo.MSsubscriber_info WHERE publisher = @p1 AND subscriber = @p2",
		publisher, subscriber)
	if err == nil && (r.Len() == 0 || r.Int(0, "security_mode") != 0) {
		err = raise(21038, 1)
	}
	return err
}

// removeFolders is 20015 where snapshot folders cannot be removed, once there is one.
func (e *Extension) removeFolders(ctx context.Context, s *engine.Session) error {
	if !e.inst.Answers(config.CleanupFails) {
		return nil
	}
	r, err := s.Query(ctx, "SELECT TOP (1) publication FROM dbo.MSsnapshot_agents AS a WHERE EXISTS "+
		"(SELECT 1 FROM dbo.MSsnapshot_history AS h WHERE h.agent_id = a.id AND h.runstatus = 2)")
	if err == nil && r.Len() > 0 {
		err = raise(20015, 1, r.String(0, "publication"))
	}
	return err
}

// jobOfSubscription makes the job of a push subscription's agent when that is registered.
func (e *Extension) jobOfSubscription(ctx context.Context, call *engine.ProcCall, agent int64) error {
	if !e.inst.Answers(config.JobAtSubscription) {
		return nil
	}
	s := call.Session
	r, err := s.Query(ctx, "SELECT name, job_id FROM dbo.MSdistribution_agents WHERE id = @p1", agent)
	if err != nil || r.Bytes(0, "job_id") != nil {
		return err
	}
	id, err := e.makeJob(ctx, s, jobSpec{name: r.String(0, "name"), category: "REPL-Distribution",
		subsystem: "Distribution", kind: 64, subday: 1, command: fmt.Sprintf(
			"-Publisher %s -PublisherDB %s -Publication %s -Distributor %s -Subscriber %s -SubscriberDB %s "+
				"-DistributorSecurityMode 1 -SubscriptionType 0 -Continuous",
			bracket(call.String("@publisher")), bracket(call.String("@publisher_db")), bracket(call.String("@publication")),
			bracket(e.serverName()), bracket(call.String("@subscriber")), bracket(call.String("@subscriber_db")))})
	if err != nil {
		return err
	}
	return s.Exec(ctx, "UPDATE dbo.MSdistribution_agents SET job_id = @p2, local_job = 1 WHERE id = @p1", agent, id)
}
