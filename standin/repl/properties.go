// SPDX-License-Identifier: Apache-2.0

package repl

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"geosql.dev/standin/engine"
	"geosql.dev/standin/repl/article"
	"geosql.dev/standin/repl/profile"
	"geosql.dev/standin/repl/stored"
	"geosql.dev/standin/repl/tables"
	"geosql.dev/standin/sqltype"
)

// Procedures that change one property of what is there.
func (e *Extension) installProperties(r *engine.Registry) {
	e.procedure(r, "sp_changesubscription", owners, nil, e.changeSubscription)
	e.procedure(r, "sp_MSchange_distribution_agent_properties", distributionOwners, nil, e.changeDistributionAgent)
	e.procedure(r, "sp_MSchange_logreader_agent_properties", distributionOwners, nil, e.changeLogReaderProperties)
	e.procedure(r, "sp_changepublication_snapshot", owners, nil, e.changePublicationSnapshot)
	e.procedure(
		r,
		"sp_MSchange_snapshot_agent",
		distributionOwners,
		[]engine.Parameter{text("@publisher"), text("@publisher_db"), text("@publication"), number("@mode"),
			text(
				"@login",
			), text("@password"), text("@job_name"), number("@freq_type"), number("@freq_interval"), number("@freq_subday"),
			number("@freq_subday_interval"),
			number(
				"@freq_relative",
			), number("@freq_recurrence"), number("@start_date"), number("@end_date"), number("@start_time"),
			number("@end_time")},
		e.changeSnapshotRow,
	)
	e.procedure(r, "sp_change_agent_profile", sysadmins, nil, e.changeProfile)
	e.procedure(r, "sp_help_agent_default", anyone, nil, e.helpDefaultProfile)
	e.procedure(r, "sp_changereplicationserverpasswords", sysadmins, nil, e.changeServerPasswords)
	e.procedure(r, "sp_changedistributor_property", sysadmins, nil, e.changeDistributorProperty)
	e.procedure(r, "sp_helpdistributor_properties", distributionOwners, []engine.Parameter{}, e.helpDistributorProperties)
	e.procedure(r, "sp_changesubstatus", owners, nil, e.changeSubscriptionStatus)
	e.change(
		r,
		"sp_MSupdate_subscription",
		distributionOwners,
		[]engine.Parameter{
			text("@publisher"),
			text("@publisher_db"),
			text("@publication"),
			number("@article_id"),
			text("@subscriber"),
			text("@subscriber_db"),
			number("@status"),
			binary1("@seqno"),
		},
		e.updateSubscriptionRow,
	)
	e.procedure(r, "sp_reinitpullsubscription", owners, nil, e.reinitPullSubscription)
	e.procedure(r, "sp_setsubscriptionxactseqno", owners, nil, e.setSubscriptionSeqno)
	e.procedure(r, "sp_helpsubscriptionerrors", distributionOwners, nil, e.helpSubscriptionErrors)
	e.procedure(r, "sp_scriptpublicationcustomprocs", owners, nil, e.scriptProcedures)
	e.procedure(
		r,
		"sp_scriptdynamicupdproc",
		owners,
		[]engine.Parameter{{Name: "@artid", Type: sqltype.IntType, Required: true}},
		e.scriptDynamicUpdate,
	)
}

// changeSubscription changes a push subscription's agent.
func (e *Extension) changeSubscription(ctx context.Context, call *engine.ProcCall) error {
	p, pub, err := e.published(ctx, call)
	if err != nil {
		return err
	}
	r, err := call.Session.Query(
		ctx,
		`SELECT TOP (1) s.subscription_type FROM dbo.syssubscriptions AS s JOIN dbo.sysarticles AS a ON a.artid = s.artid
		WHERE a.pubid = @p1 AND s.srvname = @p2 AND s.dest_db = @p3`,
		pub.id,
		call.String("@subscriber"),
		call.String("@destination_db"),
	)
	if err != nil {
		return err
	}
	if r.Len() == 0 {
		return raise(14055, 1)
	}
	_, err = e.inDistributionOf(
		ctx,
		call.Session,
		p,
		`EXEC sp_MSchange_distribution_agent_properties @publisher = ?, @publisher_db = ?, @publication = ?, @subscriber = ?, @subscriber_db = ?, @property = ?, @value = ?`,
		p.server,
		p.db.Name(),
		pub.name,
		call.String("@subscriber"),
		call.String("@destination_db"),
		call.String("@property"),
		call.String("@value"),
	)
	return err
}

func (e *Extension) changeDistributionAgent(ctx context.Context, call *engine.ProcCall) error {
	agent, err := agentOf(ctx, call.Session, call)
	if err != nil {
		return err
	}
	if agent == 0 {
		return raise(14055, 1)
	}
	property, text := strings.ToLower(call.String("@property")), call.String("@value")
	value := any(text)
	switch property {
	case "subscriber_login":
	case "subscriber_password":
		value = e.key.Seal(text)
	case "subscriber_security_mode":
		if text != "0" && text != "1" {
			return raise(14109, 1)
		}
	case "subscriptionstreams":
		if n, err := strconv.Atoi(text); err != nil || n < 1 || n > 64 {
			return raise(21055, 1, "@value", "sp_changesubscription")
		}
	default:
		return raise(21023, 1, "@property = N'"+property+"'")
	}
	return call.Session.Exec(
		ctx,
		"UPDATE dbo.MSdistribution_agents SET "+bracket(property)+" = @p2 WHERE id = @p1",
		agent,
		value,
	)
}

func (e *Extension) changeLogReaderProperties(ctx context.Context, call *engine.ProcCall) error {
	return call.Session.Exec(
		ctx,
		"EXEC sp_MSchange_logreader_agent @publisher = @p1, @publisher_db = @p2, @mode = @p3, @login = @p4, @password = @p5",
		call.String(
			"@publisher",
		),
		call.String("@publisher_db"),
		call.Int("@publisher_security_mode"),
		call.Value("@publisher_login"),
		call.Value("@publisher_password"),
	)
}

func (e *Extension) changePublicationSnapshot(ctx context.Context, call *engine.ProcCall) error {
	p, pub, err := e.published(ctx, call)
	if err != nil {
		return err
	}
	if call.String("@job_login") != "" || call.String("@job_password") != "" {
		return raise(21023, 1, "@job_login")
	}
	_, err = e.inDistributionOf(
		ctx,
		call.Session,
		p,
		`EXEC sp_MSchange_snapshot_agent @publisher = ?, @publisher_db = ?, @publication = ?, @mode = ?, @login = ?, @password = ?, @job_name = ?,
		@freq_type = ?, @freq_interval = ?, @freq_subday = ?, @freq_subday_interval = ?, @freq_relative = ?, @freq_recurrence = ?, @start_date = ?, @end_date = ?, @start_time = ?, @end_time = ?`,
		p.server,
		p.db.Name(),
		pub.name,
		call.Value("@publisher_security_mode"),
		call.Value("@publisher_login"),
		call.Value("@publisher_password"),
		call.Value("@snapshot_job_name"),
		call.Value(
			"@frequency_type",
		),
		call.Value("@frequency_interval"),
		call.Value("@frequency_subday"),
		call.Value("@frequency_subday_interval"),
		call.Value("@frequency_relative_interval"),
		call.Value("@frequency_recurrence_factor"),
		call.Value(
			"@active_start_date",
		),
		call.Value("@active_end_date"),
		call.Value("@active_start_time_of_day"),
		call.Value("@active_end_time_of_day"),
	)
	return err
}

// changeSnapshotRow changes what is given; a new frequency replaces the job's schedules.
func (e *Extension) changeSnapshotRow(ctx context.Context, call *engine.ProcCall) error {
	s := call.Session
	r, err := s.Query(
		ctx,
		`SELECT a.id, CAST(a.job_id AS uniqueidentifier) AS job FROM dbo.MSsnapshot_agents AS a JOIN dbo.MSreplservers AS v ON v.srvid = a.publisher_id
		WHERE v.srvname = @p1 AND a.publisher_db = @p2 AND a.publication = @p3`,
		call.String("@publisher"),
		call.String("@publisher_db"),
		call.String("@publication"),
	)
	if err != nil {
		return err
	}
	if r.Len() == 0 {
		return raise(
			21799,
			1,
			"Snapshot",
			call.String("@publisher"),
			call.String("@publisher_db"),
			call.String("@publication"),
		)
	}
	id := r.Int(0, "id")
	changes := []struct {
		parameter, column string
		value             any
	}{{"@mode", "publisher_security_mode", call.Value("@mode")}, {"@login", "publisher_login", call.Value("@login")},
		{"@password", "publisher_password", e.key.Seal(call.String("@password"))}}
	for _, c := range changes {
		if call.IsNull(c.parameter) {
			continue
		}
		if err := s.Exec(ctx, "UPDATE dbo.MSsnapshot_agents SET "+c.column+" = @p2 WHERE id = @p1", id, c.value); err != nil {
			return err
		}
	}
	if name := call.String("@job_name"); name != "" {
		job, err := jobID(ctx, s, name)
		if err != nil {
			return err
		}
		if err := s.Exec(ctx, "UPDATE dbo.MSsnapshot_agents SET job_id = @p2, local_job = 0 WHERE id = @p1", id,
			job); err != nil {
			return err
		}
	}
	if call.IsNull("@freq_type") {
		return nil
	}
	return reschedule(ctx, call, r.UUID(0, "job"))
}

// reschedule gives a job the schedule that the parameters describe, in place of those that it has.
func reschedule(ctx context.Context, call *engine.ProcCall, job any) error {
	s := call.Session
	old, err := s.Query(ctx, "SELECT schedule_id FROM msdb.dbo.sysjobschedules WHERE job_id = @p1", job)
	if err != nil {
		return err
	}
	for i := range old.Len() {
		if err := s.Exec(ctx,
			"EXEC msdb.dbo.sp_detach_schedule @job_id = @p1, @schedule_id = @p2, @delete_unused_schedule = 1", job,
			old.Int(i, "schedule_id")); err != nil {
			return err
		}
	}
	text, args := "EXEC msdb.dbo.sp_add_jobschedule @job_id = @p1, @name = N'Replication agent schedule.'", []any{job}
	for _, p := range [][2]string{{"@freq_type", "@freq_type"}, {"@freq_interval", "@freq_interval"},
		{"@freq_subday_type", "@freq_subday"}, {"@freq_subday_interval", "@freq_subday_interval"},
		{"@freq_relative_interval", "@freq_relative"}, {"@freq_recurrence_factor", "@freq_recurrence"},
		{"@active_start_date", "@start_date"}, {"@active_end_date", "@end_date"}, {"@active_start_time", "@start_time"},
		{"@active_end_time", "@end_time"}} {
		if call.IsNull(p[1]) {
			continue
		}
		args = append(args, call.Int(p[1]))
		text += fmt.Sprintf(", %s = @p%d", p[0], len(args))
	}
	return s.Exec(ctx, text, args...)
}

func (e *Extension) changeProfile(ctx context.Context, call *engine.ProcCall) error {
	if _, err := profile.Kind(ctx, call.Session, call.Int("@profile_id")); err != nil {
		return err
	}
	if p := call.String("@property"); !strings.EqualFold(p, "description") {
		return raise(21055, 1, "@property", "sp_change_agent_profile")
	}
	return call.Session.Exec(
		ctx,
		"UPDATE msdb.dbo.MSagent_profiles SET description = @p2 WHERE profile_id = @p1",
		call.Int("@profile_id"),
		call.String("@value"),
	)
}

func (e *Extension) helpDefaultProfile(ctx context.Context, call *engine.ProcCall) error {
	if profile.Agents[call.Int("@agent_type")] == "" {
		return raise(21804, 1, call.Int("@agent_type"))
	}
	id, err := profile.Default(ctx, call.Session, int(call.Int("@agent_type")))
	if err != nil {
		return err
	}
	call.SetOutput("@profile_id", id)
	return nil
}

// changeServerPasswords changes the password of a login wherever this server's replication has stored it.
func (e *Extension) changeServerPasswords(ctx context.Context, call *engine.ProcCall) error {
	s, login, password, server := call.Session, call.String("@login"), e.key.Seal(call.String("@password")),
		call.String("@server")
	if call.Int("@login_type") != 0 && call.Int("@login_type") != 1 {
		return raise(21055, 1, "@login_type", "sp_changereplicationserverpasswords")
	}
	if call.Int("@login_type") == 0 {
		return raise(21023, 1, "@login_type = 0 (Windows logins)")
	}
	change := func(table, column, loginColumn string) error {
		ok, err := tables.Exists(ctx, s, table)
		if err != nil || !ok {
			return err
		}
		return s.Exec(ctx, "UPDATE "+table+" SET "+column+" = @p2 WHERE "+loginColumn+" = @p1", login, password)
	}
	if server == "%" || strings.EqualFold(server, "publisher") {
		if err := change("msdb.dbo.MSdistpublishers", "password", "login"); err != nil {
			return err
		}
	}
	for _, db := range e.inst.Databases() {
		if db.Storage() == nil || db.System() && !db.Info().Distributor {
			continue
		}
		prefix := bracket(db.Name()) + ".dbo."
		for _, c := range []struct{ role, table, column, login string }{
			{"publisher", "MSlogreader_agents", "publisher_password", "publisher_login"},
			{"publisher", "MSsnapshot_agents", "publisher_password", "publisher_login"},
			{"subscriber", "MSdistribution_agents", "subscriber_password", "subscriber_login"},
			{"distributor", "MSsubscription_properties", "distributor_password", "distributor_login"},
		} {
			if server != "%" && !strings.EqualFold(server, c.role) {
				continue
			}
			if err := change(prefix+c.table, c.column, c.login); err != nil {
				return err
			}
		}
	}
	return nil
}

// changeDistributorProperty changes a property in msdb.dbo.MSdistributor. How agents encrypt their connections is said
// on their command lines here.
func (e *Extension) changeDistributorProperty(ctx context.Context, call *engine.ProcCall) error {
	if err := e.requireDistributor(ctx, call.Session); err != nil {
		return err
	}
	property, value := strings.ToLower(call.String("@property")), call.String("@value")
	if property != "heartbeat_interval" {
		return raise(21023, 1, "@property = N'"+property+"'")
	}
	if n, err := strconv.Atoi(value); err != nil || n < 1 {
		return raise(21055, 1, "@value", "sp_changedistributor_property")
	}
	return call.Session.Exec(
		ctx,
		"UPDATE msdb.dbo.MSdistributor SET value = @p2 WHERE property = @p1; IF @@ROWCOUNT = 0 INSERT INTO "+
			"msdb.dbo.MSdistributor VALUES (@p1, @p2)",
		property,
		value,
	)
}

// helpDistributorProperties shows them, with 10 minutes where nobody has changed the interval
// (docs/relational-databases/system-stored-procedures/sp-helpdistributor-properties-transact-sql.md).
func (e *Extension) helpDistributorProperties(ctx context.Context, call *engine.ProcCall) error {
	if err := e.requireDistributor(ctx, call.Session); err != nil {
		return err
	}
	return call.Exec(
		ctx,
		"SELECT CAST(ISNULL((SELECT value FROM msdb.dbo.MSdistributor WHERE property = N'heartbeat_interval'), N'10') AS "+
			"int) AS heartbeat_interval",
	)
}

// changeSubscriptionStatus makes subscriptions active, inactive or waiting for their snapshot.
func (e *Extension) changeSubscriptionStatus(ctx context.Context, call *engine.ProcCall) error {
	s := call.Session
	p, err := e.publisher(ctx, call)
	if err != nil {
		return err
	}
	statuses := map[string]int{"active": stored.Activated, "subscribed": stored.Subscribed, "inactive": stored.Inactive}
	status, ok := statuses[strings.ToLower(call.String("@status"))]
	if !ok {
		return raise(14065, 1)
	}
	text := `SELECT s.artid, s.srvname, s.dest_db, s.status, p.name, p.pubid FROM dbo.syssubscriptions AS s JOIN dbo.sysarticles AS a ON a.artid = s.artid JOIN dbo.syspublications AS p ON p.pubid = a.pubid
		WHERE p.name LIKE @p1 AND a.name LIKE @p2 AND s.srvname LIKE @p3 AND s.dest_db LIKE @p4`
	args := []any{
		pattern(call.String("@publication")),
		pattern(call.String("@article")),
		pattern(call.String("@subscriber")),
		pattern(call.String("@destination_db")),
	}
	if was := call.String("@previous_status"); was != "" {
		n, ok := statuses[strings.ToLower(was)]
		if !ok {
			return raise(14066, 1)
		}
		text, args = text+" AND s.status = @p5", append(args, n)
	}
	r, err := s.Query(ctx, text, args...)
	if err != nil {
		return err
	}
	if r.Len() == 0 {
		return raise(14050, 1)
	}
	position := p.db.Storage().AppliedEnd()
	for i := range r.Len() {
		if _, err := e.inDistributionOf(ctx, s, p,
			"EXEC sp_MSupdate_subscription @publisher = ?, @publisher_db = ?, @publication = ?, @article_id = ?, @subscriber "+
				"= ?, @subscriber_db = ?, @status = ?, @seqno = ?",
			p.server, p.db.Name(), r.String(i, "name"), r.Int(i, "artid"), r.String(i, "srvname"), r.String(i, "dest_db"),
			status, position[:]); err != nil {
			return err
		}
		if err := s.Exec(ctx,
			"UPDATE dbo.syssubscriptions SET status = @p4 WHERE artid = @p1 AND srvname = @p2 AND dest_db = @p3",
			r.Int(i, "artid"), r.String(i, "srvname"), r.String(i, "dest_db"), status); err != nil {
			return err
		}
		if status == stored.Inactive {
			continue
		}
		if err := s.Exec(ctx, "UPDATE dbo.sysarticles SET status = status | 1 WHERE artid = @p1",
			r.Int(i, "artid")); err != nil {
			return err
		}
	}
	return e.refreshImages(ctx, s, p.db)
}

// updateSubscriptionRow changes the status of one article's subscription. What becomes active without a snapshot begins
// at the given position.
func (e *Extension) updateSubscriptionRow(ctx context.Context, call *engine.ProcCall) error {
	agent, err := agentOf(ctx, call.Session, call)
	if err != nil {
		return err
	}
	if agent == 0 {
		return raise(14055, 1)
	}
	return call.Session.Exec(
		ctx,
		`UPDATE dbo.MSsubscriptions SET subscription_seqno = CASE WHEN @p3 = 2 AND status <> 2 THEN @p4 ELSE subscription_seqno END,
		snapshot_seqno_flag = CASE WHEN @p3 = 2 AND status <> 2 OR @p3 <> 2 THEN 0 ELSE snapshot_seqno_flag END, status = @p3 WHERE agent_id = @p1 AND article_id = @p2`,
		agent,
		call.Int("@article_id"),
		call.Int("@status"),
		call.Bytes("@seqno"),
	)
}

// subscriptionHere is 14135 unless this database has the subscription.
func subscriptionHere(ctx context.Context, call *engine.ProcCall, publication string) (*engine.Result, error) {
	ok, err := tables.Exists(ctx, call.Session, bracket(call.Database.Name())+".dbo.MSreplication_subscriptions")
	if err != nil {
		return nil, err
	}
	var r *engine.Result
	if ok {
		r, err = call.Session.Query(
			ctx,
			"SELECT publication, subscription_type, transaction_timestamp FROM dbo.MSreplication_subscriptions WHERE "+
				"publisher = @p1 AND publisher_db = @p2 AND publication LIKE @p3",
			call.String("@publisher"),
			call.String("@publisher_db"),
			pattern(publication),
		)
		if err != nil {
			return nil, err
		}
	}
	if r.Len() == 0 {
		return nil, raise(14135, 1, call.String("@publisher"), call.String("@publisher_db"), publication)
	}
	return r, nil
}

// reinitPullSubscription has the next run of the Distribution Agent apply the newest snapshot again.
func (e *Extension) reinitPullSubscription(ctx context.Context, call *engine.ProcCall) error {
	r, err := subscriptionHere(ctx, call, call.String("@publication"))
	if err != nil {
		return err
	}
	for i := range r.Len() {
		name := r.String(i, "publication")
		if r.Int(i, "subscription_type") != stored.PullType {
			continue
		}
		err := call.Session.Exec(ctx, `BEGIN TRANSACTION;
			UPDATE dbo.MSreplication_subscriptions SET transaction_timestamp = 0x00 WHERE publisher = @p1 AND publisher_db = @p2 AND publication = @p3;
			DELETE FROM dbo.MSsnapshotdeliveryprogress WHERE session_token = @p4;
			COMMIT TRANSACTION`, call.String("@publisher"), call.String("@publisher_db"), name, stored.ProgressToken(call.String("@publisher"), call.String("@publisher_db"), name))
		if err != nil {
			return err
		}
	}
	return nil
}

// setSubscriptionSeqno moves a subscription over transactions that cannot be applied.
func (e *Extension) setSubscriptionSeqno(ctx context.Context, call *engine.ProcCall) error {
	publication := call.String("@publication")
	r, err := subscriptionHere(ctx, call, publication)
	if err != nil {
		return err
	}
	if n := len(call.Bytes("@xact_seqno")); n != 10 && n != 16 {
		return raise(21055, 1, "@xact_seqno", "sp_setsubscriptionxactseqno")
	}
	if err := call.Session.Exec(ctx,
		"UPDATE dbo.MSreplication_subscriptions SET transaction_timestamp = @p4 WHERE publisher = @p1 AND publisher_db = "+
			"@p2 AND publication = @p3",
		call.String("@publisher"), call.String("@publisher_db"), publication, call.Bytes("@xact_seqno")); err != nil {
		return err
	}
	return call.Exec(
		ctx,
		"SELECT CAST(@p1 AS varbinary(16)) AS [ORIGINAL XACT_SEQNO], CAST(@p2 AS varbinary(16)) AS [UPDATED XACT_SEQNO], "+
			"1 AS [SUBSCRIPTION STREAM COUNT]",
		r.Bytes(0, "transaction_timestamp"),
		call.Bytes("@xact_seqno"),
	)
}

func (e *Extension) helpSubscriptionErrors(ctx context.Context, call *engine.ProcCall) error {
	agent, err := agentOf(ctx, call.Session, call)
	if err != nil {
		return err
	}
	if agent == 0 {
		return raise(14055, 1)
	}
	return call.Exec(
		ctx,
		`SELECT r.id, r.time, r.error_type_id, r.source_type_id, r.source_name, r.error_code, CAST(r.error_text AS ntext) AS error_text, r.xact_seqno, r.command_id, r.session_id
		FROM dbo.MSrepl_errors AS r WHERE r.id IN (SELECT h.error_id FROM dbo.MSdistribution_history AS h WHERE h.agent_id = @p1) ORDER BY r.time`,
		agent,
	)
}

// scriptProcedures gives the procedures that commands call at the subscriber, line by line.
func (e *Extension) scriptProcedures(ctx context.Context, call *engine.ProcCall) error {
	p, pub, err := e.published(ctx, call)
	if err != nil {
		return err
	}
	if pub.snapshotOnly {
		return raise(21515, 1, pub.name)
	}
	list, err := e.articles(ctx, call.Session, p.db, "a.pubid = @p1", pub.id)
	if err != nil {
		return err
	}
	script := ""
	for _, a := range list {
		if a.Options&article.OptionProcedures != 0 {
			script += a.Procedures()
		}
	}
	return scriptLines(call, script)
}

// scriptLines sends a script line by line.
func scriptLines(call *engine.ProcCall, script string) error {
	var out [][]any
	for line := range strings.SplitSeq(script, "\n") {
		out = append(out, []any{line})
	}
	return call.ResultSet(columns("script", sqltype.NVarCharOf(4000)), out)
}

// scriptDynamicUpdate gives the procedure of an article whose updates are MCALL, which sets only what changed, line by
// line (docs/relational-databases/system-stored-procedures/sp-scriptdynamicupdproc-transact-sql.md, Examples).
func (e *Extension) scriptDynamicUpdate(ctx context.Context, call *engine.ProcCall) error {
	list, err := e.articles(ctx, call.Session, call.Database, "a.artid = @p1", call.Int("@artid"))
	if err != nil {
		return err
	}
	if len(list) == 0 {
		return raise(20027, 1, call.String("@artid"))
	}
	return scriptLines(call, list[0].DynamicUpdateProcedure())
}
