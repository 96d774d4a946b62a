// SPDX-License-Identifier: Apache-2.0

package repl

import (
	"context"
	"fmt"
	"strings"

	"github.com/shopspring/decimal"

	"geosql.dev/standin/engine"
	"geosql.dev/standin/repl/stored"
	"geosql.dev/standin/storage"
)

// A subscription can begin with a restored backup of the publication database, or at a log sequence number up to which
// the subscriber is known to have everything: the distributor must then have all that came after
// (docs/relational-databases/replication/initialize-a-transactional-subscription-without-a-snapshot.md).

// backupsFrom notes that backups taken from now on can be begun with; those before lack changes of the newest article.
func backupsFrom(ctx context.Context, s *engine.Session, p publisher, pub publication) error {
	if !pub.fromBackup {
		return nil
	}
	position := p.db.Storage().AppliedEnd()
	return s.Exec(ctx, "UPDATE dbo.syspublications SET min_autonosync_lsn = @p2 WHERE pubid = @p1", pub.id, position[:])
}

// allowBackups makes the log reader deliver the articles' changes from now on, whether anybody subscribes or not.
func (e *Extension) allowBackups(
	ctx context.Context,
	s *engine.Session,
	p publisher,
	pub publication,
	allow bool,
) error {
	if !allow {
		return nil
	}
	if err := s.Exec(ctx, "UPDATE dbo.sysarticles SET status = status | 1 WHERE pubid = @p1", pub.id); err != nil {
		return err
	}
	if err := e.refreshImages(ctx, s, p.db); err != nil {
		return err
	}
	pub.fromBackup = true
	return backupsFrom(ctx, s, p, pub)
}

// subscribedFrom is the position that a subscriber of sp_addsubscription's @sync_type is at; nil when it is not one
// that begins with a backup or an LSN. 21397 or 21399 when what came after is not at the distributor any more.
func (e *Extension) subscribedFrom(
	ctx context.Context,
	call *engine.ProcCall,
	p publisher,
	pub publication,
) ([]byte, error) {
	kind := strings.ToLower(call.String("@sync_type"))
	if kind != "initialize with backup" && kind != "initialize from lsn" {
		return nil, nil
	}
	if !pub.fromBackup {
		return nil, raise(18786, 1)
	}
	if a := call.String("@article"); a != "" && !strings.EqualFold(a, "all") {
		return nil, raise(21407, 1)
	}
	var from storage.LSN
	missing := int32(21399)
	switch kind {
	case "initialize with backup":
		missing = 21397
		r, err := backupHeader(ctx, call)
		if err != nil {
			return nil, err
		}
		if !strings.EqualFold(r.String(0, "DatabaseName"), p.db.Name()) {
			return nil, raise(18782, 1, p.db.Name())
		}
		if from, err = lsnOf(r.Value(0, "LastLSN")); err != nil {
			return nil, err
		}
	case "initialize from lsn":
		if len(call.Bytes("@subscriptionlsn")) != len(from) {
			return nil, raise(21055, 1, "@subscriptionlsn", "sp_addsubscription")
		}
		copy(from[:], call.Bytes("@subscriptionlsn"))
	}
	if string(from[:]) < string(pub.oldest) {
		return nil, raise(missing, 1)
	}
	r, err := e.inDistributionOf(
		ctx,
		call.Session,
		p,
		`SELECT c.xact_seqno FROM dbo.MSrepl_cleaned AS c JOIN dbo.MSpublisher_databases AS d ON d.id = c.publisher_database_id
		JOIN dbo.MSreplservers AS v ON v.srvid = d.publisher_id WHERE v.srvname = ? AND d.publisher_db = ?`,
		p.server,
		p.db.Name(),
	)
	if err != nil {
		return nil, err
	}
	if r.Len() > 0 && string(from[:]) < string(r.Bytes(0, "xact_seqno")) {
		return nil, raise(missing, 2)
	}
	return from[:], nil
}

// backupHeader reads the header of the backup that sp_addsubscription names; the publisher must be able to read it.
func backupHeader(ctx context.Context, call *engine.ProcCall) (*engine.Result, error) {
	kind := strings.ToLower(call.String("@backupdevicetype"))
	switch kind {
	case "disk":
	case "logical", "tape", "url", "":
		return nil, raise(21023, 1, "@backupdevicetype = N'"+kind+"'")
	default:
		return nil, raise(18781, 1)
	}
	name := call.String("@backupdevicename")
	if name == "" {
		return nil, raise(14043, 1, "@backupdevicename", "sp_addsubscription")
	}
	// @fileidhint is the backup set's number in the file
	// (docs/relational-databases/system-stored-procedures/sp-addsubscription-transact-sql.md, @fileidhint).
	return call.Session.Query(
		ctx,
		fmt.Sprintf("RESTORE HEADERONLY FROM DISK = %s WITH FILE = %d", stored.Literal(name),
			max(1, call.Int("@fileidhint"))),
	)
}

// lsnOf reads a log sequence number as RESTORE HEADERONLY shows it.
func lsnOf(v any) (storage.LSN, error) {
	n, ok := v.(decimal.Decimal)
	if !ok {
		return storage.LSN{}, fmt.Errorf("the backup's header has no log sequence number")
	}
	return storage.ParseNumericLSN(n.BigInt())
}
