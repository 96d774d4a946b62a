// SPDX-License-Identifier: Apache-2.0

package repl

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"geosql.dev/standin/engine"
	"geosql.dev/standin/repl/article"
	"geosql.dev/standin/repl/stored"
	"geosql.dev/standin/storage"
)

// A subscriber that has the rows already gets the procedures which commands call by the Log Reader Agent:
// sp_addsubscription leaves what is to be set up in the distribution database and a record in the log, and the agent
// that comes to the record writes the script into the distribution database. Its login must be in sysadmin there
// (docs/relational-databases/system-stored-procedures/sp-addsubscription-transact-sql.md, "Remarks").

// noteSetUp leaves what the log reader is to set up. Without procedures (sync_type none) nothing is left to it.
func (e *Extension) noteSetUp(
	ctx context.Context,
	s *engine.Session,
	p publicationRow,
	call *engine.ProcCall,
	seqno []byte,
) error {
	article, script := call.Int("@article_id"), call.String("@script")
	if script == "" {
		return addInlineScript(ctx, s, p.database, article, seqno, "")
	}
	return s.Exec(
		ctx,
		`DELETE FROM dbo.MSnosyncsubsetup WHERE publisher_database_id = @p1 AND publication_id = @p2 AND artid = @p3 AND next_valid_lsn = @p4;
		INSERT INTO dbo.MSnosyncsubsetup SELECT @p1, @p2, @p3, @p4, x.name, x.value FROM (VALUES (N'publisher', @p5), (N'publisher_db', @p6),
		(N'publication', @p7), (N'article', @p8), (N'subscriber', @p9), (N'destination_db', @p10), (N'subscriptionlsn', @p11), (N'lsnsource', N'0'),
		(N'originator_publication_id', @p12), (N'originator_db_version', N''), (N'originator_meta_data', N''), (N'nosync_setup_script', @p13),
		(N'next_valid_lsn', @p14)) AS x (name, value)`,
		p.database,
		p.id,
		article,
		call.Bytes("@next"),
		call.String("@publisher"),
		call.String("@publisher_db"),
		call.String("@publication"),
		fmt.Sprint(article),
		call.String("@subscriber"),
		call.String("@subscriber_db"),
		hex.EncodeToString(seqno),
		fmt.Sprint(p.id),
		script,
		hex.EncodeToString(call.Bytes("@next")),
	)
}

// postSetUp has the log reader set up a subscriber when it comes to this place in the log.
func postSetUp(ctx context.Context, s *engine.Session, p publisher, a *article.Article, next storage.LSN) error {
	payload, err := json.Marshal(article.SetUp{Article: a.ID, Number: hex.EncodeToString(next[:])})
	if err != nil {
		return err
	}
	return s.Write(ctx, p.db, func(tx *storage.Tx) error { tx.Mark(article.SetUpMark, payload); return nil })
}

// setUpsOf selects what is still to be set up for an article of a distribution agent.
func setUpsOf(agent, article string) string {
	return `SELECT x.next_valid_lsn FROM dbo.MSnosyncsubsetup AS x
	JOIN dbo.MSnosyncsubsetup AS y ON y.publisher_database_id = x.publisher_database_id AND y.artid = x.artid AND y.next_valid_lsn = x.next_valid_lsn
	JOIN dbo.MSdistribution_agents AS z ON z.publisher_database_id = x.publisher_database_id
	WHERE z.id = ` + agent + ` AND x.artid = ` + article + ` AND x.parameterName = N'subscriber' AND x.parameterValue = z.subscriber_name
	AND y.parameterName = N'destination_db' AND y.parameterValue = z.subscriber_db`
}

// forgetSetUps takes away what is still to be set up for the agent @p1 and the article @p2: nobody waits for it.
var forgetSetUps = `DELETE FROM dbo.MSnosyncsubsetup WHERE artid = @p2 AND next_valid_lsn IN (` + setUpsOf("@p1", "@p2") + `); `

// setUp writes the script of a subscriber into the distribution database: 21089 unless the log reader's login was in
// sysadmin when it connected. One whose subscription has ended meanwhile is passed over.
func (e *Extension) setUp(ctx context.Context, s *engine.Session, database, article int64, command []byte) error {
	number, _, err := stored.DecodeCommand(command)
	if err != nil {
		return err
	}
	next, err := hex.DecodeString(number)
	if err != nil {
		return fmt.Errorf("read the number of a set-up: %w", err)
	}
	const which = " FROM dbo.MSnosyncsubsetup WHERE publisher_database_id = @p1 AND artid = @p2 AND next_valid_lsn = @p3"
	r, err := s.Query(ctx, "SELECT parameterName, parameterValue"+which, database, article, next)
	if err != nil || r.Len() == 0 {
		return err
	}
	if !s.OriginalLogin().Sysadmin {
		return raise(21089, 1)
	}
	values := map[string]string{}
	for i := range r.Len() {
		values[r.String(i, "parameterName")] = r.String(i, "parameterValue")
	}
	seqno, err := hex.DecodeString(values["subscriptionlsn"])
	if err != nil {
		return fmt.Errorf("read the number of a script: %w", err)
	}
	if err := addInlineScript(ctx, s, database, article, seqno, values["nosync_setup_script"]); err != nil {
		return err
	}
	return s.Exec(ctx, "DELETE"+which, database, article, next)
}
