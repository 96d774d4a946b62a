// SPDX-License-Identifier: Apache-2.0

package repl

import (
	"context"
	"strconv"
	"strings"

	"geosql.dev/standin/engine"
	"geosql.dev/standin/repl/agent"
	"geosql.dev/standin/repl/tables"
	"geosql.dev/standin/storage"
)

func (e *Extension) installPublications(r *engine.Registry) {
	e.procedure(r, "sp_replicationdboption", sysadmins, nil, e.replicationDBOption)
	e.procedure(r, "sp_helpreplicationdboption", anyone, nil, e.helpReplicationDBOption)
	e.change(r, "sp_addpublication", owners, nil, e.addPublication)
	e.change(r, "sp_changepublication", owners, nil, e.changePublication)
	e.change(r, "sp_droppublication", owners, nil, e.dropPublication)
	e.procedure(r, "sp_helppublication", owners, nil, e.helpPublication)
	e.procedure(r, "sp_removedbreplication", sysadmins, nil, e.removeDBReplication)
	e.procedure(r, "sp_grant_publication_access", owners, nil, e.grantPublicationAccess)
	e.procedure(r, "sp_revoke_publication_access", owners, nil, e.revokePublicationAccess)
	e.procedure(r, "sp_help_publication_access", owners, nil, e.helpPublicationAccess)
	e.procedure(
		r,
		"sp_MSrepl_createdatatypemappings",
		sysadmins,
		[]engine.Parameter{},
		func(context.Context, *engine.ProcCall) error {
			return nil // mappings of other vendors' types are not supported, so there are none to make
		},
	)
}

func (e *Extension) replicationDBOption(ctx context.Context, call *engine.ProcCall) error {
	s, option := call.Session, strings.ToLower(call.String("@optname"))
	db := e.inst.Database(call.String("@dbname"))
	if db == nil {
		return raise(15010, 1, call.String("@dbname"))
	}
	if db.System() || db.Info().Distributor {
		return raise(20587, 1, "@dbname", "sp_replicationdboption")
	}
	on := strings.EqualFold(call.String("@value"), "true")
	switch option {
	case "publish":
	case "subscribe":
		return nil // without effect since SQL Server 2005 (the page: the option only marks the database)
	default:
		return raise(21023, 1, option)
	}
	installed, err := linkExists(ctx, s)
	if err != nil {
		return err
	}
	if !installed && !call.Bool("@ignore_distributor") {
		return raise(20028, 1)
	}
	if on {
		if !call.Bool("@ignore_distributor") {
			p, err := e.publisherAt(ctx, s, db)
			if err != nil {
				return err
			}
			if err := e.ensurePublisherDatabase(ctx, s, p); err != nil {
				return err
			}
		}
		if err := ensureExpiryJob(ctx, s); err != nil {
			return err
		}
		return e.enablePublishing(ctx, s, db)
	}
	return e.endPublishing(ctx, s, db, !call.Bool("@ignore_distributor"))
}

// endPublishing takes back what publishing made of a database, here and, if that is asked for, at the distributor,
// where a Log Reader Agent may be that no publication has been added for.
func (e *Extension) endPublishing(ctx context.Context, s *engine.Session, db *engine.Database, there bool) error {
	if err := nothingPublished(ctx, s, db); err != nil {
		return err
	}
	if there && db.Info().Published {
		p, err := e.publisherAt(ctx, s, db)
		if err != nil {
			return err
		}
		// The link's connection is kept for a minute: one that stays in the distribution database would keep it from being
		// dropped.
		if _, err := e.atDistributor(ctx, s,
			"EXEC "+bracket(p.database)+".sys.sp_MSdrop_logreader_agent @publisher = ?, @publisher_db = ?", p.server,
			db.Name()); err != nil {
			return err
		}
	}
	return e.disablePublishing(ctx, s, db)
}

// nothingPublished is 14005 where a database has a publication.
func nothingPublished(ctx context.Context, s *engine.Session, db *engine.Database) error {
	ok, err := tables.Exists(ctx, s, bracket(db.Name())+".dbo.syspublications")
	if err != nil || !ok {
		return err
	}
	r, err := s.Query(ctx, "SELECT COUNT(*) AS n FROM "+bracket(db.Name())+".dbo.syspublications")
	if err == nil && r.Int(0, "n") > 0 {
		err = raise(14005, 1)
	}
	return err
}

// ensurePublisherDatabase makes the distributor know the publication database.
func (e *Extension) ensurePublisherDatabase(ctx context.Context, s *engine.Session, p publisher) error {
	_, err := e.inDistributionOf(ctx, s, p, `DECLARE @id int = (SELECT srvid FROM dbo.MSreplservers WHERE srvname = ?);
		IF NOT EXISTS (SELECT 1 FROM dbo.MSpublisher_databases WHERE publisher_id = @id AND publisher_db = ?)
		INSERT INTO dbo.MSpublisher_databases (publisher_id, publisher_db, publisher_engine_edition) VALUES (@id, ?, 30)`, p.server, p.db.Name(), p.db.Name())
	return err
}

// enablePublishing makes the publication tables and keeps the log from here on for the log reader; in a database that
// was restored, from where it was read.
func (e *Extension) enablePublishing(ctx context.Context, s *engine.Session, db *engine.Database) error {
	if err := tables.MakePublication(ctx, s, db.Name()); err != nil {
		return err
	}
	if err := holdUnread(ctx, s, db); err != nil {
		return err
	}
	if _, held := db.Storage().Holds()[storage.HoldReplication]; !held {
		if err := db.Storage().HoldLog(storage.HoldReplication, db.Storage().AppliedEnd()); err != nil {
			return err
		}
	}
	return db.Update(ctx, func(i *engine.DatabaseInfo) { i.Published = true })
}

func (e *Extension) disablePublishing(ctx context.Context, s *engine.Session, db *engine.Database) error {
	ok, err := tables.Exists(ctx, s, bracket(db.Name())+".dbo.syspublications")
	if err != nil {
		return err
	}
	if ok {
		if err := unmarkArticles(ctx, s, db); err != nil {
			return err
		}
		if err := tables.DropPublication(ctx, s, db.Name()); err != nil {
			return err
		}
		if err := s.Write(ctx, db, func(tx *storage.Tx) error { return tx.SetFullImages(nil) }); err != nil {
			return err
		}
	}
	if err := db.Storage().HoldLog(storage.HoldReplication, storage.LSN{}); err != nil {
		return err
	}
	e.mu.Lock()
	delete(e.scans, db.ID())
	e.mu.Unlock()
	return db.Update(ctx, func(i *engine.DatabaseInfo) { i.Published = false })
}

func unmarkArticles(ctx context.Context, s *engine.Session, db *engine.Database) error {
	r, err := s.Query(ctx, "SELECT objid FROM "+bracket(db.Name())+".dbo.sysarticles")
	if err != nil {
		return err
	}
	for i := range r.Len() {
		id := int32(r.Int(i, "objid"))
		o, err := s.Object(ctx, db, id)
		if err != nil {
			return err
		}
		if o == nil {
			continue
		}
		if err := setReplicated(ctx, s, db, id, nil); err != nil {
			return err
		}
	}
	return nil
}

func (e *Extension) helpReplicationDBOption(ctx context.Context, call *engine.ProcCall) error {
	name := call.String("@dbname")
	if name == "" {
		name = "%"
	}
	return call.Exec(
		ctx,
		`SELECT name, database_id AS id, is_published AS transpublish, CAST(0 AS bit) AS mergepublish, CAST(1 AS bit) AS dbowner,
		is_read_only AS dbreadonly, is_published AS haspublications, is_subscribed AS haspullsubscriptions FROM sys.databases
		WHERE name LIKE @p1 AND database_id > 4 AND (@p2 <> N'publish' OR is_published = 1)`,
		name,
		strings.ToLower(call.String("@type")),
	)
}

func yes(call *engine.ProcCall, parameter string) bool {
	return strings.EqualFold(strings.TrimSpace(call.String(parameter)), "true")
}

// refusePublicationOptions refuses what this server does not do.
func refusePublicationOptions(call *engine.ProcCall) error {
	for _, p := range []string{"@allow_anonymous", "@allow_sync_tran", "@allow_queued_tran", "@enabled_for_internet",
		"@allow_dts",
		"@allow_subscription_copy", "@enabled_for_p2p", "@enabled_for_het_sub", "@p2p_conflictdetection",
		"@allow_partition_switch", "@replicate_partition_switch", "@centralized_conflicts", "@publish_local_changes_only"} {
		if yes(call, p) {
			return raise(21023, 1, p+" = N'true'")
		}
	}
	for _, p := range []string{"@ftp_address", "@ftp_subdirectory", "@queue_type"} {
		if call.String(p) != "" {
			return raise(21023, 1, p)
		}
	}
	switch method := strings.ToLower(call.String("@sync_method")); method {
	case "", "native", "concurrent":
	default:
		return raise(21023, 1, "@sync_method = N'"+method+"'")
	}
	if strings.EqualFold(call.String("@repl_freq"), "snapshot") && yes(call, "@allow_initialize_from_backup") {
		return raise(21023, 1, "@allow_initialize_from_backup = N'true' with @repl_freq = N'snapshot'")
	}
	return nil
}

// newPublication is what sp_addpublication is told.
type newPublication struct {
	name                  string
	immediate, fromBackup bool
	// independent is recorded: publications without it have an agent of their own here, too.
	independent bool
	// method, freq and status are the codes of sync_method, repl_freq and status.
	method, freq, status int
	places               agent.SnapshotPlaces
}

// newPublicationOf reads the parameters, and refuses what this server does not do.
func newPublicationOf(call *engine.ProcCall) (n newPublication, err error) {
	n.name = call.String("@publication")
	if n.name == "" {
		return n, raise(14043, 1, "@publication", "sp_addpublication")
	}
	if strings.EqualFold(n.name, "all") {
		return n, raise(14034, 1)
	}
	if err := refusePublicationOptions(call); err != nil {
		return n, err
	}
	if n.places, err = givenPlaces(call); err != nil {
		return n, err
	}
	if call.Int("@retention") < 0 {
		return n, raise(20050, 1)
	}
	if ddl := call.Int("@replicate_ddl"); ddl != 0 && ddl != 1 {
		return n, raise(21544, 1)
	}
	n.immediate, n.fromBackup = yes(call, "@immediate_sync"), yes(call, "@allow_initialize_from_backup")
	if n.independent = yes(call, "@independent_agent"); !n.independent && n.immediate {
		return n, raise(21022, 1)
	}
	coded := func(parameter, word string, code int) int {
		if strings.EqualFold(call.String(parameter), word) {
			return code
		}
		return 0
	}
	n.method, n.freq, n.status = coded("@sync_method", "concurrent", 3), coded("@repl_freq", "snapshot", 1),
		coded("@status", "active", 1)
	return n, nil
}

func (e *Extension) addPublication(ctx context.Context, call *engine.ProcCall) error {
	s := call.Session
	p, err := e.publisher(ctx, call)
	if err != nil {
		return err
	}
	n, err := newPublicationOf(call)
	if err != nil {
		return err
	}
	r, err := s.Query(ctx, "SELECT pubid FROM dbo.syspublications WHERE name = @p1", n.name)
	if err != nil {
		return err
	}
	if r.Len() > 0 {
		return raise(14016, 1, n.name)
	}
	position := p.db.Storage().AppliedEnd()
	if err := e.addPublicationThere(ctx, call, p, n); err != nil {
		return err
	}
	if err := e.beginAccess(ctx, call, p, n.name); err != nil {
		return err
	}
	err = s.Exec(
		ctx,
		`INSERT INTO dbo.syspublications (description, name, repl_freq, status, sync_method, independent_agent, immediate_sync, enabled_for_internet,
		allow_push, allow_pull, allow_anonymous, immediate_sync_ready, allow_sync_tran, autogen_sync_procs, retention, allow_queued_tran,
		snapshot_in_defaultfolder, compress_snapshot, ftp_port, ftp_login, allow_dts, allow_subscription_copy, backward_comp_level,
		allow_initialize_from_backup, replicate_ddl, options, min_autonosync_lsn, alt_snapshot_folder, pre_snapshot_script, post_snapshot_script)
		VALUES (@p1, @p2, @p17, @p3, @p4, @p18, @p5, 0, @p6, @p7, 0, 0, 0, 0, @p8, 0, @p12, @p13, 21, N'anonymous', 0, 0, 10, @p10, @p9, 0, @p11, @p14, @p15, @p16)`,
		call.Value(
			"@description",
		),
		n.name,
		n.status,
		n.method,
		n.immediate,
		yes(call, "@allow_push"),
		yes(call, "@allow_pull"),
		call.Int("@retention"),
		call.Int("@replicate_ddl"),
		n.fromBackup,
		position[:],
		n.places.InDefault,
		n.places.Compress,
		orNull(n.places.Alt),
		orNull(n.places.Pre),
		orNull(n.places.Post),
		n.freq,
		n.independent,
	)
	if err != nil {
		return err
	}
	return e.holdAsPublished(ctx, s, p.db, n.freq == 0)
}

// addPublicationThere makes the publication at the distributor, and the log reader's agent where it needs one. The
// first one whose log is read begins with nothing: what lies there of former ones is of another place in the log, or of
// another database of the same name.
func (e *Extension) addPublicationThere(
	ctx context.Context,
	call *engine.ProcCall,
	p publisher,
	n newPublication,
) error {
	if err := e.ensurePublisherDatabase(ctx, call.Session, p); err != nil {
		return err
	}
	_, err := e.inDistributionOf(
		ctx,
		call.Session,
		p,
		`DECLARE @id int = (SELECT srvid FROM dbo.MSreplservers WHERE srvname = ?);
		DELETE FROM dbo.MSpublications WHERE publisher_id = @id AND publisher_db = ? AND publication = ?;
		IF ? = 0 AND NOT EXISTS (SELECT 1 FROM dbo.MSpublications WHERE publisher_id = @id AND publisher_db = ? AND publication_type = 0) BEGIN
			DECLARE @database int = (SELECT id FROM dbo.MSpublisher_databases WHERE publisher_id = @id AND publisher_db = ?);
			DELETE FROM dbo.MSrepl_commands WHERE publisher_database_id = @database AND DATALENGTH(xact_seqno) IN (10, `+strconv.Itoa(partLength)+`);
			DELETE FROM dbo.MSrepl_transactions WHERE publisher_database_id = @database AND DATALENGTH(xact_seqno) IN (10, `+strconv.Itoa(partLength)+`);
			DELETE FROM dbo.MSrepl_cleaned WHERE publisher_database_id = @database
		END;
		INSERT INTO dbo.MSpublications (publisher_id, publisher_db, publication, publication_type, thirdparty_flag, independent_agent, immediate_sync, allow_push,
		allow_pull, allow_anonymous, description, retention, sync_method, allow_subscription_copy, allow_queued_tran, options, retention_period_unit, allow_initialize_from_backup)
		VALUES (@id, ?, ?, ?, 0, ?, ?, ?, ?, 0, ?, ?, ?, 0, 0, 0, 0, ?);
		IF ? = 0 EXEC sp_MSensure_logreader_agent @publisher = ?, @publisher_db = ?, @job_name = ?`,
		p.server,
		p.db.Name(),
		n.name,
		n.freq,
		p.db.Name(),
		p.db.Name(),
		p.db.Name(),
		n.name,
		n.freq,
		n.independent,
		n.immediate,
		yes(call, "@allow_push"),
		yes(call, "@allow_pull"),
		call.Value("@description"),
		call.Int("@retention"),
		n.method,
		n.fromBackup,
		n.freq,
		p.server,
		p.db.Name(),
		call.Value("@logreader_job_name"),
	)
	return err
}

// holdAsPublished keeps the log for the log reader where there is something for it to read: a database with snapshot
// publications alone needs none of it. It begins anew with the first transactional publication only (added tells that
// one was just made): whatever this server holds, transactions of older ones may be on their way.
func (e *Extension) holdAsPublished(ctx context.Context, s *engine.Session, db *engine.Database, added bool) error {
	prefix := bracket(db.Name()) + ".dbo."
	r, err := s.Query(
		ctx,
		"SELECT COUNT(*) AS publications, ISNULL(SUM(CAST(repl_freq AS int)), 0) AS snapshots FROM "+prefix+"syspublications",
	)
	if err != nil {
		return err
	}
	_, held := db.Storage().Holds()[storage.HoldReplication]
	transactional := r.Int(0, "publications") - r.Int(0, "snapshots")
	begins := r.Int(0, "publications") == 0 || added && transactional == 1
	needed := begins || transactional > 0
	lost := false
	if begins && held {
		at, err := readUpTo(ctx, s, db)
		if err != nil {
			return err
		}
		lost = !at.IsZero() && at.Less(db.Storage().Log().Oldest())
	}
	if needed == held && !lost || needed && !begins {
		return nil
	}
	var position storage.LSN
	text := "DELETE FROM " + prefix + "MSreplposition"
	if needed {
		position, _ = db.Storage().Applied()
		text += "; INSERT INTO " + prefix + "MSreplposition VALUES (1, @p1)"
	}
	if err := db.Storage().HoldLog(storage.HoldReplication, position); err != nil {
		return err
	}
	e.mu.Lock()
	delete(e.scans, db.ID())
	e.mu.Unlock()
	return s.Exec(ctx, text, position[:])
}

func (e *Extension) dropPublication(ctx context.Context, call *engine.ProcCall) error {
	s, name := call.Session, call.String("@publication")
	p, err := e.publisher(ctx, call)
	if err != nil {
		return err
	}
	names := []string{name}
	if strings.EqualFold(name, "all") {
		if names, err = publicationNames(ctx, s); err != nil {
			return err
		}
	}
	for _, n := range names {
		if err := e.dropOnePublication(ctx, s, p, n, call.Bool("@ignore_distributor")); err != nil {
			return err
		}
	}
	return nil
}

// dropOnePublication drops a publication here and, unless that is to be ignored, at the distributor.
func (e *Extension) dropOnePublication(
	ctx context.Context,
	s *engine.Session,
	p publisher,
	name string,
	ignoreDistributor bool,
) error {
	pub, err := findPublication(ctx, s, name)
	if err != nil {
		return err
	}
	r, err := s.Query(
		ctx,
		"SELECT TOP (1) s.srvname FROM dbo.syssubscriptions AS s JOIN dbo.sysarticles AS a ON a.artid = s.artid WHERE "+
			"a.pubid = @p1",
		pub.id,
	)
	if err != nil {
		return err
	}
	if r.Len() > 0 {
		return raise(14005, 1)
	}
	articles, err := s.Query(ctx, "SELECT name FROM dbo.sysarticles WHERE pubid = @p1", pub.id)
	if err != nil {
		return err
	}
	for i := range articles.Len() {
		if err := e.dropOneArticle(ctx, s, p, pub, articles.String(i, "name"), ignoreDistributor); err != nil {
			return err
		}
	}
	if !ignoreDistributor {
		if _, err := e.inDistributionOf(ctx, s, p,
			"EXEC sp_MSdrop_publication @publisher = ?, @publisher_db = ?, @publication = ?", p.server, p.db.Name(),
			name); err != nil {
			return err
		}
	}
	if err := s.Exec(ctx, "DELETE FROM dbo.syspublications WHERE pubid = @p1", pub.id); err != nil {
		return err
	}
	return e.holdAsPublished(ctx, s, p.db, false)
}

func (e *Extension) removeDBReplication(ctx context.Context, call *engine.ProcCall) error {
	s, db := call.Session, call.Database
	if name := call.String("@dbname"); name != "" {
		if db = e.inst.Database(name); db == nil {
			return raise(15010, 1, name)
		}
	}
	if err := e.disablePublishing(ctx, s, db); err != nil {
		return err
	}
	return tables.Drop(ctx, s, db.Name(), tables.Subscription)
}

func (e *Extension) helpPublication(ctx context.Context, call *engine.ProcCall) error {
	ok, err := tables.Exists(ctx, call.Session, "dbo.syspublications")
	if err != nil {
		return err
	}
	if !ok {
		return raise(14013, 1)
	}
	name := call.String("@publication")
	if name == "" {
		name = "%"
	}
	r, err := call.Session.Query(ctx, "SELECT COUNT(*) AS n FROM dbo.syspublications WHERE name LIKE @p1", name)
	if err != nil {
		return err
	}
	call.SetOutput("@found", min(r.Int(0, "n"), 1))
	if r.Int(0, "n") == 0 && !strings.Contains(name, "%") {
		return raise(20026, 1, name)
	}
	return call.Exec(
		ctx,
		`SELECT p.pubid, p.name, 0 AS restricted, p.status, 0 AS task, p.repl_freq AS [replication frequency], p.sync_method AS [synchronization method],
		p.description, p.immediate_sync, p.enabled_for_internet, p.allow_push, p.allow_pull, p.allow_anonymous, p.independent_agent, p.immediate_sync_ready,
		p.allow_sync_tran, p.autogen_sync_procs, p.snapshot_jobid, p.retention,
		CAST(CASE WHEN EXISTS (SELECT 1 FROM dbo.syssubscriptions AS s JOIN dbo.sysarticles AS a ON a.artid = s.artid WHERE a.pubid = p.pubid) THEN 1 ELSE 0 END AS bit) AS [has subscription],
		p.allow_queued_tran, p.snapshot_in_defaultfolder, p.alt_snapshot_folder, p.pre_snapshot_script, p.post_snapshot_script, p.compress_snapshot,
		p.ftp_address, p.ftp_port, p.ftp_subdirectory, p.ftp_login, p.allow_dts, p.allow_subscription_copy, p.centralized_conflicts, p.conflict_retention,
		p.conflict_policy, p.queue_type, p.backward_comp_level, CAST(0 AS bit) AS publish_to_AD, p.allow_initialize_from_backup, p.replicate_ddl,
		0 AS enabled_for_p2p, 0 AS publish_local_changes_only, 0 AS enabled_for_het_sub, 0 AS enabled_for_p2p_conflictdetection, p.originator_id,
		0 AS p2p_continue_onconflict, 0 AS alllow_partition_switch, 0 AS replicate_partition_switch
		FROM dbo.syspublications AS p WHERE p.name LIKE @p1`,
		name,
	)
}
