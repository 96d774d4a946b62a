// SPDX-License-Identifier: Apache-2.0

package subscription

import (
	"context"
	"errors"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent/files"
	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/sites"
)

// toldSidecars are sidecars with the orders of a backup, some of which do not answer.
type toldSidecars struct {
	Sidecars
	readers map[v1alpha1.ServerName]bool
	mirror  bool
	// away are those whose orders are not known, mute those that do not say what they have done.
	away, mute map[v1alpha1.ServerName]bool
	asked      []v1alpha1.ServerName
}

var errAway = errors.New("no route to host")

func (s *toldSidecars) Orders(_ context.Context, _ string, server v1alpha1.ServerName, subscription string) (
	*orders.Mirror, *orders.Reader, error) {
	s.asked = append(s.asked, server)
	if s.away[server] {
		return nil, nil, errAway
	}
	var mirror *orders.Mirror
	var reader *orders.Reader
	if s.readers[server] {
		reader = &orders.Reader{Subscription: subscription, Folder: subscription, Backup: "20261120100000"}
	}
	if s.mirror && server == subscriber {
		mirror = &orders.Mirror{Subscription: subscription, Folder: subscription, Host: "tukpub-0"}
	}
	return mirror, reader, nil
}

func (s *toldSidecars) Mirror(_ context.Context, _ string, server v1alpha1.ServerName, _ string) (
	*files.Status, error) {
	if s.mute[server] {
		return nil, errAway
	}
	return &files.Status{State: files.Made}, nil
}

// While a backup is on its way its publisher's servers are asked; what ends is looked for on every server, since one
// may have left the group, and what does not answer is told from what has nothing.
func TestOrdersOfABackupAreLookedForWhereTheyMayBe(t *testing.T) {
	t.Parallel()
	const left v1alpha1.ServerName = "eatleft"
	ends := func(_ *Desired, o *Observed) {
		o.Publication.Subscriptions = []mssql.ArticleSubscription{{Subscriber: "dubsub-0", Database: "Content"}}
	}
	deleted := func(d *Desired, _ *Observed) { d.Subscription.DeletionTimestamp = &metav1.Time{Time: start} }
	for name, c := range map[string]struct {
		change func(d *Desired, o *Observed)
		said   toldSidecars
		asked  []v1alpha1.ServerName
		check  func(g Gomega, b Backup)
	}{
		"on its way": {nil, toldSidecars{readers: map[v1alpha1.ServerName]bool{publisher: true}, mirror: true},
			[]v1alpha1.ServerName{publisher, secondary, subscriber}, func(g Gomega, b Backup) {
				g.Expect(b.Looked).To(BeTrue())
				g.Expect(b.Readers).To(HaveLen(1))
				g.Expect(b.Told).NotTo(BeNil())
			}},
		"registered": {ends, toldSidecars{readers: map[v1alpha1.ServerName]bool{left: true}},
			[]v1alpha1.ServerName{distributor, left, publisher, secondary, subscriber}, func(g Gomega, b Backup) {
				g.Expect(b.Readers).To(HaveKey(left))
			}},
		"deleted": {deleted, toldSidecars{readers: map[v1alpha1.ServerName]bool{left: true}},
			[]v1alpha1.ServerName{distributor, left, publisher, secondary, subscriber}, func(g Gomega, b Backup) {
				g.Expect(b.Readers).To(HaveKey(left))
			}},
		"deleted without its Publication": {func(d *Desired, o *Observed) {
			deleted(d, o)
			d.Publication, d.Publisher = nil, declared().Publisher
			d.Publisher.Servers = nil
		}, toldSidecars{readers: map[v1alpha1.ServerName]bool{publisher: true}},
			[]v1alpha1.ServerName{distributor, left, publisher, secondary, subscriber}, func(g Gomega, b Backup) {
				g.Expect(b.Readers).To(HaveKey(publisher))
			}},
		"a former primary is away": {nil, toldSidecars{away: map[v1alpha1.ServerName]bool{secondary: true}}, nil,
			func(g Gomega, b Backup) {
				g.Expect(b.Looked).To(BeFalse())
				g.Expect(b.Unread).To(HaveKey(secondary))
				g.Expect(b.Err).NotTo(HaveOccurred())
			}},
		"the primary is away": {nil, toldSidecars{away: map[v1alpha1.ServerName]bool{publisher: true}}, nil,
			func(g Gomega, b Backup) {
				g.Expect(b.Looked).To(BeFalse())
				g.Expect(b.Err).To(MatchError(errAway))
			}},
		"the subscriber is away": {ends, toldSidecars{away: map[v1alpha1.ServerName]bool{subscriber: true}}, nil,
			func(g Gomega, b Backup) {
				g.Expect(b.Looked).To(BeFalse())
				g.Expect(b.Err).To(MatchError(errAway))
			}},
		"one that nobody expects is away": {func(d *Desired, o *Observed) {
			ends(d, o)
			d.Holders = sites.GoneFor(map[v1alpha1.ServerName]string{publisher: "", secondary: "it is lost", subscriber: ""})
		}, toldSidecars{away: map[v1alpha1.ServerName]bool{secondary: true}}, nil, func(g Gomega, b Backup) {
			g.Expect(b.Looked).To(BeTrue())
			g.Expect(b.Lost).To(HaveKeyWithValue(secondary, "it is lost"))
		}},
		"what they have done is not known": {ends, toldSidecars{readers: map[v1alpha1.ServerName]bool{publisher: true},
			mirror: true, mute: map[v1alpha1.ServerName]bool{publisher: true, subscriber: true}}, nil,
			func(g Gomega, b Backup) {
				g.Expect(b.SentErr[publisher]).To(MatchError(errAway))
				g.Expect(b.MirrorErr).To(MatchError(errAway))
			}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			w := newBackupWorld(declared())
			w.d.Subscription.Status.Copy = &v1alpha1.SubscriptionCopy{Backup: "20261120100000"}
			w.d.Holders = sites.GoneFor(map[v1alpha1.ServerName]string{distributor: "", left: "", publisher: "", secondary: "",
				subscriber: ""})
			o := w.o
			if c.change != nil {
				c.change(&w.d, &o)
			}
			said := c.said
			observeBackupOrders(t.Context(), &said, w.d, &o)
			if c.asked != nil {
				g.Expect(said.asked).To(ConsistOf(c.asked))
			}
			c.check(g, o.Backup)
		})
	}
}
