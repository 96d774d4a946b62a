// SPDX-License-Identifier: Apache-2.0

package repl

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"geosql.dev/standin/engine"
	"geosql.dev/standin/repl/stored"
	"geosql.dev/standin/repl/tables"
	"geosql.dev/standin/sqlerr"
)

func (e *Extension) installPull(r *engine.Registry) {
	e.procedure(r, "sp_addpullsubscription", owners, nil, e.addPullSubscription)
	e.procedure(r, "sp_addpullsubscription_agent", owners, nil, e.addPullSubscriptionAgent)
	e.procedure(r, "sp_droppullsubscription", owners, nil, e.dropPullSubscription)
	e.procedure(r, "sp_helppullsubscription", owners, nil, e.helpPullSubscription)
	e.procedure(r, "sp_subscription_cleanup", owners, nil, e.cleanUpSubscription)
	e.procedure(r, "sp_change_subscription_properties", owners, nil, e.changeSubscriptionProperties)
}

func (e *Extension) addPullSubscription(ctx context.Context, call *engine.ProcCall) error {
	s, db := call.Session, call.Database
	if t := call.String("@subscription_type"); !strings.EqualFold(t, "pull") {
		return raise(21023, 1, "@subscription_type = N'"+t+"' (the default; give N'pull')")
	}
	if m := call.String("@update_mode"); m != "" && !strings.EqualFold(m, "read only") {
		return raise(21023, 1, "@update_mode = N'"+m+"'")
	}
	publisher, publisherDB, publication := e.known(call.String("@publisher")), call.String("@publisher_db"),
		call.String("@publication")
	if publisherDB == "" {
		return raise(14043, 1, "@publisher_db", "sp_addpullsubscription")
	}
	if err := tables.Make(ctx, s, db.Name(), tables.Subscription); err != nil {
		return err
	}
	r, err := s.Query(
		ctx,
		"SELECT 1 AS n FROM dbo.MSreplication_subscriptions WHERE publisher = @p1 AND publisher_db = @p2 AND "+
			"publication = @p3",
		publisher,
		publisherDB,
		publication,
	)
	if err != nil {
		return err
	}
	if r.Len() > 0 {
		return raise(14058, 1)
	}
	if err := e.ensureServer(ctx, s, publisher, "pub"); err != nil {
		return err
	}
	err = s.Exec(ctx, `BEGIN TRANSACTION;
		INSERT INTO dbo.MSreplication_subscriptions (publisher, publisher_db, publication, independent_agent, subscription_type, time, description, transaction_timestamp, update_mode, immediate_sync)
		VALUES (@p1, @p2, @p3, 1, 1, GETDATE(), @p4, 0x00, 0, @p5);
		INSERT INTO dbo.MSsubscription_agents (publisher, publisher_db, publication, subscription_type, update_mode, failover_mode, spid, login_time, allow_subscription_copy, attach_state, attach_version)
		VALUES (@p1, @p2, @p3, 1, 0, 0, -1, GETDATE(), 0, 0, 0x00);
		COMMIT TRANSACTION`, publisher, publisherDB, publication, call.Value("@description"), call.Int("@immediate_sync"))
	return err
}

func (e *Extension) addPullSubscriptionAgent(ctx context.Context, call *engine.ProcCall) error {
	s, db := call.Session, call.Database
	publisher, publisherDB, publication := e.known(call.String("@publisher")), call.String("@publisher_db"),
		call.String("@publication")
	if err := refuseJobLogin(call); err != nil {
		return err
	}
	if err := e.wantMasterKey(ctx, s, db.Name(), call.String("@distributor_password")); err != nil {
		return err
	}
	for _, p := range []string{"@dts_package_name", "@working_directory"} {
		if call.String(p) != "" {
			return raise(21023, 1, p)
		}
	}
	if call.Int("@publication_type") != 0 {
		return raise(21023, 1, "@publication_type other than 0")
	}
	ok, err := tables.Exists(ctx, s, bracket(db.Name())+".dbo.MSreplication_subscriptions")
	if err != nil {
		return err
	}
	if ok {
		r, err := s.Query(
			ctx,
			"SELECT 1 AS n FROM dbo.MSreplication_subscriptions WHERE publisher = @p1 AND publisher_db = @p2 AND publication "+
				"= @p3 AND subscription_type = 1",
			publisher,
			publisherDB,
			publication,
		)
		if err != nil {
			return err
		}
		ok = r.Len() > 0
	}
	if !ok {
		return raise(14135, 1, publisher, publisherDB, publication)
	}
	distributor := call.String("@distributor")
	if distributor == "" || strings.EqualFold(distributor, "value of @publisher") {
		distributor = publisher
	}
	if err := securityMode(call, "@distributor_security_mode", "@distributor_login"); err != nil {
		return err
	}
	id, err := e.pullJob(ctx, call, distributor)
	if err != nil {
		return err
	}
	call.SetOutput("@distribution_jobid", id)
	return s.Exec(
		ctx,
		`BEGIN TRANSACTION;
		DELETE FROM dbo.MSsubscription_properties WHERE publisher = @p1 AND publisher_db = @p2 AND publication = @p3;
		INSERT INTO dbo.MSsubscription_properties (publisher, publisher_db, publication, publication_type, publisher_security_mode, distributor, distributor_login,
		distributor_password, distributor_security_mode, use_ftp, dts_package_location, enabled_for_syncmgr, offload_agent, use_web_sync, internet_security_mode, internet_timeout, alt_snapshot_folder)
		VALUES (@p1, @p2, @p3, 0, 1, @p4, @p5, @p6, @p7, 0, 0, 0, 0, 0, 1, 300, @p10);
		UPDATE dbo.MSreplication_subscriptions SET agent_id = @p8, distribution_agent = @p9 WHERE publisher = @p1 AND publisher_db = @p2 AND publication = @p3;
		COMMIT TRANSACTION`,
		publisher,
		publisherDB,
		publication,
		distributor,
		call.Value("@distributor_login"),
		e.key.Seal(call.String("@distributor_password")),
		call.Int(
			"@distributor_security_mode",
		),
		id,
		stored.Clip(publisher+"-"+publisherDB+"-"+publication+"-"+e.serverName()+"-"+db.Name(), 100),
		orNull(call.String("@alt_snapshot_folder")),
	)
}

// pullJob attaches the named job, or makes one. The agent of a made job connects to its own subscriber with Windows
// authentication, which is the page's only choice.
func (e *Extension) pullJob(ctx context.Context, call *engine.ProcCall, distributor string) ([]byte, error) {
	s, db := call.Session, call.Database.Name()
	if name := call.String("@job_name"); name != "" {
		return jobID(ctx, s, name)
	}
	publisher, publisherDB, publication := call.String("@publisher"), call.String("@publisher_db"),
		call.String("@publication")
	command := fmt.Sprintf(
		"-Publisher %s -PublisherDB %s -Publication %s -Distributor %s -SubscriptionType 1 -Subscriber %s "+
			"-SubscriberSecurityMode 1 -SubscriberDB %s",
		bracket(
			publisher,
		),
		bracket(publisherDB),
		bracket(publication),
		bracket(distributor),
		bracket(e.serverName()),
		bracket(db),
	)
	if more := strings.TrimSpace(call.String("@optional_command_line")); more != "" &&
		call.Given("@optional_command_line") {
		command += " " + more
	}
	name := fmt.Sprintf("%s-%s-%s-%s-%s", publisher, publisherDB, publication, e.serverName(), db)
	j := jobSpec{
		name:           stored.Clip(name, 110),
		category:       "REPL-Distribution",
		subsystem:      "Distribution",
		command:        command,
		kind:           call.Int("@frequency_type"),
		interval:       call.Int("@frequency_interval"),
		subday:         call.Int("@frequency_subday"),
		subdayInterval: call.Int("@frequency_subday_interval"),
		relative: call.Int(
			"@frequency_relative_interval",
		),
		recurrence: call.Int("@frequency_recurrence_factor"),
		startDate:  call.Int("@active_start_date"),
		endDate:    call.Int("@active_end_date"),
		startTime:  call.Int("@active_start_time_of_day"),
		endTime:    call.Int("@active_end_time_of_day"),
	}
	if j.kind == 64 {
		j.command += " -Continuous"
	}
	return e.makeJob(ctx, s, j)
}

func (e *Extension) dropPullSubscription(ctx context.Context, call *engine.ProcCall) error {
	s, db := call.Session, call.Database
	ok, err := tables.Exists(ctx, s, bracket(db.Name())+".dbo.MSreplication_subscriptions")
	if err != nil {
		return err
	}
	name := pattern(call.String("@publication"))
	var r *engine.Result
	if ok {
		r, err = s.Query(
			ctx,
			"SELECT publication, CAST(agent_id AS uniqueidentifier) AS job FROM dbo.MSreplication_subscriptions WHERE "+
				"publisher = @p1 AND publisher_db = @p2 AND publication LIKE @p3",
			call.String("@publisher"),
			call.String("@publisher_db"),
			name,
		)
		if err != nil {
			return err
		}
	}
	if r.Len() == 0 {
		return raise(14135, 1, call.String("@publisher"), call.String("@publisher_db"), call.String("@publication"))
	}
	for i := range r.Len() {
		made := stored.Clip(
			fmt.Sprintf(
				"%s-%s-%s-%s-%s",
				call.String("@publisher"),
				call.String("@publisher_db"),
				r.String(i, "publication"),
				e.serverName(),
				db.Name(),
			),
			110,
		)
		if err := e.deleteJob(ctx, s, made); err != nil {
			return err
		}
		err := s.Exec(ctx, `BEGIN TRANSACTION;
			DELETE FROM dbo.MSreplication_subscriptions WHERE publisher = @p1 AND publisher_db = @p2 AND publication = @p3;
			DELETE FROM dbo.MSsubscription_agents WHERE publisher = @p1 AND publisher_db = @p2 AND publication = @p3;
			DELETE FROM dbo.MSsubscription_properties WHERE publisher = @p1 AND publisher_db = @p2 AND publication = @p3;
			DELETE FROM dbo.MSreplication_objects WHERE publisher = @p1 AND publisher_db = @p2 AND publication = @p3;
			DELETE FROM dbo.MSsnapshotdeliveryprogress WHERE session_token = @p4;
			COMMIT TRANSACTION`, call.String("@publisher"), call.String("@publisher_db"), r.String(i, "publication"),
			stored.ProgressToken(call.String("@publisher"), call.String("@publisher_db"), r.String(i, "publication")))
		if err != nil {
			return err
		}
	}
	return e.forgetPublisher(ctx, s, call.String("@publisher"))
}

// cleanUpSubscription removes what there is of a subscription of either type; nothing is no error.
func (e *Extension) cleanUpSubscription(ctx context.Context, call *engine.ProcCall) error {
	err := e.dropPullSubscription(ctx, call)
	var refused *sqlerr.Error
	if errors.As(err, &refused) && refused.Number == noPullSubscription {
		return nil
	}
	return err
}

// noPullSubscription is what sp_droppullsubscription says where there is none.
const noPullSubscription = 14135

// forgetPublisher takes back that a server is a publisher, at a subscriber that has no pull subscription to it any
// more.
func (e *Extension) forgetPublisher(ctx context.Context, s *engine.Session, publisher string) error {
	r, err := s.Query(
		ctx,
		"IF OBJECT_ID(N'msdb.dbo.MSdistpublishers') IS NULL SELECT 0 AS n ELSE SELECT COUNT(*) AS n FROM "+
			"msdb.dbo.MSdistpublishers WHERE name = @p1",
		publisher,
	)
	if err != nil || r.Int(0, "n") > 0 {
		return err
	}
	for _, db := range e.inst.Databases() {
		if db.Storage() == nil || db.System() {
			continue
		}
		table := bracket(db.Name()) + ".dbo.MSreplication_subscriptions"
		ok, err := tables.Exists(ctx, s, table)
		if err != nil || !ok {
			continue // what cannot be read does not replicate now
		}
		if r, err = s.Query(ctx, "SELECT TOP (1) 1 AS n FROM "+table+" WHERE publisher = @p1 AND subscription_type = 1",
			publisher); err != nil ||
			r.Len() > 0 {
			return err
		}
	}
	return unmarkServer(ctx, s, publisher, "pub")
}

func (e *Extension) helpPullSubscription(ctx context.Context, call *engine.ProcCall) error {
	ok, err := tables.Exists(ctx, call.Session, bracket(call.Database.Name())+".dbo.MSreplication_subscriptions")
	if err != nil || !ok {
		return err
	}
	push := 1
	if yes(call, "@show_push") {
		push = 0
	}
	return call.Exec(
		ctx,
		`SELECT r.publisher, r.publisher_db AS [publisher database], r.publication, r.independent_agent, r.subscription_type AS [subscription type],
		CAST(r.distribution_agent AS nvarchar(100)) AS [distribution agent], r.description AS [publication description], r.time AS [last updating time],
		CAST(r.publisher + N':' + r.publisher_db + N':' + r.publication AS varchar(386)) AS [subscription name], r.transaction_timestamp AS [last transaction timestamp],
		r.update_mode AS [update mode], r.agent_id AS [distribution agent job_id], CAST(0 AS int) AS enabled_for_synmgr, r.subscription_guid AS [subscription guid], r.subid,
		r.immediate_sync, p.publisher_login AS [publisher login], CAST(NULL AS nvarchar(524)) AS [publisher password], p.publisher_security_mode AS [publisher security_mode],
		p.distributor, p.distributor_login, CAST(NULL AS nvarchar(524)) AS distributor_password, p.distributor_security_mode, p.ftp_address, p.ftp_port, p.ftp_login,
		CAST(NULL AS nvarchar(524)) AS ftp_password, p.alt_snapshot_folder, p.working_directory, p.use_ftp, p.publication_type, p.dts_package_name, p.dts_package_location,
		p.offload_agent, p.offload_server, a.last_sync_status, a.last_sync_summary, a.last_sync_time, CAST(NULL AS nvarchar(512)) AS job_login, CAST(NULL AS sysname) AS job_password
		FROM dbo.MSreplication_subscriptions AS r
		LEFT JOIN dbo.MSsubscription_properties AS p ON p.publisher = r.publisher AND p.publisher_db = r.publisher_db AND p.publication = r.publication
		LEFT JOIN dbo.MSsubscription_agents AS a ON a.publisher = r.publisher AND a.publisher_db = r.publisher_db AND a.publication = r.publication AND a.subscription_type = r.subscription_type
		WHERE r.publisher LIKE @p1 AND r.publisher_db LIKE @p2 AND r.publication LIKE @p3 AND (r.subscription_type = 1 OR @p4 = 0)`,
		pattern(call.String("@publisher")),
		pattern(call.String("@publisher_db")),
		pattern(call.String("@publication")),
		push,
	)
}

func (e *Extension) changeSubscriptionProperties(ctx context.Context, call *engine.ProcCall) error {
	s := call.Session
	property, value := strings.ToLower(call.String("@property")), any(call.String("@value"))
	switch property {
	case "distributor_login", "distributor_security_mode":
	case "alt_snapshot_folder":
		value = orNull(call.String("@value"))
	case "distributor_password":
		value = e.key.Seal(call.String("@value"))
	default:
		return raise(21023, 1, "@property = N'"+property+"'")
	}
	r, err := s.Query(
		ctx,
		"SELECT 1 AS n FROM dbo.MSsubscription_properties WHERE publisher = @p1 AND publisher_db = @p2 AND publication = @p3",
		call.String("@publisher"),
		call.String("@publisher_db"),
		call.String("@publication"),
	)
	if err != nil {
		return err
	}
	if r.Len() == 0 {
		return raise(21859, 1, property)
	}
	return s.Exec(
		ctx,
		"UPDATE dbo.MSsubscription_properties SET "+bracket(
			property,
		)+" = @p4 WHERE publisher = @p1 AND publisher_db = @p2 AND publication = @p3",
		call.String("@publisher"),
		call.String("@publisher_db"),
		call.String("@publication"),
		value,
	)
}
