// SPDX-License-Identifier: Apache-2.0

package availabilitygroup

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/election"
)

// RemakeVote makes the vote of a voter anew whose Lease is gone, if the holder is seen renewing the others meanwhile. It never
// changes a Lease that is there.
type RemakeVote struct {
	Site  v1alpha1.SiteName
	Group string
}

// Describe names the voter.
func (s RemakeVote) Describe() string {
	return fmt.Sprintf("make the lease of group %s at voter %s anew, held as at the others, once the holder has renewed a majority of them", s.Group, s.Site)
}

// planRemake makes the votes anew that are gone while the others decide. The step looks itself at what it needs to know:
// between an observation and a step the votes may have moved on. It holds up nothing and is held up by nothing.
func planRemake(d Desired, o Observed, p *Plan) {
	if !d.fenced() || !o.decided(d) || o.Configuration.Changing() {
		return
	}
	var steps []Step
	for _, v := range o.Voters {
		if errors.Is(v.Err, election.ErrAbsent) {
			steps = append(steps, RemakeVote{Site: v.Site, Group: d.name()})
		}
	}
	p.Steps = append(steps, p.Steps...)
}

const (
	// remakeTimeout is how long the holder, which renews every second, is watched.
	remakeTimeout = 4 * time.Second
	// remakePoll is the time between two readings of the other votes, remakeRead bounds each.
	remakePoll = 500 * time.Millisecond
	remakeRead = 2 * time.Second
)

// remakeVote creates the Lease by what it reads itself, in this order: the voter has none; then, twice, the other votes.
func (r *Reconciler) remakeVote(ctx context.Context, w *world, s RemakeVote) error {
	group := w.desired.Group
	member, err := r.member(s.Site, group.Namespace)
	if err != nil {
		return err
	}
	watching, done := context.WithTimeout(ctx, remakeTimeout)
	defer done()
	record, err := remade(watching, w.observed.Configuration, s.Site, func(ctx context.Context, site v1alpha1.SiteName) Voter {
		other, err := r.member(site, group.Namespace)
		if err != nil {
			return Voter{Site: site, Err: err}
		}
		return readVote(ctx, other, group)
	})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, siteTimeout)
	defer cancel()
	lease := election.RemadeLease(group.Namespace, s.Group, record)
	lease.Labels = groupLabels(group)
	if err := member.Client.Create(ctx, lease); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create Lease %s at site %s: %w", lease.Name, s.Site, err)
	}
	return nil
}

// remade is the vote for a voter without a Lease. read reads one vote from its API server.
func remade(ctx context.Context, c election.Configuration, lost v1alpha1.SiteName, read func(context.Context, v1alpha1.SiteName) Voter) (election.Record, error) {
	if err := read(ctx, lost).Err; !errors.Is(err, election.ErrAbsent) {
		return election.Record{}, fmt.Errorf("the vote at %s is not known to be gone: %w", lost, cmp.Or(err, errors.New("it is there")))
	}
	before := readOthers(ctx, c, lost, read)
	for {
		select {
		case <-ctx.Done():
			return election.Record{}, election.ErrNotRenewed
		case <-time.After(remakePoll):
		}
		record, err := election.Remake(c, before, readOthers(ctx, c, lost, read), rand.Text())
		if err == nil || !errors.Is(err, election.ErrNotRenewed) {
			return record, err
		}
	}
}

// readOthers are the votes but one that answer.
func readOthers(ctx context.Context, c election.Configuration, lost v1alpha1.SiteName, read func(context.Context, v1alpha1.SiteName) Voter) map[string]election.Record {
	ctx, cancel := context.WithTimeout(ctx, remakeRead)
	defer cancel()
	var mu sync.Mutex
	var all sync.WaitGroup
	records := map[string]election.Record{}
	for _, site := range siteNames(c.Voters) {
		if site == lost {
			continue
		}
		all.Go(func() {
			if v := read(ctx, site); v.Err == nil {
				mu.Lock()
				defer mu.Unlock()
				records[string(site)] = v.Record
			}
		})
	}
	all.Wait()
	return records
}
