// SPDX-License-Identifier: Apache-2.0

package repl

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"geosql.dev/standin/engine"
	"geosql.dev/standin/repl/stored"
	"geosql.dev/standin/storage"
)

// Where a transaction comes from, for publications that exchange their changes: a subscription with loopback_detection
// does not get those that its subscriber made itself (docs/relational-databases/replication/transactional/
// bidirectional-transactional-replication.md; sp-addsubscription-transact-sql.md, @loopback_detection).

// originMark is the kind of log records that say whose transaction an agent repeats; the payload is an origin as JSON.
const originMark = "origin"

func (e *Extension) installOrigins(r *engine.Registry) {
	e.procedure(
		r,
		"sp_MSreplicate_session",
		owners,
		[]engine.Parameter{text("@publisher"), text("@publisher_db")},
		e.replicateSession,
	)
}

// replicateSession makes the caller's session that of an agent that repeats the transactions of a publication database.
func (e *Extension) replicateSession(_ context.Context, call *engine.ProcCall) error {
	payload, err := json.Marshal(stored.Origin{Server: call.String("@publisher"), Database: call.String("@publisher_db")})
	if err != nil {
		return err
	}
	call.Session.Replicate(&storage.Mark{Kind: originMark, Payload: payload})
	return nil
}

// originOf is where a transaction comes from.
func originOf(t *storage.Transaction) (o stored.Origin, err error) {
	for _, m := range t.Marks {
		if m.Kind != originMark {
			continue
		}
		if err := json.Unmarshal(m.Payload, &o); err != nil {
			return o, fmt.Errorf("read where a transaction comes from: %w", err)
		}
	}
	return o, nil
}

// originators are the numbers of origins in a distribution database (MSrepl_originators).
type originators struct {
	publisherDatabase int64
	known             map[stored.Origin]int64
}

// id is the number of an origin, which is stored where it is new; 0 is the publication database itself.
func (n *originators) id(ctx context.Context, s *engine.Session, o stored.Origin) (int64, error) {
	if o == (stored.Origin{}) {
		return 0, nil
	}
	if id, ok := n.known[o]; ok {
		return id, nil
	}
	r, err := s.Query(
		ctx,
		`IF NOT EXISTS (SELECT 1 FROM dbo.MSrepl_originators WHERE publisher_database_id = @p1 AND srvname = @p2 AND dbname = @p3)
			INSERT INTO dbo.MSrepl_originators (publisher_database_id, srvname, dbname) VALUES (@p1, @p2, @p3);
		SELECT MIN(id) AS id FROM dbo.MSrepl_originators WHERE publisher_database_id = @p1 AND srvname = @p2 AND dbname = @p3`,
		n.publisherDatabase,
		o.Server,
		o.Database,
	)
	if err != nil {
		return 0, err
	}
	if n.known == nil {
		n.known = map[stored.Origin]int64{}
	}
	n.known[o] = r.Int(0, "id")
	return n.known[o], nil
}

// ownOriginators are the numbers under which an agent's subscriber is an origin, where its subscription leaves out what
// comes from there: a list that begins and ends with a comma.
func ownOriginators(ctx context.Context, s *engine.Session, agent int64) (string, error) {
	r, err := s.Query(ctx, `SELECT o.id FROM dbo.MSdistribution_agents AS a JOIN dbo.MSrepl_originators AS o
			ON o.publisher_database_id = a.publisher_database_id AND o.srvname = a.subscriber_name AND o.dbname = a.subscriber_db
		WHERE a.id = @p1 AND EXISTS (SELECT 1 FROM dbo.MSsubscriptions AS m WHERE m.agent_id = a.id AND m.loopback_detection = 1)`, agent)
	if err != nil {
		return "", err
	}
	ids := make([]string, r.Len())
	for i := range ids {
		ids[i] = fmt.Sprint(r.Int(i, "id"))
	}
	return "," + strings.Join(ids, ",") + ",", nil
}
