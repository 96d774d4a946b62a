// SPDX-License-Identifier: Apache-2.0

package repl

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"geosql.dev/standin/engine"
	"geosql.dev/standin/repl/article"
)

// withoutEffect are the properties of sp_changepublication that are about what this server does not have: "false" is
// how all publications are, true is refused.
var withoutEffect = []string{
	"allow_anonymous",
	"allow_partition_switch",
	"allow_subscription_copy",
	"enabled_for_het_sub",
	"enabled_for_internet",
	"enabled_for_p2p",
	"p2p_continue_onconflict",
	"publish_to_activedirectory",
	"replicate_partition_switch",
	"allow_drop",
}

// changedPublication is a property's new value as the tables have it.
type changedPublication struct {
	value any
	// here and there say that syspublications and MSpublications have it.
	here, there bool
}

// changePublication is sp_changepublication
// (docs/relational-databases/system-stored-procedures/sp-changepublication-transact-sql.md, Arguments and Remarks).
func (e *Extension) changePublication(ctx context.Context, call *engine.ProcCall) error {
	s := call.Session
	p, pub, err := e.published(ctx, call)
	if err != nil {
		return err
	}
	property, text := strings.ToLower(call.String("@property")), call.String("@value")
	var changed changedPublication
	switch property {
	case "alt_snapshot_folder",
		"compress_snapshot",
		"snapshot_in_defaultfolder",
		"pre_snapshot_script",
		"post_snapshot_script":
		return e.changePlaces(ctx, call, pub, property, text)
	case "allow_initialize_from_backup", "allow_push", "allow_pull", "immediate_sync", "independent_agent":
		changed, err = e.changeFlag(ctx, s, p, pub, property, text)
	case "sync_method":
		changed, err = e.changeMethod(ctx, call, p, pub, text)
	default:
		changed, err = changedValue(pub, property, text)
	}
	if err != nil {
		return err
	}
	if changed.there {
		if _, err := e.inDistributionOf(ctx, s, p,
			"UPDATE dbo.MSpublications SET "+bracket(property)+" = ? WHERE publisher_id = (SELECT srvid FROM dbo.MSreplservers "+
				"WHERE srvname = ?) AND publisher_db = ? AND publication = ?",
			changed.value, p.server, p.db.Name(), pub.name); err != nil {
			return err
		}
	}
	if !changed.here {
		return nil
	}
	return s.Exec(
		ctx,
		"UPDATE dbo.syspublications SET "+bracket(property)+" = @p2 WHERE pubid = @p1",
		pub.id,
		changed.value,
	)
}

// changedValue is a property that needs nothing but its new value.
func changedValue(pub publication, property, text string) (changedPublication, error) {
	switch property {
	case "description":
		return changedPublication{text, true, true}, nil
	case "retention":
		hours, err := strconv.ParseInt(text, 10, 32)
		if err != nil || hours < 0 {
			return changedPublication{}, raise(20050, 1)
		}
		return changedPublication{hours, true, true}, nil
	case "status":
		if !strings.EqualFold(text, "active") && !strings.EqualFold(text, "inactive") {
			return changedPublication{}, raise(14012, 1)
		}
		return changedPublication{number01(strings.EqualFold(text, "active")), true, false}, nil
	case "replicate_ddl":
		if text != "0" && text != "1" {
			return changedPublication{}, raise(21544, 1)
		}
		return changedPublication{text, true, false}, nil
	case "repl_freq":
		now := "continuous"
		if pub.snapshotOnly {
			now = "snapshot"
		}
		switch {
		case !strings.EqualFold(text, "continuous") && !strings.EqualFold(text, "snapshot"):
			return changedPublication{}, raise(14015, 1)
		case !strings.EqualFold(text, now):
			return changedPublication{}, raise(21023, 1, "@property = N'repl_freq', @value = N'"+text+"'")
		}
		return changedPublication{}, nil
	}
	if slices.Contains(withoutEffect, property) {
		on, err := article.TrueOrFalse(text)
		if err == nil && on {
			err = raise(21023, 1, "@property = N'"+property+"', @value = N'true'")
		}
		return changedPublication{}, err
	}
	return changedPublication{}, raise(21023, 1, "@property = N'"+property+"'")
}

func number01(on bool) int64 {
	if on {
		return 1
	}
	return 0
}

// changeFlag changes a property that is true or false.
func (e *Extension) changeFlag(
	ctx context.Context,
	s *engine.Session,
	p publisher,
	pub publication,
	property, text string,
) (changedPublication, error) {
	on, err := article.TrueOrFalse(text)
	if err != nil {
		return changedPublication{}, err
	}
	switch property {
	case "independent_agent":
		if !on && pub.immediateSync {
			return changedPublication{}, raise(21022, 1)
		}
		return changedPublication{number01(on), true, true}, nil
	case "allow_initialize_from_backup":
		err = e.allowBackups(ctx, s, p, pub, on)
	case "immediate_sync":
		if on && !pub.independent {
			return changedPublication{}, raise(21022, 1)
		}
		if on != pub.immediateSync {
			err = e.changeImmediateSync(ctx, s, p, pub, on)
		}
	}
	return changedPublication{number01(on), true, true}, err
}

// changeMethod changes how snapshots are made: native and concurrent are the same here, but the snapshot that is there
// has to be made again (20607).
func (e *Extension) changeMethod(
	ctx context.Context,
	call *engine.ProcCall,
	p publisher,
	pub publication,
	text string,
) (changedPublication, error) {
	changed := changedPublication{int64(0), true, true}
	switch strings.ToLower(text) {
	case "native", "[bcp] native", "bcp native":
	case "concurrent":
		changed.value = int64(3)
	case "character",
		"[bcp] character",
		"bcp character",
		"concurrent_c",
		"database snapshot",
		"database snapshot character":
		return changed, raise(21023, 1, "@property = N'sync_method', @value = N'"+text+"'")
	default:
		return changed, raise(14014, 1)
	}
	if err := e.mayChangeArticles(ctx, call.Session, pub, call); err != nil {
		return changed, err
	}
	return changed, e.invalidateSnapshot(ctx, call.Session, p, pub, 0)
}

// invalidateSnapshot makes the distributor give no new subscriber the snapshot that it has: of one article, or of all
// (0).
func (e *Extension) invalidateSnapshot(
	ctx context.Context,
	s *engine.Session,
	p publisher,
	pub publication,
	article int64,
) error {
	_, err := e.inDistributionOf(
		ctx,
		s,
		p,
		thePublication+"UPDATE dbo.MSsubscriptions SET status = 1, snapshot_seqno_flag = 0 WHERE agent_id = -@pub AND "+
			"(article_id = ? OR ? = 0)",
		p.server,
		p.db.Name(),
		pub.name,
		article,
		article,
	)
	return err
}

// changeImmediateSync begins or ends to keep a snapshot, and what came after it, for subscribers to come.
func (e *Extension) changeImmediateSync(
	ctx context.Context,
	s *engine.Session,
	p publisher,
	pub publication,
	on bool,
) error {
	text := "UPDATE dbo.sysarticles SET status = status | 1 WHERE pubid = @p1"
	if !on && !pub.fromBackup {
		text = "UPDATE dbo.sysarticles SET status = status & 254 WHERE pubid = @p1 AND artid NOT IN (SELECT artid FROM " +
			"dbo.syssubscriptions)"
	}
	if err := s.Exec(ctx, text+"; UPDATE dbo.syspublications SET immediate_sync_ready = 0 WHERE pubid = @p1",
		pub.id); err != nil {
		return err
	}
	if err := e.refreshImages(ctx, s, p.db); err != nil {
		return err
	}
	_, err := e.inDistributionOf(
		ctx,
		s,
		p,
		"EXEC sp_MSchange_immediate_sync @publisher = ?, @publisher_db = ?, @publication = ?, @on = ?",
		p.server,
		p.db.Name(),
		pub.name,
		number01(on),
	)
	return err
}

// changeImmediateSyncRows is the distributor's half of changeImmediateSync.
func (e *Extension) changeImmediateSyncRows(ctx context.Context, call *engine.ProcCall) error {
	s, db := call.Session, call.String("@publisher_db")
	p, err := distributedPublication(ctx, s, call.String("@publisher"), db, call.String("@publication"))
	if err != nil {
		return err
	}
	if err := s.Exec(ctx, "DELETE FROM dbo.MSsubscriptions WHERE agent_id = @p1", -p.id); err != nil ||
		call.Int("@on") == 0 {
		return err
	}
	r, err := s.Query(ctx, "SELECT article_id FROM dbo.MSarticles WHERE publication_id = @p1", p.id)
	if err != nil {
		return err
	}
	for i := range r.Len() {
		if err := e.writeSubscription(ctx, s, virtualSubscription(p, db, r.Int(i, "article_id"))); err != nil {
			return err
		}
	}
	return nil
}
