// SPDX-License-Identifier: Apache-2.0

package failover

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/election/votes"
)

// voterReader is a voter's API server that answers with a Lease after some time, or not at all.
type voterReader struct {
	client.Reader
	after  time.Duration
	silent bool
}

func (v voterReader) Get(ctx context.Context, _ client.ObjectKey, o client.Object, _ ...client.GetOption) error {
	answer := time.After(v.after)
	if v.silent {
		answer = nil
	}
	select {
	case <-answer:
		*o.(*coordinationv1.Lease) = *votes.NewLease("web", "content", "tukpub-0",
			votes.Configuration{Voters: []string{"tukwila", "quincy", "dublin"}})
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

type votersBySite map[string]voterReader

func (v votersBySite) Voter(site, _ string) (Voter, error) { return Voter{Reader: v[site]}, nil }

// A person who asks for a failover because a site is lost is not kept waiting for that site.
func TestALostSiteHoldsUpNoRequest(t *testing.T) {
	near, far := voterReader{after: 4 * time.Millisecond}, voterReader{after: 450 * time.Millisecond}
	for name, test := range map[string]struct {
		voters votersBySite
		known  int
		within time.Duration
	}{
		"all answer": {votersBySite{"tukwila": near, "quincy": near, "dublin": far}, 3, far.after},
		"a site is lost": {votersBySite{"tukwila": {silent: true}, "quincy": near, "dublin": far}, 2, far.after +
			othersGrace},
		"a majority is lost": {votersBySite{"tukwila": {silent: true}, "quincy": near, "dublin": {silent: true}}, 1,
			voterTimeout},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := NewWithT(t)
				group := &v1alpha1.AvailabilityGroup{}
				for _, site := range []string{"tukwila", "quincy", "dublin"} {
					group.Status.Voters = append(group.Status.Voters, v1alpha1.VoterStatus{Site: site})
				}
				began, known := time.Now(), 0
				for _, v := range (&Reconciler{voters: test.voters}).votes(t.Context(), group) {
					if v.Err == nil {
						known++
					}
				}
				g.Expect(known).To(Equal(test.known))
				g.Expect(time.Since(began)).To(Equal(test.within))
			})
		})
	}
}
