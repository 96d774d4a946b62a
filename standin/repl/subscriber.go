// SPDX-License-Identifier: Apache-2.0

package repl

import (
	"context"
	"path/filepath"
	"strings"

	"geosql.dev/standin/engine"
	"geosql.dev/standin/repl/agent"
	"geosql.dev/standin/repl/stored"
	"geosql.dev/standin/repl/tables"
	"geosql.dev/standin/sqltype"
)

// installSubscribers registers the procedures that name subscribers before they subscribe, as scripts of earlier
// versions do (docs/relational-databases/system-stored-procedures/sp-addsubscriber-transact-sql.md and its neighbours),
// and those that tell where a subscription's snapshot and logins are.
func (e *Extension) installSubscribers(r *engine.Registry) {
	e.procedure(
		r,
		"sp_addsubscriber",
		sysadmins,
		subscriberParameters(engine.Parameter{Name: "@encrypted_password", Type: sqltype.BitType}),
		e.addSubscriber,
	)
	e.procedure(r, "sp_changesubscriber", sysadmins, subscriberParameters(), e.changeSubscriber)
	e.procedure(
		r,
		"sp_dropsubscriber",
		sysadmins,
		[]engine.Parameter{
			{Name: "@subscriber", Type: sqltype.Sysname, Required: true},
			{Name: "@reserved", Type: sqltype.NVarCharOf(50)},
			{Name: "@ignore_distributor", Type: sqltype.BitType},
		},
		e.dropSubscriber,
	)
	all := engine.Parameter{Type: sqltype.Sysname, Default: "%"}
	named := func(p engine.Parameter, name string) engine.Parameter { p.Name = name; return p }
	e.procedure(
		r,
		"sp_helpsubscription_properties",
		owners,
		[]engine.Parameter{named(all, "@publisher"), named(all, "@publisher_db"), named(all, "@publication"),
			{Name: "@publication_type", Type: sqltype.IntType}},
		e.helpSubscriptionProperties,
	)
	e.procedure(
		r,
		"sp_browsesnapshotfolder",
		owners,
		[]engine.Parameter{
			{Name: "@publication", Type: sqltype.Sysname, Required: true},
			{Name: "@subscriber", Type: sqltype.Sysname},
			{Name: "@subscriber_db", Type: sqltype.Sysname},
		},
		e.browseSnapshotFolder,
	)
}

// subscriberParameters are those of sp_addsubscriber in their order. The schedules are defaults for agents that
// sp_addsubscriber once made, and change nothing.
func subscriberParameters(more ...engine.Parameter) []engine.Parameter {
	out := []engine.Parameter{
		{Name: "@subscriber", Type: sqltype.Sysname, Required: true},
		{Name: "@type", Type: sqltype.TinyIntType},
		{Name: "@login", Type: sqltype.Sysname},
		{Name: "@password", Type: sqltype.NVarCharOf(524)},
	}
	for _, name := range strings.Fields("@commit_batch_size @status_batch_size @flush_frequency @frequency_type " +
		"@frequency_interval @frequency_relative_interval @frequency_recurrence_factor " +
		"@frequency_subday @frequency_subday_interval @active_start_time_of_day @active_end_time_of_day " +
		"@active_start_date @active_end_date") {
		out = append(out, engine.Parameter{Name: name, Type: sqltype.IntType})
	}
	out = append(
		out,
		engine.Parameter{Name: "@description", Type: sqltype.NVarCharOf(255)},
		engine.Parameter{Name: "@security_mode", Type: sqltype.IntType},
	)
	return append(append(out, more...), engine.Parameter{Name: "@publisher", Type: sqltype.Sysname})
}

// mySubscriber checks what is asked for, and tells whether the server is a subscriber of this publisher.
func (e *Extension) mySubscriber(ctx context.Context, call *engine.ProcCall) (distributor, bool, error) {
	if publisher := call.String("@publisher"); publisher != "" && !agent.SameServer(publisher, e.serverName()) {
		return distributor{}, false, raise(21023, 1, "@publisher = N'"+publisher+"'")
	}
	if kind := call.Int("@type"); kind != 0 {
		return distributor{}, false, raise(21023, 1, "@type = "+call.String("@type"))
	}
	d, err := e.distributorOf(ctx, call.Session)
	if err != nil {
		return d, false, err
	}
	r, err := e.atDistributor(
		ctx,
		call.Session,
		"USE "+bracket(d.database)+"; SELECT 1 AS n FROM dbo.MSsubscriber_info WHERE publisher = ? AND subscriber = ?",
		e.serverName(),
		call.String("@subscriber"),
	)
	return d, r.Len() > 0, err
}

func (e *Extension) addSubscriber(ctx context.Context, call *engine.ProcCall) error {
	name := call.String("@subscriber")
	d, there, err := e.mySubscriber(ctx, call)
	if err != nil {
		return err
	}
	if there {
		return raise(14040, 1, name)
	}
	if call.Bool("@encrypted_password") {
		return raise(21023, 1, "@encrypted_password = 1")
	}
	if err := e.ensureServer(ctx, call.Session, name, "sub"); err != nil {
		return err
	}
	mode := int64(1)
	if !call.IsNull("@security_mode") {
		mode = call.Int("@security_mode")
	}
	_, err = e.atDistributor(
		ctx,
		call.Session,
		"USE "+bracket(d.database)+"; INSERT INTO dbo.MSsubscriber_info VALUES (?, ?, 0, ?, ?, ?, ?)",
		e.serverName(),
		name,
		call.Value("@login"),
		e.sealedOrNull(call, "@password"),
		call.Value("@description"),
		mode,
	)
	return err
}

// sealedOrNull is a password as it is kept.
func (e *Extension) sealedOrNull(call *engine.ProcCall, parameter string) any {
	if call.IsNull(parameter) {
		return nil
	}
	return e.key.Seal(call.String(parameter))
}

func (e *Extension) changeSubscriber(ctx context.Context, call *engine.ProcCall) error {
	d, there, err := e.mySubscriber(ctx, call)
	if err != nil {
		return err
	}
	if !there {
		return raise(14048, 1, call.String("@subscriber"))
	}
	_, err = e.atDistributor(
		ctx,
		call.Session,
		"USE "+bracket(
			d.database,
		)+`; UPDATE dbo.MSsubscriber_info SET login = ISNULL(?, login), password = ISNULL(?, password), description = ISNULL(?, description),
		security_mode = ISNULL(?, security_mode) WHERE publisher = ? AND subscriber = ?`,
		call.Value("@login"),
		e.sealedOrNull(call, "@password"),
		call.Value("@description"),
		call.Value("@security_mode"),
		e.serverName(),
		call.String("@subscriber"),
	)
	return err
}

func (e *Extension) dropSubscriber(ctx context.Context, call *engine.ProcCall) error {
	name := call.String("@subscriber")
	d, there, err := e.mySubscriber(ctx, call)
	if err != nil {
		return err
	}
	if !there {
		return raise(14048, 1, name)
	}
	for _, db := range e.inst.Databases() {
		if db.Storage() == nil || !db.Info().Published {
			continue
		}
		r, err := call.Session.Query(
			ctx,
			"SELECT TOP (1) 1 AS n FROM "+bracket(db.Name())+".dbo.syssubscriptions WHERE srvname = @p1",
			name,
		)
		if err != nil {
			return err
		}
		if r.Len() > 0 {
			return raise(14144, 1, name, db.Name())
		}
	}
	if err := unmarkServer(ctx, call.Session, name, "sub"); err != nil {
		return err
	}
	_, err = e.atDistributor(
		ctx,
		call.Session,
		"USE "+bracket(d.database)+"; DELETE FROM dbo.MSsubscriber_info WHERE publisher = ? AND subscriber = ?",
		e.serverName(),
		name,
	)
	return err
}

// helpSubscriptionProperties tells with which logins pull subscriptions reach their distributor
// (docs/relational-databases/system-stored-procedures/sp-helpsubscription-properties-transact-sql.md, Result Sets).
func (e *Extension) helpSubscriptionProperties(ctx context.Context, call *engine.ProcCall) error {
	if err := tables.Make(ctx, call.Session, call.Database.Name(), tables.Subscription); err != nil {
		return err
	}
	return call.Exec(
		ctx,
		`SELECT publisher, publisher_db, publication, publication_type, publisher_login, publisher_password, publisher_security_mode, distributor, distributor_login,
		CASE WHEN distributor_password IS NOT NULL THEN N'**********' END AS distributor_password, distributor_security_mode, ftp_address, ftp_port, ftp_login, ftp_password, alt_snapshot_folder,
		working_directory, use_ftp, dts_package_name, dts_package_password, dts_package_location, offload_agent, offload_server, dynamic_snapshot_location, use_web_sync, internet_url,
		internet_login, internet_password, internet_security_mode, internet_timeout, hostname FROM dbo.MSsubscription_properties
		WHERE publisher LIKE @p1 AND publisher_db LIKE @p2 AND publication LIKE @p3 AND (@p4 IS NULL OR publication_type = @p4) ORDER BY publisher, publisher_db, publication`,
		pattern(
			call.String("@publisher"),
		),
		pattern(call.String("@publisher_db")),
		pattern(call.String("@publication")),
		call.Value("@publication_type"),
	)
}

// browseSnapshotFolder tells where the newest snapshot of a publication is, or the one of a subscription; no row where
// there is none (docs/relational-databases/system-stored-procedures/sp-browsesnapshotfolder-transact-sql.md, Remarks).
func (e *Extension) browseSnapshotFolder(ctx context.Context, call *engine.ProcCall) error {
	p, pub, err := e.published(ctx, call)
	if err != nil {
		return err
	}
	text := thePublication + `SELECT TOP (1) c.command FROM dbo.MSrepl_commands AS c JOIN dbo.MSarticles AS a ON a.article_id = c.article_id AND a.publication_id = @pub
		WHERE c.type = ? AND c.partial_command = 0 AND EXISTS (SELECT 1 FROM dbo.MSpublisher_databases AS d WHERE d.id = c.publisher_database_id AND d.publisher_db = a.publisher_db)`
	args := []any{p.server, p.db.Name(), pub.name, stored.CommandScript}
	if subscriber := call.String("@subscriber"); subscriber != "" {
		text += ` AND c.xact_seqno IN (SELECT m.subscription_seqno FROM dbo.MSsubscriptions AS m JOIN dbo.MSreplservers AS v ON v.srvid = m.subscriber_id
			WHERE m.publication_id = @pub AND v.srvname = ? AND m.subscriber_db LIKE ?)`
		args = append(args, subscriber, pattern(call.String("@subscriber_db")))
	}
	r, err := e.inDistributionOf(ctx, call.Session, p, text+" ORDER BY c.xact_seqno DESC, c.command_id", args...)
	if err != nil {
		return err
	}
	var out [][]any
	for i := range r.Len() {
		file, _, err := stored.DecodeCommand(r.Bytes(i, "command"))
		if err != nil {
			return err
		}
		out = append(out, []any{filepath.Dir(file)})
	}
	return call.ResultSet(columns("snapshot_folder", sqltype.NVarCharOf(512)), out)
}
