// SPDX-License-Identifier: Apache-2.0

package files

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"geosql.dev/operator/internal/agent/orders"
)

// wanted has subscriptions fetch a snapshot of so many MiB each, of a publication named as they are after "pub_db_".
func (s *stage) wanted(t *testing.T, size int, names ...string) (all []orders.Mirror) {
	t.Helper()
	var readers []orders.Reader
	for i, name := range names {
		folder := "pub_db_" + name
		put(t, filepath.Join(s.snapshots, tree, folder, first),
			map[string][]byte{"Article_2.bcp": random(byte(i+1), size*mebibyte)})
		readers = append(readers, orders.Reader{Subscription: name, Folder: folder, Token: "token"})
		order := s.pair.order
		order.Subscription, order.Folder = name, folder
		all = append(all, order)
	}
	s.server.SetReaders(readers)
	return all
}

// ofData tells that a request is for what files of a publication have, in chunks or ranges, and not for their list.
func ofData(r *http.Request, name string) bool {
	return strings.Contains(r.URL.Path, name) && (r.Method == http.MethodPost || r.Header.Get("Range") != "")
}

// are the states of all mirrors, by subscription.
func (s *stage) are() map[string]State {
	all := map[string]State{}
	for _, status := range s.m.Statuses() {
		all[status.Subscription] = status.State
	}
	return all
}

// waits are those that wait for the quota, with the MiB of a quota that would do.
func (s *stage) waits() map[string]int64 {
	all := map[string]int64{}
	if staging := s.m.Staging(); staging != nil {
		for _, b := range staging.Blocked {
			all[b.Subscription] = b.NeededBytes / mebibyte
		}
	}
	return all
}

// Of two subscriptions of a publication one copies when the quota is raised, and the other finds all there: both wait
// for the quota no more, neither while the one copies nor afterwards.
func TestTwoOfAPublicationWaitForTheQuota(t *testing.T) {
	g := NewWithT(t)
	s := newStage(t, 5)
	list := s.wanted(t, 6, "articles")
	other := list[0]
	other.Subscription = "quincy"
	list = append(list, other)
	copying, asked := make(chan struct{}), make(chan struct{}, 9)
	s.before = func(_ http.ResponseWriter, r *http.Request) bool {
		if ofData(r, "articles") {
			asked <- struct{}{}
			<-copying
		}
		return false
	}
	s.m.answer = soon
	s.m.Set(t.Context(), list)
	g.Eventually(s.waits, soon).Should(HaveLen(2))
	s.bound(t, 20)
	g.Eventually(asked, soon).Should(Receive())
	g.Eventually(s.waits, "40s").Should(BeEmpty(), "the other waits for this one")
	close(copying)
	g.Eventually(s.are, soon).Should(Equal(map[string]State{"articles": Verified, "quincy": Verified}))
	g.Expect(s.waits()).To(BeEmpty())
	g.Eventually(s.claims, soon).Should(BeZero())
}

// An attempt that fails gives no room away in the pause after it, and a quota that is lowered stops nothing that is
// under way; when the snapshot is here the room is free for others.
func TestATransferKeepsItsRoom(t *testing.T) {
	g := NewWithT(t)
	s := newStage(t, 7)
	list := s.wanted(t, 4, "articles", "others")
	var broken atomic.Bool
	broken.Store(true)
	s.before = func(w http.ResponseWriter, r *http.Request) bool {
		fails := broken.Load() && ofData(r, "articles")
		if fails {
			http.Error(w, "no", http.StatusInternalServerError)
		}
		return fails
	}
	s.m.Set(t.Context(), list[:1])
	g.Eventually(s.are, soon).Should(HaveKeyWithValue("articles", Failing))
	s.m.Set(t.Context(), list)
	g.Eventually(s.are, soon).Should(HaveKeyWithValue("others", Or(Equal(Failing), Equal(Verified))))
	g.Expect(s.waits()).To(Equal(map[string]int64{"others": 8}))
	s.bound(t, 1)
	broken.Store(false)
	g.Eventually(s.are, soon).Should(HaveKeyWithValue("articles", Or(Equal(Verified), Satisfy(func(State) bool {
		return s.waits()["articles"] > 0
	}))))
	g.Expect(s.waits()).NotTo(HaveKey("articles"))
	g.Expect(s.are()).To(HaveKeyWithValue("others", Failing), "it has not begun")
	s.bound(t, 9)
	g.Eventually(s.are, soon).Should(HaveKeyWithValue("others", Verified))
	g.Eventually(s.claims, soon).Should(BeZero())
}

// The room of a mirror that ends is free at once, and so is that of a snapshot from which one goes on to the next.
func TestRoomIsGivenBack(t *testing.T) {
	g := NewWithT(t)
	s := newStage(t, 7)
	list := s.wanted(t, 4, "articles", "others")
	s.before = func(w http.ResponseWriter, r *http.Request) bool {
		fails := ofData(r, "articles")
		if fails {
			http.Error(w, "no", http.StatusInternalServerError)
		}
		return fails
	}
	s.m.Set(t.Context(), list[:1])
	g.Eventually(s.are, soon).Should(HaveKeyWithValue("articles", Failing))
	g.Expect(s.claims()).To(Equal(1))
	s.m.Set(t.Context(), list[1:])
	g.Eventually(s.are, soon).Should(HaveKeyWithValue("others", Verified))

	one := &mirror{order: s.order}
	wants := func(stamp string, size int64) *Listing {
		return &Listing{Folder: "pub_db_third", Snapshot: stamp, Files: []File{{Size: size * mebibyte}}}
	}
	g.Expect(s.m.claim(one, s.m.placeOf(one, wants(first, 2)), wants(first, 2))).To(Succeed())
	g.Expect(s.m.claim(one, s.m.placeOf(one, wants(next, 2)), wants(next, 2))).To(Succeed(), "two, not four")
	g.Expect(s.claims()).To(Equal(1))
}

// What waits says a quota that has room for all that wait, each snapshot once.
func TestTheQuotaForAllThatWait(t *testing.T) {
	g := NewWithT(t)
	s := newStage(t, 3)
	list := s.wanted(t, 4, "articles", "others")
	second := list[1]
	second.Subscription = "second"
	s.m.Set(t.Context(), append(list, second))
	g.Eventually(s.waits, soon).Should(Equal(map[string]int64{"articles": 8, "others": 8, "second": 8}))
	s.m.Set(t.Context(), list[:1])
	g.Eventually(s.waits, soon).Should(Equal(map[string]int64{"articles": 4}))
}

// A folder that cannot be listed is no reason for others to wait; that of all mirrors is.
func TestAFolderThatCannotBeListed(t *testing.T) {
	g := NewWithT(t)
	s := newStage(t, 5)
	s.brought(t, first, 2)
	put(t, s.gone(partialName(next)), map[string][]byte{"Article_2.bcp": random(4, 2*mebibyte)})
	s.later(5 * time.Hour)
	unlisted := s.gone()
	s.m.listFolder = func(dir string) ([]os.DirEntry, error) {
		if dir == unlisted {
			return nil, errors.New("input/output error")
		}
		return os.ReadDir(dir)
	}
	list := s.wanted(t, 4, "articles")
	s.m.Set(t.Context(), list)
	g.Eventually(s.are, soon).Should(HaveKeyWithValue("articles", Verified))
	g.Expect(s.m.tendOnce()).To(Succeed())
	g.Expect(s.m.Staging().UsedBytes).To(BeNumerically("~", 4*mebibyte, 64<<10))
	s.bound(t, 1)
	g.Expect(s.m.tendOnce()).To(Succeed())
	g.Expect(s.gone(first)).To(BeADirectory())
	g.Expect(s.gone(partialName(next))).To(BeADirectory())
	unlisted = s.mirrors
	g.Expect(s.m.tendOnce()).To(MatchError(ContainSubstring("input/output error")))
}

// told are orders that change.
type told chan map[string][]byte

func (o told) Watch(ctx context.Context, update func(map[string][]byte)) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case data := <-o:
			update(data)
		}
	}
}

// The bounds are the server's: they hold without any mirror, and change whatever orders of mirrors there are. What
// cannot be read changes nothing.
func TestTheBoundsAreTheServers(t *testing.T) {
	g := NewWithT(t)
	source := make(told)
	p := NewPart(source, "web", filepath.Join(t.TempDir(), "snapshots"), t.TempDir(), slog.New(slog.DiscardHandler))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- p.Run(ctx) }()
	t.Cleanup(func() { cancel(); g.Eventually(ended, soon).Should(Receive()) })
	quota := func() int64 {
		g.Expect(p.mirrors.tendOnce()).To(Succeed())
		if s := p.Staging(); s != nil {
			return s.QuotaBytes
		}
		return 0
	}
	say := func(value string) {
		data := map[string][]byte{"mirror.dublin": []byte(`{"subscription": "dublin"}`)}
		if value != "" {
			data = map[string][]byte{orders.StagingKey: []byte(value)}
		}
		source <- data
	}
	say(`{"quota": 5, "high": 90, "low": 60}`)
	g.Eventually(quota, soon).Should(BeEquivalentTo(5), "no order names a mirror")
	say(`{"quota": 7, "high": 90, "low": 60}`)
	g.Eventually(quota, soon).Should(BeEquivalentTo(7))
	say("{")
	say("{")
	g.Expect(quota()).To(BeEquivalentTo(7))
	say("")
	g.Eventually(quota, soon).Should(BeZero())
}
