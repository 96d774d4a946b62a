// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"geosql.dev/standin/repl/stored"
	"geosql.dev/standin/sqlerr"
)

// runDistribution is the Distribution Agent: it brings the snapshot and the transactions from the distribution database
// to a subscriber.
func (a *Runner) runDistribution(ctx context.Context, commandLine string) (string, error) {
	r, end, err := a.beginAgent("distrib", "Distribution", commandLine)
	if err != nil {
		return "", err
	}
	defer end()
	d := &delivery{agentRun: r, aside: aside{run: r}, streams: map[int]*Conn{}}
	err = d.run(ctx)
	d.subscriber.Close()
	d.closeStreams()
	d.aside.close()
	return r.finish(ctx, err)
}

// delivery is a run of the Distribution Agent.
type delivery struct {
	*agentRun
	aside      aside
	subscriber *Conn
	kind       int64
	database   int64 // publisher_database_id
	// guid tells this subscription from former ones of the same names.
	guid     []byte
	articles []subscribedArticle
	// mu guards last, what is delivered, and the connections of streams while several streams apply.
	mu      sync.Mutex
	streams map[int]*Conn
	// last is the newest transaction that the subscriber has: MSreplication_subscriptions.transaction_timestamp.
	last []byte
	// have are the marks in MSsnapshotdeliveryprogress, applied the articles whose snapshot the subscriber has, or that
	// need none.
	have    map[string]bool
	applied map[int64]bool
	skip    map[int32]bool
	// careful makes writers find out which command fails.
	careful bool
	// ended says that a validation asked the agent to end.
	ended bool
	// snapshotOnly says that the publication has no changes between snapshots.
	snapshotOnly bool
	// altFolder is where a pull subscription looks for snapshots.
	altFolder string
	// scripted are the snapshots whose post-snapshot scripts were looked at.
	scripted map[string]bool
}

type subscribedArticle struct {
	id            int64
	name          string
	status        int64
	seqno         []byte
	snapshot      bool
	owner, object string
}

func (d *delivery) run(ctx context.Context) error {
	if !d.args.given("-Publication") {
		return errors.New("the parameter -Publication is required: agents that several publications share are not supported")
	}
	if err := d.skipErrors(); err != nil {
		return err
	}
	if err := d.storedDistributorLogin(ctx); err != nil {
		return err
	}
	if err := d.connectDistributor(ctx); err != nil {
		return err
	}
	if err := d.readState(ctx); err != nil {
		return err
	}
	d.note(ctx, stored.RunStarted, "Starting agent.")
	if err := d.storedSubscriberLogin(ctx); err != nil {
		return err
	}
	var err error
	if d.subscriber, err = d.connectSubscriber(ctx); err != nil {
		return err
	}
	defer d.keepAlive(ctx, d.subscriber, &d.aside)()
	if err := d.enterSubscriber(ctx); err != nil {
		return err
	}
	for {
		delivered, waiting, err := d.cycle(ctx)
		if err != nil {
			return err
		}
		if d.ended || d.enough(d.delivered.transactions) {
			return nil
		}
		if delivered {
			d.said = ""
			continue
		}
		if !d.args.given("-Continuous") {
			return nil
		}
		comment := "No replicated transactions are available."
		if waiting != "" {
			comment = sqlerr.Text(21076, waiting)
		}
		d.idle(ctx, comment)
		if !Pause(ctx, d.polling()) {
			return ctx.Err()
		}
		if err := d.readState(ctx); err != nil {
			return err
		}
	}
}

// connectSubscriber opens a connection as a replication agent's: what is NOT FOR REPLICATION there lets it be.
func (d *delivery) connectSubscriber(ctx context.Context) (*Conn, error) {
	c, err := d.runner.Connect(ctx, d.target("Subscriber", d.args.str("-Subscriber"), d.args.str("-SubscriberDB")))
	if err != nil {
		return nil, err
	}
	if err := c.exec(ctx, "EXEC sp_MSreplicate_session @publisher = @p1, @publisher_db = @p2", d.args.str("-Publisher"),
		d.args.str("-PublisherDB")); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// storedDistributorLogin uses the login that sp_addpullsubscription_agent stored at this subscriber, when the command
// line does not say how to connect to the distributor.
func (d *delivery) storedDistributorLogin(ctx context.Context) error {
	db := d.runner.inst.Database(d.args.str("-SubscriberDB"))
	if d.args.given("-DistributorSecurityMode") || d.args.str("-SubscriptionType") != "1" || db == nil ||
		!SameServer(d.args.str("-Subscriber"), d.runner.ServerName()) {
		return nil
	}
	s, err := d.runner.System(ctx, db.Name())
	if err != nil {
		return err
	}
	defer s.Close()
	table, err := s.Query(ctx, "SELECT OBJECT_ID(N'dbo.MSsubscription_properties') AS id")
	if err != nil || table.Value(0, "id") == nil {
		return err
	}
	r, err := s.Query(
		ctx,
		"SELECT distributor_security_mode, distributor_login, distributor_password FROM dbo.MSsubscription_properties "+
			"WHERE publisher = @p1 AND publisher_db = @p2 AND publication = @p3",
		d.args.str("-Publisher"),
		d.args.str("-PublisherDB"),
		d.args.str("-Publication"),
	)
	if err != nil || r.Len() == 0 || r.Int(0, "distributor_security_mode") != 0 {
		return err
	}
	password, err := d.runner.key.Unseal(r.String(0, "distributor_password"))
	if err != nil {
		return err
	}
	d.args.values["-distributorsecuritymode"], d.args.values["-distributorlogin"],
		d.args.values["-distributorpassword"] = "0", r.String(
		0,
		"distributor_login",
	), password
	return nil
}

// storedSubscriberLogin uses what sp_addpushsubscription_agent and sp_changesubscription stored for a push
// subscription's agent.
func (d *delivery) storedSubscriberLogin(ctx context.Context) error {
	if d.kind != stored.PushType {
		return nil
	}
	stored, err := d.distConn.Query(
		ctx,
		"SELECT subscriber_security_mode, subscriber_login, subscriber_password FROM dbo.MSdistribution_agents "+
			"WHERE id = @p1",
		d.agentID,
	)
	if err != nil {
		return err
	}
	return d.useStored("Subscriber", stored, "subscriber")
}

func (d *delivery) skipErrors() error {
	d.skip = map[int32]bool{}
	for _, n := range strings.FieldsFunc(d.args.values["-skiperrors"],
		func(r rune) bool { return r == ':' || r == ';' || r == ',' }) {
		var number int32
		if _, err := fmt.Sscanf(n, "%d", &number); err != nil {
			return sqlerr.Raise(20601, 1)
		}
		d.skip[number] = true
	}
	return nil
}

// readState asks the distributor what there is to deliver.
func (d *delivery) readState(ctx context.Context) error {
	state, err := d.distConn.Query(
		ctx,
		"EXEC sp_MSget_agent_state @publisher = @p1, @publisher_db = @p2, @publication = @p3, @subscriber = @p4, "+
			"@subscriber_db = @p5",
		d.args.str(
			"-Publisher",
		),
		d.args.str("-PublisherDB"),
		d.args.str("-Publication"),
		d.args.str("-Subscriber"),
		d.args.str("-SubscriberDB"),
	)
	if err != nil {
		return err
	}
	if len(state) == 0 {
		return sqlerr.Raise(21056, 3, d.args.str("-Publication"))
	}
	if d.history == "" {
		d.history, d.agentID, d.database, d.kind = "sp_MSadd_distribution_history", state.num(0, "agent_id"),
			state.num(0, "publisher_database_id"), state.num(0, "subscription_type")
		d.guid = state.raw(0, "subscription_guid")
		if err := d.readProfile(ctx, stored.DistributionAgent, state.num(0, "profile_id")); err != nil {
			return err
		}
		if err := d.skipErrors(); err != nil {
			return err
		}
	}
	d.articles, d.snapshotOnly = nil, state.num(0, "publication_type") == 1
	for i := range state {
		if state.num(i, "status") == stored.Inactive {
			return sqlerr.Raise(21074, 1)
		}
		d.articles = append(
			d.articles,
			subscribedArticle{id: state.num(i, "article_id"), name: state.Str(i, "article"), status: state.num(i, "status"),
				seqno: state.raw(
					i,
					"subscription_seqno",
				), snapshot: state.flag(i, "snapshot_seqno_flag"), owner: state.Str(i, "destination_owner"),
				object: state.Str(i, "destination_object")},
		)
	}
	return nil
}

// enterSubscriber makes the subscriber's tables when they are missing and reads how far it is.
func (d *delivery) enterSubscriber(ctx context.Context) error {
	if err := d.subscriber.exec(ctx,
		"EXEC sp_MSprepare_subscriber @publisher = @p1, @publisher_db = @p2, @publication = @p3, @subscription_type = @p4",
		d.args.str("-Publisher"), d.args.str("-PublisherDB"), d.args.str("-Publication"), d.kind); err != nil {
		return err
	}
	if err := d.enterVersion(ctx); err != nil {
		return err
	}
	if d.kind == stored.PullType {
		found, err := d.subscriber.Query(
			ctx,
			"SELECT alt_snapshot_folder FROM dbo.MSsubscription_properties WHERE publisher = @p1 AND publisher_db = @p2 AND "+
				"publication = @p3",
			d.args.str("-Publisher"),
			d.args.str("-PublisherDB"),
			d.args.str("-Publication"),
		)
		if err != nil {
			return err
		}
		if len(found) > 0 {
			d.altFolder = found.Str(0, "alt_snapshot_folder")
		}
	}
	return d.readPosition(ctx)
}

// enterVersion makes the subscriber begin anew where what it has is of a former subscription of the same names: its
// position, which may be one in another log, and its snapshots (MSreplication_subscriptions.subscription_guid).
func (d *delivery) enterVersion(ctx context.Context) error {
	if len(d.guid) == 0 {
		return nil
	}
	here := d.subscription("publisher = %s AND publisher_db = %s AND publication = %s")
	return d.subscriber.exec(
		ctx,
		`IF EXISTS (SELECT 1 FROM dbo.MSreplication_subscriptions WHERE `+here+` AND (subscription_guid IS NULL OR subscription_guid <> @p1)) BEGIN
			BEGIN TRANSACTION;
			DELETE FROM dbo.MSsnapshotdeliveryprogress WHERE session_token = @p2 AND EXISTS (SELECT 1 FROM dbo.MSreplication_subscriptions WHERE `+here+` AND subscription_guid <> @p1);
			UPDATE dbo.MSreplication_subscriptions SET transaction_timestamp = CASE WHEN subscription_guid <> @p1 THEN 0x00 ELSE transaction_timestamp END, subscription_guid = @p1 WHERE `+here+`;
			COMMIT TRANSACTION
		END`,
		d.guid,
		stored.ProgressToken(d.args.str("-Publisher"), d.args.str("-PublisherDB"), d.args.str("-Publication")),
	)
}

func (d *delivery) readPosition(ctx context.Context) error {
	found, err := d.subscriber.Query(
		ctx,
		"SELECT transaction_timestamp FROM dbo.MSreplication_subscriptions WHERE publisher = @p1 AND publisher_db = @p2 "+
			"AND publication = @p3",
		d.args.str("-Publisher"),
		d.args.str("-PublisherDB"),
		d.args.str("-Publication"),
	)
	if err != nil {
		return err
	}
	if len(found) == 0 {
		return sqlerr.Raise(20017, 1)
	}
	d.last = bytes.TrimRight(found.raw(0, "transaction_timestamp"), "\x00")
	if len(d.last) > 0 {
		d.last = found.raw(0, "transaction_timestamp")
	}
	progress, err := d.subscriber.Query(
		ctx,
		"SELECT progress_token FROM dbo.MSsnapshotdeliveryprogress WHERE session_token = @p1",
		stored.ProgressToken(d.args.str("-Publisher"), d.args.str("-PublisherDB"), d.args.str("-Publication")),
	)
	if err != nil {
		return err
	}
	have := map[string]bool{}
	for i := range progress {
		have[progress.Str(i, "progress_token")] = true
	}
	d.have, d.applied = have, map[int64]bool{}
	for _, a := range d.articles {
		if !a.snapshot && a.status == stored.Activated || have[a.token()] {
			d.applied[a.id] = true
		}
	}
	return nil
}

// token marks in MSsnapshotdeliveryprogress that the article's snapshot was applied.
func (a subscribedArticle) token() string {
	return fmt.Sprintf("article %d: snapshot %x", a.id, a.seqno)
}

// cycle applies the snapshots that are new and then all transactions that there are. waiting names an article whose
// snapshot is not there yet.
func (d *delivery) cycle(ctx context.Context) (delivered bool, waiting string, err error) {
	if err := d.readPosition(ctx); err != nil {
		return false, "", err
	}
	for _, a := range d.articles {
		if a.status == stored.Subscribed {
			waiting = a.name
		}
	}
	missing, err := d.toApply(ctx)
	if err != nil {
		return false, "", err
	}
	for _, a := range missing {
		if err := d.applyNewest(ctx, a); err != nil {
			return false, "", err
		}
		d.applied[a.id] = true
		delivered = true
	}
	if err := d.afterSnapshots(ctx); err != nil {
		return false, "", err
	}
	if d.snapshotOnly {
		return delivered, waiting, d.passSnapshots(ctx)
	}
	if len(d.last) == 0 {
		// The first transactions are those after the oldest snapshot; younger ones know where they begin.
		for _, a := range d.articles {
			if d.applied[a.id] && (len(d.last) == 0 || string(a.seqno) < string(d.last)) {
				d.last = a.seqno
			}
		}
		if len(d.last) == 0 {
			return delivered, waiting, nil
		}
		if err := d.subscriber.exec(ctx, d.positionText("@p1"), d.last); err != nil {
			return false, "", err
		}
	}
	n, err := d.deliver(ctx)
	return delivered || n > 0, waiting, err
}

// passSnapshots has the subscription be where its newest snapshot is, all of whose articles are applied: a publication
// that has nothing between snapshots moves it on by these alone.
func (d *delivery) passSnapshots(ctx context.Context) error {
	var newest []byte
	for _, a := range d.articles {
		if a.snapshot && d.applied[a.id] && string(a.seqno) > string(newest) {
			newest = a.seqno
		}
	}
	if len(newest) == 0 || string(newest) == string(d.last) {
		return nil
	}
	return d.subscriber.exec(ctx, d.positionText("@p1"), newest)
}

// positionText is the statement that moves the subscription's position.
func (d *delivery) positionText(parameter string) string {
	return "UPDATE dbo.MSreplication_subscriptions SET transaction_timestamp = " + parameter +
		", time = GETDATE() WHERE " +
		d.subscription(
			"publisher = %s AND publisher_db = %s AND publication = %s",
		)
}

// subscription fills in publisher, publication database and publication as literals.
func (d *delivery) subscription(format string) string {
	return fmt.Sprintf(
		format,
		stored.Literal(d.args.str("-Publisher")),
		stored.Literal(d.args.str("-PublisherDB")),
		stored.Literal(d.args.str("-Publication")),
	)
}

// appliedList are the ids of the articles whose changes are delivered.
func (d *delivery) appliedList() string {
	var ids []string
	for _, a := range d.articles {
		if d.applied[a.id] && a.status == stored.Activated {
			ids = append(ids, fmt.Sprint(a.id))
		}
	}
	return "," + strings.Join(ids, ",") + ","
}
