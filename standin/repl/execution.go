// SPDX-License-Identifier: Apache-2.0

package repl

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"geosql.dev/standin/engine"
	"geosql.dev/standin/repl/article"
	"geosql.dev/standin/repl/stored"
	"geosql.dev/standin/repl/tables"
	"geosql.dev/standin/storage"
)

// Articles of the execution of a procedure: subscribers run the procedure, in the order of commits, in place of the
// rows that a call changed (docs/relational-databases/replication/transactional/
// publishing-stored-procedure-execution-in-transactional-replication.md). Whether a call or its rows are sent is
// decided for each publication when the call begins to write: the rows, as long as one of those who get them would not
// get the call.

// execution tells the engine what the log is to say of a call.
func (e *Extension) execution(ctx context.Context, x engine.Execution) (call storage.Mark, part []byte, err error) {
	list, err := e.calledArticles(ctx, x)
	if err != nil || len(list) == 0 {
		return call, nil, err
	}
	c := article.PublishedCall{Articles: list}
	parameters := make([]string, len(x.Arguments))
	for i, a := range x.Arguments {
		if a.Default {
			parameters[i] = "DEFAULT"
			continue
		}
		parameters[i] = "?"
		if c.Values, err = stored.AppendDecoded(c.Values, a.Type, a.Value); err != nil {
			return call, nil, fmt.Errorf("argument %d of %s: %w", i+1, x.Procedure.Name, err)
		}
	}
	c.Parameters = strings.Join(parameters, ",")
	payload, err := json.Marshal(c)
	if err != nil {
		return call, nil, err
	}
	part, err = json.Marshal(list)
	return storage.Mark{Kind: article.CallMark, Payload: payload}, part, err
}

// calledArticles are the articles through which a call is sent. The session is another one than the caller's, whose SET
// options are its own: nothing can commit meanwhile, so it sees the same subscriptions.
func (e *Extension) calledArticles(ctx context.Context, x engine.Execution) ([]article.Called, error) {
	s, err := e.system(ctx, x.Database.Name())
	if err != nil {
		return nil, err
	}
	defer s.Close()
	if published, err := tables.Exists(ctx, s, "dbo.sysarticles"); err != nil || !published {
		return nil, err // a copy of a published database that is itself not published
	}
	r, err := s.Query(
		ctx,
		`SELECT a.artid, a.pubid FROM dbo.sysarticles AS a JOIN dbo.syspublications AS p ON p.pubid = a.pubid
		WHERE a.objid = @p1 AND a.status & 1 = 1 AND p.repl_freq = 0 AND (a.type = @p2 OR a.type = @p3 AND @p4 = 1)
		AND NOT EXISTS (SELECT 1 FROM dbo.syssubscriptions AS r JOIN dbo.sysarticles AS t ON t.artid = r.artid WHERE t.pubid = a.pubid AND t.type & 1 = 1 AND r.status = 2
			AND NOT EXISTS (SELECT 1 FROM dbo.syssubscriptions AS c WHERE c.artid = a.artid AND c.srvname = r.srvname AND c.dest_db = r.dest_db AND c.status = 2))
		ORDER BY a.artid`,
		int64(x.Procedure.ID),
		article.Execution,
		article.Serializable,
		x.Serializable,
	)
	if err != nil {
		return nil, err
	}
	var out []article.Called
	for i := range r.Len() {
		out = append(out, article.Called{Article: r.Int(i, "artid"), Publication: r.Int(i, "pubid")})
	}
	return out, nil
}
