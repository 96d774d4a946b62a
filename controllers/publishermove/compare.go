// SPDX-License-Identifier: Apache-2.0

package publishermove

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
	"geosql.dev/operator/internal/reconcile"
	"geosql.dev/operator/internal/replication"
)

// Compared is the last comparison that was made for a move.
type Compared struct {
	// At is when it was over.
	At time.Time
	// Generation of the move that it was made for.
	Generation int64
	Comparison *replication.Comparison
	Err        error
}

// stands tells that the tables are not compared once more, which reads every row of two servers that are at work: an
// estimate stands for a while, and a refusal too. What a move begins with was compared after the approval.
func (c *Compared) stands(d Desired, now time.Time) bool {
	if c == nil || c.Generation != d.Move.Generation || now.Sub(c.At) >= estimateFor {
		return false
	}
	return !d.approved() || c.Comparison != nil && !c.Comparison.Equal
}

// compares tells that nothing but equal tables is missing: the former publisher lives and takes no writes, the old way
// is not ended yet, nothing else speaks against the move, and what is on its way to the new publisher has arrived.
func (d Desired) compares(o Observed) bool {
	if o.ReadOnly == "" || d.drained() || d.target() == nil || d.target().DeletionTimestamp != nil {
		return false
	}
	if !reconcile.Through(&replication.Plan{}, d, o, planReferences, planPublisherFenced, planSuccessor) {
		return false
	}
	_, waits := delivering(d, o)
	return !waits
}

// asksAgain tells that the former publisher is asked once more before anything is concluded: it takes no writes, as far
// as is known, and the old way may be ended next. One that answers ends the plan anyway.
func (d Desired) asksAgain(o Observed) bool {
	return !d.drained() && reconcile.Through(&replication.Plan{}, d, o, planReferences, planPublisherFenced)
}

// compare has the tables compared if that is to be, and asks the former publisher once more when all else was read: one
// that was silent may have come back meanwhile, and reading all rows takes up to half an hour, in which its database
// may have been opened again.
func (o *Observed) compare(
	d Desired,
	clock func() time.Time,
	ask func(from v1alpha1.ServerName) (*replication.Comparison, error),
	former func(*Observed),
) {
	if !d.asksAgain(*o) {
		return
	}
	from := o.ReadOnly
	var compared *Compared
	if d.compares(*o) {
		if compared = d.Compared; !compared.stands(d, o.Now) {
			compared = &Compared{Generation: d.Move.Generation}
			compared.Comparison, compared.Err = ask(from)
			compared.At = clock()
		}
	}
	o.Answering, o.ReadOnly = nil, ""
	former(o)
	o.Now = clock()
	if compared == nil || o.ReadOnly != from {
		return // it says nothing of a database that may take writes
	}
	o.Compared, o.Comparison, o.ComparisonErr = compared, compared.Comparison, compared.Err
}

// comparisons are the last ones of every move. They are in memory alone: another manager compares anew.
type comparisons struct {
	mu   sync.Mutex
	last map[types.UID]*Compared
}

func (c *comparisons) of(move types.UID) *Compared {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.last[move]
}

// keep remembers a comparison, or forgets the one before when there is none now.
func (c *comparisons) keep(move types.UID, one *Compared) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if one == nil {
		delete(c.last, move)
		return
	}
	if c.last == nil {
		c.last = map[types.UID]*Compared{}
	}
	c.last[move] = one
}

// compare compares the new publisher's tables with those of the former one, of the articles that this publishes.
func compare(
	ctx context.Context,
	engines replication.Engines,
	d Desired,
	from v1alpha1.ServerName,
) (*replication.Comparison, error) {
	var published *mssql.Publication
	err := engines.Read(ctx, from, d.FromDatabase, func(ctx context.Context, db *mssql.DB) (err error) {
		published, err = mssql.ReadPublication(ctx, db, d.Publication.Name)
		return err
	})
	if err != nil {
		return nil, err
	}
	if published == nil {
		return &replication.Comparison{
			Impossible: true,
			Difference: fmt.Sprintf("%s does not publish %s", credentials.HostName(from), d.Publication.Name),
		}, nil
	}
	c, err := engines.Compare(ctx, published.Articles, replication.Copy{Server: from, Database: d.FromDatabase},
		replication.Copy{Server: d.Move.Spec.To, Database: d.targetDatabase()})
	if err != nil {
		return nil, err
	}
	if len(published.Articles) == 0 {
		c = replication.Comparison{Impossible: true, Difference: credentials.HostName(from) + " publishes no article"}
	}
	return &c, nil
}
