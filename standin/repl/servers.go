// SPDX-License-Identifier: Apache-2.0

package repl

import (
	"context"

	"geosql.dev/standin/engine"
)

// firstServer is the least srvid: far from where sys.servers begins, so that no query finds the right server by the id
// that it happens to have there.
const firstServer = 101

// noteServer gives a server an id in a distribution database, unless it has one. The ids are the database's own and say
// nothing of sys.servers: another replica of the distribution database may have other servers there.
func noteServer(ctx context.Context, s *engine.Session, database, name string) error {
	servers := bracket(database) + ".dbo.MSreplservers"
	return s.Exec(ctx, "IF NOT EXISTS (SELECT 1 FROM "+servers+" WHERE srvname = @p1) INSERT INTO "+servers+
		" (srvid, srvname) SELECT ISNULL(MAX(srvid) + 1, @p2), @p1 FROM "+servers+
		" WITH (TABLOCKX) HAVING ISNULL(SUM(CASE WHEN srvname = @p1 THEN 1 ELSE 0 END), 0) = 0", name, firstServer)
}

// serverID is a server's id in the session's distribution database: 14080 when it has none.
func serverID(ctx context.Context, s *engine.Session, name string) (int64, error) {
	r, err := s.Query(ctx, "SELECT srvid FROM dbo.MSreplservers WHERE srvname = @p1", name)
	if err == nil && r.Len() == 0 {
		err = raise(14080, 1, name)
	}
	return r.Int(0, "srvid"), err
}
