// SPDX-License-Identifier: Apache-2.0

package repl

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"geosql.dev/standin/engine"
	"geosql.dev/standin/metadata"
	"geosql.dev/standin/repl/stored"
	"geosql.dev/standin/storage"
)

// Articles of the execution of a procedure: subscribers run the procedure, in the order of commits, in place of the
// rows that a call changed (docs/relational-databases/replication/transactional/
// publishing-stored-procedure-execution-in-transactional-replication.md). Whether a call or its rows are sent is
// decided for each publication when the call begins to write: the rows, as long as one of those who get them would not
// get the call.

// callMark is the kind of log records with a call; the payload is a publishedCall as JSON.
const callMark = "execution"

type publishedCall struct {
	Articles []calledArticle `json:"articles"`
	// Parameters are those of a command: a question mark for each value, and DEFAULT.
	Parameters string `json:"parameters,omitempty"`
	Values     []byte `json:"values,omitempty"`
}

// calledArticle is an article of a procedure whose publication's subscribers run it. The rows that a call changed have
// a list of them.
type calledArticle struct {
	Article     int64 `json:"article"`
	Publication int64 `json:"publication"`
}

// isExecution tells whether the article brings calls.
func (a *article) isExecution() bool {
	return bringsCalls(a.kind)
}

func bringsCalls(kind int64) bool {
	return kind == executionArticle || kind == serializableArticle
}

// repeatable is 25023 and 21023 for a procedure with parameters whose values cannot be sent.
func repeatable(procedure *metadata.Object) error {
	name, kind, err := engine.UnpublishableParameter(procedure)
	switch {
	case err != nil:
		return err
	case kind == engine.TableParameter:
		return raise(25023, 1)
	case kind != "":
		return raise(21023, 1, "A parameter of type "+kind+" ("+name+") of a procedure whose execution is published")
	}
	return nil
}

// execution tells the engine what the log is to say of a call.
func (e *Extension) execution(ctx context.Context, x engine.Execution) (call storage.Mark, part []byte, err error) {
	list, err := e.calledArticles(ctx, x)
	if err != nil || len(list) == 0 {
		return call, nil, err
	}
	c := publishedCall{Articles: list}
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
	return storage.Mark{Kind: callMark, Payload: payload}, part, err
}

// calledArticles are the articles through which a call is sent. The session is another one than the caller's, whose SET
// options are its own: nothing can commit meanwhile, so it sees the same subscriptions.
func (e *Extension) calledArticles(ctx context.Context, x engine.Execution) ([]calledArticle, error) {
	s, err := e.system(ctx, x.Database.Name())
	if err != nil {
		return nil, err
	}
	defer s.Close()
	if published, err := exists(ctx, s, "dbo.sysarticles"); err != nil || !published {
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
		executionArticle,
		serializableArticle,
		x.Serializable,
	)
	if err != nil {
		return nil, err
	}
	var out []calledArticle
	for i := range r.Len() {
		out = append(out, calledArticle{r.Int(i, "artid"), r.Int(i, "pubid")})
	}
	return out, nil
}

// callCommands are the commands of a call: one for each of its articles that is still there.
func (l *logArticles) callCommands(t *storage.Transaction, m storage.Mark) ([]replicated, error) {
	var c publishedCall
	if err := json.Unmarshal(m.Payload, &c); err != nil {
		return nil, fmt.Errorf("read a call: %w", err)
	}
	var out []replicated
	for _, called := range c.Articles {
		a := l.modules[called.Article]
		if a == nil {
			continue
		}
		out = append(
			out,
			replicated{
				seqno:       t.Commit,
				begin:       t.Begin,
				time:        t.Time,
				kind:        stored.CommandCall,
				article:     a.id,
				publication: a.publication,
				command:     stored.EncodeCommand("{CALL "+a.destination()+" ("+c.Parameters+")}", c.Values),
			},
		)
	}
	return out, nil
}

// calledInstead are the publications whose subscribers get a call in place of rows that are a part of it.
func (l *logArticles) calledInstead(part []byte) (map[int64]bool, error) {
	if part == nil {
		return nil, nil
	}
	var list []calledArticle
	if err := json.Unmarshal(part, &list); err != nil {
		return nil, fmt.Errorf("read which call changed rows: %w", err)
	}
	out := map[int64]bool{}
	for _, called := range list {
		if l.modules[called.Article] != nil {
			out[called.Publication] = true
		}
	}
	return out, nil
}
