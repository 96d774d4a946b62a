// SPDX-License-Identifier: Apache-2.0

package repl

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"geosql.dev/standin/config"
	"geosql.dev/standin/engine"
	"geosql.dev/standin/repl/agent"
	"geosql.dev/standin/repl/article"
	"geosql.dev/standin/repl/stored"
)

// Kinds of synchronization (sync_type).
const (
	syncAutomatic = 1
	syncNone      = 2
)

func (e *Extension) installSubscriptions(r *engine.Registry) {
	e.procedure(r, "sp_addsubscription", owners, nil, e.addSubscription)
	e.procedure(r, "sp_dropsubscription", owners, nil, e.dropSubscription)
	e.procedure(r, "sp_helpsubscription", owners, nil, e.helpSubscription)
	e.procedure(r, "sp_refreshsubscriptions", owners, nil, e.refreshSubscriptions)
	e.procedure(r, "sp_reinitsubscription", owners, nil, e.reinitSubscription)
	e.procedure(r, "sp_addpushsubscription_agent", owners, nil, e.addPushSubscriptionAgent)
	e.change(r, "sp_addlogreader_agent", owners, nil, e.addLogReaderAgent)
	e.procedure(r, "sp_changelogreader_agent", owners, nil, e.changeLogReaderAgent)
	e.procedure(r, "sp_helplogreader_agent", owners, nil, e.helpLogReaderAgent)
	e.change(r, "sp_addpublication_snapshot", owners, nil, e.addPublicationSnapshot)
	e.procedure(r, "sp_helppublication_snapshot", owners, nil, e.helpPublicationSnapshot)
	e.procedure(r, "sp_startpublication_snapshot", owners, nil, e.startPublicationSnapshot)
	e.installMetadata(r)
}

func (e *Extension) addSubscription(ctx context.Context, call *engine.ProcCall) error {
	s := call.Session
	p, pub, err := e.published(ctx, call)
	if err != nil {
		return err
	}
	subscriber, database := call.String("@subscriber"), call.String("@destination_db")
	if subscriber == "" {
		return raise(14043, 1, "@subscriber", "sp_addsubscription")
	}
	if database == "" {
		database = p.db.Name()
	}
	w, err := e.subscriptionKind(call, pub)
	if err != nil {
		return err
	}
	w.subscriber, w.database = subscriber, database
	w.loopback = !strings.EqualFold(call.String("@loopback_detection"), "false")
	if agent.SameServer(subscriber, p.server) && strings.EqualFold(database, p.db.Name()) {
		return raise(21690, 1)
	}
	list, err := e.subscribedArticles(
		ctx,
		s,
		p,
		pub,
		call.String("@article"),
		strings.EqualFold(call.String("@reserved"), "internal"),
	)
	if err != nil {
		return err
	}
	if w.from, err = e.subscribedFrom(ctx, call, p, pub); err != nil {
		return err
	}
	if err := e.ensureServer(ctx, s, subscriber, "sub"); err != nil {
		return err
	}
	for _, a := range list {
		r, err := s.Query(
			ctx,
			"SELECT 1 AS n FROM dbo.syssubscriptions WHERE artid = @p1 AND srvname = @p2 AND dest_db = @p3",
			a.ID,
			subscriber,
			database,
		)
		if err != nil {
			return err
		}
		if r.Len() > 0 {
			return raise(14058, 1)
		}
	}
	for _, a := range list {
		if err := e.subscribeArticle(ctx, s, p, pub, a, w); err != nil {
			return err
		}
	}
	if n := call.Int("@subscriptionstreams"); n > 1 {
		if _, err := e.inDistributionOf(ctx, s, p,
			`EXEC sp_MSchange_distribution_agent_properties @publisher = ?, @publisher_db = ?, @publication = ?, @subscriber = ?, @subscriber_db = ?, @property = N'subscriptionstreams', @value = ?`,
			p.server, p.db.Name(), pub.name, subscriber, database, strconv.FormatInt(n, 10)); err != nil {
			return err
		}
	}
	return e.refreshImages(ctx, s, p.db)
}

// wantedSubscription is what a subscription is to be.
type wantedSubscription struct {
	subscriber, database string
	kind, sync           int
	// nosync is nosync_type: how a subscriber that has the rows came to them.
	nosync int
	// from is the position of which the subscriber has the rows; nil is that of now.
	from []byte
	// loopback says that the subscriber does not get what it made itself (loopback_detection).
	loopback bool
}

// nosyncTypes are the values of @sync_type for subscribers that have the rows, with their nosync_type. With none they
// have the procedures that commands call, too.
var nosyncTypes = map[string]int{
	"none":                     0,
	"replication support only": 1,
	"initialize with backup":   2,
	"initialize from lsn":      3,
}

// subscriptionKind checks what sp_addsubscription asks for.
func (e *Extension) subscriptionKind(call *engine.ProcCall, pub publication) (w wantedSubscription, err error) {
	w.kind = stored.PushType
	if strings.EqualFold(call.String("@subscription_type"), "pull") {
		w.kind = stored.PullType
	}
	if w.kind == stored.PushType && !pub.allowPush || w.kind == stored.PullType && !pub.allowPull {
		return w, raise(20034, 1, pub.name, call.String("@subscription_type"))
	}
	if !pub.active {
		return w, raise(21000, 1)
	}
	t := strings.ToLower(call.String("@sync_type"))
	nosync, given := nosyncTypes[t]
	switch {
	case t == "automatic":
		w.sync = syncAutomatic
	case !given, pub.snapshotOnly:
		return w, raise(21023, 1, "@sync_type = N'"+t+"' with this publication")
	default:
		w.sync, w.nosync = syncNone, nosync
	}
	if mode := call.String("@update_mode"); mode != "" && !strings.EqualFold(mode, "read only") {
		return w, raise(21023, 1, "@update_mode = N'"+mode+"'")
	}
	if call.Int("@subscriber_type") != 0 {
		return w, raise(21023, 1, fmt.Sprintf("@subscriber_type = %d", call.Int("@subscriber_type")))
	}
	if n := call.Int("@subscriptionstreams"); n > 64 {
		return w, raise(21055, 1, "@subscriptionstreams", "sp_addsubscription")
	}
	return w, nil
}

// subscribedArticles are the articles of a new subscription. One article alone of an immediate_sync publication is
// 14122, unless the call is what sp_refreshsubscriptions itself makes (@reserved = 'internal').
func (e *Extension) subscribedArticles(
	ctx context.Context,
	s *engine.Session,
	p publisher,
	pub publication,
	name string,
	internal bool,
) ([]*article.Article, error) {
	if name == "" || strings.EqualFold(name, "all") {
		list, err := e.articles(ctx, s, p.db, "a.pubid = @p1", pub.id)
		if err == nil && len(list) == 0 {
			err = raise(14124, 1)
		}
		return list, err
	}
	if pub.immediateSync && !internal {
		return nil, raise(14122, 1)
	}
	a, err := e.findArticle(ctx, s, p.db, pub, name)
	if err != nil {
		return nil, err
	}
	return []*article.Article{a}, nil
}

// subscribeArticle adds one article's subscription at the distributor and then at the publisher. From here on the log
// reader delivers the article's changes.
func (e *Extension) subscribeArticle(
	ctx context.Context,
	s *engine.Session,
	p publisher,
	pub publication,
	a *article.Article,
	w wantedSubscription,
) error {
	if err := s.Exec(ctx, "UPDATE dbo.sysarticles SET status = status | 1 WHERE artid = @p1", a.ID); err != nil {
		return err
	}
	if err := e.refreshImages(ctx, s, p.db); err != nil {
		return err
	}
	position, script := p.db.Storage().AppliedEnd(), ""
	if w.sync != syncAutomatic && w.nosync > 0 {
		// The subscriber has the rows; it gets the procedures that commands call.
		script = a.Procedures()
		if err := e.agents.RequireScriptFolder(p.directory, p.server, p.db.Name(), pub.name); err != nil {
			return err
		}
	}
	next := position
	if w.from != nil {
		copy(position[:], w.from)
	}
	r, err := e.inDistributionOf(
		ctx,
		s,
		p,
		`EXEC sp_MSadd_subscription @publisher = ?, @publisher_db = ?, @publication = ?, @article_id = ?, @subscriber = ?,
		@subscriber_db = ?, @subscription_type = ?, @sync_type = ?, @seqno = ?, @next = ?, @script = ?, @loopback_detection = ?`,
		p.server,
		p.db.Name(),
		pub.name,
		a.ID,
		w.subscriber,
		w.database,
		w.kind,
		w.sync,
		position[:],
		next[:],
		script,
		w.loopback,
	)
	if err != nil {
		return err
	}
	if _, err := e.inDistributionOf(ctx, s, p,
		"UPDATE dbo.MSsubscriptions SET nosync_type = ? WHERE agent_id = ? AND article_id = ?", w.nosync,
		r.Int(0, "agent_id"), a.ID); err != nil {
		return err
	}
	if script != "" {
		if err := postSetUp(ctx, s, p, a, next); err != nil {
			return err
		}
	}
	err = s.Exec(ctx, `DELETE FROM dbo.syssubscriptions WHERE artid = @p1 AND srvname = @p2 AND dest_db = @p3;
		INSERT INTO dbo.syssubscriptions (artid, srvid, dest_db, status, sync_type, login_name, subscription_type, update_mode, loopback_detection,
		queued_reinit, nosync_type, srvname) VALUES (@p1, -1, @p3, @p4, @p5, @p6, @p7, 0, @p9, 0, @p8, @p2)`,
		a.ID, w.subscriber, w.database, r.Int(0, "status"), w.sync, s.OriginalLogin().Name, w.kind, w.nosync, w.loopback)
	if err != nil || r.Int(0, "status") != stored.Subscribed {
		return err
	}
	// A snapshot that was finished meanwhile did not find the row here.
	if r, err = e.inDistributionOf(ctx, s, p,
		"SELECT status FROM dbo.MSsubscriptions WHERE agent_id = ? AND article_id = ?", r.Int(0, "agent_id"),
		a.ID); err != nil {
		return err
	}
	if r.Len() == 0 || r.Int(0, "status") != stored.Activated {
		return nil
	}
	return s.Exec(
		ctx,
		"UPDATE dbo.syssubscriptions SET status = 2 WHERE artid = @p1 AND srvname = @p2 AND dest_db = @p3 AND status = 1",
		a.ID,
		w.subscriber,
		w.database,
	)
}

func (e *Extension) dropSubscription(ctx context.Context, call *engine.ProcCall) error {
	s := call.Session
	p, err := e.publisher(ctx, call)
	if err != nil {
		return err
	}
	names := []string{call.String("@publication")}
	if strings.EqualFold(names[0], "all") {
		if names, err = publicationNames(ctx, s); err != nil {
			return err
		}
	}
	dropped := 0
	for _, name := range names {
		pub, err := findPublication(ctx, s, name)
		if err != nil {
			return err
		}
		n, err := e.dropSubscriptionsOf(ctx, call, p, pub)
		if err != nil {
			return err
		}
		dropped += n
	}
	if dropped == 0 {
		return raise(14050, 1)
	}
	return e.refreshImages(ctx, s, p.db)
}

// publicationNames are the names of the current database's publications.
func publicationNames(ctx context.Context, s *engine.Session) ([]string, error) {
	r, err := s.Query(ctx, "SELECT name FROM dbo.syspublications")
	if err != nil {
		return nil, err
	}
	var names []string
	for i := range r.Len() {
		names = append(names, r.String(i, "name"))
	}
	return names, nil
}

// dropSubscriptionsOf drops the subscriptions to one publication that the call names, and tells how many articles'
// those were.
func (e *Extension) dropSubscriptionsOf(
	ctx context.Context,
	call *engine.ProcCall,
	p publisher,
	pub publication,
) (int, error) {
	s := call.Session
	r, err := s.Query(
		ctx,
		`SELECT s.artid, s.srvname, s.dest_db FROM dbo.syssubscriptions AS s JOIN dbo.sysarticles AS a ON a.artid = s.artid
		WHERE a.pubid = @p1 AND @p2 IN (N'', N'all', a.name) AND @p3 IN (N'all', s.srvname) AND @p4 IN (N'', N'all', s.dest_db)`,
		pub.id,
		call.String("@article"),
		call.String("@subscriber"),
		call.String("@destination_db"),
	)
	if err != nil {
		return 0, err
	}
	for i := range r.Len() {
		if !call.Bool("@ignore_distributor") {
			if _, err := e.inDistributionOf(ctx, s, p,
				"EXEC sp_MSdrop_subscription @publisher = ?, @publisher_db = ?, @publication = ?, @article_id = ?, @subscriber "+
					"= ?, @subscriber_db = ?",
				p.server, p.db.Name(), pub.name, r.Int(i, "artid"), r.String(i, "srvname"), r.String(i, "dest_db")); err != nil {
				return 0, err
			}
		}
		if err := s.Exec(ctx, "DELETE FROM dbo.syssubscriptions WHERE artid = @p1 AND srvname = @p2 AND dest_db = @p3",
			r.Int(i, "artid"), r.String(i, "srvname"), r.String(i, "dest_db")); err != nil {
			return 0, err
		}
	}
	if !pub.immediateSync && !pub.fromBackup {
		err = s.Exec(
			ctx,
			"UPDATE dbo.sysarticles SET status = status & 254 WHERE pubid = @p1 AND artid NOT IN (SELECT artid FROM "+
				"dbo.syssubscriptions)",
			pub.id,
		)
	}
	return r.Len(), err
}

// refreshSubscriptions subscribes the subscribers who have the publication to articles that were added later.
func (e *Extension) refreshSubscriptions(ctx context.Context, call *engine.ProcCall) error {
	s := call.Session
	p, pub, err := e.published(ctx, call)
	if err != nil {
		return err
	}
	r, err := s.Query(
		ctx,
		`SELECT DISTINCT s.srvname, s.dest_db, s.subscription_type, s.sync_type, s.nosync_type, s.loopback_detection FROM dbo.syssubscriptions AS s JOIN dbo.sysarticles AS a ON a.artid = s.artid WHERE a.pubid = @p1`,
		pub.id,
	)
	if err != nil {
		return err
	}
	for i := range r.Len() {
		if e.inst.Answers(config.RefreshServesPull) && r.Int(i, "subscription_type") == stored.PushType {
			continue
		}
		missing, err := e.articles(
			ctx,
			s,
			p.db,
			"a.pubid = @p1 AND a.artid NOT IN (SELECT x.artid FROM dbo.syssubscriptions AS x WHERE x.srvname = @p2 AND "+
				"x.dest_db = @p3)",
			pub.id,
			r.String(i, "srvname"),
			r.String(i, "dest_db"),
		)
		if err != nil {
			return err
		}
		w := wantedSubscription{
			subscriber: r.String(i, "srvname"),
			database:   r.String(i, "dest_db"),
			kind:       int(r.Int(i, "subscription_type")),
			sync:       int(r.Int(i, "sync_type")),
			nosync:     int(r.Int(i, "nosync_type")),
			loopback:   r.Int(i, "loopback_detection") == 1,
		}
		for _, a := range missing {
			if err := e.subscribeArticle(ctx, s, p, pub, a, w); err != nil {
				return err
			}
		}
	}
	return e.refreshImages(ctx, s, p.db)
}

func (e *Extension) reinitSubscription(ctx context.Context, call *engine.ProcCall) error {
	s := call.Session
	p, pub, err := e.published(ctx, call)
	if err != nil {
		return err
	}
	article := call.String("@article")
	if article != "" && !strings.EqualFold(article, "all") {
		if pub.immediateSync {
			return raise(14122, 1)
		}
		if _, err := e.findArticle(ctx, s, p.db, pub, article); err != nil {
			return err
		}
	}
	r, err := s.Query(
		ctx,
		`SELECT s.artid, s.srvname, s.dest_db, s.sync_type FROM dbo.syssubscriptions AS s JOIN dbo.sysarticles AS a ON a.artid = s.artid
		WHERE a.pubid = @p1 AND @p2 IN (N'', N'all', a.name) AND @p3 IN (N'all', s.srvname) AND @p4 IN (N'', N'all', s.dest_db)`,
		pub.id,
		article,
		call.String("@subscriber"),
		call.String("@destination_db"),
	)
	if err != nil {
		return err
	}
	if r.Len() == 0 {
		return raise(14050, 1)
	}
	for i := range r.Len() {
		if r.Int(i, "sync_type") != syncAutomatic {
			return raise(21070, 1)
		}
	}
	for i := range r.Len() {
		// First here: a snapshot that is finished before the distributor has answered finds the subscription waiting.
		row := []any{r.Int(i, "artid"), r.String(i, "srvname"), r.String(i, "dest_db")}
		if err := s.Exec(ctx,
			"UPDATE dbo.syssubscriptions SET status = 1 WHERE artid = @p1 AND srvname = @p2 AND dest_db = @p3",
			row...); err != nil {
			return err
		}
		done, err := e.inDistributionOf(
			ctx,
			s,
			p,
			"EXEC sp_MSreinit_subscription @publisher = ?, @publisher_db = ?, @publication = ?, @article_id = ?, @subscriber "+
				"= ?, @subscriber_db = ?, @invalidate = ?",
			p.server,
			p.db.Name(),
			pub.name,
			r.Int(i, "artid"),
			r.String(i, "srvname"),
			r.String(i, "dest_db"),
			call.Int("@invalidate_snapshot"),
		)
		if err != nil {
			return err
		}
		if done.Int(0, "status") != stored.Activated {
			continue
		}
		if err := s.Exec(ctx,
			"UPDATE dbo.syssubscriptions SET status = 2 WHERE artid = @p1 AND srvname = @p2 AND dest_db = @p3",
			row...); err != nil {
			return err
		}
	}
	if call.Bool("@invalidate_snapshot") {
		return s.Exec(ctx, "UPDATE dbo.syspublications SET immediate_sync_ready = 0 WHERE pubid = @p1", pub.id)
	}
	return nil
}

func (e *Extension) helpSubscription(ctx context.Context, call *engine.ProcCall) error {
	if name := pattern(call.String("@publication")); !strings.Contains(name, "%") {
		if _, err := findPublication(ctx, call.Session, name); err != nil {
			return err
		}
	}
	args := []any{
		pattern(call.String("@publication")),
		pattern(call.String("@article")),
		pattern(call.String("@subscriber")),
		pattern(call.String("@destination_db")),
	}
	from := ` FROM dbo.syssubscriptions AS s JOIN dbo.sysarticles AS a ON a.artid = s.artid JOIN dbo.syspublications AS p ON p.pubid = a.pubid
		WHERE p.name LIKE @p1 AND a.name LIKE @p2 AND s.srvname LIKE @p3 AND s.dest_db LIKE @p4`
	r, err := call.Session.Query(ctx, "SELECT COUNT(*) AS n"+from, args...)
	if err != nil {
		return err
	}
	call.SetOutput("@found", min(r.Int(0, "n"), 1))
	r, err = call.Session.Query(
		ctx,
		`SELECT s.srvname AS subscriber, p.name AS publication, a.name AS article, s.dest_db AS [destination database], s.status AS [subscription status],
		s.sync_type AS [synchronization type], s.subscription_type AS [subscription type], CAST(1 AS bit) AS [full subscription], CAST(NULL AS nvarchar(255)) AS [subscription name],
		CAST(s.update_mode AS int) AS [update mode], s.distribution_jobid AS [distribution job id], s.loopback_detection, CAST(0 AS bit) AS offload_enabled,
		CAST(NULL AS sysname) AS offload_server, CAST(NULL AS sysname) AS dts_package_name, 0 AS dts_package_location, CAST(NULL AS smallint) AS subscriber_security_mode,
		CAST(NULL AS sysname) AS subscriber_login, CAST(NULL AS sysname) AS subscriber_password, CAST(NULL AS sysname) AS job_login, CAST(NULL AS sysname) AS job_password,
		CAST(NULL AS nvarchar(100)) AS distrib_agent_name, CAST(0 AS tinyint) AS subscriber_type, CAST(NULL AS sysname) AS subscriber_provider,
		CAST(NULL AS nvarchar(4000)) AS subscriber_datasource, CAST(NULL AS nvarchar(4000)) AS subscriber_providerstring,
		CAST(NULL AS nvarchar(4000)) AS subscriber_location, CAST(NULL AS sysname) AS subscriber_catalog`+from,
		args...)
	if err != nil {
		return err
	}
	e.addAgents(ctx, call, r)
	return call.ResultSet(r.Columns, r.Rows)
}

// addAgents fills in what the distributor knows of the push subscriptions' agents. One that does not answer leaves it
// out.
func (e *Extension) addAgents(ctx context.Context, call *engine.ProcCall, r *engine.Result) {
	var agents *engine.Result
	p, err := e.publisher(ctx, call)
	if err == nil {
		agents, err = e.inDistributionOf(
			ctx,
			call.Session,
			p,
			`SELECT a.publication, a.subscriber_name, a.subscriber_db, a.name, a.subscriber_security_mode, a.subscriber_login
			FROM dbo.MSdistribution_agents AS a JOIN dbo.MSreplservers AS v ON v.srvid = a.publisher_id WHERE v.srvname = ? AND a.publisher_db = ? AND a.subscription_type = 0`,
			p.server,
			p.db.Name(),
		)
	}
	if err != nil {
		e.inst.Log().Debug("replication: the distributor does not tell of its agents", "error", err.Error())
		return
	}
	at := func(name string) int { return columnAt(r.Columns, name) }
	for i, row := range r.Rows {
		for j := range agents.Len() {
			if agents.String(j, "publication") != r.String(i, "publication") ||
				!agent.SameServer(agents.String(j, "subscriber_name"), r.String(i, "subscriber")) ||
				agents.String(j, "subscriber_db") != r.String(i, "destination database") {
				continue
			}
			row[at("distrib_agent_name")], row[at("subscriber_security_mode")],
				row[at("subscriber_login")] = agents.Value(j, "name"), agents.Value(j, "subscriber_security_mode"),
				agents.Value(j, "subscriber_login")
			row[at("subscriber_password")] = "**********"
		}
	}
}
