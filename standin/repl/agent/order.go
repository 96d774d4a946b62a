// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"fmt"
	"slices"

	"geosql.dev/standin/repl/stored"
)

// toApply are the articles whose snapshots the subscriber lacks, in the order in which to apply them.
func (d *delivery) toApply(ctx context.Context) ([]*subscribedArticle, error) {
	var out []*subscribedArticle
	for i := range d.articles {
		if a := &d.articles[i]; a.status == stored.Activated && !d.applied[a.id] {
			out = append(out, a)
		}
	}
	if len(out) < 2 {
		return out, nil
	}
	for _, a := range out {
		if err := d.skipToNewest(ctx, a); err != nil {
			return nil, err
		}
	}
	order, err := d.distConn.Query(ctx, "EXEC sp_MSget_snapshot_order @agent_id = @p1", d.agentID)
	if err != nil {
		return nil, fmt.Errorf("ask for the order of the snapshot's articles: %w", err)
	}
	place := map[int64]int{}
	for i := range order {
		place[order.num(i, "article_id")] = i
	}
	slices.SortStableFunc(out, func(a, b *subscribedArticle) int { return place[a.id] - place[b.id] })
	return out, nil
}
