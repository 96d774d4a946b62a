// SPDX-License-Identifier: Apache-2.0

package repl

import (
	"context"

	"geosql.dev/standin/engine"
)

// keepsAll tells that what a database has brought stays for the whole of the maximum retention although everybody has
// it: one of its publications is immediate_sync, and may get subscribers that begin with a snapshot from before.
func keepsAll(ctx context.Context, s *engine.Session, database int64) (bool, error) {
	r, err := s.Query(ctx, `SELECT COUNT(*) AS n FROM dbo.MSpublications AS p JOIN dbo.MSpublisher_databases AS d
		ON d.publisher_id = p.publisher_id AND d.publisher_db = p.publisher_db
		WHERE d.id = @p1 AND p.immediate_sync = 1 AND p.publication_type = 0`, database)
	return r.Int(0, "n") > 0, err
}
