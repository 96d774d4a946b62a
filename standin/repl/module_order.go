// SPDX-License-Identifier: Apache-2.0

package repl

import (
	"context"
	"slices"

	"geosql.dev/standin/engine"
	"geosql.dev/standin/repl/article"
)

// A definition can be made only where what it names is there. The snapshot has its articles in such an order, and
// agents keep to it.

// inNeed puts articles into an order in which each comes after those whose objects its script names. Where names go in
// a circle, tables come first, then what was added first.
func inNeed(list []*article.Article, scripts map[int64]tableScripts) []*article.Article {
	rest := append([]*article.Article(nil), list...)
	slices.SortStableFunc(rest, func(a, b *article.Article) int {
		switch {
		case a.IsModule() == b.IsModule():
			return int(a.ID - b.ID)
		case b.IsModule():
			return -1
		}
		return 1
	})
	var out []*article.Article
	for len(rest) > 0 {
		next := slices.IndexFunc(rest, func(a *article.Article) bool {
			return !slices.ContainsFunc(rest, func(b *article.Article) bool { return a.Needs(b, scripts[a.ID].table) })
		})
		next = max(next, 0)
		out = append(out, rest[next])
		rest = slices.Delete(rest, next, next+1)
	}
	return out
}

// snapshotOrder gives a distribution agent the articles of its snapshots in the order in which they are made.
func (e *Extension) snapshotOrder(ctx context.Context, call *engine.ProcCall) error {
	return call.Exec(
		ctx,
		`SELECT m.article_id, m.subscription_seqno, (SELECT MIN(c.command_id) FROM dbo.MSrepl_commands AS c WHERE c.publisher_database_id = m.publisher_database_id
		AND c.xact_seqno = m.subscription_seqno AND c.article_id = m.article_id) AS place FROM dbo.MSsubscriptions AS m WHERE m.agent_id = @p1 AND m.snapshot_seqno_flag = 1
		ORDER BY m.subscription_seqno, place, m.article_id`,
		call.Int("@agent_id"),
	)
}
